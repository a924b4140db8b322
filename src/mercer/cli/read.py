"""Reader of files of any supported format, recognised by their first bytes and not by their names."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from glob import has_magic
from pathlib import Path
from tempfile import TemporaryFile
from time import monotonic

import numpy as np

from mercer.cli import columnar, npy, parquet_layout
from mercer.cli.byte_source import ByteSource, label, matching, opened
from mercer.cli.exits import Refused
from mercer.cli.file_time import in_time_order
from mercer.cli.join_files import joined
from mercer.cli.number_style import TextFormat, numbers_among
from mercer.cli.table import File, LabelColumn, NumericColumn, Selection, without_index
from mercer.cli.text import read_text
from mercer.gram.progress import job

_CHARACTERS_AT_ONCE = 1 << 20  # that are transcoded
_READERS = (
    (parquet_layout.MAGIC, columnar.read_parquet),
    *((magic, columnar.read_arrow) for magic in columnar.ARROW_MAGICS),
    (npy.MAGIC, npy.read_npy),
)
_UNSUPPORTED = (
    (b"FEA1", "a Feather file of version 1; write it again with a newer library"),
    (b"%PDF", "a PDF document; extract its tables first"),
    (b"\xd0\xcf\x11\xe0", "an Excel file (.xls); save it as CSV"),
    (b"SQLite format 3", "an SQLite database; export a table as CSV"),
    (b"\x89HDF", "an HDF5 file; save the array as NPY"),
    (b"\x89PNG", "a PNG image; convert it to a table of numbers first"),
    (b"\x28\xb5\x2f\xfd", "a file compressed with zstd; decompress it first"),
    *(
        (mark, "an HTML or XML page; save its table as CSV")
        for mark in (b"<!DOC", b"<!doc", b"<html", b"<HTML", b"<?xml")
    ),
    *(
        (mark, "JSON; save it as CSV (JSON lines, one value a line, go with --text)")
        for mark in (b"[{", b'{"', b"[[")
    ),
    (b"\x80\x04", "a pickle, which may run code when loaded; save it as NPY, CSV or Parquet"),
    (b"\x80\x05", "a pickle, which may run code when loaded; save it as NPY, CSV or Parquet"),
)


def read(path: str, selection: Selection, *, progress: bool = False) -> File:
    """Selected columns of a file, of standard input (`-`), of an archive with one file, or of all files of a pattern."""
    if has_magic(path) and not Path(path).exists():
        files = matching(path)
        if not files:
            raise Refused(f"{label(path)}: no file matches this pattern")
        together = joined(label(path), [_read_one(file, selection, progress) for file in files])
        return in_time_order(together, selection.time)
    return in_time_order(_read_one(path, selection, progress), selection.time)


def _read_one(path: str, selection: Selection, progress: bool) -> File:
    with opened(path) as source, _bar(label(path), progress) as advance:
        head = source.file.read(16)
        source.file.seek(0)
        for magic, reader in _READERS:
            if head.startswith(magic):
                file = reader(source, selection, advance)
                return without_index(_without_words(file, selection), selection)
        for magic, description in _UNSUPPORTED:
            if head.startswith(magic):
                raise Refused(f"{source.name}: this is {description}")
        form = selection.text or TextFormat()
        with transcoded(source, form.encoding) as utf8:
            return without_index(read_text(utf8, replace(selection, text=form), advance), selection)


def _without_words(file: File, selection: Selection) -> File:
    """The file without the words and numbers that `--na` says stand for missing values; text files are read so."""
    words = () if selection.text is None else selection.text.given_words
    if not words:
        return file
    numbers = numbers_among(words)
    columns = dict(file.columns)
    for name, column in columns.items():
        if isinstance(column, LabelColumn):
            absent = [i for i, level in enumerate(column.levels) if level.strip() in words]
            codes = np.where(np.isin(column.codes, absent), -1, column.codes)
            columns[name] = replace(column, codes=codes)
        else:
            values = np.where(np.isin(column.values, numbers), np.nan, column.values)
            columns[name] = NumericColumn(values.astype(column.values.dtype))
    return replace(file, columns=columns)


@contextmanager
def transcoded(source: ByteSource, encoding: str | None) -> Iterator[ByteSource]:
    """The source as UTF-8; a file in another encoding is copied to a temporary one."""
    if encoding is None:
        yield source
        return
    with TemporaryFile() as copy:
        reader = codecs.getreader(encoding)(source.file)
        try:
            while text := reader.read(_CHARACTERS_AT_ONCE):
                copy.write(text.encode())
        except UnicodeError as problem:
            raise Refused(f"{source.name}: not in the encoding {encoding}: {problem}") from None
        size = copy.tell()
        copy.seek(0)
        yield replace(source, file=copy, size=size)


@contextmanager
def _bar(name: str, visible: bool) -> Iterator[Callable[[float], object]]:
    """Share of the file that has been read, shown by the bar of the command if it is to be visible."""
    if not visible:
        yield lambda share: None
        return
    with job() as bar:
        began = monotonic()
        yield lambda share: bar.advance(f"reading {name}", share, began)
