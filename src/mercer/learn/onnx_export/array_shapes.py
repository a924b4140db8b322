"""Shapes of symbolic arrays, and new ones: the functions of the array API standard that compute nothing."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.learn.onnx_export.operation_graph import BATCH, OperationGraph
from mercer.learn.onnx_export.symbolic_array import SymbolicArray, axes_of, cast, graph_of, lifted

bool = np.dtype(np.bool_)
int64 = np.dtype(np.int64)
int32 = np.dtype(np.int32)
float32 = np.dtype(np.float32)
float64 = np.dtype(np.float64)
newaxis = None
finfo = np.finfo


def permute_dims(x: Any, axes: Any = None) -> Any:
    """The array with its axes in another order."""
    if graph_of((x,)) is None:
        return np.transpose(x, axes)
    axes = tuple(reversed(range(x.ndim))) if axes is None else axes_of(tuple(axes), x.ndim)
    if x.value is not None:
        return SymbolicArray.constant(x.graph, np.transpose(x.value, axes), x.dtype)
    (name,) = x.graph.apply("Transpose", (x.name,), perm=axes)
    return SymbolicArray(x.graph, tuple(x.shape[a] for a in axes), x.dtype, name)


def reshape(x: Any, shape: Any) -> Any:
    """The same entries in another shape; that of an array with rows of the input must begin with their number."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if graph_of((x,)) is None:
        return np.reshape(x, shape)
    if x.value is not None:
        return SymbolicArray.constant(x.graph, np.reshape(x.value, shape), x.dtype)
    rows, new = x.shape[0] == BATCH, list(shape)
    if -1 in new:
        length = x.size
        for other in new:
            length = length if other == -1 else length // other
        new[new.index(-1)] = length
    if rows is not (new[0] == BATCH) or BATCH in new[1:]:
        raise TypeError(f"a symbolic array of shape {x.shape} cannot be given the shape {shape}")
    target = np.array([0 if n == BATCH else n for n in new], dtype=np.int64)  # 0: as it was
    (name,) = x.graph.apply("Reshape", (x.name, x.graph.constant(target)))
    return SymbolicArray(x.graph, tuple(new), x.dtype, name)


def expand_dims(x: Any, axis: int = 0) -> Any:
    """The array with a new axis."""
    place = axis % (x.ndim + 1)
    return x[(slice(None),) * place + (None,)]


def squeeze(x: Any, axis: int) -> Any:
    """The array without an axis of length 1."""
    return x[(slice(None),) * (axis % x.ndim) + (0,)]


def broadcast_to(x: Any, shape: Any) -> Any:
    """The array, repeated along axes."""
    graph = graph_of((x,))
    if graph is None:
        return np.broadcast_to(x, shape)
    return x + zeros(shape, dtype=x.dtype, device=graph)


def concat(arrays: Sequence[Any], axis: Any = 0) -> Any:
    """Arrays, joined along an axis."""
    graph = graph_of(arrays)
    if graph is None:
        return np.concatenate(arrays, axis=axis)
    arrays = lifted(tuple(arrays))
    (place,) = axes_of(axis, arrays[0].ndim)
    if all(a.value is not None for a in arrays):
        values = np.concatenate([np.asarray(a.value) for a in arrays], axis=place)
        return SymbolicArray.constant(graph, values, arrays[0].dtype)
    if any(a.shape[place] == BATCH for a in arrays) and len(arrays) > 1:
        raise TypeError("rows of the input cannot be joined with others")
    shapes = [(*a.shape[:place], 1, *a.shape[place + 1 :]) for a in arrays]
    if len({*shapes}) > 1:
        raise ValueError(f"arrays of the shapes {[a.shape for a in arrays]} cannot be joined")
    (name,) = graph.apply("Concat", tuple(a.name for a in arrays), axis=place)
    length = builtins.sum(a.shape[place] for a in arrays)
    shape = (*shapes[0][:place], length, *shapes[0][place + 1 :])
    return SymbolicArray(graph, shape, arrays[0].dtype, name)


