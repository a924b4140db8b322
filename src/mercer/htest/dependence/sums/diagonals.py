"""Sums over the diagonals of two symmetric matrices, one of them moved on by any number of places.

Along the diagonals, taken round the corner, a move by k of rows and columns is a shift by k, and

    sum_ij A_ij B_(i+k)(j+k) = sum_d sum_i A_i(i+d) B_(i+k)(i+k+d)

is a sum of circular cross-correlations: one Fourier transform of length n for every diagonal of
each matrix, and one back for all. That is O(n^2 log n) for n moves, in the memory of a few diagonals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided

from mercer.backend import is_numpy, on_gpu, to_numpy
from mercer.config import settings
from mercer.gram import LazyMatrix
from mercer.gram.threads import in_order, spans

_LEAST, _MOST = 8, 64  # diagonals that one task transforms
_ENTRIES = 200_000  # of them, about: their number must depend on n alone
_HELD = 256  # diagonals whose entries are held at a time
_ROWS = 128  # of a tile that is cut into diagonals
_BYTES = 16  # for an entry that is held: the number, and a copy on the way
_MANY = 500  # observations from which on threads pay


def correlations(lefts: Sequence[LazyMatrix], rights: Sequence[LazyMatrix]) -> np.ndarray:
    """sum_ij A_ij B_(i+k)(j+k), indices modulo n, of every A with every B: (a, b, n) for all k.

    Of symmetric matrices: diagonals d and n - d hold the same pairs, so half of them do. They are
    added up in one order, whatever the threads and the memory.
    """
    if on_gpu(lefts[0].like):
        from mercer.gram.cuda.circular_correlation import correlations as on_device

        return to_numpy(on_device(lefts, rights))
    n, number = lefts[0].shape[0], len(lefts) + len(rights)
    spectrum = np.zeros((n // 2 + 1, len(lefts), len(rights)), dtype=np.complex128)
    few = _few(n)
    fit = settings().memory // (2 * _BYTES * n * number * few)
    held = spectrum.nbytes + _BYTES * n * number * few
    for some in spans(n // 2 + 1, few * min(max(fit, 1), -(-_HELD // few))):
        work = _Transformed(n, some.start, _held(lefts, some), _held(rights, some))
        tasks = spans(some.stop - some.start, few)
        for part in in_order(work, tasks, parallel=n > _MANY, shown=False, held=held):
            spectrum += part
    return np.moveaxis(np.fft.irfft(spectrum, n, axis=0), 0, 2)


def together(n: int) -> int:
    """How many matrices of n observations `correlations` takes at a time, within the memory budget."""
    return max(settings().memory // (4 * _BYTES * n * _few(n)), 2)


def _few(n: int) -> int:
    return min(max(_ENTRIES // n, _LEAST), _MOST)


def _held(matrices: Sequence[LazyMatrix], some: slice) -> list[np.ndarray]:
    return [diagonals(matrix, some) for matrix in matrices]


@dataclass(frozen=True)
class _Transformed:
    """A few of the diagonals -> the transforms of their cross-correlations, summed: (f, a, b)."""

    n: int
    start: int
    lefts: list[np.ndarray]  # (n, d)
    rights: list[np.ndarray]

    def __call__(self, few: slice) -> np.ndarray:
        number = np.arange(self.start + few.start, self.start + few.stop)
        weights = np.where((number == 0) | (2 * number == self.n), 1.0, 2.0)
        left = np.conj(self._along(self.lefts, few)) * weights
        return left @ np.swapaxes(self._along(self.rights, few), 1, 2)

    def _along(self, held: list[np.ndarray], few: slice) -> np.ndarray:
        """Transforms along the diagonals of every matrix: (f, matrices, d)."""
        shape = (self.n // 2 + 1, len(held), few.stop - few.start)
        out = np.empty(shape, dtype=np.complex128)
        for j, entries in enumerate(held):
            out[:, j] = np.fft.rfft(entries[:, few], axis=0)
        return out


def diagonals(matrix: LazyMatrix, some: slice) -> np.ndarray:
    """A_i(i+d), indices modulo n, for d in `some`: (n, d), from tiles beside the diagonal."""
    n = matrix.shape[0]
    out = np.empty((n, some.stop - some.start), dtype=np.float64)
    tiles = spans(n, min(_ROWS, max(n // 2, 1)))
    parallel = n > _MANY and is_numpy(matrix.like)
    parts = in_order(_Skewed(matrix, some), tiles, parallel=parallel, shown=False)
    for rows, part in zip(tiles, parts, strict=True):
        out[rows] = part
    return out


@dataclass(frozen=True)
class _Skewed:
    """Some rows -> their entries on the diagonals: a view of the tile that has them."""

    matrix: LazyMatrix
    some: slice

    def __call__(self, rows: slice) -> np.ndarray:
        n, width = self.matrix.shape[0], self.some.stop - self.some.start
        height, start = rows.stop - rows.start, (rows.start + self.some.start) % n
        stop = start + height + width - 1
        tile = to_numpy(self.matrix.block(rows, slice(start, min(stop, n))))
        if stop > n:
            more = to_numpy(self.matrix.block(rows, slice(0, stop - n)))
            tile = np.concatenate([tile, more], axis=1)
        down, right = tile.strides
        return as_strided(tile, (height, width), (down + right, right), writeable=False)
