"""Heat map of the information between columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.plot.column_differences import short
from mercer.plot.style import FAINT, SEQUENTIAL

_MAX_COLUMNS_FOR_NUMBERS = 12  # beyond, numbers do not fit into the cells


def draw_information(ax: Any, shown: np.ndarray, names: Sequence[str], measure: str) -> None:
    """Draw the matrix of nats between columns, with values where there is room; NaN is grey."""
    import matplotlib as mpl

    top = float(np.nanmax(shown)) if np.any(np.isfinite(shown)) else 1.0
    colours = mpl.colormaps[SEQUENTIAL].with_extremes(bad=FAINT)
    image = ax.imshow(shown, cmap=colours, vmin=0.0, vmax=top, interpolation="none")
    if len(names) <= _MAX_COLUMNS_FOR_NUMBERS:
        for i, j in zip(*np.nonzero(np.isfinite(shown)), strict=True):
            colour = "white" if shown[i, j] < 0.6 * top else "black"
            value = f"{shown[i, j]:.2f}"
            ax.text(j, i, value, ha="center", va="center", color=colour, fontsize=8)
    labels = [short(name) for name in names]
    ax.set_xticks(range(len(names)), labels, rotation=90, parse_math=False)
    ax.set_yticks(range(len(names)), labels, parse_math=False)
    ax.tick_params(length=0)
    ax.figure.colorbar(image, ax=ax, label=f"{measure} (nats)")