def stack(arrays: Sequence[Any], axis: Any = 0) -> Any:
    """Arrays, joined along a new axis."""
    if graph_of(arrays) is None:
        return np.stack(arrays, axis=axis)
    arrays = lifted(tuple(arrays))
    place = axis % (arrays[0].ndim + 1)
    return concat([expand_dims(a, place) for a in arrays], place)


def take(x: Any, indices: Any, axis: int = 0) -> Any:
    """Entries at positions along an axis."""
    if graph_of((x, indices)) is None:
        return np.take(x, indices, axis=axis)
    if isinstance(indices, SymbolicArray) and indices.value is None:
        x = lifted((x,), indices.graph)[0]
        (name,) = x.graph.apply("Gather", (x.name, indices.name), axis=axis)
        shape = x.shape[:axis] + indices.shape + x.shape[axis + 1 :]
        return SymbolicArray(x.graph, shape, x.dtype, name)
    index = indices.value if isinstance(indices, SymbolicArray) else indices
    return x[(slice(None),) * axis + (np.asarray(index),)]


# ---- new arrays -----------------------------------------------------------------------------------


def full(
    shape: Any, fill_value: Any, dtype: Any = None, device: OperationGraph | None = None
) -> Any:
    """An array of equal entries; its device is the graph to which it belongs."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    value = np.asarray(fill_value, dtype=dtype)
    if device is None:
        return np.full(shape, value)
    scalar = SymbolicArray.constant(device, value, dtype)
    if BATCH not in shape:
        return SymbolicArray.constant(device, np.full(shape, scalar.value), scalar.dtype)
    if shape[0] != BATCH or BATCH in shape[1:]:
        raise TypeError("the rows of the input must be the first axis of an array")
    lengths = [SymbolicArray(device, (1,), int64, device.rows())]
    lengths += [SymbolicArray.constant(device, np.array([n])) for n in shape[1:]]
    (name,) = device.apply("Expand", (scalar.name, concat(lengths).name))
    return SymbolicArray(device, shape, scalar.dtype, name)


def zeros(shape: Any, dtype: Any = float64, device: OperationGraph | None = None) -> Any:
    """Zeros."""
    return full(shape, 0, dtype, device)


def ones(shape: Any, dtype: Any = float64, device: OperationGraph | None = None) -> Any:
    """Ones."""
    return full(shape, 1, dtype, device)


def full_like(x: Any, fill_value: Any, dtype: Any = None) -> Any:
    """Equal entries, in the shape of x."""
    if graph_of((x,)) is None:
        return np.full_like(x, fill_value, dtype=dtype)
    return full(x.shape, fill_value, dtype or x.dtype, x.graph)


def zeros_like(x: Any, dtype: Any = None) -> Any:
    """Zeros, in the shape of x."""
    return full_like(x, 0, dtype)


def ones_like(x: Any, dtype: Any = None) -> Any:
    """Ones, in the shape of x."""
    return full_like(x, 1, dtype)


def eye(
    rows: int, columns: Any = None, dtype: Any = float64, device: OperationGraph | None = None
) -> Any:
    """The identity matrix."""
    return asarray(np.eye(rows, columns), dtype=dtype, device=device)


def arange(
    start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, device: Any = None
) -> Any:
    """Equally spaced numbers."""
    values = np.arange(start) if stop is None else np.arange(start, stop, step)
    return asarray(values, dtype=dtype, device=device)


def asarray(
    x: Any, dtype: Any = None, device: OperationGraph | None = None, copy: Any = None
) -> Any:
    """A symbolic array as it is, in this dtype; numbers as a constant of the graph."""
    if isinstance(x, SymbolicArray):
        return x if dtype is None else cast(x, dtype)
    if device is None:
        return np.asarray(x, dtype=dtype)
    values = np.asarray(x)
    if dtype is not None and np.dtype(dtype).kind != values.dtype.kind:
        values = values.astype(dtype)
    return SymbolicArray.constant(device, values, dtype)


def astype(x: Any, dtype: Any, copy: Any = True) -> Any:
    """The same numbers in another dtype."""
    return cast(x, dtype) if isinstance(x, SymbolicArray) else np.asarray(x).astype(dtype)


def isdtype(dtype: Any, kind: Any) -> Any:
    """Whether a dtype is of a kind of the array API standard."""
    return np.isdtype(np.dtype(dtype), kind)
