"""Circular cross-correlations of symmetric matrices and of columns, on the host or on a GPU.

Shifting the rows and columns of B circularly by k shifts each of its wrapped diagonals by k, so that

    sum_ij A_ij B_(i+k)(j+k) = sum_d sum_i A_i(i+d) B_(i+k)(i+k+d)

is a sum of circular cross-correlations of diagonals: one Fourier transform of length n for each diagonal
of each matrix, and one inverse transform for their sum. All n shifts take O(n^2 log n) time and the memory
of a few diagonals. The work is done where the data are: matrices on a GPU go to
the engine for GPUs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided

from mercer.backend import Array, is_numpy, on_gpu, to_numpy
from mercer.config import settings
from mercer.gram.device_engine import device_engine
from mercer.gram.lazy import LazyMatrix
from mercer.gram.threads import in_order, runs_elsewhere, spans

# One task transforms about _ENTRIES_PER_TASK entries: enough to outweigh the cost of a task, few enough
# to stay in cache. The number of diagonals depends on n alone, so that sums do not depend on the threads.
_ENTRIES_PER_TASK = 200_000
_MIN_DIAGONALS_PER_TASK, _MAX_DIAGONALS_PER_TASK = 8, 64
_MAX_DIAGONALS_IN_MEMORY = 256  # of each matrix; more do not make the transforms faster
_ROWS_PER_TILE = 128  # of a tile that is read along its diagonals: it stays in cache
_BYTES_PER_ENTRY = 16  # a float64 and one temporary copy of it
_MIN_ROWS_FOR_THREADS = 500  # matrices below that take less time than a thread pool
_MIN_LENGTH_FOR_THREADS = 1000  # columns shorter than that transform faster on one thread
_COLUMNS_PER_TRANSFORM = 16  # transformed together: the result stays in cache


def circular_correlations(lefts: Sequence[LazyMatrix], rights: Sequence[LazyMatrix]) -> np.ndarray:
    """sum_ij A_ij B_(i+k)(j+k), indices modulo n, of every A with every B: (a, b, n) for all k.

    The matrices must be symmetric: diagonals d and n - d then hold the same entries, and half of the
    diagonals suffice. The order of summation depends neither on the threads nor on the memory budget.
    """
    if on_gpu(lefts[0].like):
        return to_numpy(device_engine().circular_correlations(lefts, rights))
    n, number = lefts[0].shape[0], len(lefts) + len(rights)
    spectrum = np.zeros((n // 2 + 1, len(lefts), len(rights)), dtype=np.complex128)
    step = _diagonals_per_task(n)
    affordable = settings().memory // (2 * _BYTES_PER_ENTRY * n * number * step)
    tasks_per_pass = min(max(affordable, 1), -(-_MAX_DIAGONALS_IN_MEMORY // step))
    task_bytes = spectrum.nbytes + _BYTES_PER_ENTRY * n * number * step
    passes = spans(n // 2 + 1, step * tasks_per_pass)
    parallel = n > _MIN_ROWS_FOR_THREADS
    for term in diagonal_terms(_Spectra(lefts, rights), passes, step, parallel, task_bytes):
        spectrum += term
    return np.moveaxis(np.fft.irfft(spectrum, n, axis=0), 0, 2)


def diagonal_terms(
    work: Callable[[slice], Callable[[slice], np.ndarray]],
    passes: Sequence[slice],
    step: int,
    parallel: bool,
    task_bytes: int,
) -> Iterator[np.ndarray]:
    """work(offsets)(columns) for the diagonals of every pass, in steps of `step` columns.

    `work(offsets)` reads the diagonals of the matrices. Threads share them; other workers get whole passes, so that
    matrices travel as points and diagonals do not travel.
    """
    if runs_elsewhere():
        run = in_order(
            _WholePass(work, step), passes, parallel=parallel, shown=False, held=task_bytes
        )
        for terms in run:
            yield from terms
        return
    for offsets in passes:
        tasks = spans(offsets.stop - offsets.start, step)
        yield from in_order(work(offsets), tasks, parallel=parallel, shown=False, held=task_bytes)


def matrices_per_pass(n: int) -> int:
    """Number of n x n matrices that fit into one call of `circular_correlations`, at least 2."""
    return max(settings().memory // (4 * _BYTES_PER_ENTRY * n * _diagonals_per_task(n)), 2)


def squared_correlations(a: np.ndarray, bs: Sequence[np.ndarray], like: Array) -> np.ndarray:
    """sum_rs (sum_i A_ir B_(i+k)s)^2, indices modulo n, of A (n, r) with every B (n, s): (b, n).

    That is tr(AA' P BB' P') for each circular shift P. `like` is an array on the device of the work.
    """
    n = len(a)
    values = np.empty((len(bs), n), dtype=np.float64)
    if on_gpu(like):
        for row, b in zip(values, bs, strict=True):
            row[:] = device_engine().squared_correlations(a, b, like.device)
        return values
    spectrum = np.conj(np.fft.rfft(a, axis=0))  # (f, r)
    parallel = n > _MIN_LENGTH_FOR_THREADS
    for row, b in zip(values, bs, strict=True):
        work = _ColumnCorrelations(spectrum, np.fft.rfft(b, axis=0), n)
        row[:] = sum(in_order(work, range(spectrum.shape[1]), parallel=parallel, shown=False))
    return values


def diagonals(matrix: LazyMatrix, offsets: slice) -> np.ndarray:
    """A_i(i+d), indices modulo n, for the offsets d: (n, d), read from tiles beside the diagonal."""
    n = matrix.shape[0]
    out = np.empty((n, offsets.stop - offsets.start), dtype=np.float64)
    tiles = spans(n, min(_ROWS_PER_TILE, max(n // 2, 1)))
    parallel = n > _MIN_ROWS_FOR_THREADS and is_numpy(matrix.like)
    entries = in_order(_DiagonalView(matrix, offsets), tiles, parallel=parallel, shown=False)
    for rows, tile_entries in zip(tiles, entries, strict=True):
        out[rows] = tile_entries
    return out


# ---- private ------------------------------------------------------------------------------------


def _diagonals_per_task(n: int) -> int:
    return min(max(_ENTRIES_PER_TASK // n, _MIN_DIAGONALS_PER_TASK), _MAX_DIAGONALS_PER_TASK)


def _all_diagonals(matrices: Sequence[LazyMatrix], offsets: slice) -> list[np.ndarray]:
    return [diagonals(matrix, offsets) for matrix in matrices]


@dataclass(frozen=True)
class _WholePass:
    """The terms of all steps of a pass, one by one: their sum would be rounded elsewhere."""

    work: Callable[[slice], Callable[[slice], np.ndarray]]
    step: int

    def __call__(self, offsets: slice) -> list[np.ndarray]:
        terms = self.work(offsets)
        return [terms(columns) for columns in spans(offsets.stop - offsets.start, self.step)]


@dataclass(frozen=True)
class _Spectra:
    """offsets -> the spectra of these diagonals."""

    lefts: Sequence[LazyMatrix]
    rights: Sequence[LazyMatrix]

    def __call__(self, offsets: slice) -> _DiagonalSpectra:
        both = (_all_diagonals(matrices, offsets) for matrices in (self.lefts, self.rights))
        return _DiagonalSpectra(self.lefts[0].shape[0], offsets.start, *both)


@dataclass(frozen=True)
class _DiagonalSpectra:
    """Transforms of the cross-correlations of a few diagonals, summed over them: (f, a, b)."""

    n: int
    start: int
    lefts: list[np.ndarray]  # (n, d)
    rights: list[np.ndarray]

    def __call__(self, columns: slice) -> np.ndarray:
        offsets = np.arange(self.start + columns.start, self.start + columns.stop)
        weights = np.where((offsets == 0) | (2 * offsets == self.n), 1.0, 2.0)
        weighted = np.conj(self._transforms(self.lefts, columns)) * weights
        return weighted @ np.swapaxes(self._transforms(self.rights, columns), 1, 2)

    def _transforms(self, matrices: list[np.ndarray], columns: slice) -> np.ndarray:
        """Fourier transforms along the diagonals of every matrix: (f, matrices, d)."""
        shape = (self.n // 2 + 1, len(matrices), columns.stop - columns.start)
        out = np.empty(shape, dtype=np.complex128)
        for j, entries in enumerate(matrices):
            out[:, j] = np.fft.rfft(entries[:, columns], axis=0)
        return out


@dataclass(frozen=True)
class _DiagonalView:
    """Entries of some rows on the diagonals, as a strided view of the tile that contains them."""

    matrix: LazyMatrix
    offsets: slice

    def __call__(self, rows: slice) -> np.ndarray:
        n, width = self.matrix.shape[0], self.offsets.stop - self.offsets.start
        height, start = rows.stop - rows.start, (rows.start + self.offsets.start) % n
        stop = start + height + width - 1
        tile = to_numpy(self.matrix.block(rows, slice(start, min(stop, n))))
        if stop > n:
            wrapped = to_numpy(self.matrix.block(rows, slice(0, stop - n)))
            tile = np.concatenate([tile, wrapped], axis=1)
        down, right = tile.strides
        return as_strided(tile, (height, width), (down + right, right), writeable=False)


@dataclass(frozen=True)
class _ColumnCorrelations:
    """Squared cross-correlations of column j of A with all columns of B, summed: (n,)."""

    spectrum_a: np.ndarray  # conjugated transforms of the columns of A: (f, r)
    spectrum_b: np.ndarray  # transforms of the columns of B: (f, s)
    n: int

    def __call__(self, j: int) -> np.ndarray:
        total = np.zeros(self.n, dtype=np.float64)
        for columns in spans(self.spectrum_b.shape[1], _COLUMNS_PER_TRANSFORM):
            crossed = np.fft.irfft(
                self.spectrum_a[:, j, None] * self.spectrum_b[:, columns], self.n, axis=0
            )
            total += np.einsum("is,is->i", crossed, crossed)  # (n, s) -> (n,)
        return total
