"""Nystrom kernel logistic regression on landmarks, with streamed data."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from mercer import linalg, validate
from mercer.backend import (
    Array,
    array_like,
    astype,
    count,
    double,
    is_array,
    itemsize,
    namespace,
    on_gpu,
    scalar,
    take_rows,
    to_numpy,
    transposed,
    zeros,
)
from mercer.config import settings
from mercer.errors import NotConverged
from mercer.features.choose_landmarks import LandmarkRule
from mercer.gram import Gram, LazyMatrix
from mercer.gram.positive_definite import lower_factor
from mercer.kernels.base import Kernel
from mercer.kernels.prepare import read
from mercer.learn.conjugate_gradients import Look, newton
from mercer.learn.kernel_learner import present, with_intercept
from mercer.learn.landmarks.batch_source import InMemory, Source
from mercer.learn.landmarks.normal_equations import transposed_times_changed
from mercer.learn.landmarks.nystrom_ridge import OnLandmarks
from mercer.learn.landmarks.ridge_solvers import check_affordable, preconditioner
from mercer.learn.regression.kernel_logistic import ProbabilityMixin
from mercer.learn.regression.links import Bernoulli, Categorical, Link
from mercer.learn.regression.logistic_ridge import chosen_rows, ridge_for_features
from mercer.linalg import threads_for_product
from mercer.rkhs.function import Function
from mercer.rkhs.sample_rows import settled, taken

Turn = Callable[[Array, Array], tuple[Array, Array]]  # directions of c and b -> Z'r and sums of r

_STORED_SHARE = (
    4  # of the memory budget: below this part of it, the kernel values are computed once
)
_NEGLIGIBLE = (
    1e-10  # of the largest eigenvalue of the penalty: features of smaller ones are rounding
)


class NystromLogistic(ProbabilityMixin, OnLandmarks):
    """Kernel logistic regression on m landmarks, for any number of points.

    f = sum_j c_j k(l_j, .) minimises the negative log-likelihood + ridge |f|^2 over the span of the
    k(l_j, .), with an intercept that is not penalised; of more than two classes one f each
    (multinomial). `ridge` belongs to the **summed** loss. By Newton's method, whose systems are
    solved by conjugate gradients with the preconditioner of `ConjugateGradients`: every step of
    either is a pass over the data. Kernel values of float64 points that take less than a quarter of the
    memory budget are computed once for all passes.

    Parameters
    ----------
    kernel, landmarks, rule, random_state
        As in `NystromRidge`.
    ridge : float or None
        None: chosen by the log loss at left-out points, as in `KernelLogistic`, on 1,000 points of the data.
    intercept : bool
        Whether there is an intercept, one for each class where there are more than two.
    max_iter : int
        Largest number of Newton steps.
    tolerance : float
        Norm of the gradient, relative to the first one, at which to stop.

    Attributes
    ----------
    function_ : Function
        f, a sum over the landmarks; of more than two classes one function each.
    intercept_ : float or array (classes,)
    ridge_ : float
    classes_ : array
    landmarks_ : points (m, d)
    n_iter_ : int
    n_passes_ : int
        Number of passes over the data.
    kernel_ : Kernel

    Notes
    -----
    There is no `partial_fit`: the curvature of the log-likelihood changes with f, so that sums over
    earlier batches do not stay right.

    References
    ----------
    U. Marteau-Ferey, F. Bach, A. Rudi (2019). Globally convergent Newton methods for ill-conditioned
    generalized self-concordant losses. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(20_000, 2))
    >>> y = np.where(np.sum(x**2, axis=1) < 1.4, "inside", "outside")
    >>> learner = NystromLogistic(RBF(1.0), 0.1, landmarks=100, random_state=0).fit(x, y)
    >>> learner.predict([[0.0, 0.0], [2.0, 2.0]])
    array(['inside', 'outside'], dtype='<U7')
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        ridge: float | None = None,
        *,
        landmarks: Any = 1000,
        rule: LandmarkRule | None = None,
        intercept: bool = True,
        max_iter: int = 50,
        tolerance: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.ridge = ridge
        self.landmarks = landmarks
        self.rule = rule
        self.intercept = intercept
        self.max_iter = max_iter
        self.tolerance = tolerance
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to points X and labels y (n,), or to a source of batches that can be read repeatedly."""
        if self.ridge is not None:
            validate.positive("ridge", self.ridge)
        validate.truth("intercept", self.intercept)
        validate.whole("max_iter", self.max_iter)
        validate.between("tolerance", self.tolerance, 0.0, 1.0)
        if isinstance(X, Source):
            self._see_classes(X)
        elif isinstance(X, np.memmap) and y is not None and sample_weight is None:
            self._see_classes(InMemory(X, y))
        source, sample = self._open(X, y, sample_weight)
        problem = self._problem(source, sample)
        start = zeros((int(problem.outer.shape[0]) + 1, problem.width), problem.outer)
        minimum = newton(problem.look, start, self.max_iter, self.tolerance)
        if minimum.left > self.tolerance:
            rounding = minimum.steps < self.max_iter
            advice = "rounding prevents further progress" if rounding else "raise max_iter"
            warnings.warn(
                f"NystromLogistic stopped after {minimum.steps} steps with {minimum.left:.1e} of the "
                f"gradient left (wanted {self.tolerance:.0e}): {advice}, or use a larger ridge",
                NotConverged,
                stacklevel=2,
            )
        self.n_iter_, self.n_passes_ = minimum.steps, problem.passes
        self._keep(problem.outer @ minimum.point[:-1, :], problem.unit * minimum.point[-1, :])
        return self

    def _problem(self, source: Source, sample: Array | None) -> StreamedLikelihood:
        penalty = self._penalty()
        check_affordable(int(penalty.shape[0]), 5, "The preconditioner", "use fewer landmarks")
        total, sizes = 0.0, []
        for _, y, weights in source.batches():
            sizes.append(len(y))
            total += len(y) if weights is None else float(np.sum(weights))
        two = len(self.classes_) == 2
        link: Link = Bernoulli() if two else Categorical()
        lower = lower_factor(penalty)
        self.ridge_ = (
            self._chosen(source, penalty, sizes) if self.ridge is None else float(self.ridge)
        )
        outer = preconditioner(lower, sample, total * link.bound, 2 * self.ridge_)
        width = 1 if two else len(self.classes_)
        unit = (1 / (link.bound * total)) ** 0.5 if self.intercept else 0.0
        kind = StoredLikelihood if _may_be_stored(source, lower) else StreamedLikelihood
        return kind(self._passes(source), link, self.ridge_, lower, outer, width, unit)

    def _chosen(self, source: Source, penalty: Array, sizes: list[int]) -> float:
        """The best ridge by leave-one-out on some points, with the features k(x, l) P^-1/2."""
        rows, first, parts = chosen_rows(sum(sizes)), 0, []
        for (x, y, weights), size in zip(source.batches(), sizes, strict=True):
            here = rows[(rows >= first) & (rows < first + size)] - first
            first += size
            if len(here):
                points, _ = read(self.kernel_, taken(settled(x, "X"), here), self._columns, "X")
                each = np.ones(len(here)) if weights is None else weights[here]
                parts.append((to_numpy(self._design(points).dense()), _labels(y)[here], each))
        values, labels, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
        variances, rotation = linalg.eigh(to_numpy(penalty).astype(np.float64))
        above = variances > _NEGLIGIBLE * variances.max()  # landmarks may be equal
        features = values @ (rotation[:, above] / np.sqrt(variances[above]))
        unit = float(np.mean(to_numpy(self._bound.diag(self.landmarks_))))
        codes = np.searchsorted(self.classes_, labels)
        return ridge_for_features(features, codes, weights, unit, intercept=bool(self.intercept))

    def _accept_both(self, X: Any, y: Any, sample_weight: Any) -> Any:
        kernel, points, codes, weights = self._accept_labels(X, y, sample_weight)
        return kernel, points, self.classes_[codes], weights

    def _see_classes(self, source: Source) -> None:
        if source.once:
            raise ValueError(
                "logistic regression needs many passes over the data, got an iterator, which allows one: "
                "pass a function that returns a new iterator"
            )
        seen = [np.unique(_checked(y)) for _, y, _ in source.batches()]
        if not seen:
            raise ValueError("there must be at least one batch, got none")
        self.classes_ = np.unique(np.concatenate(seen))
        if len(self.classes_) < 2:
            raise ValueError(
                "NystromLogistic needs labels of at least two classes, got one class, "
                f"{self.classes_[0]!r}: give observations of another"
            )

    def _target(self, y: Any, design: LazyMatrix) -> Array:
        codes = np.searchsorted(self.classes_, _labels(y))
        two = len(self.classes_) == 2
        hot = codes[:, None] if two else np.eye(len(self.classes_))[codes]
        return array_like(hot.astype(np.float64), design.like)

    def _values(self, X: Any) -> Array:
        points = self._points(X)
        values = Gram(self._bound, points, self.landmarks_) @ self.function_.weights
        return with_intercept(values, self.intercept_)

    def _keep(self, coefficients: Array, intercepts: Array) -> None:
        like = self._bound.diag(take_rows(self.landmarks_, slice(0, 1)))
        two, b = len(self.classes_) == 2, to_numpy(intercepts)
        weights = astype(coefficients[:, 0] if two else coefficients, like.dtype)
        self.intercept_ = float(b[0]) if two else b
        self.function_ = Function(self.kernel_, self.landmarks_, weights, self._columns)


@dataclass(eq=False)
class StreamedLikelihood:
    """Minus the log-likelihood of F = ZMt + 1b' plus ridge |f|^2, as a function of (t, b): passes over Z.

    Rows of the argument are those of t (m, C), and b last, in units that make its curvature like
    that of the others.
    """

    rows: Any  # -> batches of Z, labels and weights
    link: Link
    ridge: float
    lower: Array  # L of the penalty LL'
    outer: Array  # M
    width: int
    unit: float
    passes: int = 0

    def look(self, point: Array) -> Look:
        """Value and gradient by one pass; curvature by one more for every v."""
        c, b = self._coefficients(point)
        total, extras, turn = self._at(c, b)
        xp = namespace(point)
        smooth = self._smooth(c)
        value = scalar(extras[0]) + self.ridge * scalar(xp.sum(c * smooth))
        gradient = self._outward(total + 2 * self.ridge * smooth, extras[1:])

        def curvature(v: Array) -> Array:
            dc, db = self._coefficients(v)
            products, sums = turn(dc, db)
            return self._outward(products + 2 * self.ridge * self._smooth(dc), sums[1:])

        return Look(value, gradient, curvature)

    def _coefficients(self, point: Array) -> tuple[Array, Array]:
        return self.outer @ point[:-1, :], self.unit * point[-1, :]

    def _smooth(self, c: Array) -> Array:
        """P c."""
        return self.lower @ (namespace(c).permute_dims(self.lower, (1, 0)) @ c)

    def _outward(self, by_coefficients: Array, sums: Array) -> Array:
        """A gradient with respect to c and b as one with respect to the point."""
        xp = namespace(by_coefficients)
        by_point = xp.permute_dims(self.outer, (1, 0)) @ by_coefficients
        return xp.concat([by_point, self.unit * sums[None, :]])

    def _at(self, c: Array, b: Array) -> tuple[Array, Array, Turn]:
        """Z'r for the slopes r at ZMt + 1b', their sums, and how both change with c and b."""
        return *self._pass(c, b, None, None), partial(self._pass, c, b)

    def _pass(self, c: Array, b: Array, dc: Array | None, db: Array | None) -> tuple[Array, Array]:
        self.passes += 1
        xp = namespace(c)
        total, extras = None, None
        for design, hot, weights in self.rows():
            v = astype(c if dc is None else xp.concat([c, dc], axis=1), design.like.dtype)
            w = None if weights is None else array_like(weights, design.like, double(design.like))
            change = _Residual(self.link, hot, w, b, db)
            product, extra = transposed_times_changed(design, v, change)
            total = product if total is None else total + product
            extras = extra if extras is None else extras + extra
        assert total is not None  # the source has batches: it was read before
        assert extras is not None
        return total, extras


@dataclass(eq=False)
class StoredLikelihood(StreamedLikelihood):
    """The same where Z is one batch in memory: all curvatures at a point share its probabilities."""

    def __post_init__(self) -> None:
        ((design, self._hot, weights),) = self.rows()
        self._z = design.dense()
        self._weights = None if weights is None else array_like(weights, self._z)[:, None]

    def _at(self, c: Array, b: Array) -> tuple[Array, Array, Turn]:
        xp = namespace(c)
        values = self._times(self._z, c) + b[None, :]
        p, lost = self.link.mean(values), self.link.lost(values, self._hot)
        lost = lost if self._weights is None else lost * self._weights[:, 0]
        product, sums = self._back(p - self._hot, xp.sum(lost))
        self.passes += 1

        def turn(dc: Array, db: Array) -> tuple[Array, Array]:
            self.passes += 1
            change = self.link.change(p, self._times(self._z, dc) + db[None, :])
            return self._back(change, 0 * sums[0])

        return product, sums, turn

    def _back(self, r: Array, first: Array) -> tuple[Array, Array]:
        """Z'Wr, and a number followed by the sums of Wr."""
        xp = namespace(r)
        r = r if self._weights is None else r * self._weights
        return self._times(transposed(self._z), r), xp.concat([first[None], xp.sum(r, axis=0)])

    @staticmethod
    def _times(matrix: Array, v: Array) -> Array:
        with threads_for_product(int(matrix.shape[0]) * int(matrix.shape[1]) * int(v.shape[1])):
            return matrix @ v


