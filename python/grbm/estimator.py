"""The transformer, with scikit-learn's manners."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._compat import as_array
from ._machine import Machine, threads_of


class GaussianBernoulliRBM(Machine):
    """A restricted Boltzmann machine of real-valued data with one layer of binary hidden units.

    Parameters have the names of the configuration's settings, and their meaning: `grbm.Config().help()` has a line for each.
    Others are scikit-learn's, or have a word here:

    - `n_hidden`: model.hidden, the number of hidden units
    - `sampler`: sampler.method: "gibbs", "langevin", "gibbs-langevin", "partial-gibbs"; or a grbm.Sampler written in Python,
      of which a saved file knows nothing: drawing from it is then by "gibbs-langevin"
    - `generate_steps`, `generate_step_size`, `generate_temperature`, `generate_proposal_temperature`, `generate_final`,
      `generate_keep_labels`: of the section [generate], of chains that draw samples
    - `image_shape`: (height, width) or (height, width, channels) where rows are images
    - `output`: what transform gives: "probability", or "bits", drawn and packed into uint8 as np.packbits does it
    - `callbacks`: functions that are given the metrics of every update; one that returns True ends training
    - `random_state`: a whole number is the seed itself, --seed of the program
    - `n_jobs`: threads; None and -1: all cores. Results have the same bits for any number
    - `verbose`: whether to show a progress bar

    Rows are taken as float32 or uint8 without a copy, if they are contiguous, and as a float32 copy otherwise: where that loses
    differences between the values of a column, there is a warning.

    After fitting, model_ is the grbm.Model, history_ its curves over training, n_updates_ the number of updates made.

    >>> X = grbm.Dataset.load("gmm-iso").values
    >>> rbm = grbm.GaussianBernoulliRBM(n_hidden=16, epochs=20, standardize="pixel", random_state=1).fit(X)
    >>> rbm.transform(X[:3]).shape, rbm.sample(5).shape
    ((3, 16), (5, 2))
    >>> rbm.score(X) > grbm.GaussianBernoulliRBM(n_hidden=16, epochs=0.1, random_state=1).fit(X).score(X)
    True
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> GaussianBernoulliRBM:
        """Trains on rows. Ctrl-C ends it with a warning: the model is then that of the last update. NaN is a value that is missing,
        with gaps="sample"; rows are drawn into batches in proportion to sample_weight.

        >>> grbm.GaussianBernoulliRBM(n_hidden=4, epochs=1).fit(np.random.default_rng(0).normal(size=(50, 3))).n_updates_
        1
        """
        return self._run(self._prepare(X, sample_weight))

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> GaussianBernoulliRBM:
        """Goes on training with one pass over rows, in batches of at most batch_size, at the learning rate as it is set: without
        a schedule, since nobody knows how many more will come. The standardisation is that of the first rows. What they lack is drawn
        from noise (gap_start). With a margin, values below 0 are refused where zeros of the first rows lie lower.

        >>> rbm = grbm.GaussianBernoulliRBM(n_hidden=4, batch_size=10, random_state=1)
        >>> for chunk in np.random.default_rng(0).normal(size=(3, 50, 2)):
        ...     rbm = rbm.partial_fit(chunk)
        >>> rbm.n_updates_
        15
        """
        return self._go_on(X, sample_weight)

    def inpaint(self, X: Any, mask: Any = None, steps: int | None = None, *, random_state: Any = None) -> np.ndarray:
        """Fills in what is not known, given the rest. mask: true where a value is known, for all rows or for each; what is not
        known may be NaN. Without a mask, NaN is filled in.

        >>> rbm = grbm.GaussianBernoulliRBM.from_model(grbm.Model.initial(3, 2))
        >>> float(rbm.inpaint([[1, np.nan, 3]], [True, False, True])[0, 2])
        3.0
        """
        X = self._rows(X, allow_nan=True)
        mask = ~np.isnan(X) if mask is None else as_array(mask)
        return self.model_.inpaint(X, mask, steps, self._draw_seed(random_state), threads_of(self.n_jobs))

    def log_partition(self) -> _core.Partition:
        """log Z of the model: computed when it is first asked for, and kept.

        >>> grbm.GaussianBernoulliRBM.from_model(grbm.Model.initial(3, 2)).log_partition().method
        'enumeration'
        """
        check_is_fitted(self, "model_")
        if self._partition is None:
            self._partition = _core.log_partition(self.model_, seed=self._seed, threads=threads_of(self.n_jobs))
        return self._partition

    def score_samples(self, X: Any) -> np.ndarray:
        """log p(v) of each row in nats, in the data's own units: exact up to 20 hidden or 2 visible units. For larger models
        log Z is an estimate, the same for all rows: log_partition() has its error and its bounds, and there is a warning where
        these are all that can be trusted.

        >>> rbm = grbm.GaussianBernoulliRBM.from_model(grbm.Model.initial(3, 2))
        >>> rbm.score_samples(np.zeros((4, 3))).shape
        (4,)
        """
        X = self._rows(X)
        partition = self.log_partition()
        if partition.wide:
            warnings.warn(f"log Z lies between {partition.low:.6g} and {partition.high:.6g}: no more can be said", stacklevel=2)
        return _core.row_log_likelihoods(self.model_, X, partition.value, threads_of(self.n_jobs))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of score_samples.

        >>> rbm = grbm.GaussianBernoulliRBM.from_model(grbm.Model.initial(3, 2))
        >>> rbm.score(np.zeros((4, 3))) > rbm.score(np.ones((4, 3)))
        True
        """
        return float(np.mean(self.score_samples(X)))
