"""Kernel canonical correlation analysis of two or more views of the same points."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import check_consistent_length

from mercer import validate
from mercer.backend import count, to_numpy
from mercer.features.random_state import state
from mercer.gram import Gram
from mercer.gram.threads import in_order
from mercer.kernels.base import Kernel, Points
from mercer.kernels.prepare import bound_to, read
from mercer.learn.components.canonical import (
    Crossing,
    Moments,
    correlation,
    crossing,
    row_blocks,
    signs_of,
)
from mercer.learn.components.full_rank import affordable, full_rank_canonical
from mercer.learn.components.read_views import ReadView, named_views, need_tuple
from mercer.learn.components.views import View, chosen_view, column_limit, error_bound, view
from mercer.learn.kernel_learner import KernelEstimator

_RIDGES = tuple(10.0 ** np.arange(-6, 0.5, 0.5))  # of the mean variance of the views
_MIN_ROWS_PER_COLUMN = 4  # a factor with more columns takes longer than dense matrices
_MAX_SILENT_ERROR = 1e-6  # bound on the error of correlations up to which there is no warning
_FOLD_ARRAYS = 6  # of the size of the products of a fold, at the same time


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
        Number of columns of the pivoted Cholesky factor of each Gram matrix. None: as many as make the
        result exact to 1e-8, up to a limit set by memory and time (see Notes).
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
    error_bound_ : float
        How far `correlations_` may lie below those of all columns of the factors; they never lie
        above. 0 where no column was left out.
    ridge_ : float
    ridges_, ridge_scores_ : arrays, or None
        Candidate ridges and their cross-validated correlations.
    kernel_ : Kernel
    kernels_ : tuple of Kernel
    n_features_in_, feature_names_in_
        As in scikit-learn, of the first view.

    Notes
    -----
    Gram matrices are replaced by pivoted Cholesky factors. Kernels that are smooth on points of few
    dimensions have factors of few columns that are exact to rounding: the cost is then linear in n, and
    functions live on the few points that span the factors.

    Factors of other kernels would have almost n columns. At a given ridge the exact problem of up to
    4,096 points (two views) is then solved by dense matrices, O(n^3). Beyond that, and where the
    ridge is chosen among several, at most 1,000 leading columns are used (500 while choosing; fewer
    for more views or little memory), with a warning that bounds the error: 2,000 points take 2 s of CPU
    time, 100,000 points 20 s. ``rank=len(X)`` uses all columns.

    For a kernel that is not positive definite, only the directions with positive eigenvalues are used,
    which takes O(n^3); with `rank` it is refused, because a low-rank factor does not detect negative
    eigenvalues.

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
        need_tuple(y, count(points))
        sides = [ReadView(self.kernel_, self._columns, points), *self._others(y)]
        for side in sides[1:]:
            if count(side.points) != count(points):
                raise ValueError(
                    f"X and every view in y must have the same number of points, got {count(points)} "
                    f"and {count(side.points)}"
                )
        self.kernels_ = tuple(side.kernel for side in sides)
        self._fit_views(sides)
        self.function_ = self.functions_[0]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Canonical variates of the first view: (n, n_components)."""
        return self._scores(0, self._points(X))

    def variates(self, X: Any, y: Any) -> tuple[np.ndarray, ...]:
        """Canonical variates of all views: a tuple of arrays (n, n_components)."""
        points = [self._points(X)]
        named, known = named_views(y), self.functions_[1:]
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

    def _others(self, y: Any) -> list[ReadView]:
        """The other views, each with its kernel."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        named, kernels = named_views(y), self.kernel_y
        if not named:
            raise ValueError("y must be another view of the points, or a tuple of views, got ()")
        if kernels is None or isinstance(kernels, Kernel):
            kernels = (kernels,) * (len(named) if kernels is None else 1)
        if len(kernels) != len(named):
            raise ValueError(
                f"kernel_y must be a kernel for each of {len(named)} other views, got {len(kernels)}"
            )
        return [
            ReadView.of(k, v, name) for k, (name, v) in zip(kernels, named.items(), strict=True)
        ]

    def _fit_views(self, sides: Sequence[ReadView]) -> None:
        """Fit by features of few columns, or by dense matrices where a ridge is given and they fit."""
        n, ridge = count(sides[0].points), self._smallest_ridge()
        if self.rank is not None:
            self._fit_features([chosen_view(side, self.rank) for side in sides])
            return
        single = isinstance(self.ridge, Real)
        dense = single and affordable(n, len(sides))
        most = n if dense else column_limit(n, len(sides), single=single)
        few = max(n // _MIN_ROWS_PER_COLUMN, 2) if dense else most
        views = [view(side, few if side.definite else most, ridge=ridge) for side in sides]
        if dense and ridge is not None and not all(v.complete for v in views):
            solution = full_rank_canonical(sides, views, self.n_components, ridge)
            if solution is not None:
                self.ridges_, self.ridge_scores_, self.ridge_ = None, None, ridge
                self.correlations_, self.functions_ = solution.correlations, solution.functions
                self._offsets, self.error_bound_ = solution.offsets, 0.0
                return
            views = [
                v if v.complete else view(side, n, ridge=ridge)
                for side, v in zip(sides, views, strict=True)
            ]
        self._fit_features(views)
        if self.error_bound_ > _MAX_SILENT_ERROR:
            self._warn(views)

    def _fit_features(self, views: Sequence[View]) -> None:
        """Solve the problem in features of all views, and choose the ridge if it is not given."""
        features = [v.features for v in views]
        total = Moments.of(features)
        self._choose_ridge(features, total)
        crossed = crossing(features, self.ridge_, total)
        if self.n_components > crossed.rank:
            crossed = Crossing.of_features(features)
            self._need_ranks(crossed)
        solution = crossed.canonical(self.n_components, self.ridge_)
        signs = signs_of(features[0] @ solution.weights[0])
        weights = [w * signs for w in solution.weights]
        self.correlations_ = solution.correlations
        self.functions_ = tuple(v.function(w) for v, w in zip(views, weights, strict=True))
        self._offsets = [v.mean @ w for v, w in zip(views, weights, strict=True)]
        self.error_bound_ = error_bound(views, self.ridge_, self.correlations_)

    def _warn(self, views: Sequence[View]) -> None:
        """Say that factors were cut short, and what that may have changed."""
        n, ranks = len(views[0].features), [v.features.shape[1] for v in views]
        warnings.warn(
            f"KCCA of {n:,} points used the {' and '.join(map(str, ranks))} leading columns of the Cholesky "
            "factors of its views, which have a larger rank: correlations_ are below those of all columns "
            f"by at most {self.error_bound_:.2g}. Pass rank=... for more columns, or for fewer without "
            "this warning",
            stacklevel=4,
        )

    def _smallest_ridge(self) -> float | None:
        if self.ridge is None:
            return None
        if isinstance(self.ridge, Real):
            validate.positive("ridge", self.ridge)
            return float(self.ridge)
        return float(np.min(to_numpy(validate.vector(self.ridge, "ridge"))))

    def _need_ranks(self, crossed: Crossing) -> None:
        for i, spectrum in enumerate(crossed.spectra):
            if spectrum.rank == 0:
                raise ValueError(
                    f"{'y' if i else 'X'} must vary, but its kernel does not distinguish any two points"
                )
        if self.n_components > crossed.rank:
            raise ValueError(
                f"n_components must be at most {crossed.rank}, the number of directions that vary in every "
                f"view, got {self.n_components}"
            )

    def _choose_ridge(self, features: Sequence[np.ndarray], total: Moments) -> None:
        """Set `ridge_`, and the candidates with their scores."""
        self.ridges_: np.ndarray | None = None
        self.ridge_scores_: np.ndarray | None = None
        if isinstance(self.ridge, Real):
            self.ridge_ = float(self.ridge)
            return
        if self.ridge is None:
            variances = [np.trace(total.products[i, i]) / total.n for i in range(len(features))]
            if min(variances) == 0:
                self._need_ranks(Crossing.of_features(features))
            ridges = np.asarray(_RIDGES) * np.exp(np.mean(np.log(variances)))
        else:
            ridges = np.sort(to_numpy(validate.vector(self.ridge, "ridge")))
            validate.positive("the smallest ridge", float(ridges[0]))
        self.ridges_ = ridges
        self.ridge_scores_ = self._cross_validated(features, total, ridges)
        best = np.flatnonzero(self.ridge_scores_ == self.ridge_scores_.max())
        self.ridge_ = float(ridges[best[-1]])

    def _cross_validated(
        self, features: Sequence[np.ndarray], total: Moments, ridges: np.ndarray
    ) -> np.ndarray:
        """Mean correlation of held-out points for every ridge: (R,)."""
        n = total.n
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
            partial(_held_out, features, total, self.n_components, ridges),
            folds,
            parallel=True,
            held=_FOLD_ARRAYS * 8 * sum(f.shape[1] for f in features) ** 2,
        )
        return np.mean(list(scores), axis=0)


def _held_out(
    features: Sequence[np.ndarray],
    total: Moments,
    number: int,
    ridges: np.ndarray,
    fold: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Mean correlation of the test points for every ridge: (R,)."""
    train, test = fold
    crossed = crossing(features, float(ridges[0]), total, train)
    number = min(number, crossed.rank)
    if number == 0:
        return np.zeros(len(ridges), dtype=np.float64)
    weights = [crossed.canonical(number, float(ridge)).weights for ridge in ridges]
    stacked = [np.hstack(of_view) for of_view in zip(*weights, strict=True)]  # (r, R k)
    blocks = [
        [f @ w for f, w in zip(rows, stacked, strict=True)] for rows in row_blocks(features, test)
    ]
    scores = [np.vstack(of_view) for of_view in zip(*blocks, strict=True)]
    return np.mean(correlation(scores).reshape(len(ridges), number), axis=1)
