"""Matrix plot of the dependence between the columns of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import validate
from mercer.plot.column_differences import short
from mercer.plot.style import FAINT, SEQUENTIAL, axes

_MAX_COLUMNS_FOR_NUMBERS = 12  # beyond, numbers do not fit into the cells
_MAX_DARK_EFFECT = 0.6  # up to it the colour of a cell is dark, and its number white


def plot_pairwise(result: Any, *, ax: Any = None, level: float = 0.05) -> Any:
    """Draw the kernel correlation of each pair of columns; pairs that are not significant are grey.

    Parameters
    ----------
    result : PairwiseResult
        Result of `pairwise_independence`.
    ax : matplotlib Axes, optional
        Axes to draw on (default: a new figure).
    level : float
        Significance level: pairs with a larger corrected p-value are grey.

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
    significant = result.pvalues <= level  # False on the diagonal, where p-values are NaN
    shown = np.where(significant, result.effects, np.nan)
    import matplotlib as mpl

    colours = mpl.colormaps[SEQUENTIAL].with_extremes(bad=FAINT)
    image = ax.imshow(shown, cmap=colours, vmin=0.0, vmax=1.0, interpolation="none")
    if width <= _MAX_COLUMNS_FOR_NUMBERS:
        for i, j in zip(*np.nonzero(significant), strict=True):
            value = float(shown[i, j])
            colour = "white" if value < _MAX_DARK_EFFECT else "black"
            ax.text(j, i, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=8)
    names = [short(name) for name in result.names]
    ax.set_xticks(range(width), names, rotation=90, parse_math=False)
    ax.set_yticks(range(width), names, parse_math=False)
    ax.tick_params(length=0)
    ax.set_title(f"grey: corrected p-value above {level:g}", fontsize="small")
    ax.figure.colorbar(image, ax=ax, label="kernel correlation")
    return ax
