"""Bar chart of how much each column differs between two samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import validate
from mercer.plot.style import FAINT, INK, POSITIVE, axes

_MAX_NAME_CHARACTERS = 28  # longer names leave no room for the bars


def plot_features(features: Any, *, ax: Any = None, level: float = 0.05, most: int = 15) -> Any:
    """Draw the standardized distance of each column as a bar, the largest at the top.

    Columns with a corrected p-value of at most `level` are coloured; the p-value is beside the bar.

    Parameters
    ----------
    features : Features
        Result of `TwoSampleResult.features()`.
    ax : matplotlib Axes, optional
        Axes to draw on (default: a new figure).
    level : float
        Significance level.
    most : int
        Largest number of columns to show.

    Returns
    -------
    matplotlib Axes
    """
    validate.between("level", level, 0.0, 1.0)
    validate.whole("most", most)
    ax = axes(ax)
    ordered = sorted(features, key=lambda f: (-f.standardized, f.adjusted))
    shown = ordered[:most]
    finite = [f.standardized for f in shown if np.isfinite(f.standardized)]
    longest = max(finite, default=0.0) or 1.0
    sizes = [f.standardized if np.isfinite(f.standardized) else 1.15 * longest for f in shown]
    colours = [POSITIVE if f.adjusted <= level else FAINT for f in shown]
    positions = np.arange(len(shown))
    ax.barh(positions, sizes, color=colours, height=0.7)
    for position, feature, size in zip(positions, shown, sizes, strict=True):
        text = f"p = {feature.adjusted:.2g}"
        ax.annotate(
            text, (size, position), (4, 0), textcoords="offset points", va="center",
            fontsize="small", color=INK if feature.adjusted <= level else "#666666",
        )  # fmt: skip
    ax.set_yticks(positions, [short(f.name) for f in shown], parse_math=False)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.22 * max(sizes, default=1.0) or 1.0)
    count = f" ({len(shown)} of {len(ordered)} shown)" if len(ordered) > len(shown) else ""
    ax.set_xlabel(f"standardized distance{count}")
    ax.set_title(
        f"coloured: corrected p-value at most {level:g}", fontsize="small", color="#666666",
        loc="right",  # there is room to the left where names are long
    )  # fmt: skip
    for side in ("right", "top"):
        ax.spines[side].set_visible(False)
    return ax


def short(name: str) -> str:
    """Truncate a name that is too long for a plot."""
    if len(name) <= _MAX_NAME_CHARACTERS:
        return name
    return name[: _MAX_NAME_CHARACTERS - 1] + "\N{HORIZONTAL ELLIPSIS}"
