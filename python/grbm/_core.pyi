"""Made by python/tools/make_stubs.py from the binding."""

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy
from numpy.typing import ArrayLike

__version__: str

class Config:
    """All settings of a training run: what a TOML file holds, by the same names."""
    def __eq__(self, other: Any) -> bool:
        ...
    def __getitem__(self, name: str) -> Any:
        ...
    def __init__(self) -> None:
        ...
    def __setitem__(self, name: str, value: Any) -> None:
        ...
    def help(self) -> List[Tuple[str, str, str]]:
        """Of every setting its name, what it takes, and what it is for."""
    @staticmethod
    def parse(text: str) -> Config:
        """From TOML text; what it does not name keeps its default."""
    @staticmethod
    def preset(name: str) -> Config:
        """The settings of a preset, or of a TOML file where the name has a '/' or ends in ".toml"."""
    def text(self) -> str:
        """Every setting as TOML."""
    def to_dict(self) -> dict:
        """Every setting: {section: {key: value}}."""

class DataStatistics:
    """What training takes from the data as a whole; it can be pickled."""

class Dataset:
    """Rows of data: a file, a public set, or an array, which is not copied."""
    def __init__(self, rows: Any, image_shape: Optional[Sequence[int]] = None, source: str = 'array', gaps: bool = False, weights: Sequence[float] = [], labels: Any = None, label_names: Sequence[str] = [], condition: Sequence[int] = [], history: int = 0) -> None:
        ...
    def __len__(self) -> int:
        ...
    @property
    def conditions(self) -> Any:
        """What is given with each row, in its own units: rows × conditions; None where nothing is."""
    @property
    def has_gaps(self) -> bool:
        """Whether values are missing."""
    @property
    def history(self) -> int:
        """How many rows before a row are its conditions."""
    @property
    def image_shape(self) -> Optional[List[int]]:
        """Height, width and channels; None where rows are not images."""
    @property
    def label_names(self) -> List[str]:
        """What the labels 0, 1, ... are called; empty where they are plain numbers."""
    @property
    def labels(self) -> Any:
        """One per row; None where unknown."""
    @staticmethod
    def load(source: str, threads: int = 0, **kwargs) -> Dataset:
        """"mnist", "fashion-mnist", "gmm-iso", "gmm-aniso", "strokes", or the path of an IDX, NPY or CSV file or of a folder of"""
    @staticmethod
    def of(config: Config, threads: int = 0) -> Dataset:
        """The data that a configuration names."""
    @property
    def rows(self) -> int:
        """How many rows."""
    @property
    def source(self) -> str:
        """A file's name, or the name of the data."""
    @property
    def values(self) -> numpy.ndarray:
        """All rows, as a new array of unsigned bytes or of floats."""
    @property
    def visible(self) -> int:
        """How many values a row has."""
    @property
    def warning(self) -> str:
        """What whoever trains on them should know; mostly empty."""
    @property
    def weights(self) -> Any:
        """What each row counts for; None where all count the same."""

class Estimate:
    """A number and its standard error: NaN where unknown, 0 where exact."""
    @property
    def error(self) -> float:
        """Its standard error."""
    @property
    def value(self) -> float:
        """The number."""

