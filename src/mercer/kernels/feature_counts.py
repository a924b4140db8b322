"""Kernels with explicit features on objects: k(x, y) = sum_f c_f(x) c_f(y) over coded features f."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import Array
from mercer.kernels.base import Points
from mercer.kernels.feature_loops import (
    GOLDEN,
    MULTIPLIERS,
    counted,
    counts_compiled,
    numbered,
    products_compiled,
    sorting_order,
    sparse_products,
)
from mercer.kernels.objects import ObjectKernel
from mercer.kernels.take import Rows

# Dense products of BLAS take about 0.1 ns for each number multiplied, those of SciPy about 5 ns for each pair of
# entries in a column, compiled ones 1 ns.
_DENSE_SPEED, _DENSE_SPEED_COMPILED = 50, 10
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
        return _products(a, a if self is others else b)

    def paired_products(self, others: FeatureTable) -> np.ndarray:
        """<c(x_i), c(y_i)>: (n,)."""
        a, b = (t.counts for t in self.aligned(others))
        return np.asarray(a.multiply(b).sum(axis=1), dtype=np.float64).ravel()

    def squared_norms(self) -> np.ndarray:
        """|c(x_i)|^2: (n,)."""
        rows = np.repeat(np.arange(len(self)), np.diff(self.counts.indptr))
        norms = np.bincount(rows, weights=self.counts.data**2, minlength=len(self))
        return norms.astype(np.float64, copy=False)  # integers where no object has a feature


def feature_table(
    rows: np.ndarray, codes: np.ndarray, values: np.ndarray | None, n: int
) -> FeatureTable:
    """Table of n objects from occurrences: object, code and value of each; values (None: 1) add up."""
    if not counts_compiled():
        return _sorted_table(rows, codes, values, n)
    if np.any(rows[1:] < rows[:-1]):
        order = np.argsort(rows, kind="stable")
        rows, codes = rows[order], codes[order]
        values = None if values is None else values[order]
    distinct, numbers = numbered(codes)
    edges = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return counted_table(numbers, edges, values, distinct)


def counted_table(
    numbers: np.ndarray, edges: np.ndarray, values: np.ndarray | None, codes: np.ndarray
) -> FeatureTable:
    """Table from occurrences that are sorted by their objects: numbers of features, which have these codes."""
    return numbered_table(*counted(numbers, edges, values, len(codes)), codes)


def numbered_table(
    data: np.ndarray, numbers: np.ndarray, ends: np.ndarray, codes: np.ndarray
) -> FeatureTable:
    """Table from the parts of a matrix in CSR form whose columns have these codes, in any order."""
    from scipy import sparse

    order = sorting_order(codes)
    rank = np.empty(len(codes), dtype=np.int32)
    rank[order] = np.arange(len(codes), dtype=np.int32)
    shape = len(ends) - 1, len(codes)
    counts = sparse.csr_array((data, rank[numbers], ends), shape=shape)
    return FeatureTable(counts, codes[order])


def _sorted_table(
    rows: np.ndarray, codes: np.ndarray, values: np.ndarray | None, n: int
) -> FeatureTable:
    """The table by sorting in NumPy."""
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


def _products(a: Any, b: Any) -> np.ndarray:
    """a @ b.T of sparse matrices: columns that are in many rows of both by BLAS, the others by their entries."""
    (n, width), m = a.shape, b.shape[0]
    compiled = products_compiled()
    if compiled and width > a.nnz + b.nnz:  # few of the columns are in these rows
        a, b = _compressed(a, b)
        width = a.shape[1]
    speed = _DENSE_SPEED_COMPILED if compiled else _DENSE_SPEED
    pairs = np.bincount(a.indices, minlength=width).astype(np.float64)
    pairs *= pairs if b is a else np.bincount(b.indices, minlength=width)
    frequent = pairs * speed >= n * m
    size = int(np.count_nonzero(frequent))
    if size * max(n, m) > _MAX_DENSE_NUMBERS:
        frequent, size = np.zeros(width, dtype=bool), 0
    lonely = pairs == (1.0 if b is a else 0.0)  # columns without pairs of different rows
    out = np.zeros((n, m), dtype=np.float64)
    if size:
        left = _dense_columns(a, frequent, size)
        out = left @ (left if b is a else _dense_columns(b, frequent, size)).T
    if b is a:
        out[np.diag_indices(n)] += _squares(a, lonely & ~frequent)
    thin = _without(a, frequent | lonely)
    others = thin if b is a else _without(b, frequent | lonely)
    if thin.nnz == 0 or others.nnz == 0:
        return out
    return out + (sparse_products(thin, others) if compiled else (thin @ others.T).toarray())


def _squares(matrix: Any, columns: np.ndarray) -> np.ndarray:
    """Sums of the squares of the entries of some columns, given by a mask, for each row."""
    entries = np.flatnonzero(columns[matrix.indices])
    rows = np.searchsorted(matrix.indptr, entries, side="right") - 1
    return np.bincount(rows, matrix.data[entries] ** 2, matrix.shape[0])


def _compressed(a: Any, b: Any) -> tuple[Any, Any]:
    """Both matrices with the columns only that have entries."""
    from scipy import sparse

    indices = a.indices if b is a else np.concatenate([a.indices, b.indices])
    columns, numbers = numbered(indices.astype(np.uint64))
    size, split = len(columns), len(a.indices)
    numbers = numbers.astype(np.int32)
    left = sparse.csr_array((a.data, numbers[:split], a.indptr), shape=(a.shape[0], size))
    if b is a:
        return left, left
    return left, sparse.csr_array((b.data, numbers[split:], b.indptr), shape=(b.shape[0], size))


def _dense_columns(matrix: Any, columns: np.ndarray, size: int) -> np.ndarray:
    """Some columns of a sparse matrix, given by a mask, as a dense array."""
    if size == matrix.shape[1]:
        return matrix.toarray()
    places = np.cumsum(columns) - 1
    entries = columns[matrix.indices]
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    out = np.zeros((matrix.shape[0], size), dtype=np.float64)
    out[rows[entries], places[matrix.indices[entries]]] = matrix.data[entries]
    return out


def _without(matrix: Any, columns: np.ndarray) -> Any:
    """A sparse matrix without the entries of some columns, given by a mask."""
    from scipy import sparse

    entries = ~columns[matrix.indices]
    ends = np.concatenate([[0], np.cumsum(entries)])[matrix.indptr]
    parts = matrix.data[entries], matrix.indices[entries], ends
    return sparse.csr_array(parts, shape=matrix.shape)


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

_MULTIPLIERS = np.array(MULTIPLIERS, dtype=np.uint64)
_GOLDEN = np.uint64(GOLDEN)


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

    distinct = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    places = np.fromiter(map(distinct.__getitem__, labels), dtype=np.int64, count=len(labels))
    digests = b"".join(
        blake2b(_spelled(label).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        for label in distinct
    )
    codes = np.frombuffer(digests, dtype="<u8").astype(np.uint64)
    return codes[places] if len(places) else codes


def _spelled(label: Any) -> str:
    """A label in letters, different for different labels."""
    from numbers import Real

    if isinstance(label, tuple):
        return f"({','.join(f'{len(s)}:{s}' for s in map(_spelled, label))})"
    if isinstance(label, Real):
        number: Any = label
        return f"n{int(number)!r}" if number == int(number) else f"n{float(number)!r}"
    return f"s{label}" if isinstance(label, str) else f"{type(label).__qualname__}{label!r}"
