"""What a notebook shows of runs and of estimators that were fitted."""

from __future__ import annotations

import base64
import html
from typing import Any, Mapping

import numpy as np

_CELL = "padding: 1px 10px 1px 0; text-align: left; border: none"


def _table(rows: Mapping[str, Any]) -> str:
    lines = (
        f'<tr><td style="{_CELL}; opacity: 0.7">{html.escape(name)}</td>'
        f'<td style="{_CELL}">{html.escape(str(value))}</td></tr>'
        for name, value in rows.items()
    )
    return f'<table style="border-collapse: collapse">{"".join(lines)}</table>'


def curve_svg(x: np.ndarray, y: np.ndarray, title: str, width: int = 240, height: int = 72) -> str:
    """A small line, with its first and last value."""
    seen = np.isfinite(y)
    x, y = x[seen], y[seen]
    if len(y) < 2:
        return ""
    keep = np.unique(np.linspace(0, len(y) - 1, 240).astype(int))
    x, y = x[keep], y[keep]
    spread = float(np.ptp(y)) or 1.0
    across = (x - x[0]) / (float(x[-1] - x[0]) or 1.0) * (width - 4) + 2
    down = height - 4 - (y - y.min()) / spread * (height - 24)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down))
    return (
        f'<svg width="{width}" height="{height}" role="img" style="margin-right: 12px; color: inherit">'
        f'<text x="2" y="11" font-size="11" fill="currentColor">{html.escape(title)}: {y[0]:.3g} to {y[-1]:.3g}</text>'
        f'<polyline points="{points}" fill="none" stroke="#2a78d6" stroke-width="1.5"/></svg>'
    )


def _curves(history: Mapping[str, np.ndarray]) -> str:
    shown = {"reconstruction": "reconstruction", "mean_variance": "mean variance", "gradient_norm": "gradient norm"}
    return "".join(curve_svg(history["epoch"], history[name], title) for name, title in shown.items() if name in history)


def _picture(model: Any, count: int = 16) -> str:
    """Samples, where rows are images: drawn by the model's own sampler, always the same ones."""
    if model.image_shape is None:
        return ""
    try:
        png = model.picture(model.sample(count, steps=min(50, model.sampler["steps"]), seed=1))
    except ArithmeticError:  # a model whose chains leave the finite numbers has no picture
        return ""
    data = base64.b64encode(png).decode()
    return f'<div><img alt="{count} samples from noise" src="data:image/png;base64,{data}" style="image-rendering: pixelated"/></div>'


def fitted_html(model: Any, history: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> str:
    rows = {"units": f"{model.visible} visible, {model.hidden} hidden", **facts}
    return f'<div style="margin: 4px 0">{_table(rows)}{_curves(history)}{_picture(model)}</div>'


def run_html(run: Any) -> str:
    facts = {
        "settings": repr(run.config),
        "seed": run.seed,
        "trained": f"{run.model.provenance.get('updates', '?')} updates in {run.seconds:.1f} s",
    }
    if not run.finished:
        facts["finished"] = "no"
    if run.folder:
        facts["folder"] = run.folder
    return fitted_html(run.model, run.history, facts)
