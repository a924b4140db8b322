"""Base of all estimators with a kernel: nested kernel parameters and input validation."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

import mercer
from mercer import frames, validate
from mercer.backend import count, is_array, is_numpy, to_numpy
from mercer.errors import InconsistentVersion, UnseenCategory
from mercer.frames import Columns, Table
from mercer.kernels.algebra import Exp, Multiple, Power, Product, Sum
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel, Points
from mercer.kernels.column_units import warn_of_units
from mercer.kernels.compose import Composed, Grouped, Tensor
from mercer.kernels.default import default_kernel
from mercer.kernels.default_objects import default_of_objects, kind_of_objects
from mercer.kernels.prepare import as_table, bound_to, read, without_frame
from mercer.kernels.wrappers import Normalized

# Points up to which `median_bandwidth` uses all distances; beyond it subsamples, where duplicates are rare.
_MAX_POINTS_FOR_EXACT_MEDIAN = 2000
_MAX_NAMED_CATEGORIES = 5  # in a message, which stays one readable line
_REMEDY_FOR_UNITS = (
    "put a StandardScaler before this learner, in a pipeline, or pass kernel=default_kernel(X), which divides columns by "
    "their standard deviations"
)
_VERSION_KEY = "_mercer_version"  # key of the version of mercer in pickles
_TEXT_KINDS = "UST"  # dtype kinds of text, which is data for kernels such as Delta()


class VersionedEstimator(BaseEstimator):
    """scikit-learn estimator whose pickles record the version of mercer."""

    def __getstate__(self) -> dict[str, Any]:
        """State for pickling: the attributes and the version of mercer."""
        state: Any = super().__getstate__()
        return {**state, _VERSION_KEY: mercer.__version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the attributes of a pickle; warn if another version of mercer wrote it."""
        attributes = dict(state)
        version = attributes.pop(_VERSION_KEY, "before 0.1.0")
        if version != mercer.__version__:
            warnings.warn(
                f"{type(self).__name__} was pickled by mercer {version}, and this is mercer "
                f"{mercer.__version__}: predictions may be wrong or fail, so fit it again",
                InconsistentVersion,
                stacklevel=3,
            )
        super().__setstate__(attributes)

    def _takes(self, X: np.ndarray, reset: bool) -> bool:
        """Whether an array needs no further check by scikit-learn: no names of columns, the right width.

        Sets `n_features_in_` in `fit`.
        """
        if hasattr(self, "feature_names_in_"):
            return False
        if reset:
            self.n_features_in_ = X.shape[1]
        return getattr(self, "n_features_in_", None) == X.shape[1]


