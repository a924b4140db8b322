"""Kernel canonical correlation analysis of two or more views of the same points."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import check_consistent_length

from mercer import validate
from mercer.backend import count, is_numpy, to_numpy
from mercer.features.random_state import state
from mercer.frames import Columns
from mercer.gram import Gram
from mercer.gram.threads import in_order
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel, Points
from mercer.kernels.default import default_kernel
from mercer.kernels.prepare import bound_to, read
from mercer.learn.bandwidths import numbers
from mercer.learn.components.canonical import Centred, Crossing, correlation
from mercer.learn.components.views import view
from mercer.learn.kernel_learner import KernelEstimator

_RIDGES = tuple(10.0 ** np.arange(-6, 0.5, 0.5))  # of the mean variance of the views


class KCCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Kernel canonical correlation analysis: functions of each view with the largest correlation.

    For two views, f and g in the RKHS of two kernels maximise

        Cov(f(x), g(y)) / sqrt((Var f(x) + ridge |f|^2) (Var g(y) + ridge |g|^2)),

    and then the next best among those uncorrelated with them in the same sense (Bach and Jordan 2002;
    in the form of Fukumizu, Bach and Gretton 2007). The largest value is ``mercer.rkhs.kcca``. For M
    views, f_1, ..., f_M maximise the mean of the covariances of all pairs, where the denominators add
    up to M. With ``Linear()`` kernels it is (ridge) CCA.

    Without a ridge the correlation would be 1 for all data, because functions of a rich RKHS interpolate
    them: correlations of the training points say little, ``score`` on other points does. The ridge is
    chosen by cross-validation unless it is given.

    Parameters
    ----------
    n_components : int
    kernel : Kernel or None
        Kernel of the first view, X. None: RBF with the median distance; `default_kernel` for data frames
        with categories.
    kernel_y : Kernel or None, or a sequence of them
        Kernel of the other view, or one for each of several other views.
    ridge : float, sequence of float, or None
        Ridge of the averaged loss, as in ``mercer.rkhs.kcca``. Among several, the one with the largest
        cross-validated correlation is used, and the largest in case of a tie. None: 13 ridges, from 1e-6
        to 1 times the geometric mean of the variances of the views.
    rank : int or None
        Largest rank of the pivoted Cholesky factor of each Gram matrix: an approximation for many points
        and kernels of full rank. None: exact to rounding.
    cv : int or splitter
        Cross-validation that chooses the ridge.
    random_state : int, Generator, RandomState or None
        Seed of the shuffled folds where `cv` is a number.

    Attributes
    ----------
    function_ : Function
        Canonical functions of the first view; ``function_[j]`` is one of them. Scores are centred with
        the means of the training points.
    functions_ : tuple of Function
        Canonical functions of every view.
    correlations_ : array (n_components,)
        Regularised correlations of the training points, in decreasing order, between 0 and 1.
    ridge_ : float
    ridges_, ridge_scores_ : arrays, or None
        Candidate ridges and their cross-validated correlations.
    kernel_ : Kernel
    kernels_ : tuple of Kernel
    n_features_in_, feature_names_in_
        As in scikit-learn, of the first view.

    Notes
    -----
    Gram matrices are replaced by pivoted Cholesky factors, which are exact to rounding and have few
    columns where kernels are smooth and points have few dimensions: the cost is then linear in n, and
    functions live on the few points that span the factors. Kernels of full rank need the eigenvectors of
    every fold, O(n^3), unless `rank` is given: 2,000 points take about half a minute of CPU time, and a
    few seconds with ``rank=200``.

    For a kernel that is not positive definite, only the directions with positive eigenvalues are used;
    with `rank` it is refused, because a low-rank factor does not detect negative eigenvalues.

    References
    ----------
    F. R. Bach, M. I. Jordan (2002). Kernel independent component analysis. JMLR 3, 1-48.
    K. Fukumizu, F. R. Bach, A. Gretton (2007). Statistical consistency of kernel canonical
    correlation analysis. JMLR 8, 361-383.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learn import KCCA
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, 400)
    >>> x = np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.1 * rng.normal(size=(400, 2))
    >>> y = np.cos(3 * angle) + 0.1 * rng.normal(size=400)
    >>> kcca = KCCA(1, random_state=0).fit(x[:300], y[:300])
    >>> kcca.score(x[300:], y[300:]) > 0.9  # on new points; y is not correlated with any linear function of x
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: Kernel | None = None,
        kernel_y: Kernel | Sequence[Kernel | None] | None = None,
        ridge: float | Sequence[float] | None = None,
        rank: int | None = None,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_y = kernel_y
        self.ridge = ridge
        self.rank = rank
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to points X and another view y of them, or a tuple of several other views."""
        validate.whole("n_components", self.n_components)
        if self.rank is not None:
            validate.whole("rank", self.rank)
        _, points = self._learn_from(self._numbers(X, reset=True, ensure_min_samples=2))
        _need_tuple(y, count(points))
        sides = [_ReadView(self.kernel_, self._columns, points), *self._others(y)]
        for side in sides[1:]:
            if count(side.points) != count(points):
                raise ValueError(
                    f"X and every view in y must have the same number of points, got {count(points)} "
                    f"and {count(side.points)}"
                )
        views = [view(s.kernel, s.columns, s.points, self.rank) for s in sides]
        self.kernels_ = tuple(side.kernel for side in sides)
        features = [f for _, f in views]
        centred = [Centred.of(f) for f in features]
        self._need_ranks(centred)
        self._choose_ridge(features, centred)
        solution = Crossing(centred).canonical(self.n_components, self.ridge_)
        self.correlations_ = solution.correlations
        self.functions_ = tuple(
            v.function(w) for (v, _), w in zip(views, solution.weights, strict=True)
        )
        self.function_ = self.functions_[0]
        self._offsets = [c.mean @ w for c, w in zip(centred, solution.weights, strict=True)]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Canonical variates of the first view: (n, n_components)."""
        return self._scores(0, self._points(X))

    def variates(self, X: Any, y: Any) -> tuple[np.ndarray, ...]:
        """Canonical variates of all views: a tuple of arrays (n, n_components)."""
        points = [self._points(X)]
        named, known = _named(y), self.functions_[1:]
        if len(named) != len(known):
            raise ValueError(f"y must hold {len(known)} views, as in fit, got {len(named)}")
        for f, (name, sample) in zip(known, named.items(), strict=True):
            points.append(read(f.kernel, sample, f.columns, name)[0])
        check_consistent_length(*(range(count(p)) for p in points))
        return tuple(self._scores(i, p) for i, p in enumerate(points))

    def score(self, X: Any, y: Any) -> float:
        """Mean correlation of the canonical variates over components and pairs of views."""
        return float(np.mean(correlation(self.variates(X, y))))

    @property
    def _n_features_out(self) -> int:
        return len(self.correlations_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.two_d_labels = True
        return tags

    def _scores(self, i: int, points: Points) -> np.ndarray:
        f = self.functions_[i]
        values = Gram(bound_to(f.kernel, f.columns), points, f.points) @ f.weights
        return to_numpy(values).astype(np.float64) - self._offsets[i]

    def _others(self, y: Any) -> list[_ReadView]:
        """The other views, each with its kernel."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        named, kernels = _named(y), self.kernel_y
        if not named:
            raise ValueError("y must be another view of the points, or a tuple of views, got ()")
        if kernels is None or isinstance(kernels, Kernel):
            kernels = (kernels,) * (len(named) if kernels is None else 1)
        if len(kernels) != len(named):
            raise ValueError(
                f"kernel_y must be a kernel for each of {len(named)} other views, got {len(kernels)}"
            )
        return [
            _ReadView.of(k, v, name) for k, (name, v) in zip(kernels, named.items(), strict=True)
        ]

    def _need_ranks(self, centred: Sequence[Centred]) -> None:
        for name, features in zip(["X", *["y"] * (len(centred) - 1)], centred, strict=True):
            if features.rank == 0:
                raise ValueError(
                    f"{name} must vary, but its kernel does not distinguish any two points"
                )
        rank = min(features.rank for features in centred)
        if self.n_components > rank:
            raise ValueError(
                f"n_components must be at most {rank}, the number of directions that vary in every "
                f"view, got {self.n_components}"
            )

    def _choose_ridge(self, features: Sequence[np.ndarray], centred: Sequence[Centred]) -> None:
        """Set `ridge_`, and the candidates with their scores."""
        self.ridges_: np.ndarray | None = None
        self.ridge_scores_: np.ndarray | None = None
        if isinstance(self.ridge, Real):
            validate.positive("ridge", self.ridge)
            self.ridge_ = float(self.ridge)
            return
        if self.ridge is None:
            n = len(features[0])
            variances = [np.sum(c.directions.lengths**2) / n for c in centred]
            ridges = np.asarray(_RIDGES) * np.exp(np.mean(np.log(variances)))
        else:
            ridges = np.sort(to_numpy(validate.vector(self.ridge, "ridge")))
            validate.positive("the smallest ridge", float(ridges[0]))
        self.ridges_ = ridges
        self.ridge_scores_ = self._cross_validated(features, ridges)
        best = np.flatnonzero(self.ridge_scores_ == self.ridge_scores_.max())
        self.ridge_ = float(ridges[best[-1]])

    def _cross_validated(self, features: Sequence[np.ndarray], ridges: np.ndarray) -> np.ndarray:
        """Mean correlation of held-out points for every ridge: (R,)."""
        n = len(features[0])
        cv: Any = self.cv
        if isinstance(cv, Integral) and not isinstance(cv, bool):
            validate.whole("cv", cv, 2)
            folds = min(int(cv), n // 2)
            if folds < 2:
                raise ValueError(
                    f"choosing the ridge by cross-validation needs at least 4 points, got {n}: give a ridge"
                )
            cv = KFold(folds, shuffle=True, random_state=state(self.random_state))
        splitter: Any = check_cv(cv, y=None)
        folds = list(splitter.split(features[0]))
        scores = in_order(
            lambda fold: _held_out(features, fold[0], fold[1], self.n_components, ridges),
            folds,
            parallel=False,
        )
        return np.mean(list(scores), axis=0)


@dataclass(frozen=True, eq=False)
class _ReadView:
    """A view with its kernel, its columns and its points."""

    kernel: Kernel
    columns: Columns | None
    points: Points

    @classmethod
    def of(cls, kernel: Kernel | None, sample: Any, name: str) -> _ReadView:
        """Read a view other than the first."""
        if kernel is None:
            points = numbers(sample, name)
            kernel = default_kernel(sample) if points is None else median_rbf(points, name=name)
        validate.instance("kernel_y", kernel, Kernel, "a kernel, such as RBF(1.0), or None")
        points, columns = read(kernel, sample, None, name)
        return cls(kernel, columns, points)


def _named(y: Any) -> dict[str, Any]:
    """The other views by the names used in messages."""
    if isinstance(y, tuple):
        return {f"y[{i}]": _plain(sample) for i, sample in enumerate(y)}
    return {"y": _plain(y)}


def _need_tuple(y: Any, n: int) -> None:
    """Refuse a list of views, which would be read as a view of objects."""
    views = isinstance(y, list) and 0 < len(y) != n
    if views and all(isinstance(sample, Sized) and len(sample) == n for sample in y):
        raise TypeError(f"y is a list of {len(y)} views: pass several views as a tuple")


def _plain(sample: Any) -> Any:
    """Numbers of an array of objects as a numeric array; other samples unchanged."""
    if is_numpy(sample) and sample.dtype.kind == "O" and sample.ndim <= 2:
        converted = np.asarray(sample.tolist())
        return converted if converted.dtype.kind in "fiub" else sample
    return sample


def _held_out(
    features: Sequence[np.ndarray],
    train: np.ndarray,
    test: np.ndarray,
    number: int,
    ridges: np.ndarray,
) -> np.ndarray:
    """Mean correlation of the test points for every ridge: (R,)."""
    centred = [Centred.of(f[train]) for f in features]
    number = min(number, *(c.rank for c in centred))
    if number == 0:
        return np.zeros(len(ridges), dtype=np.float64)
    crossing = Crossing(centred)
    held_out = [f[test] - c.mean for f, c in zip(features, centred, strict=True)]
    correlations = []
    for ridge in ridges:
        weights = crossing.canonical(number, float(ridge)).weights
        scores = [f @ w for f, w in zip(held_out, weights, strict=True)]
        correlations.append(float(np.mean(correlation(scores))))
    return np.asarray(correlations, dtype=np.float64)
