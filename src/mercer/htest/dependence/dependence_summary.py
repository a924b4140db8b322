"""Summary of an independence test in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer.htest.dependence.strength import Strength
from mercer.htest.explained_variation import VariationExplained
from mercer.htest.result import cautions_first, verdict_line
from mercer.rkhs.paired_samples import listed

if TYPE_CHECKING:
    from mercer.htest.dependence.dependence_result import IndependenceResult


def independence_summary(
    result: IndependenceResult, level: float, strength: VariationExplained | None
) -> str:
    """The question, the verdict, and the strength of the dependence.

    Where effects of z cannot be told from those of x, no strength is stated: a note says why.
    """
    diagnosis = getattr(result, "diagnosis", None)
    if diagnosis is not None and not diagnosis.trusted:
        strength = None
    lines = [
        *result.cautions,
        f"Asked: {_question(result)} ({result.size:,} observations)",
        _verdict(result, level),
        *([_strength_line(strength)] if strength is not None else []),
        *result.notes,
    ]
    return cautions_first(lines)


def _question(result: IndependenceResult) -> str:
    names = [variable.described for variable in result.variables]
    if result.question is not None:
        return result.question.format(listed(names))
    if result.given:
        return f"are {listed(names[:-1])} independent given {names[-1]}?"
    return f"are {listed(names)} independent?"


def _verdict(result: IndependenceResult, level: float) -> str:
    more = ", beyond what they share with the given ones" if result.given else ""
    return verdict_line(
        result,
        level,
        f"they depend on each other{more}",
        "no dependence was found",
        "This does not show that they are independent.",
    )


def _strength_line(strength: VariationExplained) -> str:
    if not isinstance(strength, Strength):
        return f"Size: {strength.sentence()}."
    low, high = strength.correlation_interval
    if not strength.bounded:
        return (
            f"Size: {strength.sentence()}. With the kernels of the test, the correlation is "
            f"{strength.correlation:.3g}, without an interval: so few observations exclude no correlation from 0 to 1."
        )
    return (
        f"Size: {strength.sentence()}. With the kernels of the test, the correlation is "
        f"{strength.correlation:.3g} ({100 * strength.confidence:g}% interval {low:.3g} to {high:.3g}), and "
        f"HSIC = {strength.hsic:.3g} ({strength.interval.low:.3g} to {strength.interval.high:.3g})."
    )
