"""What changed in scikit-learn between 1.2 and 1.7, in one place."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.utils import check_array

try:
    from sklearn.utils.validation import validate_data as _validate_data  # since 1.6
except ImportError:
    _validate_data = None

# Since 1.6 `ensure_all_finite`, before `force_all_finite`.
_FINITE = "ensure_all_finite" if "ensure_all_finite" in inspect.signature(check_array).parameters else "force_all_finite"


# Checks of scikit-learn that ask for the same result of weighted and of repeated rows: it is the same law of batches, of which
# other rows are drawn.
IN_LAW = {
    name: "weights are those of a draw"
    for name in (
        "check_sample_weights_invariance",
        "check_sample_weight_equivalence",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    )
}


def as_array(X: Any) -> Any:
    """Objects that offer their memory by DLPack alone become arrays without a copy; all else is for check_array."""
    if hasattr(X, "detach"):  # PyTorch's tensors that take part in a gradient refuse to be arrays
        X = X.detach()
    if hasattr(X, "__dlpack__") and not hasattr(X, "__array__"):
        return np.from_dlpack(X)
    if np.ma.is_masked(X):
        raise ValueError("Input X contains masked values: fill them in, or leave their rows out")
    if getattr(getattr(X, "dtype", None), "kind", "f") in ("M", "m", "V"):
        raise ValueError(f"Input X has dtype {X.dtype}: expected are numbers")
    return X


def validate_rows(estimator: Any, X: Any, reset: bool, allow_nan: bool = False) -> np.ndarray:
    """X as C-contiguous float32 or uint8, which are not copied, or float64, with the number and the names of features checked."""
    checks: dict[str, Any] = {"dtype": [np.float64, np.float32, np.uint8], "order": "C", _FINITE: "allow-nan" if allow_nan else True}
    X = as_array(X)
    if _validate_data is not None:
        X = _validate_data(estimator, X, reset=reset, **checks)
    else:
        X = estimator._validate_data(X, reset=reset, **checks)
    largest = np.finfo(np.float32).max
    if X.dtype == np.float64 and not (np.nanmin(X, initial=0) >= -largest and np.nanmax(X, initial=0) <= largest):
        raise ValueError("Input X contains infinity or a value too large for dtype('float32').")
    return X


def row_weights(sample_weight: Any, X: np.ndarray) -> np.ndarray:
    """One finite number per row, as float64: what these may be is the library's to say."""
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(len(X), weights)
    if weights.shape != (len(X),):
        raise ValueError(f"sample_weight has shape {weights.shape}: expected is ({len(X)},), one for each row")
    return weights


class TagsMixin:
    """Tags of both kinds: results are float32, whatever comes in; NaN where it is asked for."""

    def _more_tags(self) -> dict[str, Any]:  # before 1.6
        return {"preserves_dtype": [np.float32], "allow_nan": self.gaps == "sample", "_xfail_checks": IN_LAW}

    def __sklearn_tags__(self) -> Any:  # since 1.6
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.transformer_tags.preserves_dtype = ["float32"]
        tags.input_tags.allow_nan = self.gaps == "sample"  # type: ignore[attr-defined]
        return tags
