"""The report of a goodness-of-fit test: verdict, how far off, where, which rows, and how to run it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import to_numpy
from mercer.frames import Table
from mercer.htest.format_number import figure
from mercer.htest.goodness.evidence_map import log_density_of
from mercer.htest.goodness.goodness_result import GoodnessResult
from mercer.htest.goodness.misfit_by_column import MisfitColumn
from mercer.plot.goodness import plot_columns
from mercer.plot.svg import svg_figure
from mercer.report.affordable import MOST
from mercer.report.cells import cells, versions
from mercer.report.page import brief, page_about, picture
from mercer.report.two_sample_figures import Picture, null_picture
from mercer.rkhs.sample_rows import taken

_SOME = 2000  # rows that pictures and columns are made of
_TELLING = 8  # rows
_SHOWN = 8  # columns of a row
_WIDEST = 40  # columns that are looked at one by one


def goodness_report(
    result: GoodnessResult,
    *,
    model: str | None = None,
    level: float = 0.05,
    data: Any = None,
    facts: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    again: str = "",
    numbered: bool = True,
) -> str:
    """One HTML page about the result of a goodness-of-fit test; it opens without a network.

    The verdict, how far the model is off, the null distribution, where it does not fit (the witness on
    the line, maps on the plane, columns beyond), the locations of the test if it has any, and
    the rows that speak most against the model. It stays under 1 MB whatever the number of
    observations, runs no scripts, and every string from the data is escaped.

    Parameters
    ----------
    result : GoodnessResult
    model : str, optional
        What to call the model; by what it is if left out.
    level : float
    data : table or array, optional
        The observations as they were handed in, for their rows in the table; as the result holds
        them if left out.
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
    >>> from mercer.htest import KSD
    >>> from mercer.rkhs import Gaussian
    >>> p = Gaussian(0.0, 1.0)
    >>> page = goodness_report(KSD(p).test(p.sample(100, rng=0) + 1.0, rng=0))
    >>> "do not come from Gaussian(0, 1)" in page, len(page) < 1_000_000
    (True, True)
    """
    validate.instance("result", result, GoodnessResult, "the result of a goodness-of-fit test")
    many, some = result.thinned(MOST), result.thinned(_SOME)
    name = result.model_in_words if model is None else model
    columns = some.columns() if 1 < result.sample.width <= _WIDEST else ()
    return page_about(
        result,
        "goodness.html",
        {
            "model": name,
            "misfit": many.effect(),
            "null": null_picture(result, level, f"the observations came from {brief(name, 80)}"),
            "pictures": [*_maps(some, name), *_columns_picture(columns)],
            "columns": columns,
            "locations": _locations(some),
            "telling": _telling(many, data),
            "facts": _facts(result, name, level) | dict(facts or {}),
            "numbered": numbered,
            "thinned": None if many is result else many.size,
            "drawn": None if some is result else some.size,
            "again": again,
        },
        level=level,
        notes=notes,
    )


def _maps(result: GoodnessResult, name: str) -> list[tuple[str, Picture]]:
    """The witness on the line; on the plane the evidence too."""
    width = result.sample.width
    if width > 2:
        return []
    found = [_witness(result, name)] if result.everywhere else []
    return [*found, _evidence(result)] if width == 2 else found


def _witness(result: GoodnessResult, name: str) -> tuple[str, Picture]:
    width = result.sample.width
    alt = (
        "The Stein witness along the observations: above zero where more of them are than "
        f"{brief(name, 60)} expects, below where fewer."
    )
    known = log_density_of(result.model) is not None
    shown = " Bars are observations." if width == 1 else " Dots are observations."
    lines = (
        " The dashed line is the density of the model."
        if width == 1
        else " The lines hold 90, 50 and 10 percent of the model."
    )
    caption = (
        "Red where more observations are than the model expects, blue where fewer."
        f"{shown}{lines if known else ''}"
    )
    size = (640, 320) if width == 1 else (560, 420)
    svg = svg_figure(result.plot_witness, name="witness", alt=alt, width=size[0], height=size[1])
    return "witness", Picture(picture(svg), caption)


def _evidence(result: GoodnessResult) -> tuple[str, Picture]:
    alt = (
        "Map of the evidence against the model: the signal-to-noise ratio of a test at one "
        f"location. {_told_places(result)}"
    )
    stars = " Stars are the locations of the test." if result.places is not None else ""
    caption = f"Where a test that looks at one location would find most.{stars}"
    svg = svg_figure(result.plot_evidence, name="evidence", alt=alt, width=560, height=420)
    return "evidence", Picture(picture(svg), caption)


def _columns_picture(columns: Sequence[MisfitColumn]) -> list[tuple[str, Picture]]:
    """How far the model is off in each column, given the others."""
    if not columns:
        return []
    told = "; ".join(f"{brief(c.name, 40)} {c.misfit.relative:.2g}" for c in columns[:10])
    alt = f"Relative discrepancies of the columns, each given the others: {told}."
    caption = (
        "How far the model is off in each column, given the others: 0 where it is right. Lines are "
        "95% intervals that hold together; red columns have one without zero."
    )
    draw = lambda ax: plot_columns(columns, ax=ax)  # noqa: E731
    height = 90 + 26 * min(len(columns), 15)
    svg = svg_figure(draw, name="columns", alt=alt, height=height)
    return [("columns", Picture(picture(svg), caption))]


def _locations(result: GoodnessResult) -> dict[str, Any] | None:
    """The locations of the test, as rows of a table."""
    if result.places is None:
        return None
    found = result.locations()
    return {
        "columns": list(result.sample.names)[:_SHOWN],
        "rows": [
            {
                "evidence": place.evidence,
                "cells": [figure(v, 5) for v in place.coordinates.values()][:_SHOWN],
            }
            for place in found
        ],
    }


def _told_places(result: GoodnessResult) -> str:
    if result.places is None:
        return ""
    told = "; ".join(str(place) for place in result.locations()[:3])
    return f"Locations of the test: {brief(told, 300)}."


def _telling(result: GoodnessResult, data: Any) -> dict[str, Any]:
    """The rows that add most to the discrepancy, with their values."""
    found = result.points(_TELLING)
    if data is None:
        sample = result.sample
        values = to_numpy(sample.observations)
        places = np.arange(len(values)) if sample.places is None else sample.places
        data = values[np.searchsorted(places, found.indices)]
        data = data if sample.columns is None else Table(data, sample.columns)
    else:
        data = taken(data, found.indices)
    names, rows = cells(data)
    return {
        "columns": names[:_SHOWN],
        "rows": [
            {"place": int(i) + 1, "contribution": float(c), "cells": row[:_SHOWN]}
            for i, c, row in zip(found.indices, found.contributions, rows, strict=True)
        ],
    }


def _facts(result: GoodnessResult, name: str, level: float) -> dict[str, str]:
    return {
        "model": brief(name, 300),
        "test": brief(repr(result.test), 600),
        "null distribution": result.null_in_words(),
        "kernel": brief(repr(result.sample.kernel.kernel), 800),
        "level": f"{level:g}",
        "observations": f"{result.size:,}",
        **versions(),
    }
