"""Plots of two samples along one column: mean embeddings for numbers, shares for categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.plot.column_differences import short
from mercer.plot.rkhs_function import plot_function
from mercer.plot.style import INK, NEGATIVE, POSITIVE, axes
from mercer.rkhs import Function

_GRID_POINTS = 400  # of a curve; smooth at the width of a page
_MAX_CATEGORIES_SHOWN = 10  # more bars do not fit a small figure


def plot_witness(function: Function, *, ax: Any = None) -> Any:
    """Draw a witness function of one or two columns; the legend names the samples."""
    ax = plot_function(function, ax=ax, label="witness")
    legend = ax.get_legend()
    for text in legend.get_texts() if legend is not None else ():
        name = text.get_text().replace("positive weights", "first sample")
        text.set_text(name.replace("negative weights", "second sample"))
    return ax


def plot_embeddings(
    first: Function,
    second: Function,
    *,
    ax: Any = None,
    label: str = "x",
    names: tuple[str, str] = ("first sample", "second sample"),
) -> Any:
    """Draw the mean embeddings of two samples of one column; their difference is the witness.

    The gap between the curves has the colour of the upper one.
    """
    ax = axes(ax)
    points = np.concatenate([to_numpy(f.points)[:, 0] for f in (first, second)]).astype(np.float64)
    low, high = np.quantile(points, (0.002, 0.998))  # outliers would compress the other values
    margin = 0.08 * ((high - low) or 1.0)
    grid = np.linspace(low - margin, high + margin, _GRID_POINTS)
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
    """Draw the shares of categories in two samples, the largest difference at the top."""
    ax = axes(ax)
    order = np.argsort(-np.abs(first - second), kind="stable")[:_MAX_CATEGORIES_SHOWN]
    places = np.arange(len(order))
    ax.barh(places - 0.2, first[order], 0.38, color=POSITIVE, alpha=0.85, label=names[0])
    ax.barh(places + 0.2, second[order], 0.38, color=NEGATIVE, alpha=0.85, label=names[1])
    ax.set_yticks(places, [short(levels[int(i)]) for i in order], parse_math=False)
    ax.invert_yaxis()
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    count = f", {len(order)} of {len(levels)} categories" if len(levels) > len(order) else ""
    ax.set_xlabel(f"{short(label)} (share of the sample{count})", color=INK, parse_math=False)
    # The legend is above the bars, which may leave no room for it.
    place = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.2}
    ax.legend(**place, ncols=2, frameon=False)
    for side in ("right", "top"):
        ax.spines[side].set_visible(False)
    return ax
