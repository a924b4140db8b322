"""Quadratic forms of several kernel matrices at many labellings of their points, in one pass.

A statistic of samples is a sum of k(x_i, x_j) over pairs i != j whose weights depend on the labels
alone. Permutation tests stay exact in float32 if the observed labelling is treated like the others; the
reported statistic comes from the same tiles in full precision. Where resampled statistics are tied,
rounding to float32 would break the ties, and the caller asks for float64 (`precise`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import log2
from typing import Any

import numpy as np

from mercer.backend import (
    Array,
    array_like,
    is_numpy,
    namespace,
    on_accelerator,
    on_gpu,
    ones,
    set_diagonal,
    to_numpy,
    zeros,
)
from mercer.gram.decoded_labels import DecodedLabels, decoded_labels, sum_of_squares, tile_forms
from mercer.gram.device_engine import device_engine
from mercer.gram.device_work import DeviceWork
from mercer.gram.gaussian_stripes import (
    MAX_LABELLINGS_TOGETHER,
    GaussianLoops,
    PairWeights,
    takes,
)
from mercer.gram.kernel_family import Family
from mercer.gram.resampling_weights import CodedColumns
from mercer.gram.threads import (
    GPU_TILE,
    MAX_FEW_VECTORS,
    MIN_COLUMNS_FOR_WIDE_TILES,
    TILE,
    in_order,
    rows_of_stripe,
    side,
    spans,
    while_wanted,
)
from mercer.linalg import one_blas_thread

_MIN_ROWS_OF_TILE = 128  # smaller tiles cost more in calls than in arithmetic
_MIN_STRIPES = 16  # small samples get smaller tiles, so that every thread has several stripes
_WIDE_TILE_BYTES = 2**23  # of a tile that meets many labellings: fewer sums of products
# arrays of the size of a tile in use at once: three shared ones (for Stein kernels), and temporaries
_TILES_IN_USE = 6
_SAMPLED_POINTS = 64  # points whose kernel values give the shift and the unit of a kernel
_MAX_UNSCALED = (
    1e20  # values beyond it, or below its inverse, are scaled before they become float32
)


@dataclass(frozen=True)
class PairSums:
    """Sums of K_ij - shift over pairs i != j in float64, one row for each kernel.

    With weights u of the points, K_ij stands for u_i u_j k(x_i, x_j).
    """

    shift: np.ndarray  # (kernels,), subtracted from k before anything else
    rows: np.ndarray  # (kernels, n): sum_j K_ij
    squares: np.ndarray  # (kernels,): sum_ij K_ij^2
    forms: np.ndarray  # (kernels, labels): t'Kt of the labels given as numbers


@dataclass(frozen=True)
class Labelled:
    """Result of a pass over the tiles: sums in float64, and the forms of coded labels."""

    sums: PairSums
    forms: np.ndarray  # (kernels, tables, columns)


def labelled(
    family: Family,
    labels: np.ndarray,
    coded: CodedColumns | None = None,
    *,
    tables: Sequence[np.ndarray] = (),
    weights: np.ndarray | None = None,
    known: PairSums | None = None,
    precise: bool = False,
) -> Labelled:
    """Sums over pairs i != j of the points of a family, in one pass over its tiles.

    Parameters
    ----------
    family : Family
        Kernels on one set of points.
    labels : array (n, labels)
        Labellings t whose t'Kt is computed in full precision.
    coded : CodedColumns, DeviceColumns or None
        Resampled labellings, as columns of two or more values.
    tables : sequence of arrays
        The values of the codes; several tables give several forms per labelling.
    weights : array (n,) or None
        Weights of the points.
    known : PairSums or None
        Sums of an earlier pass, which a GPU then does not compute again.
    precise : bool
        Compute forms of coded labels in float64; by default they are in float32, on a GPU from kernel
        values rounded to half precision.
    """
    if on_gpu(family.x) and weights is None and not precise:
        result = _on_gpu(family, labels, coded, known)
        if result is not None:
            return result
    n = family.shape[0]
    stripes = 1 if on_accelerator(family.like) else _MIN_STRIPES
    size = min(side(family.like), max(_MIN_ROWS_OF_TILE, -(-n // stripes)))
    size = size if family.loops is None else rows_of_stripe(n, MAX_FEW_VECTORS + 1)
    shift, units = scales_of(family)
    work = _gaussian_stripe(family, labels, weights, (shift, units), coded, tables, size, precise)
    if work is None:
        columns = decoded_labels(coded, tables, family.like, n, precise)
        work = _FormsStripe(family, labels, weights, shift, units, columns, size)
    kinds, width = len(tables), 0 if coded is None else coded.width
    rows = np.zeros((len(family), n), dtype=np.float64)
    squares = np.zeros(len(family), dtype=np.float64)
    exact = np.zeros((len(family), labels.shape[1]), dtype=np.float64)
    forms = np.zeros((len(family), kinds, width), dtype=np.float64)
    tasks = range(len(spans(n, size)))
    parallel = is_numpy(family.like) and n > 2 * _MIN_ROWS_OF_TILE
    per_stripe = in_order(work, tasks, parallel=parallel, held=work.bytes_per_stripe)
    # Several BLAS threads would make the products of few points slower, on a busy machine many times.
    with one_blas_thread() if is_numpy(family.like) else nullcontext():
        for span, stripe in zip(spans(n, size), per_stripe, strict=True):
            rows[:, span.start :] += stripe.sums.rows
            squares += stripe.sums.squares
            exact += stripe.sums.forms
            forms += stripe.forms
    return Labelled(PairSums(shift, rows, squares, exact), forms)


def _on_gpu(
    family: Family, labels: np.ndarray, coded: Any, known: PairSums | None
) -> Labelled | None:
    """`labelled` by fused tiles, with forms in half precision; None where a kernel has none."""
    if isinstance(coded, CodedColumns):  # columns that only the host can generate
        return None
    shift = scales_of(family)[0] if known is None else known.shift
    fused = device_engine().fused_family(family.kernels, family.x, shift)
    if fused is None:
        return None
    if known is None:
        known = PairSums(shift, *fused.sums(labels))
    forms = np.empty((len(family), 0, 0)) if coded is None else fused.forms(coded)[:, None, :]
    return Labelled(known, forms)


@dataclass(frozen=True)
class _FormsStripe(DeviceWork):
    """i -> contributions of the tiles (i, i), (i, i+1), ... and their transposes."""

    family: Family
    labels: np.ndarray
    weights: np.ndarray | None
    shift: np.ndarray
    units: np.ndarray
    columns: DecodedLabels | None
    size: int

    @property
    def movable_pairs(self) -> int:
        """All pairs of points of a family."""
        return self.family.movable_pairs

    def on_device(self, device: str) -> _FormsStripe:
        """The same stripes with points and labels on a device."""
        family = self.family.on_device(device)
        columns = None if self.columns is None else self.columns.like_points(family.like)
        return replace(self, family=family, columns=columns)

    @property
    def wide(self) -> int:
        """Columns of a tile beside the diagonal."""
        if on_accelerator(self.family.like):
            return max(GPU_TILE**2 // self.size, self.size)
        narrow = self.columns is None or self.columns.shape[1] < MIN_COLUMNS_FOR_WIDE_TILES
        return self.size if narrow else max(_WIDE_TILE_BYTES // (8 * self.size), self.size)

    @property
    def bytes_per_stripe(self) -> int:
        """Memory of a stripe: tiles, labels as floats, products of both, and row sums."""
        kinds, width = (0, 0) if self.columns is None else self.columns.shape
        tiles = _TILES_IN_USE * 8 * self.size * self.wide
        labels = 4 * kinds * width * (2 * self.size + self.wide)
        return tiles + labels + 8 * len(self.family) * self.family.shape[0]

    def __call__(self, i: int) -> Labelled:
        n, count = self.family.shape[0], len(self.family)
        tiles = spans(n, self.size)
        rows = tiles[i]
        kinds, width = (0, 0) if self.columns is None else self.columns.shape
        sums = np.zeros((count, n - rows.start), dtype=np.float64)
        squares = np.zeros(count, dtype=np.float64)
        exact = np.zeros((count, self.labels.shape[1]), dtype=np.float64)
        forms = np.zeros((count, kinds, width), dtype=np.float64)
        row_labels = None if self.columns is None else self.columns.rows(rows)
        for columns in while_wanted([rows, *spans(n, self.wide, first=rows.stop)]):
            times = 1.0 if columns == rows else 2.0
            column_labels = row_labels if columns == rows else None
            if column_labels is None and self.columns is not None:
                column_labels = self.columns.rows(columns)
            for k, tile in enumerate(self.family.tiles(rows, columns)):
                tile = self._shifted(tile, k, rows, columns)
                squared = self._exact(tile, rows, columns, (sums[k], exact[k]), times)
                squares[k] += times * squared
                if self.columns and row_labels is not None and column_labels is not None:
                    unit = 1.0 if self.columns.precise else float(self.units[k])
                    forms[k] += times * tile_forms(tile, row_labels, column_labels, unit)
        return Labelled(PairSums(self.shift, sums, squares, exact), forms)

    def _shifted(self, tile: Array, k: int, rows: slice, columns: slice) -> Array:
        """The tile minus the shift, with weights, and with zeros on the diagonal of the matrix."""
        tile -= float(self.shift[k])
        if self.weights is not None:
            tile *= array_like(self.weights[rows], tile)[:, None]
            tile *= array_like(self.weights[columns], tile)[None, :]
        if rows == columns:
            set_diagonal(tile, 0, 0, zeros((rows.stop - rows.start,), tile))
        return tile

    def _exact(
        self,
        tile: Array,
        rows: slice,
        columns: slice,
        into: tuple[np.ndarray, np.ndarray],
        times: float,
    ) -> float:
        """Add the sums of a tile in full precision; returns the sum of its squares."""
        sums, forms = into
        xp, start = namespace(tile), rows.start
        labels = array_like(self.labels[columns], tile)
        constant = ones((tile.shape[1], 1), tile)
        product = to_numpy(tile @ xp.concat([constant, labels], axis=1)).astype(np.float64)
        sums[: rows.stop - start] += product[:, 0]
        forms += times * np.sum(self.labels[rows] * product[:, 1:], axis=0)
        if columns != rows:
            across = ones((1, tile.shape[0]), tile) @ tile
            sums[columns.start - start : columns.stop - start] += to_numpy(across)[0]
        return sum_of_squares(tile)


@dataclass(frozen=True)
class _GaussianFormsStripe(DeviceWork):
    """The same as `_FormsStripe` for one Gaussian kernel, in compiled loops."""

    loops: GaussianLoops
    n: int
    pairs: PairWeights
    scales: tuple[float, float]  # shift and unit
    size: int
    made_of: tuple[Any, ...]  # arguments of `_gaussian_stripe`, which another process calls again

    def __reduce__(self) -> Any:
        return _gaussian_stripe, self.made_of

    @property
    def movable_pairs(self) -> int:
        """All pairs of points of a family."""
        return self.made_of[0].movable_pairs

    def on_device(self, device: str) -> _FormsStripe:
        """The same stripes by torch, with points and labels on a device."""
        family, labels, weights, (shift, units), coded, tables, size, precise = self.made_of
        family = family.on_device(device)
        columns = decoded_labels(coded, tables, family.like, self.n, precise)
        return _FormsStripe(family, labels, weights, shift, units, columns, size)

    @property
    def bytes_per_stripe(self) -> int:
        """Memory of a stripe: a tile and its rounded copy, labels of 512 labellings and products, row sums."""
        return 8 * (2 * self.size * TILE + 3 * MAX_LABELLINGS_TOGETHER * TILE + self.n)

    def __call__(self, i: int) -> Labelled:
        rows = spans(self.n, self.size)[i]
        sums = np.zeros((1, self.n - rows.start), dtype=np.float64)
        exact = np.zeros((1, len(self.pairs.labels)), dtype=np.float64)
        forms = np.zeros((1, len(self.pairs.tables), len(self.pairs.codes)), dtype=np.float64)
        size = rows.stop - rows.start
        of_rows, of_columns, unused = sums[0, :size], sums[0, size:], np.zeros(size)
        squares = 0.0
        for columns, across in ((rows, unused), (slice(rows.stop, self.n), of_columns)):
            into = of_rows, across, exact[0], forms[0]
            squares += self.loops.add_pair_sums(rows, columns, self.pairs, self.scales, into)
        shift = np.array([self.scales[0]])
        return Labelled(PairSums(shift, sums, np.array([squares]), exact), forms)


def _gaussian_stripe(
    family: Family,
    labels: np.ndarray,
    weights: np.ndarray | None,
    scales: tuple[np.ndarray, np.ndarray],
    coded: CodedColumns | None,
    tables: Sequence[np.ndarray],
    size: int,
    precise: bool,
) -> _GaussianFormsStripe | None:
    """Stripes in compiled loops; None where there are none for the kernels, the precision or the codes."""
    loops = family.loops
    if loops is None or (coded is not None and not takes(coded.codes)):
        return None
    kind = np.dtype(np.float64 if precise else np.float32)
    if kind.itemsize > family.like.dtype.itemsize:
        return None
    values = np.stack(tables).astype(kind) if len(tables) else np.empty((0, 1), kind)
    pairs = PairWeights.of(to_numpy(family.like), labels, weights, coded, values)
    shift, unit = float(scales[0][0]), 1.0 if precise else float(scales[1][0])
    made_of = family, labels, weights, scales, coded, tables, size, precise
    return _GaussianFormsStripe(loops, family.shape[0], pairs, (shift, unit), size, made_of)


def scales_of(family: Family) -> tuple[np.ndarray, np.ndarray]:
    """An estimate of the mean of every kernel, and a unit in which float32 represents its values.

    Estimated from pairs of the first points, and of first with last points: in sorted rows the first
    and the last are so far apart that local kernels vanish between them. The unit is a power of two, so
    that dividing by it is exact, and it is 1 unless values (of dot products, say) are very large or
    very small.
    """
    n = family.shape[0]
    first = slice(0, min(_SAMPLED_POINTS, n))
    last = slice(max(n - _SAMPLED_POINTS, 0), n)
    means, units = [], []
    for near, far in zip(family.tiles(first, first), family.tiles(first, last), strict=True):
        values = np.stack([to_numpy(tile).astype(np.float64) for tile in (near, far)])
        means.append(_mean_of_pairs(values[0]) / 2 + float(values[1].mean()) / 2)
        top = float(np.max(np.abs(values - means[-1])))
        plain = top == 0 or 1 / _MAX_UNSCALED < top < _MAX_UNSCALED
        units.append(1.0 if plain else 2.0 ** round(log2(top)))
    return np.array(means, dtype=np.float64), np.array(units, dtype=np.float64)


def _mean_of_pairs(values: np.ndarray) -> float:
    """The mean over pairs i != j; the diagonal, k(x, x), is left out as larger than the rest."""
    n = len(values)
    return float((values.sum() - np.trace(values)) / (n * (n - 1))) if n > 1 else 0.0
