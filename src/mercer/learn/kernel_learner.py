"""Base of all learners with a kernel: checks of points, targets and weights."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from mercer import frames, validate
from mercer.backend import (
    Array,
    array_like,
    astype,
    count,
    is_array,
    is_numpy,
    is_torch,
    take_rows,
    to_numpy,
)
from mercer.features.kernel_estimator import (
    KernelEstimator,
    VersionedEstimator,
    needs_no_conversion,
    plain_targets,
)
from mercer.gram import Gram
from mercer.gram.solve import needs_double
from mercer.kernels.base import Kernel, Points
from mercer.kernels.prepare import as_table
from mercer.kernels.take import taken
from mercer.rkhs.function import Function
from mercer.rkhs.sample_rows import widened_for

__all__ = [
    "KernelEstimator",
    "KernelPredictor",
    "VersionedEstimator",
    "checked",
    "doubles",
    "on_host",
    "present",
    "weighted",
    "with_intercept",
]


class KernelPredictor(KernelEstimator):
    """A learner with a kernel and a target: numbers, or labels."""

    function_: Function

    def _accept_numbers(
        self, X: Any, y: Any, sample_weight: Any = None, *, several: bool = True
    ) -> tuple[Kernel, Points, Array, np.ndarray | None]:
        """The kernel, the points, targets (n,) or (n, q), and weights (n,) or None.

        Targets have the library, device and dtype of the kernel values; points of weight 0 are left
        out.
        """
        x, target, weights = self._numbers_of(X, y, sample_weight, several=several)
        kernel, points = self._learn_from(x)
        like = kernel.diag(take_rows(points, slice(0, 1)))
        target = validate.vectors(target, count(points), like, "y")
        return kernel, points, astype(target, like.dtype), weights

    def _numbers_of(
        self, X: Any, y: Any, sample_weight: Any, *, several: bool = True, reset: bool = True
    ) -> tuple[Any, Any, np.ndarray | None]:
        """X, numbers y and weights, checked, without the points of weight 0."""
        x, target = self._both(X, y, reset=reset, y_numeric=True, multi_output=several)
        return weighted(x, target, sample_weight)

    def _accept_labels(
        self, X: Any, y: Any, sample_weight: Any = None
    ) -> tuple[Kernel, Points, np.ndarray, np.ndarray | None]:
        """The kernel, the points, their class numbers (n,), and weights (n,) or None.

        Sets `classes_`. Points of weight 0 are left out; at least two classes must remain.
        """
        x, target = self._both(X, present(y))
        if not (is_numpy(target) and target.ndim == 1 and target.dtype.kind in "biuU"):
            check_classification_targets(target)
        x, target, weights = weighted(x, target, sample_weight)
        self.classes_, codes = np.unique(target, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs labels of at least two classes, got one class, "
                f"{self.classes_.tolist()[0]!r}: add observations of another class, or use OneClassSVC"
            )
        kernel, points = self._learn_from(x)
        return kernel, points, codes, weights

    def _precise(
        self, kernel: Kernel, points: Points, weights: np.ndarray | None, ridge: float | None
    ) -> Points:
        """The points, in float64 where a small ridge would amplify the rounding of float32 kernel values.

        None: the ridge is chosen by leave-one-out, which would mistake rounding for a signal.
        """
        original = points
        diagonal = to_numpy(kernel.diag(points))
        diagonal = diagonal if weights is None else diagonal * weights
        if ridge is None or needs_double(diagonal, ridge):
            points = widened_for(kernel, original)
        self._doubled = points is not original
        return points

    def _values_at(self, X: Any) -> tuple[Gram, Any]:
        """Gram matrix of new points and the points of `function_`, and the dtype of predictions."""
        points, kernel, learnt = self._points(X), self._bound, self.function_.points
        if not self._doubled:
            gram = Gram(kernel, points, learnt)
            return gram, gram.like.dtype
        dtype = kernel.diag(take_rows(points, slice(0, 1))).dtype
        return Gram(kernel, widened_for(kernel, points), learnt), dtype

    def _both(self, X: Any, y: Any, *, reset: bool = True, **how: Any) -> tuple[Any, Any]:
        """X and y checked by scikit-learn; points that are not numeric as they are, with a checked y."""
        frames.refuse_masked(X, "X")
        frames.refuse_masked(y, "y")
        if y is None or self._checked_by_sklearn(X):
            self._check_categories(None, reset=reset)
            if needs_no_conversion(X) and plain_targets(y, len(X)) and self._takes(X, reset):
                return X, y
            how |= {"y": y, "dtype": (np.float64, np.float32), "reset": reset}
            x, y = validate_data(self, X, **how)
            return x, y
        x = self._numbers(X, reset=reset)
        if not (is_torch(y) and how.get("y_numeric")):  # a tensor stays where it is
            y = to_numpy(y) if is_array(y) and not is_numpy(y) else y
            dtype: Any = np.float64 if how.get("y_numeric") else None
            y = check_array(y, dtype=dtype, ensure_2d=False, input_name="y")
            y = y if how.get("multi_output") else column_or_1d(y, warn=True)
        if count(x) != count(y):
            check_consistent_length(np.empty(count(x)), np.empty(count(y)))
        return x, y


def with_intercept(values: Array, intercept: float | np.ndarray) -> Array:
    """f(x) + b for values (n,) and a number b, or values (n, q) and one b for each column (q,)."""
    if isinstance(intercept, float):
        return values + intercept
    return values + array_like(intercept, values)


def checked(estimator: VersionedEstimator, X: Any, **how: Any) -> Any:
    """Finite float64 numbers (n, p), and y where one is given, checked by scikit-learn."""
    if _is_plain(X, **how) and estimator._takes(X, how.get("reset", True)):
        return (X, how["y"]) if "y" in how else X
    frames.refuse_masked(X, "X")
    frames.refuse_masked(how.get("y"), "y")
    frame = as_table(X, "X")
    if frame is not None:
        frames.numbers(frame, "X")  # refuses categories
    how = {name: on_host(value) for name, value in how.items()}
    return validate_data(estimator, on_host(X), dtype=np.float64, **how)


def _is_plain(X: Any, *, ensure_min_samples: int = 1, **how: Any) -> bool:
    """Whether scikit-learn's checks would return X and y unchanged."""
    if not needs_no_conversion(X, ensure_min_samples) or X.dtype != np.float64:
        return False
    return "y" not in how or plain_targets(how["y"], len(X))


