"""The pictures of a two-sample report, each with a text for those who cannot see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.gram import Gram
from mercer.htest.hypothesis_test import Result
from mercer.htest.samples.attribution import Features
from mercer.htest.samples.power import PowerCurve, SampleSize
from mercer.htest.samples.two_sample_result import TwoSampleResult
from mercer.plot.histograms import plot_histograms
from mercer.plot.kernel_matrix import plot_gram
from mercer.plot.null import plot_null
from mercer.plot.svg import svg_figure
from mercer.report.page import brief, picture
from mercer.rkhs.sample_rows import taken

_COLUMNS = 4  # along which the witness is shown
_BARS = 15  # columns in the ranking
_ROWS = 80  # of each sample in the heat map
_LEGEND = 24  # letters of a sample's name in a picture


@dataclass(frozen=True)
class Picture:
    """An SVG element, what it shows, and how it is read."""

    svg: Any
    caption: str
    wide: bool = True


def null_picture(result: Result, level: float, null: str) -> Picture:
    """The null distribution with the statistic in it; `null` says what would be so."""
    alt = (
        f"Null distribution of {type(result.test).__name__}, from {result.null_in_words()}; the "
        f"observed value {_observed(result):.3g} has p = {result.pvalue:.3g}."
    )
    caption = (
        f"What the statistic would be if {null}. The part at or beyond the line is "
        f"the p-value: {result.pvalue:.3g}, "
        f"{'not above' if result.rejects(level) else 'above'} the level {level:g}."
    )
    draw = lambda ax: plot_null(result, ax=ax)  # noqa: E731
    return Picture(picture(svg_figure(draw, name="null", alt=alt, height=250)), caption)


def ranking_picture(features: Features, level: float) -> Picture:
    """The columns by how much they differ."""
    shown = sorted(features, key=lambda f: -f.standardized)[:_BARS]
    told = "; ".join(
        f"{brief(f.name, 40)} {f.standardized:.2g} (p = {f.adjusted:.2g})" for f in shown
    )
    alt = f"Columns by standardized distance, corrected p-values in brackets: {told}."
    caption = (
        "How much each column differs by itself. P-values are corrected for the number of columns; "
        "what differs only in how columns go together is in none of them."
    )
    draw = lambda ax: features.plot(ax, level=level, most=_BARS)  # noqa: E731
    height = 90 + 26 * len(shown)
    return Picture(picture(svg_figure(draw, name="ranking", alt=alt, height=height)), caption)


def witness_pictures(
    result: TwoSampleResult, features: Features | None, names: Sequence[str]
) -> list[Picture]:
    """Both samples along the columns that differ most; the gap between the lines is the witness."""
    shown = [None] if features is None else list(features)[:_COLUMNS]
    positions = _positions(result)
    found = []
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
            _renamed(ax, names)

        svg = svg_figure(draw, name=f"along{number}", alt=f"{alt}.", width=460, height=280)
        found.append(Picture(picture(svg), "", wide=False))
    return found


def gram_picture(result: TwoSampleResult, names: Sequence[str]) -> Picture:
    """The kernel matrix of some rows of both samples, sorted by the witness."""
    pooled = result.pooled
    n, m = result.sizes
    rows = [_spread(n), _spread(m)]
    chosen = np.concatenate([rows[0], n + rows[1]])
    matrix = Gram(pooled.kernel, taken(pooled.points, chosen))
    order = _witness_at(result, chosen)
    sizes = [len(r) for r in rows]
    short = [brief(name, _LEGEND) for name in names]
    within, between = _means(matrix, sizes[0])
    alt = (
        f"Heat map of the kernel between {sizes[0]} rows of {short[0]} and {sizes[1]} of "
        f"{short[1]}: on average {within[0]:.3g} within the first, {within[1]:.3g} within the "
        f"second and {between:.3g} between them."
    )
    caption = (
        f"How alike rows are, {sizes[0] + sizes[1]} of {n + m:,} shown, in the order of the "
        f"witness. Of these on average {within[0]:.3g} within the first sample, {within[1]:.3g} within the "
        f"second, {between:.3g} between them: the squared MMD is the sum of the first two less "
        "twice the third."
    )

    def draw(ax: Any) -> None:
        plot_gram(matrix, ax=ax, sizes=sizes, names=short, order=order)

    svg = svg_figure(draw, name="gram", alt=alt, width=460, height=380)
    return Picture(picture(svg), caption, wide=False)


def power_picture(curve: PowerCurve, needed: SampleSize | None, picked: bool) -> Picture:
    """The chance of finding a difference like this one, by sample size."""
    told = ", ".join(
        f"{p:.0%} with {n:,}" for (n, _), p in zip(curve.sizes, curve.power, strict=True)
    )
    alt = f"Power at level {curve.level:g} by rows in each sample: {told}."
    caption = (
        "The chance that a test of samples this large finds a difference like this one "
        f"(level {curve.level:g}, quadratic MMD test, normal approximation). The band is what the "
        "data leave open about the size of the difference."
    )
    if picked:
        caption += " The kernel was picked on the same data, which makes it a little optimistic."
    drawn = curve if needed is None else needed
    draw = lambda ax: drawn.plot(ax)  # noqa: E731
    return Picture(picture(svg_figure(draw, name="power", alt=alt, height=280)), caption)


# ---- private ------------------------------------------------------------------------------


def _observed(result: Result) -> float:
    return result.statistic if result.observed is None else result.observed


def _positions(result: TwoSampleResult) -> dict[str, int]:
    """Columns of arrays by their place, whatever they are called on the page."""
    columns, width = result.pooled.columns, result.width or 0
    if columns is not None:
        return {name: j for j, name in enumerate(columns.names)}
    return {f"column {j}": j for j in range(width)} | {f"x{j + 1}": j for j in range(width)}


def _values(result: TwoSampleResult, column: int) -> tuple[np.ndarray, np.ndarray]:
    """One column of both samples."""
    points = to_numpy(result.pooled.unmoved)
    return points[: result.sizes[0], column], points[result.sizes[0] :, column]


def _renamed(ax: Any, names: Sequence[str]) -> None:
    legend = ax.get_legend()
    texts = [] if legend is None else legend.get_texts()
    if len(texts) == 2:
        for text, name in zip(texts, names, strict=True):
            text.set(text=brief(name, _LEGEND), fontsize="small", parse_math=False)


def _spread(n: int) -> np.ndarray:
    """Rows spread evenly over a sample."""
    return np.unique(np.linspace(0, n - 1, min(n, _ROWS)).round().astype(np.int64))


def _witness_at(result: TwoSampleResult, rows: np.ndarray) -> np.ndarray:
    """Ranks by the witness, of these rows of the pooled sample."""
    n, m = result.sizes
    ranked = result.points(max(n, m))
    ranks = np.empty(n + m, dtype=np.float64)
    ranks[ranked.first.indices] = np.arange(n)
    ranks[n + ranked.second.indices] = m - np.arange(m)  # the most telling rows are far apart
    return ranks[rows]


def _means(matrix: Gram, n: int) -> tuple[tuple[float, float], float]:
    k = np.asarray(matrix.dense(), dtype=np.float64)
    off = k - np.diag(np.diag(k))
    m = len(k) - n
    first = off[:n, :n].sum() / max(n * (n - 1), 1)
    second = off[n:, n:].sum() / max(m * (m - 1), 1)
    return (float(first), float(second)), float(k[:n, n:].mean())
