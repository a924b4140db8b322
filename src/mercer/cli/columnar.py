"""Reader of Parquet and Arrow files by pyarrow: metadata are checked, then batches are validated.

pyarrow trusts what it reads: a damaged offset would crash the process. So every batch is validated
in full before it is used, and whatever the metadata state twice (rows, batches, sizes) must agree.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mercer.cli.arrow_columns import ArrowColumn, check_type, is_text
from mercer.cli.arrow_layout import FILE_MAGIC, STREAM_MAGIC, ArrowLayout, DamagedLayout, layout
from mercer.cli.byte_source import MAX_HARMLESS_BYTES, MAX_RATIO, ByteSource, gib, spooled
from mercer.cli.exits import Refused, WrongUse, one_line
from mercer.cli.parquet_layout import DELTA_LENGTH, DELTA_PREFIX, ColumnChunk, read_footer
from mercer.cli.table import File, Selection, affordable, checked_header
from mercer.config import settings
from mercer.errors import MemoryBudgetError

ARROW_MAGICS = (FILE_MAGIC, STREAM_MAGIC)
_BATCH_ROWS = 1 << 16  # the default batch of pyarrow: half a megabyte of float64
_BATCHES_PER_LIMIT = 8  # a batch of text with shared prefixes takes 1/8 of the memory limit at most


def read_parquet(
    source: ByteSource, selection: Selection, progress: Callable[[float], object]
) -> File:
    """Selected columns of a Parquet file, one column at a time, in batches of rows."""
    with _guarded("a Parquet", source) as file:
        import pyarrow.parquet as pq

        name, footer = source.name, read_footer(file)
        schema = pq.ParquetFile(file).schema_arrow
        names, positions = _selected(schema, selection, name)
        chunks = {i: footer.chunks(schema.names[i]) for i in positions}
        largest = max((c.unpacked for column in chunks.values() for c in column), default=0)
        _refuse_implausible(footer.rows, len(positions), largest, source)
        columns, label_bytes = {}, 0
        for number, i in enumerate(positions, 1):
            column = _column(names[i], name, selection)
            for array in _parquet_column(file, chunks[i], schema.field(i)):
                column.add(array)
                beside = label_bytes + column.label_bytes
                affordable(footer.rows, len(positions), name, beside=beside)
            _check_row_count(column.rows, footer.rows)
            label_bytes += column.label_bytes
            columns[names[i]] = column.column()
            progress(number / len(positions))
    return _refuse_empty(File(name, columns))


def read_arrow(
    source: ByteSource, selection: Selection, progress: Callable[[float], object]
) -> File:
    """Selected columns of an Arrow file (Feather) or stream, one batch at a time."""
    with _guarded("an Arrow", source) as file:
        name, schema = source.name, _arrow_schema(file)
        names, positions = _selected(schema, selection, name)
        metadata = layout(file, frozenset(positions), schema)
        unpacked = metadata.largest + metadata.dictionaries
        _refuse_implausible(metadata.rows, len(positions), unpacked, source)
        columns = [_column(names[i], name, selection) for i in positions]
        rows = 0
        for batch in _arrow_batches(file, positions, metadata):
            batch.validate(full=True)
            rows += batch.num_rows
            for column, array in zip(columns, batch.columns, strict=True):
                column.add(array)
            progress(rows / max(metadata.rows, 1))
            label_bytes = sum(column.label_bytes for column in columns)
            affordable(metadata.rows, len(positions), name, beside=label_bytes)
        _check_row_count(rows, metadata.rows)
        notes = _end_of_stream(file, metadata, name)
        read = {column.name: column.column() for column in columns}
    return _refuse_empty(File(name, read, notes=notes))


def parquet_types(source: ByteSource, selection: Selection) -> tuple[int, dict[str, Any]]:
    """Number of rows of a Parquet file, and the types of the selected columns; the rows are not read."""
    with _guarded("a Parquet", source) as file:
        import pyarrow.parquet as pq

        rows, schema = read_footer(file).rows, pq.ParquetFile(file).schema_arrow
        names, positions = _selected(schema, selection, source.name)
        return rows, {names[i]: schema.types[i] for i in positions}


def _selected(schema: Any, selection: Selection, file: str) -> tuple[list[str], list[int]]:
    """Names of all columns, and the positions of the selected ones, whose types are checked."""
    names = checked_header(schema.names, selection, file)
    positions = selection.positions(names, file)
    for i in positions:
        check_type(schema.types[i], names[i], file, names[i] == selection.time)
    return names, positions


def _column(column: str, file: str, selection: Selection) -> ArrowColumn:
    categorical = column in selection.categories
    return ArrowColumn(column, file, categorical, time=column == selection.time)


# ---- checks of both formats ----------------------------------------------------------------------------


@contextmanager
def _guarded(kind: str, source: ByteSource) -> Iterator[Any]:
    """File for pyarrow, whose errors of every type become one refusal."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise WrongUse(
            f"{kind.split()[-1]} files need pyarrow: pip install 'mercer[frames]', or save as CSV"
        ) from None
    with damage_refused(kind, source.name), spooled(source) as file:
        yield file


