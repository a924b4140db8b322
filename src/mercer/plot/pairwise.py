"""Matrix plot of the dependence between the columns of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import validate
from mercer.plot.column_matrix import draw_column_matrix
from mercer.plot.style import axes


def plot_pairwise(result: Any, *, ax: Any = None, level: float = 0.05) -> Any:
    """Draw the kernel correlation of each pair of columns; pairs that are not significant are blank.

    Parameters
    ----------
    result : PairwiseResult
        Result of `pairwise_independence`; that of `result.clustered()` has similar columns side by side.
    ax : matplotlib Axes, optional
        Axes to draw on (default: a new figure).
    level : float
        Significance level: pairs with a larger corrected p-value are blank.

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
    ax = axes(ax)
    significant = result.pvalues <= level  # False on the diagonal, where p-values are NaN
    shown = np.where(significant, result.effects, np.nan)
    label = f"kernel correlation (blank: corrected p above {level:g})"
    draw_column_matrix(ax, shown, result.names, top=1.0, label=label)
    return ax
