"""Histograms of two samples, to be drawn behind smoothed curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import validate
from mercer.plot.style import NEGATIVE, POSITIVE, axes

_MAX_BINS = 40  # narrower bars show noise


def plot_histograms(x: Any, y: Any, *, ax: Any = None, height: float | None = None) -> Any:
    """Draw histograms of two numeric samples, as shares of each sample.

    Parameters
    ----------
    x, y : arrays (n,), (m,)
    ax : matplotlib Axes, optional
        Axes to draw on (default: a new figure). An Axes that has data keeps its limits, and values
        outside them are not drawn.
    height : float, optional
        Height of the highest bar (default: its share).

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = plot_histograms([0.0, 0.0, 1.0], [1.0, 2.0, 2.0])
    >>> len(ax.patches)
    2
    """
    first, second = (np.asarray(validate.vector(v, n)) for v, n in ((x, "x"), (y, "y")))
    ax = axes(ax)
    values = np.concatenate([first, second]).astype(np.float64)
    low, high = ax.get_xlim() if ax.has_data() else (values.min(), values.max())
    if not low < high:
        low, high = low - 0.5, high + 0.5
    bins = int(np.clip(2 * len(values) ** (1 / 3), 8, _MAX_BINS))
    edges = np.linspace(low, high, bins + 1)
    shares = [np.histogram(v, edges)[0] / len(v) for v in (first, second)]
    top = max(float(share.max()) for share in shares) or 1.0
    scale = 1.0 if height is None else height / top
    for share, colour in zip(shares, (POSITIVE, NEGATIVE), strict=True):
        ax.stairs(scale * share, edges, fill=True, color=colour, alpha=0.13, zorder=0)
    return ax
