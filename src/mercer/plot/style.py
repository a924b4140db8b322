"""Colours of the plots, and the Axes they are drawn on."""

from __future__ import annotations

from typing import Any

POSITIVE, NEGATIVE = "#b2182b", "#2166ac"  # the ends of RdBu_r, safe for colour-blind readers
INK, FAINT = "#222222", "#bbbbbb"
DIVERGING, SEQUENTIAL = "RdBu_r", "viridis"


def axes(ax: Any = None) -> Any:
    """The given Axes after a check, or the Axes of a new figure."""
    try:
        import matplotlib.pyplot as plt
        from matplotlib.axes import Axes
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'mercer[plot]'") from None
    if ax is None:
        return plt.subplots(figsize=(6.0, 4.0), layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise TypeError(f"ax must be a matplotlib Axes, got {ax!r}; of a grid of Axes pass one")
    return ax
