"""Kernel principal components: without the n x n matrix, with pre-images."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer import validate
from mercer.backend import (
    Array,
    array_like,
    count,
    is_array,
    is_numpy,
    is_single,
    itemsize,
    namespace,
    to_numpy,
)
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.gram import Centered, Gram, top_eigenpairs
from mercer.kernels.base import Kernel, Points
from mercer.learn.components.preimage import Back, FixedPoint, Preimage, Projected, back_of
from mercer.learn.kernel_learner import KernelEstimator
from mercer.rkhs.function import Function
from mercer.rkhs.sample_rows import recentred

_FIRST = 16  # components that are looked at first when a share of the variance is asked for
_EPS = float(np.finfo(np.float64).eps)
_SINGLE = 1e-6  # of the largest eigenvalue: what rounding to float32 leaves of smaller ones


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Principal components in the space of a kernel: functions f_j of norm 1 with the largest variance.

    With the centred Gram matrix K~ = HKH and its eigenpairs (l_j, u_j), f_j = sum_i a_ij k(x_i, .)
    with a_j = u_j / sqrt(l_j), and the score of a point is

        z_j(x) = f_j(x) - mean_i f_j(x_i) = sum_i a_ij k~(x_i, x),

    centred with the means of the training points (Schoelkopf, Smola and Mueller 1998). Scores of
    the training points have mean 0, are uncorrelated, and have squares that add up to l_j. With
    ``Linear()`` it is PCA.

    The matrix is never held where it is beyond the memory budget: eigenpairs come from block Lanczos
    on its tiles, centred as they are made. `inverse_transform` finds points for scores
    (pre-images); ``denoise`` projects points on the components and finds the pre-images.

    Parameters
    ----------
    n_components : int, float or None
        How many; or the share of the variance, between 0 and 1, that they have to explain
        together; or all whose variance is not rounding error (None).
    kernel : Kernel or None
        None: RBF at the median distance; for data frames with categories `default_kernel`.
    preimage : Preimage or None
        How `inverse_transform` finds points: ``FixedPoint()``, which learns nothing and serves
        smooth functions of the distance and ``Linear()``, or ``LearnedMap()``, a ridge regression of
        points on scores, which serves all kernels on vectors. None: ``FixedPoint()`` where it serves.

    Attributes
    ----------
    function_ : Function
        The f_j, all of them: ``function_[j]`` is one. Orthonormal.
    eigenvalues_ : array (k,)
        The l_j, falling.
    explained_variance_ : array (k,)
        l_j / (n - 1), the variances of the scores.
    explained_variance_ratio_ : array (k,)
        Their shares of the whole variance, which is the trace of K~ over n - 1.
    n_components_ : int
    kernel_ : Kernel
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    A kernel that is not positive definite has negative eigenvalues, which have no functions: the
    components of positive ones are found, and shares are of the trace all the same. Eigenvalues below
    n times machine epsilon of the largest are taken for zero.

    References
    ----------
    B. Schoelkopf, A. Smola, K.-R. Mueller (1998). Nonlinear component analysis as a kernel
    eigenvalue problem. Neural Computation 10, 1299-1319.
    S. Mika, B. Schoelkopf, A. Smola, K.-R. Mueller, M. Scholz, G. Raetsch (1999). Kernel PCA and
    de-noising in feature spaces. NIPS 11.

    Examples
    --------
    Points near a circle, brought back to it:

    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> from mercer.learn import KernelPCA
    >>> angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    >>> pca = KernelPCA(4, kernel=RBF(1.0)).fit(circle)
    >>> float(pca.explained_variance_ratio_.sum())
    0.965
    >>> np.linalg.norm(pca.denoise(1.4 * circle[:3]), axis=1).round(1)
    array([1., 1., 1.])
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        kernel: Kernel | None = None,
        preimage: Preimage | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.preimage = preimage

    def fit(self, X: Any, y: None = None) -> Self:
        """Find the components of points X; y is not used."""
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: None = None) -> Array:  # type: ignore[override]
        """Find the components, and the scores of the same points: (n, k)."""
        return self._fit(X)

    def transform(self, X: Any) -> Array:
        """The scores of points: (n, k)."""
        return self._scores(X)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Points whose scores are close to the rows of X (n, k): (n, d).

        What has these scores in the space of the kernel need not be the image of a point; the
        nearest one is searched for (`FixedPoint`) or guessed (`LearnedMap`).
        """
        check_is_fitted(self)
        scores = np.asarray(check_array(X), dtype=np.float64)
        if scores.shape[1] != self.n_components_:
            raise ValueError(
                f"X must have {self.n_components_} columns, one for each component, "
                f"got {scores.shape[1]}"
            )
        if self._back is None:
            raise ValueError(
                f"FixedPoint() finds pre-images of smooth functions of the distance and of Linear(), "
                f"not of {self.kernel_!r} on such points: use preimage=LearnedMap(), and vectors"
            )
        return self._back(scores)

    def denoise(self, X: Any) -> np.ndarray:
        """The pre-images of the projections of points on the components: (n, n_features)."""
        return self.inverse_transform(to_numpy(self._scores(X)))

    def _needs_points(self) -> str | None:
        return None if self.preimage is None else "pre-images are points"

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _scores(self, X: Any) -> Array:
        points = self._points(X)
        learnt = self.function_
        old, new = recentred(self._bound, learnt.points, points)
        return Gram(self._bound, new, old) @ learnt.weights - self._offsets

    def _fit(self, X: Any) -> Array:
        """Learn, and return the scores of the training points."""
        if self.preimage is not None:
            validate.instance(
                "preimage", self.preimage, Preimage, "FixedPoint(), LearnedMap(...) or None"
            )
        kernel, points = self._learn_from(self._numbers(X, reset=True, ensure_min_samples=2))
        centred = Centered.of(Gram(kernel, *recentred(kernel, points)))
        values, vectors, trace = components(centred, self.n_components)
        n = count(points)
        roots = np.sqrt(values)
        weights = vectors / array_like(roots, vectors)
        self.function_ = Function(self.kernel_, points, weights, self._columns)
        self._offsets = array_like(centred.row_means, vectors) @ weights
        self.eigenvalues_ = values
        self.explained_variance_ = values / (n - 1)
        self.explained_variance_ratio_ = values / trace
        self.n_components_ = len(values)
        scores = vectors * array_like(roots, vectors)
        self._back = self._backwards(X, kernel, points, weights, scores)
        return scores

    def _backwards(
        self, X: Any, kernel: Kernel, points: Points, weights: Array, scores: Array
    ) -> Back | None:
        """What finds pre-images; None where there is nothing that could."""
        if not self._has_vectors(X):
            if self.preimage is None:
                return None
            raise TypeError("pre-images need points that are vectors of numbers: use preimage=None")
        held = (to_numpy(part) for part in (points, weights, scores))
        space = Projected(kernel, *(part.astype(np.float64, copy=False) for part in held))
        return back_of(self.preimage or FixedPoint(), space, needed=self.preimage is not None)

    def _has_vectors(self, X: Any) -> bool:
        """Whether points came as vectors of numbers, not as objects or codes of categories."""
        if self._columns is not None:
            return not any(self._columns.categorical)
        return self._is_numeric(X) or (is_array(X) and not is_numpy(X) and X.ndim <= 2)