class Model:
    """A model with all that is needed to draw samples from it: parameters, sampler, standardisation."""
    @property
    def A(self) -> numpy.ndarray:
        """What conditions add to the means, visible × conditions."""
    @property
    def B(self) -> numpy.ndarray:
        """What conditions add to the biases, hidden × conditions."""
    @property
    def W(self) -> numpy.ndarray:
        """Weights, visible × hidden."""
    def __eq__(self, other: Any) -> bool:
        ...
    def __init__(self, W: ArrayLike, b: ArrayLike, mu: ArrayLike, log_var: ArrayLike, variance_floor: float = 1e-08, sampler: dict = {}, generate: dict = {}, mean: Optional[ArrayLike] = None, deviation: Optional[ArrayLike] = None, image_shape: Optional[Sequence[int]] = None, provenance: Mapping[str, str] = {}, classes: Sequence[str] = [], A: Optional[ArrayLike] = None, B: Optional[ArrayLike] = None, condition_mean: Optional[ArrayLike] = None, condition_deviation: Optional[ArrayLike] = None, history: int = 0, margin: Optional[ArrayLike] = None, condition_margin: Optional[ArrayLike] = None) -> None:
        ...
    @property
    def b(self) -> numpy.ndarray:
        """Biases of the hidden units."""
    def class_log_probabilities(self, X: Any, threads: int = 0) -> numpy.ndarray:
        """log p(y | v) of all classes, of rows in the data's own units: rows × classes."""
    def class_probabilities(self, X: Any, threads: int = 0) -> numpy.ndarray:
        """p(y | v) of all classes: what `grbm classify -o` writes."""
    @property
    def classes(self) -> List[str]:
        """Names of the classes that are units of the model; mostly none."""
    @property
    def condition_deviation(self) -> numpy.ndarray:
        """How many of the conditions' units are 1."""
    @property
    def condition_margin(self) -> numpy.ndarray:
        """How far below 0 the conditions' zeros lie; empty: where they are."""
    @property
    def condition_mean(self) -> numpy.ndarray:
        """The conditions' value that is 0 in the model's units."""
    @property
    def conditions(self) -> int:
        """How many values are given with a row."""
    def decode(self, codes: Any, packed: bool = False, threads: int = 0, conditions: Any = None) -> numpy.ndarray:
        """From codes, probabilities or bits, to the mean of the visible units, in the data's own units."""
    @property
    def deviation(self) -> numpy.ndarray:
        """Of the standardisation: how many of the data's units are 1; empty: as they are."""
    def encode(self, X: Any, threads: int = 0, conditions: Any = None) -> numpy.ndarray:
        """p(h = 1 | v) of rows in the data's own units: what `grbm encode --probabilities` writes. conditions: in their own units, a"""
    def encode_bits(self, X: Any, seed: int = 1, packed: bool = False, threads: int = 0, conditions: Any = None) -> numpy.ndarray:
        """Drawn bits of rows in the data's own units: what `grbm encode` writes, or eight units packed into a byte."""
    def energy(self, v: ArrayLike, h: Any, threads: int = 0) -> numpy.ndarray:
        """E(v, h) of each row. v and h are in the model's units."""
    @property
    def generate(self) -> dict:
        """How samples are drawn where that is not as in training, by the names in the section [generate]."""
    def given(self, label: Optional[str] = None, conditions: Any = None) -> Model:
        """What the model is given a class, by its name, or given conditions, in their own units: a model without them, which"""
    @property
    def hidden(self) -> int:
        """How many hidden units."""
    def hidden_probabilities(self, v: ArrayLike, temperature: float = 1.0, threads: int = 0) -> numpy.ndarray:
        """p(h = 1 | v): rows × hidden."""
    @property
    def history(self) -> int:
        """How many rows before a row are its conditions; 0: none."""
    @property
    def image_shape(self) -> Optional[List[int]]:
        """Height, width and channels; None where rows are not images."""
    @staticmethod
    def initial(visible: int, hidden: int, seed: int = 1, initial_variance: float = 1.0, variance_floor: float = 1e-08) -> Model:
        """The start of training: small random weights."""
    def inpaint(self, X: ArrayLike, mask: Any, steps: Optional[int] = None, seed: int = 1, threads: int = 0) -> numpy.ndarray:
        """Fills in what is not known, given the rest: what `grbm inpaint` writes. mask: true where a value is known, for all rows"""
    @staticmethod
    def load(path: os.PathLike) -> Model:
        """A model file: .safetensors or .npz."""
    @property
    def log_var(self) -> numpy.ndarray:
        """Logarithms of the variances."""
    @property
    def margin(self) -> numpy.ndarray:
        """Of the standardisation: how far below 0 the data's zeros lie; empty: where they are."""
    def marginal_energy(self, v: ArrayLike, threads: int = 0) -> numpy.ndarray:
        """The energy of v alone, with the hidden units summed out: exp(-it) is the density but for its constant."""
    @property
    def mean(self) -> numpy.ndarray:
        """Of the standardisation: the data's value that is 0 in the model's units; empty: as they are."""
    @property
    def mu(self) -> numpy.ndarray:
        """Means of the visible units."""
    def picture(self, rows: ArrayLike) -> Optional[bytes]:
        """Rows in the data's own units as a PNG file of images; None where rows are not images."""
    @property
    def provenance(self) -> Dict[str, str]:
        """Where the model comes from."""
    def reconstruct(self, X: Any, seed: int = 1, threads: int = 0, conditions: Any = None) -> numpy.ndarray:
        """Rows through drawn hidden units and back: what `grbm reconstruct` writes."""
    def sample(self, count: int = 64, steps: Optional[int] = None, seed: int = 1, threads: int = 0, step: Optional[Callable[..., Any]] = None) -> numpy.ndarray:
        """Draws from noise, in the data's own units: what `grbm sample` writes. `step` is one of chains in Python: see grbm.Sampler."""
    def sample_chain(self, count: int = 4, steps: Optional[int] = None, every: int = 1, seed: int = 1, threads: int = 0, step: Optional[Callable[..., Any]] = None) -> dict:
        """The same chains with their states after every so many steps: {name: array of [chain, draw, ...]}. v is in the data's own"""
    def sample_given(self, conditions: Any, count: int = 1, steps: Optional[int] = None, seed: int = 1, threads: int = 0) -> Any:
        """Draws from noise given each row of conditions, in their own units, so many for each, one after the other: what `grbm sample"""
    def sample_hidden(self, v: ArrayLike, seed: int = 1, step: int = 0, temperature: float = 1.0, threads: int = 0) -> numpy.ndarray:
        """h ~ p(h | v), as 0 and 1. The seed, the step and the row fix every draw."""
    def sample_series(self, rows: ArrayLike, frames: int, count: int = 1, steps: Optional[int] = None, seed: int = 1, threads: int = 0) -> numpy.ndarray:
        """Of a model with a history: goes on from the last of these rows for so many frames, in as many series: [series, frame,"""
    def sample_visible(self, h: Any, seed: int = 1, step: int = 0, threads: int = 0) -> numpy.ndarray:
        """v ~ p(v | h), in the model's units."""
    @property
    def sampler(self) -> dict:
        """Settings of the sampler that the model was trained by, by their names in the section [sampler]."""
    def save(self, path: os.PathLike) -> None:
        """Writes a model file, .safetensors or .npz, which the program reads, too."""
    def standardize(self, rows: ArrayLike) -> numpy.ndarray:
        """Rows from the data's own units to the model's."""
    def tempered(self, temperature: float) -> Model:
        """The model of exp(-E/temperature)."""
    def unstandardize(self, rows: ArrayLike) -> numpy.ndarray:
        """Rows from the model's units to the data's own."""
    @property
    def variance(self) -> numpy.ndarray:
        """Variances of the visible units."""
    @property
    def variance_floor(self) -> float:
        """Variances are kept at or above this."""
    @property
    def visible(self) -> int:
        """How many visible units: values of a row. The units of classes are not among them."""
    def visible_mean(self, h: ArrayLike, threads: int = 0) -> numpy.ndarray:
        """mu + W h, the mean of the visible units given hidden states, or given probabilities of them; in the model's units."""
    def with_sampler(self, **kwargs) -> Model:
        """The same model with other settings of its sampler."""

