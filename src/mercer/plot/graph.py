"""Plot of a causal graph: variables on a circle, arrows and lines between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.plot.column_differences import short
from mercer.plot.style import FAINT, INK, axes

_PADDING = 0.45  # of a box around its name, in heights of the font
_LETTER = 0.58  # widths of letters, on average, in heights of the font
_GAP = 2.0  # points between a box and the end of an arrow


def plot_graph(graph: Any, *, ax: Any = None) -> Any:
    """Draw a causal graph; lines are edges whose direction is open, paler where half-samples lack them.

    Parameters
    ----------
    graph : CausalGraph
        Result of `PC` or `RESIT` in `mercer.causal`.
    ax : matplotlib Axes, optional
        Axes to draw on (default: a new figure).

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.causal import PC
    >>> from mercer.htest import PartialCorrelation
    >>> x, y = np.random.default_rng(0).normal(size=(2, 300))
    >>> ax = plot_graph(PC(PartialCorrelation()).fit(np.column_stack([x, y, x + y + 0.5 * x * 0])))
    >>> len(ax.texts) >= 3
    True
    """
    ax = axes(ax)
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(graph.names)) / len(graph.names)
    places = np.column_stack([np.cos(angles), np.sin(angles)])
    names = [short(name) for name in graph.names]
    index = {name: i for i, name in enumerate(graph.names)}
    for edge in graph.edges:
        i, j = index[edge.first], index[edge.second]
        strength = 1.0 if np.isnan(edge.frequency) else float(np.clip(edge.frequency, 0.15, 1.0))
        style = {
            "arrowstyle": "-|>" if edge.directed else "-",
            "color": INK,
            "alpha": strength,
            "shrinkA": _reach(names[i], places[j] - places[i]),
            "shrinkB": _reach(names[j], places[j] - places[i]),
            "linewidth": 1.4,
        }
        ax.annotate("", places[j], places[i], arrowprops=style)
    box = {"boxstyle": f"round,pad={_PADDING}", "facecolor": "white", "edgecolor": FAINT}
    for name, place in zip(names, places, strict=True):
        ax.text(*place, name, ha="center", va="center", zorder=4, parse_math=False, bbox=box)
    ax.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal")
    ax.set_axis_off()
    return ax


def _reach(name: str, direction: np.ndarray) -> float:
    """Points between the centre of the box of a name and its edge, in a direction."""
    import matplotlib as mpl

    size = float(mpl.rcParams["font.size"])
    half = size * np.array([_LETTER * len(name) / 2 + _PADDING, 0.5 + _PADDING])
    share = np.abs(direction) / np.linalg.norm(direction)
    return float(np.min(half / np.maximum(share, 1e-9))) + _GAP
