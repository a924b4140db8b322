"""Columns by how much they differ between two samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import validate
from mercer.plot.style import FAINT, INK, POSITIVE, axes

_LONGEST = 28  # letters of a column's name


def plot_features(features: Any, *, ax: Any = None, level: float = 0.05, most: int = 15) -> Any:
    """The standardized distance of each column as a bar, the largest on top.

    Columns whose corrected p-value is at most `level` are in colour; the p-value stands beside.

    Parameters
    ----------
    features : Features
        From `result.features()`.
    ax : matplotlib Axes, optional
        A new figure if left out.
    level : float
    most : int
        How many columns to show.

    Returns
    -------
    matplotlib Axes
    """
    validate.between("level", level, 0.0, 1.0)
    validate.whole("most", most)
    ax = axes(ax)
    every = sorted(features, key=lambda f: (-f.standardized, f.adjusted))
    shown = every[:most]
    finite = [f.standardized for f in shown if np.isfinite(f.standardized)]
    longest = max(finite, default=0.0) or 1.0
    sizes = [f.standardized if np.isfinite(f.standardized) else 1.15 * longest for f in shown]
    found = [f.adjusted <= level for f in shown]
    places = np.arange(len(shown))
    ax.barh(places, sizes, color=[POSITIVE if f else FAINT for f in found], height=0.7)
    for place, feature, size in zip(places, shown, sizes, strict=True):
        text = f"p = {feature.adjusted:.2g}"
        ax.annotate(
            text, (size, place), (4, 0), textcoords="offset points", va="center",
            fontsize="small", color=INK if feature.adjusted <= level else "#666666",
        )  # fmt: skip
    ax.set_yticks(places, [short(f.name) for f in shown], parse_math=False)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.22 * max(sizes, default=1.0) or 1.0)
    left_out = f" ({len(shown)} of {len(every)} columns)" if len(every) > len(shown) else ""
    ax.set_xlabel(f"standardized distance{left_out}")
    ax.set_title(
        f"in colour: differs at level {level:g}, corrected", fontsize="small", color="#666666",
        loc="left",
    )  # fmt: skip
    for side in ("right", "top"):
        ax.spines[side].set_visible(False)
    return ax


def short(name: str) -> str:
    """A column's name, cut where it is too long for a picture."""
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"