class Partition:
    """log Z of a model: exact for small ones, otherwise an estimate with bounds."""
    @property
    def error(self) -> float:
        """Its standard error; 0: exact."""
    @property
    def high(self) -> float:
        """Where log Z lies at most."""
    @property
    def low(self) -> float:
        """Where log Z lies at least: two standard errors, or the bound where it is wider."""
    @property
    def method(self) -> str:
        """"enumeration", "quadrature" or "annealing"."""
    @property
    def value(self) -> float:
        """The estimate of log Z."""
    @property
    def wide(self) -> bool:
        """True where the estimate is not to be trusted, only the interval."""

class TrainState:
    """Everything that training changes; it can be pickled."""
    @property
    def updates(self) -> int:
        """How many were made."""
    def without_chains(self) -> TrainState:
        """The same with chains that start anew."""
    def without_gaps(self) -> TrainState:
        """The same for other rows: without the states from which missing values of these are drawn on."""

class Trainer:
    """Training in memory, as long as is wanted at a time. The data are standardised batch by batch, and never copied."""
    def __init__(self, config: Config, data: Dataset, seed: int = 1, threads: int = 0, step: Optional[Callable[..., Any]] = None, statistics: Optional[DataStatistics] = None, classes: Sequence[str] = []) -> None:
        ...
    @property
    def lines(self) -> List[str]:
        """Metrics so far, as in metrics.jsonl."""
    def model(self) -> Model:
        """The model as it is now."""
    def restore(self, state: TrainState) -> None:
        """Goes on from there."""
    def run(self, most: int = 0, on_update: Optional[Callable[[str], Any]] = None, on_warning: Optional[Callable[[str], Any]] = None) -> bool:
        """Makes updates, at most so many (0: to the end). on_update is given a line of metrics.jsonl after each, and ends the run where it"""
    def state(self) -> TrainState:
        """All that a trainer needs to go on."""
    @property
    def statistics(self) -> DataStatistics:
        """What was taken from the data."""
    @property
    def total_updates(self) -> int:
        """Of the whole training."""
    @property
    def updates(self) -> int:
        """Made so far."""

