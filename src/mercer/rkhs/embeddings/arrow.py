"""Bags from Arrow columns of lists, without Python lists in between."""

from __future__ import annotations

from typing import Any

import numpy as np


def bag_lists(column: Any) -> tuple[np.ndarray, np.ndarray]:
    """Points of all bags (N, d) and the offsets of the bags, from a column of lists."""
    column = _array(column)
    if column.null_count:
        raise ValueError("column has missing bags: drop them first")
    sizes = np.asarray(column.value_lengths(), dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    empty = np.flatnonzero(sizes == 0)
    if len(empty):
        raise ValueError(f"bag {int(empty[0])} is empty: leave it out")
    return _points(column.flatten(), offsets), offsets


def _array(column: Any) -> Any:
    """One Arrow array of lists, from chunks and from other libraries with an Arrow interface."""
    import pyarrow as pa

    if not isinstance(column, pa.Array | pa.ChunkedArray) and hasattr(column, "__arrow_c_stream__"):
        column = pa.chunked_array(column)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not isinstance(column, pa.Array):
        raise TypeError(
            "column must be an Arrow array of lists, such as table['points'], got "
            f"{type(column).__name__}: for Python lists use Bags.of"
        )
    if not _is_list(column.type):
        raise TypeError(f"column must be an Arrow array of lists, got {column.type}")
    return column


def _points(items: Any, offsets: np.ndarray) -> np.ndarray:
    """Items of all lists as an array of points (N, d)."""
    import pyarrow as pa

    if items.null_count:
        raise ValueError(f"{_first_null(items, offsets)} has missing values: drop or fill them")
    if _is_list(items.type):
        widths = np.asarray(items.value_lengths(), dtype=np.int64)
        unlike = np.flatnonzero(widths != widths[0])
        if len(unlike):
            i = int(np.searchsorted(offsets, unlike[0], side="right")) - 1
            raise ValueError(
                f"all points must have the same dimension: the first has {widths[0]} numbers, one of bag "
                f"{i} has {widths[unlike[0]]}"
            )
        flat = items.flatten()
        if flat.null_count:
            raise ValueError(
                f"{_first_null(flat, offsets * int(widths[0]))} has missing values: drop or fill them"
            )
        items, d = flat, int(widths[0])
    else:
        d = 1
    if not (pa.types.is_integer(items.type) or pa.types.is_floating(items.type)):
        raise TypeError(
            f"points must be numbers or lists of numbers, got {items.type}: for the columns of a "
            "struct use Bags.from_frame, with a column that names the bag"
        )
    return np.asarray(items).reshape(-1, d)


def _first_null(items: Any, offsets: np.ndarray) -> str:
    """Name of the bag of the first missing item."""
    first = int(np.flatnonzero(np.asarray(items.is_null()))[0])
    return f"bag {int(np.searchsorted(offsets, first, side='right')) - 1}"


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(is_kind(kind) for is_kind in tests)
