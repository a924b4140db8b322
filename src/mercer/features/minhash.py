"""Minwise hashing: features of sets whose dot products estimate the Jaccard index."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from mercer.backend import Array
from mercer.config import settings
from mercer.errors import NoRule
from mercer.features.feature_map import FeatureMap, Map
from mercer.kernels.base import Kernel, Points
from mercer.kernels.feature_counts import label_codes, mixed
from mercer.kernels.sets.common_elements import Jaccard, SetFeatures, WeightedJaccard

_EMPTY = np.uint64(0x243F6A8885A308D3)  # code of what an empty set draws: the first digits of pi
_NUMBERS_AT_ONCE = 2**22  # hash values held at once: 32 MiB
_BYTES_A_NUMBER = 64  # hashes, ranks, minima and matches of one element in one column


@dataclass(frozen=True, eq=False)
class MinHashMap(Map):
    """Random signs of the elements that sets draw: in column j the element with the least hash value.

    Two sets draw the same element of column j with the probability of their Jaccard index, and different
    elements have independent signs.
    """

    kernel: SetFeatures
    salts: np.ndarray  # (D,) uint64

    @property
    def width(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Number of features."""
        return len(self.salts)

    def __call__(self, x: Any, /) -> Array:
        drawn = self.drawn(x.items)
        signs = 1.0 - 2.0 * (mixed(drawn ^ mixed(self.salts)) >> np.uint64(63)).astype(np.float64)
        return signs / self.width**0.5

    def drawn(self, sets: list[frozenset[Any]]) -> np.ndarray:
        """Codes of the elements that the sets draw: (n, D) uint64."""
        out = np.full((len(sets), self.width), _EMPTY, dtype=np.uint64)
        sizes = np.array([len(s) for s in sets], dtype=np.int64)
        full = np.flatnonzero(sizes)
        if not len(full):
            return out
        elements = list(chain.from_iterable(sets))
        codes, weights = label_codes(elements), self.kernel.element_weights(elements)
        starts = np.concatenate([[0], np.cumsum(sizes[full])[:-1]])
        numbers = min(_NUMBERS_AT_ONCE, settings().memory // _BYTES_A_NUMBER)
        many = max(numbers // len(codes), 1)
        for first in range(0, self.width, many):
            salts = self.salts[first : first + many]
            ranks = _exponentials(codes, salts, weights)  # (elements, many)
            least = np.minimum.reduceat(ranks, starts, axis=0)
            where = ranks == np.repeat(least, sizes[full], axis=0)
            hits = np.where(where, codes[:, None], np.uint64(0))
            out[full, first : first + many] = np.maximum.reduceat(hits, starts, axis=0)
        return out


def _exponentials(codes: np.ndarray, salts: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Exponential variables, by hashing, with the weights of the elements as rates: (elements, columns)."""
    uniforms = (mixed(codes[:, None] ^ salts) >> np.uint64(11)).astype(np.float64) / 2.0**53
    ranks = -np.log1p(-uniforms)
    return ranks if weights is None else ranks / weights[:, None]


class MinHash(FeatureMap):
    """Features of sets by minwise hashing: E <z(A), z(B)> is the Jaccard index of A and B.

    Each feature is a random sign, by hashing, of the element of the set with the least random rank (Broder 1997).
    Dot products have no bias and the variance (1 - J^2) / D for the Jaccard index J. Weighted elements have
    exponential ranks, whose rates are the weights. Sets of any size have D features, which learners for many points
    take as they are.

    Parameters
    ----------
    kernel : Jaccard, WeightedJaccard or None
        None: ``Jaccard()``.
    n_components : int
        Number of features D.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    map_ : MinHashMap
    kernel_ : Kernel

    References
    ----------
    A. Z. Broder (1997). On the resemblance and containment of documents. Compression and Complexity of Sequences.
    P. Li, A. C. König (2011). Theory and applications of b-bit minwise hashing. CACM 54, 101-109.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Jaccard
    >>> sets = [{1, 2, 3}, {2, 3, 4}, {5}, set()]
    >>> z = MinHash(n_components=4000, random_state=0).fit_transform(sets)
    >>> bool(np.abs(z @ z.T - Jaccard()(sets)).max() < 0.1)
    True
    """

    def __init__(
        self,
        kernel: Jaccard | WeightedJaccard | None = None,
        n_components: int = 256,
        *,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.random_state = random_state

    def _needs_points(self) -> str | None:
        return "it hashes the elements of sets"

    def _takes_objects(self, X: Any) -> bool:
        return True

    def _default_kernel(self, x: Any) -> Kernel:
        return Jaccard()

    def _map(self, kernel: Kernel, points: Points, rng: np.random.Generator) -> MinHashMap:
        if not isinstance(kernel, Jaccard | WeightedJaccard):
            raise NoRule(
                f"no minwise hashing of {kernel!r}: use Jaccard() or WeightedJaccard(...), or Nystrom"
            )
        salts = rng.integers(0, 2**64, self.n_components, dtype=np.uint64, endpoint=False)
        return MinHashMap(kernel, salts)
