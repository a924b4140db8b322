"""In-place exponential: NumPy's, or a loop compiled by numba (extra `compiled`), two to three times faster."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from mercer.native import has_compiler, is_quick, native_loop

# The first stored loop of a process takes 0.03 seconds to load, and 0.15 more with a product if SciPy has not
# been imported. With 1,000 points a call saves 3 of 6 milliseconds without AVX-512, so that ten calls pay for
# the exponential, and 0.5 to 1 of 3 with it; with 2,000 points 9 of 15, and 1 of 5.
_MIN_VALUES_FOR_NUMBA = 1_000_000
# Where nothing can be stored: below, the loop saves less than the seconds for which every process compiles.
_MIN_VALUES_TO_COMPILE = 50_000_000


def exponential(values: int) -> Callable[[np.ndarray], np.ndarray]:
    """The faster in-place exponential for `values` entries in all."""
    return compiled_exp if worth_it(values) else _numpy


def worth_it(values: int) -> bool:
    """Whether numba is installed and compiled loops pay for `values` entries in all."""
    if values < _MIN_VALUES_FOR_NUMBA or not has_compiler():
        return False
    return values >= _MIN_VALUES_TO_COMPILE or is_quick(_loop_double, "double* long")


def exponential_sums(
    x: np.ndarray, weights: np.ndarray, edges: np.ndarray, out: np.ndarray
) -> None:
    """out[a, j] = sum of weights[i] exp(x[i, j]) over rows i from edges[a] to edges[a + 1], compiled."""
    kind = _C_NAMES[x.dtype.itemsize]
    signature = f"{kind}* {kind}* long* {kind}* long long"
    build = _summing_single if x.dtype.itemsize == 4 else _summing_double
    native_loop(build, signature)(x, weights, edges, out, len(edges) - 1, x.shape[1])


def _numpy(x: np.ndarray) -> np.ndarray:
    return np.exp(x, out=x)


def compiled_exp(x: np.ndarray) -> np.ndarray:
    """The compiled exponential, in place, of an array in C order."""
    build = _loop_single if x.dtype.itemsize == 4 else _loop_double
    native_loop(build, f"{_C_NAMES[x.dtype.itemsize]}* long")(x, x.size)
    return x


_C_NAMES = {4: "float", 8: "double"}


def _loop_single(numba: Any) -> Callable[..., int]:
    return _loop(numba, 4)


def _loop_double(numba: Any) -> Callable[..., int]:
    return _loop(numba, 8)


def _summing_single(numba: Any) -> Callable[..., int]:
    return _summing(numba, 4)


def _summing_double(numba: Any) -> Callable[..., int]:
    return _summing(numba, 8)


def _loop(numba: Any, size: int) -> Callable[..., int]:
    """The exponential of every entry, in place."""
    exp, carray = inlined_exp(size), numba.carray

    def loop(x, entries):  # pragma: no cover
        values = carray(x, entries)
        for i in range(entries):
            values[i] = exp(values[i])
        return 0

    return loop


def _summing(numba: Any, size: int) -> Callable[..., int]:
    """Weighted sums over the rows of every bag, without writing the exponentials."""
    exp, carray = inlined_exp(size), numba.carray

    def summing(x, weights, edges, out, bags, columns):  # pragma: no cover
        ends = carray(edges, bags + 1)
        exponents, factors = carray(x, (1, columns)), carray(weights, 1)
        sums = carray(out, (bags, columns))
        for a in range(bags):
            row = sums[a]
            for j in range(columns):
                row[j] = 0
            for i in range(ends[a], ends[a + 1]):
                w, values = factors[i], exponents[i]
                for j in range(columns):
                    row[j] += w * exp(values[j])
        return 0

    return summing


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
    power = _bitcast(numba.from_dtype(np.dtype(i)), numba.from_dtype(np.dtype(f)))

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


def _bitcast(source: Any, target: Any) -> Any:
    """A numba function that reinterprets the bits of an integer as a floating-point number."""
    from numba.extending import intrinsic

    @intrinsic
    def cast(context, number):
        def generate(context, builder, signature, arguments):
            return builder.bitcast(arguments[0], context.get_value_type(target))

        return target(source), generate

    return cast
