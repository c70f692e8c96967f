"""Gaussian-Bernoulli restricted Boltzmann machines: the C++ library with the manners of scikit-learn.

>>> X = grbm.Dataset.load("gmm-iso").values
>>> rbm = grbm.GaussianBernoulliRBM(n_hidden=16, epochs=2, random_state=1).fit(X)
>>> rbm.transform(X).shape
(1000, 16)
"""

import importlib
from typing import Any

from ._core import (
    BusyError,
    Config,
    ConfigError,
    DataError,
    DataStatistics,
    Dataset,
    Error,
    Estimate,
    InternalError,
    IoError,
    Model,
    NumericError,
    Partition,
    Trainer,
    TrainState,
    __version__,
    cpu_target,
    fetch,
    log_partition,
    metrics,
    presets,
    quick_distance,
    row_log_likelihoods,
)
from .chains import summarize, to_netcdf, to_xarray
from .classifier import GRBMClassifier
from .estimator import GaussianBernoulliRBM
from .evaluation import LogLikelihood, ess, evaluate, frechet_distance, kernel_distance, log_likelihood, rhat
from .samplers import Gibbs, Sampler
from .training import Run, train

__all__ = [
    "BusyError",
    "Config",
    "ConfigError",
    "DataError",
    "DataStatistics",
    "Dataset",
    "Error",
    "Estimate",
    "GRBMClassifier",
    "GaussianBernoulliRBM",
    "Gibbs",
    "InternalError",
    "IoError",
    "LogLikelihood",
    "Model",
    "NumericError",
    "Partition",
    "Run",
    "Sampler",
    "TrainState",
    "Trainer",
    "__version__",
    "cpu_target",
    "ess",
    "evaluate",
    "fetch",
    "frechet_distance",
    "kernel_distance",
    "log_likelihood",
    "log_partition",
    "metrics",
    "presets",
    "quick_distance",
    "rhat",
    "row_log_likelihoods",
    "summarize",
    "to_netcdf",
    "to_xarray",
    "train",
]


def __getattr__(name: str) -> Any:
    """grbm.plot and grbm.convert: imported when they are first used."""
    if name in ("convert", "plot"):
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
