"""Symbolic arrays: stand-ins for arrays without numbers that write every operation on them into a graph.

They follow the array API standard and NumPy's protocols for functions, so that formulas of kernels and learners, and
functions of users, run on them as on arrays. What only depends on constants is computed at once.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import EllipsisType
from typing import Any, NoReturn

import numpy as np

from mercer.learn.onnx_export.operation_graph import BATCH, OperationGraph, broadcast

_MAX_PRODUCTS = 4  # of a power that are written as products, which are exact and fast


def _method(name: str) -> Any:
    """The method of arrays of NumPy that is the function of this name."""

    def method(self: SymbolicArray, axis: Any = None, keepdims: bool = False) -> SymbolicArray:
        return getattr(self.functions, name)(self, axis=axis, keepdims=keepdims)

    return method


def _operators(op: str, compute: Callable[..., Any], dtype: Any = None) -> tuple[Any, Any]:
    """The methods of an operator with the array on its left and on its right."""

    def left(self: SymbolicArray, other: Any) -> SymbolicArray:
        return elementwise(op, compute, self, other, dtype=dtype)

    def right(self: SymbolicArray, other: Any) -> SymbolicArray:
        return elementwise(op, compute, other, self, dtype=dtype)

    return left, right


class SymbolicArray:
    """An array of a graph: a constant, with a value, or the result of operations, with a name."""

    symbolic = True  # for `mercer.backend.is_symbolic`
    functions: Any = None  # the namespace, `array_functions`, which imports this file
    __hash__ = object.__hash__

    def __init__(
        self,
        graph: OperationGraph,
        shape: tuple[int, ...],
        dtype: Any,
        name: str | None = None,
        value: np.ndarray | None = None,
    ) -> None:
        self.graph = graph
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self._name = name
        self.value = value  # of a constant, in float64: numbers are rounded where they are used

    @classmethod
    def constant(cls, graph: OperationGraph, value: Any, dtype: Any = None) -> SymbolicArray:
        """A constant; of numbers, the dtype is that of the graph unless it is given."""
        array = np.asarray(value)
        if array.dtype.kind == "f":
            dtype, array = dtype or graph.dtype, array.astype(np.float64, copy=False)
        elif array.dtype.kind in "iu":
            dtype, array = dtype or np.int64, array.astype(np.int64)
        return cls(graph, array.shape, dtype or array.dtype, value=array)

    @property
    def name(self) -> str:
        """The name in the graph; that of a constant is made when it is first used."""
        if self._name is None:
            self._name = self.graph.constant(np.asarray(self._known()).astype(self.dtype))
        return self._name

    @property
    def rounded(self) -> np.ndarray | None:
        """The value of a constant as operations in its dtype see it, in float64; None of other arrays."""
        if self.value is None or self.dtype != np.float32:
            return self.value
        with np.errstate(over="ignore"):
            return self.value.astype(np.float32).astype(np.float64)

    def _known(self) -> np.ndarray:
        if self.value is None:
            raise TypeError("the numbers of a symbolic array are not known")
        return self.value

    # ---- attributes of arrays ----------------------------------------------------------------

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod([int(length) for length in self.shape], dtype=object))

    @property
    def device(self) -> OperationGraph:
        """The graph, in which functions such as `zeros` make arrays like this one."""
        return self.graph

    @property
    def T(self) -> SymbolicArray:
        return self.functions.permute_dims(self, tuple(reversed(range(self.ndim))))

    def __array_namespace__(self, api_version: Any = None) -> Any:
        return self.functions

    def __repr__(self) -> str:
        lengths = ("rows" if length == BATCH else str(length) for length in self.shape)
        return f"SymbolicArray({' x '.join(lengths)}, {self.dtype})"

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Any:
        if self.ndim and self.shape[0] != BATCH:
            return (self[i] for i in range(self.shape[0]))
        raise TypeError("the rows of a symbolic array cannot be gone through: use whole arrays")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self._known(), dtype=dtype or self.dtype)

    def __bool__(self) -> bool:
        return bool(self._known())

    def __float__(self) -> float:
        return float(self._known())

    def __int__(self) -> int:
        return int(self._known())

    __index__ = __int__

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TypeError("symbolic arrays cannot be changed in place")

    # ---- NumPy's protocols -------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **how: Any) -> Any:
        if method != "__call__" or how:
            raise TypeError(f"numpy.{ufunc.__name__}.{method} cannot be written into a graph")
        return self._function(ufunc.__name__)(*inputs)

    def __array_function__(self, function: Any, types: Any, arguments: Any, how: Any) -> Any:
        return self._function(function.__name__)(*arguments, **how)

    def _function(self, name: str) -> Any:
        """The function that stands for one of NumPy, by its name there."""
        known = self.functions.NAMES_IN_NUMPY.get(name, name)
        for room in (self.functions, self.functions.linalg):
            if hasattr(room, known):
                return getattr(room, known)
        raise TypeError(f"numpy.{name} cannot be written into a graph")

    # ---- operators ---------------------------------------------------------------------------

    __add__, __radd__ = _operators("Add", np.add)
    __sub__, __rsub__ = _operators("Sub", np.subtract)
    __mul__, __rmul__ = _operators("Mul", np.multiply)
    __truediv__, __rtruediv__ = _operators("Div", np.divide)
    __lt__, _ = _operators("Less", np.less, np.bool_)
    __le__, _ = _operators("LessOrEqual", np.less_equal, np.bool_)
    __gt__, _ = _operators("Greater", np.greater, np.bool_)
    __ge__, _ = _operators("GreaterOrEqual", np.greater_equal, np.bool_)
    __eq__, _ = _operators("Equal", np.equal, np.bool_)
    __and__, __rand__ = _operators("And", np.logical_and, np.bool_)
    __or__, __ror__ = _operators("Or", np.logical_or, np.bool_)

    def __neg__(self) -> SymbolicArray:
        return elementwise("Neg", np.negative, self)

    def __abs__(self) -> SymbolicArray:
        return elementwise("Abs", np.abs, self)

    def __invert__(self) -> SymbolicArray:
        return elementwise("Not", np.logical_not, self, dtype=np.bool_)

    def __ne__(self, other: Any) -> Any:
        return ~(self == other)

    def __pow__(self, exponent: Any) -> SymbolicArray:
        whole = isinstance(exponent, int | float) and float(exponent).is_integer()
        if whole and 1 <= exponent <= _MAX_PRODUCTS:
            product = self
            for _ in range(int(exponent) - 1):
                product = product * self
            return product
        if isinstance(exponent, int | float) and exponent == 0.5:
            return elementwise("Sqrt", np.sqrt, self)
        return elementwise("Pow", np.power, self, exponent)

    def __rpow__(self, base: Any) -> SymbolicArray:
        return elementwise("Pow", np.power, base, self)

    def __matmul__(self, other: Any) -> SymbolicArray:
        return matrix_product(self, other)

    def __rmatmul__(self, other: Any) -> SymbolicArray:
        return matrix_product(other, self)

    # ---- parts -------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> SymbolicArray:
        keys = key if isinstance(key, tuple) else (key,)
        if self.value is not None:
            plain = tuple(np.asarray(k) if isinstance(k, SymbolicArray) else k for k in keys)
            return SymbolicArray.constant(self.graph, self.value[plain], self.dtype)
        result, axis = self, 0
        for item in _expanded(keys, self.ndim):
            if item is None:
                result, axis = with_axis(result, axis), axis + 1
            elif isinstance(item, slice):
                result, axis = _sliced(result, axis, item), axis + 1
            else:
                index = np.asarray(item)
                result = gathered(result, index, axis)
                axis += index.ndim
        return result

    def squared_distances_to(self, y: Any, profile: Any = None) -> SymbolicArray:
        """|x_i - y_j|^2, as `mercer.kernels.metric.squared_distances` computes it for arrays."""
        (y,) = lifted((y,), self.graph)
        return self.functions.squared_distances(self, y, profile)

    # ---- methods of NumPy's arrays -----------------------------------------------------------

    def astype(self, dtype: Any, copy: bool = True) -> SymbolicArray:
        return self.functions.astype(self, dtype)

    def reshape(self, *shape: int) -> SymbolicArray:
        return self.functions.reshape(self, shape)

    sum, mean, max, min = map(_method, ("sum", "mean", "max", "min"))


# ---- elementary operations ------------------------------------------------------------------------


def graph_of(values: Any) -> OperationGraph | None:
    """The graph of the first symbolic array among values; None where there is none."""
    return next((v.graph for v in values if isinstance(v, SymbolicArray)), None)


def lifted(values: tuple[Any, ...], graph: OperationGraph | None = None) -> list[SymbolicArray]:
    """Arrays and numbers as symbolic arrays of one dtype, the widest among them."""
    graph = graph or graph_of(values)
    if graph is None:
        raise TypeError("there is no symbolic array among the arguments")
    arrays = [
        v if isinstance(v, SymbolicArray) else SymbolicArray.constant(graph, np.asarray(v))
        for v in values
    ]
    scalars = [not isinstance(v, SymbolicArray) and np.ndim(v) == 0 for v in values]
    dtype = _common(arrays, scalars)
    return [cast(a, dtype) for a in arrays]


def _common(arrays: list[SymbolicArray], scalars: list[bool]) -> np.dtype:
    """The dtype of a result: of the arrays, and of plain numbers only where those are of a higher kind."""
    strong = [a.dtype for a, scalar in zip(arrays, scalars, strict=True) if not scalar]
    floats = [d for d in strong if d.kind == "f"]
    if floats:
        return max(floats, key=lambda d: d.itemsize)
    every = [a.dtype for a in arrays]
    order = "bif"
    return max(every, key=lambda d: order.find("i" if d.kind == "u" else d.kind))


def cast(x: SymbolicArray, dtype: Any) -> SymbolicArray:
    """The same numbers in another dtype."""
    dtype = np.dtype(dtype)
    if x.dtype == dtype:
        return x
    if x.value is not None:
        value = x.value if x.value.dtype.kind == dtype.kind == "f" else x.value.astype(dtype)
        return SymbolicArray.constant(x.graph, value, dtype)
    (name,) = x.graph.apply("Cast", (x.name,), to=dtype.name)
    return SymbolicArray(x.graph, x.shape, dtype, name)


def elementwise(
    op: str, compute: Callable[..., Any], *values: Any, dtype: Any = None
) -> SymbolicArray:
    """An operation on the entries of arrays that are broadcast; `dtype` is that of the result."""
    arrays = lifted(values)
    graph, shape = arrays[0].graph, broadcast(*(a.shape for a in arrays))
    result = np.dtype(dtype) if dtype is not None else arrays[0].dtype
    known = [a.rounded for a in arrays]
    if all(value is not None for value in known):
        with np.errstate(all="ignore"):
            return SymbolicArray.constant(graph, compute(*known), result)
    if op in ("Mul", "Div") and result == np.float64:
        arrays = [_without_scalars(a, shape) for a in arrays]
    (name,) = graph.apply(op, tuple(a.name for a in arrays))
    return SymbolicArray(graph, shape, result, name)


def _without_scalars(a: SymbolicArray, shape: tuple[int, ...]) -> SymbolicArray:
    """A constant factor of float64 as a row of equal numbers, where float32 does not represent it.

    onnxruntime joins a product by a scalar with the matrix product before or after it, and rounds the scalar to
    float32 (MatMulScaleFusion).
    """
    if a.value is None or a.value.size > 1 or not shape or shape[-1] in (1, BATCH):
        return a
    factor = a.value.item()
    if float(np.float32(factor)) == factor:
        return a
    return SymbolicArray.constant(a.graph, np.full(shape[-1], factor), a.dtype)


def matrix_product(a: Any, b: Any) -> SymbolicArray:
    """The product of matrices, or of a matrix and a vector."""
    a, b = lifted((a, b))
    known = a.rounded, b.rounded
    if known[0] is not None and known[1] is not None:
        return SymbolicArray.constant(a.graph, known[0] @ known[1], a.dtype)
    if a.shape[-1] != b.shape[0 if b.ndim == 1 else -2]:
        raise ValueError(f"the shapes {a.shape} and {b.shape} do not fit for a matrix product")
    if b.ndim == 1 and a.ndim > 1:  # never next to a scalar, see `_without_scalars`
        return matrix_product(a, b[:, None])[..., 0]
    if a.shape[-1] == 1 and a.ndim == b.ndim == 2:
        return a * b
    (name,) = a.graph.apply("MatMul", (a.name, b.name))
    outer = broadcast(a.shape[:-2], b.shape[:-2]) if min(a.ndim, b.ndim) > 2 else a.shape[:-2]
    rows = a.shape[-2:-1] if a.ndim > 1 else ()
    shape = (*outer, *rows, *(b.shape[-1:] if b.ndim > 1 else ()))
    return SymbolicArray(a.graph, shape, a.dtype, name)


def gathered(x: SymbolicArray, index: np.ndarray, axis: int) -> SymbolicArray:
    """Entries at positions (whole numbers, of any shape) along an axis, whose length is known."""
    if index.dtype.kind == "b":
        index = np.flatnonzero(index)
    if index.dtype.kind not in "iu" or x.shape[axis] == BATCH:
        raise TypeError("entries are taken by whole numbers, and not from the rows of the input")
    index = np.where(index < 0, index + x.shape[axis], index).astype(np.int64)
    (name,) = x.graph.apply("Gather", (x.name, x.graph.constant(index)), axis=axis)
    return SymbolicArray(x.graph, x.shape[:axis] + index.shape + x.shape[axis + 1 :], x.dtype, name)


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes that are meant by None (all), a number or several, as numbers from 0."""
    axes = range(ndim) if axis is None else (axis if isinstance(axis, tuple) else (axis,))
    return tuple(a % ndim for a in axes)