@contextmanager
def damage_refused(kind: str, name: str) -> Iterator[None]:
    """Errors of pyarrow, of every type, become one refusal."""
    import pyarrow as pa

    errors = (
        pa.ArrowException, DamagedLayout, OSError, ValueError, TypeError, KeyError, IndexError,
        OverflowError, SystemError, struct.error,
    )  # fmt: skip
    try:
        yield
    except MemoryBudgetError:
        raise
    except errors as problem:
        text = one_line(str(problem)) or type(problem).__name__
        raise Refused(f"{name}: not {kind} file, or a damaged one ({text[:200]})") from None


def _refuse_implausible(rows: int, columns: int, unpacked: int, source: ByteSource) -> None:
    """Refuse a file over the memory limit, and a decompression bomb, before it is decompressed."""
    if rows < 0 or unpacked < 0:
        raise DamagedLayout(f"{rows} rows in {unpacked} bytes")
    affordable(rows, columns, source.name, beside=unpacked)
    needed = 8 * rows * columns + unpacked
    if needed > max(MAX_HARMLESS_BYTES, MAX_RATIO * source.size) and source.size:
        raise Refused(
            f"{source.name}: {gib(source.size)} that decompress to {gib(needed)}, over {MAX_RATIO} "
            "times as much: write it without compression if you trust it"
        )


def _check_row_count(read: int, announced: int) -> None:
    if read != announced:
        raise DamagedLayout(f"{read:,} rows were read, but its metadata announce {announced:,}")


def _refuse_empty(file: File) -> File:
    if not file.rows:
        raise Refused(f"{file.name}: columns but no rows")
    return file


# ---- Parquet ------------------------------------------------------------------------------------


def _parquet_column(file: Any, chunks: Sequence[ColumnChunk], field: Any) -> Iterator[Any]:
    """Arrays of a column; text stays dictionary-encoded, as Parquet stores it."""
    import pyarrow.parquet as pq

    encodings = frozenset().union(*(chunk.encodings for chunk in chunks))
    text = is_text(getattr(field.type, "value_type", field.type))
    in_dictionary = text and not encodings & {DELTA_LENGTH, DELTA_PREFIX}
    opened = pq.ParquetFile(
        file,
        read_dictionary=[field.name] if in_dictionary else None,
        page_checksum_verification=True,
    )
    rows = _BATCH_ROWS
    if DELTA_PREFIX in encodings:  # every string can be as long as the chunk
        longest = max(chunk.unpacked for chunk in chunks)
        budget = int(settings().memory) // _BATCHES_PER_LIMIT
        rows = min(max(budget // max(longest, 1), 1), _BATCH_ROWS)
    for batch in opened.iter_batches(rows, columns=[field.name], use_threads=False):
        batch.validate(full=True)
        yield batch.column(batch.schema.get_field_index(field.name))


# ---- Arrow --------------------------------------------------------------------------------------


def _arrow_schema(file: Any) -> Any:
    """Schema; in a file, the footer must repeat the schema at the beginning."""
    import pyarrow as pa

    if not _is_arrow_file(file):
        return pa.ipc.open_stream(file).schema
    schema = pa.ipc.open_file(file).schema
    file.seek(8)
    if not pa.ipc.open_stream(file).schema.equals(schema):
        raise DamagedLayout("the footer and the beginning describe different columns")
    return schema


def _is_arrow_file(file: Any) -> bool:
    file.seek(0)
    is_file = file.read(len(FILE_MAGIC)) == FILE_MAGIC
    file.seek(0)
    return is_file


def _arrow_batches(file: Any, positions: Sequence[int], metadata: ArrowLayout) -> Iterator[Any]:
    """Batches of a file or stream, with the columns at these positions."""
    import pyarrow as pa

    options = pa.ipc.IpcReadOptions(included_fields=list(positions), use_threads=False)
    if not _is_arrow_file(file):
        yield from pa.ipc.open_stream(file, options=options)
        return
    reader = pa.ipc.open_file(file, options=options)
    if reader.num_record_batches != metadata.batches:
        raise DamagedLayout(
            f"{metadata.batches:,} batches of rows, but its footer lists {reader.num_record_batches:,}"
        )
    for i in range(reader.num_record_batches):
        yield reader.get_batch(i)


def _end_of_stream(file: Any, metadata: ArrowLayout, name: str) -> tuple[str, ...]:
    """Note on a stream without end marker: it may have been cut between two batches."""
    if _is_arrow_file(file):
        return ()
    if not metadata.ended:
        return (f"{name}: the stream has no end marker; rows may be missing at its end",)
    trailing = metadata.trailing
    file.seek(-trailing, 2) if trailing else file.seek(0, 2)
    if file.read(trailing).strip(b"\0"):
        raise DamagedLayout(f"{trailing:,} bytes follow the end of the stream")
    return ()
