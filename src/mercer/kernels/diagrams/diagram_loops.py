"""Compiled loops over pairs of persistence diagrams: sums over pairs of points, and smoothed diagrams."""

from __future__ import annotations

from collections.abc import Callable
from math import factorial
from typing import Any

import numpy as np

import mercer
from mercer import native_exp
from mercer.kernels.sets.element_pairs import PointSets
from mercer.native import is_quick, native_loop
from mercer.native_exp import inlined_exp

_SOURCES = (native_exp.__file__,)
# points and edges of both, work, results, numbers (see `_counts`), parameters
_ARGUMENTS = "double* double* long* long* double* double* long* double double"
_PAIRS_AT_ONCE = 2**18  # of points, in one call of a loop
_SMALL = 0.125  # below, 1 - exp(-z) by its power series; above, at most three bits are lost
_SERIES = tuple((-1.0) ** (k - 1) / factorial(k) for k in range(11, 0, -1))


def sums_compiled() -> bool:
    """Whether `pair_sums` is compiled, or can be and stays so."""
    return is_quick(_pair_sums, _ARGUMENTS, _SOURCES)


def fisher_compiled() -> bool:
    """Whether `fisher_chords` is compiled, or can be and stays so."""
    return is_quick(_fisher_chords, _ARGUMENTS, _SOURCES)


def pair_sums(
    x: PointSets, y: PointSets, marks: tuple[np.ndarray, np.ndarray], rate: float, coupling: float
) -> np.ndarray:
    """Sum over p in x_i, q in y_j of exp(-rate |p - q|^2) m(p, q) for all pairs of diagrams: (n, m).

    m(p, q) is the product of the marks of p and q, or 1 - exp(-coupling times this product) if coupling > 0.
    """
    left, right = (
        np.stack([view.points[:, 0], view.points[:, 1], mark])
        for view, mark in zip((x, y), marks, strict=True)
    )
    return _for_all_pairs(_pair_sums, (x, y), (left, right), len(y.points), (rate, coupling))


def fisher_chords(x: PointSets, y: PointSets, rate: float) -> np.ndarray:
    """|sqrt f - sqrt g| of all pairs of diagrams, smoothed by exp(-rate r^2), as `PersistenceFisher` has them: (n, m)."""
    work = 16 * max(int(np.diff(view.edges).max()) for view in (x, y))  # eight rows of two diagrams
    left = _with_smoothed(x, rate, work)
    right = left if y is x else _with_smoothed(y, rate, work)
    return _for_all_pairs(_fisher_chords, (x, y), (left, right), work, (rate, 0.0))


def _with_smoothed(view: PointSets, rate: float, work: int) -> np.ndarray:
    """Births, deaths, their means, and four sums within the diagram of each point; see `_fisher_chords`: (7, points)."""
    columns = np.zeros((7, len(view.points)), dtype=np.float64)
    columns[:2], columns[2] = view.points.T, view.points.mean(axis=1)
    loop = native_loop(_fisher_chords, _ARGUMENTS, _SOURCES)
    counts = _counts(view, view, 0, len(view), within=True)
    scratch = np.empty(max(work, 1), dtype=np.float64)
    loop(columns, columns, view.edges, view.edges, scratch, scratch, counts, rate, 0.0)
    return columns


def _for_all_pairs(
    build: Any,
    views: tuple[PointSets, PointSets],
    points: tuple[np.ndarray, np.ndarray],
    work: int,
    parameters: tuple[float, float],
) -> np.ndarray:
    """The results of a loop for all pairs; of a symmetric matrix one half is computed: (n, m)."""
    (x, y), loop = views, native_loop(build, _ARGUMENTS, _SOURCES)
    out = np.zeros((len(x), len(y)), dtype=np.float64)

    def fill(rows: slice) -> None:
        scratch = np.empty(max(work, 1), dtype=np.float64)
        counts = _counts(x, y, rows.start, rows.stop)
        loop(*points, x.edges, y.edges, scratch, out, counts, *parameters)

    mercer.gram.for_each(fill, row_blocks(x, len(y.points), _PAIRS_AT_ONCE))
    if y is x:
        lower = np.tril_indices(len(x), -1)
        out[lower] = out.T[lower]
    return out


