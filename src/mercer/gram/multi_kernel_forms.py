"""Quadratic forms of several kernel matrices at many labellings of their points, in one pass.

A statistic of samples is a sum of k(x_i, x_j) over pairs i != j with weights that depend on the
labels alone. Its resampled values differ from each other by little, and all of them can be in
float32 if the observed one is too; what is reported comes from the same tiles in full precision.
Where resampled values tie, float32 breaks the ties, and they are asked for in float64 instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log2
from typing import Any

import numpy as np

from mercer.backend import (
    Array,
    array_like,
    astype,
    is_numpy,
    namespace,
    on_gpu,
    set_diagonal,
    to_numpy,
    transposed,
)
from mercer.backend import ones as ones_like
from mercer.backend import zeros as zeros_like
from mercer.config import settings
from mercer.gram.kernel_family import Family
from mercer.gram.resampling_weights import CodedColumns
from mercer.gram.threads import MANY, TILE, in_order, spans, while_wanted

_LEAST = 128  # rows of a tile, of few points
_PARTS = 16  # stripes of tiles into which few points are cut
_WIDE_BYTES = 2**23  # of a tile that meets many labellings
# tiles of one size at a time: what kernels share (three for Stein kernels), and their own
_TILES = 6
_SOME = 64  # points whose kernel values tell the shift
_SAFE = 1e20  # kernel values beyond it, or below its inverse, are scaled on their way to float32


@dataclass(frozen=True)
class Sums:
    """Sums of K_ij - shift over pairs i != j, exact to float64: of every kernel one row.

    With weights u of the points, K_ij stands for u_i u_j k(x_i, x_j).
    """

    shift: np.ndarray  # (kernels,), subtracted from k before anything else
    rows: np.ndarray  # (kernels, n): sum_j K_ij
    squares: np.ndarray  # (kernels,): sum_ij K_ij^2
    forms: np.ndarray  # (kernels, labels): t'Kt of labels that were held


@dataclass(frozen=True)
class Labelled:
    """What a pass over the tiles found: exact sums, and the forms of coded labels."""

    sums: Sums
    forms: np.ndarray  # (kernels, tables, columns)


def labelled(
    family: Family,
    held: np.ndarray,
    coded: CodedColumns | None = None,
    *,
    tables: Sequence[np.ndarray] = (),
    weights: np.ndarray | None = None,
    known: Sums | None = None,
    precise: bool = False,
) -> Labelled:
    """Sums over pairs i != j of the points of a family, in one pass over its tiles.

    Parameters
    ----------
    family : Family
        Kernels on one set of points.
    held : array (n, labels)
        Labellings t whose t'Kt is wanted in full precision.
    coded : CodedColumns, DeviceColumns or None
        Labellings whose forms are wanted, as columns of two or more values.
    tables : sequence of arrays
        The numbers the codes stand for; several tables give several forms per labelling.
    weights : array (n,) or None
        Of the points.
    known : Sums or None
        What an earlier pass found, which a GPU then leaves out.
    precise : bool
        Forms of coded labels in float64; else they are in float32, or of kernel values rounded to
        half precision on a GPU.
    """
    if on_gpu(family.x) and weights is None and not precise:
        found = _on_gpu(family, held, coded, known)
        if found is not None:
            return found
    n = family.shape[0]
    size = min(TILE, max(_LEAST, -(-n // _PARTS)))
    shift, units = _scales(family)
    columns = _columns(coded, tables, family.like, n, precise)
    work = _Stripe(family, held, weights, shift, units, columns, size)
    kinds, width = len(tables), 0 if coded is None else coded.width
    rows = np.zeros((len(family), n), dtype=np.float64)
    squares = np.zeros(len(family), dtype=np.float64)
    exact = np.zeros((len(family), held.shape[1]), dtype=np.float64)
    forms = np.zeros((len(family), kinds, width), dtype=np.float64)
    tasks = range(len(spans(n, size)))
    parallel = is_numpy(family.like) and n > 2 * _LEAST
    parts = in_order(work, tasks, parallel=parallel, held=work.held_bytes)
    for start, part in zip(spans(n, size), parts, strict=True):
        rows[:, start.start :] += part.sums.rows
        squares += part.sums.squares
        exact += part.sums.forms
        forms += part.forms
    return Labelled(Sums(shift, rows, squares, exact), forms)


def _on_gpu(family: Family, held: np.ndarray, coded: Any, known: Sums | None) -> Labelled | None:
    """The same by fused tiles, forms of half precision; None where a kernel has none."""
    from mercer.gram.cuda.fused_family import fused_family
    from mercer.gram.cuda.weight_columns import DeviceColumns

    if not (coded is None or isinstance(coded, DeviceColumns)):
        return None
    shift = _scales(family)[0] if known is None else known.shift
    made = fused_family(family.kernels, family.x, shift)
    if made is None:
        return None
    if known is None:
        known = Sums(shift, *made.sums(held))
    forms = np.empty((len(family), 0, 0)) if coded is None else made.forms(coded)[:, None, :]
    return Labelled(known, forms)


@dataclass(frozen=True)
class _Stripe:
    """i -> what the tiles (i, i), (i, i+1), ... and their transposes add."""

    family: Family
    held: np.ndarray
    weights: np.ndarray | None
    shift: np.ndarray
    units: np.ndarray
    columns: _Columns | None
    size: int

    @property
    def wide(self) -> int:
        """Columns of a tile beside the diagonal."""
        few = self.columns is None or self.columns.shape[1] < MANY
        return self.size if few else max(_WIDE_BYTES // (8 * self.size), self.size)

    @property
    def held_bytes(self) -> int:
        """What a stripe holds: tiles, labels as floats, products of both, and row sums."""
        kinds, width = (0, 0) if self.columns is None else self.columns.shape
        tiles = _TILES * 8 * self.size * self.wide
        labels = 4 * kinds * width * (2 * self.size + self.wide)
        return tiles + labels + 8 * len(self.family) * self.family.shape[0]

    def __call__(self, i: int) -> Labelled:
        n, count = self.family.shape[0], len(self.family)
        tiles = spans(n, self.size)
        rows = tiles[i]
        kinds, width = (0, 0) if self.columns is None else self.columns.shape
        sums = np.zeros((count, n - rows.start), dtype=np.float64)
        squares = np.zeros(count, dtype=np.float64)
        exact = np.zeros((count, self.held.shape[1]), dtype=np.float64)
        forms = np.zeros((count, kinds, width), dtype=np.float64)
        left = None if self.columns is None else self.columns.rows(rows)
        for columns in while_wanted([rows, *spans(n, self.wide, first=rows.stop)]):
            times = 1.0 if columns == rows else 2.0
            right = left if columns == rows else None
            if right is None and self.columns is not None:
                right = self.columns.rows(columns)
            for k, tile in enumerate(self.family.tiles(rows, columns)):
                tile = self._moved(tile, k, rows, columns)
                below = self._exact(tile, rows, columns, (sums[k], exact[k]), times)
                squares[k] += times * below
                if self.columns is not None and left is not None and right is not None:
                    unit = 1.0 if self.columns.precise else float(self.units[k])
                    forms[k] += times * _forms(tile, left, right, unit)
        return Labelled(Sums(self.shift, sums, squares, exact), forms)

    def _moved(self, tile: Array, k: int, rows: slice, columns: slice) -> Array:
        """The tile less the shift, with weights and without the diagonal of the matrix."""
        tile -= float(self.shift[k])
        if self.weights is not None:
            tile *= array_like(self.weights[rows], tile)[:, None]
            tile *= array_like(self.weights[columns], tile)[None, :]
        if rows == columns:
            set_diagonal(tile, 0, 0, zeros_like((rows.stop - rows.start,), tile))
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
        labels = array_like(self.held[columns], tile)
        ones = ones_like((tile.shape[1], 1), tile)
        product = to_numpy(tile @ xp.concat([ones, labels], axis=1)).astype(np.float64)
        sums[: rows.stop - start] += product[:, 0]
        forms += times * np.sum(self.held[rows] * product[:, 1:], axis=0)
        if columns != rows:
            across = ones_like((1, tile.shape[0]), tile) @ tile
            sums[columns.start - start : columns.stop - start] += to_numpy(across)[0]
        if is_numpy(tile):
            return float(np.vdot(tile, tile))
        return float(xp.sum(tile * tile))


@dataclass(frozen=True)
class _Columns:
    """Labellings as numbers, float32 or float64: for each table an array (columns, points)."""

    coded: CodedColumns
    tables: tuple[np.ndarray, ...]
    like: Array
    precise: bool
    whole: tuple[Array, ...] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.tables), self.coded.width

    def rows(self, rows: slice) -> tuple[Array, ...]:
        """For each table the labels of some points: (columns, rows)."""
        if self.whole is not None:
            return tuple(w[:, rows] for w in self.whole)
        return tuple(self._decoded(table, rows) for table in self.tables)

    def _decoded(self, table: np.ndarray, rows: slice) -> Array:
        xp = namespace(self.like)
        kind = zeros_like((0,), self.like, xp.float64 if self.precise else xp.float32)
        return transposed(replace(self.coded, table=table, like=kind).rows(rows))


def _columns(
    coded: CodedColumns | None, tables: Sequence[np.ndarray], like: Array, n: int, precise: bool
) -> _Columns | None:
    if coded is None:
        return None
    columns = _Columns(coded, tuple(tables), like, precise)
    size = 8 if precise else 4
    if size * n * coded.width * len(tables) > settings().memory // 8:
        return columns
    return replace(columns, whole=columns.rows(slice(0, n)))


def _forms(
    tile: Array, left: tuple[Array, ...], right: tuple[Array, ...], unit: float
) -> np.ndarray:
    """t_i' K_ij t_j of every table and labelling: (tables, columns)."""
    xp = namespace(tile)
    if unit != 1:
        tile = tile / unit
    turned = xp.permute_dims(astype(tile, right[0].dtype), (1, 0))
    if is_numpy(tile):
        parts = [np.vecdot(a, b @ turned) for a, b in zip(left, right, strict=True)]
    else:
        sums = (xp.sum(a * (b @ turned), axis=1) for a, b in zip(left, right, strict=True))
        parts = [to_numpy(part) for part in sums]
    found = np.stack(parts)
    return found if unit == 1 else unit * found.astype(np.float64)