@dataclass(frozen=True, eq=False)
class _Residual:
    """Values -> slopes of the loss; or, with directions, how these change; and sums of both."""

    link: Link
    hot: Array
    weights: Array | None
    b: Array
    db: Array | None

    def __call__(self, f: Array, rows: slice) -> tuple[Array, Array]:
        f, hot = astype(f, double(f)), astype(self.hot[rows, :], double(f))
        xp, width = namespace(f), int(hot.shape[1])
        values = f[:, :width] + self.b[None, :]
        p = self.link.mean(values)
        if self.db is None:
            r, lost = p - hot, self.link.lost(values, hot)
        else:
            r, lost = self.link.change(p, f[:, width:] + self.db[None, :]), 0 * p[:, 0]
        if self.weights is not None:
            r, lost = r * self.weights[rows][:, None], lost * self.weights[rows]
        return r, xp.concat([xp.sum(lost)[None], xp.sum(r, axis=0)])


def _may_be_stored(source: Source, lower: Array) -> bool:
    """Whether Z is a single batch in float64 on the host that takes a small part of the memory budget."""
    if not (isinstance(source, InMemory) and source.single) or on_gpu(lower):
        return False
    points = source.points
    if is_array(points) and itemsize(points) < itemsize(lower):
        return False
    needed = itemsize(lower) * count(points) * int(lower.shape[0])
    return needed <= settings().memory // _STORED_SHARE


def _labels(y: Any) -> np.ndarray:
    return to_numpy(y) if is_array(y) else np.asarray(y)


def _checked(y: Any) -> np.ndarray:
    """Labels (n,), none of them missing."""
    labels = _labels(present(y))
    if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
        raise ValueError("y has NaN or infinite labels: drop those points first")
    if labels.ndim != 1:
        raise ValueError(f"y must be a label for each point, (n,), got shape {labels.shape}")
    check_classification_targets(labels)
    return labels
