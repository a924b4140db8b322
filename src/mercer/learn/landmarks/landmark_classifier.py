"""Base of classifiers on landmarks: Newton's method on points and labels that are read in batches."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from mercer import validate
from mercer.backend import (
    Array,
    array_like,
    astype,
    is_array,
    itemsize,
    on_gpu,
    take_rows,
    to_numpy,
    zeros,
)
from mercer.config import settings
from mercer.errors import NotConverged
from mercer.gram import Dense, LazyMatrix
from mercer.learn.conjugate_gradients import newton
from mercer.learn.kernel_learner import present, with_intercept
from mercer.learn.landmarks.batch_source import InMemory, Source, opened
from mercer.learn.landmarks.nystrom_ridge import OnLandmarks
from mercer.learn.landmarks.ridge_solvers import PartedRows, Rows, check_affordable
from mercer.learn.landmarks.streamed_objective import StreamedObjective
from mercer.learn.regression.class_losses import ClassLoss
from mercer.rkhs.function import Function

# Share of the memory budget below which the kernel values are computed once for all passes.
_STORED_SHARE = 4

_TEXT = "OSTU"  # kinds of arrays of labels that are text


@dataclass(frozen=True, eq=False)
class MatrixRows:
    """Rows of a matrix as often as they are needed, and the sum of their weights.

    They may come in parts, or be all in memory. Some of them were drawn uniformly, unless those of the penalty were.
    """

    passes: Callable[[], Rows]
    parted: PartedRows | None
    stored: Array | None
    sample: Array | None
    total: float

    def times(self, outer: Array) -> MatrixRows:
        """The rows of ZM, of a matrix that is in memory."""
        ((design, hot, weights),) = self.passes()
        product = design.dense() @ outer
        return replace(self, passes=lambda: iter([(Dense(product), hot, weights)]), stored=product)


class LandmarkClassifier(ClassifierMixin, OnLandmarks):
    """Functions on landmarks, one for two classes and else one for each, that minimise a smooth loss + ridge |f|^2."""

    intercept: bool
    max_iter: int
    tolerance: float
    classes_: np.ndarray
    _copies: int  # of a matrix of landmarks that are in memory at the same time
    _smoother: str  # what else to change where Newton's method has not converged

    @abstractmethod
    def _check(self) -> None:
        """Refuse invalid parameters."""
        validate.truth("intercept", self.intercept)
        validate.whole("max_iter", self.max_iter)
        validate.between("tolerance", self.tolerance, 0.0, 1.0)

    @abstractmethod
    def _loss(self) -> ClassLoss:
        """The loss of `classes_`."""

    @abstractmethod
    def _ridge(self, source: Source, penalty: Array, sizes: list[int]) -> float:
        """The ridge, given or chosen from the batches of the source, of which `sizes` are the numbers of rows."""

    @abstractmethod
    def _objective(
        self, rows: MatrixRows, penalty: Array, width: int, unit: float
    ) -> StreamedObjective:
        """The objective of so many functions, with intercepts in this unit, which is 0 without them."""

    def _weighted(self, source: Source) -> Source:
        """The source with the weights of the classes."""
        return source

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to points X and labels y (n,), or to a source of batches that can be read repeatedly."""
        self._check()
        X, y = opened(X, y, sample_weight)
        if isinstance(X, Source):
            self._see_classes(X)
        elif isinstance(X, np.memmap) and y is not None and sample_weight is None:
            self._see_classes(InMemory(X, y))
        source, sample = self._open(X, y, sample_weight)
        problem = self._problem(self._weighted(source), sample)
        start = zeros((int(problem.outer.shape[1]) + 1, problem.width), problem.outer)
        minimum = newton(problem.look, start, self.max_iter, self.tolerance)
        if minimum.left > self.tolerance:
            rounding = minimum.steps < self.max_iter
            advice = "rounding prevents further progress" if rounding else "raise max_iter"
            warnings.warn(
                f"{type(self).__name__} stopped after {minimum.steps} steps with {minimum.left:.1e} of the "
                f"gradient left (wanted {self.tolerance:.0e}): {advice}, or use {self._smoother}",
                NotConverged,
                stacklevel=2,
            )
        self.n_iter_, self.n_passes_ = minimum.steps, problem.passes
        self._keep(*problem.solution(minimum.point))
        return self

    def _problem(self, source: Source, sample: Array | None) -> StreamedObjective:
        penalty = self._penalty()
        m = int(penalty.shape[0])
        check_affordable(m, self._copies, "Newton's method", "use fewer landmarks")
        total, sizes = 0.0, []
        for _, y, weights in source.batches():
            sizes.append(len(y))
            total += len(y) if weights is None else float(np.sum(weights))
        self.ridge_ = self._ridge(source, penalty, sizes)
        passes, z = self._kept(self._passes(source), source, penalty)
        rows = MatrixRows(passes, self._parted(source), z, sample, total)
        width = 1 if self._two else len(self.classes_)
        unit = (1 / (total * self._loss().bound)) ** 0.5 if self.intercept else 0.0
        return self._objective(rows, penalty, width, unit)

    def _kept(
        self, passes: Callable[[], Rows], source: Source, penalty: Array
    ) -> tuple[Callable[[], Rows], Array | None]:
        """The passes and the matrix, where its values stay in memory; else the passes as they are."""
        if not (isinstance(source, InMemory) and source.single) or on_gpu(penalty):
            return passes, None
        ((design, hot, weights),) = passes()
        needed = itemsize(penalty) * design.shape[0] * design.shape[1]
        if itemsize(design.like) < itemsize(penalty) or needed > settings().memory // _STORED_SHARE:
            return passes, None
        z = design.dense()
        return lambda: iter([(Dense(z), hot, weights)]), z

    @property
    def _two(self) -> bool:
        return len(self.classes_) == 2

    def _accept_both(self, X: Any, y: Any, sample_weight: Any) -> Any:
        kernel, points, codes, weights = self._accept_labels(X, y, sample_weight)
        return kernel, points, self.classes_[codes], weights

    def _see_classes(self, source: Source) -> None:
        if source.once:
            raise ValueError(
                f"{type(self).__name__} needs many passes over the data, got an iterator, which allows one: "
                "pass a function that returns a new iterator"
            )
        seen = [np.unique(_checked(y)) for _, y, _ in source.batches()]
        if not seen:
            raise ValueError("there must be at least one batch, got none")
        if len({labels.dtype.kind in _TEXT for labels in seen}) > 1:
            raise ValueError(
                "y must hold labels of one kind, got batches of text and batches of numbers: convert all of them to text"
            )
        self.classes_ = np.unique(np.concatenate(seen))
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs labels of at least two classes, got one class, "
                f"{self.classes_[0]!r}: give observations of another"
            )

    def _target(self, y: Any, design: LazyMatrix) -> Array:
        codes = codes_of(y, self.classes_)
        hot = codes[:, None] if self._two else np.eye(len(self.classes_))[codes]
        return array_like(hot.astype(np.float64), design.like)

    def _values(self, X: Any) -> Array:
        """f(x) + b at new points: (n,) or (n, classes)."""
        gram, dtype = self._values_at(X)
        values = gram @ self.function_.weights
        return astype(with_intercept(values, self.intercept_), dtype)

    def _keep(self, coefficients: Array, intercepts: Array) -> None:
        like = self._bound.diag(take_rows(self.landmarks_, slice(0, 1)))
        b = to_numpy(intercepts)
        weights = astype(coefficients[:, 0] if self._two else coefficients, like.dtype)
        self.intercept_: float | np.ndarray = float(b[0]) if self._two else b
        self.function_ = Function(self.kernel_, self.landmarks_, weights, self._columns)


def codes_of(y: Any, classes: np.ndarray) -> np.ndarray:
    """Positions of the labels of a batch in sorted classes: (n,)."""
    return np.searchsorted(classes, _labels(y))


def _labels(y: Any) -> np.ndarray:
    """Labels as an array, (n,) where they are a single column."""
    labels = to_numpy(y) if is_array(y) else np.asarray(y)
    return labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels


def _checked(y: Any) -> np.ndarray:
    """Labels (n,), none of them missing."""
    labels = _labels(present(y))
    if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
        raise ValueError("y has NaN or infinite labels: drop those points first")
    if labels.ndim != 1:
        raise ValueError(f"y must be a label for each point, (n,), got shape {labels.shape}")
    check_classification_targets(labels)
    return labels
