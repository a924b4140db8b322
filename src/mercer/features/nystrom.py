"""Nystrom features: the kernel on the span of a few landmarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, array_like, astype, count, double, eps, namespace
from mercer.features.choose_landmarks import LandmarkRule, UniformLandmarks
from mercer.features.feature_map import FeatureMap, Map
from mercer.gram import Gram
from mercer.gram.positive_definite import eigenpairs
from mercer.kernels.base import Kernel, Points
from mercer.kernels.take import taken


@dataclass(frozen=True, eq=False)
class NystromMap(Map):
    """z(x) = R' k(l, x) for landmarks l, where RR' is the inverse of their matrix."""

    kernel: Kernel
    landmarks: Points
    root: Array  # R, (m, r)

    @property
    def width(self) -> int:  # type: ignore[override]
        """The rank of the matrix of the landmarks."""
        return int(self.root.shape[1])

    def __call__(self, x: Points, /) -> Array:
        values = self.kernel.pairwise(x, self.landmarks)
        return values @ array_like(self.root, values)


class Nystrom(FeatureMap):
    """Nystrom features of any kernel: <z(x), z(y)> = k(x, l) K^-1 k(l, y) for landmarks l.

    The kernel projected onto the span of the k(l, .) (Williams and Seeger 2001): exact at the
    landmarks, nowhere larger than k(x, x), and the better the faster the eigenvalues of the kernel
    fall.

    Parameters
    ----------
    kernel : Kernel or None
        Of points of any kind. None: RBF at the median distance; `default_kernel` where a frame has categories.
    n_components : int
        How many landmarks to draw from the points (all of them, if there are fewer). There are fewer
        features where the matrix of the landmarks has not full rank.
    rule : LandmarkRule or None
        How they are drawn: `UniformLandmarks()`, `KMeansPlusPlus()` or `LeverageScores()`.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    map_ : NystromMap
        `landmarks` and `root`.
    landmarks_ : points
    error_ : float
        The mean of k(x, x) - |z(x)|^2 over the points of `fit`, which is never negative; the trace
        norm of K - ZZ' is n times as much.
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
        drawn = np.arange(n) if pool >= n else np.sort(rng.choice(n, pool, replace=False))
        chosen = drawn[rule.choose(kernel, taken(points, drawn), self.n_components, rng)]
        self.landmarks_ = taken(points, chosen)
        found = NystromMap(kernel, self.landmarks_, inverse_root(kernel, self.landmarks_))
        self.error_ = self._left(found, points, rng)
        return found

    def _left(self, found: NystromMap, points: Points, rng: np.random.Generator) -> float:
        n = count(points)
        some = points if n <= _SEEN else taken(points, np.sort(rng.choice(n, _SEEN, replace=False)))
        z, own = found(some), found.kernel.diag(some)
        xp = namespace(z)
        left = astype(own, double(own)) - xp.sum(astype(z, double(z)) ** 2, axis=1)
        return max(float(xp.mean(left)), 0.0)


_SEEN = 2000  # points from which the mean error is estimated, where there are more


def inverse_root(kernel: Kernel, landmarks: Points) -> Array:
    """R with RR' the (pseudo-)inverse of the matrix of the landmarks: (m, rank), in float64."""
    matrix = Gram(kernel, landmarks)
    held = matrix.dense()
    n, precision = int(held.shape[0]), eps(held)
    values, vectors = eigenpairs(astype(held, double(held)), precision)
    xp = namespace(values)
    large = xp.astype(values > n * precision * float(values[-1]), xp.int64)
    first = n - int(xp.sum(large))  # they rise
    return vectors[:, first:] / xp.sqrt(values[first:])
