"""Plots of the dependence between the columns of a table: a matrix, or bars for one column and each of the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import validate
from mercer.plot.column_differences import short
from mercer.plot.column_matrix import draw_column_matrix
from mercer.plot.style import FAINT, INK, POSITIVE, axes

MAX_BARS = 30  # of the columns that depend most on one; more do not fit a figure


def plot_pairwise(result: Any, *, ax: Any = None, level: float = 0.05) -> Any:
    """Draw the kernel correlation of each pair of columns; pairs that are not significant are blank.

    Where one column was tested against all others, draw a bar for each of the 30 strongest; those that are
    significant are coloured.

    Parameters
    ----------
    result : PairwiseResult
        Result of `pairwise_independence`; that of `result.clustered()` has similar columns side by side.
    ax : matplotlib Axes, optional
        Axes to draw on (default: a new figure).
    level : float
        Significance level: pairs with a larger corrected p-value are blank, or grey bars.

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
    if result.against is not None:
        _draw_bars(ax, result, level)
        return ax
    significant = result.pvalues <= level  # False on the diagonal, where p-values are NaN
    shown = np.where(significant, result.effects, np.nan)
    label = f"kernel correlation (blank: corrected p above {level:g})"
    draw_column_matrix(ax, shown, result.names, top=1.0, label=label)
    return ax


def _draw_bars(ax: Any, result: Any, level: float) -> None:
    """Draw how much each column depends on the one that was asked about, the strongest at the top."""
    ordered = sorted(result.pairs, key=lambda pair: (-pair.effect, pair.pvalue))
    shown = ordered[:MAX_BARS]
    places, effects = np.arange(len(shown)), [pair.effect for pair in shown]
    found = [pair.pvalue <= level for pair in shown]
    ax.barh(places, effects, color=[POSITIVE if yes else FAINT for yes in found], height=0.7)
    for place, pair, yes in zip(places, shown, found, strict=True):
        ax.annotate(
            f"p = {pair.pvalue:.2g}", (pair.effect, place), (4, 0), textcoords="offset points", va="center",
            fontsize="small", color=INK if yes else "#666666",
        )  # fmt: skip
    ax.set_yticks(places, [short(pair.first) for pair in shown], parse_math=False)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.22 * max(effects, default=0.0) or 1.0)
    number = f" ({len(shown)} of {len(ordered)} shown)" if len(ordered) > len(shown) else ""
    ax.set_xlabel(f"kernel correlation with {short(result.against)}{number}", parse_math=False)
    ax.set_title(
        f"coloured: corrected p-value at most {level:g}", fontsize="small", color="#666666", loc="right"
    )  # fmt: skip
    for side in ("right", "top"):
        ax.spines[side].set_visible(False)
