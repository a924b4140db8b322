"""Report of an independence test: verdict, strength, dependent columns, location, influential rows, settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import is_array, to_numpy
from mercer.frames import Table
from mercer.htest.dependence.dependence_result import IndependenceResult
from mercer.htest.dependence.pairwise_result import Pair, PairwiseResult
from mercer.htest.explained_variation import VariationExplained
from mercer.report.affordable import MAX_ROWS_FOR_ALL_PAIRS
from mercer.report.cells import cells, versions
from mercer.report.in_words import described_test, kernel_in_words, settings_in_words
from mercer.report.page import brief, page_about
from mercer.report.pairwise_page import matrix_figure, strongest
from mercer.report.report_figure import ReportFigure, null_figure
from mercer.rkhs.paired_samples import Variable, listed
from mercer.rkhs.sample_rows import taken

_ROWS_LISTED = 8
_PAIRS_LISTED = 30
_COLUMNS_LISTED = 8  # of a row; more do not fit the width of the page


def independence_report(
    result: IndependenceResult,
    *,
    level: float = 0.05,
    pairs: PairwiseResult | None = None,
    samples: Sequence[Any] = (),
    facts: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    again: str = "",
    numbered: bool = True,
) -> str:
    """Report of an independence test as a single HTML page that works offline.

    It shows the verdict, the strength of the dependence, the null distribution, the matrix of
    dependence between columns, a map of the witness if both variables are single numeric columns, and
    the rows that contribute most. The page stays under 1 MB whatever the number of observations,
    contains no scripts, and escapes every string from the data.

    Parameters
    ----------
    result : IndependenceResult
    level : float
        Significance level.
    pairs : PairwiseResult, optional
        Result of `pairwise_independence` for the columns.
    samples : sequence of tables or arrays
        The original variables, from which the table of rows is filled (default: the observations
        stored in the result).
    facts : mapping of str to str, optional
        Additional entries of the table of settings.
    notes : sequence of str
        Additional notes.
    again : str
        Command or code that reproduces the result.
    numbered : bool
        Whether to show row numbers.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.htest import HSIC
    >>> x = np.random.default_rng(0).normal(size=100)
    >>> page = independence_report(HSIC().test(x, x**2, rng=0))
    >>> "x and y depend on each other" in page, len(page) < 1_000_000
    (True, True)
    """
    validate.instance("result", result, IndependenceResult, "the result of an independence test")
    reduced = result.thinned(MAX_ROWS_FOR_ALL_PAIRS)
    tested = result.variables[:-1] if result.given else result.variables
    names = listed([v.label for v in tested])
    return page_about(
        result,
        "independence.html",
        {
            "names": names,
            "given": result.variables[-1].label if result.given else None,
            "strength": _strength(reduced) if result.has_effect else None,
            "null": null_figure(result, level, _null_hypothesis(result)),
            "crossed": _crossed(result, pairs, level),
            "matrix": matrix_figure(pairs, level) if pairs and pairs.dependent(level) else None,
            "pairs": [] if pairs is None else strongest(pairs, _PAIRS_LISTED),
            "more_pairs": 0 if pairs is None else max(len(pairs.pairs) - _PAIRS_LISTED, 0),
            "witness": _witness(reduced),
            "influential": _influential(reduced, samples) if result.two else None,
            "facts": _facts(result, level) | dict(facts or {}),
            "numbered": numbered and reduced is result,
            "thinned": None if reduced is result else reduced.size,
            "again": again,
        },
        level=level,
        notes=[*notes, *(() if pairs is None else pairs.notes)],
    )


def _crossed(
    result: IndependenceResult, pairs: PairwiseResult | None, level: float
) -> tuple[Pair, ...]:
    """Dependent pairs of a column of x and one of y; none with given columns, which pairs ignore."""
    columns = result.variables[0].columns
    if pairs is None or columns is None or not result.two or result.rejects(level):
        return ()
    return pairs.dependent_across(columns.names, level)


def _strength(result: IndependenceResult) -> VariationExplained:
    """The strength of the dependence, in terms of columns."""
    return result.effect().named({v.name: brief(v.label, 60) for v in result.variables})


def _null_hypothesis(result: IndependenceResult) -> str:
    """The null hypothesis, as a clause after "if"."""
    if result.given:
        return f"the variables were independent given {brief(result.variables[-1].label, 80)}"
    return "the variables were independent"


def _witness(result: IndependenceResult) -> ReportFigure | None:
    """The map of the dependence of two numeric columns; None for other variables."""
    if not result.two or not all(_is_numeric_column(v) for v in result.variables):
        return None
    first, second = (brief(v.label, 40) for v in result.variables)
    alt = (
        f"Map of where values of {first} and {second} occur together more often than under "
        "independence, with the rows as dots."
    )
    caption = (
        "Witness of the dependence: red where values occur together more often than under "
        "independence, blue where less often. Dots are rows."
    )
    return ReportFigure.drawn(
        result.plot_witness, name="witness", alt=alt, caption=caption, height=360
    )


def _influential(result: IndependenceResult, samples: Sequence[Any]) -> dict[str, Any]:
    """The table of the rows that contribute most to HSIC."""
    points = result.points(_ROWS_LISTED)
    sources = samples if samples and len(samples[0]) == result.size else None
    kept = result.variables[0].places
    stored = points.indices if kept is None else np.searchsorted(kept, points.indices)
    columns: list[str] = []
    values: list[list[str]] = [[] for _ in points.indices]
    for number, variable in enumerate(result.variables):
        if sources is None:
            names, rows = cells(taken(_stored_rows(variable), stored))
        else:
            names, rows = cells(taken(sources[number], points.indices))
        columns += [variable.name] if names == ["column 0"] else names
        for row, more in zip(values, rows, strict=True):
            row += more
    total = float(result._dependence.contributions.sum()) or 1.0
    return {
        "columns": columns[:_COLUMNS_LISTED],
        "rows": [
            {"place": int(i) + 1, "share": float(c) / total, "cells": row[:_COLUMNS_LISTED]}
            for i, c, row in zip(points.indices, points.contributions, values, strict=True)
        ],
    }


def _stored_rows(variable: Variable) -> Any:
    """The observations of a variable as the result stores them, with their column names if known."""
    points = variable.uncentred
    if variable.columns is None or not is_array(points):
        return points
    return Table(to_numpy(points), variable.columns)


def _is_numeric_column(variable: Variable) -> bool:
    """Whether a variable is a single column of numbers."""
    categorical = variable.columns is not None and any(variable.columns.categorical)
    return variable.width == 1 and not categorical


def _facts(result: IndependenceResult, level: float) -> dict[str, str]:
    """Entries of the table of settings."""
    return {
        "test": described_test(result.test),
        "settings of the test": settings_in_words(result.test),
        "null distribution": result.null_in_words(),
        **{f"kernel of {brief(v.label, 40)}": kernel_in_words(v.kernel) for v in result.variables},
        "level": f"{level:g}",
        "observations": f"{result.size:,}",
        **versions(),
    }