def on_host(x: Any) -> Any:
    """Tensors on any device as NumPy arrays; everything else as it is."""
    return to_numpy(x) if is_array(x) else x


def doubles(y: Any) -> np.ndarray:
    """Finite targets, (n,) or (n, q), in float64."""
    values = to_numpy(y)
    return np.asarray(validate.vectors(values, len(values), np.zeros(1), "y"), dtype=np.float64)


def present(y: Any) -> Any:
    """Labels, unchanged; missing labels and mixtures of text and numbers are refused."""
    frames.refuse_masked(y, "y")
    if y is None or (is_array(y) and not is_numpy(y)):
        return y
    labels = np.asarray(y)
    if labels.dtype.kind != "O":
        return y
    missing = [i for i, label in enumerate(labels.ravel()) if _is_missing(label)]
    if missing:
        raise ValueError(
            f"y contains missing labels, NaN or None, in {len(missing)} of {len(labels)} places (first: "
            f"{missing[0]}): drop these points, or give them a separate label"
        )
    kinds = {str if isinstance(label, str) else Real for label in labels.ravel()}
    if len(kinds) > 1:
        raise ValueError(
            "y must hold labels of one kind, got text and numbers: convert all of them to text"
        )
    return y


def _is_missing(label: Any) -> bool:
    """Whether a label is None, NaN or pandas.NA, which cannot be compared."""
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):
        return True


def weighted(x: Any, y: Any, weights: Any) -> tuple[Any, Any, np.ndarray | None]:
    """Points, target and weights, without the points of weight 0."""
    if weights is None:
        return x, y, None
    weights = _weights(weights, count(x))
    positive = np.flatnonzero(weights)
    if len(positive) == len(weights):
        return x, y, weights
    if len(positive) == 0:
        raise ValueError("sample_weight must be positive for some points, got only zeros")
    return taken(x, positive), taken(y, positive), weights[positive]


def _weights(values: Any, n: int) -> np.ndarray:
    """Non-negative numbers, one for each of n points."""
    frames.refuse_masked(values, "sample_weight")
    dtype: Any = np.float64
    if np.isscalar(values):
        values = np.full(n, values, dtype=dtype)
    array = to_numpy(values) if is_array(values) else values
    weights = check_array(array, dtype=dtype, ensure_2d=False, input_name="sample_weight")
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must have shape ({n},), got {weights.shape}")
    if weights.min() < 0:
        raise ValueError(f"sample_weight must not be negative, got {weights.min():g}")
    return weights
