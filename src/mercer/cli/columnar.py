"""Tables in columns: Parquet and Arrow by pyarrow, NPY by NumPy; sizes are asked before reading."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.cli.exits import Refused, WrongUse, one_line
from mercer.cli.source import Source, gib
from mercer.cli.table import File, Labels, Numbers, Wanted, affordable, named, quoted

NPY = b"\x93NUMPY"
_SWELL, _HARMLESS = (
    200,
    64 << 20,
)  # as for archives: Parquet packs repeated values as well as they do
_WHOLE = 2**53


def read_npy(source: Source, wanted: Wanted, progress: Callable[[float], object]) -> File:
    """An array (n, d) or (n,), or a structured one with named fields."""
    name = source.name
    shape, dtype = _npy_header(source)
    if dtype.names is None:
        width = int(np.prod(shape[1:], dtype=np.int64)) if len(shape) > 1 else 1
        names = [f"x{i}" for i in range(1, min(width, 10**6) + 1)]
    else:
        width, names = len(dtype.names), named(dtype.names, wanted, name)
    if not 1 <= len(shape) <= (1 if dtype.names else 2):
        raise Refused(f"{name}: an array of shape {shape}; one row per point is needed, reshape it")
    if not all(shape):
        raise Refused(f"{name}: an array of shape {shape}, without values")
    rows = int(np.prod(shape[:1]))  # shape[0], in a way that type checkers follow
    affordable(rows, width, name)
    chosen = wanted.positions(names, name)
    source.file.seek(0)
    try:
        values = np.lib.format.read_array(source.file, allow_pickle=False)
    except (ValueError, OSError) as problem:
        raise Refused(f"{name}: a damaged NPY file ({one_line(str(problem))})") from None
    if values.dtype.names is None:
        values = values.reshape(rows, -1)
    columns = {}
    for i in chosen:
        column = values[names[i]] if values.dtype.names else values[:, i]
        columns[names[i]] = _from_numpy(column, names[i], name, names[i] in wanted.categories)
    progress(1.0)
    return File(name, columns, array=dtype.names is None and not wanted.categories)


def _npy_header(source: Source) -> tuple[tuple[int, ...], np.dtype]:
    source.file.seek(0)
    try:
        version = np.lib.format.read_magic(source.file)
        reader = {(1, 0): np.lib.format.read_array_header_1_0}.get(
            version, np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = reader(source.file)
    except (ValueError, SyntaxError) as problem:
        raise Refused(f"{source.name}: a damaged NPY file ({one_line(str(problem))})") from None
    if dtype.hasobject:
        raise Refused(f"{source.name}: an array of Python objects; save numbers or text")
    return shape, dtype


def _from_numpy(values: np.ndarray, column: str, file: str, category: bool) -> Numbers | Labels:
    if values.dtype.kind in "US":
        return _labelled([v if v != "" else None for v in values.astype(str).tolist()])
    if values.dtype.kind not in "fiub":
        raise _unfit(column, file, str(values.dtype))
    if values.dtype.kind in "iu":
        _exact(values, column, file, category)
    if category:
        return _labelled([None if v != v else str(v) for v in values.tolist()])
    single = values.dtype.kind == "f" and values.dtype.itemsize <= 4
    return Numbers(values.astype(np.float32 if single else np.float64))


# ---- Parquet and Arrow ------------------------------------------------------------------------


def read_parquet(source: Source, wanted: Wanted, progress: Callable[[float], object]) -> File:
    """A Parquet file, one column at a time."""
    _pyarrow("Parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = source.name
    try:
        file = pq.ParquetFile(source.file)
        names = named(file.schema_arrow.names, wanted, name)
        chosen = wanted.positions(names, name)
        rows = file.metadata.num_rows
        _plausible(rows, len(chosen), source)
        columns = {}
        for done, i in enumerate(chosen, 1):
            table = file.read(columns=[file.schema_arrow.names[i]])
            column = table.column(0)
            columns[names[i]] = _from_arrow(column, names[i], name, names[i] in wanted.categories)
            progress(done / len(chosen))
    except (pa.ArrowException, OSError) as problem:
        raise _damaged("Parquet", name, problem) from None
    return _filled(File(name, columns))


def read_arrow(source: Source, wanted: Wanted, progress: Callable[[float], object]) -> File:
    """An Arrow file (Feather) or stream, one batch at a time."""
    _pyarrow("Arrow")
    import pyarrow as pa

    name = source.name
    try:
        head = source.file.read(6)
        source.file.seek(0)
        if head == b"ARROW1":
            reader = pa.ipc.open_file(source.file)
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
        else:
            reader = pa.ipc.open_stream(source.file)
            batches = iter(reader)
        names = named(reader.schema.names, wanted, name)
        chosen = wanted.positions(names, name)
        kept, rows = [], 0
        for batch in batches:
            rows += batch.num_rows
            _plausible(rows, len(chosen), source)
            kept.append(batch.select(chosen))
        table = pa.Table.from_batches(kept, pa.schema([reader.schema.field(i) for i in chosen]))
        columns = {}
        for done, i in enumerate(chosen):
            column = table.column(done)
            columns[names[i]] = _from_arrow(column, names[i], name, names[i] in wanted.categories)
            progress((done + 1) / len(chosen))
    except (pa.ArrowException, OSError) as problem:
        raise _damaged("Arrow", name, problem) from None
    return _filled(File(name, columns))


def _pyarrow(kind: str) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise WrongUse(
            f"{kind} files need pyarrow: pip install 'mercer[frames]', or save as CSV"
        ) from None


def _plausible(rows: int, columns: int, source: Source) -> None:
    """Refuse what is over the memory limit, and what swells like a bomb."""
    affordable(rows, columns, source.name)
    needed = 8 * rows * columns
    if needed > max(_HARMLESS, _SWELL * source.size) and source.size:
        raise Refused(
            f"{source.name}: {gib(source.size)} that unpack to {gib(needed)}, over {_SWELL} times "
            "as much; write it without compression if you trust it"
        )


def _filled(file: File) -> File:
    if not file.rows:
        raise Refused(f"{file.name}: columns and no rows")
    return file


def _damaged(kind: str, name: str, problem: Exception) -> Refused:
    return Refused(f"{name}: no {kind} file that can be read ({one_line(str(problem))[:200]})")


def _from_arrow(column: Any, label: str, file: str, category: bool) -> Numbers | Labels:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _labelled([v or None for v in column.to_pylist()])
    if pa.types.is_null(kind):
        return Numbers(np.full(len(column), np.nan))
    if pa.types.is_boolean(kind):
        column = pc.cast(column, pa.uint8())
    elif pa.types.is_integer(kind):
        _exact(column.drop_null().to_numpy(), label, file, category)
    elif not (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise _unfit(label, file, str(kind))
    if category:
        return _labelled([None if v is None else str(v) for v in column.to_pylist()])
    single = pa.types.is_float32(kind) or pa.types.is_float16(kind)
    wide = pc.cast(column, pa.float32() if single else pa.float64(), safe=False)
    return Numbers(wide.to_numpy())  # NaN where a value is missing


def _labelled(values: list[str | None]) -> Labels:
    levels: dict[str, int] = {}
    codes = [-1 if v is None else levels.setdefault(v, len(levels)) for v in values]
    return Labels(np.array(codes, dtype=np.int64), tuple(levels))


def _exact(values: np.ndarray, column: str, file: str, category: bool) -> None:
    if category or not values.size or -_WHOLE <= values.min() <= values.max() <= _WHOLE:
        return
    row = int(np.argmax(np.abs(values.astype(np.float64)))) + 1
    raise Refused(
        f"{file}, column {quoted([column])}, row {row:,}: {values[row - 1]} is beyond 2^53, float64 "
        "would round it; if it is a name, use --categories, else subtract a constant"
    )


def _unfit(column: str, file: str, kind: str) -> Refused:
    return Refused(
        f"{file}, column {quoted([column])}: values of type {kind}; turn them into numbers or text, "
        "or choose other columns with --columns"
    )
