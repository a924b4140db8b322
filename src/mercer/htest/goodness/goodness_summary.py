"""The result of a goodness-of-fit test in plain words."""

from __future__ import annotations

from typing import Any

from mercer.htest.goodness.misfit import Misfit
from mercer.htest.result import verdict_line

_MOST = 3  # locations told


def told(result: Any, level: float, misfit: Misfit) -> str:
    """What was asked, the verdict, how far the model is off, and where it was looked."""
    lines = [
        _question(result),
        _verdict(result, level),
        f"Size: {how_much(result, misfit)}. Squared discrepancy {misfit.ksd2:.3g}.",
    ]
    if result.places is not None:
        shown = "; ".join(str(place) for place in result.locations()[:_MOST])
        lines.append(f"Where: {shown}.")
    return "\n".join([*lines, *result.notes])


def how_much(result: Any, misfit: Misfit) -> str:
    """The relative discrepancy and a word for it, with an interval where one holds."""
    low, high = misfit.relative_interval
    interval = f" ({misfit.confidence:.0%} interval {low:.2g} to {high:.2g})"
    halves = ", fitted to one half and measured on the other" if result.fitted_here else ""
    return (
        f"relative Stein discrepancy {misfit.relative:.2g}, {misfit.word}"
        f"{interval + halves if result.independent else ''}"
    )


def _question(result: Any) -> str:
    if result.fitted_here:
        return (
            f"Asked: do the {result.size:,} observations come from a model such as "
            f"{result.model_in_words}, which was fitted to them?"
        )
    return f"Asked: do the {result.size:,} observations come from {result.model_in_words}?"


def _verdict(result: Any, level: float) -> str:
    return verdict_line(
        result,
        level,
        "the model does not fit",
        "no misfit was found",
        "This does not show that the model is right.",
    )
