"""In-place exponential: NumPy's, or a loop compiled by numba (extra `compiled`), two to three times faster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer import native_exp
from mercer.native import has_compiler, is_quick, native_loop
from mercer.native_exp import inlined_exp

# The first stored loop of a process takes 0.03 seconds to load, and 0.15 more with a product if SciPy has not
# been imported. With 1,000 points a call saves 3 of 6 milliseconds without AVX-512, so that ten calls pay for
# the exponential, and 0.5 to 1 of 3 with it; with 2,000 points 9 of 15, and 1 of 5.
_MIN_VALUES_FOR_NUMBA = 1_000_000
# Where nothing can be stored: below, the loop saves less than the seconds for which every process compiles.
_MIN_VALUES_TO_COMPILE = 50_000_000
SOURCES = (native_exp.__file__,)  # of functions that the loops take from elsewhere


def exponential(values: int) -> Callable[[np.ndarray], np.ndarray]:
    """The faster in-place exponential for `values` entries in all."""
    return compiled_exp if worth_it(values) else _numpy


def worth_it(values: int) -> bool:
    """Whether numba is installed and compiled loops pay for `values` entries in all."""
    if values < _MIN_VALUES_FOR_NUMBA or not has_compiler():
        return False
    return values >= _MIN_VALUES_TO_COMPILE or is_quick(_loop_double, "double* long", SOURCES)


def exponential_sums(
    x: np.ndarray, weights: np.ndarray, edges: np.ndarray, out: np.ndarray
) -> None:
    """out[a, j] = sum of weights[i] exp(x[i, j]) over rows i from edges[a] to edges[a + 1], compiled."""
    kind = _C_NAMES[x.dtype.itemsize]
    signature = f"{kind}* {kind}* long* {kind}* long long"
    build = _summing_single if x.dtype.itemsize == 4 else _summing_double
    native_loop(build, signature, SOURCES)(x, weights, edges, out, len(edges) - 1, x.shape[1])


def _numpy(x: np.ndarray) -> np.ndarray:
    return np.exp(x, out=x)


def compiled_exp(x: np.ndarray) -> np.ndarray:
    """The compiled exponential, in place, of an array in C order."""
    build = _loop_single if x.dtype.itemsize == 4 else _loop_double
    native_loop(build, f"{_C_NAMES[x.dtype.itemsize]}* long", SOURCES)(x, x.size)
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
