"""Sums of products of several symmetric matrices, each shifted circularly by its own number of rows.

Shifting the rows and columns of B circularly by s shifts each of its wrapped diagonals by s, so that

    sum_ij A_ij prod_k B^k_(i+s_k)(j+s_k) = sum_d sum_i A_i(i+d) prod_k B^k_(i+s_k)(i+s_k+d)

is a sum over diagonals of products of vectors that are read at an offset each: no entry is gathered, each is
computed once for all shifts, and a few diagonals are in memory at a time. The work is done where the
data are: matrices on a GPU go to the engine for GPUs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import on_gpu, to_numpy
from mercer.config import settings
from mercer.gram.circular_correlation import diagonal_terms, diagonals
from mercer.gram.device_engine import device_engine
from mercer.gram.lazy import LazyMatrix
from mercer.gram.threads import spans
from mercer.native import has_compiler, is_quick, native_loop

_TASK_BYTES = 2**20  # of the diagonals of one task: they stay in a level-2 cache for all shifts
_MAX_DIAGONALS_PER_TASK = 16  # longer vectors do not make the products faster
_MAX_DIAGONALS_IN_MEMORY = 256  # of each matrix
_BYTES_PER_ENTRY = 16  # a float64 and one temporary copy of it
_MIN_PRODUCTS_FOR_THREADS = 20_000_000  # with fewer, one thread is as fast as two
# The compiled loop takes 0.17 ns for a product and NumPy 0.6 ns; loading it takes a hundredth of a second,
# and compiling it a second.
_MIN_PRODUCTS_TO_LOAD, _MIN_PRODUCTS_TO_COMPILE = 200_000_000, 3_000_000_000
_LOOP_ARGUMENTS = "double* double* double* long* double* long long"


def shifted_sums(first: LazyMatrix, others: Sequence[LazyMatrix], shifts: np.ndarray) -> np.ndarray:
    """sum_ij A_ij prod_k B^k_(i+s_k)(j+s_k), indices modulo n, for shifts s (b, k) from 0 to n - 1: (b,).

    The matrices must be symmetric: diagonals d and n - d then hold the same entries, and half of the
    diagonals suffice. The order of summation depends neither on the threads nor on the memory budget.
    """
    if on_gpu(first.like):
        return to_numpy(device_engine().shifted_sums(first, others, shifts))
    n, matrices = first.shape[0], [first, *others]
    vectors = 2 * len(matrices) - 1  # all but the first are stored twice, one copy after the other
    step = min(max(_TASK_BYTES // (8 * n * vectors), 1), _MAX_DIAGONALS_PER_TASK)
    affordable = settings().memory // (2 * _BYTES_PER_ENTRY * n * vectors * step)
    tasks_per_pass = min(max(affordable, 1), -(-_MAX_DIAGONALS_IN_MEMORY // step))
    products = n * (n // 2 + 1) * len(shifts)
    compiled = _worth_compiling(products, len(others))
    order = np.argsort(shifts[:, 0], kind="stable")  # neighbours read nearly the same entries
    total = np.zeros(len(shifts), dtype=np.float64)
    work = _ShiftedMatrices(matrices, shifts[order], compiled)
    passes = spans(n // 2 + 1, step * tasks_per_pass)
    parallel = products > _MIN_PRODUCTS_FOR_THREADS
    task_bytes = _BYTES_PER_ENTRY * n * vectors * step
    for term in diagonal_terms(work, passes, step, parallel, task_bytes):
        total[order] += term
    return total


def shifted_dots(first: np.ndarray, others: Sequence[np.ndarray], shifts: np.ndarray) -> np.ndarray:
    """sum_i a_i prod_k b^k_(i+s_k), indices modulo n, of vectors (n,), for shifts s (b, k): (b,)."""
    entries = [vector[:, None] for vector in (first, *others)]
    return _ShiftedDiagonals(entries, shifts, compiled=False)(slice(0, 1))


# ---- private ------------------------------------------------------------------------------------


def _weights(n: int, offsets: slice) -> np.ndarray:
    """How often each diagonal d <= n / 2 occurs among d and n - d: (d,)."""
    numbers = np.arange(offsets.start, offsets.stop)
    return np.where((numbers == 0) | (2 * numbers == n), 1.0, 2.0)


@dataclass(frozen=True)
class _ShiftedMatrices:
    """offsets -> the sums over these diagonals."""

    matrices: Sequence[LazyMatrix]
    shifts: np.ndarray
    compiled: bool

    def __call__(self, offsets: slice) -> _ShiftedDiagonals:
        entries = [diagonals(matrix, offsets) for matrix in self.matrices]
        entries[0] *= _weights(self.matrices[0].shape[0], offsets)
        return _ShiftedDiagonals(entries, self.shifts, self.compiled)


@dataclass(frozen=True)
class _ShiftedDiagonals:
    """The sums over a few diagonals, for all shifts: (b,).

    With d diagonals side by side, (n, d), a shift by s is an offset of s d in the flat array.
    """

    entries: Sequence[np.ndarray]  # of every matrix: (n, diagonals)
    shifts: np.ndarray
    compiled: bool

    def __call__(self, columns: slice) -> np.ndarray:
        first, *others = (entries[:, columns] for entries in self.entries)
        flat = np.ascontiguousarray(first).ravel()
        doubled = [np.concatenate([entries, entries]).ravel() for entries in others]
        starts = self.shifts * (columns.stop - columns.start)
        if self.compiled:
            out = np.empty(len(starts), dtype=np.float64)
            starts = np.ascontiguousarray(starts, dtype=np.int64)
            loop = native_loop(_three_products, _LOOP_ARGUMENTS)
            loop(flat, *doubled, starts, out, len(flat), len(out))
            return out
        return _offset_products(flat, doubled, starts)


def _offset_products(
    first: np.ndarray, others: Sequence[np.ndarray], starts: np.ndarray
) -> np.ndarray:
    """sum_m a_m prod_k b^k_(m + start_k) for every row of `starts` (b, k): (b,)."""
    size, buffer = len(first), np.empty_like(first)
    out = np.empty(len(starts), dtype=np.float64)
    for b, row in enumerate(starts):
        *before, last = (v[s : s + size] for v, s in zip(others, row, strict=True))
        product = first
        for vector in before:
            product = np.multiply(product, vector, out=buffer)
        out[b] = product @ last
    return out


def _worth_compiling(products: int, others: int) -> bool:
    """Whether the loop for three matrices pays for that many products."""
    if others != 2 or products < _MIN_PRODUCTS_TO_LOAD or not has_compiler():
        return False
    return products >= _MIN_PRODUCTS_TO_COMPILE or is_quick(_three_products, _LOOP_ARGUMENTS)


def _three_products(numba: Any) -> Callable[..., int]:
    """The loop of `_offset_products` for three vectors."""
    carray = numba.carray

    @numba.njit(fastmath={"nnan", "nsz", "contract", "reassoc"}, error_model="numpy")
    def dot(x, y, z, width):  # pragma: no cover
        total = 0.0
        for i in range(width):
            total += x[i] * y[i] * z[i]
        return total

    def loop(a, b, c, starts, out, size, number):  # pragma: no cover
        first, second, third = carray(a, size), carray(b, 2 * size), carray(c, 2 * size)
        offsets, sums = carray(starts, (number, 2)), carray(out, number)
        for r in range(number):
            sums[r] = 0.0
        for m in range(0, size, 512):  # entries of the first vector stay in cache for all shifts
            x, width = first[m:], min(512, size - m)
            for r in range(number):
                y, z = second[m + offsets[r, 0] :], third[m + offsets[r, 1] :]
                sums[r] += dot(x, y, z, width)
        return 0

    return loop
