"""Report of pairs of columns: clustered matrix, or bars for one column, and table of the dependent pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mercer import validate
from mercer.htest.dependence.pairwise_result import Pair, PairwiseResult
from mercer.plot.pairwise import MAX_BARS
from mercer.report.cells import versions
from mercer.report.in_words import described_test
from mercer.report.page import brief, checked_page
from mercer.report.report_figure import PHONE_WIDTH, ReportFigure

_PAIRS_LISTED = 60
_COLUMN_PIXELS = 19  # of a row of the matrix, or of a bar: the height of its name
_MOST_COLUMNS_DRAWN = 80  # 1,700 pixels


def pairwise_report(
    result: PairwiseResult,
    *,
    name: str = "the table",
    level: float = 0.05,
    facts: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    again: str = "",
) -> str:
    """Report of `pairwise_independence` as a single HTML page that works offline.

    It shows how many pairs of columns depend on each other, the matrix of kernel correlations with
    dependent columns side by side, and a table of the strongest pairs. Of a result `against` one column it
    shows how many columns depend on it, and bars instead of the matrix.

    Parameters
    ----------
    result : PairwiseResult
    name : str
        Name of the data, such as that of a file.
    level : float
        Significance level.
    facts : mapping of str to str, optional
        Additional entries of the table of settings.
    notes : sequence of str
        Additional notes.
    again : str
        Command or code that reproduces the result.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.htest import pairwise_independence
    >>> x = np.random.default_rng(0).normal(size=(80, 2))
    >>> page = pairwise_report(pairwise_independence(np.hstack([x, x**2]), rng=0), name="squares.csv")
    >>> "2 of 6 pairs of columns of squares.csv are dependent" in page
    True
    """
    validate.instance("result", result, PairwiseResult, "the result of pairwise_independence")
    dependent = result.dependent(level)
    listed = strongest(result, _PAIRS_LISTED)
    return checked_page(
        "pairwise.html",
        {
            "name": name,
            "level": level,
            "dependent": len(dependent),
            "against": result.against,
            "number": len(result.pairs),
            "columns": len(result.names),
            "size": result.size,
            "strongest": dependent[0] if dependent else None,
            "matrix": _figure(result, level) if dependent else None,
            "pairs": listed,
            "more_pairs": len(result.pairs) - len(listed),
            "facts": _facts(result, level) | dict(facts or {}),
            "again": again,
        },
        notes=[*result.cautions(level), *notes],
    )


def _figure(result: PairwiseResult, level: float) -> ReportFigure | None:
    """The matrix of all pairs, or bars of those of one column."""
    return matrix_figure(result, level) if result.against is None else _bars_figure(result, level)


def _bars_figure(result: PairwiseResult, level: float) -> ReportFigure:
    """How much each column depends on the one that was asked about."""
    values = "; ".join(
        f"{brief(p.first, 30)} {p.effect:.2g} (p = {p.pvalue:.2g})" for p in strongest(result, 10)
    )
    against = brief(result.against, 60)
    caption = (
        f"Kernel correlation of {against} with each of the other columns, from 0 to 1; coloured where the "
        f"corrected p-value is at most {level:g}."
    )
    return ReportFigure.drawn(
        lambda ax: result.plot(ax, level=level),
        name="matrix",
        alt=f"Bars of the kernel correlations of columns with {against}: {values}.",
        caption=caption,
        height=90 + _COLUMN_PIXELS * min(len(result.pairs), MAX_BARS),
    )


def matrix_figure(result: PairwiseResult, level: float) -> ReportFigure | None:
    """The matrix of kernel correlations, similar columns side by side; None for too many columns."""
    ordered = result.clustered()
    number = len(ordered.names)
    if number > _MOST_COLUMNS_DRAWN:
        return None
    values = "; ".join(
        f"{brief(p.first, 30)} and {brief(p.second, 30)} {p.effect:.2g} (p = {p.pvalue:.2g})"
        for p in strongest(result, 10)
    )
    caption = (
        "Kernel correlation of each pair of columns, from 0 to 1; columns that depend on each other are "
        f"side by side. Pairs whose corrected p-value is above {level:g} are blank."
    )
    width, height = matrix_size(ordered.names)
    return ReportFigure.drawn(
        lambda ax: ordered.plot(ax, level=level),
        name="matrix",
        alt=f"Matrix of kernel correlations between columns. Strongest pairs: {values}.",
        caption=caption,
        width=width,
        height=height,
    )


def matrix_size(names: Sequence[str]) -> tuple[int, int]:
    """Width and height in pixels of a matrix of columns whose names can be read."""
    names_width = 8 * min(max(map(len, names)), 28)
    width = max(PHONE_WIDTH, names_width + _COLUMN_PIXELS * len(names) + 30)
    return width, width + 70


def strongest(result: PairwiseResult, most: int) -> list[Pair]:
    """The pairs of columns with the largest kernel correlations."""
    return sorted(result.pairs, key=lambda pair: -pair.effect)[:most]


def _facts(result: PairwiseResult, level: float) -> dict[str, str]:
    """Entries of the table of settings."""
    resamples = f", {result.resamples:,} permutations" if result.resamples else ""
    return {
        "test": described_test(result.test) + resamples,
        "correction": repr(result.correction),
        "level": f"{level:g}",
        "rows": f"{result.size:,}",
        **versions(),
    }