def _expanded(keys: tuple[Any, ...], ndim: int) -> list[Any]:
    """The parts of an index, one for each axis, without an ellipsis."""
    number = sum(k is not None and not isinstance(k, EllipsisType) for k in keys)
    expanded: list[Any] = []
    for key in keys:
        if isinstance(key, EllipsisType):
            expanded += [slice(None)] * (ndim - number)
        else:
            expanded.append(key)
    return expanded


def with_axis(x: SymbolicArray, axis: int) -> SymbolicArray:
    """The same array with a new axis of length 1 at this place."""
    axes = x.graph.constant(np.array([axis], dtype=np.int64))
    (name,) = x.graph.apply("Unsqueeze", (x.name, axes))
    return SymbolicArray(x.graph, (*x.shape[:axis], 1, *x.shape[axis:]), x.dtype, name)


def _sliced(x: SymbolicArray, axis: int, span: slice) -> SymbolicArray:
    if span == slice(None):
        return x
    length = x.shape[axis]
    if length == BATCH:
        raise TypeError("a slice of the rows of the input cannot be written into a graph")
    start, stop, step = span.indices(length)
    if (start, stop, step) == (0, length, 1):
        return x
    if step != 1:
        return gathered(x, np.arange(start, stop, step), axis)
    ends = [np.array([v], dtype=np.int64) for v in (start, max(stop, start), axis)]
    (name,) = x.graph.apply("Slice", (x.name, *(x.graph.constant(v) for v in ends)))
    count = operator.index(max(stop - start, 0))
    return SymbolicArray(x.graph, (*x.shape[:axis], count, *x.shape[axis + 1 :]), x.dtype, name)
