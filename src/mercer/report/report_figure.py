"""Figures of a report: an SVG element with its caption, and the figure of the null distribution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mercer.htest.result import Result
from mercer.plot.null import plot_null
from mercer.plot.svg import svg_figure
from mercer.report.page import compared_with_level, safe_svg

PHONE_WIDTH = (
    440  # pixels; on a page of 420 they shrink to 388, and small text of 11.7 pixels to 10.3
)


@dataclass(frozen=True)
class ReportFigure:
    """An SVG element, which has its alternative text inside, and the caption below it."""

    svg: Any
    caption: str
    alt: str = ""
    least_width: int | None = None  # in pixels; narrower pages scroll the figure sideways

    @classmethod
    def drawn(
        cls,
        draw: Callable[[Any], object],
        *,
        name: str,
        alt: str,
        caption: str = "",
        width: float = PHONE_WIDTH,
        height: float = 280,
    ) -> ReportFigure:
        """Draw on the Axes of a new figure; `alt` describes it to those who cannot see it.

        Text of figures wider than `PHONE_WIDTH` would be too small on a telephone: they scroll.
        """
        svg = svg_figure(draw, name=name, alt=alt, width=width, height=height)
        return cls(safe_svg(svg), caption, alt, round(width) if width > PHONE_WIDTH else None)


def null_figure(result: Result, level: float, hypothesis: str) -> ReportFigure | None:
    """Draw the null distribution with the statistic; None where the test has none.

    `hypothesis` states the null hypothesis.
    """
    if not len(result.null) and result.law is None:
        return None
    observed = result.statistic if result.observed is None else result.observed
    alt = (
        f"Null distribution of the {type(result.test).__name__} statistic "
        f"({result.null_in_words()}). The observed value is {observed:.3g}, p = "
        f"{result.pvalue:.3g}."
    )
    caption = (
        f"Distribution of the statistic if {hypothesis}. The area at or beyond the line is the "
        f"p-value, {result.pvalue:.3g}, which is {compared_with_level(result.pvalue, level)}."
    )
    return ReportFigure.drawn(
        lambda ax: plot_null(result, ax=ax, level=level),
        name="null",
        alt=alt,
        caption=caption,
        height=230,
    )