class KernelEstimator(VersionedEstimator):
    """scikit-learn estimator whose parameters may be kernels.

    ``kernel__bandwidth`` is the bandwidth of the parameter `kernel`, and ``kernel__left__scale`` the
    scale of its left summand. `get_params` lists these names and `set_params` changes their values, so
    they can be used in parameter grids. Kernels are immutable; `set_params` replaces them.
    """

    kernel: Kernel | None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters, with `deep` including those of nested kernels and estimators."""
        params = super().get_params(deep=deep)
        if deep:
            kernels = {name: v for name, v in params.items() if isinstance(v, Kernel)}
            for name, kernel in kernels.items():
                params |= {f"{name}__{k}": v for k, v in _params(kernel).items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of kernels by names such as ``kernel__bandwidth``."""
        values = super().get_params(deep=False) | params
        for name in [name for name in params if "__" in name]:
            owner, _, inner = name.partition("__")
            kernel = values.get(owner, ...)
            if isinstance(kernel, Kernel):
                values[owner] = params[owner] = kernel.with_params(**{inner: params.pop(name)})
            elif kernel is None:
                raise ValueError(
                    f"{name} cannot be set because {owner} is None: set {owner} first, "
                    f"for example {owner}=RBF(1.0)"
                )
        return super().set_params(**params)

    def _accept(self, X: Any) -> tuple[Kernel, Points]:
        """Kernel and points for fitting; sets `n_features_in_` and the names of columns."""
        return self._learn_from(self._numbers(X, reset=True))

    def _points(self, X: Any) -> Points:
        """New points, with columns in the order of those of `fit`."""
        check_is_fitted(self)
        points, _ = read(self.kernel_, self._numbers(X, reset=False), self._columns, "X")
        return points

    @property
    def _bound(self) -> Kernel:
        """The fitted kernel, with the names of columns resolved to positions."""
        return bound_to(self.kernel_, self._columns)

    def _learn_from(self, x: Any) -> tuple[Kernel, Points]:
        """Kernel and points of data that `_numbers` has checked."""
        if self.kernel is not None:
            validate.instance("kernel", self.kernel, Kernel, "a kernel, such as RBF(1.0), or None")
        kernel = self._default_kernel(x) if self.kernel is None else self.kernel
        points, columns = read(kernel, x, None, "X")
        self._columns: Columns | None = columns
        self.kernel_ = kernel
        return bound_to(kernel, columns), points

    def _keep_names(self) -> None:
        """`feature_names_in_` of rows that were read part by part; none of arrays."""
        if self._columns is not None:
            self.feature_names_in_ = np.array(self._columns.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _needs_points(self) -> str | None:
        """Reason why a precomputed kernel matrix does not suffice; None where it does."""
        return None

    def _default_kernel(self, x: Any) -> Kernel:
        """Kernel for ``kernel=None``: RBF at the median distance of the points."""
        return _median_kernel(x)

    def _numbers(self, X: Any, *, reset: bool, **how: Any) -> Any:
        """Numeric arrays and lists validated by scikit-learn; tensors, frames and objects unchanged."""
        frames.refuse_masked(X, "X")
        kernel = getattr(self, "kernel", None)
        if self._takes_objects(X):
            return without_frame(kernel, X, "X")
        if kernel is not None and self._is_grouped(X):
            return kernel.accept(X, "X")
        if self._checked_by_sklearn(X):
            self._check_categories(None, reset=reset)
            if needs_no_conversion(X, how.get("ensure_min_samples", 1)) and self._takes(X, reset):
                return X
            return validate_data(self, X, dtype=(np.float64, np.float32), reset=reset, **how)
        frame = None if is_array(X) else as_table(X, "X")
        if frame is not None and not frame.series:
            validate_data(self, X, reset=reset, skip_check_array=True)
        self._check_categories(frame, reset=reset)
        if is_array(X) and X.ndim == 2 and not is_numpy(X):
            self._check_width(int(X.shape[1]), reset=reset)
        return X

    def _check_categories(self, frame: Table | None, *, reset: bool) -> None:
        """Store the categories of the frame of `fit`, or compare those of new points with them.

        If the frame of `fit` had categories, new points must be a frame. A new category is accepted
        with a warning: to a kernel it differs from all categories of `fit`.
        """
        if reset:
            self._keep_categories({} if frame is None else frame.categories())
        known = getattr(self, "_categories", {})
        if reset or not known:
            return
        if frame is None:
            raise TypeError(
                f"X must be a data frame, because {type(self).__name__} was fitted on one with "
                f"categories in column {next(iter(known))!r}: pass a frame with the same columns"
            )
        for name, labels in frame.categories().items():
            unseen = sorted(labels.difference(known.get(name, labels)))
            if unseen:
                listed = ", ".join(map(repr, unseen[:_MAX_NAMED_CATEGORIES]))
                listed += ", ..." * (len(unseen) > _MAX_NAMED_CATEGORIES)
                warnings.warn(
                    f"column {name!r} of X has categories that were not in the data that "
                    f"{type(self).__name__} was fitted on: {listed}. They count as different from all "
                    "categories of fit; fit again with them, or drop these rows",
                    UnseenCategory,
                    stacklevel=4,
                )

    def _keep_categories(self, seen: Mapping[str, Iterable[str]]) -> None:
        """Store the categories of the data of `fit`, by column."""
        self._categories = {name: sorted(labels) for name, labels in seen.items()}

    def _is_grouped(self, X: Any) -> bool:
        """Whether X is a tuple with one sample for each kernel of a `Tensor`."""
        return isinstance(X, tuple | Grouped) and _of_tuples(getattr(self, "kernel", None))

    def _takes_objects(self, X: Any) -> bool:
        """Whether the points are objects, such as strings: by the kernel given, or where none is, by X."""
        kernel = getattr(self, "kernel", None)
        if kernel is None:
            return kind_of_objects(X) is not None
        return isinstance(kernel, Kernel) and kernel.takes_objects()

    def _checked_by_sklearn(self, X: Any) -> bool:
        """Whether scikit-learn validates X: NumPy arrays of numbers, lists of numbers, and unknown types.

        Not tensors, frames, texts, objects, tuples of samples, or arrays of more than two dimensions.
        """
        if self._takes_objects(X):
            return False
        if is_array(X):
            objects = (X.ndim == 1 and X.dtype.kind == "O") if is_numpy(X) else True
            return not (objects or X.ndim > 2 or X.dtype.kind in _TEXT_KINDS)
        if self._is_grouped(X):
            return False
        objects = validate.holds_objects(X) or validate.holds_distributions(X)
        return not (objects or as_table(X, "X") is not None)

    def _check_width(self, width: int, *, reset: bool) -> None:
        if reset:
            self.n_features_in_ = width
        elif width != getattr(self, "n_features_in_", width):
            raise ValueError(
                f"X has {width} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input: pass the columns it was fitted on"
            )


def needs_no_conversion(X: Any, min_rows: int = 1) -> bool:
    """Whether X is what scikit-learn's checks return unchanged: finite floats, not a subclass of an array.

    Those checks take most of the time of a prediction for few points.
    """
    if type(X) is not np.ndarray or X.dtype not in (np.float64, np.float32) or X.ndim != 2:
        return False
    return X.shape[0] >= min_rows and X.shape[1] > 0 and bool(np.isfinite(np.sum(X)))


def plain_targets(y: Any, rows: int) -> bool:
    """Whether y is what scikit-learn's checks return unchanged: finite numbers (n,), one for each row."""
    if type(y) is not np.ndarray or y.shape != (rows,) or y.dtype.kind not in "fiu":
        return False
    return y.dtype.kind != "f" or bool(np.isfinite(np.sum(y)))


def _median_kernel(x: Any) -> Kernel:
    """RBF at the median distance of the distinct points; `default_kernel` for objects and frames with categories.

    Only distinct points count, so that a weight of two is equivalent to a repeated point. Beyond 2,000
    points the median is estimated on a subsample, in which repetitions are rare.
    """
    objects = default_of_objects(x, name="X")
    if objects is not None:
        return objects
    frame = None if is_array(x) else as_table(x, "X")
    if frame is not None and any(frame.columns.categorical):
        return default_kernel(x)
    points = x if frame is None else frame.values
    if count(points) < 2:
        raise ValueError(
            "kernel=None is RBF at the median distance of the points, which needs two of them, "
            f"got n_samples = {count(points)}: pass a kernel, such as RBF(1.0)"
        )
    if not is_array(points):
        return median_rbf(points, name="X")
    validate.points(
        points, "X"
    )  # before `np.unique`, which changes the order that messages refer to
    if frame is not None and not frame.series:
        warn_of_units(frame, "columns of numbers in X", _REMEDY_FOR_UNITS, stacklevel=6)
    distinct = (
        np.unique(to_numpy(points), axis=0)
        if count(points) <= _MAX_POINTS_FOR_EXACT_MEDIAN
        else points
    )
    return median_rbf(distinct if count(distinct) > 1 else points, name="X")


def _of_tuples(kernel: Any) -> bool:
    """Whether the kernel is a `Tensor`, or combined from one by the algebra of kernels."""
    combined = isinstance(kernel, Sum | Product | Multiple | Power | Exp | Composed | Normalized)
    return isinstance(kernel, Tensor) or (
        combined and any(_of_tuples(inner) for inner in kernel.parts().values())
    )


def _params(kernel: Kernel) -> dict[str, Any]:
    """Parameters of a kernel and of the kernels inside it, by the names that `with_params` accepts."""
    params = {f.name: getattr(kernel, f.name) for f in fields(cast(Any, kernel))}
    for name, inner in kernel.parts().items():
        params |= {name: inner} | {f"{name}__{k}": v for k, v in _params(inner).items()}
    return params
