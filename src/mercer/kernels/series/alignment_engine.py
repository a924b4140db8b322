"""Sums and minima over all alignments of pairs of series: compiled loops, or antidiagonals of NumPy.

An alignment of two series is a path of cells from (0, 0) to (T - 1, L - 1) in steps (1, 0), (0, 1) or (1, 1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

import mercer
from mercer import native_exp
from mercer.kernels.series import alignment_loops, lane_blocks, plain_alignment
from mercer.kernels.series.lane_blocks import LANES, LaneBlocks, fill_by_blocks, reversed_lanes
from mercer.kernels.series.series_data import Series
from mercer.native import Builder, has_compiler, is_quick, native_loop

_SOURCES = (native_exp.__file__, lane_blocks.__file__, alignment_loops.__file__)
_MIN_CELLS = 1_000  # NumPy takes about 20 microseconds for each antidiagonal, whatever its length
_MIN_CELLS_TO_COMPILE = 10**8  # seconds of NumPy, where the loop cannot be stored
_NUMPY_CELLS = 2**22  # cells of local values held at once without numba: 32 MiB


@dataclass(frozen=True)
class LocalValues:
    """Local values w k / (a - b w k) of alignments, k = exp(-rate r^2), in the band |i - j| < width.

    w = 1 - |i - j| / width, or 1 where `width` is 0 and there is no band.
    """

    rate: float
    a: float
    b: float
    width: int = 0

    def logs(self, r2: np.ndarray, gaps: np.ndarray) -> np.ndarray:
        """Logarithms of the local values at squared distances r2 and gaps i - j."""
        exponents = -self.rate * r2
        if self.width:
            weights = np.maximum(1 - np.abs(gaps) / self.width, 0.0)
            with np.errstate(divide="ignore"):
                exponents = exponents + np.log(weights)
        return exponents - np.log(self.a - self.b * np.exp(exponents))


def log_alignment_sums(x: Series, y: Series, local: LocalValues) -> np.ndarray:
    """Logarithm of the sum over alignments of the products of local values, for all pairs: (n, m)."""
    if _compiled_pays(x, y, alignment_loops.alignment_sums):
        parameters = np.array([local.rate, local.a, local.b, local.width], dtype=np.float64)
        quick = None if local.width else plain_alignment.plain_alignment_sums
        return _compiled(alignment_loops.alignment_sums, x, y, parameters, _scaled_logs, quick)
    return _by_antidiagonals(x, y, local.logs, np.logaddexp, -np.inf)


def least_costs(x: Series, y: Series, width: int) -> np.ndarray:
    """Least sum of squared distances along an alignment with |i - j| < width (0: no limit): (n, m)."""
    if _compiled_pays(x, y, alignment_loops.warping_costs):
        parameters = np.array([0, 0, 0, width], dtype=np.float64)
        return _compiled(alignment_loops.warping_costs, x, y, parameters, lambda halves: halves[1])

    def costs(r2: np.ndarray, gaps: np.ndarray) -> np.ndarray:
        return np.where(np.abs(gaps) < width, r2, np.inf) if width else r2

    return _by_antidiagonals(x, y, costs, np.minimum, np.inf)


def _scaled_logs(parts: np.ndarray) -> np.ndarray:
    """log(m 2^e) of mantissas and exponents (2, m)."""
    with np.errstate(divide="ignore"):
        logs = np.log(parts[0]) + parts[1] * log(2)
    return np.where(parts[1] > alignment_loops.EMPTY / 2, logs, -np.inf)


def paired_with(
    function: Callable[[Series, Series], np.ndarray], x: Series, y: Series
) -> np.ndarray:
    """A function of all pairs of two containers of series, for matching pairs only: (n,)."""
    out = np.empty(len(x), dtype=np.float64)

    def one(i: int) -> None:
        out[i] = function(x[i : i + 1], y[i : i + 1])[0, 0]

    mercer.gram.for_each(one, range(len(x)))
    return out


# ---- compiled -----------------------------------------------------------------------------------


def _compiled_pays(x: Series, y: Series, build: Builder) -> bool:
    """Whether there is a compiled loop, and enough cells to load it, or to compile it in every process."""
    cells = len(x.values) * len(y.values)
    if cells < _MIN_CELLS or not has_compiler():
        return False
    return cells >= _MIN_CELLS_TO_COMPILE or is_quick(build, alignment_loops.ARGUMENTS, _SOURCES)


def _compiled(
    build: Builder,
    x: Series,
    y: Series,
    parameters: np.ndarray,
    finish: Callable[[np.ndarray], np.ndarray],
    quick: Builder | None = None,
) -> np.ndarray:
    """The results of a compiled loop for all pairs; of a symmetric matrix one half is computed.

    The results of a loop `quick` are taken where they are not NaN.
    """
    loop = native_loop(build, alignment_loops.ARGUMENTS, _SOURCES)
    first_loop = loop if quick is None else native_loop(quick, alignment_loops.ARGUMENTS, _SOURCES)
    blocks = LaneBlocks.of(y.values, y.offsets)
    many, size = len(blocks.rows), alignment_loops.work_size(blocks.longest)

    def row(i: int, first: int) -> np.ndarray:
        parts = np.empty((2, many * LANES), dtype=np.float64)
        work = np.empty(size, dtype=np.float64)
        series, numbers = reversed_lanes(x[i]), (blocks.lengths, blocks.starts, blocks.rows)
        shape = len(x[i]), x.channels
        data = series, *shape, blocks.numbers, *numbers
        first_loop(*data, first, many, parameters, work, parts)
        if quick is not None:
            lost = np.isnan(parts[1, first * LANES : len(y)])
            for block in np.unique(first + np.flatnonzero(lost) // LANES).tolist():
                lanes = slice(block * LANES, (block + 1) * LANES)
                exact = np.empty((2, lanes.stop), dtype=np.float64)
                loop(*data, block, block + 1, parameters, work, exact)
                parts[:, lanes] = exact[:, lanes]
        return finish(parts[:, first * LANES : len(y)])

    return fill_by_blocks(len(x), blocks.order, row, symmetric=x is y)


# ---- NumPy --------------------------------------------------------------------------------------


def _by_antidiagonals(
    x: Series,
    y: Series,
    local: Callable[[np.ndarray, np.ndarray], np.ndarray],
    join: Callable[[np.ndarray, np.ndarray], np.ndarray],
    empty: float,
) -> np.ndarray:
    """Fold local values along alignments, one antidiagonal of one series with many others at a time."""
    out = np.empty((len(x), len(y)), dtype=np.float64)
    order = np.argsort(y.lengths, kind="stable")
    for i, one in enumerate(x):
        many = max(_NUMPY_CELLS // (len(one) * int(y.lengths.max())), 1)
        for start in range(0, len(y), many):
            chosen = order[start : start + many]
            out[i, chosen] = _fold(one, y.taken(chosen), local, join, empty)
    return out


def _fold(one: np.ndarray, others: Series, local: Any, join: Any, empty: float) -> np.ndarray:
    """Results for one series and a block of others: (m,)."""
    t, lengths = len(one), others.lengths
    longest = int(lengths.max())
    padded = np.zeros((longest, len(others), others.channels), dtype=np.float64)
    for j, series in enumerate(others):
        padded[: len(series), j] = series
    r2 = sum((one[:, None, None, c] - padded[None, :, :, c]) ** 2 for c in range(one.shape[1]))
    gaps = np.arange(t)[:, None, None] - np.arange(longest)[None, :, None]
    values = local(r2, gaps)  # (T, longest, m)
    old = np.full((t + 1, len(others)), empty)  # cell i at row i + 1
    older, out = old.copy(), np.empty(len(others), dtype=np.float64)
    older[0] = 0.0
    for s in range(t + longest - 1):
        low, high = max(0, s - longest + 1), min(t - 1, s)
        rows = np.arange(low, high + 1)
        new = np.full_like(old, empty)
        before = join(join(old[low + 1 : high + 2], old[low : high + 1]), older[low : high + 1])
        new[low + 1 : high + 2] = before + values[rows, s - rows]
        ends = np.flatnonzero(lengths == s - t + 2)
        out[ends] = new[t, ends]
        older, old = old, new
    return out
