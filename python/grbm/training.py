"""Training by a configuration: in memory, or in a folder as `grbm train` does it."""

from __future__ import annotations

import json
import os
import time
import warnings
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, Mapping

import numpy as np

from . import _core
from ._html import run_html
from ._progress import Progress
from .samplers import Sampler

Callback = Callable[[dict[str, float]], Any]


def history_of(lines: Iterable[str]) -> dict[str, np.ndarray]:
    """Lines of metrics.jsonl as {name: array}; NaN where a line lacks a number."""
    rows = [json.loads(line) for line in lines]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: np.array([row.get(name, np.nan) for row in rows], float) for name in names}


@dataclass
class Run:
    """What training made: the model, its curves, and how it came about.

    >>> run = grbm.train("gmm-iso", settings={"train.epochs": 2}, progress=False)
    >>> run.finished, run.model, sorted(run.history)[:3]
    (True, Model(visible=2, hidden=8), ['acceptance', 'epoch', 'gradient_norm'])
    """

    model: _core.Model
    history: dict[str, np.ndarray] = field(repr=False)
    config: _core.Config
    seed: int
    finished: bool
    seconds: float
    folder: str | None = None

    def _repr_html_(self) -> str:
        return run_html(self)


class _Told:
    """What the library tells during training, given to callbacks, to the bar and to warnings."""

    def __init__(self, callbacks: Iterable[Callback], bar: Progress):
        self.callbacks, self.bar = list(callbacks), bar

    def on_update(self, line: str) -> bool:
        metrics = json.loads(line)
        self.bar.update(metrics["update"], f"epoch {metrics['epoch']:.2f}  recon {metrics['reconstruction']:.4g}")
        return any([callback(metrics) for callback in self.callbacks])

    @staticmethod
    def on_warning(text: str) -> None:
        warnings.warn(text, RuntimeWarning, stacklevel=2)


def run_trainer(trainer: _core.Trainer, callbacks: Iterable[Callback], progress: bool, most: int = 0) -> bool:
    """Runs to the end, or for so many updates; False where Ctrl-C or a callback ended it before."""
    target = trainer.updates + most if most else trainer.total_updates
    with Progress("update", target, progress, trainer.updates) as bar:
        told = _Told(callbacks, bar)
        quiet = not progress and not told.callbacks
        try:
            trainer.run(most, None if quiet else told.on_update, told.on_warning)
        except KeyboardInterrupt:
            warnings.warn(f"training was interrupted; the model is that of update {trainer.updates}", stacklevel=3)
        bar.update(trainer.updates)
    return trainer.updates >= target


def as_config(config: _core.Config | str | os.PathLike[str] | Mapping[str, Mapping[str, Any]]) -> _core.Config:
    """Settings from a preset, a TOML file or {section: {key: value}}; a Config is copied."""
    if isinstance(config, _core.Config):
        return _core.Config.parse(config.text())
    if isinstance(config, (str, os.PathLike)):
        return _core.Config.preset(os.fspath(config))
    made = _core.Config()
    for section, values in config.items():
        for key, value in values.items():
            made[f"{section}.{key}"] = value
    return made


def train(
    config: _core.Config | str | os.PathLike[str] | Mapping[str, Mapping[str, Any]],
    data: Any = None,
    *,
    settings: Mapping[str, Any] | None = None,
    seed: int = 1,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    sampler: Sampler | None = None,
    callbacks: Iterable[Callback] = (),
    progress: bool = True,
    threads: int = 0,
) -> Run:
    """Trains by a preset, a TOML file, a Config or {section: {key: value}}, to the bits of `grbm train`.

    data: rows or a Dataset in place of the configuration's source. settings: {"section.key": value} over the
    configuration. out: a run's folder, with checkpoints, which resume=True goes on with. Callbacks are given the metrics
    of every update, and end the run where one returns True. Ctrl-C ends it, too, with a warning, and gives what there is.

    >>> seen = []
    >>> run = grbm.train("gmm-iso", settings={"train.epochs": 1}, callbacks=[seen.append], progress=False)
    >>> len(seen), seen[-1]["update"], run.finished
    (10, 10, True)
    """
    config = as_config(config)
    for name, value in (settings or {}).items():
        config[name] = value
    start = time.monotonic()
    if out is not None:
        if data is not None or sampler is not None:
            raise ValueError("out: a run in a folder takes its data and its sampler from the configuration alone")
        return _train_in_folder(config, os.fspath(out), seed, resume, callbacks, progress, threads)
    if resume:
        raise ValueError("resume: a run in memory leaves nothing to go on with: give out, a run's folder")
    if data is None:
        data = _core.Dataset.of(config, threads)
    elif not isinstance(data, _core.Dataset):
        data = _core.Dataset(data)
    if data.warning:
        warnings.warn(data.warning, RuntimeWarning, stacklevel=2)
    step = None if sampler is None else sampler.hook(seed)
    trainer = _core.Trainer(config, data, seed, threads, step)
    finished = run_trainer(trainer, callbacks, progress)
    return Run(trainer.model(), history_of(trainer.lines), config, seed, finished, time.monotonic() - start)


def _train_in_folder(
    config: _core.Config, folder: str, seed: int, resume: bool, callbacks: Iterable[Callback], progress: bool, threads: int
) -> Run:
    start = time.monotonic()
    with Progress("update", 1, progress) as bar:
        told = _Told(callbacks, bar)

        def on_update(line: str) -> bool:
            metrics = json.loads(line)
            epochs = config["train.epochs"]
            bar.total = max(bar.total, round(metrics["update"] * epochs / metrics["epoch"]))
            return told.on_update(line)

        try:
            finished = _core.train_in_folder(config, folder, seed, resume, threads, on_update, told.on_warning)
        except KeyboardInterrupt:
            finished = False
            warnings.warn(f"training was interrupted; train(..., out={folder!r}, resume=True) goes on", stacklevel=3)
    with open(os.path.join(folder, "metrics.jsonl"), encoding="utf-8") as lines:
        history = history_of(lines)
    model = _core.Model.load(os.path.join(folder, "model.safetensors"))
    return Run(model, history, config, seed, finished, time.monotonic() - start, folder)
