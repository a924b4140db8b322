"""Kernel k-means: all restarts share passes over the Gram matrix."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer import validate
from mercer.backend import array_like, eps, to_numpy
from mercer.config import settings
from mercer.errors import NotConverged
from mercer.features.random_state import state
from mercer.gram import Gram
from mercer.gram.eigen import Product, repeated_product
from mercer.gram.threads import spans
from mercer.kernels.base import Kernel
from mercer.learn.clusters.landmark_kmeans import landmark_clusters
from mercer.learn.kernel_learner import KernelEstimator
from mercer.learn.landmark_features import (
    landmark_features,
    refuse_beyond_memory,
    rows_by_parts,
)
from mercer.rkhs.function import Function
from mercer.rkhs.sample_rows import recentred

_TIE_TOLERANCE = 64  # in eps k(x, x): closer distances count as equal; rounding stays below it


class KernelKMeans(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, KernelEstimator
):
    """Kernel k-means: clusters c that minimise sum_i |phi(x_i) - m_c(i)|^2.

    Centres m_c are means of images, functions of the RKHS, and

        |phi(x) - m_c|^2 = k(x, x) - 2 mean_{j in c} k(x, x_j) + mean_{j, l in c} k(x_j, x_l)

    (Girolami 2002; Dhillon, Guan and Kulis 2004). With ``Linear()`` it is k-means. Any kernel on vectors
    or objects works; a Gram matrix beyond the memory budget is not stored.

    Parameters
    ----------
    n_clusters : int
    kernel : Kernel or None
        None: RBF with the median distance as its bandwidth; `default_kernel` for a frame with categories.
    n_init : int
        Number of starts by k-means++ (Arthur and Vassilvitskii 2007), of which the best is used. They
        share passes over the matrix.
    max_iter : int
        Largest number of iterations of each start.
    landmarks : int or None
        Number of points, drawn uniformly, in whose span the centres lie. X is then read part by part, once for
        each iteration, and may be larger than memory: a `Parquet` source, an Arrow dataset, a Dask collection, a
        memory map or a Zarr array. All starts run on the landmarks (on 2,000 points where they are fewer), and
        iterations on all points begin at the best. None: all points are held.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    labels_ : array (n,)
        Clusters in the order of their first points: the first point is in cluster 0.
    function_ : Function
        The centres m_c as functions; ``function_[c]`` is one of them.
    inertia_ : float
        Sum of squared distances to the centres.
    n_iter_ : int
        Iterations of the best start.
    kernel_ : Kernel
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Rounding does not decide ties: a point equally far from several centres belongs to the first of them,
    and among equally good starts the first is used. A single start can still end differently on another
    processor, where accumulated rounding moves a point across a border; clusters on which several starts
    agree are the same everywhere.

    Warns
    -----
    NotConverged
        If the best start still changed after `max_iter` iterations.

    References
    ----------
    M. Girolami (2002). Mercer kernel-based clustering in feature space. IEEE Transactions on Neural
    Networks 13, 780-784.
    I. S. Dhillon, Y. Guan, B. Kulis (2004). Kernel k-means, spectral clustering and normalized cuts. KDD.

    Examples
    --------
    A ring around a blob, which no straight line separates. In squares and products of coordinates the
    ring becomes two clusters and the blob one:

    >>> import numpy as np
    >>> from mercer.kernels import Polynomial
    >>> from mercer.learn import KernelKMeans
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, 100)
    >>> ring = 3 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    >>> x = np.concatenate([ring, 0.5 * rng.normal(size=(100, 2))])
    >>> labels = KernelKMeans(3, kernel=Polynomial(2, 0.0), random_state=0).fit_predict(x)
    >>> len(set(labels[:100])), len(set(labels[100:])), len(set(labels))
    (2, 1, 3)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Kernel | None = None,
        n_init: int = 10,
        max_iter: int = 300,
        landmarks: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.n_init = n_init
        self.max_iter = max_iter
        self.landmarks = landmarks
        self.random_state = random_state

    def fit(self, X: Any, y: None = None) -> Self:
        """Find the clusters of points X; y is ignored."""
        for name in ("n_clusters", "n_init", "max_iter"):
            validate.whole(name, getattr(self, name))
        settled = self._fit_all(X) if self.landmarks is None else self._fit_parts(X, self.landmarks)
        if not settled:
            warnings.warn(
                f"clusters still changed after {self.max_iter} iterations: raise max_iter",
                NotConverged,
                stacklevel=2,
            )
        return self

    def _fit_all(self, X: Any) -> bool:
        """Clusters of points that are held; whether the iterations converged."""
        refuse_beyond_memory(X, "KernelKMeans", "use KernelKMeans(landmarks=1000)")
        kernel, points = self._accept(X)
        gram = Gram(kernel, *recentred(kernel, points))
        refuse_more_clusters_than_points(self.n_clusters, gram.shape[0])
        result = self._clustered(gram)
        self.labels_, self.inertia_, self.n_iter_ = result.labels, result.inertia, result.rounds
        means = indicators(result.labels[None], self.n_clusters)
        self.function_ = Function(
            self.kernel_, points, array_like(means, gram.like, gram.like.dtype), self._columns
        )
        self._norms = np.einsum("ic,ic->c", means, to_numpy(gram @ means))
        self._precision = eps(gram.like)
        return result.settled

    def _clustered(self, gram: Gram) -> Clustered:
        random = state(self.random_state)
        rng = np.random.default_rng(random.randint(2**31 - 1))
        return clustered(gram, self.n_clusters, self.n_init, self.max_iter, rng)

    def _fit_parts(self, X: Any, landmarks: int) -> bool:
        """Clusters of points that are read part by part; whether the iterations converged."""
        features = landmark_features(self, X, landmarks)
        gram = Gram(features.map.kernel, *recentred(features.map.kernel, features.sample))
        refuse_more_clusters_than_points(self.n_clusters, gram.shape[0])
        self._precision = eps(gram.like)
        start = self._clustered(gram).labels
        result = landmark_clusters(features, start, self.max_iter, NearestCentre(self._precision))
        order = order_of_first_points(result.labels, self.n_clusters)
        self.labels_ = np.argsort(order)[result.labels]
        self.inertia_, self.n_iter_ = result.inertia, result.rounds
        centres = result.centres[order]
        weights = array_like(to_numpy(features.map.root) @ centres.T, gram.like, gram.like.dtype)
        self.function_ = Function(self.kernel_, features.map.landmarks, weights, self._columns)
        self._norms = np.einsum("cr,cr->c", centres, centres)
        return result.settled

    def predict(self, X: Any) -> np.ndarray:
        """Nearest centre of every point: (n,)."""
        check_is_fitted(self)
        in_parts = rows_by_parts(self, X, self._labels, 1)
        return self._labels(X) if in_parts is None else in_parts

    def _labels(self, X: Any) -> np.ndarray:
        distances, diagonal = self._distances(X)
        return NearestCentre(self._precision)(distances, diagonal, self._norms)

    def transform(self, X: Any) -> np.ndarray:
        """Distances to all centres in the RKHS: (n, n_clusters)."""
        check_is_fitted(self)
        in_parts = rows_by_parts(self, X, self._roots, self.n_clusters)
        return self._roots(X) if in_parts is None else in_parts

    def _roots(self, X: Any) -> np.ndarray:
        return np.sqrt(self._distances(X)[0])

    def score(self, X: Any, y: None = None) -> float:
        """Minus the sum of squared distances of points to their nearest centres."""
        return -float(np.sum(np.min(self._distances(X)[0], axis=1)))

    @property
    def _n_features_out(self) -> int:
        return self.function_.weights.shape[1]

    def _distances(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Squared distances to the centres (n, C), and the values k(x, x) of the points (n,)."""
        points, kernel, learnt = self._points(X), self._bound, self.function_
        old, new = recentred(kernel, learnt.points, points)
        near = to_numpy(Gram(kernel, new, old) @ learnt.weights)
        diagonal = to_numpy(kernel.diag(new)).astype(np.float64)
        return squared_distances(near, diagonal, self._norms), diagonal


def squared_distances(near: np.ndarray, diagonal: np.ndarray, norms: np.ndarray) -> np.ndarray:
    """|phi(x) - m_c|^2 from the centres at points (n, C), k(x, x) (n,) and |m_c|^2 (C,): (n, C)."""
    return np.maximum(diagonal[:, None] - 2 * near + norms, 0.0)


@dataclass(frozen=True)
class NearestCentre:
    """Nearest centres, where rounding decides no ties."""

    precision: float

    def __call__(
        self, distances: np.ndarray, diagonal: np.ndarray, norms: np.ndarray
    ) -> np.ndarray:
        return nearest_centre(distances, _rounding(diagonal, norms.max(), self.precision))


@dataclass(frozen=True, eq=False)
class Clustered:
    """Labels (n,), the sum of squared distances, iterations, and whether the labels converged."""

    labels: np.ndarray
    inertia: float
    rounds: int
    settled: bool


def refuse_more_clusters_than_points(clusters: int, n: int) -> None:
    """Raise a ValueError where n points cannot form so many clusters."""
    if clusters > n:
        raise ValueError(
            f"n_clusters must be at most the number of points, got {clusters} for n_samples = {n}"
        )


def clustered(
    gram: Gram, number: int, starts: int, max_iter: int, rng: np.random.Generator
) -> Clustered:
    """Best of several starts, as many at a time as the memory budget allows."""
    n = gram.shape[0]
    diagonal = to_numpy(gram.diagonal()).astype(np.float64)
    noise = _rounding(diagonal, diagonal.max(), eps(gram.like))
    times = repeated_product(gram)
    together = max(settings().memory // 8 // (8 * n * number), 1)
    results = [
        result
        for span in spans(starts, together)
        for result in _descended(
            gram, times, diagonal, noise, number, span.stop - span.start, max_iter, rng
        )
    ]
    least = min(result.inertia for result in results)
    return next(result for result in results if result.inertia <= least + noise.sum())


def nearest_centre(distances: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """First centre whose squared distance (..., n, C) is smallest up to noise (n,): (..., n)."""
    least = distances.min(axis=-1) + noise
    return np.argmax(distances <= least[..., None], axis=-1)


def by_first_point(labels: np.ndarray, number: int) -> np.ndarray:
    """Labels (R, n) of the same clusters, numbered in the order of their first points."""
    return np.stack([np.argsort(order_of_first_points(row, number))[row] for row in labels])


def order_of_first_points(labels: np.ndarray, number: int) -> np.ndarray:
    """The clusters (C,) of labels (n,) in the order of their first points, those without any last."""
    n = len(labels)
    first = np.full(number, n)
    first[labels[::-1]] = np.arange(n)[::-1]  # the last to be written is the first point
    return np.argsort(first, kind="stable")


def _rounding(diagonal: np.ndarray, most: float, precision: float) -> np.ndarray:
    """Bound on the rounding error of squared distances, given k(x, x): (n,)."""
    return _TIE_TOLERANCE * precision * (np.abs(diagonal) + abs(float(most)))


def indicators(labels: np.ndarray, number: int) -> np.ndarray:
    """Weights of the means of clusters, (n, R C) for labels (R, n); 0 for empty ones."""
    starts, n = labels.shape
    weights = np.zeros((n, starts * number), dtype=np.float64)
    columns = labels + number * np.arange(starts)[:, None]
    weights[np.arange(n)[None, :], columns] = 1.0
    return weights / np.maximum(weights.sum(axis=0), 1.0)


def _descended(
    gram: Gram,
    times: Product,
    diagonal: np.ndarray,
    noise: np.ndarray,
    number: int,
    starts: int,
    max_iter: int,
    rng: np.random.Generator,
) -> list[Clustered]:
    """Lloyd iterations of several starts at once; the result of each."""
    labels = np.stack(
        [_seeded(gram, diagonal, noise, number, rng) for _ in range(starts)]
    )  # (R, n)
    labels = by_first_point(labels, number)
    inertia = np.full(starts, np.inf, dtype=np.float64)
    rounds = np.zeros(starts, dtype=np.int64)
    moving = np.arange(starts)
    for _ in range(max_iter):
        distances = _distances(times, diagonal, labels[moving], number, gram)
        nearest = _without_empty(distances, noise)
        rounds[moving] += 1
        picked = np.take_along_axis(distances, nearest[:, :, None], axis=2)[:, :, 0]
        inertia[moving] = np.maximum(picked, 0.0).sum(axis=1)
        nearest = by_first_point(nearest, number)
        still = (nearest == labels[moving]).all(axis=1)
        labels[moving] = nearest
        moving = moving[~still]
        if len(moving) == 0:
            break
    return [
        Clustered(labels[i], float(inertia[i]), int(rounds[i]), i not in moving)
        for i in range(starts)
    ]


def _distances(
    times: Product, diagonal: np.ndarray, labels: np.ndarray, number: int, gram: Gram
) -> np.ndarray:
    """|phi(x_i) - m_c|^2 for every start: (R, n, C)."""
    means = indicators(labels, number)
    near = to_numpy(times(array_like(means, gram.like, None)))
    norms = np.einsum("ic,ic->c", means, near)
    distances = diagonal[:, None] - 2 * near + norms
    distances[:, means.sum(axis=0) == 0] = np.inf  # the mean of nothing
    return np.moveaxis(distances.reshape(len(diagonal), len(labels), number), 1, 0)


def _without_empty(distances: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Nearest centres (R, n); an empty cluster gets the point farthest from its centre."""
    nearest = nearest_centre(distances, noise)
    number = distances.shape[2]
    for labels, d in zip(nearest, distances, strict=True):
        sizes = np.bincount(labels, minlength=number)
        far = d[np.arange(len(labels)), labels]
        for c in np.flatnonzero(sizes == 0):
            free = np.where(sizes[labels] > 1, far, -np.inf)
            i = int(np.argmax(free >= free.max() - noise.max()))  # the first of the farthest
            sizes[labels[i]] -= 1
            labels[i], sizes[c], far[i] = c, 1, 0.0
    return nearest


def _seeded(
    gram: Gram, diagonal: np.ndarray, noise: np.ndarray, number: int, rng: np.random.Generator
) -> np.ndarray:
    """Labels (n,) of the nearest of `number` points, drawn by k-means++."""
    n = len(diagonal)
    labels = np.zeros(n, dtype=np.int64)
    nearest = np.full(n, np.inf, dtype=np.float64)
    for c in range(number):
        total = nearest.sum()
        share = nearest / total if c > 0 and total > 0 else None
        p = int(rng.choice(n, p=share))
        column = to_numpy(gram.block(slice(0, n), slice(p, p + 1)))[:, 0]
        distance = diagonal + diagonal[p] - 2 * column
        distance[distance <= noise] = 0.0  # equal points are equally far
        distance[p] = 0.0
        closer = distance < nearest - noise
        closer[p] = True
        labels[closer], nearest[closer] = c, distance[closer]
    return labels
