"""Loops over tiles of Gaussian kernel matrices, in machine code (numba, the extra `compiled`).

A tile takes a matrix product, an exponential and another product: NumPy calls of some 50 microseconds each.
Between them a thread waits for the lock of the interpreter, so that more than eight threads are no faster
than eight. Here a run of many tiles is one call without the lock, on buffers that are allocated before.

Common arguments: exponents are `left @ right`, the factors of `gaussian_tiles.py`, p numbers for each point
(`right` is a part of a matrix with `stride` columns);
for points on the line (p = 1), `rate` times squared differences. `diagonal` is the column whose value in row 0
is exactly 1 (in row 1 it is the next, and so on), or `NO_DIAGONAL`. `width` is the number of columns of a tile, `work` the
buffer, `routines` has the addresses of BLAS. Every loop returns 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mercer.gram.blas_calls import calls
from mercer.native_exp import inlined_exp

Loop = Callable[..., int]

NO_DIAGONAL = -(2**62)

WRITE = "REAL* REAL* long OUT* REAL* long* long long long long REAL long long"
PRODUCTS = "REAL* REAL* long REAL* double* REAL* long* long long long long REAL long long"
PRODUCTS_OF_BOTH = (
    "REAL* REAL* long REAL* REAL* double* double* REAL* long* long long long long REAL long"
)
CODED_PRODUCTS = (
    "REAL* REAL* long byte* long REAL* long double* REAL* long* long long long long REAL long"
)


def write_double(numba: Any) -> Loop:
    """The loop of `_write` for float64."""
    return _write(numba, 8)


def write_single(numba: Any) -> Loop:
    """The loop of `_write` for float32."""
    return _write(numba, 4)


def products_double(numba: Any) -> Loop:
    """The loop of `_products` for float64."""
    return _products(numba, 8)


def products_single(numba: Any) -> Loop:
    """The loop of `_products` for float32."""
    return _products(numba, 4)


def products_of_both_double(numba: Any) -> Loop:
    """The loop of `_products_of_both` for float64."""
    return _products_of_both(numba, 8)


def products_of_both_single(numba: Any) -> Loop:
    """The loop of `_products_of_both` for float32."""
    return _products_of_both(numba, 4)


def coded_products_double(numba: Any) -> Loop:
    """The loop of `_coded_products` for float64."""
    return _coded_products(numba, 8)


def coded_products_single(numba: Any) -> Loop:
    """The loop of `_coded_products` for float32."""
    return _coded_products(numba, 4)


def kernel_values(numba: Any, size: int) -> Any:
    """Function for compiled loops that writes the kernel values of a tile, from column `start` on."""
    gemm, _, _ = calls(numba, size)
    exp, carray = inlined_exp(size), numba.carray

    @numba.njit(inline="always")
    def fill(left, right, stride, tile, routines, rows, columns, start, p, rate, diagonal):
        flat = carray(tile, rows * columns)
        if p == 1:
            x, y = carray(left, rows), carray(right, start + columns)
            others = y[start : start + columns]
            for i in range(rows):
                row = flat[i * columns : (i + 1) * columns]
                for j in range(columns):
                    difference = x[i] - others[j]
                    row[j] = exp(rate * difference * difference)
        else:
            f, n = carray(routines, 3)[0], columns
            gemm(f, 0, 0, n, rows, p, 1.0, right, start, stride, left, 0, p, 0.0, tile, 0, n)
            for i in range(rows * columns):
                flat[i] = exp(flat[i])
        if diagonal != NO_DIAGONAL:
            for i in range(max(start - diagonal, 0), min(rows, start + columns - diagonal)):
                flat[i * columns + i + diagonal - start] = 1.0

    return fill


def decoding(numba: Any) -> Any:
    """Function for compiled loops: out[b, j] = table[codes[b, start + j]], `stride` codes to a row."""
    carray = numba.carray

    @numba.njit(inline="always")
    def decode(codes, stride, first, rows, start, columns, table, out):
        coded = carray(codes, (first + rows) * stride)
        low, step = table[0], table[table.size - 1] - table[0]
        for b in range(rows):
            place = (first + b) * stride + start
            row, written = coded[place : place + columns], out[b * columns : (b + 1) * columns]
            if table.size <= 2:  # arithmetic fills the vector units
                for j in range(columns):
                    written[j] = low + step * row[j]
            else:
                for j in range(columns):
                    written[j] = table[row[j]]

    return decode


def _write(numba: Any, size: int) -> Loop:
    """out[:, first : ...] = K, for `out` with `step` columns, in another precision too."""
    fill, carray = kernel_values(numba, size), numba.carray

    def loop(
        left, right, stride, out, work, routines, rows, columns, p, diagonal, rate, width, step
    ):
        values, written = carray(work, rows * width), carray(out, (rows - 1) * step + columns)
        for start in range(0, columns, width):
            count = min(width, columns - start)
            fill(left, right, stride, work, routines, rows, count, start, p, rate, diagonal)
            for i in range(rows):
                place = i * step + start
                row, target = values[i * count : (i + 1) * count], written[place : place + count]
                for j in range(count):
                    target[j] = row[j]
        return 0

    return loop


def _products(numba: Any, size: int) -> Loop:
    """total += K v for v (columns, k), the sums in float64."""
    fill, carray = kernel_values(numba, size), numba.carray
    gemm, gemv, _ = calls(numba, size)

    def loop(
        left, right, stride, v, total, work, routines, rows, columns, p, diagonal, rate, width, k
    ):
        addresses, sums = carray(routines, 3), carray(total, rows * k)
        space = rows * width
        product = carray(work, space + rows * k)
        for start in range(0, columns, width):
            n = min(width, columns - start)
            fill(left, right, stride, work, routines, rows, n, start, p, rate, diagonal)
            if k == 1:
                gemv(addresses[1], 1, n, rows, 1.0, work, 0, n, v, start, 1, 0.0, work, space, 1)
            else:
                f, at = addresses[0], start * k
                gemm(f, 0, 0, k, rows, n, 1.0, v, at, k, work, 0, n, 0.0, work, space, k)
            addition = product[space : space + rows * k]
            for i in range(rows * k):
                sums[i] += addition[i]
        return 0

    return loop


def _products_of_both(numba: Any, size: int) -> Loop:
    """total += K at_columns, below = K' at_rows: a tile beside the diagonal serves both triangles."""
    fill, carray = kernel_values(numba, size), numba.carray
    gemm, gemv, _ = calls(numba, size)

    def loop(
        left, right, stride, at_rows, at_columns, total, below,
        work, routines, rows, columns, p, width, rate, k,
    ):  # fmt: skip
        addresses, sums = carray(routines, 3), carray(total, rows * k)
        lower = carray(below, columns * k)
        space = rows * width
        other = space + rows * k
        product = carray(work, other + width * k)
        for start in range(0, columns, width):
            n, at = min(width, columns - start), start * k
            fill(left, right, stride, work, routines, rows, n, start, p, rate, NO_DIAGONAL)
            if k == 1:
                f = addresses[1]
                gemv(f, 1, n, rows, 1.0, work, 0, n, at_columns, at, 1, 0.0, work, space, 1)
                gemv(f, 0, n, rows, 1.0, work, 0, n, at_rows, 0, 1, 0.0, work, other, 1)
            else:
                f = addresses[0]
                gemm(f, 0, 0, k, rows, n, 1.0, at_columns, at, k, work, 0, n, 0.0, work, space, k)
                gemm(f, 0, 1, k, n, rows, 1.0, at_rows, 0, k, work, 0, n, 0.0, work, other, k)
            addition = product[space : space + rows * k]
            for i in range(rows * k):
                sums[i] += addition[i]
            source, target = product[other : other + n * k], lower[at : at + n * k]
            for i in range(n * k):
                target[i] = source[i]
        return 0

    return loop


def _coded_products(numba: Any, size: int) -> Loop:
    """total += K w for w_b = table[codes[b]], the rows of `codes` having `n_codes` entries; no diagonal."""
    fill, decode, carray = kernel_values(numba, size), decoding(numba), numba.carray
    gemm, _, _ = calls(numba, size)

    def loop(
        left, right, stride, codes, n_codes, table, values, total,
        work, routines, rows, columns, p, k, rate, width,
    ):  # fmt: skip
        addresses, sums = carray(routines, 3), carray(total, rows * k)
        weights = rows * width
        space = weights + k * width
        product, numbers = carray(work, space + rows * k), carray(table, values)
        for start in range(0, columns, width):
            n = min(width, columns - start)
            fill(left, right, stride, work, routines, rows, n, start, p, rate, NO_DIAGONAL)
            decode(codes, n_codes, 0, k, start, n, numbers, product[weights:space])
            f = addresses[0]
            gemm(f, 1, 0, k, rows, n, 1.0, work, weights, n, work, 0, n, 0.0, work, space, k)
            addition = product[space : space + rows * k]
            for i in range(rows * k):
                sums[i] += addition[i]
        return 0

    return loop
