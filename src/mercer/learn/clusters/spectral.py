"""Spectral clustering: normalised cuts of the graph of kernel values."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.cluster import KMeans

from mercer import validate
from mercer.backend import array_like, astype, count, to_numpy
from mercer.features.random_state import state
from mercer.gram import Gram, LazyMatrix, Reweighted, top_eigenpairs
from mercer.gram.eigen import held_if_small
from mercer.kernels.base import Kernel, Points
from mercer.kernels.prepare import read
from mercer.kernels.radial import RBF
from mercer.learn.bandwidths import neighbour_bandwidth, numbers
from mercer.learn.clusters.kmeans import order_of_first_points, refuse_more_clusters_than_points
from mercer.learn.kernel_learner import KernelEstimator
from mercer.linalg import one_blas_thread
from mercer.rkhs.function import Function

_EPS = float(np.finfo(np.float64).eps)


class SpectralClustering(ClusterMixin, KernelEstimator):
    """Spectral clustering: normalised cut of the graph with weights k(x_i, x_j).

    With degrees d_i = sum_j k(x_i, x_j), the leading eigenvectors u of D^-1/2 K D^-1/2 relax the
    normalised cut; points are embedded as the rows of D^-1/2 u, the slow directions of the random walk
    on the graph, and k-means finds the clusters (Shi and Malik 2000; von Luxburg 2007). Unlike
    k-means, clusters may have any shape; the kernel must be local, with values near zero for points of
    different clusters.

    New points are embedded by e(x) = sum_j k(x, x_j) e_j / (lambda d(x)) (Bengio et al. 2004), the
    weighted mean of their neighbours.

    Parameters
    ----------
    n_clusters : int
    kernel : Kernel or None
        With non-negative values, or at least positive degrees. None: RBF, whose bandwidth is the
        median distance of a point to its 7th neighbour, so that it is local; for data frames with
        categories `default_kernel`.
    n_init : int
        Number of starts of k-means on the embedded points.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    labels_ : array (n,)
        Clusters in the order of their first points: the first point is in cluster 0.
    embedding_ : array (n, n_clusters)
    eigenvalues_ : array (n_clusters,)
        Eigenvalues of D^-1/2 K D^-1/2, decreasing from 1; the number near 1 is that of connected components.
    function_ : Function
        n_clusters + 1 functions: the numerators of e(x), and d(x).
    kernel_ : Kernel
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Eigenvectors of equal eigenvalues, as for a graph that is not connected, are an arbitrary basis of
    their space that depends on rounding: clusters may then depend on the processor.

    References
    ----------
    J. Shi, J. Malik (2000). Normalized cuts and image segmentation. IEEE PAMI 22, 888-905.
    U. von Luxburg (2007). A tutorial on spectral clustering. Statistics and Computing 17, 395-416.
    Y. Bengio et al. (2004). Out-of-sample extensions for LLE, Isomap, MDS, eigenmaps, and spectral
    clustering. NIPS 16.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from mercer.learn import SpectralClustering
    >>> x, moon = make_moons(300, noise=0.05, random_state=0)
    >>> labels = SpectralClustering(2, random_state=0).fit_predict(x)
    >>> bool(np.all(labels == moon) or np.all(labels != moon))
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Kernel | None = None,
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X: Any, y: None = None) -> Self:
        """Find the clusters of points X; y is ignored."""
        for name in ("n_clusters", "n_init"):
            validate.whole(name, getattr(self, name))
        kernel, points = self._local(X)
        gram = held_if_small(Gram.of_checked(kernel, points))
        n = gram.shape[0]
        refuse_more_clusters_than_points(self.n_clusters, n)
        degrees = _degrees(gram)
        roots = 1 / np.sqrt(degrees)
        weights = array_like(roots, gram.like, gram.like.dtype)
        values, vectors = top_eigenpairs(Reweighted(gram, weights), self.n_clusters)
        self.eigenvalues_ = to_numpy(values).astype(np.float64)
        self.embedding_ = to_numpy(vectors) * (roots * np.sqrt(degrees.sum()))[:, None]
        scaled = self.embedding_ / np.maximum(self.eigenvalues_, n * _EPS)
        columns = np.concatenate([scaled, np.ones((n, 1), dtype=np.float64)], axis=1)
        self.function_ = Function(
            self.kernel_,
            points,
            astype(array_like(columns, gram.like), gram.like.dtype),
            self._columns,
        )
        seed = state(self.random_state).randint(2**31 - 1)
        n_init: Any = self.n_init  # scikit-learn annotates it as text only
        self._means: Any = KMeans(self.n_clusters, n_init=n_init, random_state=seed)
        with one_blas_thread():  # as scikit-learn does, which in several threads cannot undo it
            labels = self._means.fit_predict(self.embedding_)
        order = order_of_first_points(labels, self.n_clusters)
        self.labels_ = np.argsort(order)[labels]
        self._means.cluster_centers_ = self._means.cluster_centers_[order]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Cluster of every point, (n,); -1 for a point that is similar to no training point."""
        points = self._points(X)
        learnt = self.function_
        values = to_numpy(Gram(self._bound, points, learnt.points) @ learnt.weights)
        embedded, known = embedded_rows(values)
        with one_blas_thread():
            labels = self._means.predict(np.ascontiguousarray(embedded, dtype=np.float64))
        return np.where(known, labels, -1)

    def _needs_points(self) -> str | None:
        return "its kernel is chosen by the neighbours of points" if self.kernel is None else None

    def _local(self, X: Any) -> tuple[Kernel, Points]:
        """The kernel and the points; by default a local kernel."""
        x = self._numbers(X, reset=True)
        points = None if self.kernel is not None else numbers(x)
        if points is None or count(points) < 2:
            return self._learn_from(x)
        self.kernel_ = RBF(neighbour_bandwidth(points))
        points, self._columns = read(self.kernel_, x, None, "X")
        return self.kernel_, points


def embedded_rows(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """e(x) from its numerators and d(x), the columns of values, and whether x is similar to any training point."""
    degrees = values[:, -1]
    known = degrees > 0
    return values[:, :-1] / np.where(known, degrees, 1.0)[:, None], known


def _degrees(gram: LazyMatrix) -> np.ndarray:
    """Row sums, all of them positive."""
    degrees = to_numpy(gram.row_sums())
    bad = degrees <= 0
    if bad.any():
        raise ValueError(
            f"the kernel values of every point must add up to a positive number, but those of "
            f"{int(bad.sum())} points (first: point {int(np.argmax(bad))}) do not: use a kernel with "
            "non-negative values, such as RBF"
        )
    return degrees
