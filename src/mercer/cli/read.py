"""Reader of files of any supported format, recognised by their first bytes and not by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from mercer.cli import columnar, npy, parquet_layout
from mercer.cli.byte_source import label, opened
from mercer.cli.exits import Refused
from mercer.cli.table import File, Selection
from mercer.cli.text import read_text
from mercer.gram.progress import job

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
    (b"\x80\x04", "a pickle, which may run code when loaded; save it as NPY, CSV or Parquet"),
    (b"\x80\x05", "a pickle, which may run code when loaded; save it as NPY, CSV or Parquet"),
)


def read(path: str, selection: Selection, *, progress: bool = False) -> File:
    """Selected columns of a file, of standard input (`-`) or of an archive with one file."""
    with opened(path) as source, _bar(label(path), progress) as advance:
        head = source.file.read(16)
        source.file.seek(0)
        for magic, reader in _READERS:
            if head.startswith(magic):
                return reader(source, selection, advance)
        for magic, description in _UNSUPPORTED:
            if head.startswith(magic):
                raise Refused(f"{source.name}: this is {description}")
        return read_text(source, selection, advance)


@contextmanager
def _bar(name: str, visible: bool) -> Iterator[Callable[[float], object]]:
    """Share of the file that has been read, shown by the bar of the command if it is to be visible."""
    if not visible:
        yield lambda share: None
        return
    with job() as bar:
        began = monotonic()
        yield lambda share: bar.advance(f"reading {name}", share, began)
