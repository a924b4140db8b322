"""Report of a two-sample test: verdict, effect size, columns and rows that differ, power, settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mercer import validate
from mercer.htest.samples.attribution import Features
from mercer.htest.samples.mmd import MMD
from mercer.htest.samples.power import SampleSize, power, sample_size
from mercer.htest.samples.two_sample_result import TwoSampleResult
from mercer.report.affordable import MAX_ROWS_FOR_ALL_PAIRS, ranked
from mercer.report.cells import cells, versions
from mercer.report.in_words import described_test, four_digits, kernel_in_words, settings_in_words
from mercer.report.page import page_about
from mercer.report.report_figure import null_figure
from mercer.report.two_sample_figures import (
    compares_objects,
    gram_figure,
    power_figure,
    ranking_figure,
    witness_figures,
)
from mercer.rkhs.sample_rows import taken

_MAX_PILOT_ROWS = 4000  # of each sample: the power curve takes time quadratic in them
_ROWS_LISTED = 5  # of each sample
_COLUMNS_RANKED = 30  # in the table of columns
_COLUMNS_LISTED = 8  # of a row; more do not fit the width of the page
_TARGET_POWER = 0.8  # the customary target of sample-size planning


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
    """Report of a two-sample test as a single HTML page that works offline.

    It shows the verdict, the effect size, the null distribution, the columns and rows that differ
    most, a heat map of the kernel matrix, the power by sample size, and the settings. The page stays
    under 1 MB whatever the size of the samples, contains no scripts, and escapes every string from
    the data.

    Parameters
    ----------
    result : TwoSampleResult
    names : pair of str
        Names of the samples.
    level : float
        Significance level.
    features : Features or None
        Ranking of the columns, or of the features of objects. None: `result.features(rng=0)` if there is more than one column.
    facts : mapping of str to str, optional
        Additional entries of the table of settings.
    notes : sequence of str
        Additional notes.
    again : str
        Command or code that reproduces the result.
    numbered : bool
        Whether to show row numbers; pass False if the samples are subsamples of the data.

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
    labels = str(names[0]), str(names[1])
    features = ranked(result, 0) if features is None else features
    reduced = result.thinned(MAX_ROWS_FOR_ALL_PAIRS)
    columns = _columns(features, level, result)
    kept = reduced.pooled.n, reduced.pooled.m
    quiet = not result.rejects(level) and not columns["differing"]
    return page_about(
        result,
        "two_sample.html",
        {
            "names": labels,
            "effect": reduced.effect(),
            "null": null_figure(result, level, "both samples came from the same distribution"),
            **columns,
            "quiet": quiet,
            "witness": witness_figures(reduced, features, labels),
            "outlying": _outlying(reduced, features, labels),
            "locations": _locations(result),
            "gram": None if quiet else gram_figure(reduced, labels),
            **({"power": None, "needed": None} if quiet else _power(reduced, level)),
            "facts": _facts(result, level) | dict(facts or {}),
            "numbered": numbered and reduced is result,
            "thinned": None if kept == result.sizes else kept,
            "again": again,
        },
        level=level,
        notes=[*notes, *([] if features is None else features.cautions(level))],
    )


def _locations(result: TwoSampleResult) -> list[str]:
    """Locations or frequencies of the test, as text; none for other tests."""
    if not result.has_locations:
        return []
    return [four_digits(str(place)) for place in result.locations()[:_COLUMNS_RANKED]]


def _columns(features: Features | None, level: float, result: TwoSampleResult) -> dict[str, Any]:
    """The ranking of the columns or features of objects, as a table and as a figure."""
    noun = "column"
    if compares_objects(result):
        noun = "feature" if features is None else features.noun
    if features is None:
        empty: dict[str, Any] = {
            "features": [],
            "more_features": 0,
            "differing": (),
            "some_rows": "",
        }
        return {"noun": noun, "alone": "", "ranking": None, **empty}
    number = len(features.differing(level))
    differ = "differs on its own" if number == 1 else "differ on their own"
    return {
        "noun": noun,
        "alone": f"{number:,} of {len(features):,} {noun}s {differ}" if number else "",
        "features": list(features)[:_COLUMNS_RANKED],
        "more_features": max(len(features) - _COLUMNS_RANKED, 0),
        "differing": features.differing(level),
        "some_rows": features.subsample(result.sizes),
        "ranking": ranking_figure(features, level, noun) if features.differing(level) else None,
    }


def _power(result: TwoSampleResult, level: float) -> dict[str, Any]:
    """The power of the quadratic test with this kernel, and the sample size it needs.

    Both are None if the samples do not differ or are weighted, and for pairs, whose power depends on the spread of
    the changes within them.
    """
    samples = result.pooled.samples
    if (
        samples is None
        or result.paired
        or result.pooled.weights is not None
        or result.effect().mmd2 <= 0
    ):
        return {"power": None, "needed": None}
    x, y = (_pilot(sample) for sample in samples)
    test = MMD(result.kernel)
    needed: SampleSize | None = None
    try:
        needed = sample_size(test, x, y, power=_TARGET_POWER, level=level, asymptotic=True)
        curve = needed.curve
    except ValueError:  # more than a hundred thousand rows
        curve = power(test, x, y, level=level, asymptotic=True)
    selected = hasattr(result.test, "kernels")
    return {"power": power_figure(curve, needed, selected), "needed": needed}


def _pilot(sample: Any) -> Any:
    """A random subsample of at most `_MAX_PILOT_ROWS` rows, always the same one."""
    n = len(sample)
    if n <= _MAX_PILOT_ROWS:
        return sample
    return taken(
        sample, np.sort(np.random.default_rng(0).choice(n, _MAX_PILOT_ROWS, replace=False))
    )


def _outlying(
    result: TwoSampleResult, features: Features | None, names: Sequence[str]
) -> list[dict[str, Any]]:
    """For each sample, the table of the rows around which it outweighs the other sample most."""
    points = result.points(_ROWS_LISTED)
    tables = []
    for name, side in zip(names, (points.first, points.second), strict=True):
        columns, rows = cells(side.rows)
        order = list(range(len(columns)))
        if features is not None and len(features) == len(columns):
            rank = {f.name: r for r, f in enumerate(features)}
            order.sort(key=lambda j, c=columns: rank.get(c[j], j))
        order = order[:_COLUMNS_LISTED]
        tables.append(
            {
                "name": name,
                "columns": [columns[j] for j in order],
                "rows": [
                    {"place": int(i) + 1, "witness": float(w), "cells": [row[j] for j in order]}
                    for i, w, row in zip(side.indices, side.witness, rows, strict=True)
                ],
                "omitted": max(len(columns) - _COLUMNS_LISTED, 0),
            }
        )
    return tables


def _facts(result: TwoSampleResult, level: float) -> dict[str, str]:
    """Entries of the table of settings."""
    n, m = result.sizes
    width = result.width
    return {
        "test": described_test(result.test),
        "settings of the test": settings_in_words(result.test),
        "null distribution": result.null_in_words(),
        "kernel": kernel_in_words(result.kernel),
        "level": f"{level:g}",
        "observations": f"{n:,} and {m:,}",
        "columns": "none" if width is None else f"{width:,}",
        **versions(),
    }
