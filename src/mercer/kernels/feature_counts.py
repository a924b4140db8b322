"""Kernels with explicit features on objects: k(x, y) = sum_f c_f(x) c_f(y) over coded features f."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import Array
from mercer.kernels.base import Points
from mercer.kernels.objects import ObjectKernel
from mercer.kernels.take import Rows

# Dense products of BLAS take about 0.1 ns for each number multiplied, sparse ones about 5 ns.
_DENSE_SPEED = 50
_DENSE_CELLS = (
    16  # cells of a table for each occurrence, up to which counting in all cells beats sorting
)
_MAX_DENSE_NUMBERS = 2**24  # of a dense block of features: 128 MiB


@dataclass(frozen=True, eq=False)
class FeatureTable(Rows):
    """Counts of features of objects: a sparse matrix (n, V) whose columns have 64-bit codes.

    A code depends on its feature only, so that objects read at any time, in any order and by any process
    have the same codes. Tables that are compared share one vocabulary, the sorted codes of the columns.
    """

    counts: Any  # scipy.sparse.csr_array (n, V) of float64
    vocabulary: np.ndarray  # (V,) uint64, sorted

    def __len__(self) -> int:
        return int(self.counts.shape[0])

    def __getitem__(self, rows: slice, /) -> FeatureTable:
        return FeatureTable(self.counts[rows], self.vocabulary)

    def taken(self, rows: np.ndarray, /) -> FeatureTable:
        return FeatureTable(self.counts[rows], self.vocabulary)

    def joined(self, others: FeatureTable, /) -> FeatureTable:
        from scipy import sparse

        a, b = self.aligned(others)
        return FeatureTable(sparse.vstack([a.counts, b.counts], format="csr"), a.vocabulary)

    def aligned(self, others: FeatureTable, /) -> tuple[FeatureTable, FeatureTable]:
        """Both tables with the same columns."""
        if self.vocabulary is others.vocabulary:
            return self, others
        vocabulary = np.union1d(self.vocabulary, others.vocabulary)
        return self._with(vocabulary), others._with(vocabulary)

    def _with(self, vocabulary: np.ndarray) -> FeatureTable:
        """The table with more columns."""
        from scipy import sparse

        places = np.searchsorted(vocabulary, self.vocabulary).astype(np.int32)
        old = self.counts
        new = sparse.csr_array(
            (old.data, places[old.indices], old.indptr), shape=(len(self), len(vocabulary))
        )
        return FeatureTable(new, vocabulary)

    def widened(self) -> FeatureTable:
        return self

    def products(self, others: FeatureTable) -> np.ndarray:
        """<c(x_i), c(y_j)> for all pairs: (n, m)."""
        a, b = (t.counts for t in self.aligned(others))
        n, m, width = len(self), len(others), a.shape[1]
        if max(n, m) * width <= _MAX_DENSE_NUMBERS:
            sparse_work = np.bincount(a.indices, minlength=width) @ np.bincount(
                b.indices, minlength=width
            ).astype(np.float64)
            if n * m * width <= _DENSE_SPEED * sparse_work:
                left = a.toarray()
                return left @ (left if self is others else b.toarray()).T
        return (a @ b.T).toarray()

    def paired_products(self, others: FeatureTable) -> np.ndarray:
        """<c(x_i), c(y_i)>: (n,)."""
        a, b = (t.counts for t in self.aligned(others))
        return np.asarray(a.multiply(b).sum(axis=1), dtype=np.float64).ravel()

    def squared_norms(self) -> np.ndarray:
        """|c(x_i)|^2: (n,)."""
        rows = np.repeat(np.arange(len(self)), np.diff(self.counts.indptr))
        return np.bincount(rows, weights=self.counts.data**2, minlength=len(self))


def feature_table(
    rows: np.ndarray, codes: np.ndarray, values: np.ndarray | None, n: int
) -> FeatureTable:
    """Table of n objects from occurrences: object, code and value of each; values (None: 1) add up."""
    from scipy import sparse

    vocabulary, columns = np.unique(codes, return_inverse=True)
    width = len(vocabulary)
    cells = rows.astype(np.int64) * width + columns  # of the table, row after row
    if n * width <= _DENSE_CELLS * len(cells):
        sums = np.bincount(cells, values, n * width)
        used = np.flatnonzero(sums)
        data = sums[used]
    elif values is None:
        used, data = np.unique(cells, return_counts=True)
    else:
        used, places = np.unique(cells, return_inverse=True)
        data = np.bincount(places, values, len(used))
    ends = np.searchsorted(used, np.arange(n + 1) * width)
    columns = (used - np.repeat(np.arange(n), np.diff(ends)) * width).astype(np.int32)
    counts = sparse.csr_array((data.astype(np.float64), columns, ends), shape=(n, width))
    return FeatureTable(counts, vocabulary)


class FeatureCounts(ObjectKernel):
    """A kernel <c(x), c(y)> of explicit sparse features of objects, which are told apart by 64-bit codes.

    Gram matrices are sparse products. Two of a million different features have the same code with a
    probability of 3e-8.
    """

    @abstractmethod
    def view(self, items: Any, /) -> FeatureTable:
        """The features of each object."""

    @abstractmethod
    def describe(self, items: Any, codes: np.ndarray, /) -> list[str]:
        """The features with these codes in words, found among the objects that have them."""

    def features(self, x: Any, /) -> FeatureTable:
        """The explicit features of objects: counts (n, V), a sparse matrix, and the code of each column."""
        return self.viewed(self.accept(x))

    def pairwise(self, x: Points, y: Points, /) -> Array:
        left = self.viewed(x)
        return left.products(left if y is x else self.viewed(y))

    def paired(self, x: Points, y: Points, /) -> Array:
        return self.viewed(x).paired_products(self.viewed(y))

    def diag(self, x: Points, /) -> Array:
        return self.viewed(x).squared_norms()


# ---- codes --------------------------------------------------------------------------------------

_MULTIPLIERS = np.array([0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mixed(codes: np.ndarray) -> np.ndarray:
    """A bijection of 64-bit numbers whose values look random (the finalizer of splitmix64)."""
    h = codes + _GOLDEN
    h = (h ^ (h >> np.uint64(30))) * _MULTIPLIERS[0]
    h = (h ^ (h >> np.uint64(27))) * _MULTIPLIERS[1]
    return h ^ (h >> np.uint64(31))


def chained(head: np.ndarray, tail: np.ndarray) -> np.ndarray:
    """Codes of ordered pairs, from the codes of their parts."""
    return mixed(mixed(head) * _MULTIPLIERS[1] + tail)


def label_codes(labels: Sequence[Any]) -> np.ndarray:
    """64-bit codes of hashable labels: equal labels have equal codes in every process: (n,) uint64.

    Numbers that are equal are equal labels, whatever their type; text and numbers never are.
    """
    from hashlib import blake2b

    distinct: dict[Any, int] = {}
    places = [distinct.setdefault(label, len(distinct)) for label in labels]
    digests = b"".join(
        blake2b(_spelled(label).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        for label in distinct
    )
    codes = np.frombuffer(digests, dtype="<u8").astype(np.uint64)
    return codes[np.asarray(places, dtype=np.int64)] if places else codes


def _spelled(label: Any) -> str:
    """A label in letters, different for different labels."""
    from numbers import Real

    if isinstance(label, tuple):
        return f"({','.join(f'{len(s)}:{s}' for s in map(_spelled, label))})"
    if isinstance(label, Real):
        number: Any = label
        return f"n{int(number)!r}" if number == int(number) else f"n{float(number)!r}"
    return f"s{label}" if isinstance(label, str) else f"{type(label).__qualname__}{label!r}"
