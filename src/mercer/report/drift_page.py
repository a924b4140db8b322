"""Report of drift: a timeline of batches against a reference, and the columns that differ in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mercer import validate
from mercer.htest.samples.batch_drift import Batch, DriftResult
from mercer.plot.timeline import drifting_columns
from mercer.report.cells import versions
from mercer.report.in_words import described_test
from mercer.report.page import brief, checked_page
from mercer.report.report_figure import ReportFigure

_BATCHES_LISTED = 400
_COLUMNS_NAMED = 5  # of a batch


def drift_report(
    result: DriftResult,
    *,
    level: float = 0.05,
    facts: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    again: str = "",
) -> str:
    """Report of `drift` as a single HTML page that works offline.

    It shows how many batches differ from the reference and since when, a timeline of how well they are
    told apart, the columns that differ batch by batch, and a table of the batches.

    Parameters
    ----------
    result : DriftResult
    level : float
        False-discovery rate.
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
    >>> from mercer.htest import drift
    >>> rng = np.random.default_rng(0)
    >>> months = {m: rng.normal(s, 1.0, size=(60, 2)) for m, s in [("May", 0), ("June", 1)]}
    >>> page = drift_report(drift(rng.normal(size=(60, 2)), months, name="April", rng=0))
    >>> "1 of 2 batches differs from April" in page
    True
    """
    validate.instance("result", result, DriftResult, "the result of drift")
    drifted = result.drifted(level)
    largest = max(drifted, key=lambda batch: batch.effect.auc, default=None)
    rows = [_row(batch, level) for batch in result.batches[:_BATCHES_LISTED]]
    return checked_page(
        "drift.html",
        {
            "result": result,
            "level": level,
            "drifted": drifted,
            "largest": largest,
            "timeline": _timeline(result, level),
            "columns": _columns_map(result, level) if drifted else None,
            "rows": rows,
            "more_rows": len(result) - len(rows),
            "facts": _facts(result, level) | dict(facts or {}),
            "again": again,
        },
        notes=[*result.cautions(level), *result.notes, *notes],
    )


def _timeline(result: DriftResult, level: float) -> ReportFigure:
    """How well each batch is told from the reference, in the order of the batches."""
    values = "; ".join(
        f"{brief(b.name, 40)} {max(b.effect.auc, 0.5):.0%}{' (different)' if b.corrected <= level else ''}"
        for b in result.batches[:40]
    )
    drifted = any(batch.corrected <= level for batch in result.batches)
    marks = " Batches that differ are red diamonds, the others grey dots." if drifted else ""
    caption = (
        f"How often a classifier tells a row of each batch from a row of {brief(result.reference, 60)}, with "
        f"95% intervals; 50% is guessing, and smaller shares are shown as 50%.{marks}"
    )
    return ReportFigure.drawn(
        lambda ax: result.plot(ax, level=level),
        name="timeline",
        alt=f"Timeline of batches: {values}.",
        caption=caption,
        height=330,
    )


def _columns_map(result: DriftResult, level: float) -> ReportFigure | None:
    """The columns that differ on their own, batch by batch; None where there are none."""
    names, _ = drifting_columns(result, level)
    if not names:
        return None
    listed = "; ".join(
        f"{brief(batch.name, 40)}: {', '.join(brief(c, 30) for c in batch.differing(level)[:5]) or 'none'}"
        for batch in result.drifted(level)[:20]
    )
    caption = (
        "Standardized distance of the columns that differ on their own (p-values corrected for the number of "
        "columns in a batch)."
    )
    return ReportFigure.drawn(
        lambda ax: result.plot_columns(ax, level=level),
        name="columns",
        alt=f"Columns that differ, by batch. {listed}.",
        caption=caption,
        height=210 + 26 * len(names),
    )


def _row(batch: Batch, level: float) -> dict[str, Any]:
    """A row of the table of batches."""
    drifted = batch.corrected <= level
    names = batch.differing(level) if drifted else ()
    more = f" and {len(names) - _COLUMNS_NAMED:,} more" if len(names) > _COLUMNS_NAMED else ""
    return {
        "batch": batch,
        "drifted": drifted,
        "columns": ", ".join(brief(name, 30) for name in names[:_COLUMNS_NAMED]) + more,
    }


def _facts(result: DriftResult, level: float) -> dict[str, str]:
    """Entries of the table of settings."""
    first = result.batches[0].result
    return {
        "test": f"{described_test(first.test)}, {first.null_in_words()}",
        "correction": "Benjamini-Hochberg",
        "false-discovery rate": f"{level:g}",
        "reference": f"{result.reference}, {first.sizes[0]:,} rows",
        **versions(),
    }
