"""The report of an independence test: verdict, strength, which columns, where, and how to run it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mercer import validate
from mercer.backend import is_array, to_numpy
from mercer.frames import Table
from mercer.htest.dependence.all_pairs import Pair, PairwiseResult
from mercer.htest.dependence.dependence_result import IndependenceResult
from mercer.htest.dependence.observed_variables import Variable, listed
from mercer.plot.svg import svg_figure
from mercer.report.affordable import MOST
from mercer.report.cells import cells, versions
from mercer.report.page import brief, page_about, picture
from mercer.report.two_sample_figures import Picture, null_picture
from mercer.rkhs.sample_rows import taken

_TELLING = 8  # rows
_PAIRS = 30
_SHOWN = 8  # columns of a row
_SIDE = 24  # columns whose matrix is drawn


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
    """One HTML page about the result of an independence test; it opens without a network.

    The verdict, the strength, the null distribution, the matrix of dependence between columns, the
    witness as a map where both variables are one column of numbers, and the rows that count most.
    It stays under 1 MB whatever the number of observations, runs no scripts, and every string
    from the data is escaped.

    Parameters
    ----------
    result : IndependenceResult
    level : float
    pairs : PairwiseResult, optional
        What `pairwise_independence` found about the columns.
    samples : sequence of tables or arrays
        The variables as they were handed in, for their rows in the table; the points as the
        result holds them if left out.
    facts : mapping of str to str, optional
        More lines for the table of what was run.
    notes : sequence of str
        More remarks.
    again : str
        The command or the code that runs it again.
    numbered : bool
        Whether to give the places of rows.

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
    some = result.thinned(MOST)
    asked = result.variables[:-1] if result.given else result.variables
    return page_about(
        result,
        "independence.html",
        {
            "names": listed([v.label for v in asked]),
            "given": result.variables[-1].label if result.given else None,
            "question": listed([v.label for v in asked]),
            "strength": some.effect() if result.two else None,
            "null": null_picture(result, level, _null(result)),
            "matrix": None if pairs is None else _matrix(pairs, level),
            "pairs": [] if pairs is None else _strongest(pairs, _PAIRS),
            "more_pairs": 0 if pairs is None else max(len(pairs.pairs) - _PAIRS, 0),
            "witness": _witness(some),
            "telling": _telling(some, samples) if result.two else None,
            "facts": _facts(result, level) | dict(facts or {}),
            "numbered": numbered and some is result,
            "thinned": None if some is result else some.size,
            "again": again,
        },
        level=level,
        notes=notes,
    )


def _null(result: IndependenceResult) -> str:
    if result.given:
        return f"the variables were independent given {brief(result.variables[-1].label, 80)}"
    return "the variables were independent"


def _strongest(pairs: PairwiseResult, most: int) -> list[Pair]:
    return sorted(pairs.pairs, key=lambda pair: -pair.effect)[:most]


def _matrix(pairs: PairwiseResult, level: float) -> Picture:
    """The kernel correlation of all pairs of columns."""
    told = "; ".join(
        f"{brief(p.first, 30)} and {brief(p.second, 30)} {p.effect:.2g} (p = {p.pvalue:.2g})"
        for p in _strongest(pairs, 10)
    )
    alt = f"Matrix of kernel correlations between columns; the strongest: {told}."
    caption = (
        "How strongly each column depends on each other one by itself: kernel correlations from 0 "
        f"to 1, where the corrected p-value is not above {level:g}."
    )
    side = min(max(280, 60 + 34 * len(pairs.names)), 600)
    svg = svg_figure(
        lambda ax: pairs.plot(ax, level=level),
        name="matrix",
        alt=alt,
        width=side + 120,
        height=side,
    )
    return Picture(picture(svg), caption)


def _witness(result: IndependenceResult) -> Picture | None:
    """The map of two columns of numbers; None for others."""
    if not result.two or not all(_is_line(v) for v in result.variables):
        return None
    names = [v.label for v in result.variables]
    alt = (
        f"Map of where {brief(names[0], 40)} and {brief(names[1], 40)} come together more often "
        "than if they were independent, with the rows as dots."
    )
    caption = (
        "The witness of the dependence: red where such pairs of values come together more often "
        "than by chance, blue where less often. Dots are rows."
    )
    svg = svg_figure(result.plot_witness, name="witness", alt=alt, width=560, height=420)
    return Picture(picture(svg), caption)


def _telling(result: IndependenceResult, samples: Sequence[Any]) -> dict[str, Any]:
    """The rows that add most to HSIC, with their values."""
    found = result.points(_TELLING)
    sources = samples if samples and len(samples[0]) == result.size else None
    columns: list[str] = []
    values: list[list[str]] = [[] for _ in found.indices]
    for number, variable in enumerate(result.variables):
        held = _held(variable) if sources is None else sources[number]
        names, rows = cells(taken(held, found.indices))
        columns += [variable.name] if names == ["column 0"] else names
        for row, more in zip(values, rows, strict=True):
            row += more
    total = float(result._dependence.contributions.sum()) or 1.0
    return {
        "columns": columns[:_SHOWN],
        "rows": [
            {"place": int(i) + 1, "share": float(c) / total, "cells": row[:_SHOWN]}
            for i, c, row in zip(found.indices, found.contributions, values, strict=True)
        ],
    }


def _held(variable: Variable) -> Any:
    points = variable.unmoved
    if variable.columns is None or not is_array(points):
        return points
    return Table(to_numpy(points), variable.columns)


def _is_line(variable: Variable) -> bool:
    categorical = variable.columns is not None and any(variable.columns.categorical)
    return variable.width == 1 and not categorical


def _facts(result: IndependenceResult, level: float) -> dict[str, str]:
    return {
        "test": brief(repr(result.test), 600),
        "null distribution": result.null_in_words(),
        **{f"kernel of {v.name}": brief(repr(v.kernel), 800) for v in result.variables},
        "level": f"{level:g}",
        "observations": f"{result.size:,}",
        **versions(),
    }
