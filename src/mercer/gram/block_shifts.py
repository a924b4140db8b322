"""Sums of products of two kernel matrices, one of them shifted circularly inside of blocks of rows, from rows in files.

The n rows of two variables are in one order, and in blocks of b places. Shifting the second variable by t places inside
of every block is a permutation p, and

    T(t) = sum_ij K_ij L_p(i)p(j)

is a sum over pairs of blocks of the circular correlations of wrapped diagonals: one Fourier transform of length b for
each diagonal, whatever the number of shifts. Fewer than b rows at the end, which fill no block, stay where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt
from typing import TypeVar

import numpy as np
from numpy.lib.stride_tricks import as_strided

from mercer.backend import to_numpy
from mercer.config import settings
from mercer.gram.kernel_family import Family
from mercer.gram.shuffled_rows import Pieces, PiecesInMemory, ShuffledRows
from mercer.gram.threads import in_order, spans, while_wanted
from mercer.kernels.base import Kernel

_STRIP_ROWS = 2**12  # 16 million pairs in a task: a fraction of a second
_BLOCK_ROWS = 2**9  # where nothing is shifted
_ROWS_OF_TILE = 2**7  # of a block: tiles of 1,000 columns take 1 MiB, and stay in cache
_DIAGONALS = 2**6  # transformed together
_SHARE = 4  # of the memory budget, for a pair of blocks, and for the points of a task
_MATRICES, _TILES, _COPIES = 2, 8, 8  # of blocks, tiles and strips that a task has in memory
MIN_BLOCK_ROWS = 16  # whatever the memory budget
_WIDEST = 5, 4  # blocks are at most 5/4 as long as they must be
# Factors of lengths with fast Fourier transforms; those of prime lengths take eight times as long.
_PRIMES = 2, 3, 5, 7

T = TypeVar("T")
Pair = tuple[T, T]


def block_rows(n: int, shifts: int, most: int) -> int:
    """Rows of blocks for so many shifts, or for as many as `most` rows allow.

    A length whose Fourier transforms are fast, and that leaves at most a hundredth of the rows at the end.
    """
    most = max(min(most, n), min(MIN_BLOCK_ROWS, n))
    least = min(shifts, most)
    longest = min(least * _WIDEST[0] // _WIDEST[1], most)
    best = min(filter(_is_fast, range(least, longest + 1)), key=lambda b: n % b, default=least)
    return best if 100 * (n % best) <= n else n // max(n // least, -(-n // most))


def most_block_rows(width: int) -> int:
    """Rows of the largest block of which a pair fits into memory; `width` is the number of columns of all points."""
    budget, tiles = settings().memory // _SHARE, _TILES * _ROWS_OF_TILE
    entries = (isqrt(tiles**2 + 4 * _MATRICES * (budget // 8)) - tiles) // (2 * _MATRICES)
    return min(entries, budget // (8 * _COPIES * width))


def strip_rows(block: int | None, width: int) -> int:
    """Rows of a strip, which is read at once: whole blocks, inside the memory budget."""
    affordable = settings().memory // _SHARE // (8 * _COPIES * width)
    rows = max(min(_STRIP_ROWS, affordable), MIN_BLOCK_ROWS)
    return rows if block is None else max(rows // block, 1) * block


@dataclass(frozen=True)
class ProductSums:
    """Sums over all pairs of n rows, i = j included, of K_ij and L_ij less a constant each."""

    rows: np.ndarray  # (2, n), row sums of both
    diagonals: np.ndarray  # (2, n)
    squares: np.ndarray  # (2,), of all entries
    product: float  # sum_ij K_ij L_ij
    shifted: np.ndarray  # (b,), T(t) of every shift t; without blocks, of none


def product_sums(
    kernels: Pair[Kernel],
    constants: Pair[float],
    points: Pair[ShuffledRows],
    strips: Sequence[slice],
    block: int | None,
) -> ProductSums:
    """The sums in one pass over the pairs of strips; with a `block`, those of all shifts inside of blocks.

    `constants` are subtracted from the kernels, so that sums of large values of one sign lose no digits.
    """
    total = _Sums.zeros((strips[-1].stop, 0), block)
    pairs = [(i, j) for i in range(len(strips)) for j in range(i, len(strips))]
    tasks = [Pieces(points, pair if pair[0] < pair[1] else pair[:1]) for pair in pairs]
    size, width = strips[0].stop - strips[0].start, sum(rows.width for rows in points)
    held = 8 * (_COPIES * size * width + _entries_of_blocks(block or _BLOCK_ROWS))
    work = _PairOfStrips(kernels, constants, block)
    for (i, j), sums in zip(pairs, in_order(work, tasks, parallel=True, held=held), strict=True):
        total.rows[:, strips[i]] += sums.rows
        if i == j:
            total.diagonals[:, strips[i]] = sums.diagonals
        else:
            total.rows[:, strips[j]] += sums.columns
        total.squares += sums.squares
        total.product += sums.product
        total.fixed += sums.fixed
        total.spectrum += sums.spectrum
    shifted = total.fixed + np.fft.irfft(total.spectrum, block) if block else np.empty(0)
    return ProductSums(total.rows, total.diagonals, total.squares, total.product, shifted)


def _entries_of_blocks(block: int) -> int:
    return _MATRICES * block**2 + _TILES * _ROWS_OF_TILE * block


def _is_fast(length: int) -> bool:
    for factor in _PRIMES:
        while length % factor == 0:
            length //= factor
    return length == 1


# ---- tasks --------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Sums:
    """Sums over pairs of rows, each in both orders."""

    rows: np.ndarray  # (2, rows of the first strip)
    columns: np.ndarray  # (2, rows of the second one), if that is another one
    diagonals: np.ndarray  # (2, rows of the first strip), if the second one is the same
    squares: np.ndarray  # (2,)
    spectrum: np.ndarray  # (b // 2 + 1,), transform of T without pairs of rows that stay
    fixed: float = 0.0  # the part of T of these
    product: float = 0.0

    @classmethod
    def zeros(cls, sizes: Pair[int], block: int | None) -> _Sums:
        """Sums over no pairs."""
        rows, columns = (np.zeros((2, size), dtype=np.float64) for size in sizes)
        frequencies = 0 if block is None else block // 2 + 1
        spectrum = np.zeros(frequencies, dtype=np.complex128)
        return cls(rows, columns, np.zeros_like(rows), np.zeros(2, dtype=np.float64), spectrum)


@dataclass(frozen=True, eq=False)
class _PairOfStrips:
    """Sums over the pairs of a row of one strip and a row of another one."""

    kernels: Pair[Kernel]
    constants: Pair[float]
    block: int | None

    def __call__(self, pieces: Pieces | PiecesInMemory) -> _Sums:
        strips = pieces.read()
        same = len(strips) == 1
        points = zip(*strips, strict=True)  # one strip or two, for each variable
        matrices = [
            _StripMatrix(kernel, constant, *x)
            for kernel, constant, x in zip(self.kernels, self.constants, points, strict=True)
        ]
        sizes = matrices[0].shape
        sums = _Sums.zeros(sizes, self.block)
        if same:
            sums.diagonals[:] = [matrix.diagonal for matrix in matrices]
        rows, columns = (spans(size, self.block or _BLOCK_ROWS) for size in sizes)
        blocks = [(r, c) for r in rows for c in columns if not same or c.start >= r.start]
        for at in while_wanted(blocks):
            self._add([matrix.block(*at) for matrix in matrices], at, same, sums)
        return sums

    def _add(self, blocks: list[np.ndarray], at: Pair[slice], same: bool, sums: _Sums) -> None:
        """Add the sums over the pairs of two blocks of rows, whose entries of both matrices are given."""
        r, c = at
        once = same and r == c
        times, beside = 1.0 if once else 2.0, sums.rows if same else sums.columns
        for v, entries in enumerate(blocks):
            sums.rows[v, r] += entries.sum(axis=1)
            if not once:
                beside[v, c] += entries.sum(axis=0)
            sums.squares[v] += times * float(np.vdot(entries, entries))
        product = times * float(np.vdot(*blocks))
        sums.product += product
        moves = [rows.stop - rows.start == self.block for rows in at]
        if all(moves):
            sums.spectrum += times * _correlated(*map(_wrapped_diagonals, blocks))
        elif moves[0]:  # the rows at the end stay
            sums.spectrum += times * _correlated(*blocks)
        else:
            sums.fixed += product


class _StripMatrix:
    """The kernel matrix of two strips, less a constant."""

    def __init__(
        self, kernel: Kernel, constant: float, x: np.ndarray, y: np.ndarray | None = None
    ) -> None:
        self._family, self._constant = Family([kernel], x, y), constant
        self.shape = self._family.shape
        self.diagonal: np.ndarray | None = None
        if y is None:
            self.diagonal = to_numpy(kernel.diag(x)).astype(np.float64) - constant

    def block(self, r: slice, c: slice) -> np.ndarray:
        """Entries of some rows and columns."""
        out = np.empty((r.stop - r.start, c.stop - c.start), dtype=np.float64)
        for rows in spans(r.stop, _ROWS_OF_TILE, first=r.start):
            (tile,) = self._family.tiles(rows, c)
            np.subtract(
                to_numpy(tile), self._constant, out=out[rows.start - r.start : rows.stop - r.start]
            )
        if self.diagonal is not None and r == c:
            np.fill_diagonal(out, self.diagonal[r])
        return out


def _wrapped_diagonals(matrix: np.ndarray) -> np.ndarray:
    """A_r(r+d), indices modulo the order, in column d; written into the matrix."""
    b = len(matrix)
    for rows in spans(b, _ROWS_OF_TILE):
        twice = np.concatenate([matrix[rows], matrix[rows]], axis=1)
        down, right = twice.strides
        diagonals = as_strided(
            twice[:, rows.start :], (len(twice), b), (down + right, right), writeable=False
        )
        matrix[rows] = diagonals
    return matrix


def _correlated(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Transform of t -> sum_rc A_rc B_(r+t)c, rows modulo b: (b // 2 + 1,)."""
    spectrum = np.zeros(len(first) // 2 + 1, dtype=np.complex128)
    for columns in spans(first.shape[1], _DIAGONALS):
        a, b = (np.fft.rfft(matrix[:, columns], axis=0) for matrix in (first, second))
        spectrum += np.einsum("fc,fc->f", np.conj(a), b)
    return spectrum
