"""The functions of the array API standard for symbolic arrays: what they do is written into the graph.

Without a symbolic array among their arguments they are those of NumPy. The device of an array is its graph.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from mercer.learn.onnx_export.array_shapes import (
    arange as arange,
)
from mercer.learn.onnx_export.array_shapes import (
    asarray as asarray,
)
from mercer.learn.onnx_export.array_shapes import (
    astype as astype,
)
from mercer.learn.onnx_export.array_shapes import (
    bool as bool,
)
from mercer.learn.onnx_export.array_shapes import (
    broadcast_to as broadcast_to,
)
from mercer.learn.onnx_export.array_shapes import (
    concat as concat,
)
from mercer.learn.onnx_export.array_shapes import (
    expand_dims as expand_dims,
)
from mercer.learn.onnx_export.array_shapes import (
    eye as eye,
)
from mercer.learn.onnx_export.array_shapes import (
    finfo as finfo,
)
from mercer.learn.onnx_export.array_shapes import (
    float32 as float32,
)
from mercer.learn.onnx_export.array_shapes import (
    float64 as float64,
)
from mercer.learn.onnx_export.array_shapes import (
    full as full,
)
from mercer.learn.onnx_export.array_shapes import (
    full_like as full_like,
)
from mercer.learn.onnx_export.array_shapes import (
    int32 as int32,
)
from mercer.learn.onnx_export.array_shapes import (
    int64 as int64,
)
from mercer.learn.onnx_export.array_shapes import (
    isdtype as isdtype,
)
from mercer.learn.onnx_export.array_shapes import (
    newaxis as newaxis,
)
from mercer.learn.onnx_export.array_shapes import (
    ones as ones,
)
from mercer.learn.onnx_export.array_shapes import (
    ones_like as ones_like,
)
from mercer.learn.onnx_export.array_shapes import (
    permute_dims as permute_dims,
)
from mercer.learn.onnx_export.array_shapes import (
    reshape as reshape,
)
from mercer.learn.onnx_export.array_shapes import (
    squeeze as squeeze,
)
from mercer.learn.onnx_export.array_shapes import (
    stack as stack,
)
from mercer.learn.onnx_export.array_shapes import (
    take as take,
)
from mercer.learn.onnx_export.array_shapes import (
    zeros as zeros,
)
from mercer.learn.onnx_export.array_shapes import (
    zeros_like as zeros_like,
)
from mercer.learn.onnx_export.array_transforms import fft as fft
from mercer.learn.onnx_export.distances import squared_distances as squared_distances
from mercer.learn.onnx_export.operation_graph import BATCH, broadcast
from mercer.learn.onnx_export.symbolic_array import (
    SymbolicArray,
    axes_of,
    cast,
    elementwise,
    graph_of,
    lifted,
)

pi = np.pi


def _elementary(op: str, compute: Callable[..., Any], dtype: Any = None) -> Any:
    """An operation of ONNX on the entries of arrays, under the name of a function of NumPy."""

    def function(*values: Any) -> Any:
        if graph_of(values) is None:
            return compute(*values)
        return elementwise(op, compute, *values, dtype=dtype)

    return function


def _folded(compute: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function of symbolic arrays; of constants it is computed by the function of NumPy."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def folded(*values: Any) -> Any:
            if graph_of(values) is None:
                return compute(*values)
            arrays = lifted(values)
            if builtins.all(a.value is not None for a in arrays):
                results = compute(*(a.rounded for a in arrays))
                return SymbolicArray.constant(arrays[0].graph, results, arrays[0].dtype)
            return function(*arrays)

        return folded

    return decorate


add = _elementary("Add", np.add)
subtract = _elementary("Sub", np.subtract)
multiply = _elementary("Mul", np.multiply)
divide = _elementary("Div", np.divide)
negative = _elementary("Neg", np.negative)
abs = _elementary("Abs", np.abs)
exp = _elementary("Exp", np.exp)
log = _elementary("Log", np.log)
sqrt = _elementary("Sqrt", np.sqrt)
sin = _elementary("Sin", np.sin)
tanh = _elementary("Tanh", np.tanh)
floor = _elementary("Floor", np.floor)
ceil = _elementary("Ceil", np.ceil)
round = _elementary("Round", np.round)
sign = _elementary("Sign", np.sign)
minimum = _elementary("Min", np.minimum)
maximum = _elementary("Max", np.maximum)
less = _elementary("Less", np.less, bool)
less_equal = _elementary("LessOrEqual", np.less_equal, bool)
greater = _elementary("Greater", np.greater, bool)
greater_equal = _elementary("GreaterOrEqual", np.greater_equal, bool)
equal = _elementary("Equal", np.equal, bool)
logical_and = _elementary("And", np.logical_and, bool)
logical_or = _elementary("Or", np.logical_or, bool)
logical_not = _elementary("Not", np.logical_not, bool)


def pow(base: Any, exponent: Any) -> Any:
    """base ** exponent."""
    return base**exponent


def square(x: Any) -> Any:
    """x^2."""
    return x * x


def matmul(a: Any, b: Any) -> Any:
    """a @ b."""
    return a @ b


dot = matmul  # of matrices and vectors


@_folded(np.cos)
def cos(x: Any) -> Any:
    """The cosine; in float64, which older runtimes lack, as a shifted sine, whose error is a rounding of x."""
    return elementwise("Cos", np.cos, x) if x.dtype == float32 else sin(x + pi / 2)


@_folded(np.log1p)
def log1p(x: Any) -> Any:
    """log(1 + x), exact for small x (Kahan): log(u) x / (u - 1) with the rounded u = 1 + x."""
    u = 1 + x
    moved = u - 1
    same = moved == 0
    return where(same, x, log(u) * x / where(same, 1.0, moved))


@_folded(np.expm1)
def expm1(x: Any) -> Any:
    """exp(x) - 1, exact for small x (Kahan): (u - 1) x / log(u) with the rounded u = exp(x)."""
    u = exp(x)
    plain = logical_or(u == 1, abs(u - 1) > 0.5)  # far from 0 nothing is lost
    return where(
        plain, where(u == 1, x, u - 1), (u - 1) * x / where(plain, 1.0, log(where(plain, 2.0, u)))
    )


@_folded(np.logaddexp)
def logaddexp(a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b)) without overflow."""
    return maximum(a, b) + log1p(exp(-abs(a - b)))


