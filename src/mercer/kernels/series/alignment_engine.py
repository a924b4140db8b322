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
        return _compiled(_sum_loops(local), x, y, _scaled_logs)
    return _by_antidiagonals(x, y, local.logs, np.logaddexp, -np.inf)


def least_costs(x: Series, y: Series, width: int) -> np.ndarray:
    """Least sum of squared distances along an alignment with |i - j| < width (0: no limit): (n, m)."""
    if _compiled_pays(x, y, alignment_loops.warping_costs):
        loops = _CompiledLoops.of(alignment_loops.warping_costs, [0, 0, 0, width])
        return _compiled(loops, x, y, lambda halves: halves[1])

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


def _sum_loops(local: LocalValues) -> _CompiledLoops:
    quick = None if local.width else plain_alignment.plain_alignment_sums
    parameters = [local.rate, local.a, local.b, local.width]
    return _CompiledLoops.of(alignment_loops.alignment_sums, parameters, quick)


def _compiled(
    loops: _CompiledLoops, x: Series, y: Series, finish: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """The results of a compiled loop for all pairs; of a symmetric matrix one half is computed."""
    blocks = LaneBlocks.of(y.values, y.offsets)

    def row(i: int, first: int) -> np.ndarray:
        lanes = reversed_lanes(x[i])
        return finish(
            loops(lanes, (len(x[i]), x.channels), blocks, first)[:, : len(y) - first * LANES]
        )

    return fill_by_blocks(len(x), blocks.order, row, symmetric=x is y)


def paired_log_sums(x: Series, y: Series, local: LocalValues) -> np.ndarray:
    """`log_alignment_sums` of matching pairs only: (n,)."""
    if not _compiled_pays(x[:1], y[:1], alignment_loops.alignment_sums):
        return paired_with(lambda a, b: log_alignment_sums(a, b, local), x, y)
    loops, out = _sum_loops(local), np.empty(len(x), dtype=np.float64)
    order = np.lexsort((y.lengths, x.lengths))
    changes = np.flatnonzero(np.diff(x.lengths[order])) + 1

    def fill(rows: np.ndarray) -> None:  # up to eight pairs, with first series of one length
        block = y.taken(rows)
        series = [x[int(i)] for i in rows]
        series += [series[-1]] * (LANES - len(rows))
        lanes = np.ascontiguousarray(np.stack(series, axis=2)[::-1].transpose(1, 0, 2))
        shape = len(series[0]), x.channels
        blocks = LaneBlocks.of(block.values, block.offsets)
        out[rows] = _scaled_logs(loops(lanes, shape, blocks, 0)[:, : len(rows)])

    groups = np.split(order, changes)
    tasks = [group[k : k + LANES] for group in groups for k in range(0, len(group), LANES)]
    mercer.gram.for_each(fill, tasks)
    return out


@dataclass(frozen=True)
class _CompiledLoops:
    """A compiled loop, and a quicker one whose results count where they are not NaN."""

    exact: Callable[..., int]
    quick: Callable[..., int] | None
    parameters: np.ndarray

    @classmethod
    def of(cls, build: Builder, parameters: list[float], quick: Builder | None = None) -> Any:
        exact = native_loop(build, alignment_loops.ARGUMENTS, _SOURCES)
        other = quick and native_loop(quick, alignment_loops.ARGUMENTS, _SOURCES)
        return cls(exact, other, np.array(parameters, dtype=np.float64))

    def __call__(
        self, lanes: np.ndarray, shape: tuple[int, int], blocks: LaneBlocks, first: int
    ) -> np.ndarray:
        """Results of one series in each lane with the blocks from the first one on: (2, lanes of these blocks)."""
        many = len(blocks.rows)
        parts = np.empty((2, many * LANES), dtype=np.float64)
        work = np.empty(alignment_loops.work_size(blocks.longest), dtype=np.float64)
        data = lanes, *shape, blocks.numbers, blocks.lengths, blocks.starts, blocks.rows
        if self.quick is None:
            self.exact(*data, first, many, self.parameters, work, parts)
            return parts[:, first * LANES :]
        self.quick(*data, first, many, self.parameters, work, parts)
        parts[:, blocks.lengths == 0] = 0.0
        for block in (
            np.unique(np.flatnonzero(np.isnan(parts[1, first * LANES :])) // LANES) + first
        ):
            places = slice(block * LANES, (block + 1) * LANES)
            exact = np.empty((2, places.stop), dtype=np.float64)
            self.exact(*data, block, block + 1, self.parameters, work, exact)
            parts[:, places] = exact[:, places]
        return parts[:, first * LANES :]


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
