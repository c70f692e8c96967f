"""What the estimators share: parameters, training, and all that is made of codes and of samples."""

from __future__ import annotations

import os
import warnings
from contextlib import contextmanager
from functools import lru_cache
from numbers import Integral
from typing import Any, ClassVar, Iterable, Iterator, Sequence, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._compat import TagsMixin, row_weights, validate_rows
from ._html import fitted_html
from .samplers import Sampler
from .training import Callback, as_config, history_of, run_trainer

Self = TypeVar("Self", bound="Machine")

# Parameters by their names in a configuration, where these are not the same with a section in front.
_RENAMED = {
    "n_hidden": "model.hidden",
    "sampler": "sampler.method",
    "generate_steps": "generate.steps",
    "generate_step_size": "generate.step_size",
    "generate_temperature": "generate.temperature",
    "generate_proposal_temperature": "generate.proposal_temperature",
    "generate_final": "generate.final",
    "generate_keep_labels": "generate.keep_labels",
}
# Parameters that are not settings of a configuration.
_OWN = ("image_shape", "output", "callbacks", "random_state", "n_jobs", "verbose")


def seed_of(random_state: Any) -> int:
    """A whole number is the seed itself, the same as --seed of the program; all else draws one."""
    if isinstance(random_state, Integral):
        if not 0 <= random_state < 2**64:
            raise ValueError(f"random_state = {random_state}: allowed is a whole number from 0 to 2**64 - 1")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    return int(check_random_state(random_state).randint(2**31 - 1))


def threads_of(n_jobs: int | None) -> int:
    """None: OMP_NUM_THREADS, which joblib sets in its workers, otherwise all cores; negative: all cores."""
    if n_jobs is None:
        wanted = os.environ.get("OMP_NUM_THREADS", "")
        return int(wanted) if wanted.isdigit() else 0
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs = {n_jobs!r}: allowed are None, -1 and whole numbers of at least 1")
    return max(0, int(n_jobs))


