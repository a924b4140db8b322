"""Nystrom features: the kernel projected onto the span of landmarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer import validate
from mercer.backend import Array, array_like, astype, count, double, eps, namespace
from mercer.features.choose_landmarks import LandmarkRule, UniformLandmarks
from mercer.features.feature_map import FeatureMap, Map
from mercer.gram import Gram
from mercer.gram.positive_definite import eigenpairs
from mercer.gram.tiles import tile_maker
from mercer.kernels.base import Kernel, Points
from mercer.kernels.take import taken

# Points on which `error_` is estimated: the standard error of the mean is 2% of the spread of its terms.
_MAX_POINTS_FOR_ERROR = 2000


@dataclass(frozen=True, eq=False)
class NystromMap(Map):
    """Feature map z(x) = R' k(l, x) for landmarks l, where RR' is the inverse of their Gram matrix."""

    kernel: Kernel
    landmarks: Points
    root: Array  # R, (m, r), where r is the rank of the Gram matrix of the landmarks

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", int(self.root.shape[1]))

    def __call__(self, x: Points, /) -> Array:
        tile = tile_maker(self.kernel, x, self.landmarks)
        values = tile(slice(0, count(x)), slice(0, count(self.landmarks)))
        return values @ array_like(self.root, values)


class Nystrom(FeatureMap):
    """Nystrom features of any kernel: <z(x), z(y)> = k(x, l) K^-1 k(l, y) for landmarks l.

    The kernel projected onto the span of the k(l, .) (Williams and Seeger 2001). It is exact at the
    landmarks, |z(x)|^2 never exceeds k(x, x), and the approximation is better the faster the
    eigenvalues of the kernel decay.

    Parameters
    ----------
    kernel : Kernel or None
        Any kernel. None: RBF at the median distance; `default_kernel` for a frame with categories.
    n_components : int
        Number of landmarks (all points, if there are fewer). There are fewer features where the Gram
        matrix of the landmarks is rank-deficient.
    rule : LandmarkRule or None
        Selection of the landmarks: `KMeansPlusPlus()`, `LeverageScores()` or `UniformLandmarks()`,
        which is the default.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    map_ : NystromMap
        `landmarks` and `root`.
    landmarks_ : points
    error_ : float
        Mean of k(x, x) - |z(x)|^2 over the points of `fit`, never negative; n times it is the trace
        norm of K - ZZ'. Estimated from 2,000 points where there are more; computed when it is read.
    kernel_ : Kernel

    References
    ----------
    C. K. I. Williams, M. Seeger (2001). Using the Nystrom method to speed up kernel machines. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> x = np.random.default_rng(0).normal(size=(500, 2))
    >>> z = Nystrom(RBF(2.0), 60, random_state=0).fit_transform(x)
    >>> bool(np.abs(z @ z.T - RBF(2.0)(x)).max() < 0.05)
    True
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        n_components: int = 256,
        *,
        rule: LandmarkRule | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.rule = rule
        self.random_state = random_state

    def _map(self, kernel: Kernel, points: Points, rng: np.random.Generator) -> NystromMap:
        rule = UniformLandmarks() if self.rule is None else self.rule
        validate.instance("rule", rule, LandmarkRule, "a rule, such as KMeansPlusPlus(), or None")
        n, pool = count(points), rule.pool(self.n_components)
        candidates = np.arange(n) if pool >= n else np.sort(rng.choice(n, pool, replace=False))
        at = candidates[rule.choose(kernel, taken(points, candidates), self.n_components, rng)]
        self.landmarks_ = taken(points, at)
        sample = np.arange(n)
        if n > _MAX_POINTS_FOR_ERROR:
            sample = np.sort(rng.choice(n, _MAX_POINTS_FOR_ERROR, replace=False))
        self._points_for_error = taken(points, sample)  # a copy, which the caller cannot change
        return NystromMap(kernel, self.landmarks_, inverse_root(kernel, self.landmarks_))

    @property
    def error_(self) -> float:
        """Mean of k(x, x) - |z(x)|^2 over the points of `fit`, or over 2,000 of them where there are more."""
        check_is_fitted(self)
        return _mean_residual(self.map_, self._bound, self._points_for_error)


def _mean_residual(fitted: Map, kernel: Kernel, points: Points) -> float:
    """Mean of k(x, x) - |z(x)|^2 over the points."""
    z, diagonal = fitted(points), kernel.diag(points)
    xp = namespace(z)
    wide = astype(z, double(z))
    residual = astype(diagonal, double(diagonal)) - xp.linalg.vecdot(wide, wide)
    return max(float(xp.mean(residual)), 0.0)


def inverse_root(kernel: Kernel, landmarks: Points) -> Array:
    """R with RR' the (pseudo-)inverse of the Gram matrix of the landmarks: (m, rank), in float64."""
    matrix = Gram(kernel, landmarks).dense()
    n, precision = int(matrix.shape[0]), eps(matrix)
    values, vectors = eigenpairs(astype(matrix, double(matrix)), precision)
    xp = namespace(values)
    large = xp.astype(values > n * precision * float(values[-1]), xp.int64)
    first = n - int(xp.sum(large))  # eigenvalues increase
    return vectors[:, first:] / xp.sqrt(values[first:])
