"""Report of a power analysis: the sample size that is needed, and the power by sample size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mercer import validate
from mercer.htest.samples.power import PowerCurve, SampleSize
from mercer.report.cells import versions
from mercer.report.in_words import described_test, settings_in_words
from mercer.report.page import checked_page
from mercer.report.report_figure import ReportFigure


def power_report(
    result: SampleSize | PowerCurve,
    *,
    names: Sequence[str] = ("first sample", "second sample"),
    facts: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    again: str = "",
) -> str:
    """Report of `sample_size` or `power` as a single HTML page that works offline.

    It shows how many rows are needed, the power by sample size as a figure and a table, and the settings.

    Parameters
    ----------
    result : SampleSize or PowerCurve
    names : pair of str
        Names of the samples of the pilot.
    facts : mapping of str to str, optional
        Additional entries of the table of settings.
    notes : sequence of str
        Additional notes; those that start with "Caution:" come first.
    again : str
        Command or code that reproduces the result.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.htest import MMD, sample_size
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(150, 2)), rng.normal(0.5, 1.0, size=(150, 2))
    >>> page = power_report(sample_size(MMD(), x, y, asymptotic=True), names=("before", "after"))
    >>> "rows of each are needed" in page
    True
    """
    kinds: Any = (SampleSize, PowerCurve)
    validate.instance("result", result, kinds, "the result of sample_size or power")
    curve = result.curve if isinstance(result, SampleSize) else result
    needed = result if isinstance(result, SampleSize) else None
    rows = zip(curve.sizes, curve.power, curve.low, curve.high, strict=True)
    return checked_page(
        "power.html",
        {
            "names": (str(names[0]), str(names[1])),
            "needed": needed,
            "curve": curve,
            "rows": sorted(rows, key=lambda row: row[0]),
            "figure_of_power": power_curve_figure(curve, needed),
            "facts": _facts(curve) | dict(facts or {}),
            "again": again,
        },
        notes=notes,
    )


def power_curve_figure(
    curve: PowerCurve, needed: SampleSize | None, caption: str | None = None
) -> ReportFigure:
    """The power by sample size, with the size that is needed."""
    values = ", ".join(
        f"{p:.0%} with {n:,}" for (n, _), p in zip(curve.sizes, curve.power, strict=True)
    )
    if caption is None:
        caption = (
            f"Probability that the test finds a difference like that of the pilot at level {curve.level:g}, by "
            "rows in each sample. The band is the 95% interval given the size of the pilot."
        )
    return ReportFigure.drawn(
        (curve if needed is None else needed).plot,
        name="power",
        alt=f"Power at level {curve.level:g} by rows in each sample: {values}.",
        caption=caption,
        height=280,
    )


def _facts(curve: PowerCurve) -> dict[str, str]:
    """Entries of the table of settings."""
    simulated = bool(curve.error.any())
    return {
        "test": described_test(curve.test),
        "settings of the test": settings_in_words(curve.test),
        "level": f"{curve.level:g}",
        "power by": "simulated studies drawn from the pilot"
        if simulated
        else "an asymptotic formula",
        **versions(),
    }
