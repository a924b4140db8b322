"""A file, a pipe or an archive as bytes that can be read twice, never more of them than allowed."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from mercer.cli.exits import Refused, one_line
from mercer.config import settings
from mercer.errors import MemoryBudgetError

PIPE = "-"
_BLOCK = 1 << 20
_PACKED = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\x00", lzma.open))
_ZIP = b"PK\x03\x04"
_HARMLESS = 64 << 20  # what an archive may unpack to without questions
_SWELL = 200  # times its size that an archive may unpack to: text packs 3 to 50 times
_DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile)


def label(path: str) -> str:
    """What a file is called in messages."""
    return "standard input" if path == PIPE else one_line(path)


@dataclass(frozen=True)
class Source:
    """Bytes that can be read twice, how many there are, and whose they are."""

    file: IO[bytes]
    name: str
    size: int
    packed: bool = False  # so that going back means unpacking again


@contextmanager
def opened(path: str) -> Iterator[Source]:
    """The bytes of a file or pipe, unpacked if it is an archive."""
    name = label(path)
    try:
        with _held(path, name) as file, _unpacked(file, name) as source:
            yield source
    except FileNotFoundError:
        raise Refused(f"{name}: no such file") from None
    except IsADirectoryError:
        raise Refused(f"{name}: this is a folder; name a file in it") from None
    except _DAMAGE as problem:
        raise Refused(f"{name}: the archive is damaged ({one_line(str(problem))})") from None
    except OSError as problem:
        raise Refused(f"{name}: {one_line(problem.strerror or str(problem))}") from None


@contextmanager
def spooled(source: Source) -> Iterator[IO[bytes]]:
    """The bytes in a file in which one can go back and forth; what an archive holds, on disk."""
    source.file.seek(0)
    if not source.packed:
        yield source.file
        return
    with tempfile.TemporaryFile() as file:
        shutil.copyfileobj(source.file, file, _BLOCK)
        file.seek(0)
        yield file


def gib(size: float) -> str:
    """A number of bytes in words."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:.0f} bytes"


def _held(path: str, name: str) -> IO[bytes]:
    """The file itself; a pipe is put into a temporary file first."""
    if path == PIPE:
        return _spooled(sys.stdin.buffer, name)
    file = open(path, "rb")  # noqa: SIM115
    if file.seekable():
        return file
    with file:
        return _spooled(file, name)


def _spooled(pipe: IO[bytes], name: str) -> IO[bytes]:
    """What a pipe brings, on disk; an endless one is stopped at the memory limit."""
    limit, size = settings().memory, 0
    file = tempfile.TemporaryFile()  # noqa: SIM115
    while block := pipe.read(_BLOCK):
        size += len(block)
        if size > limit:
            file.close()
            raise MemoryBudgetError(
                f"{name} brings more than {gib(limit)}, the limit: "
                "write it to a file, or raise --memory"
            )
        file.write(block)
    file.seek(0)
    return file


@contextmanager
def _unpacked(file: IO[bytes], name: str) -> Iterator[Source]:
    head = file.read(8)
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    for magic, unpack in _PACKED:
        if head.startswith(magic):
            with unpack(file, "rb") as inner:
                yield _measured(inner, size, name)  # type: ignore[arg-type]
            return
    if head.startswith(_ZIP):
        with zipfile.ZipFile(file) as archive, _member(archive, name) as inner:
            yield _measured(inner, size, name)
        return
    yield Source(file, name, size)


def _member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    """The one file in a zip archive."""
    files = [entry for entry in archive.infolist() if not entry.is_dir()]
    if any(entry.filename == "[Content_Types].xml" for entry in files):
        raise Refused(f"{name}: this is a spreadsheet; save it as CSV")
    if len(files) != 1:
        raise Refused(f"{name}: an archive must hold one file, this one holds {len(files)}")
    try:
        return archive.open(files[0])
    except (RuntimeError, NotImplementedError) as problem:  # a password, an unknown method
        raise Refused(f"{name}: the archive cannot be opened ({one_line(str(problem))})") from None


def _measured(inner: IO[bytes], size: int, name: str) -> Source:
    """What comes out of an archive, unpacked once to see that it is not far more than what went in."""
    limit, total = max(_HARMLESS, _SWELL * size), 0
    while block := inner.read(_BLOCK):
        total += len(block)
        if total > limit:
            raise Refused(
                f"{name}: the archive unpacks to more than {gib(limit)}, over {_SWELL} times its "
                "size; unpack it yourself if you trust it"
            )
    inner.seek(0)
    return Source(inner, name, total, packed=True)
