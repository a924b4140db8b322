"""The report of a two-sample test: verdict, size, where, and how to run it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mercer import validate
from mercer.htest.samples.attribution import Features
from mercer.htest.samples.kernel_names import told_apart
from mercer.htest.samples.mmd import MMD
from mercer.htest.samples.power import PowerCurve, SampleSize, power, sample_size
from mercer.htest.samples.two_sample_result import TwoSampleResult
from mercer.report import two_sample_figures
from mercer.report.affordable import ranked, thinned
from mercer.report.cells import cells, versions
from mercer.report.page import brief, page_about
from mercer.rkhs.sample_rows import taken

_PILOT = 4000  # rows of each sample from which the power curve is drawn
_STANDOUTS = 5
_RANKED = 30  # columns in the table
_SHOWN = 8  # columns of a row that stands out
_POWER = 0.8


def two_sample_report(
    result: TwoSampleResult,
    *,
    names: Sequence[str] = ("first sample", "second sample"),
    level: float = 0.05,
    features: Features | None = None,
    facts: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    again: str = "",
    numbered: bool = True,
) -> str:
    """One HTML page about a two-sample result; it opens without a network.

    The verdict, the effect size, the null distribution, the columns and rows that differ most, a
    heat map of the kernel, the power of larger and smaller samples, and what was run. It stays
    under 1 MB whatever the size of the samples, runs no scripts, and every string from the data
    is escaped.

    Parameters
    ----------
    result : TwoSampleResult
    names : pair of str
        What the samples are called.
    level : float
    features : Features or None
        None: `result.features(rng=0)` where there is more than one column.
    facts : mapping of str to str, optional
        More lines for the table of what was run.
    notes : sequence of str
        More remarks.
    again : str
        The command or the code that runs it again.
    numbered : bool
        Whether to give the places of the rows that stand out; not where the result is of some
        rows of the data only.

    Returns
    -------
    str

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(100, 2)), rng.normal(0.5, 1.0, size=(100, 2))
    >>> page = two_sample_report(MMD().test(x, y, rng=0), names=("before", "after"))
    >>> "before and after: they differ" in page, len(page) < 1_000_000
    (True, True)
    """
    validate.instance("result", result, TwoSampleResult, "the result of a two-sample test")
    first, second = (str(name) for name in names)
    features = ranked(result, 0) if features is None else features
    some = thinned(result)
    effect = some.effect()
    curve, needed = _power(some, level)
    return page_about(
        result,
        "two_sample.html",
        {
            "names": (first, second),
            "effect": effect,
            "null": two_sample_figures.null_picture(
                result, level, "both samples came from one distribution"
            ),
            "features": [] if features is None else list(features)[:_RANKED],
            "more_features": 0 if features is None else max(len(features) - _RANKED, 0),
            "differing": () if features is None else features.differing(level),
            "ranking": None
            if features is None
            else two_sample_figures.ranking_picture(features, level),
            "witness": two_sample_figures.witness_pictures(some, features, (first, second)),
            "standouts": _standouts(some, features, (first, second)),
            "locations": [str(place) for place in result.locations()[:_RANKED]]
            if result.has_locations
            else [],
            "gram": two_sample_figures.gram_picture(some, (first, second)),
            "power": None
            if curve is None
            else two_sample_figures.power_picture(curve, needed, hasattr(result.test, "kernels")),
            "needed": needed,
            "facts": _facts(result, level) | dict(facts or {}),
            "numbered": numbered and some is result,
            "thinned": None if some is result else some.sizes,
            "again": again,
        },
        level=level,
        notes=notes,
    )


def _power(result: TwoSampleResult, level: float) -> tuple[PowerCurve | None, SampleSize | None]:
    """The power of the quadratic test with this kernel; None where the samples do not differ."""
    samples = result.pooled.samples
    if samples is None or result.pooled.weights is not None or result.effect().mmd2 <= 0:
        return None, None
    x, y = (_pilot(sample) for sample in samples)
    test = MMD(result.kernel)
    try:
        needed = sample_size(test, x, y, power=_POWER, level=level, asymptotic=True)
    except ValueError:  # more than a hundred thousand rows
        return power(test, x, y, level=level, asymptotic=True), None
    return needed.curve, needed


def _pilot(sample: Any) -> Any:
    n = len(sample)
    if n <= _PILOT:
        return sample
    return taken(sample, np.sort(np.random.default_rng(0).choice(n, _PILOT, replace=False)))


def _standouts(
    result: TwoSampleResult, features: Features | None, names: Sequence[str]
) -> list[dict[str, Any]]:
    """The rows of each sample that are least like the other one."""
    found = result.points(_STANDOUTS)
    tables = []
    for name, side in zip(names, (found.first, found.second), strict=True):
        columns, rows = cells(side.rows)
        order = list(range(len(columns)))
        if features is not None and len(features) == len(columns):
            rank = {f.name: r for r, f in enumerate(features)}
            order.sort(key=lambda j, c=columns: rank.get(c[j], j))
        order = order[:_SHOWN]
        tables.append(
            {
                "name": name,
                "columns": [columns[j] for j in order],
                "rows": [
                    {"place": int(i) + 1, "witness": float(w), "cells": [row[j] for j in order]}
                    for i, w, row in zip(side.indices, side.witness, rows, strict=True)
                ],
                "left_out": max(len(columns) - _SHOWN, 0),
            }
        )
    return tables


def _facts(result: TwoSampleResult, level: float) -> dict[str, str]:
    n, m = result.sizes
    width = result.width
    return {
        "test": brief(repr(result.test), 600),
        "null distribution": result.null_in_words(),
        "kernel": brief(told_apart([result.kernel], 0), 1200),
        "level": f"{level:g}",
        "observations": f"{n:,} and {m:,}",
        "columns": "none" if width is None else f"{width:,}",
        **versions(),
    }
