"""Heat map of a quantity of every pair of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.plot.column_differences import short
from mercer.plot.style import SEQUENTIAL

MAX_COLUMNS_WITH_NUMBERS = 8  # beyond, numbers do not fit into the cells of a small figure
_DARK_SHARE = 0.6  # of the range of values: up to it cells are dark, and their numbers white


def draw_column_matrix(
    ax: Any, values: np.ndarray, names: Sequence[str], *, top: float, label: str
) -> None:
    """Draw `values` between 0 and `top` as colours, with numbers where there is room; NaN stays blank."""
    colours = _transparent_where_missing()
    image = ax.imshow(values, cmap=colours, vmin=0.0, vmax=top, interpolation="none")
    if len(names) <= MAX_COLUMNS_WITH_NUMBERS:
        for i, j in zip(*np.nonzero(np.isfinite(values)), strict=True):
            value = float(values[i, j])
            colour = "white" if value < _DARK_SHARE * top else "black"
            number = f"{value:.2f}"
            ax.text(j, i, number, ha="center", va="center", color=colour, fontsize="small")
    labels = [short(name) for name in names]
    ax.set_xticks(range(len(names)), labels, rotation=90, parse_math=False)
    ax.set_yticks(range(len(names)), labels, parse_math=False)
    ax.tick_params(length=0)
    bar = ax.inset_axes((0.0, 1.03, 1.0, 0.6 / max(len(names), 12)))
    ax.figure.colorbar(image, cax=bar, orientation="horizontal", label=label)
    bar.xaxis.set_ticks_position("top")
    bar.xaxis.set_label_position("top")


def _transparent_where_missing() -> Any:
    """The sequential colours; missing values show the page behind them."""
    import matplotlib as mpl

    return mpl.colormaps[SEQUENTIAL].with_extremes(bad=(0.0, 0.0, 0.0, 0.0))