class Error(Exception):
    """The base of what this package raises."""

class BusyError(Error, OSError):
    """Another process is at work in the folder: later it may be free."""

class ConfigError(Error, ValueError):
    """A setting, or a combination of them, that cannot work."""

class DataError(Error, ValueError):
    """Data that are not what they should be: shapes, types, corrupt files."""

class InternalError(Error, RuntimeError):
    """A call that cannot be right, or a mistake in the library."""

class IoError(Error, OSError):
    """A file that cannot be read or written."""

class NumericError(Error, ArithmeticError):
    """A computation that left the finite numbers."""

def cpu_target() -> str:
    """The instruction set that the kernels use. Results have the same bits on one target."""

def ess_bulk(draws: ArrayLike) -> Any:
    """Of the centre of the distribution."""

def ess_mean(draws: ArrayLike) -> Any:
    """Of its mean."""

def ess_tail(draws: ArrayLike) -> Any:
    """Of its tails."""

def fetch(name: str, progress: Optional[Callable[[str], Any]] = None) -> None:
    """Gets "mnist" or "fashion-mnist" where Dataset.load finds them; what is there and right stays as it is."""

def frechet(a: ArrayLike, b: ArrayLike) -> Tuple[float, bool]:
    """The distance, and whether a covariance is singular."""

def judge(model: Model, data: Dataset, held_out: Optional[Dataset], metrics: Sequence[str], samples: int, rows: int, chains: int, temperatures: int, classifier: str, seed: int, threads: int, progress: Optional[Callable[[str, int, int], Any]]) -> str:
    """The judgements of `grbm evaluate`, as the text of a JSON object."""

def kernel(a: ArrayLike, b: ArrayLike, subset_size: int) -> Tuple[float, float]:
    """The distance and its standard error."""

def log_partition(model: Model, chains: int = 100, temperatures: int = 1000, seed: int = 1, threads: int = 0, progress: Optional[Callable[[str, int, int], Any]] = None) -> Partition:
    """log Z of the model's law: exact up to 20 hidden or 2 visible units, otherwise by annealed importance sampling, from a"""

def metrics() -> Dict[str, str]:
    """What grbm.evaluate can judge, and what each is."""

def presets() -> Dict[str, str]:
    """The experiments that come with the library, and what each is."""

def quick_distance(data: ArrayLike, samples: ArrayLike, image_shape: Optional[Sequence[int]] = None, threads: int = 0) -> Tuple[Estimate, Estimate]:
    """Fréchet and kernel distances on features that are made from the data in seconds: compare only those of as many rows."""

def read_run(folder: str) -> Tuple[Config, int]:
    """Settings and seed of the run in a folder."""

def row_log_likelihoods(model: Model, X: ArrayLike, log_partition: Optional[float] = None, threads: int = 0, conditions: Any = None) -> numpy.ndarray:
    """log p(v) of each row, in the data's own units; of a model with conditions log p(v | u), for which log Z of each row is computed,"""

def split_rhat(draws: ArrayLike) -> Any:
    """R̂ of draws [chain, draw, ...]."""

def train_in_folder(config: Config, folder: str, seed: int = 1, resume: bool = False, threads: int = 0, on_update: Optional[Callable[[str], Any]] = None, on_warning: Optional[Callable[[str], Any]] = None) -> bool:
    """A run in a folder, as `grbm train` makes it; true at its end."""
