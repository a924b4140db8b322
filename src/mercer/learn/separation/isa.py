"""Independent subspace analysis: multidimensional sources of a linear mixture."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer import linalg, validate
from mercer.errors import NotConverged
from mercer.features.random_state import state
from mercer.learn.hsic_factors import HSICFactors, line_gram
from mercer.learn.kernel_learner import VersionedEstimator, checked
from mercer.learn.separation.amari import amari_index, subspace_sizes
from mercer.learn.separation.grouping import grouped

_ICA_ROUNDS = 1000  # of FastICA; sources of several dimensions converge slowly or not at all
_CHECK_ROUNDS = 20  # of a second run, which shows whether the subspaces still change
_MAX_SUBSPACE_CHANGE = 0.01  # Amari index of two runs below which their subspaces count as equal
_FACTOR_TOLERANCE = 1e-6  # relative to the trace of a Gram matrix: far below the noise of HSIC


class ISA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, VersionedEstimator):
    """Independent subspace analysis: sources s^1, ..., s^M of a mixture x = A (s^1, ..., s^M) + b.

    Sources are independent of each other and may have several dimensions, which may depend on each other:
    s^m is identified up to an invertible linear map. There are three steps: x is whitened; ICA finds
    independent components, which suffices for multidimensional sources (the separation theorem, proven
    for some families of sources and observed for others: Szabo, Poczos and Lorincz 2012); and components
    are grouped so that the dependence between groups, the sum of the unbiased HSIC of all pairs, is
    smallest.

    At most one source may be Gaussian. Grouping compares pairs of components: a source whose coordinates
    are pairwise independent, but not jointly, is not recovered.

    Parameters
    ----------
    sizes : int or sequence of int
        Dimensions of the sources; one number for all of them, the last smaller if it does not divide.
        Where they add up to less than the columns of X, the leading principal components are used.
    ica : estimator or None
        Estimator of the independent components of whitened data, with ``components_`` (k, k) after
        ``fit``. If it has a parameter ``whiten``, that is set to False. None: scikit-learn's ``FastICA``
        with at most 1000 iterations.
    measure : callable (x, y) -> number, or None
        Dependence of two components (n,), by which they are grouped, such as ``mercer.info.mutual_information``.
        None: the unbiased HSIC.
    random_state : int, Generator, RandomState or None
        Seed of ICA and of the grouping.

    Attributes
    ----------
    components_ : array (k, n_features)
        Unmixing matrix: ``(x - mean_) @ components_.T`` are the sources with variance 1, the columns of
        one subspace side by side.
    mixing_ : array (n_features, k)
        Its pseudo-inverse.
    mean_ : array (n_features,)
    subspaces_ : tuple of arrays
        Columns of ``transform(X)`` of each source.
    dependence_ : array (k, k)
        Unbiased HSIC of all pairs of components, RBF with the median distance: large inside subspaces,
        near 0 elsewhere if the separation succeeded. With a `measure`, its values, and 0 on the diagonal.
    objective_ : float
        Sum of `dependence_` over the pairs of components of different subspaces, which the grouping minimises.
        The joint dependence of the sources, J(W) = I(y^1, ..., y^M), is a measure of several variables at the columns
        of ``transform(X)`` in `subspaces_`, such as `mercer.rkhs.dhsic`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Warns
    -----
    NotConverged
        If ICA has not converged. Rotations inside subspaces are harmless and do not cause a warning.

    References
    ----------
    J.-F. Cardoso (1998). Multidimensional independent component analysis. ICASSP.
    Z. Szabo, B. Poczos, A. Lorincz (2012). Separation theorem for independent subspace analysis and
    its consequences. Pattern Recognition 45, 1782-1791.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learn import ISA, amari_index
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, 2000)
    >>> ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    >>> t = rng.uniform(-1, 1, 2000)
    >>> curve = np.stack([t, t**2], axis=1)
    >>> mixing = rng.normal(size=(4, 4))
    >>> x = np.hstack([ring, curve]) @ mixing.T
    >>> isa = ISA(2, random_state=0).fit(x)
    >>> amari_index(isa.components_ @ mixing, 2) < 0.05
    True
    """

    def __init__(
        self,
        sizes: Sequence[int] | int = 2,
        *,
        ica: Any = None,
        measure: Callable[[Any, Any], float] | None = None,
        random_state: Any = None,
    ) -> None:
        self.sizes = sizes
        self.ica = ica
        self.measure = measure
        self.random_state = random_state

    def fit(self, X: Any, y: None = None) -> Self:
        """Find the sources of X (n, n_features); y is ignored."""
        x = checked(self, X, ensure_min_samples=4)
        self.mean_ = x.mean(axis=0)
        white, to_white, sizes = self._whitened(x - self.mean_)
        random = state(self.random_state)
        rotation, settled = self._unmixing(white, random)
        sources = white @ rotation.T
        dependence = _dependence(sources, self.measure)
        groups = grouped(dependence, sizes, rng=np.random.default_rng(random.randint(2**31 - 1)))
        order = np.concatenate(groups)
        if not settled:
            _warn_if_moving(white, rotation, order, sizes, random)
        self.components_ = rotation[order] @ to_white
        self.mixing_ = linalg.pinv(self.components_)
        self.dependence_ = dependence[np.ix_(order, order)]
        self.subspaces_ = tuple(np.split(np.arange(len(order)), np.cumsum(sizes)[:-1]))
        self.objective_ = _between(self.dependence_, self.subspaces_)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Sources (n, k), one subspace after the other."""
        check_is_fitted(self)
        x = checked(self, X, reset=False)
        return (x - self.mean_) @ self.components_.T

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Mixture (n, n_features) of sources X (n, k); set columns to 0 to remove a source."""
        check_is_fitted(self)
        sources = np.asarray(check_array(X), dtype=np.float64)
        k = len(self.components_)
        if sources.shape[1] != k:
            raise ValueError(
                f"X must have {k} columns, one for each component, got {sources.shape[1]}"
            )
        return sources @ self.mixing_.T + self.mean_

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _whitened(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
        """Principal components of variance 1, the matrix that makes them, and sizes that fit them."""
        u, scales, directions = linalg.svd(x)
        rank = int(np.sum(scales > scales[0] * max(x.shape) * np.finfo(np.float64).eps))
        if rank == 0:
            raise ValueError("X must vary, but all its rows are equal")
        sizes = subspace_sizes(self.sizes, rank)
        k = sum(sizes)
        if k > rank:
            raise ValueError(
                f"sizes add up to {k}, but X has only {rank} independent directions: "
                "use fewer or smaller subspaces"
            )
        root = np.sqrt(len(x))
        return u[:, :k] * root, directions[:k] * (root / scales[:k, None]), sizes

    def _unmixing(self, white: np.ndarray, random: Any) -> tuple[np.ndarray, bool]:
        """Directions of independent components as rows (k, k), and whether they converged."""
        if self.ica is None:
            return _fast_ica(white, _ICA_ROUNDS, random)
        k = white.shape[1]
        given: Any = self.ica
        ica: Any = clone(given)
        if "whiten" in ica.get_params():
            ica.set_params(whiten=False)  # of white data, FastICA's own whitening can lose columns
        directions = np.asarray(ica.fit(white).components_)
        if directions.shape != (k, k):
            raise ValueError(f"ica must find {k} components of {k} columns, got {directions.shape}")
        return directions, True


def _dependence(sources: np.ndarray, measure: Callable[[Any, Any], float] | None) -> np.ndarray:
    """Dependence of all pairs of columns: (k, k)."""
    if measure is None:
        return HSICFactors.of(map(line_gram, sources.T), tolerance=_FACTOR_TOLERANCE).hsic()
    if not callable(measure):
        raise TypeError(
            "measure must be a function of two variables, such as mercer.info.mutual_information, or None, "
            f"got {measure!r}"
        )
    values = np.zeros((sources.shape[1], sources.shape[1]), dtype=np.float64)
    for i, j in combinations(range(len(values)), 2):
        value = measure(sources[:, i], sources[:, j])
        validate.number("the value of measure", value)
        values[i, j] = values[j, i] = float(value)
    return values


def _between(dependence: np.ndarray, subspaces: Sequence[np.ndarray]) -> float:
    """Sum over the pairs of components of different subspaces."""
    inside = sum(float(np.sum(dependence[np.ix_(s, s)])) for s in subspaces)
    return (float(np.sum(dependence)) - inside) / 2


def _fast_ica(
    white: np.ndarray, rounds: int, random: Any, start: np.ndarray | None = None
) -> tuple[np.ndarray, bool]:
    """Directions of independent components, and whether they converged."""
    options: dict[str, Any] = {"whiten": False, "max_iter": rounds, "w_init": start}
    ica = FastICA(random_state=random, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        ica.fit(white)
    return ica.components_, not any(issubclass(w.category, ConvergenceWarning) for w in caught)


def _warn_if_moving(
    white: np.ndarray, rotation: np.ndarray, order: np.ndarray, sizes: Sequence[int], random: Any
) -> None:
    """Warn unless further iterations of ICA only rotate directions inside subspaces."""
    again, _ = _fast_ica(white, _CHECK_ROUNDS, random, rotation)
    distance = amari_index((again @ rotation.T)[np.ix_(order, order)], sizes)
    if distance > _MAX_SUBSPACE_CHANGE:
        warnings.warn(
            f"the subspaces still changed after {_ICA_ROUNDS} iterations of ICA (by an Amari index of "
            f"{distance:.2f}): use more rows, or ica=FastICA(...) with more iterations",
            NotConverged,
            stacklevel=3,
        )
