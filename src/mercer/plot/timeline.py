"""Timeline of batches against a reference: how well each is told apart, and which columns differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import validate
from mercer.plot.column_differences import short
from mercer.plot.style import FAINT, POSITIVE, SEQUENTIAL, axes

_MAX_TICKS = 16  # names of batches along the axis; with more, every second or third is shown
_MAX_COLUMNS = 15  # rows of the map; those that differ most
_QUIET = "#666666"  # of batches that do not differ


def plot_drift(result: Any, *, ax: Any = None, level: float | None = None) -> Any:
    """Draw how often a classifier tells each batch from the reference, in the order of the batches.

    Lines are 95% intervals; batches that differ are red. At 50% a classifier guesses, and shares
    below are drawn there.

    Parameters
    ----------
    result : DriftResult
    ax : matplotlib Axes, optional
        Axes to draw on (default: a new figure).
    level : float, optional
        False-discovery rate (default: that of the result).

    Returns
    -------
    matplotlib Axes
    """
    level = _checked_level(result, level)
    ax = axes(ax)
    areas = np.maximum([batch.effect.auc for batch in result.batches], 0.5)  # below is chance, too
    ends = np.array([tuple(batch.effect.auc_interval) for batch in result.batches])  # (b, 2)
    drifted = np.array([batch.corrected <= level for batch in result.batches])
    places = np.arange(len(areas))
    ax.axhline(0.5, color=FAINT, linewidth=0.8, zorder=0)
    ax.plot(places, areas, color=FAINT, linewidth=1.0, zorder=1)
    for selected, colour, marker, name in (
        (~drifted, _QUIET, "o", "not different"),
        (drifted, POSITIVE, "D", "different"),
    ):
        if np.any(selected):
            where = places[selected]
            ax.vlines(where, *ends[selected].T, color=colour, linewidth=1.6)
            ax.plot(where, areas[selected], marker, color=colour, markersize=6, label=name)
    name_batches(ax, [batch.name for batch in result.batches])
    ax.set_ylim(0.48, 1.02)
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.set_ylabel("told apart")
    ax.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False, borderaxespad=0.2
    )
    for side in ("right", "top"):
        ax.spines[side].set_visible(False)
    return ax


def plot_drift_columns(result: Any, *, ax: Any = None, level: float | None = None) -> Any:
    """Draw the standardized distance of the columns that differ, batch by batch; blank: not different.

    Parameters
    ----------
    result : DriftResult
    ax : matplotlib Axes, optional
        Axes to draw on (default: a new figure).
    level : float, optional
        Level of the corrected p-values of the columns (default: that of the result).

    Returns
    -------
    matplotlib Axes
    """
    import matplotlib as mpl

    level = _checked_level(result, level)
    ax = axes(ax)
    names, sizes = drifting_columns(result, level)
    top = float(np.nanmax(sizes, initial=0.0)) or 1.0
    colours = mpl.colormaps[SEQUENTIAL].with_extremes(bad=(0.0, 0.0, 0.0, 0.0))
    image = ax.imshow(sizes, cmap=colours, vmin=0.0, vmax=top, interpolation="none", aspect="auto")
    ax.set_yticks(range(len(names)), [short(name) for name in names], parse_math=False)
    ax.tick_params(length=0)
    name_batches(ax, [batch.name for batch in result.batches])
    bar = ax.figure.colorbar(image, ax=ax, location="top", aspect=40, pad=0.06)
    bar.set_label("standardized distance (blank: not different)")
    return ax


def drifting_columns(result: Any, level: float) -> tuple[list[str], np.ndarray]:
    """The columns that differ in any batch that does, and their distances (columns, batches); NaN elsewhere."""
    distances: dict[str, np.ndarray] = {}
    for place, batch in enumerate(result.batches):
        if batch.features is None or batch.corrected > level:
            continue
        for feature in batch.features.differing(level):
            row = distances.setdefault(feature.name, np.full(len(result.batches), np.nan))
            row[place] = feature.standardized
    largest = sorted(distances, key=lambda name: -float(np.nansum(distances[name])))[:_MAX_COLUMNS]
    rows = [distances[name] for name in largest] or [np.full(len(result.batches), np.nan)]
    return largest, np.array(rows, dtype=np.float64)


def _checked_level(result: Any, level: float | None) -> float:
    """A level that was given, checked, or that of the result."""
    level = float(result.level) if level is None else level
    validate.between("level", level, 0.0, 1.0)
    return level


def name_batches(ax: Any, names: list[str]) -> None:
    """Write the names of the batches along the x-axis, every second or third where there are many."""
    step = -(-len(names) // _MAX_TICKS)
    places = np.arange(0, len(names), step)
    ax.set_xticks(places, [short(names[i]) for i in places], rotation=90, parse_math=False)
    ax.set_xlim(-0.5, len(names) - 0.5)
