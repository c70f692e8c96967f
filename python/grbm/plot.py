"""Pictures of models and of training, with matplotlib, which is needed for nothing else.

Each function draws into `ax`, or into axes of its own, and returns them.
"""

from __future__ import annotations

import math
from typing import Any, Mapping, Sequence

import numpy as np

from . import _core
from ._compat import as_array


def _axes(ax: Any, width: float = 5.0, height: float = 3.6) -> Any:
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def _row(count: int) -> Any:
    from matplotlib import pyplot

    return pyplot.subplots(1, count, figsize=(3.75 * count, 3.4), layout="constrained", squeeze=False)[1][0]


def _colors(top: float, log: bool) -> Any:
    from matplotlib.colors import LogNorm, Normalize

    return LogNorm(1e-6 * top, top) if log else Normalize(0, top)


def _grid(tiles: np.ndarray, columns: int, gap: float) -> np.ndarray:
    """Tiles of height × width × channels, side by side with one pixel of `gap` between them."""
    count, height, width, channels = tiles.shape
    rows = math.ceil(count / columns)
    canvas = np.full((rows * (height + 1) - 1, columns * (width + 1) - 1, channels), gap, float)
    for i, tile in enumerate(tiles):
        y, x = (height + 1) * (i // columns), (width + 1) * (i % columns)
        canvas[y : y + height, x : x + width] = tile
    return canvas


def _image_shape(shape: Sequence[int] | None, model: Any) -> tuple[int, int, int]:
    shape = shape if shape is not None else getattr(model, "image_shape", None)
    if shape is None:
        raise ValueError("image_shape: rows are not known as images: give (height, width) or (height, width, channels)")
    return (int(shape[0]), int(shape[1]), int(shape[2]) if len(shape) > 2 else 1)


def _show(ax: Any, tiles: np.ndarray, columns: int, low: float, high: float, gap: float) -> Any:
    columns = columns or max(1, math.ceil(math.sqrt(len(tiles))))
    scaled = np.clip((tiles - low) / ((high - low) or 1.0), 0, 1)
    canvas = _grid(scaled, min(columns, len(tiles)), gap)
    width = min(10.0, max(4.0, canvas.shape[1] / 50))
    ax = _axes(ax, width, width * canvas.shape[0] / canvas.shape[1])
    ax.imshow(canvas[..., 0] if canvas.shape[-1] == 1 else canvas, cmap="gray", vmin=0, vmax=1)
    ax.set_axis_off()
    return ax


def samples(rows: Any, image_shape: Sequence[int] | None = None, *, model: Any = None, columns: int = 0, ax: Any = None) -> Any:
    """Rows as images side by side, or as points where they have two columns. Pixels of 0 to 255 keep that range.

    >>> from grbm import plot
    >>> ax = plot.samples(np.random.default_rng(0).normal(size=(9, 16)), image_shape=(4, 4))
    """
    rows = np.asarray(as_array(rows))
    model = getattr(model, "model_", model)
    if rows.shape[1] == 2 and image_shape is None and getattr(model, "image_shape", None) is None:
        ax = _axes(ax, 4, 4)
        ax.scatter(rows[:, 0], rows[:, 1], s=max(1.0, min(12.0, 4000 / len(rows))), alpha=0.6, linewidths=0, color="#2a78d6")
        ax.set_aspect("equal")
        return ax
    shape = _image_shape(image_shape, model)
    pixels = rows.dtype == np.uint8 or getattr(model, "provenance", {}).get("bits") in ("8", "16")
    low, high = (0.0, 255.0) if pixels else (float(rows.min()), float(rows.max()))
    return _show(ax, rows.reshape(-1, *shape).astype(float), columns, low, high, 1.0)


def filters(model: Any, count: int = 64, image_shape: Sequence[int] | None = None, *, columns: int = 0, ax: Any = None) -> Any:
    """Weights of hidden units as images: grey is 0, black and white are the largest of each.

    >>> from grbm import plot
    >>> ax = plot.filters(grbm.Model.initial(16, 9), image_shape=(4, 4))
    """
    model = getattr(model, "model_", model)
    shape = _image_shape(image_shape, model)
    weights = np.array(model.W[:, :count].T)
    largest = np.abs(weights).max(axis=1, keepdims=True)
    weights = weights / np.where(largest > 0, largest, 1)
    return _show(ax, weights.reshape(-1, *shape), columns, -1.0, 1.0, 1.0)


def curves(history: Any, names: Sequence[str] = ("reconstruction", "mean_variance", "gradient_norm"), *, axes: Any = None) -> Any:
    """Metrics over the epochs, one panel for each. history: a Run, an estimator, or {name: array}.

    >>> from grbm import plot
    >>> run = grbm.train("gmm-iso", settings={"train.epochs": 2}, progress=False)
    >>> axes = plot.curves(run, ["reconstruction"])
    """
    values: Mapping[str, np.ndarray] = getattr(history, "history", getattr(history, "history_", history))
    unknown = [name for name in names if name not in values]
    if unknown:
        raise ValueError(f"names: {', '.join(unknown)}: known are {', '.join(values)}")
    if axes is None:
        from matplotlib import pyplot

        _, axes = pyplot.subplots(1, len(names), figsize=(3.4 * len(names), 2.6), layout="constrained", squeeze=False)
        axes = axes[0]
    for ax, name in zip(np.atleast_1d(axes), names):
        seen = np.isfinite(values[name])
        ax.plot(values["epoch"][seen], values[name][seen], linewidth=1.5, color="#2a78d6")
        ax.set_xlabel("epoch")
        ax.set_title(name.replace("_", " "), fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
    return axes


def variances(model: Any, *, ax: Any = None) -> Any:
    """The variance of every visible unit: as an image where rows are images, otherwise sorted.

    >>> from grbm import plot
    >>> ax = plot.variances(grbm.Model.initial(16, 9))
    """
    model = getattr(model, "model_", model)
    ax = _axes(ax)
    if model.image_shape is not None:
        height, width, channels = _image_shape(None, model)
        shown = ax.imshow(np.array(model.variance).reshape(height, width, channels).mean(axis=2), cmap="viridis")
        ax.figure.colorbar(shown, ax=ax, label="variance")
        ax.set_axis_off()
        return ax
    values = np.sort(model.variance)[::-1]
    ax.plot(np.arange(1, len(values) + 1), values, linewidth=1.5, color="#2a78d6", marker="o" if len(values) < 40 else "")
    ax.set_ylim(bottom=0)
    ax.set_xlabel("visible unit, by variance")
    ax.set_ylabel("variance")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def densities(
    model: Any, X: Any = None, *, log: bool = False, resolution: int = 200, margin: float = 0.15, ax: Any = None
) -> Any:
    """The exact density of a model of two visible units, in the data's own units, with rows of data upon it.

    A list of models is drawn side by side in one range and with one scale of colours, so that they can be compared; X is then
    one array for all, or a list with one for each. log: colours on a logarithmic scale, six decades down from the largest
    density, which shows modes that are too faint to be seen otherwise.

    >>> from grbm import plot
    >>> run = grbm.train("gmm-iso", settings={"train.epochs": 20}, progress=False)
    >>> ax = plot.densities(run.model, resolution=20)
    >>> axes = plot.densities([run.model, run.model.tempered(4)], log=True, resolution=20)
    """
    several = isinstance(model, (list, tuple))
    models = [getattr(each, "model_", each) for each in (model if several else [model])]
    for each in models:
        if each.visible != 2:
            raise ValueError(f"densities: the model has {each.visible} visible units: it takes 2 to draw a density")
    rows = list(X) if several and isinstance(X, (list, tuple)) else [X] * len(models)
    if len(rows) != len(models):
        raise ValueError(f"densities: {len(rows)} arrays of rows for {len(models)} models: give one for each, or one for all")
    seen = [np.asarray(as_array(given) if given is not None else each.sample(1000), float) for given, each in zip(rows, models)]
    low, high = np.concatenate(seen).min(axis=0), np.concatenate(seen).max(axis=0)
    pad = margin * (high - low)
    x, y = (np.linspace(a, b, resolution) for a, b in zip(low - pad, high + pad))
    points = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    drawn = [np.exp(_core.row_log_likelihoods(each, points, _core.log_partition(each).value)) for each in models]
    if several and ax is None:
        axes = _row(len(models))
    else:
        axes = np.ravel(np.asarray(ax if several else _axes(ax, 4.6, 4), object))
    top = max(density.max() for density in drawn)
    for one, density, points_seen, given in zip(axes, drawn, seen, rows):
        shown = one.imshow(
            np.maximum(density, 1e-6 * top).reshape(resolution, resolution) if log else density.reshape(resolution, resolution),
            origin="lower", extent=(x[0], x[-1], y[0], y[-1]), cmap="viridis", aspect="auto", norm=_colors(top, log),
        )  # fmt: skip
        one.figure.colorbar(shown, ax=one, label="density")
        if given is not None:
            one.scatter(points_seen[:, 0], points_seen[:, 1], s=2, color="white", alpha=0.4, linewidths=0)
    return axes if several else axes[0]
