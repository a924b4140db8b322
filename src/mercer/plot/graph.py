"""Plot of a causal graph: variables on a circle, arrows and lines between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.plot.column_differences import short
from mercer.plot.style import FAINT, INK, axes

_NODE_SIZE = 900  # points squared, of the marker behind a name
_SHRINK = 17  # points between the centre of a node and the end of an arrow


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
    index = {name: i for i, name in enumerate(graph.names)}
    for edge in graph.edges:
        start, end = places[index[edge.first]], places[index[edge.second]]
        strength = 1.0 if np.isnan(edge.frequency) else float(np.clip(edge.frequency, 0.15, 1.0))
        style = {
            "arrowstyle": "-|>" if edge.directed else "-",
            "color": INK,
            "alpha": strength,
            "shrinkA": _SHRINK,
            "shrinkB": _SHRINK,
            "linewidth": 1.4,
        }
        ax.annotate("", end, start, arrowprops=style)
    ax.scatter(*places.T, s=_NODE_SIZE, color="white", edgecolors=FAINT, zorder=3)
    for name, place in zip(graph.names, places, strict=True):
        ax.text(*place, short(name), ha="center", va="center", zorder=4, parse_math=False)
    ax.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal")
    ax.set_axis_off()
    return ax
