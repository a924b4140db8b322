"""Exponentials for compiled loops: functions of numba that are inlined and vectorised."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np


@cache
def inlined_exp(size: int) -> Any:
    """A numba function exp(x) for numbers of `size` bytes, to be inlined in compiled loops.

    exp(x) = 2^k exp(r) with k the nearest integer to x / log 2, so that |r| <= log(2) / 2. exp(r)
    is the polynomial of degree 6 and 10 whose largest relative error is least there, 1.9e-9 and
    2.1e-16 before rounding (Remez' algorithm in 40 digits); 2^k is written into the exponent
    bits. Below the smallest normal number: 0.
    """
    import numba

    i, f = (np.int32, np.float32) if size == 4 else (np.int64, np.float64)
    lowest, bias, bits = (f(-87.0), i(127), i(23)) if size == 4 else (f(-708.0), i(1023), i(52))
    high, low = (f(c) for c in (_LOG2_SINGLE if size == 4 else _LOG2_DOUBLE))
    first, *others = (f(c) for c in (_SINGLE if size == 4 else _DOUBLE))
    coefficients, per, zero = tuple(others), f(1.4426950408889634), f(0)
    power = bitcast(numba.from_dtype(np.dtype(i)), numba.from_dtype(np.dtype(f)))

    @numba.njit(inline="always")
    def exp(x):  # pragma: no cover
        v = max(x, lowest)
        k = np.rint(v * per)
        r = v - k * high - k * low
        p = first
        for c in coefficients:
            p = p * r + c
        p *= power((i(k) + bias) << bits)
        return p if x >= lowest else zero

    return exp


@cache
def scaled_numbers() -> tuple[Any, Any, Any]:
    """Functions of numba for numbers m 2^e with a mantissa 1 <= m < 2 and an exponent e, both float64.

    The exponents have no limits, so that nothing overflows or underflows: ``exp_parts(x)`` is exp(x) as
    mantissa (between 0.7 and 1.5 here) and exponent, ``power_of_two(e)`` is 2^e for whole numbers e from -1022
    to 1023, and ``normalized(m)`` is a positive number m as mantissa and exponent. Numbers are converted to
    integers and back by adding 1.5 2^52, because AVX2 has no instruction for it.
    """
    import numba

    as_float = bitcast(numba.int64, numba.float64)
    as_integer = bitcast(numba.float64, numba.int64)
    high, low = _LOG2_DOUBLE
    first, coefficients = _DOUBLE[0], _DOUBLE[1:]
    shift, fraction, one, whole = 1.5 * 2.0**52, 2**52 - 1, 1023 << 52, 1075 << 52
    lowest = -1e9  # exponents below it are rounded by more than 1e-7; the sum is 0 for all purposes

    @numba.njit(inline="always")
    def exp_parts(x):  # pragma: no cover
        v = max(x, lowest)
        k = np.rint(v * 1.4426950408889634)
        r = v - k * high - k * low
        p = first
        for c in coefficients:
            p = p * r + c
        return p, k

    @numba.njit(inline="always")
    def power_of_two(e):  # pragma: no cover
        return as_float((as_integer(e + shift) + 1023) << 52)

    @numba.njit(inline="always")
    def normalized(m):  # pragma: no cover
        bits = as_integer(m)
        exponent = as_float((bits >> 52) | whole) - (2.0**52 + 1023.0)
        return as_float((bits & fraction) | one), exponent

    return exp_parts, power_of_two, normalized


_LOG2_SINGLE = 0.693145751953125, 1.42860682030941723212e-6  # high and low part of log 2
_LOG2_DOUBLE = 0.693147180369123816490, 1.90821492927058770002e-10
_SINGLE = (  # coefficients, the highest power first
    1.3836846134577056e-3,
    8.3748157983017933e-3,
    4.1668225566922838e-2,
    1.6666420169946367e-1,
    4.9999992079828019e-1,
    1.0000000363231765,
    1.0000000005541663,
)
_DOUBLE = (
    2.7488443522901971e-7,
    2.7639768251354327e-6,
    2.4801917687877069e-5,
    1.9841171384225595e-4,
    1.3888888499138290e-3,
    8.3333333846657944e-3,
    4.1666666668426017e-2,
    1.6666666666557741e-1,
    4.9999999999997287e-1,
    1.0000000000000064,
    1.0000000000000001,
)


def bitcast(source: Any, target: Any) -> Any:
    """A numba function that reinterprets the bits of a number as one of another type of the same size."""
    from numba.extending import intrinsic

    @intrinsic
    def cast(context, number):
        def generate(context, builder, signature, arguments):
            return builder.bitcast(arguments[0], context.get_value_type(target))

        return target(source), generate

    return cast
