"""Seekable bytes of a file, a pipe or an archive, within the memory limit."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import IO, cast

from mercer.cli.exits import Refused, one_line
from mercer.config import settings
from mercer.errors import MemoryBudgetError

PIPE = "-"
_BLOCK_BYTES = 1 << 20
_COMPRESSED = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\x00", lzma.open))
_ZIP = b"PK\x03\x04"
MAX_HARMLESS_BYTES = 64 << 20  # any file may decompress to this much
MAX_RATIO = 200  # decompressed to compressed size: text reaches 3 to 50, a zip bomb thousands
_DECOMPRESSION_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile)


def label(path: str) -> str:
    """Name of a file in messages."""
    return "standard input" if path == PIPE else one_line(path)


def matching(pattern: str) -> list[str]:
    """The files that match a pattern, in natural order, which is that of their rows."""
    return sorted(glob(pattern), key=natural)


def natural(path: str) -> tuple[list[list[tuple[int, int, str]]], str]:
    """Key of an order in which batch2 comes before batch10, and the files of month2 before those of month10.

    The path itself decides between names that differ by case or by leading zeros only, which file systems list in any order.
    """
    parts = (re.split(r"(\d+)", part) for part in Path(path.casefold()).parts)
    words = [
        [(0, int(word), "") if word.isdecimal() else (1, 0, word) for word in part if word]
        for part in parts
    ]
    return words, path


@dataclass(frozen=True)
class ByteSource:
    """Seekable bytes, their number and the name of their file."""

    file: IO[bytes]
    name: str
    size: int
    compressed: bool = False  # seeking back decompresses again


@contextmanager
def opened(path: str) -> Iterator[ByteSource]:
    """Bytes of a file or pipe, decompressed if it is an archive."""
    name = label(path)
    try:
        with _seekable(path, name) as file, _decompressed(file, name) as source:
            yield source
    except FileNotFoundError:
        raise Refused(f"{name}: no such file") from None
    except IsADirectoryError:
        raise Refused(
            f"{name}: this is a folder: name a file in it, or all of them as one sample by a pattern in quotes, such as "
            f"'{os.path.join(name, '*.csv')}'"
        ) from None
    except _DECOMPRESSION_ERRORS as problem:
        raise Refused(f"{name}: the archive is damaged ({one_line(str(problem))})") from None
    except OSError as problem:
        raise Refused(f"{name}: {one_line(problem.strerror or str(problem))}") from None


@contextmanager
def spooled(source: ByteSource) -> Iterator[IO[bytes]]:
    """Bytes in a file with fast seeks: an archive is decompressed to a temporary file."""
    source.file.seek(0)
    if not source.compressed:
        yield source.file
        return
    with tempfile.TemporaryFile() as file:
        shutil.copyfileobj(source.file, file, _BLOCK_BYTES)
        file.seek(0)
        yield file


def gib(size: float) -> str:
    """Number of bytes with a unit."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:.0f} bytes"


def _seekable(path: str, name: str) -> IO[bytes]:
    """The file itself; a pipe is copied to a temporary file first."""
    if path == PIPE:
        return _copied(sys.stdin.buffer, name)
    file = open(path, "rb")  # noqa: SIM115
    if file.seekable():
        return file
    with file:
        return _copied(file, name)


def _copied(pipe: IO[bytes], name: str) -> IO[bytes]:
    """Temporary file with the bytes of a pipe; an endless pipe is stopped at the memory limit."""
    limit, size = settings().memory, 0
    file = tempfile.TemporaryFile()  # noqa: SIM115
    while block := pipe.read(_BLOCK_BYTES):
        size += len(block)
        if size > limit:
            file.close()
            raise MemoryBudgetError(
                f"{name} has more than {gib(limit)}, the memory limit: "
                "write it to a file, or raise --memory"
            )
        file.write(block)
    file.seek(0)
    return file


@contextmanager
def _decompressed(file: IO[bytes], name: str) -> Iterator[ByteSource]:
    """Bytes of the file, or of the one file in an archive."""
    head = file.read(8)
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    for magic, decompress in _COMPRESSED:
        if head.startswith(magic):
            with decompress(file, "rb") as inner:
                yield _measured(cast("IO[bytes]", inner), size, name)
            return
    if head.startswith(_ZIP):
        with zipfile.ZipFile(file) as archive, _member(archive, name) as inner:
            yield _measured(inner, size, name)
        return
    yield ByteSource(file, name, size)


def _member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    """The one file in a zip archive."""
    files = [entry for entry in archive.infolist() if not entry.is_dir()]
    if any(entry.filename == "[Content_Types].xml" for entry in files):
        raise Refused(f"{name}: this is an Excel file (.xlsx): save it as CSV")
    if len(files) != 1:
        raise Refused(
            f"{name}: an archive must hold one file, got {len(files)}: extract the one to read"
        )
    try:
        return archive.open(files[0])
    except (RuntimeError, NotImplementedError) as problem:  # a password, an unknown method
        raise Refused(f"{name}: the archive cannot be opened ({one_line(str(problem))})") from None


def _measured(inner: IO[bytes], size: int, name: str) -> ByteSource:
    """Content of an archive, decompressed once to find its size and to refuse a zip bomb."""
    limit, total = max(MAX_HARMLESS_BYTES, MAX_RATIO * size), 0
    while block := inner.read(_BLOCK_BYTES):
        total += len(block)
        if total > limit:
            raise Refused(
                f"{name}: the archive decompresses to more than {gib(limit)}, over {MAX_RATIO} times "
                "its size: decompress it yourself if you trust it"
            )
    inner.seek(0)
    return ByteSource(inner, name, total, compressed=True)
