"""Kernels of subsequences and of substrings of any length."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array
from mercer.kernels.base import Points
from mercer.kernels.feature_counts import FeatureTable, feature_table
from mercer.kernels.objects import ObjectKernel
from mercer.kernels.strings.packed_text import (
    Occurrences,
    PackedText,
    StringFeatures,
    spelled_kmers,
    strings,
)
from mercer.kernels.strings.string_loops import (
    Strings,
    all_subsequence_sums,
    subsequence_sums,
    substring_sums,
)
from mercer.kernels.strings.subsequence_features import subsequence_features

_MAX_OCCURRENCES = 2**22  # of substrings that are listed; they take 24 bytes each
_MAX_SUBSEQUENCES = 2**13  # different ones that are listed for each string


class _Substructures(StringFeatures):
    """A kernel with explicit features where they are few; else pair by pair, by dynamic programming."""

    expensive = True

    @abstractmethod
    def sums(self, x: Strings, y: Strings, /) -> np.ndarray:
        """k(x_i, y_j) for all pairs, from the characters of the strings."""

    @abstractmethod
    def table(self, items: list[str], /) -> FeatureTable | None:
        """The explicit features; None where they are too many."""

    def view(self, items: list[str], /) -> Any:
        table = self.table(items)
        return characters(items) if table is None else table

    def pairwise(self, x: Any, y: Any, /) -> Array:
        left, right = self.viewed(x), self.viewed(y)
        if isinstance(left, FeatureTable) and isinstance(right, FeatureTable):
            return left.products(left if y is x else right)
        s = characters(x.items)
        return self.sums(s, s if y is x else characters(y.items))

    def paired(self, x: Any, y: Any, /) -> Array:
        left, right = self.viewed(x), self.viewed(y)
        if isinstance(left, FeatureTable) and isinstance(right, FeatureTable):
            return left.paired_products(right)
        return _matching(self.sums, characters(x.items), characters(y.items))

    def diag(self, x: Any, /) -> Array:
        return self.paired(x, x)


@dataclass(frozen=True)
class Subsequence(_Substructures):
    """Common subsequences of a length, with gaps that cost: sum over u of phi_u(x) phi_u(y).

    phi_u(x) is the sum of decay^l(i) over all places i of u in x as a subsequence, where
    l(i) = last - first + 1 is the span of the places. Strings shorter than `length` have k = 0.

    Where the alphabet is small, all subsequences are listed, and matrices are products of their weights;
    otherwise each pair takes O(length |x| |y|).

    References
    ----------
    H. Lodhi, C. Saunders, J. Shawe-Taylor, N. Cristianini, C. Watkins (2002). Text classification using
    string kernels. JMLR 2, 419-444.

    Examples
    --------
    >>> Subsequence(2, 0.5)(["cat", "car"])  # 2 decay^4 + decay^6, and decay^4
    array([[0.140625, 0.0625  ],
           [0.0625  , 0.140625]])
    """

    length: int
    decay: float

    def __post_init__(self) -> None:
        validate.whole("length", self.length)
        decay_in_unit_interval(self.decay)

    def sums(self, x: Strings, y: Strings, /) -> np.ndarray:
        return subsequence_sums(x, y, self.decay, self.length)

    def table(self, items: list[str], /) -> FeatureTable | None:
        text = PackedText.of(items)
        letters = len(text.alphabet[0])
        if letters**self.length > _MAX_SUBSEQUENCES:
            return None
        return subsequence_features(text, self.decay, self.length)

    def describe(self, items: Any, codes: np.ndarray, /) -> list[str]:
        letters = PackedText.of(items).alphabet[0]
        grid = np.stack(np.meshgrid(*[letters] * self.length, indexing="ij"), axis=-1)
        words = grid.reshape(-1, self.length)
        text = PackedText(words.ravel(), np.array([0, words.size]))
        starts = np.arange(len(words), dtype=np.int64) * self.length
        places = starts[:, None] + np.arange(self.length)
        found = Occurrences(starts, text.codes(starts, self.length), places)
        return ["".join(map(chr, row)) for row in text.spelled(found, codes)]


@dataclass(frozen=True)
class Substrings(_Substructures):
    """Common substrings of every length: sum over u of decay^|u| count_u(x) count_u(y), |u| >= 1.

    Parameters
    ----------
    decay : float
        Weight of a character, above 0 and at most 1.
    longest : int or None
        Longest substring that counts; None: all count.

    References
    ----------
    S. V. N. Vishwanathan, A. J. Smola (2003). Fast kernels for string and tree matching. NeurIPS 15.

    Examples
    --------
    >>> Substrings(0.5)(["ab", "abc"])
    array([[1.25 , 1.25 ],
           [1.25 , 2.125]])
    """

    decay: float
    longest: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        decay_in_unit_interval(self.decay)
        if self.longest is not None:
            validate.whole("longest", self.longest)

    def sums(self, x: Strings, y: Strings, /) -> np.ndarray:
        return substring_sums(x, y, self.decay, self._longest(x))

    def _longest(self, texts: Any) -> int:
        longest = max((len(t) for t in texts), default=0)
        return longest if self.longest is None else min(self.longest, longest)

    def table(self, items: list[str], /) -> FeatureTable | None:
        text, longest = PackedText.of(items), self._longest(items)
        if int(np.sum(np.minimum(text.lengths, longest) * text.lengths)) > _MAX_OCCURRENCES:
            return None
        owners, codes, values = [], [], []
        for length in range(1, longest + 1):
            starts, rows = text.windows(length)
            owners.append(rows)
            codes.append(text.codes(starts, length))
            values.append(np.full(len(rows), self.decay ** (length / 2), dtype=np.float64))
        if not owners:
            empty = np.empty(0, dtype=np.int64)
            return feature_table(empty, empty.astype(np.uint64), None, len(items))
        rows, names, weights = (np.concatenate(part) for part in (owners, codes, values))
        return feature_table(rows, names, weights, len(items))

    def describe(self, items: Any, codes: np.ndarray, /) -> list[str]:
        return spelled_kmers(items, range(1, self._longest(items) + 1), codes)


@dataclass(frozen=True)
class AllSubsequences(ObjectKernel):
    """Number of pairs of equal subsequences of two strings, of all lengths, the empty one among them.

    sum over u of c_u(x) c_u(y), where c_u(x) is the number of places of u in x as a subsequence, and 1 for
    the empty u. Values grow like 4^length, and overflow for strings longer than about 500 characters.

    References
    ----------
    J. Shawe-Taylor, N. Cristianini (2004). Kernel Methods for Pattern Analysis. Section 11.3.

    Examples
    --------
    >>> AllSubsequences()(["ab", "aab", ""])
    array([[ 4.,  6.,  1.],
           [ 6., 12.,  1.],
           [ 1.,  1.,  1.]])
    """

    domain = "strings"
    expensive = True

    def items(self, x: Any, name: str, /) -> list[str]:
        return strings(x, name)

    def view(self, items: list[str], /) -> list[np.ndarray]:
        return characters(items)

    def pairwise(self, x: Points, y: Points, /) -> Array:
        left = self.viewed(x)
        return all_subsequence_sums(left, left if y is x else self.viewed(y))

    def paired(self, x: Points, y: Points, /) -> Array:
        return _matching(all_subsequence_sums, self.viewed(x), self.viewed(y))


def characters(items: list[str]) -> list[np.ndarray]:
    """Character codes of each string."""
    text = PackedText.of(items)
    return np.split(text.characters, text.edges[1:-1])


def decay_in_unit_interval(decay: Any, name: str = "decay") -> None:
    """Require a number above 0 and at most 1."""
    validate.positive(name, decay)
    if decay > 1:
        raise ValueError(f"{name} must be above 0 and at most 1, got {decay!r}")


def _matching(sums: Any, x: Strings, y: Strings) -> np.ndarray:
    """The values of matching pairs."""
    return np.array([sums([s], [t])[0, 0] for s, t in zip(x, y, strict=True)], dtype=np.float64)
