"""Nystrom kernel logistic regression on landmarks, with streamed data."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from mercer import linalg, validate
from mercer.backend import (
    Array,
    array_like,
    astype,
    count,
    is_array,
    itemsize,
    namespace,
    on_gpu,
    take_rows,
    to_numpy,
    zeros,
)
from mercer.config import settings
from mercer.errors import NotConverged
from mercer.features.choose_landmarks import LandmarkRule
from mercer.gram import Gram, LazyMatrix
from mercer.gram.positive_definite import lower_factor
from mercer.kernels.base import Kernel
from mercer.kernels.prepare import read
from mercer.learn.conjugate_gradients import newton
from mercer.learn.kernel_learner import present, with_intercept
from mercer.learn.landmarks.batch_source import InMemory, Source, opened
from mercer.learn.landmarks.likelihoods import StoredLikelihood, StreamedLikelihood
from mercer.learn.landmarks.nystrom_ridge import OnLandmarks
from mercer.learn.landmarks.ridge_solvers import check_affordable, preconditioner
from mercer.learn.regression.kernel_logistic import ProbabilityMixin
from mercer.learn.regression.links import Bernoulli, Categorical, Link
from mercer.learn.regression.logistic_ridge import chosen_rows, ridge_for_features
from mercer.rkhs.function import Function
from mercer.rkhs.sample_rows import settled, taken

_STORED_SHARE = (
    4  # of the memory budget: below this part of it, the kernel values are computed once
)
# Rows of a stored Z from which the preconditioner estimates Z'Z. With 20,000 points in 20 dimensions, 1, 5, 10 and 20 for each
# of 100 landmarks lead to 62, 30, 27 and 27 passes; in 2 dimensions to 45, 33, 32 and 30.
_SAMPLED_ROWS_PER_LANDMARK = 10
_POINTS_PER_SAMPLED_ROW = (
    5  # at least, unless Z is nearly square: fewer rows cost less than the passes they would save
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
        X, y = opened(X, y, sample_weight)
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
        lower, passes = lower_factor(penalty), self._passes(source)
        self.ridge_ = (
            self._chosen(source, penalty, sizes) if self.ridge is None else float(self.ridge)
        )
        z = next(passes())[0].dense() if _may_be_stored(source, lower) else None
        sample = sample if z is None else _random_rows(z)
        outer = preconditioner(lower, sample, total * link.bound, 2 * self.ridge_)
        width = 1 if two else len(self.classes_)
        unit = (1 / (link.bound * total)) ** 0.5 if self.intercept else 0.0
        problem = StreamedLikelihood(passes, link, self.ridge_, lower, outer, width, unit)
        return problem if z is None else StoredLikelihood(**vars(problem), z=z)

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


def _may_be_stored(source: Source, lower: Array) -> bool:
    """Whether Z is a single batch in float64 on the host that takes a small part of the memory budget."""
    if not (isinstance(source, InMemory) and source.single) or on_gpu(lower):
        return False
    points = source.points
    if is_array(points) and itemsize(points) < itemsize(lower):
        return False
    needed = itemsize(lower) * count(points) * int(lower.shape[0])
    return needed <= settings().memory // _STORED_SHARE


def _random_rows(z: Array) -> Array:
    """Rows of Z, drawn without replacement: ten for each column, but no more than a fifth unless that is less than one."""
    n, m = (int(size) for size in z.shape)
    number = min(_SAMPLED_ROWS_PER_LANDMARK * m, max(n // _POINTS_PER_SAMPLED_ROW, m), n)
    drawn = np.sort(np.random.default_rng(0).choice(n, number, replace=False, shuffle=False))
    return namespace(z).take(z, array_like(drawn, z, namespace(z).int64), axis=0)


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
