"""NPY files: the header is checked against the size of the file before any value is read."""

from __future__ import annotations

import ast
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from mercer.cli.byte_source import Source, gib
from mercer.cli.exits import Refused, one_line
from mercer.cli.table import (
    File,
    Labels,
    Numbers,
    Wanted,
    affordable,
    labels_of,
    named,
    refuse_rounding,
    unfit_type,
)

MAGIC = b"\x93NUMPY"
_LENGTH_FIELD: dict[tuple[int, ...], str] = {
    (1, 0): "<H",
    (2, 0): "<I",
    (3, 0): "<I",
}  # of the header, by version
_LONGEST_HEADER = 10_000  # characters, the limit of NumPy itself: a parser's stack is finite
_BAD_HEADER = (
    ValueError, TypeError, SyntaxError, KeyError, IndexError, AttributeError, OverflowError,
    MemoryError, RecursionError, struct.error,
)  # fmt: skip  # what `literal_eval` and NumPy raise for text that is not a header


@dataclass(frozen=True)
class _Layout:
    """What the header of an NPY file says."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype
    start: int  # the place of the first value

    @property
    def nbytes(self) -> int:
        """Bytes of all values."""
        return prod(self.shape) * self.dtype.itemsize


def read_npy(source: Source, wanted: Wanted, progress: Callable[[float], object]) -> File:
    """An array (n, d) or (n,), or a structured one with named fields."""
    name, layout = source.name, _layout(source)
    rows, width = layout.shape[0], prod(layout.shape[1:])
    if layout.dtype.names is None:
        names = [f"x{i}" for i in range(1, min(width, 10**6) + 1)]
    else:
        width, names = len(layout.dtype.names), named(layout.dtype.names, wanted, name)
    affordable(rows, width, name, beside=max(0, layout.nbytes - 8 * rows * width))
    chosen = wanted.positions(names, name)
    values = _values(source, layout)
    columns = {}
    for i in chosen:
        column = values[names[i]] if layout.dtype.names else values.reshape(rows, -1)[:, i]
        columns[names[i]] = _column(column, names[i], name, names[i] in wanted.categories)
    progress(1.0)
    return File(name, columns, array=layout.dtype.names is None and not wanted.categories)


def _layout(source: Source) -> _Layout:
    """The header, refused where it is damaged or does not agree with the size of the file."""
    name = source.name
    try:
        layout = _parsed(source)
    except _BAD_HEADER as problem:
        raise Refused(f"{name}: a damaged NPY file ({one_line(str(problem))[:200]})") from None
    shape, dtype = layout.shape, layout.dtype
    if dtype.hasobject:
        raise Refused(f"{name}: an array of Python objects; save numbers or text")
    if not 1 <= len(shape) <= (1 if dtype.names else 2):
        raise Refused(f"{name}: an array of shape {shape}; one row per point is needed, reshape it")
    if not layout.nbytes:
        raise Refused(f"{name}: an array of shape {shape} and type {dtype}, without values")
    present = source.size - layout.start
    if present != layout.nbytes:
        raise Refused(
            f"{name}: a damaged NPY file (its header promises {layout.nbytes:,} bytes of values, "
            f"{gib(dtype.itemsize)} times the shape {shape}; there are {present:,})"
        )
    return layout


def _parsed(source: Source) -> _Layout:
    """The header as it is written."""
    file = source.file
    file.seek(0)
    version = tuple(file.read(len(MAGIC) + 2)[-2:])
    if version not in _LENGTH_FIELD:
        raise ValueError(f"unknown format version {'.'.join(map(str, version))}")
    field = _LENGTH_FIELD[version]
    (length,) = struct.unpack(field, file.read(struct.calcsize(field)))
    if length > _LONGEST_HEADER:
        raise ValueError(f"a header of {length:,} bytes, more than {_LONGEST_HEADER:,}")
    text = file.read(length).decode("utf-8" if version == (3, 0) else "latin1")
    if len(text) < length and version != (3, 0):
        raise ValueError("the file ends within its header")
    header = ast.literal_eval(text)
    shape, fortran, dtype = _checked(header)
    return _Layout(shape, fortran, dtype, file.tell())


def _checked(header: Any) -> tuple[tuple[int, ...], bool, np.dtype]:
    if not isinstance(header, dict) or set(header) != {"descr", "fortran_order", "shape"}:
        raise ValueError("the header must name descr, fortran_order and shape")
    shape, fortran = header["shape"], header["fortran_order"]
    whole = isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape)
    if not whole or not isinstance(fortran, bool):
        raise ValueError(f"shape {shape!r}, fortran_order {fortran!r}")
    dtype = np.lib.format.descr_to_dtype(header["descr"])
    if dtype.subdtype is not None:
        raise ValueError(f"values of type {dtype}")
    return shape, fortran, dtype


def _values(source: Source, layout: _Layout) -> np.ndarray:
    source.file.seek(layout.start)
    data = source.file.read(layout.nbytes)
    if len(data) != layout.nbytes:
        raise Refused(f"{source.name}: a damaged NPY file (it ends within its values)")
    order = "F" if layout.fortran else "C"
    return np.frombuffer(data, layout.dtype).reshape(layout.shape, order=order)


def _column(values: np.ndarray, column: str, file: str, category: bool) -> Numbers | Labels:
    if values.dtype.kind in "US" and values.ndim == 1:
        return _text(values, column, file)
    if values.dtype.kind not in "fiub" or values.ndim != 1:
        raise unfit_type(column, file, f"{values.dtype}{list(values.shape[1:]) or ''}")
    if values.dtype.kind in "iu" and not category:
        refuse_rounding(values, column, file)
    if category:
        return labels_of([None if v != v else str(v) for v in values.tolist()])
    single = values.dtype.kind == "f" and values.dtype.itemsize <= 4
    return Numbers(values.astype(np.float32 if single else np.float64))


def _text(values: np.ndarray, column: str, file: str) -> Labels:
    """Labels from fixed-width text, every one of which must be text that can be written."""
    unfit = unfit_type(column, file, f"{values.dtype} that are not text")
    if values.dtype.kind == "U":  # NumPy makes strings of any numbers
        numbers = np.dtype(np.uint32).newbyteorder(values.dtype.byteorder)
        if np.ascontiguousarray(values).view(numbers).max() > sys.maxunicode:
            raise unfit
    try:
        words = values.astype(str).tolist()
        "".join(words).encode()  # halves of surrogate pairs cannot be encoded
    except ValueError:
        raise unfit from None
    return labels_of([word or None for word in words])
