"""HSIC by features of variables that are read part by part, in time linear in the number of rows.

With features z and w of both variables less their means, the cross-products of one shift t inside of blocks of b rows

    A(t) = sum_i z_i w_p(i)'

are sums over blocks of circular correlations: a Fourier transform of length b for each feature of a block, and a product
for each pair of features and frequency, whatever the number of shifts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.gram.block_shifts import MIN_BLOCK_ROWS
from mercer.gram.shuffled_rows import Pieces, PiecesInMemory, ShuffledRows
from mercer.gram.threads import in_order
from mercer.htest.dependence.block_shift_evidence import BlockShiftEvidence
from mercer.htest.dependence.hsic_statistic import mean_tolerance
from mercer.htest.dependence.streamed_variables import StreamedVariables
from mercer.htest.dependence.sums.cyclic_permutations import CyclicPermutations
from mercer.kernels.base import Points

_STRIP_ROWS = 2**14  # a tenth of a second with a hundred features
_SHARE = 4  # of the memory budget, for the spectra of a task, and for its rows
_SPECTRA, _COPIES = 3, 6  # of a block and of the features of a strip, that a task has in memory


def check_products_fit(width: int) -> None:
    """Raise where the products of so many features of both variables, for the smallest blocks, exceed their share."""
    needed, share = _product_bytes(width, width) * MIN_BLOCK_ROWS, settings().memory // _SHARE
    if needed > share:
        raise MemoryBudgetError(
            f"products of {width:,} features of x and of y in parts need {needed / 2**20:,.0f} MiB, more than a "
            "quarter of the memory budget: use fewer, or raise mercer.config(memory=...)"
        )


def _product_bytes(p: int, q: int) -> int:
    """Memory for each row of a block; a constant variable has no features."""
    return 8 * _SPECTRA * max(p * q, 1)


class PointFeatures(Protocol):
    """Features of points."""

    @property
    def width(self) -> int:
        """The number of features, at most."""
        ...

    def __call__(self, points: Points, /) -> np.ndarray:
        """The features: (n, width)."""
        ...


@dataclass(frozen=True, eq=False)
class FeatureTraces:
    """|A|^2 of the cross-products A of centred features, which is n^2 HSIC."""

    n: int
    trace: float  # of the observed pairing
    shifted: np.ndarray  # (b,), of all shifts; without blocks, of none
    bound: float  # of the rounding of sums over pairs

    @property
    def observed(self) -> float:
        """HSIC of the observed pairing."""
        return self.trace / self.n**2

    @property
    def tolerance(self) -> float:
        """Largest difference by rounding between equal values."""
        return mean_tolerance(self.n, self.bound / self.n**2)

    def permuted(self, cyclic: CyclicPermutations) -> np.ndarray:
        """HSIC of all permutations: (b,)."""
        return self.shifted[cyclic.positions] / self.n**2


class StreamedFeatureHSIC(BlockShiftEvidence[FeatureTraces]):
    """HSIC of two variables in parts, by features of both."""

    bytes_per_row, bytes_per_order = 16, 8  # places, and the orders themselves

    def __init__(self, both: StreamedVariables, maps: tuple[PointFeatures, PointFeatures]) -> None:
        super().__init__(both)
        pairs = list(zip(maps, both.variables, strict=True))
        x, y = (z(variable.points).mean(axis=0) for z, variable in pairs)
        self._maps = _Centred(maps[0], x), _Centred(maps[1], y)

    def _most_block_rows(self) -> int:
        x, y = self._maps
        return settings().memory // _SHARE // _product_bytes(len(x.mean), len(y.mean))

    def _strip_rows(self, block: int | None) -> int:
        rows = max(min(_STRIP_ROWS, settings().memory // _SHARE // self._row_bytes), 1)
        return rows if block is None else max(rows // block, 1) * block

    @property
    def _row_bytes(self) -> int:
        """Memory of a row in a task."""
        return 8 * _COPIES * (self.both.width + sum(z.features.width for z in self._maps))

    def _sums(
        self,
        points: tuple[ShuffledRows, ShuffledRows],
        strips: Sequence[slice],
        block: int | None,
    ) -> FeatureTraces:
        x, y = self._maps
        total = _CrossSums.zeros((len(x.mean), len(y.mean)), block)
        tasks = [Pieces(points, (i,)) for i in range(len(strips))]
        held = self._row_bytes * (strips[0].stop - strips[0].start) + 2 * total.spectrum.nbytes
        for sums in in_order(_StripSums(self._maps, block), tasks, parallel=True, held=held):
            total.add(sums)
        return total.traces(self.n, block)

    def _of_passes(self, passes: Sequence[FeatureTraces], order: np.ndarray) -> FeatureTraces:
        return replace(passes[0], shifted=np.concatenate([each.shifted for each in passes]))


@dataclass(frozen=True, eq=False)
class _Centred:
    """Features less their mean over the subsample, so that sums of squares lose no digits."""

    features: PointFeatures
    mean: np.ndarray

    def __call__(self, points: Points) -> np.ndarray:
        return self.features(points) - self.mean


@dataclass(eq=False)
class _CrossSums:
    """Sums over rows of features z (p,) and w (q,)."""

    first: np.ndarray  # (p,), of z
    second: np.ndarray  # (q,), of w
    squares: np.ndarray  # (2,), of |z|^2 and |w|^2
    products: np.ndarray  # (p, q), of z w'
    fixed: np.ndarray  # (p, q), of the rows at the end, which stay
    spectrum: np.ndarray  # (b // 2 + 1, p, q), transform of A of the others

    @classmethod
    def zeros(cls, widths: tuple[int, int], block: int | None) -> _CrossSums:
        """Sums over no rows."""
        shapes = widths[:1], widths[1:], (2,), widths, widths
        first, second, squares, products, fixed = (np.zeros(s, dtype=np.float64) for s in shapes)
        frequencies = 0 if block is None else block // 2 + 1
        spectrum = np.zeros((frequencies, *widths), dtype=np.complex128)
        return cls(first, second, squares, products, fixed, spectrum)

    def add(self, other: _CrossSums) -> None:
        """Add sums over other rows."""
        self.first += other.first
        self.second += other.second
        self.squares += other.squares
        self.products += other.products
        self.fixed += other.fixed
        self.spectrum += other.spectrum

    def traces(self, n: int, block: int | None) -> FeatureTraces:
        """|A|^2 of features less their means over n rows."""
        means = np.outer(self.first, self.second) / n
        trace, bound = np.sum((self.products - means) ** 2), np.prod(self.squares)
        shifted = np.zeros(block or 0, dtype=np.float64)
        for i, columns in enumerate(np.moveaxis(self.spectrum, 1, 0) if block else []):
            values = np.fft.irfft(columns, block, axis=0) + (self.fixed[i] - means[i])
            shifted += np.einsum("tq,tq->t", values, values)
        return FeatureTraces(n, float(trace), shifted, float(bound))


@dataclass(frozen=True, eq=False)
class _StripSums:
    """Sums over the rows of a strip."""

    maps: tuple[_Centred, _Centred]
    block: int | None

    def __call__(self, pieces: Pieces | PiecesInMemory) -> _CrossSums:
        ((x, y),) = pieces.read()
        z, w = self.maps[0](x), self.maps[1](y)
        sums = _CrossSums.zeros((z.shape[1], w.shape[1]), self.block)
        sums.first[:], sums.second[:] = z.sum(axis=0), w.sum(axis=0)
        sums.squares[:] = np.vdot(z, z), np.vdot(w, w)
        sums.products[:] = z.T @ w
        if self.block is not None:
            blocks = len(z) // self.block
            whole = blocks * self.block
            sums.fixed[:] = z[whole:].T @ w[whole:]
            a, b = (
                np.fft.rfft(v[:whole].reshape(blocks, self.block, v.shape[1]), axis=1)
                for v in (z, w)
            )
            sums.spectrum[:] = np.conj(a).transpose(1, 2, 0) @ b.transpose(1, 0, 2)
        return sums
