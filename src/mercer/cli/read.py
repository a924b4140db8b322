"""Any file that mercer reads, told by its first bytes and not by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mercer.cli import columnar, npy, parquet_layout
from mercer.cli.byte_source import label, opened
from mercer.cli.exits import Refused
from mercer.cli.table import File, Wanted
from mercer.cli.text import read_text

_READERS = (
    (parquet_layout.MAGIC, columnar.read_parquet),
    *((magic, columnar.read_arrow) for magic in columnar.ARROW_MAGICS),
    (npy.MAGIC, npy.read_npy),
)
_FOREIGN = (
    (b"FEA1", "Feather of the first version; write it again with a newer library"),
    (b"%PDF", "a PDF document; extract its tables first"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet; save it as CSV"),
    (b"SQLite format 3", "a database; export a table as CSV"),
    (b"\x89HDF", "an HDF5 file; save the array as NPY"),
    (b"\x89PNG", "a picture"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd; unpack it first"),
    (b"\x80\x04", "a pickle, which may run code; save as NPY, CSV or Parquet"),
    (b"\x80\x05", "a pickle, which may run code; save as NPY, CSV or Parquet"),
)


def read(path: str, wanted: Wanted, *, progress: bool = False) -> File:
    """The wanted columns of a file, a pipe (`-`) or an archive with one file."""
    with opened(path) as source, _bar(label(path), progress) as advance:
        head = source.file.read(16)
        source.file.seek(0)
        for magic, reader in _READERS:
            if head.startswith(magic):
                return reader(source, wanted, advance)
        for magic, what in _FOREIGN:
            if head.startswith(magic):
                raise Refused(f"{source.name}: this is {what}")
        return read_text(source, wanted, advance)


@contextmanager
def _bar(name: str, shown: bool) -> Iterator[Callable[[float], object]]:
    """A progress bar on stderr, or none."""
    if not shown:
        yield lambda share: None
        return
    from rich.console import Console
    from rich.progress import Progress
    from rich.text import Text

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(Text(f"reading {name}").markup, total=1.0)
        yield lambda share: progress.update(task, completed=share)
