"""Data frames of any kind at the door: numbers and category codes in one array, column names kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

_CODE_BITS = 52  # every code is a whole number that float64 holds exactly


@dataclass(frozen=True)
class Columns:
    """The names of a table's columns, and which of them hold categories."""

    names: tuple[str, ...]
    categorical: tuple[bool, ...]

    def index(self, column: str | int) -> int:
        """Position of a column given by name or number."""
        if isinstance(column, int):
            if not -len(self.names) <= column < len(self.names):
                raise ValueError(f"no column {column}: the data has {len(self.names)} columns")
            return column % len(self.names)
        if column not in self.names:
            raise ValueError(f"no column {column!r}: the data has {', '.join(self.names)}")
        return self.names.index(column)

    def take(self, positions: Sequence[int]) -> Columns:
        """The columns at these positions."""
        return Columns(
            tuple(self.names[i] for i in positions), tuple(self.categorical[i] for i in positions)
        )


@dataclass(frozen=True)
class Table:
    """A data frame as an array: categories as codes that are the same in every frame."""

    values: np.ndarray
    columns: Columns


def table(x: object, name: str) -> Table | None:
    """`x` as a `Table` if it is a data frame or series of any library, else None."""
    import narwhals.stable.v1 as nw

    frame: Any = nw.from_native(x, pass_through=True, allow_series=True)  # type: ignore[call-overload]
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(f"{name} is a lazy frame: call .collect() first")
    if isinstance(frame, nw.Series):
        frame = frame.alias(str(frame.name or name)).to_frame()
    if not isinstance(frame, nw.DataFrame):
        return None
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        raise ValueError(f"{name} must have rows and columns, got a frame of shape {frame.shape}")
    names = tuple(str(c) for c in frame.columns)
    parts = [_column(frame[c], label, name) for c, label in zip(frame.columns, names, strict=True)]
    _refuse_missing([missing for _, _, missing in parts], names, name)
    single = all(values.dtype == np.float32 for values, _, _ in parts)
    values = np.stack([v for v, _, _ in parts], axis=1, dtype=np.float32 if single else np.float64)
    return Table(values, Columns(names, tuple(categorical for _, categorical, _ in parts)))


def category_codes(labels: Sequence[object] | np.ndarray) -> np.ndarray:
    """A whole number for each label, a hash, so that equal labels have equal codes in every sample."""
    levels, inverse = np.unique(np.asarray(labels, dtype=str), return_inverse=True)
    codes = [int.from_bytes(blake2b(s.encode(), digest_size=8).digest()) for s in levels]
    return np.array([c >> (64 - _CODE_BITS) for c in codes], dtype=np.float64)[inverse]


def _column(series: Any, label: str, name: str) -> tuple[np.ndarray, bool, int]:
    """Values, whether they are categories, and how many are missing."""
    import narwhals.stable.v1 as nw

    dtype = series.dtype
    missing = int(series.is_null().sum())
    if dtype == nw.Boolean or dtype.is_numeric():
        if missing:
            series = series.drop_nulls()
        native = np.float32 if dtype == nw.Float32 else np.float64
        values = np.asarray(series.to_numpy()).astype(native)
        return values, False, missing + int(np.isnan(values).sum())
    if dtype in (nw.String, nw.Categorical, nw.Enum) or (
        dtype == nw.Object and all(isinstance(v, str | None) for v in series.to_list())
    ):
        return category_codes([str(v) for v in series.to_list()]), True, missing
    raise TypeError(
        f"column {label!r} of {name} has dtype {dtype}: turn it into numbers or strings, or leave it out"
    )


def _refuse_missing(missing: list[int], names: tuple[str, ...], name: str) -> None:
    if any(missing):
        counts = ", ".join(f"{c}: {k}" for c, k in zip(names, missing, strict=True) if k)
        raise ValueError(
            f"{name} has missing values ({counts}): drop those rows or impute them first"
        )
