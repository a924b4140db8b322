"""Report of a goodness-of-fit test: verdict, size and location of the misfit, influential rows, settings."""

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
from mercer.htest.goodness.misfit import MisfitColumn
from mercer.plot.goodness import plot_columns
from mercer.report.affordable import MAX_ROWS_FOR_ALL_PAIRS
from mercer.report.cells import cells, versions
from mercer.report.in_words import (
    described_test,
    four_digits,
    kernel_in_words,
    settings_in_words,
)
from mercer.report.page import brief, page_about
from mercer.report.report_figure import ReportFigure, null_figure
from mercer.rkhs.sample_rows import taken

_MAX_ROWS_FOR_FIGURES = 2000  # maps and columns need many kernel values; more rows look the same
_ROWS_LISTED = 8
_COLUMNS_LISTED = 8  # of a row or location; more do not fit the width of the page
_MAX_COLUMNS_TESTED = 40  # each column costs a pass over all pairs of rows


def goodness_report(
    result: GoodnessResult,
    *,
    name: str | None = None,
    model: str | None = None,
    level: float = 0.05,
    data: Any = None,
    facts: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    again: str = "",
    numbered: bool = True,
) -> str:
    """Report of a goodness-of-fit test as a single HTML page that works offline.

    It shows the verdict, the size of the misfit, the null distribution, where the model does not fit
    (the witness for one column, maps for two, a bar chart of the columns for more), the locations of
    the test if it has any, and the rows that contribute most to the discrepancy. The page stays
    under 1 MB whatever the number of observations, contains no scripts, and escapes every string
    from the data.

    Parameters
    ----------
    result : GoodnessResult
    name : str, optional
        Name of the data, such as that of a file (default: "the observations").
    model : str, optional
        Name of the model in the report (default: its repr).
    level : float
        Significance level.
    data : table or array, optional
        The original observations, from which the table of rows is filled (default: the
        observations stored in the result).
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
    >>> from mercer.htest import KSD
    >>> from mercer.rkhs import Gaussian
    >>> p = Gaussian(0.0, 1.0)
    >>> page = goodness_report(KSD(p).test(p.sample(100, rng=0) + 1.0, rng=0))
    >>> "do not come from Gaussian(0, 1)" in page, len(page) < 1_000_000
    (True, True)
    """
    validate.instance("result", result, GoodnessResult, "the result of a goodness-of-fit test")
    reduced = result.thinned(MAX_ROWS_FOR_ALL_PAIRS)
    plotted = result.thinned(_MAX_ROWS_FOR_FIGURES)
    model = result.model_in_words if model is None else model
    columns = plotted.columns() if 1 < result.sample.width <= _MAX_COLUMNS_TESTED else ()
    return page_about(
        result,
        "goodness.html",
        {
            "name": name,
            "model": model,
            "misfit": reduced.effect(),
            "null": null_figure(
                result, level, f"{name or 'the observations'} came from {brief(model, 80)}"
            ),
            "figures": [*_maps(plotted, model), *_columns_figure(columns, result.test.for_series)],
            "columns": columns,
            "locations": _locations(plotted),
            "influential": _influential(reduced, data),
            "facts": _facts(result, model, level) | dict(facts or {}),
            "numbered": numbered,
            "thinned": None if reduced is result else reduced.size,
            "plotted": None if plotted is result else plotted.size,
            "again": again,
        },
        level=level,
        notes=notes,
    )


def _maps(result: GoodnessResult, model: str) -> list[tuple[str, ReportFigure]]:
    """Figures of one or two columns: the witness, and for two columns the evidence map."""
    width = result.sample.width
    if width > 2:
        return []
    figures = [_witness(result, model)] if result.everywhere else []
    return [*figures, _evidence(result)] if width == 2 else figures