@_folded(np.arctan2)
def atan2(y: Any, x: Any) -> Any:
    """The angle of (x, y), in [-pi, pi]: twice that whose tangent is |y| / (r + x), or (r - x) / |y| where x < 0.

    Runtimes have arc tangents of float32 only, so that float64 needs a step of Newton's method, after which the
    error is below rounding.
    """
    height = abs(y)
    r, steep = sqrt(x * x + y * y), x < 0
    top, bottom = where(steep, r - x, height), where(steep, height, r + x)
    flat = bottom == 0
    half = elementwise("Atan", np.arctan, cast(top / where(flat, 1.0, bottom), float32))
    angle = 2 * cast(half, top.dtype)
    if top.dtype == float64:
        angle = angle + (height * cos(angle) - x * sin(angle)) / where(r > 0, r, 1.0)
    angle = where(flat, where(steep, pi, 0.0), angle)
    return where(y < 0, -angle, angle)


def atan(x: Any) -> Any:
    """The angle whose tangent is x."""
    return atan2(x, 1.0)


def where(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition holds, else b."""
    graph = graph_of((condition, a, b))
    if graph is None:
        return np.where(condition, a, b)
    (flags,) = lifted((condition,), graph)
    a, b = lifted((a, b), graph)
    values: Any = [v.value for v in (flags, a, b)]
    if builtins.all(value is not None for value in values):
        return SymbolicArray.constant(graph, np.where(*values), a.dtype)
    shape = broadcast(flags.shape, a.shape, b.shape)
    (name,) = graph.apply("Where", (cast(flags, bool).name, a.name, b.name))
    return SymbolicArray(graph, shape, a.dtype, name)


def clip(x: Any, low: Any = None, high: Any = None) -> Any:
    """x, raised to `low` and lowered to `high`."""
    if low is not None:
        x = maximum(x, low)
    return x if high is None else minimum(x, high)


def isfinite(x: Any) -> Any:
    """Whether the entries are finite."""
    return np.isfinite(x) if graph_of((x,)) is None else abs(x) < inf


def isnan(x: Any) -> Any:
    """Whether the entries are NaN."""
    return np.isnan(x) if graph_of((x,)) is None else logical_not(x == x)


# ---- sums and other reductions --------------------------------------------------------------------


def _reduced(op: str, compute: Callable[..., Any]) -> Any:
    def function(x: Any, axis: Any = None, keepdims: Any = False, dtype: Any = None) -> Any:
        if graph_of((x,)) is None:
            return compute(x, axis=axis, keepdims=keepdims)
        x = cast(x, x.graph.dtype) if x.dtype.kind == "b" else x
        if x.value is not None:
            values = compute(x.rounded, axis=axis, keepdims=keepdims)
            return SymbolicArray.constant(x.graph, values, x.dtype)
        axes = axes_of(axis, x.ndim)
        if builtins.any(x.shape[a] == BATCH for a in axes):
            raise TypeError("sums over the rows of the input cannot be written into a graph")
        where_to = x.graph.constant(np.array(axes, dtype=np.int64))
        (name,) = x.graph.apply(op, (x.name, where_to), keepdims=int(keepdims))
        lengths = ((1,) * keepdims if a in axes else (n,) for a, n in enumerate(x.shape))
        return SymbolicArray(x.graph, builtins.sum(lengths, ()), x.dtype, name)

    return function


sum = _reduced("ReduceSum", np.sum)
prod = _reduced("ReduceProd", np.prod)
max = _reduced("ReduceMax", np.max)
min = _reduced("ReduceMin", np.min)
mean = _reduced("ReduceMean", np.mean)


def all(x: Any, axis: Any = None) -> Any:
    """Whether all entries along an axis are true."""
    return np.all(x, axis=axis) if graph_of((x,)) is None else min(cast(x, bool), axis=axis) > 0


def any(x: Any, axis: Any = None) -> Any:
    """Whether any entry along an axis is true."""
    return np.any(x, axis=axis) if graph_of((x,)) is None else max(cast(x, bool), axis=axis) > 0


def argmax(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """The position of the first largest entry along an axis."""
    return _position("ArgMax", np.argmax, x, axis, keepdims)


def argmin(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """The position of the first smallest entry along an axis."""
    return _position("ArgMin", np.argmin, x, axis, keepdims)


def _position(op: str, compute: Callable[..., Any], x: Any, axis: Any, keepdims: Any) -> Any:
    if graph_of((x,)) is None:
        return compute(x, axis=axis, keepdims=keepdims)
    x = cast(x, x.graph.dtype) if x.dtype.kind == "b" else x
    (place,) = axes_of(axis, x.ndim)
    if x.shape[place] == BATCH:
        raise TypeError("positions among the rows of the input cannot be written into a graph")
    if x.value is not None:
        return SymbolicArray.constant(x.graph, compute(x.value, axis=axis, keepdims=keepdims))
    (name,) = x.graph.apply(op, (x.name,), axis=place, keepdims=int(keepdims))
    shape = (*x.shape[:place], *((1,) * keepdims), *x.shape[place + 1 :])
    return SymbolicArray(x.graph, shape, int64, name)


def sort(x: Any, axis: int = -1) -> Any:
    """The entries in increasing order along an axis."""
    if graph_of((x,)) is None:
        return np.sort(x, axis=axis)
    (place,) = axes_of(axis, x.ndim)
    if x.value is not None:
        return SymbolicArray.constant(x.graph, np.sort(x.value, axis=place), x.dtype)
    number = x.graph.constant(np.array([x.shape[place]], dtype=np.int64))
    names = x.graph.apply("TopK", (x.name, number), outputs=2, axis=place, largest=0, sorted=1)
    return SymbolicArray(x.graph, x.shape, x.dtype, names[0])


class linalg:
    """Linear algebra that is a formula of the entries."""

    @staticmethod
    def vecdot(x: Any, y: Any, axis: int = -1) -> Any:
        """Sums of products along an axis."""
        return sum(x * y, axis=axis)

    @staticmethod
    def norm(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
        """Euclidean norms along an axis."""
        return sqrt(sum(x * x, axis=axis, keepdims=keepdims))

    vector_norm = norm


# NumPy's names of functions that have other names in the array API standard
NAMES_IN_NUMPY = {
    "absolute": "abs",
    "fabs": "abs",
    "true_divide": "divide",
    "power": "pow",
    "arctan2": "atan2",
    "arctan": "atan",
    "concatenate": "concat",
    "transpose": "permute_dims",
    "amax": "max",
    "amin": "min",
    "around": "round",
    "rint": "round",
}

SymbolicArray.functions = sys.modules[__name__]
