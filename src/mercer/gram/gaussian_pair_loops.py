"""Loops over tiles of a Gaussian kernel matrix for sums over pairs, in machine code: see `gaussian_loops.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mercer.gram.blas_calls import calls
from mercer.gram.gaussian_loops import NO_DIAGONAL, decoding, kernel_values

Loop = Callable[..., int]

PAIR_SUMS = "REAL* REAL* long REAL* REAL* byte* FORM* double* double* double* double* double* REAL* FORM* long* long* long* REAL REAL REAL"


def pair_sums_double(numba: Any) -> Loop:
    """The loop of `_pair_sums` for float64 tiles and forms."""
    return _pair_sums(numba, 8, 8)


def pair_sums_mixed(numba: Any) -> Loop:
    """The loop of `_pair_sums` for float64 tiles and float32 forms."""
    return _pair_sums(numba, 8, 4)


def pair_sums_single(numba: Any) -> Loop:
    """The loop of `_pair_sums` for float32 tiles and forms."""
    return _pair_sums(numba, 4, 4)


def _shifting(numba: Any) -> Any:
    """Function for compiled loops: tile = u_i u_j (tile - shift) for weights u, with zeros on the diagonal."""
    carray = numba.carray

    @numba.njit(inline="always")
    def shift_tile(tile, rows, columns, first, start, shift, weights, weighted, diagonal):
        values = carray(tile, rows * columns)
        for i in range(rows * columns):
            values[i] -= shift
        if weighted:
            u = carray(weights, max(first + rows, start + columns))
            across = u[start : start + columns]
            for i in range(rows):
                row, factor = values[i * columns : (i + 1) * columns], u[first + i]
                for j in range(columns):
                    row[j] *= factor * across[j]
        if diagonal:
            for i in range(rows):
                values[i * columns + i] = 0.0

    return shift_tile


def _label_forms(numba: Any, size: int) -> Any:
    """Function for compiled loops: forms[b] += times t_i' K_ij t_j for the labels t = table[codes[b]].

    `work` has the tile (rows, columns) in `room` numbers, then room for the labels of `together`
    labellings and for products. The labels of the rows are there already where they are `known`.
    """
    gemm, _, dot = calls(numba, size)
    decode, carray = decoding(numba), numba.carray

    @numba.njit(inline="always")
    def add_forms(
        codes, n, together, first, start, rows, columns, table, times, forms, work, f, room, known
    ):
        at_rows = room
        at_columns = at_rows + together * rows
        space = at_columns + together * columns
        buffer = carray(work, space + together * rows)
        for lead in range(0, forms.size, together):
            k = min(together, forms.size - lead)
            if not known:
                decode(codes, n, lead, k, first, rows, table, buffer[at_rows:at_columns])
            decode(codes, n, lead, k, start, columns, table, buffer[at_columns:space])
            c, p = columns, at_columns
            gemm(f[0], 1, 0, rows, k, c, 1.0, work, 0, c, work, p, c, 0.0, work, space, rows)
            for b in range(k):
                u, w = at_rows + b * rows, space + b * rows
                forms[lead + b] += times * dot(f[2], rows, work, u, 1, work, w, 1)

    return add_forms


def _tile_sums(numba: Any, size: int) -> Any:
    """Function for compiled loops: add the sums over a tile, and write its multiple by `per_unit` into `scaled`.

    `space` is the buffer `work`: the tile (rows, columns), and from `ones` on as many ones, then room for sums of columns.
    """
    _, _, dot = calls(numba, size)
    carray = numba.carray

    @numba.njit(inline="always")
    def add_sums(
        work, space, ones, width, scaled, labels, n, rows, columns, first, start,
        row_sums, below, exact_forms, total, times, per_unit, f,
    ):  # fmt: skip
        down = space[ones + width : ones + width + columns]
        label = carray(labels, exact_forms.size * n)
        for j in range(columns):
            down[j] = 0.0
        for i in range(rows):
            row = i * columns
            values, target = space[row : row + columns], scaled[row : row + columns]
            for j in range(columns):
                down[j] += values[j]
            for j in range(columns):
                target[j] = values[j] * per_unit
            row_sums[i] += dot(f[2], columns, work, row, 1, work, ones, 1)
            total[0] += times * dot(f[2], columns, work, row, 1, work, row, 1)
            for k in range(exact_forms.size):
                inner = dot(f[2], columns, work, row, 1, labels, k * n + start, 1)
                exact_forms[k] += times * label[k * n + first + i] * inner
        for j in range(columns):
            below[j] += down[j]

    return add_sums


def _pair_sums(numba: Any, size: int, form_size: int) -> Loop:
    """Sums over pairs of a run of tiles, added to `of_rows`, `of_columns`, `exact` and `forms`; `squares` is one.

    weights (n,), labels (labels, n) and codes (labellings, n) are those of all n points; codes have `tables` of
    values. `sizes` are: rows, columns, p, width, first row, first column, n, whether there are weights, whether
    it is a tile of the diagonal, labels, labellings, tables, values of a table, labellings together.
    """
    fill, shift_tile, carray = kernel_values(numba, size), _shifting(numba), numba.carray
    add_sums, add_forms = _tile_sums(numba, size), _label_forms(numba, form_size)

    def loop(
        left, right, stride, weights, labels, codes, tables,
        of_rows, of_columns, exact, forms, squares,
        work, form_work, routines, form_routines, sizes, rate, shift, per_unit,
    ):  # fmt: skip
        s = carray(sizes, 14)
        rows, columns, p, width, first, origin, n = s[0], s[1], s[2], s[3], s[4], s[5], s[6]
        f, form_f, total = carray(routines, 3), carray(form_routines, 3), carray(squares, 1)
        row_sums, column_sums = carray(of_rows, rows), carray(of_columns, columns)
        exact_forms, coded_forms = carray(exact, s[9]), carray(forms, s[11] * s[10])
        table_values, ones = carray(tables, s[11] * s[12]), rows * width
        space, scaled = carray(work, ones + 2 * width), carray(form_work, ones)
        times = 1.0 if s[8] else 2.0
        space[ones : ones + width] = 1.0
        for start in range(0, columns, width):
            c, at = min(width, columns - start), origin + start
            below = column_sums[start : start + c]
            fill(left, right, stride, work, routines, rows, c, start, p, rate, NO_DIAGONAL)
            shift_tile(work, rows, c, first, at, shift, weights, s[7], s[8])
            add_sums(
                work, space, ones, width, scaled, labels, n, rows, c, first, at,
                row_sums, below, exact_forms, total, times, per_unit, f,
            )  # fmt: skip
            for k in range(s[11]):
                table = table_values[k * s[12] : (k + 1) * s[12]]
                into, scale = coded_forms[k * s[10] : (k + 1) * s[10]], times / per_unit
                known = start > 0 and s[11] == 1 and into.size <= s[13]
                add_forms(
                    codes, n, s[13], first, at, rows, c, table, scale, into, form_work, form_f,
                    rows * width, known,
                )  # fmt: skip
        return 0

    return loop
