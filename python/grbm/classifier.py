"""The classifier: a model of data and their classes together, with scikit-learn's manners."""

from __future__ import annotations

import inspect
import re
from typing import Any, Sequence

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from . import _core
from ._machine import Machine, threads_of
from .samplers import Sampler

# What of Machine's defaults is other than for codes: many small updates with probabilities, and chains that go on from one to the next,
# so that samples of a class are like it, too.
_DEFAULTS: dict[str, Any] = {
    "steps": 5,
    "algorithm": "pcd",
    "batch_size": 20,
    "epochs": 100.0,
    "clip_norm": 0.0,
    "optimizer": "adam",
    "hidden": "probability",
    "standardize": "pixel",
}


class GRBMClassifier(ClassifierMixin, Machine):
    """A machine whose last visible units are the classes of the data, one of them on: it tells classes by their exact probabilities
    p(y | v), and draws rows of a class.

    Parameters are those of GaussianBernoulliRBM, some with other defaults, and

    - `discriminative`: train.discriminative, the weight of the gradient of -log p(y | v) beside that of the likelihood. It needs
      hidden="probability" and temperature=1; 0 for any other

    After fitting, classes_ are the classes, model_ is the grbm.Model, history_ its curves, n_updates_ the number of updates made.
    A saved file knows classes by their names: classes_ of one that was loaded are whole numbers where all names are, otherwise texts.

    >>> X = np.random.default_rng(0).normal(size=(200, 2)) + np.repeat([[-2, 0], [2, 0]], 100, axis=0)
    >>> y = np.repeat(["left", "right"], 100)
    >>> classifier = grbm.GRBMClassifier(n_hidden=8, random_state=1).fit(X, y)
    >>> classifier.predict([[-2, 0], [2, 0]]), classifier.score(X, y) > 0.9
    (array(['left', 'right'], dtype='<U5'), True)
    >>> bool(classifier.sample(100, label="right")[:, 0].mean() > 1)
    True
    """

    _labels = True

    def __init__(self, n_hidden: int = 128, sampler: str | Sampler = "gibbs", *, discriminative: float = 10.0, **parameters: Any):
        super().__init__(n_hidden, sampler, **{**_DEFAULTS, **parameters})
        self.discriminative = discriminative

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GRBMClassifier:
        """Trains on rows and their classes, numbers or texts. Ctrl-C ends it with a warning: the model is then that of the last
        update. NaN is a value that is missing, with gaps="sample" and discriminative=0; rows are drawn into batches in proportion to
        sample_weight.

        >>> grbm.GRBMClassifier(n_hidden=4).fit([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1]).classes_
        array([0, 1])
        """
        y = self._checked(X, y)
        classes, numbers = np.unique(y, return_inverse=True)
        trainer = self._prepare(X, sample_weight, labels=numbers, label_names=[str(name) for name in classes])
        self.classes_ = classes
        return self._run(trainer)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> GRBMClassifier:
        """Goes on training with one pass over rows, at the learning rate as it is set. The first call must name all classes; the
        standardisation is that of its rows. With a margin, values below 0 are refused where their zeros lie lower.

        >>> classifier = grbm.GRBMClassifier(n_hidden=4, random_state=1).partial_fit([[0.0], [0.1]], [0, 0], classes=[0, 1])
        >>> classifier.partial_fit([[1.0], [1.1]], [1, 1]).n_updates_
        2
        """
        y = self._checked(X, y)
        first = not hasattr(self, "classes_")
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        known = np.unique(classes) if first else self.classes_
        if classes is not None and not np.array_equal(np.unique(classes), known):
            raise ValueError(f"classes = {list(classes)}: those of the first call were {list(known)}")
        unknown = np.setdiff1d(y, known)
        if len(unknown):
            raise ValueError(f"y has the class {unknown[0]!r}: classes are {list(known)}")
        names = [str(name) for name in known]
        self._go_on(X, sample_weight, names, labels=np.searchsorted(known, y), label_names=names)
        self.classes_ = known
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each row.

        >>> classifier = grbm.GRBMClassifier(n_hidden=4, epochs=2000, random_state=1).fit([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1])
        >>> classifier.predict([[0], [1]])
        array([0, 1])
        """
        likeliest = np.argmax(self.predict_log_proba(X), axis=1)
        return self.classes_[likeliest]

    def predict_proba(self, X: Any) -> np.ndarray:
        """p(y | v) of all classes, in the order of classes_.

        >>> classifier = grbm.GRBMClassifier(n_hidden=4, epochs=2000, random_state=1).fit([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1])
        >>> bool((classifier.predict_proba([[0], [1]])[:, 1] > 0.5)[1])
        True
        """
        X = self._rows(X)
        return self.model_.class_probabilities(X, threads=threads_of(self.n_jobs))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of it, which does not become minus infinity where a probability is too small for a number.

        >>> classifier = grbm.GRBMClassifier(n_hidden=4, epochs=2000, random_state=1).fit([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1])
        >>> bool(np.allclose(np.exp(classifier.predict_log_proba([[0]])), classifier.predict_proba([[0]])))
        True
        """
        X = self._rows(X)
        return self.model_.class_log_probabilities(X, threads=threads_of(self.n_jobs))

    def sample(
        self, n: int = 1, steps: int | None = None, return_chain: bool = False, *, label: Any = None, every: int = 1, random_state: Any = None
    ) -> Any:
        """Draws rows from noise: of one class, or of all, as often as the model has them (with
        generate_keep_labels each class alike). With return_chain, {name: [chain, draw,
        ...]} of n chains, after every so many steps; without a label, y is the number of the class, in the order of classes_.

        >>> classifier = grbm.GRBMClassifier(n_hidden=4, epochs=2000, random_state=1).fit([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1])
        >>> classifier.sample(3, label=1).shape, classifier.sample(3, steps=5, return_chain=True)["y"].shape
        ((3, 1), (3, 5))
        """
        return self._draw(self._given(label), n, steps, return_chain, every, random_state)

    def _given(self, label: Any) -> _core.Model:
        """The model, or what it is given a class."""
        check_is_fitted(self, "model_")
        if label is None:
            return self.model_
        known = [number for number, name in enumerate(self.classes_) if name == label]
        if not known:
            raise ValueError(f"label = {label!r}: classes are {list(self.classes_)}")
        return self.model_.given(label=self.model_.classes[known[0]])

    @staticmethod
    def _checked(X: Any, y: Any) -> np.ndarray:
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        check_classification_targets(y)
        return y

    @classmethod
    def _check_kind(cls, model: _core.Model) -> None:
        if not model.classes:
            raise _core.ConfigError("the model has no labels: train one with model.labels = true, or take grbm.GaussianBernoulliRBM")

    def _set_model(self, model: _core.Model, history: dict[str, np.ndarray]) -> GRBMClassifier:
        if not hasattr(self, "classes_"):  # of a file
            self.classes_ = _classes_named(model.classes)
        return super()._set_model(model, history)


def _classes_named(names: Sequence[str]) -> np.ndarray:
    """Whole numbers where all names are such, as they are written; otherwise texts."""
    whole = all(re.fullmatch("-?[0-9]+", name) and str(int(name)) == name for name in names)
    return np.array([int(name) for name in names] if whole else list(names))


def _signature() -> inspect.Signature:
    """Of GRBMClassifier: all parameters by their names, which scikit-learn asks for."""
    shared = inspect.signature(Machine.__init__).parameters
    own = inspect.signature(GRBMClassifier.__init__).parameters
    positional = [own[name] for name in ("self", "n_hidden", "sampler")]
    others = [p.replace(default=_DEFAULTS.get(p.name, p.default)) for name, p in shared.items() if name not in own]
    return inspect.Signature([*positional, own["discriminative"], *others])


GRBMClassifier.__init__.__signature__ = _signature()  # type: ignore[attr-defined]
