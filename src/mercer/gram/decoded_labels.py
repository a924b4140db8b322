"""Resampled labellings as numbers, and the quadratic forms of a tile at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.backend import Array, astype, is_numpy, namespace, to_numpy, transposed, zeros
from mercer.config import settings
from mercer.gram.resampling_weights import CodedColumns


@dataclass(frozen=True)
class DecodedLabels:
    """Resampled labellings as numbers, float32 or float64: for each table an array (columns, points)."""

    coded: CodedColumns
    tables: tuple[np.ndarray, ...]
    like: Array
    precise: bool
    dense: tuple[Array, ...] | None = None  # of all points, where there is room for them

    def like_points(self, like: Array) -> DecodedLabels | None:
        """The same labellings as arrays of the library and the device of `like`."""
        n = self.coded.codes.shape[1]
        return decoded_labels(self.coded, self.tables, like, n, self.precise)

    def __reduce__(self) -> Any:  # another process decodes them again
        n = self.coded.codes.shape[1]
        return decoded_labels, (self.coded, self.tables, self.like, n, self.precise)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.tables), self.coded.width

    def rows(self, rows: slice) -> tuple[Array, ...]:
        """For each table the labels of these points: (columns, rows)."""
        if self.dense is not None:
            return tuple(w[:, rows] for w in self.dense)
        return tuple(self._decoded(table, rows) for table in self.tables)

    def _decoded(self, table: np.ndarray, rows: slice) -> Array:
        xp = namespace(self.like)
        kind = zeros((0,), self.like, xp.float64 if self.precise else xp.float32)
        return transposed(replace(self.coded, table=table, like=kind).rows(rows))


def decoded_labels(
    coded: CodedColumns | None, tables: Sequence[np.ndarray], like: Array, n: int, precise: bool
) -> DecodedLabels | None:
    """The labellings, decoded at once if they take an eighth of the memory budget at most."""
    if coded is None:
        return None
    columns = DecodedLabels(coded, tuple(tables), like, precise)
    size = 8 if precise else 4
    if size * n * coded.width * len(tables) > settings().memory // 8:
        return columns
    return replace(columns, dense=columns.rows(slice(0, n)))


def sum_of_squares(tile: Array) -> float:
    """sum_ij K_ij^2 of a tile."""
    if is_numpy(tile):
        return float(np.vdot(tile, tile))
    return float(namespace(tile).sum(tile * tile))


def tile_forms(
    tile: Array, row_labels: tuple[Array, ...], column_labels: tuple[Array, ...], unit: float = 1.0
) -> np.ndarray:
    """t_i' K_ij t_j of every table and labelling: (tables, columns)."""
    xp = namespace(tile)
    if unit != 1:
        tile = tile / unit
    columns_first = transposed(astype(tile, column_labels[0].dtype))
    tables = zip(row_labels, column_labels, strict=True)
    if is_numpy(tile):
        forms = np.stack([np.vecdot(a, b @ columns_first) for a, b in tables])
    else:
        sums = (xp.sum(a * (b @ columns_first), axis=1) for a, b in tables)
        forms = np.stack([to_numpy(values) for values in sums])
    return forms if unit == 1 else unit * forms.astype(np.float64)
