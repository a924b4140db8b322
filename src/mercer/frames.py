"""Data frames of any kind at the door: numbers and category codes in one array, column names kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

_CODE_BITS = 52  # every code is a whole number that float64 holds exactly
ROUNDED = "float64 would round them, subtract or divide by a constant first (labels: use text)"


@dataclass(frozen=True)
class Columns:
    """The names of a table's columns, and which of them hold categories."""

    names: tuple[str, ...]
    categorical: tuple[bool, ...]

    def index(self, column: str | int, name: str = "x") -> int:
        """Position of a column of the data `name`, given by its own name or number."""
        width = len(self.names)
        if isinstance(column, int):
            if not -width <= column < width:
                raise ValueError(
                    f"no column {column}: {name} has {width} columns, use 0 to {width - 1}"
                )
            return column % width
        if column not in self.names:
            raise ValueError(f"no column {column!r} in {name}: use {', '.join(self.names)}")
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
    series: bool = False
    labels: Mapping[float, str] = field(default_factory=dict, repr=False, compare=False)  # of codes

    def __len__(self) -> int:
        return len(self.values)

    def categories(self) -> dict[str, frozenset[str]]:
        """The labels that occur in each column of categories, by the name of the column."""
        return {
            name: frozenset(self.labels[code] for code in np.unique(self.values[:, i]).tolist())
            for i, name in enumerate(self.columns.names)
            if self.columns.categorical[i]
        }


def table(x: object, name: str) -> Table | None:
    """`x` as a `Table` if it is a data frame or series of any library, else None."""
    import narwhals.stable.v1 as nw

    if isinstance(x, Table):
        return x
    frame = _frame(x, name)
    series = isinstance(frame, nw.Series)
    if series:
        frame = frame.alias(str(frame.name or name)).to_frame()
    if not isinstance(frame, nw.DataFrame):
        return None
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        raise ValueError(f"{name} must have rows and columns, got a frame of shape {frame.shape}")
    names = tuple(str(c) for c in frame.columns)
    if len(set(names)) < len(names):
        raise ValueError(f"{name} must have columns of different names, got {names}: rename some")
    labels = zip(frame.columns, names, strict=True)
    parts = [_column(frame.get_column(c), label, name) for c, label in labels]
    _refuse_missing([part.missing for part in parts], names, name)
    single = all(part.values.dtype == np.float32 for part in parts)
    dtype = np.float32 if single else np.float64
    values = np.stack([part.values for part in parts], axis=1, dtype=dtype)
    categorical = tuple(part.labels is not None for part in parts)
    labels = {code: label for part in parts for code, label in (part.labels or {}).items()}
    return Table(values, Columns(names, categorical), series, labels)


def numbers(x: object, name: str) -> np.ndarray | None:
    """A data frame of numbers as an array (n, d), a series as (n,); None if `x` is neither."""
    data = table(x, name)
    if data is None:
        return None
    if any(data.columns.categorical):
        label = data.columns.names[data.columns.categorical.index(True)]
        raise TypeError(
            f"column {label!r} of {name} holds categories where numbers are needed: leave it out"
        )
    return data.values[:, 0] if data.series else data.values


def rows(x: object, positions: Sequence[int]) -> Any:
    """The rows of a data frame or series, in its own library; None if `x` is neither."""
    import narwhals.stable.v1 as nw

    frame = _frame(x, "x")
    found = isinstance(frame, nw.DataFrame | nw.Series)
    return frame[list(positions)].to_native() if found else None


def category_codes(labels: Sequence[object] | np.ndarray) -> np.ndarray:
    """A whole number for each label, a hash, so that equal labels have equal codes in every sample."""
    return _coded(labels)[0]


def _coded(labels: Sequence[object] | np.ndarray) -> tuple[np.ndarray, dict[float, str]]:
    """The code of each label, and the label of each code."""
    levels, inverse = np.unique(np.asarray(labels, dtype=str), return_inverse=True)
    hashes = [int.from_bytes(blake2b(s.encode(), digest_size=8).digest()) for s in levels]
    codes = np.array([h >> (64 - _CODE_BITS) for h in hashes], dtype=np.float64)
    return codes[inverse], dict(zip(codes.tolist(), levels.tolist(), strict=True))


def unmasked(x: object, name: str) -> None:
    """No value of a masked array may be hidden."""
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise ValueError(f"{name} has masked values: drop those rows or fill them first")


def exact(values: np.ndarray, what: str) -> None:
    """Refuse integers that float64 would round."""
    if values.dtype.kind not in "iu" or values.size == 0:
        return
    if not -(2**53) <= values.min() <= values.max() <= 2**53:
        raise ValueError(f"{what} has integers beyond 2**53: {ROUNDED}")


def _frame(x: Any, name: str) -> Any:
    """`x` as a frame or series of narwhals if it is one."""
    import narwhals.stable.v1 as nw

    if type(x).__module__.startswith("pyarrow") and hasattr(x, "validate"):
        import pyarrow

        try:
            x.validate(full=True)  # a damaged offset would end the process
        except pyarrow.ArrowInvalid as problem:
            raise ValueError(f"{name} is a damaged Arrow table: {problem}") from None
        x = pyarrow.Table.from_batches([x]) if isinstance(x, pyarrow.RecordBatch) else x
    try:
        frame: Any = nw.from_native(x, pass_through=True, eager_only=True, allow_series=True)
        lazy = nw.from_native(x, pass_through=True) if frame is x else None
    except ValueError:
        raise ValueError(f"{name} must have columns of different names: rename some") from None
    if isinstance(lazy, nw.LazyFrame):
        raise TypeError(f"{name} is a lazy frame: call .collect() first")
    return frame


class _Part(NamedTuple):
    """A column: its values, how many are missing, and the labels of its codes if it has any."""

    values: np.ndarray
    missing: int
    labels: dict[float, str] | None = None


def _column(series: Any, label: str, name: str) -> _Part:
    import narwhals.stable.v1 as nw

    dtype = series.dtype
    missing = int(series.is_null().sum())
    if dtype == nw.Boolean or dtype.is_numeric() or dtype == nw.Unknown:
        held = np.asarray((series.drop_nulls() if missing else series).to_numpy())
        if held.dtype.kind in "fiub" or dtype.is_numeric():  # decimals come as objects
            exact(held, f"column {label!r} of {name}")
            values = held.astype(np.float32 if held.dtype == np.float32 else np.float64)
            return _Part(values, missing + int(np.isnan(values).sum()))
    if dtype in (nw.String, nw.Categorical, nw.Enum) or (
        dtype == nw.Object and all(isinstance(v, str | None) for v in series.to_list())
    ):
        codes, labels = _coded([str(v) for v in series.to_list()])
        return _Part(codes, missing, labels)
    raise TypeError(
        f"column {label!r} of {name} has dtype {dtype}: turn it into numbers or strings, or leave it out"
    )


def _refuse_missing(missing: list[int], names: tuple[str, ...], name: str) -> None:
    if any(missing):
        counts = ", ".join(f"{c}: {k}" for c, k in zip(names, missing, strict=True) if k)
        raise ValueError(
            f"{name} has missing values ({counts}): drop those rows or impute them first"
        )