def _counts(
    x: PointSets, y: PointSets, start: int, stop: int, *, within: bool = False
) -> np.ndarray:
    """Numbers of points and diagrams, the first and last row, and what to do, for the loops."""
    sizes = len(x.points), len(y.points), len(y), start, stop
    return np.array([*sizes, int(y is x), int(within)], dtype=np.int64)


def row_blocks(view: PointSets, columns: int, most: int) -> list[slice]:
    """Slices of diagrams with at most so many pairs with `columns` points, but at least one diagram."""
    rows, blocks, start = max(most // max(columns, 1), 1), [], 0
    while start < len(view):
        stop = int(np.searchsorted(view.edges, view.edges[start] + rows, side="right")) - 1
        stop = min(max(stop, start + 1), len(view))
        blocks.append(slice(start, stop))
        start = stop
    return blocks


# ---- compiled -----------------------------------------------------------------------------------


def _pair_sums(numba: Any) -> Callable[..., int]:
    """The terms of one diagram of x are added up for all points of y, and these over the diagrams of y."""
    carray, add, add_coupled = numba.carray, _plain_terms(numba), _coupled_terms(numba)

    def loop(
        left, right, x_edges, y_edges, work, results, counts, rate, coupling
    ):  # pragma: no cover
        count = carray(counts, 7)
        n_points, m_points, many, start, stop = count[0], count[1], count[2], count[3], count[4]
        a, b = carray(left, (3, n_points)), carray(right, (3, m_points))
        x_end, y_end = carray(x_edges, stop + 1), carray(y_edges, many + 1)
        sums, out = carray(work, m_points), carray(results, (stop, many))
        for i in range(start, stop):
            first = i if count[5] else 0
            points = sums[y_end[first] :]
            birth, death, mark = b[0][y_end[first] :], b[1][y_end[first] :], b[2][y_end[first] :]
            points[:] = 0.0
            for p in range(x_end[i], x_end[i + 1]):
                if coupling > 0:
                    add_coupled(points, birth, death, mark, a[:, p], rate, coupling)
                else:
                    add(points, birth, death, mark, a[:, p], rate)
            for j in range(first, many):
                total = 0.0
                for q in range(y_end[j], y_end[j + 1]):
                    total += sums[q]
                out[i, j] = total
        return 0

    return loop


def _plain_terms(numba: Any) -> Any:
    """Function for compiled loops: add the terms of a point p with weight w."""
    exp = inlined_exp(8)

    @numba.njit(inline="always")
    def add(sums, birth, death, mark, p, rate):  # pragma: no cover
        u, v, w = p[0], p[1], p[2]
        for q in range(sums.size):
            r2 = (u - birth[q]) ** 2 + (v - death[q]) ** 2
            sums[q] += exp(-rate * r2) * (w * mark[q])

    return add


def _coupled_terms(numba: Any) -> Any:
    """Function for compiled loops: add exp(-rate r^2) (1 - exp(-z)) for all q, z = coupling w_p w_q."""
    exp, first, coefficients = inlined_exp(8), _SERIES[0], _SERIES[1:]

    @numba.njit(inline="always")
    def add(sums, birth, death, mark, p, rate, coupling):  # pragma: no cover
        u, v, w = p[0], p[1], coupling * p[2]
        for q in range(sums.size):
            r2 = (u - birth[q]) ** 2 + (v - death[q]) ** 2
            z = w * mark[q]
            series = first
            for c in coefficients:
                series = series * z + c
            declined = 1.0 - exp(-z)
            sums[q] += exp(-rate * r2) * (z * series if z < _SMALL else declined)

    return add


def _fisher_chords(numba: Any) -> Callable[..., int]:
    """Rows 3 to 6 of the points are sums over the points p' and the diagonal points d' of the same diagram.

    These are the sums of exp(-rate r^2) from p' to p, from d' to p, from p' to d and from d' to d, which the
    loop writes where it is asked for them. With those between two diagrams they give both smoothed diagrams.
    """
    carray, smooth, chord = numba.carray, _smooth(numba), _chord(numba)

    def loop(
        left, right, x_edges, y_edges, work, results, counts, rate, ignored
    ):  # pragma: no cover
        count = carray(counts, 7)
        n_points, m_points, many, start, stop = count[0], count[1], count[2], count[3], count[4]
        a, b = carray(left, (7, n_points)), carray(right, (7, m_points))
        x_end, y_end = carray(x_edges, stop + 1), carray(y_edges, many + 1)
        out = carray(results, (stop, many))
        for i in range(start, stop):
            p, n = x_end[i], x_end[i + 1] - x_end[i]
            if count[6]:
                sums = carray(work, (8, 2 * n))
                smooth(a, p, n, a, p, n, sums, rate)
                for k in range(4):
                    for point in range(n):
                        a[3 + k, p + point] = sums[4 + k, point]
                continue
            for j in range(i if count[5] else 0, many):
                q, m = y_end[j], y_end[j + 1] - y_end[j]
                sums = carray(work, (8, n + m))
                smooth(a, p, n, b, q, m, sums, rate)
                out[i, j] = chord(a[:, p : p + n], b[:, q : q + m], sums)
        return 0

    return loop


def _smooth(numba: Any) -> Any:
    """Function for compiled loops: sums of exp(-rate r^2) between the points p, q and diagonal points of two diagrams.

    Rows 0 to 3: from q to p, from q to d(p), from d(q) to p, from d(q) to d(p); rows 4 to 7: from p to q, from
    d(p) to q, from p to d(q), from d(p) to d(q).
    """
    exp = inlined_exp(8)

    @numba.njit(inline="always")
    def add(u, v, birth, death, out, values, rate):  # pragma: no cover
        for j in range(out.size):
            k = exp(-rate * ((u - birth[j]) ** 2 + (v - death[j]) ** 2))
            values[j] = k
            out[j] += k
        a, b, c, d = 0.0, 0.0, 0.0, 0.0  # four sums side by side
        for j in range(0, out.size - 3, 4):
            a += values[j]
            b += values[j + 1]
            c += values[j + 2]
            d += values[j + 3]
        for j in range(out.size - out.size % 4, out.size):
            a += values[j]
        return (a + b) + (c + d)

    @numba.njit(inline="always")
    def smooth(x, p, n, y, q, m, sums, rate):  # pragma: no cover
        birth, death, centre = y[0][q : q + m], y[1][q : q + m], y[2][q : q + m]
        p_to_q, d_to_q, p_to_d, d_to_d = sums[4][:m], sums[5][:m], sums[6][:m], sums[7][:m]
        values = sums[0][n : n + m]  # behind the sums at p
        sums[4:] = 0.0
        for i in range(n):
            u, v, middle = x[0, p + i], x[1, p + i], x[2, p + i]
            sums[0, i] = add(u, v, birth, death, p_to_q, values, rate)
            sums[1, i] = add(middle, middle, birth, death, d_to_q, values, rate)
            sums[2, i] = add(u, v, centre, centre, p_to_d, values, rate)
            sums[3, i] = add(middle, middle, centre, centre, d_to_d, values, rate)

    return smooth


def _chord(numba: Any) -> Any:
    """Function for compiled loops: |sqrt f - sqrt g| from the sums of `_smooth`.

    f is the sum over p and d(q), g that over q and d(p), each normalised at the points p, d(p), q, d(q).
    """

    @numba.njit(inline="always")
    def pair(x, y, sums, k, i):  # pragma: no cover
        if k == 0:  # at p
            return x[3, i] + sums[2, i], sums[0, i] + x[4, i]
        if k == 1:  # at d(p)
            return x[5, i] + sums[3, i], sums[1, i] + x[6, i]
        if k == 2:  # at q
            return sums[4, i] + y[4, i], y[3, i] + sums[5, i]
        return sums[6, i] + y[6, i], y[5, i] + sums[7, i]

    @numba.njit(inline="always")
    def chord(x, y, sums):  # pragma: no cover
        f_total, g_total, squares = 0.0, 0.0, 0.0
        for k in range(4):
            for i in range(x.shape[1] if k < 2 else y.shape[1]):
                f, g = pair(x, y, sums, k, i)
                f_total += f
                g_total += g
        for k in range(4):
            for i in range(x.shape[1] if k < 2 else y.shape[1]):
                f, g = pair(x, y, sums, k, i)
                squares += (np.sqrt(f / f_total) - np.sqrt(g / g_total)) ** 2
        return np.sqrt(squares)

    return chord
