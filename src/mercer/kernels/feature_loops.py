"""Counting of features and products of sparse counts, in compiled loops without sorting."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.native import is_quick, native_loop

_NUMBERING = "long* long* long* long* long* long* long long long"
_COUNTING = "long* long* double* long* long* double* long* long long"
_PRODUCTS = "long* long* double* long* long* double* long* double* long long long"
MULTIPLIERS = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # of the finalizer of splitmix64
GOLDEN = 0x9E3779B97F4A7C15
_SORTING = "long* long* long* long* long* long long"
_MOST_IN_BUCKET = 40  # of random numbers, four on average: about 1e-24 of the buckets have more
_SAMPLE, _MOST_FIRST_SLOTS = 256, 2**20
_FIRST_SLOTS = 2**12  # of a hash table; it grows fourfold when half of them are taken


def counts_compiled() -> bool:
    """Whether the loops are compiled, or can be and stay so."""
    return is_quick(_number, _NUMBERING) and is_quick(_count, _COUNTING)


def products_compiled() -> bool:
    """Whether `sparse_products` is compiled, or can be and stay so."""
    return is_quick(_multiply, _PRODUCTS)


def numbered(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different codes in the order of their first occurrence, and the number of each: (V,), (N,).

    Codes are 64-bit integers whose low bits look random; they are found in a hash table by these bits.
    """
    loop = native_loop(_number, _NUMBERING)
    codes = codes.view(np.int64)
    numbers = np.empty(len(codes), dtype=np.int64)
    known, slots, reached = codes[:0], _first_slots(codes), 0
    while True:
        keys, owners = np.empty(slots, dtype=np.int64), np.full(slots, -1, dtype=np.int64)
        vocabulary, size = np.empty(slots // 2 + 2, dtype=np.int64), np.zeros(1, dtype=np.int64)
        again = np.empty(len(known), dtype=np.int64)
        table = keys, owners, vocabulary, size
        loop(known, *table, again, 0, len(known), slots - 1)
        reached = loop(codes, *table, numbers, reached, len(codes), slots - 1)
        if reached == len(codes):
            return vocabulary[: size[0]].view(np.uint64), numbers
        known, slots = vocabulary[: size[0]].copy(), slots * 4


def _first_slots(codes: np.ndarray) -> int:
    """Slots of the first hash table: room for all codes where those of a sample are different."""
    sample = codes[:: max(len(codes) // _SAMPLE, 1)]
    if len(codes) < _FIRST_SLOTS or len(np.unique(sample)) < 0.9 * len(sample):
        return _FIRST_SLOTS
    return min(2 ** int(2 * len(codes)).bit_length(), _MOST_FIRST_SLOTS)


def sorting_order(codes: np.ndarray) -> np.ndarray:
    """The order that sorts different 64-bit codes, which are random numbers as a rule: (V,).

    Codes are counted by their first bits, about four to a bucket, and sorted by insertion within buckets.
    """
    bits = min(max((len(codes) // 4).bit_length(), 1), 24)
    buckets = (codes >> np.uint64(64 - bits)).astype(np.int64)
    ends = np.cumsum(np.bincount(buckets, minlength=2**bits))
    if len(codes) < _FIRST_SLOTS or np.max(np.diff(ends, prepend=0)) > _MOST_IN_BUCKET:
        return np.argsort(codes)
    order = np.empty(len(codes), dtype=np.int64)
    native_loop(_sort, _SORTING)(codes, buckets, ends, ends.copy(), order, len(codes), 2**bits)
    return order


def counted(
    numbers: np.ndarray, edges: np.ndarray, values: np.ndarray | None, width: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums of values (None: 1) for each object and number, the occurrences of object i being edges[i] to edges[i + 1].

    Returns the sums, their numbers and where those of each object end, as the parts of a matrix in CSR form;
    numbers are in the order of their first occurrence within the object.
    """
    n, total = len(edges) - 1, len(numbers)
    columns, data = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.float64)
    ends, places = np.empty(n + 1, dtype=np.int64), np.full(width, -1, dtype=np.int64)
    weights = np.ones(1, dtype=np.float64) if values is None else values.astype(np.float64)
    loop = native_loop(_count, _COUNTING)
    arrays = (np.ascontiguousarray(a, dtype=np.int64) for a in (numbers, edges))
    used = loop(*arrays, weights, places, columns, data, ends, n, int(values is not None))
    return data[:used], columns[:used], ends


def sparse_products(a: Any, b: Any) -> np.ndarray:
    """a @ b.T of two matrices in CSR form as a dense array; if b is a, one half is computed: (n, m)."""
    other = b.tocsc()
    n, m, width = a.shape[0], b.shape[0], a.shape[1]
    out = np.zeros((n, m), dtype=np.float64)
    left = (np.ascontiguousarray(part, dtype=np.int64) for part in (a.indptr, a.indices))
    right = (np.ascontiguousarray(part, dtype=np.int64) for part in (other.indptr, other.indices))
    next_rows = other.indptr[:-1].astype(np.int64)
    loop = native_loop(_multiply, _PRODUCTS)
    loop(*left, a.data, *right, other.data, next_rows, out, n, m, width if b is a else ~width)
    return out


def hash_mixer(numba: Any) -> tuple[Any, int]:
    """A function of numba for `feature_counts.mixed`, on signed numbers, and the multiplier of `chained`."""
    golden, first, second = (_signed(c) for c in (GOLDEN, *MULTIPLIERS))
    kept_30, kept_27, kept_31 = (
        2 ** (64 - bits) - 1 for bits in (30, 27, 31)
    )  # clear copied signs

    @numba.njit(inline="always")
    def mix(code):  # pragma: no cover
        h = code + golden
        h = (h ^ ((h >> 30) & kept_30)) * first
        h = (h ^ ((h >> 27) & kept_27)) * second
        return h ^ ((h >> 31) & kept_31)

    return mix, second


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number


# ---- compiled -----------------------------------------------------------------------------------


def _number(numba: Any) -> Any:
    carray = numba.carray

    def loop(codes, keys, owners, vocabulary, size, numbers, start, stop, mask):  # pragma: no cover
        words, slots = carray(keys, mask + 1), carray(owners, mask + 1)
        distinct, count = carray(vocabulary, mask // 2 + 2), carray(size, 1)
        code, out = carray(codes, stop), carray(numbers, stop)
        known = count[0]
        for i in range(start, stop):
            slot = code[i] & mask
            while slots[slot] >= 0 and words[slot] != code[i]:
                slot = (slot + 1) & mask
            if slots[slot] < 0:
                if 2 * known > mask:
                    count[0] = known
                    return i
                words[slot], slots[slot], distinct[known] = code[i], known, code[i]
                known += 1
            out[i] = slots[slot]
        count[0] = known
        return stop

    return loop


def _sort(numba: Any) -> Any:
    """Each code is inserted in its bucket, which fills from its end; codes of a bucket have the same sign."""
    carray = numba.carray

    def loop(codes, buckets, ends, places, order, n, many):  # pragma: no cover
        code, bucket, out = carray(codes, n), carray(buckets, n), carray(order, n)
        end, place = carray(ends, many), carray(places, many)
        for i in range(n):
            place[bucket[i]] -= 1
            at = place[bucket[i]]
            while at + 1 < end[bucket[i]] and code[out[at + 1]] < code[i]:
                out[at] = out[at + 1]
                at += 1
            out[at] = i
        return 0

    return loop


def _count(numba: Any) -> Any:
    carray = numba.carray

    def loop(numbers, edges, values, places, columns, data, ends, n, weighted):  # pragma: no cover
        edge, stops = carray(edges, n + 1), carray(ends, n + 1)
        total = edge[n]
        number, weight = carray(numbers, total), carray(values, total)
        place, column, out = carray(places, total), carray(columns, total), carray(data, total)
        used = 0
        stops[0] = 0
        for row in range(n):
            first = used
            for i in range(edge[row], edge[row + 1]):
                at = place[number[i]]
                if at < first:
                    at = used
                    place[number[i]], column[at], out[at] = at, number[i], 0.0
                    used += 1
                out[at] += weight[i] if weighted else 1.0
            stops[row + 1] = used
        return used

    return loop


def _multiply(numba: Any) -> Any:
    carray = numba.carray

    def loop(
        a_ends, a_columns, a_data, b_ends, b_rows, b_data, next_rows, out, n, m, width
    ):  # pragma: no cover
        symmetric = width >= 0
        columns = width if symmetric else ~width
        row_end, column_end = carray(a_ends, n + 1), carray(b_ends, columns + 1)
        column, value = carray(a_columns, row_end[n]), carray(a_data, row_end[n])
        row, other = carray(b_rows, column_end[columns]), carray(b_data, column_end[columns])
        first, products = carray(next_rows, columns), carray(out, (n, m))
        for i in range(n):
            for e in range(row_end[i], row_end[i + 1]):
                c, v = column[e], value[e]
                for f in range(first[c], column_end[c + 1]):
                    products[i, row[f]] += v * other[f]
                if symmetric:
                    first[c] += 1  # the rows behind i, which are sorted
        if symmetric:
            for i in range(n):
                for j in range(i):
                    products[i, j] = products[j, i]
        return 0

    return loop
