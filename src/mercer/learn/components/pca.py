"""Kernel principal component analysis, with pre-images."""

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
from mercer.gram.eigen import held_if_small
from mercer.kernels.base import Kernel, Points
from mercer.learn.components.landmark_pca import landmark_components
from mercer.learn.components.low_rank import all_eigenpairs
from mercer.learn.components.preimage import Back, FixedPoint, KPCAProjection, Preimage, back_of
from mercer.learn.kernel_learner import KernelEstimator
from mercer.learn.landmark_features import (
    landmark_features,
    refuse_beyond_memory,
    rows_by_parts,
)
from mercer.rkhs.function import Function
from mercer.rkhs.sample_rows import recentred

_FIRST_COMPONENTS = 16  # computed first where a fraction of the variance is wanted; then doubled
_EPS = float(np.finfo(np.float64).eps)
_SINGLE_NOISE = 1e-6  # relative to the largest eigenvalue: rounding of float32 kernel values


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Kernel principal component analysis: functions f_j of norm 1 in the RKHS with the largest variance.

    With the centred Gram matrix K~ = HKH and its eigenpairs (l_j, u_j), f_j = sum_i a_ij k(x_i, .)
    with a_j = u_j / sqrt(l_j), and the score of a point is

        z_j(x) = f_j(x) - mean_i f_j(x_i) = sum_i a_ij k~(x_i, x),

    centred with the means of the training points (Schoelkopf, Smola and Mueller 1998). Scores of
    the training points have mean 0, are uncorrelated, and their squares add up to l_j. With ``Linear()``
    it is PCA.

    A matrix beyond the memory budget is never stored: eigenpairs come from block Lanczos on centred
    tiles. `inverse_transform` finds points with given scores (pre-images); ``denoise`` projects points on
    the components and finds their pre-images.

    Parameters
    ----------
    n_components : int, float or None
        Their number; or the fraction of the variance, between 0 and 1, that they must explain; or all
        whose variance exceeds rounding error (None).
    kernel : Kernel or None
        None: RBF with the median distance as its bandwidth; `default_kernel` for a frame with categories.
    preimage : Preimage or None
        Method of `inverse_transform`: ``FixedPoint()``, an iteration for smooth radial kernels and
        ``Linear()``, or ``LearnedMap()``, a ridge regression of points on scores for all kernels on
        vectors. None: ``FixedPoint()`` where it applies.
    landmarks : int or None
        Number of points, drawn uniformly, in whose span the components lie. X is then read once, part by part,
        and may be larger than memory: a `Parquet` source, an Arrow dataset, a Dask collection, a memory map or a
        Zarr array. None: the components of all points, which are held.
    random_state : int, Generator, RandomState or None
        Seed of the landmarks.

    Attributes
    ----------
    function_ : Function
        The orthonormal f_j; ``function_[j]`` is one of them.
    eigenvalues_ : array (k,)
        The l_j, in decreasing order.
    explained_variance_ : array (k,)
        l_j / (n - 1), the variances of the scores.
    explained_variance_ratio_ : array (k,)
        Fractions of the total variance, which is the trace of K~ over n - 1.
    n_components_ : int
    kernel_ : Kernel
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    A kernel that is not positive definite has negative eigenvalues, which have no functions: only the
    components of positive ones are returned, and the total variance is still the trace. Eigenvalues below
    n times machine epsilon times the largest are treated as zero.

    On landmarks the eigenvalues are those of the kernel projected on their span, so that none exceeds its
    counterpart of all points; `explained_variance_ratio_` refers to the total variance of the kernel itself. Pre-images
    need ``preimage=LearnedMap()``, which learns from the landmarks.

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
        landmarks: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.preimage = preimage
        self.landmarks = landmarks
        self.random_state = random_state

    def fit(self, X: Any, y: None = None) -> Self:
        """Fit the components of points X; y is ignored."""
        if self.landmarks is None:
            self._fit(X)
        else:
            self._fit_on_landmarks(X, self.landmarks)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Fit the components and return the scores of the same points: (n, k)."""
        if self.landmarks is None:
            return self._fit(X, **fit_params)
        return self.fit(X).transform(X)

    def transform(self, X: Any) -> Array:
        """Scores of points: (n, k)."""
        check_is_fitted(self)
        in_parts = rows_by_parts(self, X, self._scores, self.n_components_)
        return self._scores(X) if in_parts is None else in_parts

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Points whose scores are close to the rows of X (n, k): (n, d).

        The element of the RKHS with these scores need not be the image of a point; the nearest image is
        searched (`FixedPoint`) or a point is predicted by regression (`LearnedMap`).
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
                "FixedPoint() finds pre-images for smooth radial kernels and Linear() without landmarks, not "
                f"for {self.kernel_!r} on these points: use preimage=LearnedMap() and vectors"
            )
        return self._back(scores)

    def denoise(self, X: Any) -> np.ndarray:
        """Pre-images of the projections of points on the components: (n, n_features)."""
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

    def _fit_on_landmarks(self, X: Any, landmarks: int) -> None:
        """Fit the components in the span of landmarks, part by part."""
        self._check_preimage()
        if isinstance(self.preimage, FixedPoint):
            raise ValueError(
                "FixedPoint() needs all points, and landmarks leave most of them out: use "
                "preimage=LearnedMap(), or landmarks=None"
            )
        features = landmark_features(self, X, landmarks)
        learnt = landmark_components(features, *_asked(self.n_components, len(features.stream)))
        points = features.map.landmarks
        self.function_ = Function.of_checked(self.kernel_, points, learnt.weights, self._columns)
        self._offsets = learnt.offsets
        self._keep_variances(learnt.eigenvalues, learnt.n, learnt.trace)
        self._back = None
        if self.preimage is not None:
            scores = to_numpy(Gram(self._bound, points) @ learnt.weights) - learnt.offsets
            self._back = self._backwards(
                to_numpy(points), self._bound, points, learnt.weights, scores
            )

    def _check_preimage(self) -> None:
        if self.preimage is not None:
            validate.instance(
                "preimage", self.preimage, Preimage, "FixedPoint(), LearnedMap(...) or None"
            )

    def _keep_variances(self, values: np.ndarray, n: int, trace: float) -> None:
        self.eigenvalues_ = values
        self.explained_variance_ = values / (n - 1)
        self.explained_variance_ratio_ = values / trace
        self.n_components_ = len(values)

    def _fit(self, X: Any) -> Array:
        """Fit the components, and return the scores of the training points."""
        self._check_preimage()
        refuse_beyond_memory(X, "KernelPCA", "use KernelPCA(landmarks=1000)")
        kernel, points = self._learn_from(self._numbers(X, reset=True, ensure_min_samples=2))
        gram = Gram.of_checked(kernel, *recentred(kernel, points))
        complete = all_eigenpairs(gram) if self.n_components is None else None
        centred = Centered.of(gram if complete is not None else held_if_small(gram))
        values, vectors, trace = components(centred, self.n_components, complete)
        n = count(points)
        roots = np.sqrt(values)
        weights = vectors / array_like(roots, vectors)
        self.function_ = Function.of_checked(self.kernel_, points, weights, self._columns)
        self._offsets = array_like(centred.row_means, vectors) @ weights
        self._keep_variances(values, n, trace)
        scores = vectors * array_like(roots, vectors)
        self._back = self._backwards(X, kernel, points, weights, scores)
        return scores

    def _backwards(
        self, X: Any, kernel: Kernel, points: Points, weights: Array, scores: Array
    ) -> Back | None:
        """The map from scores to pre-images; None where no method applies."""
        if not self._has_vectors(X):
            if self.preimage is None:
                return None
            raise TypeError("pre-images need numeric vectors as points: use preimage=None")
        arrays = (to_numpy(array) for array in (points, weights, scores))
        space = KPCAProjection(kernel, *(array.astype(np.float64, copy=False) for array in arrays))
        return back_of(self.preimage or FixedPoint(), space, needed=self.preimage is not None)

    def _has_vectors(self, X: Any) -> bool:
        """Whether the points are numeric vectors, not objects or codes of categories."""
        if self._columns is not None:
            return not any(self._columns.categorical)
        return self._checked_by_sklearn(X) or (is_array(X) and not is_numpy(X) and X.ndim <= 2)


def components(
    centred: Centered,
    requested: int | float | None,
    complete: tuple[np.ndarray, Array] | None = None,
) -> tuple[np.ndarray, Array, float]:
    """Eigenvalues (k,) and eigenvectors (n, k) of a centred Gram matrix, and its trace.

    `requested`: their number, the fraction of the trace that they must reach, or None for all.
    `complete`: all eigenpairs beyond rounding, where they are known.
    """
    n, trace = centred.shape[0], centred.trace()
    number, share = _asked(requested, n)
    noise = _SINGLE_NOISE if is_single(centred.like) else n * _EPS  # of the largest eigenvalue
    if trace <= noise * float(np.abs(to_numpy(centred.matrix.diagonal())).sum()):
        raise ValueError("X must vary, but the kernel does not distinguish any two of its points")
    k = number or (n if share is None else min(_FIRST_COMPONENTS, n))
    while True:
        values, vectors = complete or _eigenpairs(centred, k)
        usable = int(np.sum(values > noise * values[0]))
        enough = np.flatnonzero(np.cumsum(values[:usable]) >= (share or 1.0) * trace)
        if share is None or len(enough) or usable < k or k == n:
            break
        k = n if 6 * k > n else 2 * k
    if number is not None and usable < number:
        raise ValueError(
            f"n_components must be at most {usable}, the number of components whose variance exceeds "
            f"rounding error, got {number}: use fewer, or None"
        )
    rank = int(enough[0]) + 1 if share is not None and len(enough) else usable
    leading = vectors[:, :rank]
    # Centred again: eigenvectors of small eigenvalues are only nearly orthogonal to the null vector 1.
    return values[:rank], leading - namespace(leading).mean(leading, axis=0), trace


def _eigenpairs(centred: Centered, k: int) -> tuple[np.ndarray, Array]:
    n = centred.shape[0]
    if 3 * k > n and n > 1000 and n * n * itemsize(centred.like) > settings().memory:
        raise MemoryBudgetError(
            f"{k} of {n} components need the full matrix, which exceeds the memory budget: "
            "use fewer components, or raise mercer.config(memory=...)"
        )
    values, vectors = top_eigenpairs(centred, k)
    return to_numpy(values).astype(np.float64), vectors


def _asked(requested: int | float | None, n: int) -> tuple[int | None, float | None]:
    """A number of components or a fraction of the variance; (None, None) for all."""
    name = "n_components"
    if requested is None:
        return None, None
    if isinstance(requested, Integral) and not isinstance(requested, bool):
        validate.whole(name, requested)
        if requested > n:
            raise ValueError(f"{name} must be at most the number of points, {n}, got {requested}")
        return int(requested), None
    validate.between(name, requested, 0.0, 1.0)
    return None, float(requested)