def components(centred: Centered, wanted: int | float | None) -> tuple[np.ndarray, Array, float]:
    """Eigenvalues (k,) and eigenvectors (n, k) of a centred Gram matrix, and its trace.

    `wanted`: how many, the share of the trace that they have to reach, or None for all.
    """
    n, trace = centred.shape[0], centred.trace()
    number, share = _asked(wanted, n)
    noise = _SINGLE if is_single(centred.like) else n * _EPS  # of the largest eigenvalue
    if trace <= noise * float(np.abs(to_numpy(centred.matrix.diagonal())).sum()):
        raise ValueError("X must vary: the kernel does not tell any two of its points apart")
    k = number or (n if share is None else min(_FIRST, n))
    while True:
        values, vectors = _eigenpairs(centred, k)
        usable = int(np.sum(values > noise * values[0]))
        enough = np.flatnonzero(np.cumsum(values[:usable]) >= (share or 1.0) * trace)
        if share is None or len(enough) or usable < k or k == n:
            break
        k = n if 6 * k > n else 2 * k
    if number is not None and usable < number:
        raise ValueError(
            f"n_components must be at most {usable}, which is how many components of these points "
            f"have a variance above rounding error, got {number}: ask for fewer, or for None"
        )
    kept = int(enough[0]) + 1 if share is not None and len(enough) else usable
    found = vectors[:, :kept]
    # Centred again: eigenvectors of small eigenvalues are not orthogonal to 1, which has 0, to rounding.
    return values[:kept], found - namespace(found).mean(found, axis=0), trace


def _eigenpairs(centred: Centered, k: int) -> tuple[np.ndarray, Array]:
    n = centred.shape[0]
    if 3 * k > n and n > 1000 and n * n * itemsize(centred.like) > settings().memory:
        raise MemoryBudgetError(
            f"{k} of {n} components need the whole matrix, which is beyond the memory budget: "
            "ask for fewer components, or raise mercer.config(memory=...)"
        )
    values, vectors = top_eigenpairs(centred, k)
    return to_numpy(values).astype(np.float64), vectors


def _asked(wanted: int | float | None, n: int) -> tuple[int | None, float | None]:
    """A number or a share, or neither."""
    name = "n_components"
    if wanted is None:
        return None, None
    if isinstance(wanted, Integral) and not isinstance(wanted, bool):
        validate.whole(name, wanted)
        if wanted > n:
            raise ValueError(f"{name} must be at most the number of points, {n}, got {wanted}")
        return int(wanted), None
    validate.between(name, wanted, 0.0, 1.0)
    return None, float(wanted)
