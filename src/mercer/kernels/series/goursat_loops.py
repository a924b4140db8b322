"""Local power series for u_st = c u on a grid of cells with constant c, compiled and in NumPy.

The untruncated signature kernel of two piecewise linear paths solves this equation with u = 1 on both axes
(Salvi et al. 2021), where c is the inner product of the increments of a cell. On the unit square of a cell, with
u(s, 0) = sum_r b_r s^r / r! below and u(0, t) = sum_r a_r t^r / r! at the left, the solution is

    u(s, t) = sum_pq U_pq s^p t^q / (p! q!),   U_pq = c^q b_(p-q) where p >= q, else c^p a_(q-p),

so that the coefficients at the right are sums of those below and at the left:

    a'_q = c^q sum_r b_r / (r + q)!  +  sum_(p < q) a_(q-p) c^p / p!,

and those above likewise. A step of the second-order finite difference scheme has an error of order c^2; here the
number of coefficients follows from a bound of the terms left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import factorial
from typing import Any

import numpy as np

from mercer.native import Builder, has_compiler, native_loop

ORDERS = (6, 8, 10, 11, 12, 13, 14, 15, 17, 20, 26)  # about 1.2 times the work from one to the next
_TOLERANCE = (
    2.0**-50
)  # of a term left out, relative to |S(x)| |S(y)|: the rounding of the sums of one cell
_STRIP = 64  # numbers computed together: with 12 coefficients a third of a level-1 cache
_ARGUMENTS = "double* long long double* double*"  # increments, rows, columns, work, results
Edge = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class SeriesTerms:
    """Coefficients 0 to `order` of edges, and for each the r of the first and the p of the second sum."""

    order: int
    sums: tuple[Edge, ...]


def largest_step(order: int) -> float:
    """The norm of increments up to which coefficients 0 to `order` are enough.

    b_r = <S(x) (x) dx^r, S(y)> for signatures S of the paths up to here, so that |b_r| is at most
    |dx|^r |S(x)| |S(y)|, and its term in u at most |dx|^r / r! times that.
    """
    return (_TOLERANCE * factorial(order + 1)) ** (1 / (order + 1))


@cache
def terms(order: int) -> SeriesTerms:
    """The terms that increments with norms up to `largest_step` need, by the same bound."""
    h = largest_step(order)

    def sums(q: int) -> Edge:
        first = [r for r in range(order + 1) if _counts(h ** (2 * q + r), r + q, q)]
        second = [p for p in range(q) if p == 0 or _counts(h ** (q + p), p, q)]
        return tuple(first), tuple(second)

    return SeriesTerms(order, tuple(sums(q) for q in range(order + 1)))


def _counts(size: float, m: int, n: int) -> bool:
    return size / (factorial(m) * factorial(n)) > _TOLERANCE


def last_corner(increments: np.ndarray, order: int) -> np.ndarray:
    """u at the last corner of eight grids of cells: increments (rows, columns, 8), result (8,)."""
    if not has_compiler():
        return _by_antidiagonals(increments, terms(order))
    rows, columns, lanes = increments.shape
    size = (order + 1) * lanes * (rows + columns) + (2 * order + 3) * _STRIP
    work, results = np.empty(size, dtype=np.float64), np.empty(lanes, dtype=np.float64)
    loop = native_loop(_BUILDERS[order], _ARGUMENTS)
    loop(np.ascontiguousarray(increments), rows, columns, work, results)
    return results


# ---- NumPy --------------------------------------------------------------------------------------


def _by_antidiagonals(increments: np.ndarray, needed: SeriesTerms) -> np.ndarray:
    """One antidiagonal of all grids at a time."""
    (rows, columns, many), count = increments.shape, needed.order + 1
    a = np.zeros((count, columns, many), dtype=np.float64)  # left edges, by column
    b = np.zeros((count, rows, many), dtype=np.float64)  # lower edges, by row
    a[0], b[0] = 1.0, 1.0
    for s in range(rows + columns - 1):
        j = np.arange(max(0, s - rows + 1), min(columns - 1, s) + 1)
        i = s - j
        powers = increments[i, j] ** np.arange(count)[:, None, None]
        left, below = a[:, j], b[:, i]
        a[:, j] = _opposite(left, below, needed, powers)
        b[:, i] = _opposite(below, left, needed, powers)
    return np.sum([a[q, -1] / factorial(q) for q in range(count)], axis=0)


def _opposite(
    mine: np.ndarray, other: np.ndarray, needed: SeriesTerms, powers: np.ndarray
) -> np.ndarray:
    out = np.zeros_like(mine)
    for q, (first, second) in enumerate(needed.sums):
        for r in reversed(first):
            out[q] += other[r] / factorial(r + q)
        out[q] *= powers[q]
        for p in reversed(second):
            out[q] += mine[q - p] * powers[p] / factorial(p)
    return out


# ---- compiled -----------------------------------------------------------------------------------

# Straight-line code for each order: the coefficients of a cell stay in registers. Edges are copied into one buffer
# with a fixed distance, in which the compiler sees that they do not overlap. Cells of an antidiagonal are contiguous
# because lower edges are stored in reverse.
_SOURCE = """
def loop(increments, rows, columns, work, results):
    c = carray(increments, rows * columns * 8)
    wide, tall = columns * 8, rows * 8
    room = carray(work, {count} * (wide + tall) + {buffer})
    left, below = room[: {count} * wide], room[{count} * wide : {count} * (wide + tall)]
    z = room[{count} * (wide + tall) :]
    room[:] = 0.0
    left[:wide] = 1.0
    below[:tall] = 1.0
    for s in range(rows + columns - 1):
        low, high = max(0, s - rows + 1), min(columns - 1, s)
        for first in range(low, high + 1, {strip} // 8):
            cells = min({strip} // 8, high + 1 - first)
            for cell in range(cells):
                place = ((s - first - cell) * columns + first + cell) * 8
                for lane in range(8):
                    z[cell * 8 + lane] = c[place + lane]
            for q in range({count}):
                a, b = left[q * wide + first * 8 :], below[q * tall + (rows - 1 - s + first) * 8 :]
                u, v = z[(q + 1) * {strip} :], z[(q + 1 + {count}) * {strip} :]
                for p in range(cells * 8):
                    u[p] = a[p]
                for p in range(cells * 8):
                    v[p] = b[p]
            for p in range(cells * 8):
                {cell}
            for q in range({count}):
                a, b = left[q * wide + first * 8 :], below[q * tall + (rows - 1 - s + first) * 8 :]
                u, v = z[(q + 1) * {strip} :], z[(q + 1 + {count}) * {strip} :]
                for p in range(cells * 8):
                    a[p] = u[p]
                for p in range(cells * 8):
                    b[p] = v[p]
    out = carray(results, 8)
    for lane in range(8):
        out[lane] = 0.0
        factor = 1.0
        for q in range({count}):
            out[lane] += left[q * wide + (columns - 1) * 8 + lane] * factor
            factor /= q + 1
    return 0
"""


def _cell_source(needed: SeriesTerms) -> list[str]:
    """Lines of code that compute the opposite edges of one cell from z[p] = c and the edges behind it."""
    count = needed.order + 1
    highest = max(q for q, (first, _) in enumerate(needed.sums) if first)
    highest = max(highest, *(p for _, second in needed.sums for p in second))
    lines = ["c1 = z[p]", "w1 = c1"]
    for k in range(2, highest + 1):
        lines += [f"c{k} = c{k - 1} * c1", f"w{k} = c{k} * {1 / factorial(k)!r}"]
    for q in range(count):
        lines += [
            f"a{q} = z[p + {(1 + q) * _STRIP}]",
            f"b{q} = z[p + {(1 + count + q) * _STRIP}]",
        ]
    for mine, other, start in (("a", "b", 1), ("b", "a", 1 + count)):
        for q, (first, second) in enumerate(needed.sums):
            cross = " + ".join(f"{other}{r} * {1 / factorial(r + q)!r}" for r in reversed(first))
            cross = f"({cross}) * c{q}" if cross and q else cross
            along = [f"{mine}{q - p}" + (f" * w{p}" if p else "") for p in reversed(second)]
            lines.append(
                f"z[p + {(start + q) * _STRIP}] = {' + '.join(filter(None, [*along, cross]))}"
            )
    return lines


def _loop(numba: Any, order: int) -> Callable[..., int]:
    count = order + 1
    code = _SOURCE.format(
        count=count,
        strip=_STRIP,
        buffer=(2 * count + 1) * _STRIP,
        cell=("\n" + " " * 16).join(_cell_source(terms(order))),
    )
    names: dict[str, Any] = {"carray": numba.carray}
    exec(code, names)
    return names["loop"]


def _order_6(numba: Any) -> Callable[..., int]:
    return _loop(numba, 6)


def _order_8(numba: Any) -> Callable[..., int]:
    return _loop(numba, 8)


def _order_10(numba: Any) -> Callable[..., int]:
    return _loop(numba, 10)


def _order_11(numba: Any) -> Callable[..., int]:
    return _loop(numba, 11)


def _order_12(numba: Any) -> Callable[..., int]:
    return _loop(numba, 12)


def _order_13(numba: Any) -> Callable[..., int]:
    return _loop(numba, 13)


def _order_14(numba: Any) -> Callable[..., int]:
    return _loop(numba, 14)


def _order_15(numba: Any) -> Callable[..., int]:
    return _loop(numba, 15)


def _order_17(numba: Any) -> Callable[..., int]:
    return _loop(numba, 17)


def _order_20(numba: Any) -> Callable[..., int]:
    return _loop(numba, 20)


def _order_26(numba: Any) -> Callable[..., int]:
    return _loop(numba, 26)


_BUILDERS: dict[int, Builder] = {
    6: _order_6,
    8: _order_8,
    10: _order_10,
    11: _order_11,
    12: _order_12,
    13: _order_13,
    14: _order_14,
    15: _order_15,
    17: _order_17,
    20: _order_20,
    26: _order_26,
}
