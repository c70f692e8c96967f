"""How good models and samples are. Every number is the C++ library's, as `grbm evaluate` gives it."""

from __future__ import annotations

import json
import warnings
from typing import Any, Callable, NamedTuple, Sequence

from . import _core
from ._compat import as_array

Rows = Any  # an array of rows, or a Dataset
ProgressFunction = Callable[[str, int, int], None]


class LogLikelihood(NamedTuple):
    """A mean log-likelihood per row in nats, in the data's own units.

    >>> grbm.LogLikelihood(-1.5, 0.1, -1.7, -1.3, "exact, by enumeration").value
    -1.5
    """

    value: float  # NaN where only the interval can be trusted
    error: float  # standard error, of the rows and of log Z
    low: float
    high: float
    method: str  # how log Z was had


def _dataset(rows: Rows, model: _core.Model) -> _core.Dataset:
    if isinstance(rows, _core.Dataset):
        return rows
    return _core.Dataset(rows, image_shape=model.image_shape)


def evaluate(
    model: _core.Model,
    data: Rows,
    held_out: Rows | None = None,
    metrics: Sequence[str] = (),
    *,
    samples: int = 2000,
    rows: int = 10000,
    chains: int = 100,
    temperatures: int = 1000,
    classifier: str = "",
    seed: int = 1,
    threads: int = 0,
    progress: ProgressFunction | None = None,
) -> dict[str, dict[str, dict[str, Any]]]:
    """The judgements of `grbm evaluate`: {metric: {score: {value, error, low, high, note}}}; see grbm.metrics().

    data: what the model was trained on; held_out: data of the same law. Without metrics, all that can be had.

    >>> run = grbm.train("gmm-iso", settings={"train.epochs": 20}, progress=False)
    >>> data = grbm.Dataset.load("gmm-iso")
    >>> scores = grbm.evaluate(run.model, data, metrics=["likelihood"])
    >>> scores["likelihood"]["log_partition"]["error"]
    0.0
    """
    text = _core.judge(
        model,
        _dataset(data, model),
        None if held_out is None else _dataset(held_out, model),
        list(metrics),
        samples,
        rows,
        chains,
        temperatures,
        classifier,
        seed,
        threads,
        progress,
    )
    return json.loads(text)


def log_likelihood(
    model: _core.Model,
    X: Rows,
    *,
    chains: int = 100,
    temperatures: int = 1000,
    seed: int = 1,
    threads: int = 0,
    progress: ProgressFunction | None = None,
) -> LogLikelihood:
    """The mean log-likelihood of rows: exact for small models, otherwise by annealed importance sampling with bounds.

    >>> X = grbm.Dataset.load("gmm-iso").values
    >>> rbm = grbm.GaussianBernoulliRBM(n_hidden=8, epochs=5, standardize="pixel", random_state=1).fit(X)
    >>> result = grbm.log_likelihood(rbm.model_, X)
    >>> result.low <= result.value <= result.high, result.method
    (True, 'exact, by quadrature')
    """
    data = _dataset(X, model)
    scores = evaluate(
        model,
        data,
        metrics=["likelihood"],
        rows=data.rows,
        chains=chains,
        temperatures=temperatures,
        seed=seed,
        threads=threads,
        progress=progress,
    )["likelihood"]
    nats = scores["nats_training"]
    value, error = nats.get("value", float("nan")), nats.get("error", float("nan"))
    low, high = nats.get("low", value - 2 * error), nats.get("high", value + 2 * error)
    return LogLikelihood(value, error, low, high, scores["log_partition"]["note"].removeprefix("nats, "))


def frechet_distance(a: Any, b: Any) -> float:
    """Fréchet's distance between Gaussians that are fitted to two sets of features.

    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> round(grbm.frechet_distance(X, X + 1), 5)
    2.0
    """
    distance, rank_deficient = _core.frechet(a, b)
    if rank_deficient:
        warnings.warn("as few rows as dimensions: the distance is far above the one that more rows would give", stacklevel=2)
    return distance


def kernel_distance(a: Any, b: Any, subset_size: int = 1000) -> tuple[float, float]:
    """The kernel distance between two sets of features, the mean over disjoint subsets, and its standard error.

    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> near, far = grbm.kernel_distance(X[:200], X[200:], 100), grbm.kernel_distance(X[:200], X[200:] + 1, 100)
    >>> near[0] < far[0]
    True
    """
    a, b = as_array(a), as_array(b)
    return _core.kernel(a, b, min(subset_size, len(a), len(b)))


def rhat(draws: Any) -> Any:
    """Rank-normalised split R̂ of draws [chain, draw, ...]: near 1 after convergence.

    >>> round(grbm.rhat(np.random.default_rng(0).normal(size=(4, 1000))), 2)
    1.0
    """
    return _core.split_rhat(draws)


def ess(draws: Any, kind: str = "bulk") -> Any:
    """The effective sample size of draws [chain, draw, ...], of the "bulk", the "tail" or the "mean".

    >>> grbm.ess(np.random.default_rng(0).normal(size=(4, 1000))) > 3000
    True
    """
    kinds = {"bulk": _core.ess_bulk, "tail": _core.ess_tail, "mean": _core.ess_mean}
    if kind not in kinds:
        raise ValueError(f"kind = {kind!r}: allowed are {', '.join(kinds)}")
    return kinds[kind](draws)
