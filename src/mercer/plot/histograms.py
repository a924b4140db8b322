"""Two histograms behind a picture of two samples: what smoothing leaves out."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import validate
from mercer.plot.style import NEGATIVE, POSITIVE, axes

_MOST = 40  # bars


def plot_histograms(x: Any, y: Any, *, ax: Any = None, height: float | None = None) -> Any:
    """The values of two samples of numbers, as shares, in the colours of the samples.

    Parameters
    ----------
    x, y : arrays (n,), (m,)
    ax : matplotlib Axes, optional
        A new figure if left out. An Axes with a picture keeps its limits, and values outside are
        left out.
    height : float, optional
        How high the highest bar is; if left out, its share.

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
    both = np.concatenate([first, second]).astype(np.float64)
    low, high = ax.get_xlim() if ax.has_data() else (both.min(), both.max())
    if not low < high:
        low, high = low - 0.5, high + 0.5
    bars = int(np.clip(2 * len(both) ** (1 / 3), 8, _MOST))
    edges = np.linspace(low, high, bars + 1)
    shares = [np.histogram(v, edges)[0] / len(v) for v in (first, second)]
    top = max(float(share.max()) for share in shares) or 1.0
    scale = 1.0 if height is None else height / top
    for share, colour in zip(shares, (POSITIVE, NEGATIVE), strict=True):
        ax.stairs(scale * share, edges, fill=True, color=colour, alpha=0.13, zorder=0)
    return ax
