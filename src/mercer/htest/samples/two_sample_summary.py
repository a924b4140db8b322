"""Summary of a two-sample result in plain words."""

from __future__ import annotations

from math import isinf
from typing import Any

from mercer.htest.result import cautions_first, verdict_line
from mercer.htest.samples.attribution import Feature, Features
from mercer.htest.samples.effect import Effect

_COLUMNS_NAMED = 5  # columns or locations that a summary lists


def told(result: Any, level: float, effect: Effect, features: Features | None) -> str:
    """Question, verdict, size of the difference, columns, locations and notes, a line each."""
    lines = [
        *result.cautions,
        _question(result),
        _verdict(result, level, features),
        _size(effect),
        *(features.cautions(level) if features is not None else ()),
        *([_columns(features, result, level)] if features is not None else []),
        *_locations(result),
        *result.notes,
    ]
    return cautions_first(lines)


def _question(result: Any) -> str:
    n, m = result.sizes
    width = result.width
    of = "" if width is None else f" of {_counted(width, 'column')}"
    weighted = ", weighted" if result.pooled.weights is not None else ""
    return (
        f"Asked: do two samples ({n:,} and {m:,} observations{of}{weighted}) come from the same "
        "distribution?"
    )


def _verdict(result: Any, level: float, features: Features | None) -> str:
    number = 0 if features is None else len(features.differing(level))
    differ = "differs on its own" if number == 1 else "differ on their own"
    noun = "column" if features is None else features.noun
    together = f" in all {noun}s together, but {_counted(number, noun)} {differ}"
    return verdict_line(
        result,
        level,
        "they differ",
        f"no difference was found{together if number else ''}",
        "This does not show that they are the same: see the interval below, or test for it with "
        "Equivalence(margin).",
    )


def _size(effect: Effect) -> str:
    sure = f"{100 * effect.confidence:g}% interval"
    if isinf(effect.standardized):
        return (
            f"Size: {effect.sentence()}. MMD^2 = {effect.mmd2:.3g}; each sample is constant, so there is "
            "no spread."
        )
    low, high = effect.standardized_interval
    return (
        f"Size: {effect.sentence()}. With the kernel of the test, the standardized distance is "
        f"{effect.standardized:.3g} ({sure} {low:.3g} to {high:.3g}), and MMD^2 = {effect.mmd2:.3g} "
        f"({effect.interval.low:.3g} to {effect.interval.high:.3g})."
    )


def _columns(features: Features, result: Any, level: float) -> str:
    some = features.subsample(result.sizes)
    among = f" among {some}" if some else ""
    differing = features.differing(level)
    by = type(features.correction).__name__
    title = f"{features.noun.capitalize()}s"
    if differing:
        named = "; ".join(_named(f) for f in differing[:_COLUMNS_NAMED])
        more = (
            f"; and {len(differing) - _COLUMNS_NAMED} more"
            if len(differing) > _COLUMNS_NAMED
            else ""
        )
        differ = "differs by itself" if len(differing) == 1 else "differ by themselves"
        return (
            f"{title}: {len(differing)} of {len(features)} {differ}{among} (p-values corrected by {by}): "
            f"{named}{more}."
        )
    alone = (
        f"{title}: none of {len(features)} differs by itself{among} (p-values corrected by {by})"
    )
    if result.rejects(level) and some:
        return f"{alone}: the difference is in the dependence between {features.noun}s, or too small for so few rows."
    if result.rejects(level):
        return f"{alone}: the difference is in the dependence between {features.noun}s, or spread too thinly over them."
    return f"{alone}."


def _named(feature: Feature) -> str:
    return f"{feature.name} ({feature.describe()}; p = {feature.adjusted:.2g})"


def _locations(result: Any) -> list[str]:
    if not result.has_locations:
        return []
    return ["Compared at:", *(f"  {place}" for place in result.locations()[:_COLUMNS_NAMED])]


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
