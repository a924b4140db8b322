"""Two samples along one column: smoothed lines and where one is above the other, or shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.plot.column_differences import short
from mercer.plot.rkhs_function import plot_function
from mercer.plot.style import INK, NEGATIVE, POSITIVE, axes
from mercer.rkhs import Function

_GRID = 400
_MOST = 10  # categories shown


def plot_witness(function: Function, *, ax: Any = None) -> Any:
    """A witness function on the line or the plane, the points called by their samples."""
    ax = plot_function(function, ax=ax, label="witness")
    legend = ax.get_legend()
    for text in legend.get_texts() if legend is not None else ():
        told = text.get_text()
        told = told.replace("positive weights", "first sample")
        text.set_text(told.replace("negative weights", "second sample"))
    return ax


def plot_embeddings(
    first: Function,
    second: Function,
    *,
    ax: Any = None,
    label: str = "x",
    names: tuple[str, str] = ("first sample", "second sample"),
) -> Any:
    """The mean embeddings of two samples on the line; their difference is the witness.

    Where the first is above the second the gap has the colour of the first, and conversely.
    """
    ax = axes(ax)
    points = np.concatenate([to_numpy(f.points)[:, 0] for f in (first, second)]).astype(np.float64)
    low, high = np.quantile(points, (0.002, 0.998))  # a few outliers would squeeze the rest
    margin = 0.08 * ((high - low) or 1.0)
    grid = np.linspace(low - margin, high + margin, _GRID)
    a, b = (to_numpy(f(grid[:, None])) for f in (first, second))
    ax.fill_between(grid, a, b, where=a >= b, color=POSITIVE, alpha=0.25, linewidth=0)
    ax.fill_between(grid, a, b, where=a <= b, color=NEGATIVE, alpha=0.25, linewidth=0)
    ax.plot(grid, a, color=POSITIVE, label=names[0])
    ax.plot(grid, b, color=NEGATIVE, label=names[1])
    ax.set(xlim=(grid[0], grid[-1]), ylabel="mean embedding")
    ax.set_ylim(bottom=min(0.0, float(min(a.min(), b.min()))))
    ax.set_xlabel(short(label), parse_math=False)
    ax.legend(loc="best", frameon=False)
    for side in ("right", "top"):
        ax.spines[side].set_visible(False)
    return ax


def plot_shares(
    levels: Sequence[str],
    first: np.ndarray,
    second: np.ndarray,
    *,
    ax: Any = None,
    label: str = "x",
    names: tuple[str, str] = ("first sample", "second sample"),
) -> Any:
    """The shares of categories in two samples, the most different first."""
    ax = axes(ax)
    order = np.argsort(-np.abs(first - second), kind="stable")[:_MOST]
    places = np.arange(len(order))
    ax.barh(places - 0.2, first[order], 0.38, color=POSITIVE, alpha=0.85, label=names[0])
    ax.barh(places + 0.2, second[order], 0.38, color=NEGATIVE, alpha=0.85, label=names[1])
    ax.set_yticks(places, [short(levels[int(i)]) for i in order], parse_math=False)
    ax.invert_yaxis()
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    left_out = f", {len(order)} of {len(levels)}" if len(levels) > len(order) else ""
    ax.set_xlabel(f"share of the sample{left_out}", color=INK)
    ax.set_title(short(label), loc="left", fontsize="medium", parse_math=False, pad=20)
    # between the title and the bars, which may leave no room for it
    place = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.2}
    ax.legend(**place, ncols=2, frameon=False)
    for side in ("right", "top"):
        ax.spines[side].set_visible(False)
    return ax