def _witness(result: GoodnessResult, model: str) -> tuple[str, ReportFigure]:
    """The Stein witness over the observations."""
    line = result.sample.width == 1
    alt = (
        "Stein witness over the observations: positive where there are more observations than "
        f"{brief(model, 60)} expects, negative where there are fewer."
    )
    caption = (
        "Stein witness: red where there are more observations than the model expects, blue where "
        f"there are fewer. {'Bars' if line else 'Dots'} are observations."
    )
    if log_density_of(result.model) is not None:
        caption += (
            " The dashed line is the density of the model."
            if line
            else " The contour lines enclose 90, 50 and 10 percent of the model's probability."
        )
    height = 260 if line else 360
    report_figure = ReportFigure.drawn(
        result.plot_witness, name="witness", alt=alt, caption=caption, height=height
    )
    return "witness", report_figure


def _evidence(result: GoodnessResult) -> tuple[str, ReportFigure]:
    """The map of the evidence that a test at a single location would give."""
    alt = (
        "Map of the evidence against the model: signal-to-noise ratio of a test at a single "
        f"location. {_locations_as_text(result)}"
    )
    stars = " Stars mark the locations of the test." if result.places is not None else ""
    caption = (
        f"Evidence against the model: signal-to-noise ratio of a test at a single location.{stars}"
    )
    report_figure = ReportFigure.drawn(
        result.plot_evidence, name="evidence", alt=alt, caption=caption, height=360
    )
    return "evidence", report_figure


def _columns_figure(
    columns: Sequence[MisfitColumn], series: bool
) -> list[tuple[str, ReportFigure]]:
    """The misfit of each column given the others."""
    if not columns:
        return []
    values = "; ".join(f"{brief(c.name, 40)} {c.misfit.relative:.2g}" for c in columns[:10])
    alt = f"Relative discrepancy of each column given the others: {values}."
    caption = (
        "Relative discrepancy of each column given the others; 0 means that the model is right. "
        "Lines are simultaneous 95% intervals; columns whose interval excludes 0 are red."
    )
    if series:
        caption = (
            "Relative discrepancy of each column given the others, which chance makes larger than 0, too. There are no "
            "intervals, because rows depend on those before them."
        )
    report_figure = ReportFigure.drawn(
        lambda ax: plot_columns(columns, ax=ax),
        name="columns",
        alt=alt,
        caption=caption,
        height=90 + 26 * min(len(columns), 15),
    )
    return [("columns", report_figure)]


def _locations(result: GoodnessResult) -> dict[str, Any] | None:
    """The table of the locations of the test; None for tests without locations."""
    if result.places is None:
        return None
    return {
        "columns": list(result.sample.names)[:_COLUMNS_LISTED],
        "rows": [
            {
                "evidence": location.evidence,
                "cells": [figure(v, 5) for v in location.coordinates.values()][:_COLUMNS_LISTED],
            }
            for location in result.locations()
        ],
    }


def _locations_as_text(result: GoodnessResult) -> str:
    """The three locations with the most evidence, in a sentence; empty for tests without locations."""
    if result.places is None:
        return ""
    text = "; ".join(str(location) for location in result.locations()[:3])
    return f"Locations of the test: {brief(text, 300)}."


def _influential(result: GoodnessResult, data: Any) -> dict[str, Any]:
    """The table of the rows that contribute most to the discrepancy."""
    points = result.points(_ROWS_LISTED)
    if data is None:
        sample = result.sample
        values = to_numpy(sample.observations)
        places = np.arange(len(values)) if sample.places is None else sample.places
        data = values[np.searchsorted(places, points.indices)]
        data = data if sample.columns is None else Table(data, sample.columns)
    else:
        data = taken(data, points.indices)
    names, rows = cells(data)
    return {
        "columns": names[:_COLUMNS_LISTED],
        "rows": [
            {"place": int(i) + 1, "contribution": float(c), "cells": row[:_COLUMNS_LISTED]}
            for i, c, row in zip(points.indices, points.contributions, rows, strict=True)
        ],
    }


def _facts(result: GoodnessResult, model: str, level: float) -> dict[str, str]:
    """Entries of the table of settings."""
    return {
        "model": brief(four_digits(model), 300),
        "test": described_test(result.test),
        "settings of the test": settings_in_words(result.test),
        "null distribution": result.null_in_words(),
        "kernel": kernel_in_words(result.sample.kernel.kernel),
        "level": f"{level:g}",
        "observations": f"{result.size:,}",
        **versions(),
    }
