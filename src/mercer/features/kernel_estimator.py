"""What every estimator with a kernel shares: parameters that reach inside kernels, and the door."""

from __future__ import annotations

import warnings
from dataclasses import fields
from typing import Any, Self

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
from mercer.kernels.compose import Composed, Grouped, Tensor
from mercer.kernels.default import default_kernel
from mercer.kernels.prepare import as_table, bound_to, read
from mercer.kernels.wrappers import Normalized

_EXACT = 2000  # points of which `median_bandwidth` takes all distances
_NAMED = 5  # categories that a message names
_VERSION = "_mercer_version"  # under which pickles hold the version that wrote them
_TEXTS = "UST"  # kinds of arrays that hold texts: points of kernels such as Delta()


class VersionedEstimator(BaseEstimator):
    """A scikit-learn estimator whose pickles name the version of mercer that wrote them."""

    def __getstate__(self) -> dict[str, Any]:
        """What pickles hold: the attributes, and the version of mercer that wrote them."""
        state: Any = super().__getstate__()
        return {**state, _VERSION: mercer.__version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the attributes of a pickle; warn if another version of mercer wrote it."""
        held = dict(state)
        written = held.pop(_VERSION, "before 0.1.0")
        if written != mercer.__version__:
            warnings.warn(
                f"{type(self).__name__} was pickled by mercer {written}, and this is mercer "
                f"{mercer.__version__}: what it predicts may be wrong or fail; fit it again",
                InconsistentVersion,
                stacklevel=3,
            )
        super().__setstate__(held)


class KernelEstimator(VersionedEstimator):
    """A scikit-learn estimator whose parameters may be kernels.

    ``kernel__bandwidth`` names the bandwidth of the parameter `kernel`, and ``kernel__left__scale``
    that of a part of it: they are listed by `get_params` and changed by `set_params`, so grids
    can be searched over them. Kernels are immutable: `set_params` puts a new one in their place.
    """

    kernel: Kernel | None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, and with `deep` those of kernels and estimators among them."""
        params = super().get_params(deep=deep)
        if deep:
            kernels = {name: v for name, v in params.items() if isinstance(v, Kernel)}
            for name, kernel in kernels.items():
                params |= {f"{name}__{k}": v for k, v in _params(kernel).items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Change parameters; those of kernels by names such as ``kernel__bandwidth``."""
        own = super().get_params(deep=False) | params
        for name in [name for name in params if "__" in name]:
            owner, _, inner = name.partition("__")
            kernel = own.get(owner, ...)
            if isinstance(kernel, Kernel):
                own[owner] = params[owner] = kernel.with_params(**{inner: params.pop(name)})
            elif kernel is None:
                raise ValueError(
                    f"{name} cannot be set, because {owner} is None: give it first, "
                    f"such as {owner}=RBF(1.0)"
                )
        return super().set_params(**params)

    def _accept(self, X: Any) -> tuple[Kernel, Points]:
        """The kernel and the points to learn from; sets `n_features_in_`, and names of columns."""
        return self._learn_from(self._numbers(X, reset=True))

    def _points(self, X: Any) -> Points:
        """New points, in the order of columns that was learnt from."""
        check_is_fitted(self)
        points, _ = read(self.kernel_, self._numbers(X, reset=False), self._columns, "X")
        return points

    @property
    def _bound(self) -> Kernel:
        """The kernel that was used, its columns found by name."""
        return bound_to(self.kernel_, self._columns)

    def _learn_from(self, x: Any) -> tuple[Kernel, Points]:
        """The kernel and the points of what `_numbers` let in."""
        if self.kernel is not None:
            validate.instance("kernel", self.kernel, Kernel, "a kernel, such as RBF(1.0), or None")
        kernel = self._default_kernel(x) if self.kernel is None else self.kernel
        points, columns = read(kernel, x, None, "X")
        self._columns: Columns | None = columns
        self.kernel_ = kernel
        return bound_to(kernel, columns), points

    def _needs_points(self) -> str | None:
        """Why the values of the kernel are not all that it learns from; None where they are."""
        return None

    def _default_kernel(self, x: Any) -> Kernel:
        """The kernel where none was given: at the median distance of the points."""
        return _chosen(x)

    def _numbers(self, X: Any, *, reset: bool, **how: Any) -> Any:
        """Arrays and lists of numbers by scikit-learn's door; tensors, frames and objects as they are."""
        frames.unmasked(X, "X")
        if self._is_grouped(X):
            return self.kernel.accept(X, "X")  # type: ignore[union-attr]
        if self._is_numeric(X):
            self._check_categories(None, reset=reset)
            return validate_data(self, X, dtype=(np.float64, np.float32), reset=reset, **how)
        frame = None if is_array(X) else as_table(X, "X")
        if frame is not None and not frame.series:
            validate_data(self, X, reset=reset, skip_check_array=True)
        self._check_categories(frame, reset=reset)
        if is_array(X) and X.ndim == 2 and not is_numpy(X):
            self._check_width(int(X.shape[1]), reset=reset)
        return X

    def _check_categories(self, frame: Table | None, *, reset: bool) -> None:
        """Keep the categories of a frame to learn from; compare those of other points with them.

        Where a frame with categories was learnt from, anything but a frame is refused. A category
        that is new is taken, with a warning: to a kernel it is equal to none that was seen.
        """
        if reset:
            self._categories = {} if frame is None else frame.categories()
        known = getattr(self, "_categories", {})
        if reset or not known:
            return
        if frame is None:
            raise TypeError(
                f"X must be a data frame, because {type(self).__name__} was fitted on one with "
                f"categories in column {next(iter(known))!r}: give a frame with the same columns"
            )
        for name, labels in frame.categories().items():
            unseen = sorted(labels - known.get(name, labels))
            if unseen:
                some = ", ".join(map(repr, unseen[:_NAMED])) + ", ..." * (len(unseen) > _NAMED)
                warnings.warn(
                    f"column {name!r} of X has categories that were not in the data that "
                    f"{type(self).__name__} was fitted on: {some}. They count as different from all "
                    "that were; fit again with them, or drop these rows",
                    UnseenCategory,
                    stacklevel=4,
                )

    def _is_grouped(self, X: Any) -> bool:
        """Whether it is a tuple with a sample for each kernel of a `Tensor`."""
        return isinstance(X, tuple | Grouped) and _of_tuples(getattr(self, "kernel", None))

    def _is_numeric(self, X: Any) -> bool:
        """Whether it is for scikit-learn to check: NumPy arrays, lists of numbers, and what is no data."""
        if is_array(X):
            objects = (X.ndim == 1 and X.dtype.kind == "O") if is_numpy(X) else True
            return not (objects or X.ndim > 2 or X.dtype.kind in _TEXTS)
        if self._is_grouped(X):
            return False
        several = validate.holds_objects(X) or validate.holds_distributions(X)
        return not (several or as_table(X, "X") is not None)

    def _check_width(self, width: int, *, reset: bool) -> None:
        if reset:
            self.n_features_in_ = width
        elif width != getattr(self, "n_features_in_", width):
            raise ValueError(
                f"X has {width} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input: give the columns it was fitted on"
            )


def _chosen(x: Any) -> Kernel:
    """The kernel of data that came without one: RBF at the median distance of distinct points.

    Distinct, so that a weight of two is the same as a point that comes twice; of very many points
    some are drawn, of which few are equal. A frame of numbers is as good as an array of them; one
    with categories has a kernel for each.
    """
    frame = None if is_array(x) else as_table(x, "X")
    if frame is not None and any(frame.columns.categorical):
        return default_kernel(x)
    points = x if frame is None else frame.values
    if count(points) < 2:
        raise ValueError(
            "kernel=None is RBF at the median distance of the points, which needs two of them, "
            f"got n_samples = {count(points)}: give a kernel, such as RBF(1.0)"
        )
    if not is_array(points):
        return median_rbf(points, name="X")
    distinct = np.unique(to_numpy(points), axis=0) if count(points) <= _EXACT else points
    return median_rbf(distinct if count(distinct) > 1 else points, name="X")


def _of_tuples(kernel: Any) -> bool:
    """Whether it is a `Tensor`, or made of one by the algebra of kernels."""
    combined = isinstance(kernel, Sum | Product | Multiple | Power | Exp | Composed | Normalized)
    return isinstance(kernel, Tensor) or (
        combined and any(_of_tuples(part) for part in kernel.parts().values())
    )


def _params(kernel: Kernel) -> dict[str, Any]:
    """The parameters of a kernel and of its parts, by the names `with_params` knows."""
    found = {f.name: getattr(kernel, f.name) for f in fields(kernel)}  # type: ignore[arg-type]
    for name, part in kernel.parts().items():
        found |= {name: part} | {f"{name}__{k}": v for k, v in _params(part).items()}
    return found
