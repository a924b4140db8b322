"""Data frames of any library as one array of numbers and category codes, with column names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from mercer.backend import is_array, is_dask
from mercer.config import settings
from mercer.errors import MemoryBudgetError

PANDAS_INDEX = re.compile(r"__index_level_\d+__")  # as pandas calls it in Parquet and Arrow files
_CODE_BITS = 52  # float64 represents every integer of 52 bits exactly
ROUNDED = (
    "float64 would round them; subtract or divide by a constant first (identifiers: use strings)"
)


def rows_frame(rows: Any) -> Any:
    """A pandas data frame of dictionaries, a row for each; entries of entries are joined by dots."""
    try:
        import pandas as pd
    except ModuleNotFoundError as problem:
        raise ImportError("to_frame needs pandas: pip install 'mercer[frames]'") from problem
    return pd.json_normalize(rows)


@dataclass(frozen=True)
class Columns:
    """Names of the columns of a table, and which of them hold categories."""

    names: tuple[str, ...]
    categorical: tuple[bool, ...]

    def index(self, column: str | int, name: str = "x") -> int:
        """Position of a column, given by its name or number; `name` is the table in messages."""
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
    """Data frame as an array; a category has the same code in every frame."""

    values: np.ndarray
    columns: Columns
    series: bool = False
    labels: Mapping[float, str] = field(default_factory=dict, repr=False, compare=False)  # of codes

    def __len__(self) -> int:
        return len(self.values)

    def categories(self) -> dict[str, frozenset[str]]:
        """Labels that occur in each categorical column, by column name."""
        return {
            name: frozenset(self.labels[code] for code in np.unique(self.values[:, i]).tolist())
            for i, name in enumerate(self.columns.names)
            if self.columns.categorical[i]
        }


def with_categories(
    seen: Mapping[str, frozenset[str]], more: Mapping[str, frozenset[str]]
) -> dict[str, frozenset[str]]:
    """Categories by column, with those of more rows."""
    return {**seen, **{name: seen.get(name, frozenset()) | new for name, new in more.items()}}


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
        raise ValueError(
            f"{name} must have different column names, got {names}: rename the duplicates"
        )
    pairs = zip(frame.columns, names, strict=True)
    columns = [_column(frame.get_column(key), label, name) for key, label in pairs]
    _refuse_missing([column.missing for column in columns], names, name)
    single = all(column.values.dtype == np.float32 for column in columns)
    dtype = np.float32 if single else np.float64
    values = np.stack([column.values for column in columns], axis=1, dtype=dtype)
    categorical = tuple(column.labels is not None for column in columns)
    labels = {code: label for c in columns for code, label in (c.labels or {}).items()}
    return Table(values, Columns(names, categorical), series, labels)


def values(x: object, name: str) -> list[Any] | None:
    """Values of a series, or of a data frame with one column, as they are; None if `x` is neither."""
    import narwhals.stable.v1 as nw

    frame = _frame(x, name)
    if isinstance(frame, nw.DataFrame) and frame.shape[1] == 1:
        frame = frame.get_column(frame.columns[0])
    return frame.to_list() if isinstance(frame, nw.Series) else None


def numbers(x: object, name: str) -> np.ndarray | None:
    """Numeric data frame as an array (n, d), a series as (n,); None if `x` is neither."""
    data = table(x, name)
    if data is None:
        return None
    if any(data.columns.categorical):
        label = data.columns.names[data.columns.categorical.index(True)]
        raise TypeError(
            f"column {label!r} of {name} holds categories where numbers are needed: drop the column"
        )
    return data.values[:, 0] if data.series else data.values


def rows(x: object, positions: Sequence[int]) -> Any:
    """Rows of a data frame or series, as an object of its own library; None if `x` is neither."""
    import narwhals.stable.v1 as nw

    frame = _frame(x, "x")
    known = isinstance(frame, nw.DataFrame | nw.Series)
    return frame[list(positions)].to_native() if known else None


def column_names(x: object) -> list[str]:
    """Names of the columns of a data frame; none for anything else."""
    import narwhals.stable.v1 as nw

    frame = None if is_array(x) else _frame(x, "x")
    return list(frame.columns) if isinstance(frame, nw.DataFrame) else []


def split_column(x: object, label: str, name: str) -> tuple[Any, Any]:
    """Values of a column of a data frame, and the frame without it."""
    import narwhals.stable.v1 as nw

    frame = _frame(x, name)
    if not isinstance(frame, nw.DataFrame):
        raise TypeError(
            f"{name} must be a data frame with a column {label!r}, got {type(x).__name__}: pass the times themselves"
        )
    if label not in frame.columns:
        raise ValueError(f"no column {label!r} in {name}: use {', '.join(map(str, frame.columns))}")
    return frame.get_column(label).to_native(), frame.drop(label).to_native()


def category_codes(labels: Sequence[object] | np.ndarray) -> np.ndarray:
    """Integer hash of each label, so that equal labels have equal codes in every sample."""
    return _coded(labels)[0]


def _coded(labels: Sequence[object] | np.ndarray) -> tuple[np.ndarray, dict[float, str]]:
    """Code of each label, and label of each code."""
    levels, inverse = np.unique(np.asarray(labels, dtype=str), return_inverse=True)
    hashes = [int.from_bytes(blake2b(s.encode(), digest_size=8).digest()) for s in levels]
    codes = np.array([h >> (64 - _CODE_BITS) for h in hashes], dtype=np.float64)
    return codes[inverse], dict(zip(codes.tolist(), levels.tolist(), strict=True))


def refuse_masked(x: object, name: str) -> None:
    """Refuse an array with masked values."""
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise ValueError(f"{name} has masked values: drop those rows or fill them first")


def refuse_inexact_integers(values: np.ndarray, what: str) -> None:
    """Refuse integers that float64 would round."""
    if values.dtype.kind not in "iu" or values.size == 0:
        return
    if not -(2**53) <= values.min() <= values.max() <= 2**53:
        raise ValueError(f"{what} has integers beyond 2**53: {ROUNDED}")


def _frame(x: Any, name: str) -> Any:
    """`x` as a narwhals frame or series, or unchanged if it is neither."""
    import narwhals.stable.v1 as nw

    x = in_memory(x, name)
    if type(x).__module__.startswith("pyarrow") and hasattr(x, "validate"):
        import pyarrow

        try:
            x.validate(full=True)  # a damaged offset would crash the process
        except pyarrow.ArrowInvalid as problem:
            raise ValueError(f"{name} is a damaged Arrow table: {problem}") from None
        x = pyarrow.Table.from_batches([x]) if isinstance(x, pyarrow.RecordBatch) else x
    try:
        frame: Any = nw.from_native(x, pass_through=True, eager_only=True, allow_series=True)
        lazy = nw.from_native(x, pass_through=True) if frame is x else None
    except ValueError:
        raise ValueError(
            f"{name} must have different column names: rename the duplicates"
        ) from None
    if isinstance(lazy, nw.LazyFrame):
        raise TypeError(f"{name} is a lazy frame: call .collect() first")
    return frame


def in_memory(x: Any, name: str) -> Any:
    """`x`, read into memory where it is a Dask collection, an Arrow dataset or another stream of Arrow batches."""
    if is_dask(x):
        width = len(x.columns) if hasattr(x, "columns") else int(np.prod(x.shape[1:]))
        _refuse_beyond_budget(8 * len(x) * width, name)
        return x.compute()
    if hasattr(x, "row_stream"):
        return _of_stream(x.row_stream(), name)
    x = x.arrow_dataset() if hasattr(x, "arrow_dataset") else x
    if type(x).__module__.startswith("pyarrow") and hasattr(x, "count_rows"):
        _refuse_beyond_budget(8 * len(x.schema.names) * x.count_rows(), name)
        return x.to_table()
    if type(x).__module__.partition(".")[0] == "zarr" and hasattr(x, "chunks"):
        _refuse_beyond_budget(8 * int(np.prod(x.shape)), name)
    return x


def _of_stream(stream: Any, name: str) -> Any:
    """The rows of a `RowStream` of Arrow batches as one table."""
    import pyarrow

    _refuse_beyond_budget(stream.nbytes, name)
    chunks = (part.chunks(stream.chunk_rows) for part in stream.parts)
    return pyarrow.Table.from_batches([batch for batches in chunks for batch in batches])


def _refuse_beyond_budget(nbytes: int, name: str) -> None:
    budget = settings().memory
    if nbytes > budget:
        raise MemoryBudgetError(
            f"{name} would take {nbytes / 2**20:,.0f} MiB in memory, and the budget is {budget / 2**20:,.0f} MiB: "
            "take a sample of its rows, or raise mercer.config(memory=...); ME, SCF, UME, LinearMMD, BlockMMD, NFSIC, "
            "FSSD and MMD read a sample from files part by part, and so do NystromRidge, NystromLogistic and NystromSVC"
        )


class _FrameColumn(NamedTuple):
    """Values of a column, how many are missing, and the labels of its codes if it has any."""

    values: np.ndarray
    missing: int
    labels: dict[float, str] | None = None


def _column(series: Any, label: str, name: str) -> _FrameColumn:
    import narwhals.stable.v1 as nw

    dtype = series.dtype
    missing = int(series.is_null().sum())
    if dtype == nw.Boolean or dtype.is_numeric() or dtype == nw.Unknown:
        present = np.asarray((series.drop_nulls() if missing else series).to_numpy())
        if present.dtype.kind in "fiub" or dtype.is_numeric():  # decimals arrive as objects
            refuse_inexact_integers(present, f"column {label!r} of {name}")
            values = present.astype(np.float32 if present.dtype == np.float32 else np.float64)
            return _FrameColumn(values, missing + int(np.isnan(values).sum()))
    if dtype in (nw.String, nw.Categorical, nw.Enum) or (
        dtype == nw.Object and all(isinstance(v, str | None) for v in series.to_list())
    ):
        codes, labels = _coded([str(v) for v in series.to_list()])
        return _FrameColumn(codes, missing, labels)
    dates = dtype.is_temporal() or (
        dtype == nw.Object and all(isinstance(v, date | None) for v in series.to_list())
    )
    if dates:
        raise TypeError(
            f"column {label!r} of {name} holds dates or times: convert it to numbers (days), drop it, or name it "
            f"as the order of the rows, time={label!r}"
        )
    raise TypeError(
        f"column {label!r} of {name} has dtype {dtype}: convert it to numbers or strings, or drop it"
    )


def _refuse_missing(missing: list[int], names: tuple[str, ...], name: str) -> None:
    if any(missing):
        counts = ", ".join(f"{c}: {k}" for c, k in zip(names, missing, strict=True) if k)
        raise ValueError(
            f"{name} has missing values ({counts}): drop those rows or impute them first"
        )
