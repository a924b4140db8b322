"""Figures of a two-sample report, each with an alternative text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.gram import Gram
from mercer.htest.samples.attribution import Features
from mercer.htest.samples.power import PowerCurve, SampleSize
from mercer.htest.samples.two_sample_result import TwoSampleResult
from mercer.plot.histograms import plot_histograms
from mercer.plot.kernel_matrix import plot_gram
from mercer.report.page import brief
from mercer.report.power_page import power_curve_figure
from mercer.report.report_figure import ReportFigure
from mercer.rkhs.sample_rows import taken

_WITNESS_COLUMNS = 4  # columns along which the samples are drawn: two rows of two figures
_COLUMNS_RANKED = 15  # bars of the ranking; the table below it lists more
_ROWS_IN_HEAT_MAP = 80  # of each sample; more are smaller than a pixel
_LEGEND_CHARACTERS = 24  # of a sample's name; longer names cover the curves


def compares_objects(result: TwoSampleResult) -> bool:
    """Whether the points are objects, such as strings, whose features are not columns of a table."""
    return result.pooled.kernel.takes_objects()


def ranking_figure(features: Features, level: float, noun: str = "column") -> ReportFigure:
    """Draw the standardized distance of each column, or of each feature of objects."""
    shown = sorted(features, key=lambda f: -f.standardized)[:_COLUMNS_RANKED]
    values = "; ".join(
        f"{brief(f.name, 40)} {f.standardized:.2g} (p = {f.adjusted:.2g})" for f in shown
    )
    return ReportFigure.drawn(
        lambda ax: features.plot(ax, level=level, most=_COLUMNS_RANKED),
        name="ranking",
        alt=f"Standardized distance of each {noun}, with corrected p-values: {values}.",
        caption=(
            f"Difference of each {noun} on its own. P-values are corrected for the number of {noun}s. "
            "A difference in the joint distribution only does not show here."
        ),
        height=90 + 26 * len(shown),
    )


def witness_figures(
    result: TwoSampleResult, features: Features | None, names: Sequence[str]
) -> list[ReportFigure]:
    """Draw both samples along the columns that differ most; the gap between the curves is the witness."""
    if compares_objects(result):
        return [_witness_of_objects(result, names)]
    shown = [None] if features is None else list(features)[:_WITNESS_COLUMNS]
    positions = _positions(result)
    figures = []
    for number, feature in enumerate(shown):
        column = None if feature is None else positions[feature.name]
        alt = f"Both samples along {'the data' if feature is None else brief(feature.name, 60)}"
        if feature is not None:
            alt += f": {brief(feature.describe(), 200)}"

        def draw(ax: Any, column: Any = column, feature: Any = feature) -> None:
            result.plot_witness(column, ax)
            if feature is not None and not feature.categorical:
                values = _values(result, column)
                plot_histograms(*values, ax=ax, height=0.9 * ax.get_ylim()[1])
                ax.set_xlabel(brief(feature.name, 40))
            _name_samples(ax, names)

        figures.append(ReportFigure.drawn(draw, name=f"along{number}", alt=f"{alt}.", height=280))
    return figures


def _witness_of_objects(result: TwoSampleResult, names: Sequence[str]) -> ReportFigure:
    """Draw histograms of the witness at the objects of both samples."""
    points = result.points(max(result.pooled.n, result.pooled.m))
    values = points.first.witness, points.second.witness
    labels = [brief(name, _LEGEND_CHARACTERS) for name in names]

    def draw(ax: Any) -> None:
        plot_histograms(*values, ax=ax, height=1.0)
        ax.set(xlabel="witness", yticks=[])

    alt = (
        f"Histograms of the witness function at the objects of both samples: mean {values[0].mean():.3g} for "
        f"{labels[0]} and {values[1].mean():.3g} for {labels[1]}."
    )
    return ReportFigure.drawn(draw, name="along0", alt=alt, width=460, height=280)


def gram_figure(result: TwoSampleResult, names: Sequence[str]) -> ReportFigure:
    """Draw the kernel matrix of a subset of both samples, sorted by the witness."""
    n, m = result.pooled.n, result.pooled.m
    rows = [_spread(n), _spread(m)]
    subset = np.concatenate([rows[0], n + rows[1]])
    matrix = Gram(result.pooled.kernel, taken(result.pooled.points, subset))
    order = _witness_ranks(result, subset)
    sizes = [len(r) for r in rows]
    labels = [brief(name, _LEGEND_CHARACTERS) for name in names]
    (first, second), between = _means(matrix, sizes[0])
    alt = (
        f"Heat map of the kernel matrix of {sizes[0]} rows of {labels[0]} and {sizes[1]} rows of "
        f"{labels[1]}: mean {first:.3g} within the first, {second:.3g} within the second and "
        f"{between:.3g} between them."
    )
    caption = (
        f"Similarity of rows ({sizes[0] + sizes[1]} of {n + m:,}), sorted by the witness. The mean "
        f"is {first:.3g} within the first sample, {second:.3g} within the second and {between:.3g} "
        "between them. The squared MMD is the sum of the first two less twice the third."
    )
    return ReportFigure.drawn(
        lambda ax: plot_gram(matrix, ax=ax, sizes=sizes, names=labels, order=order),
        name="gram",
        alt=alt,
        caption=caption,
        height=370,
    )


def power_figure(curve: PowerCurve, needed: SampleSize | None, selected: bool) -> ReportFigure:
    """Draw the power by sample size; `selected` says that the kernel was selected on the same data."""
    caption = (
        "Probability that a test detects a difference of this size, by rows in each sample "
        f"(quadratic MMD test at level {curve.level:g}, normal approximation). The band is the 95% "
        "interval given the uncertainty about the size of the difference."
    )
    if selected:
        caption += " The kernel was selected on the same data, so the curve is slightly optimistic."
    return power_curve_figure(curve, needed, caption)


def _positions(result: TwoSampleResult) -> dict[str, int]:
    """Positions of the columns by name; columns of arrays have two names."""
    columns, width = result.pooled.columns, result.width or 0
    if columns is not None:
        return {name: j for j, name in enumerate(columns.names)}
    return {f"column {j}": j for j in range(width)} | {f"x{j + 1}": j for j in range(width)}


def _values(result: TwoSampleResult, column: int) -> tuple[np.ndarray, np.ndarray]:
    """Values of a column in both samples."""
    points = to_numpy(result.pooled.unmoved)
    first = result.pooled.n  # fewer than the sample has, if it was read part by part
    return points[:first, column], points[first:, column]


def _name_samples(ax: Any, names: Sequence[str]) -> None:
    """Put the names of the samples into the legend."""
    legend = ax.get_legend()
    texts = [] if legend is None else legend.get_texts()
    if len(texts) == 2:
        for text, name in zip(texts, names, strict=True):
            text.set(text=brief(name, _LEGEND_CHARACTERS), parse_math=False)


def _spread(n: int) -> np.ndarray:
    """Positions of at most `_ROWS_IN_HEAT_MAP` rows, evenly spaced in a sample."""
    return np.unique(np.linspace(0, n - 1, min(n, _ROWS_IN_HEAT_MAP)).round().astype(np.int64))


def _witness_ranks(result: TwoSampleResult, rows: np.ndarray) -> np.ndarray:
    """Ranks of rows of the pooled sample by the witness within their sample."""
    n, m = result.pooled.n, result.pooled.m
    ranked, kept = result.points(max(n, m)), result.pooled.rows
    first, second = ranked.first.indices, ranked.second.indices
    if kept is not None:
        first, second = np.searchsorted(kept.first, first), np.searchsorted(kept.second, second)
    ranks = np.empty(n + m, dtype=np.float64)
    ranks[first] = np.arange(n)
    ranks[n + second] = m - np.arange(m)  # the most different rows are far apart
    return ranks[rows]


def _means(matrix: Gram, n: int) -> tuple[tuple[float, float], float]:
    """Mean kernel values within each sample, without the diagonal, and between the samples."""
    k = np.asarray(matrix.dense(), dtype=np.float64)
    off = k - np.diag(np.diag(k))
    m = len(k) - n
    first = off[:n, :n].sum() / max(n * (n - 1), 1)
    second = off[n:, n:].sum() / max(m * (m - 1), 1)
    return (float(first), float(second)), float(k[:n, n:].mean())
