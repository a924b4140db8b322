"""BLAS routines by their addresses, so that compiled loops can call them without the interpreter.

SciPy publishes the addresses (`scipy.linalg.cython_blas`); the routines follow the conventions of Fortran: all
arguments are pointers, and a matrix in C order is the transpose of one in Fortran order.
"""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from mercer.linalg import limit_loaded_blas


@cache
def routines(dtype: np.dtype) -> np.ndarray:
    """Addresses of gemm, gemv and dot of this dtype: (3,)."""
    published = import_module("scipy.linalg.cython_blas").__pyx_capi__
    limit_loaded_blas()
    letter = "s" if dtype.itemsize == 4 else "d"
    return np.array([_address(published[letter + name]) for name in ("gemm", "gemv", "dot")])


def _address(capsule: Any) -> int:
    interface = ctypes.pythonapi
    interface.PyCapsule_GetName.restype = ctypes.c_char_p
    interface.PyCapsule_GetName.argtypes = [ctypes.py_object]
    interface.PyCapsule_GetPointer.restype = ctypes.c_void_p
    interface.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return interface.PyCapsule_GetPointer(capsule, interface.PyCapsule_GetName(capsule))


def calls(numba: Any, size: int) -> tuple[Any, Any, Any]:
    """Functions for compiled loops on numbers of `size` bytes: gemm, gemv and dot.

    * gemm(address, a_transposed, b_transposed, m, n, k, a, a_first, a_step, b, ..., beta, c, ...): C = AB + beta C
    * gemv(address, transposed, m, n, a, a_first, a_step, x, x_first, beta, y, y_first): y = Ax + beta y
    * dot(address, n, x, x_first, y, y_first): x'y

    A matrix is a pointer, the position of its first number, and the distance of its columns.
    """
    from numba.core import types
    from numba.extending import intrinsic

    real = types.float32 if size == 4 else types.float64
    pointer, whole = types.CPointer(real), types.int64

    def arguments(kinds: str) -> list[Any]:
        listed: list[Any] = [whole]
        for kind in kinds:
            listed += [pointer, whole] if kind == "p" else [real if kind == "r" else whole]
        return listed

    @intrinsic
    def gemm(context, f, s, t, m, n, k, r, a, i, lda, b, j, ldb, beta, c, o, ldc):
        kinds = "ttiiirpipirpi"
        return types.void(*arguments(kinds)), _call(kinds, types.void)

    @intrinsic
    def gemv(context, f, t, m, n, r, a, i, lda, x, j, dx, beta, y, k, dy):
        kinds = "tiirpipirpi"
        return types.void(*arguments(kinds)), _call(kinds, types.void)

    @intrinsic
    def dot(context, f, n, x, i, dx, y, j, dy):
        kinds = "ipipi"
        return real(*arguments(kinds)), _call(kinds, real)

    return gemm, gemv, dot


def _call(kinds: str, returned: Any) -> Any:
    """Code generator of a call with these kinds of arguments after the address: see `_pointers`."""
    from llvmlite import ir
    from numba.core import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = _pointers(builder, kinds, arguments[1:])
        result = context.get_value_type(returned) if returned != types.void else ir.VoidType()
        kind = ir.FunctionType(result, [value.type for value in values])
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        answer = builder.call(function, values)
        return context.get_dummy_value() if returned == types.void else answer

    return generate


def _pointers(builder: Any, kinds: str, values: Any) -> list[Any]:
    """Pointers to the values: t is a flag, i an integer, r a number; p is an array with its first position."""
    from llvmlite import ir
    from numba.core import cgutils

    result, position = [], 0
    for kind in kinds:
        value = values[position]
        position += 2 if kind == "p" else 1
        if kind == "p":
            result.append(builder.gep(value, [values[position - 1]]))
            continue
        if kind == "t":
            no, yes = (ir.Constant(ir.IntType(8), ord(letter)) for letter in "NT")
            value = builder.select(builder.icmp_signed("!=", value, value.type(0)), yes, no)
        elif kind == "i":
            value = builder.trunc(value, ir.IntType(32))
        result.append(cgutils.alloca_once_value(builder, value))
    return result
