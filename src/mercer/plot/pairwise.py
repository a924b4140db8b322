"""The dependence of the columns of a table as a map: every pair a cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import validate
from mercer.plot.column_differences import short
from mercer.plot.style import FAINT, SEQUENTIAL, axes

_NUMBERS = 12  # columns up to which the cells have numbers
_DARK = 0.6  # effects below which numbers in a cell are white


def plot_pairwise(result: Any, *, ax: Any = None, level: float = 0.05) -> Any:
    """How strongly every two columns depend on each other, grey where no dependence was found.

    Parameters
    ----------
    result : PairwiseResult
        Of `pairwise_independence`.
    ax : matplotlib Axes, optional
        A new figure if left out.
    level : float
        Pairs with larger corrected p-values are grey.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.htest import pairwise_independence
    >>> x = np.random.default_rng(0).normal(size=(60, 2))
    >>> x = np.concatenate([x, x[:, :1] ** 2], axis=1)
    >>> ax = plot_pairwise(pairwise_independence(x, rng=0))
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['0', '1', '2']
    """
    validate.between("level", level, 0.0, 1.0)
    ax, width = axes(ax), len(result.names)
    found = result.pvalues <= level  # NaN on the diagonal is not
    shown = np.where(found, result.effects, np.nan)
    import matplotlib as mpl

    colours = mpl.colormaps[SEQUENTIAL].with_extremes(bad=FAINT)
    picture = ax.imshow(shown, cmap=colours, vmin=0.0, vmax=1.0, interpolation="none")
    if width <= _NUMBERS:
        for i, j in zip(*np.nonzero(found), strict=True):
            value = float(shown[i, j])
            colour = "white" if value < _DARK else "black"
            ax.text(j, i, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=8)
    names = [short(name) for name in result.names]
    ax.set_xticks(range(width), names, rotation=90, parse_math=False)
    ax.set_yticks(range(width), names, parse_math=False)
    ax.tick_params(length=0)
    ax.set_title(f"grey: no dependence found at level {level:g}", fontsize="small")
    ax.figure.colorbar(picture, ax=ax, label="kernel correlation")
    return ax