class Machine(TagsMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Parameters are the settings of a configuration; what is trained is a grbm.Model."""

    def __init__(
        self,
        n_hidden: int = 512,
        sampler: str | Sampler = "gibbs-langevin",
        *,
        steps: int = 100,
        langevin_steps: int = 10,
        step_size: float = 0.04,
        step_scale: str = "mean",
        temperature: float = 1.0,
        proposal_temperature: float = 0.0,
        anneal: bool = True,
        adjust: str = "none",
        adjust_after: int = 0,
        refresh: float = 0.5,
        final: str = "auto",
        final_steps: int = 0,
        initial_variance: float = 1.0,
        variance_floor: float = 1e-8,
        algorithm: str = "noise-cd",
        batch_size: int = 100,
        epochs: float = 10.0,
        learning_rate: float = 0.01,
        learning_rate_schedule: str = "cosine",
        clip_norm: float = 10.0,
        optimizer: str = "sgd",
        momentum: float = 0.0,
        adam_beta2: float = 0.999,
        weight_decay: float = 0.0,
        average: float = 0.0,
        keep_labels: bool = False,
        burn_in: int = 0,
        start_temperature: float = 1.0,
        hidden: str = "sample",
        visible: str = "sample",
        centred: bool = False,
        unit_scale: str = "same",
        step_size_schedule: str = "constant",
        adjust_warmup_epochs: float = 0.0,
        restart_fraction: float = 0.05,
        far_starts: float = 0.0,
        gap_steps: int = 10,
        gap_start: str = "last",
        log_every: int = 0,
        rate_W: float = 1.0,
        rate_b: float = 1.0,
        rate_mu: float = 1.0,
        rate_log_var: float = 1.0,
        decay_W: float = 1.0,
        decay_b: float = 0.0,
        decay_mu: float = 0.0,
        decay_log_var: float = 0.0,
        clip_W: float = 0.0,
        clip_b: float = 0.0,
        clip_mu: float = 0.0,
        clip_log_var: float = 0.0,
        gaps: str = "refuse",
        standardize: str = "channel",
        margin: float = 0.0,
        noise: float = 0.0,
        generate_steps: int = 0,
        generate_step_size: float = 0.0,
        generate_temperature: float = 0.0,
        generate_proposal_temperature: float = 0.0,
        generate_final: str = "auto",
        generate_keep_labels: bool = False,
        image_shape: Sequence[int] | None = None,
        output: str = "probability",
        callbacks: Iterable[Callback] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        self.n_hidden = n_hidden
        self.sampler = sampler
        self.steps = steps
        self.langevin_steps = langevin_steps
        self.step_size = step_size
        self.step_scale = step_scale
        self.temperature = temperature
        self.proposal_temperature = proposal_temperature
        self.anneal = anneal
        self.adjust = adjust
        self.adjust_after = adjust_after
        self.refresh = refresh
        self.final = final
        self.final_steps = final_steps
        self.initial_variance = initial_variance
        self.variance_floor = variance_floor
        self.algorithm = algorithm
        self.batch_size = batch_size
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.learning_rate_schedule = learning_rate_schedule
        self.clip_norm = clip_norm
        self.optimizer = optimizer
        self.momentum = momentum
        self.adam_beta2 = adam_beta2
        self.weight_decay = weight_decay
        self.average = average
        self.keep_labels = keep_labels
        self.burn_in = burn_in
        self.start_temperature = start_temperature
        self.hidden = hidden
        self.visible = visible
        self.centred = centred
        self.unit_scale = unit_scale
        self.step_size_schedule = step_size_schedule
        self.adjust_warmup_epochs = adjust_warmup_epochs
        self.restart_fraction = restart_fraction
        self.far_starts = far_starts
        self.gap_steps = gap_steps
        self.gap_start = gap_start
        self.log_every = log_every
        self.rate_W = rate_W
        self.rate_b = rate_b
        self.rate_mu = rate_mu
        self.rate_log_var = rate_log_var
        self.decay_W = decay_W
        self.decay_b = decay_b
        self.decay_mu = decay_mu
        self.decay_log_var = decay_log_var
        self.clip_W = clip_W
        self.clip_b = clip_b
        self.clip_mu = clip_mu
        self.clip_log_var = clip_log_var
        self.gaps = gaps
        self.standardize = standardize
        self.margin = margin
        self.noise = noise
        self.generate_steps = generate_steps
        self.generate_step_size = generate_step_size
        self.generate_temperature = generate_temperature
        self.generate_proposal_temperature = generate_proposal_temperature
        self.generate_final = generate_final
        self.generate_keep_labels = generate_keep_labels
        self.image_shape = image_shape
        self.output = output
        self.callbacks = callbacks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # Whether the classes of the data are units of the model.
    _labels: ClassVar[bool] = False

    @classmethod
    @lru_cache(maxsize=None)
    def _setting_names(cls) -> dict[str, str]:
        """Of every parameter that is one, the name of its setting."""
        names = [name for name, _, _ in _core.Config().help()]
        by_key = {key.split(".")[1]: key for section in ("model", "sampler", "train", "data") for key in names if key.startswith(section + ".")}
        return {p: _RENAMED.get(p, by_key.get(p, p)) for p in cls._get_param_names() if p not in _OWN}

    @classmethod
    def from_preset(cls: type[Self], preset: Any, **parameters: Any) -> Self:
        """An estimator with the settings of a preset, of a TOML file or of a Config, and parameters over them.

        >>> grbm.GaussianBernoulliRBM.from_preset("mnist", epochs=5)
        GaussianBernoulliRBM(adam_beta2=0.99, algorithm='pcd', average=0.999, batch_size=500, ...)
        """
        config = as_config(preset)
        if config["model.labels"] and not cls._labels:
            raise _core.ConfigError("model: labels = true: allowed is false: grbm.GRBMClassifier.from_preset takes labels")
        return cls(**{**{name: config[key] for name, key in cls._setting_names().items()}, **parameters})

    @classmethod
    def load(cls: type[Self], path: str | os.PathLike[str]) -> Self:
        """A fitted estimator from a model file: this package's or the program's.

        >>> path = os.path.join(folder, "rbm.safetensors")
        >>> X = grbm.Dataset.load("gmm-iso").values
        >>> rbm = grbm.GaussianBernoulliRBM(n_hidden=4, epochs=1, random_state=1).fit(X)
        >>> rbm.save(path)
        >>> bool((grbm.GaussianBernoulliRBM.load(path).transform(X) == rbm.transform(X)).all())
        True
        """
        return cls.from_model(_core.Model.load(os.fspath(path)))

    @classmethod
    def from_model(cls: type[Self], model: _core.Model) -> Self:
        """A fitted estimator of a model, with the settings that it was trained with where it knows them.

        >>> grbm.GaussianBernoulliRBM.from_model(grbm.Model.initial(3, 2)).transform(np.zeros((1, 3)))
        array([[0.5, 0.5]], dtype=float32)
        """
        cls._check_kind(model)
        config = _core.Config.parse(model.provenance.get("config", ""))
        config["model.hidden"] = model.hidden
        config["model.labels"] = cls._labels  # false of a model given a class, too
        for key in ("train.keep_labels", "generate.keep_labels"):
            config[key] = cls._labels and config[key]
        rbm = cls.from_preset(config, image_shape=model.image_shape)
        if model.provenance.get("seed", "").isdigit():
            rbm.random_state = int(model.provenance["seed"])
        rbm.n_features_in_ = model.visible
        return rbm._set_model(model, {})

    @classmethod
    def _check_kind(cls, model: _core.Model) -> None:
        """Whether an estimator of this class can be of the model."""
        if model.classes:
            raise _core.ConfigError("the model has labels: grbm.GRBMClassifier takes it, or this class model.given(label=...)")
        if model.conditions:
            raise _core.ConfigError("the model has conditions: grbm.Model takes it, or this class model.given(conditions=...)")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model file, .safetensors or .npz, which the program and load() read.

        >>> grbm.GaussianBernoulliRBM.from_model(grbm.Model.initial(3, 2)).save(os.path.join(folder, "rbm.npz"))
        """
        check_is_fitted(self, "model_")
        self.model_.save(os.fspath(path))

    def config(self) -> _core.Config:
        """The settings as a configuration.

        >>> grbm.GaussianBernoulliRBM(epochs=3).config()["train.epochs"]
        3.0
        """
        config = _core.Config()
        config["model.labels"] = self._labels
        for name, key in self._setting_names().items():
            value = getattr(self, name)
            if isinstance(value, Sampler):
                continue
            try:
                config[key] = value
            except _core.ConfigError as error:
                raise _core.ConfigError(f"{name} = {value!r}: {error}") from None
        return config

    def transform(self, X: Any) -> np.ndarray:
        """Codes of rows: p(h = 1 | v) as float32, or drawn bits, packed into uint8. Bits are a function of the seed and the number
        of the row: where random_state is a number, rows of the same number in two calls share their luck. To compare codes, draw
        them with other seeds, or with random_state=None.

        >>> rbm = grbm.GaussianBernoulliRBM.from_model(grbm.Model.initial(3, 10)).set_params(output="bits", random_state=1)
        >>> rbm.transform(np.zeros((4, 3))).shape, rbm.transform(np.zeros((4, 3))).dtype
        ((4, 2), dtype('uint8'))
        """
        X = self._rows(X)
        if self._packed():
            return self.model_.encode_bits(X, seed_of(self.random_state), packed=True, threads=threads_of(self.n_jobs))
        return self.model_.encode(X, threads=threads_of(self.n_jobs))

    def inverse_transform(self, X: Any) -> np.ndarray:
        """From codes to the mean of the rows that they stand for.

        >>> rbm = grbm.GaussianBernoulliRBM.from_model(grbm.Model.initial(3, 2))
        >>> rbm.inverse_transform([[0, 1]]).shape
        (1, 3)
        """
        check_is_fitted(self, "model_")
        return self.model_.decode(X, packed=self._packed(), threads=threads_of(self.n_jobs))

    def sample(
        self, n: int = 1, steps: int | None = None, return_chain: bool = False, *, every: int = 1, random_state: Any = None
    ) -> Any:
        """Draws rows from noise. With return_chain, {name: [chain, draw, ...]} of n chains, after every so many steps.

        >>> rbm = grbm.GaussianBernoulliRBM.from_model(grbm.Model.initial(3, 2))
        >>> rbm.sample(4, steps=10).shape, rbm.sample(4, steps=10, return_chain=True)["v"].shape
        ((4, 3), (4, 10, 3))
        """
        check_is_fitted(self, "model_")
        return self._draw(self.model_, n, steps, return_chain, every, random_state)

    def reconstruct(self, X: Any, *, random_state: Any = None) -> np.ndarray:
        """Rows through drawn hidden units and back.

        >>> grbm.GaussianBernoulliRBM.from_model(grbm.Model.initial(3, 2)).reconstruct(np.zeros((4, 3))).shape
        (4, 3)
        """
        X = self._rows(X)
        return self.model_.reconstruct(X, self._draw_seed(random_state), threads_of(self.n_jobs))

    @property
    def components_(self) -> np.ndarray:
        """The weights, hidden × visible."""
        check_is_fitted(self, "model_")
        return self.model_.W.T

    @property
    def _n_features_out(self) -> int:
        return (self.model_.hidden + 7) // 8 if self._packed() else self.model_.hidden

    def _packed(self) -> bool:
        if self.output not in ("probability", "bits"):
            raise ValueError(f"output = {self.output!r}: allowed are 'probability' and 'bits'")
        return self.output == "bits"

    def _rows(self, X: Any, allow_nan: bool = False) -> np.ndarray:
        check_is_fitted(self, "model_")
        return validate_rows(self, X, reset=False, allow_nan=allow_nan)

    def _dataset(self, X: Any, sample_weight: Any, reset: bool, labels: dict[str, Any]) -> _core.Dataset:
        gaps = self.gaps == "sample"
        X = validate_rows(self, X, reset=reset, allow_nan=gaps)
        weights = [] if sample_weight is None else row_weights(sample_weight, X)
        data = _core.Dataset(X, image_shape=self.image_shape, gaps=gaps, weights=weights, **labels)
        if data.warning:
            warnings.warn(data.warning, RuntimeWarning, stacklevel=4)
        return data

    @contextmanager
    def _features_kept(self) -> Iterator[None]:
        """What fails within leaves the features of the data that the model, if there is one, was trained on."""
        names = ("n_features_in_", "feature_names_in_")
        before = {name: getattr(self, name) for name in names if hasattr(self, name)}
        try:
            yield
        except BaseException:
            for name in names:
                if name in before:
                    setattr(self, name, before[name])
                elif hasattr(self, name):
                    delattr(self, name)
            raise

    def _draw(self, model: _core.Model, n: int, steps: int | None, return_chain: bool, every: int, random_state: Any) -> Any:
        seed = self._draw_seed(random_state)
        hook = self.sampler.hook(seed) if isinstance(self.sampler, Sampler) else None
        threads = threads_of(self.n_jobs)
        if return_chain:
            return model.sample_chain(n, steps, every, seed, threads, hook)
        return model.sample(n, steps, seed, threads, hook)

    def _draw_seed(self, random_state: Any) -> int:
        return seed_of(self.random_state if random_state is None else random_state)

    def _prepare(self, X: Any, sample_weight: Any, **labels: Any) -> _core.Trainer:
        """For fit."""
        config = self.config()
        with self._features_kept():
            return self._trainer(config, self._dataset(X, sample_weight, True, labels), seed_of(self.random_state))

    def _go_on(self: Self, X: Any, sample_weight: Any, classes: Sequence[str] = (), **labels: Any) -> Self:
        """For partial_fit. classes: all that there will be, where these rows are the first."""
        first = not hasattr(self, "_state")
        config = self.config()
        data = self._dataset(X, sample_weight, not hasattr(self, "model_"), labels)
        config["train.learning_rate_schedule"] = "constant"
        config["train.step_size_schedule"] = "constant"
        config["train.gap_start"] = "noise"  # the last rows were others
        config["train.batch_size"] = min(self.batch_size, data.rows)
        seed = seed_of(self.random_state) if first else self._seed
        if first and hasattr(self, "model_"):
            raise ValueError("partial_fit: a model from a file lacks the state of training: fit it anew")
        trainer = self._trainer(config, data, seed, None if first else self._statistics, classes if first else ())
        if not first:
            # Chains that keep their class are of those of the rows before.
            trainer.restore(self._state.without_chains() if self.keep_labels else self._state)
        run_trainer(trainer, self.callbacks or (), bool(self.verbose), -(-data.rows // config["train.batch_size"]))
        return self._take(trainer)

    def _run(self: Self, trainer: _core.Trainer) -> Self:
        try:
            run_trainer(trainer, self.callbacks or (), bool(self.verbose))
        finally:
            self._take(trainer)
        return self

    def _trainer(
        self, config: _core.Config, data: _core.Dataset, seed: int, statistics: Any = None, classes: Sequence[str] = ()
    ) -> _core.Trainer:
        hook = self.sampler.hook(seed) if isinstance(self.sampler, Sampler) else None
        self._packed()
        trainer = _core.Trainer(config, data, seed, threads_of(self.n_jobs), hook, statistics, list(classes))
        self._seed, self._statistics = seed, trainer.statistics
        return trainer

    def _take(self: Self, trainer: _core.Trainer) -> Self:
        self._state = trainer.state().without_gaps()  # partial_fit has other rows
        return self._set_model(trainer.model(), history_of(trainer.lines))

    def _set_model(self: Self, model: _core.Model, history: dict[str, np.ndarray]) -> Self:
        self.model_ = model
        self.history_ = history
        self.n_updates_ = int(model.provenance.get("updates", 0))
        self._seed = getattr(self, "_seed", 1)
        self._partition = None
        return self

    def _repr_html_inner(self) -> str:
        diagram = super()._repr_html_inner()
        if not hasattr(self, "model_"):
            return diagram
        return diagram + fitted_html(self.model_, self.history_, {"trained": f"{self.n_updates_} updates"})

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle
