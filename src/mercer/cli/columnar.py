"""Parquet and Arrow files by pyarrow: metadata are checked first, then batches are validated and read.

pyarrow trusts what it reads: a damaged offset would end the process. So every batch is validated in
full before it is used, and everything the metadata say twice (rows, batches, sizes) must agree.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mercer.cli.arrow_columns import ColumnParts, check_type, is_text
from mercer.cli.arrow_layout import FILE_MAGIC, STREAM_MAGIC, DamagedLayout, Layout, layout
from mercer.cli.byte_source import Source, gib, spooled
from mercer.cli.exits import Refused, WrongUse, one_line
from mercer.cli.parquet_layout import DELTA_LENGTH, DELTA_PREFIX, Chunk, read_footer
from mercer.cli.table import File, Wanted, affordable, named
from mercer.config import settings
from mercer.errors import MemoryBudgetError

ARROW_MAGICS = (FILE_MAGIC, STREAM_MAGIC)
_SWELL, _HARMLESS = (
    200,
    64 << 20,
)  # as for archives: Parquet packs repeated values as well as they do
_BATCH = 1 << 16  # rows
_SHARE = 8  # of the memory limit, for one batch of text that shares prefixes


def read_parquet(source: Source, wanted: Wanted, progress: Callable[[float], object]) -> File:
    """A Parquet file, one column at a time, in batches of rows."""
    with _guarded("a Parquet", source) as file:
        import pyarrow.parquet as pq

        name, footer = source.name, read_footer(file)
        schema = pq.ParquetFile(file).schema_arrow
        names = named(schema.names, wanted, name)
        chosen = wanted.positions(names, name)
        for i in chosen:
            check_type(schema.types[i], names[i], name)
        chunks = {i: footer.chunks(schema.names[i]) for i in chosen}
        largest = max((chunk.unpacked for held in chunks.values() for chunk in held), default=0)
        _plausible(footer.rows, len(chosen), largest, source)
        columns, weight = {}, 0
        for done, i in enumerate(chosen, 1):
            parts = ColumnParts(names[i], name, names[i] in wanted.categories)
            for array in _parquet_column(file, chunks[i], schema.field(i)):
                parts.add(array)
                affordable(footer.rows, len(chosen), name, beside=weight + parts.weight)
            _same_rows(parts.rows, footer.rows)
            weight += parts.weight
            columns[names[i]] = parts.column()
            progress(done / len(chosen))
    return _filled(File(name, columns))


def read_arrow(source: Source, wanted: Wanted, progress: Callable[[float], object]) -> File:
    """An Arrow file (Feather) or stream, one batch at a time."""
    with _guarded("an Arrow", source) as file:
        name, schema = source.name, _arrow_schema(file)
        names = named(schema.names, wanted, name)
        chosen = wanted.positions(names, name)
        for i in chosen:
            check_type(schema.types[i], names[i], name)
        found = layout(file, frozenset(chosen), schema)
        _plausible(found.rows, len(chosen), found.largest + found.dictionaries, source)
        gathered = [ColumnParts(names[i], name, names[i] in wanted.categories) for i in chosen]
        rows = 0
        for batch in _arrow_batches(file, chosen, found):
            batch.validate(full=True)
            rows += batch.num_rows
            for parts, array in zip(gathered, batch.columns, strict=True):
                parts.add(array)
            progress(rows / max(found.rows, 1))
            affordable(found.rows, len(chosen), name, beside=sum(p.weight for p in gathered))
        _same_rows(rows, found.rows)
        notes = _end_of_stream(file, found, name)
        columns = {parts.name: parts.column() for parts in gathered}
    return _filled(File(name, columns, notes=notes))


# ---- what both share ----------------------------------------------------------------------------


@contextmanager
def _guarded(kind: str, source: Source) -> Iterator[Any]:
    """The file for pyarrow, whose complaints of every type become one line."""
    try:
        import pyarrow as pa
    except ImportError:
        raise WrongUse(
            f"{kind.split()[-1]} files need pyarrow: pip install 'mercer[frames]', or save as CSV"
        ) from None
    complaints = (
        pa.ArrowException, DamagedLayout, OSError, ValueError, TypeError, KeyError, IndexError,
        OverflowError, SystemError, struct.error,
    )  # fmt: skip
    try:
        with spooled(source) as file:
            yield file
    except MemoryBudgetError:
        raise
    except complaints as problem:
        text = one_line(str(problem)) or type(problem).__name__
        raise Refused(f"{source.name}: not {kind} file, or a damaged one ({text[:200]})") from None


def _plausible(rows: int, columns: int, unpacked: int, source: Source) -> None:
    """Refuse what is over the memory limit, and what swells like a bomb, before it is unpacked."""
    if rows < 0 or unpacked < 0:
        raise DamagedLayout(f"{rows} rows in {unpacked} bytes")
    affordable(rows, columns, source.name, beside=unpacked)
    needed = 8 * rows * columns + unpacked
    if needed > max(_HARMLESS, _SWELL * source.size) and source.size:
        raise Refused(
            f"{source.name}: {gib(source.size)} that unpack to {gib(needed)}, over {_SWELL} times "
            "as much; write it without compression if you trust it"
        )


def _same_rows(read: int, promised: int) -> None:
    if read != promised:
        raise DamagedLayout(f"{read:,} rows were read, and its metadata promise {promised:,}")


def _filled(file: File) -> File:
    if not file.rows:
        raise Refused(f"{file.name}: columns and no rows")
    return file


# ---- Parquet ------------------------------------------------------------------------------------


def _parquet_column(file: Any, chunks: Sequence[Chunk], field: Any) -> Iterator[Any]:
    """Arrays of a column; its text stays in the dictionaries in which Parquet keeps it."""
    import pyarrow.parquet as pq

    encodings = frozenset().union(*(chunk.encodings for chunk in chunks))
    text = is_text(getattr(field.type, "value_type", field.type))
    in_dictionary = text and not encodings & {DELTA_LENGTH, DELTA_PREFIX}
    opened = pq.ParquetFile(
        file,
        read_dictionary=[field.name] if in_dictionary else None,
        page_checksum_verification=True,
    )
    rows = _BATCH
    if DELTA_PREFIX in encodings:  # every text can be as long as the whole chunk
        longest = max(chunk.unpacked for chunk in chunks)
        rows = min(max(int(settings().memory) // (_SHARE * max(longest, 1)), 1), _BATCH)
    for batch in opened.iter_batches(rows, columns=[field.name], use_threads=False):
        batch.validate(full=True)
        yield batch.column(batch.schema.get_field_index(field.name))


# ---- Arrow --------------------------------------------------------------------------------------


def _arrow_schema(file: Any) -> Any:
    """The schema; that in the footer of a file must be the one at its beginning."""
    import pyarrow as pa

    if not _is_arrow_file(file):
        return pa.ipc.open_stream(file).schema
    schema = pa.ipc.open_file(file).schema
    file.seek(8)
    if not pa.ipc.open_stream(file).schema.equals(schema):
        raise DamagedLayout("the footer describes other columns than the beginning")
    return schema


def _is_arrow_file(file: Any) -> bool:
    file.seek(0)
    is_file = file.read(len(FILE_MAGIC)) == FILE_MAGIC
    file.seek(0)
    return is_file


def _arrow_batches(file: Any, chosen: Sequence[int], found: Layout) -> Iterator[Any]:
    """The batches of a file or stream, of these columns only."""
    import pyarrow as pa

    options = pa.ipc.IpcReadOptions(included_fields=list(chosen), use_threads=False)
    if not _is_arrow_file(file):
        yield from pa.ipc.open_stream(file, options=options)
        return
    reader = pa.ipc.open_file(file, options=options)
    if reader.num_record_batches != found.batches:
        raise DamagedLayout(
            f"{found.batches:,} batches of rows, and its footer names {reader.num_record_batches:,}"
        )
    for i in range(reader.num_record_batches):
        yield reader.get_batch(i)


def _end_of_stream(file: Any, found: Layout, name: str) -> tuple[str, ...]:
    """A stream that was cut between two batches looks whole, but for the mark of its end."""
    if _is_arrow_file(file):
        return ()
    if not found.ended:
        return (f"{name}: the stream has no end mark; rows may be missing at its end",)
    file.seek(-found.rest, 2) if found.rest else file.seek(0, 2)
    if file.read(found.rest).strip(b"\0"):
        raise DamagedLayout(f"{found.rest:,} bytes follow the end of the stream")
    return ()
