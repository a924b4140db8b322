"""Reader of NPY files; the header is checked against the file size before any value is read."""

from __future__ import annotations

import ast
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from mercer.cli.byte_source import ByteSource
from mercer.cli.exits import Refused, one_line
from mercer.cli.table import (
    File,
    LabelColumn,
    NumericColumn,
    Selection,
    affordable,
    checked_header,
    label_column,
    refuse_rounding,
    unfit_type,
)

_PART_BY_PART = (
    "; mercer two-sample reads two such files of numbers part by part where they are not compressed, and so does "
    "mercer.two_sample in Python with arrays of np.load(path, mmap_mode='r')"
)
MAGIC = b"\x93NUMPY"
# Format of the length of the header, by version.
_LENGTH_FORMATS: dict[tuple[int, ...], str] = {(1, 0): "<H", (2, 0): "<I", (3, 0): "<I"}
_MAX_HEADER_LENGTH = 10_000  # the limit of NumPy itself: the stack of a parser is finite
_MAX_NAMES = 10**6  # of columns: tables of so many are refused
_BAD_HEADER = (
    ValueError, TypeError, SyntaxError, KeyError, IndexError, AttributeError, OverflowError,
    MemoryError, RecursionError, struct.error,
)  # fmt: skip  # what `literal_eval` and NumPy raise for text that is not a header


@dataclass(frozen=True)
class NpyHeader:
    """Shape, memory order and type of the array in an NPY file."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype
    start: int  # offset of the first value

    @property
    def nbytes(self) -> int:
        """Number of bytes of all values."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.shape[0] if self.shape else 0

    @property
    def width(self) -> int:
        """Number of columns."""
        return prod(self.shape[1:]) if self.dtype.names is None else len(self.dtype.names)


def read_npy(source: ByteSource, selection: Selection, progress: Callable[[float], object]) -> File:
    """Selected columns of an array (n, d) or (n,), or of a structured array with named fields."""
    name, header = source.name, npy_header(source)
    rows, width = header.rows, header.width
    names = npy_names(header)
    if header.dtype.names is not None:
        names = checked_header(header.dtype.names, selection, name)
    beside = max(0, header.nbytes - 8 * rows * width)
    affordable(rows, width, name, beside=beside, remedy=_PART_BY_PART)
    positions = selection.positions(names, name)
    values = _values(source, header)
    columns = {}
    for i in positions:
        column = values[names[i]] if header.dtype.names else values.reshape(rows, -1)[:, i]
        columns[names[i]] = _column(column, names[i], name, names[i] in selection.categories)
    progress(1.0)
    return File(name, columns, array=header.dtype.names is None and not selection.categories)


def npy_names(header: NpyHeader) -> list[str]:
    """Names of the columns: those of the fields of a structured array, or x1, x2, ..."""
    if header.dtype.names is not None:
        return list(header.dtype.names)
    return [f"x{i}" for i in range(1, min(header.width, _MAX_NAMES) + 1)]


def npy_header(source: ByteSource) -> NpyHeader:
    """Header; refused if it is damaged or contradicts the file size."""
    name = source.name
    try:
        header = _parsed(source)
    except _BAD_HEADER as problem:
        raise Refused(f"{name}: damaged NPY file ({one_line(str(problem))[:200]})") from None
    shape, dtype = header.shape, header.dtype
    if dtype.hasobject:
        raise Refused(f"{name}: an array of Python objects: save numbers or text instead")
    if not 1 <= len(shape) <= (1 if dtype.names else 2):
        raise Refused(f"{name}: an array of shape {shape}, need (rows, columns): reshape it")
    if not header.nbytes:
        raise Refused(f"{name}: an empty array, of shape {shape} and type {dtype}")
    present = source.size - header.start
    if present != header.nbytes:
        raise Refused(
            f"{name}: damaged NPY file (its header announces {header.nbytes:,} bytes of values, "
            f"shape {shape} of {dtype.itemsize} bytes each, but the file has {present:,})"
        )
    return header


def _parsed(source: ByteSource) -> NpyHeader:
    """Header as it is written in the file."""
    file = source.file
    file.seek(0)
    version = tuple(file.read(len(MAGIC) + 2)[-2:])
    if version not in _LENGTH_FORMATS:
        raise ValueError(f"unknown format version {'.'.join(map(str, version))}")
    length_format = _LENGTH_FORMATS[version]
    (length,) = struct.unpack(length_format, file.read(struct.calcsize(length_format)))
    if length > _MAX_HEADER_LENGTH:
        raise ValueError(f"a header of {length:,} bytes, more than {_MAX_HEADER_LENGTH:,}")
    text = file.read(length).decode("utf-8" if version == (3, 0) else "latin1")
    if len(text) < length and version != (3, 0):
        raise ValueError("the file ends within its header")
    shape, fortran, dtype = _checked(ast.literal_eval(text))
    return NpyHeader(shape, fortran, dtype, file.tell())


def _checked(header: Any) -> tuple[tuple[int, ...], bool, np.dtype]:
    if not isinstance(header, dict) or set(header) != {"descr", "fortran_order", "shape"}:
        raise ValueError("the header must name descr, fortran_order and shape")
    shape, fortran = header["shape"], header["fortran_order"]
    valid = isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape)
    if not valid or not isinstance(fortran, bool):
        raise ValueError(f"shape {shape!r}, fortran_order {fortran!r}")
    dtype = np.lib.format.descr_to_dtype(header["descr"])
    if dtype.subdtype is not None:
        raise ValueError(f"values of type {dtype}")
    return shape, fortran, dtype


def _values(source: ByteSource, header: NpyHeader) -> np.ndarray:
    source.file.seek(header.start)
    data = source.file.read(header.nbytes)
    if len(data) != header.nbytes:
        raise Refused(f"{source.name}: damaged NPY file (it ends within its values)")
    order = "F" if header.fortran else "C"
    return np.frombuffer(data, header.dtype).reshape(header.shape, order=order)


def _column(
    values: np.ndarray, column: str, file: str, category: bool
) -> NumericColumn | LabelColumn:
    if values.dtype.kind in "US" and values.ndim == 1:
        return _text(values, column, file)
    if values.dtype.kind not in "fiub" or values.ndim != 1:
        raise unfit_type(column, file, f"{values.dtype}{list(values.shape[1:]) or ''}")
    if values.dtype.kind in "iu" and not category:
        refuse_rounding(values, column, file)
    if category:
        return label_column([None if v != v else str(v) for v in values.tolist()])
    single = values.dtype.kind == "f" and values.dtype.itemsize <= 4
    return NumericColumn(values.astype(np.float32 if single else np.float64))


def _text(values: np.ndarray, column: str, file: str) -> LabelColumn:
    """Labels from fixed-width text; values that are not valid Unicode are refused."""
    unfit = unfit_type(column, file, f"{values.dtype} that are not text")
    if values.dtype.kind == "U":  # NumPy accepts any number as a character
        numbers = np.dtype(np.uint32).newbyteorder(values.dtype.byteorder)
        if np.ascontiguousarray(values).view(numbers).max() > sys.maxunicode:
            raise unfit
    try:
        words = values.astype(str).tolist()
        "".join(words).encode()  # fails on unpaired surrogates
    except ValueError:
        raise unfit from None
    return label_column([word or None for word in words])
