"""Samplers: those of the library by their names, and others that are written in Python, for trying ideas."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ._core import Model

METHODS = ("gibbs", "langevin", "gibbs-langevin", "partial-gibbs")


class Sampler:
    """A sampler of one's own: chains take its step() in place of the library's, to draw samples and to train.

    v (chains × visible, float32) and h (chains × hidden, 0 and 1) are in the model's units. What is drawn from `rng` is a
    function of the seed and the number of the step.

    >>> class Sticky(grbm.Sampler):
    ...     def step(self, model, v, h, rng):
    ...         mean = model.visible_mean(h)
    ...         v = mean + 0.9 * (v - mean) + np.sqrt(1 - 0.9**2) * np.sqrt(model.variance) * rng.normal(size=v.shape)
    ...         return v, rng.random(h.shape) < model.hidden_probabilities(v)
    >>> model = grbm.Model.initial(3, 2)
    >>> model.sample(5, steps=10, step=Sticky().hook(seed=1)).shape
    (5, 3)
    >>> rbm = grbm.GaussianBernoulliRBM(n_hidden=4, sampler=Sticky(), steps=5, epochs=1, random_state=1)
    >>> rbm.fit(np.random.default_rng(0).normal(size=(200, 3))).transform(np.zeros((1, 3))).shape
    (1, 4)
    """

    def step(self, model: Model, v: np.ndarray, h: np.ndarray, rng: np.random.Generator) -> tuple[Any, Any]:
        raise NotImplementedError("a sampler needs a method step(model, v, h, rng) that returns (v, h)")

    def hook(self, seed: int) -> Callable[[Model, np.ndarray, np.ndarray, int], tuple[Any, Any]]:
        """The step as the library calls it.

        >>> model = grbm.Model.initial(3, 2)
        >>> v, h = grbm.Gibbs().hook(seed=1)(model, np.zeros((4, 3), np.float32), np.zeros((4, 2), np.uint8), 0)
        >>> v.shape, h.shape
        ((4, 3), (4, 2))
        """
        mask = 2**64 - 1

        def call(model: Model, v: np.ndarray, h: np.ndarray, number: int) -> tuple[Any, Any]:
            rng = np.random.Generator(np.random.Philox(key=np.array([seed & mask, number], np.uint64)))
            return self.step(model, v, h, rng)

        return call


class Gibbs(Sampler):
    """Gibbs sampling, written in Python: what the library's "gibbs" does, as an example to begin with.

    >>> grbm.Model.initial(3, 2).sample(5, steps=10, step=grbm.Gibbs().hook(seed=1)).shape
    (5, 3)
    """

    def step(self, model: Model, v: np.ndarray, h: np.ndarray, rng: np.random.Generator) -> tuple[Any, Any]:
        v = model.visible_mean(h) + np.sqrt(model.variance) * rng.normal(size=v.shape).astype(np.float32)
        return v, rng.random(h.shape) < model.hidden_probabilities(v)