def _scales(family: Family) -> tuple[np.ndarray, np.ndarray]:
    """About the mean of every kernel, and a unit in which float32 holds its values.

    From the first and the last points, and the first among themselves: in sorted rows, the first
    and the last are so far apart that local kernels vanish between them. A unit is a power of two, so
    that dividing by it rounds nothing, and 1 but for values (of dot products, say) that are very
    large or very small.
    """
    n = family.shape[0]
    first, last = slice(0, min(_SOME, n)), slice(max(n - _SOME, 0), n)
    means, units = [], []
    for near, far in zip(family.tiles(first, first), family.tiles(first, last), strict=True):
        values = np.stack([to_numpy(tile).astype(np.float64) for tile in (near, far)])
        means.append(_mean_of_pairs(values[0]) / 2 + float(values[1].mean()) / 2)
        top = float(np.max(np.abs(values - means[-1])))
        units.append(1.0 if top == 0 or 1 / _SAFE < top < _SAFE else 2.0 ** round(log2(top)))
    return np.array(means, dtype=np.float64), np.array(units, dtype=np.float64)


def _mean_of_pairs(values: np.ndarray) -> float:
    """The mean over pairs i != j: on distinct points the diagonal differs from all of them."""
    n = len(values)
    return float((values.sum() - np.trace(values)) / (n * (n - 1))) if n > 1 else 0.0
