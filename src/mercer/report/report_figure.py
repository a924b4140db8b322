"""Figures of a report: an SVG element with its caption, and the figure of the null distribution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mercer.htest.result import Result
from mercer.plot.null import plot_null
from mercer.plot.svg import svg_figure
from mercer.report.page import compared_with_level, safe_svg


@dataclass(frozen=True)
class ReportFigure:
    """An SVG element, which has its alternative text inside, and the caption below it."""

    svg: Any
    caption: str
    wide: bool = True

    @classmethod
    def drawn(
        cls,
        draw: Callable[[Any], object],
        *,
        name: str,
        alt: str,
        caption: str = "",
        width: float = 640,
        height: float = 320,
        wide: bool = True,
    ) -> ReportFigure:
        """Draw on the Axes of a new figure; `alt` describes it to those who cannot see it."""
        svg = svg_figure(draw, name=name, alt=alt, width=width, height=height)
        return cls(safe_svg(svg), caption, wide)


def null_figure(result: Result, level: float, hypothesis: str) -> ReportFigure:
    """Draw the null distribution with the statistic; `hypothesis` states the null hypothesis."""
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
        lambda ax: plot_null(result, ax=ax), name="null", alt=alt, caption=caption, height=250
    )
