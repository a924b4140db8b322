"""The result of an independence test in plain words."""

from __future__ import annotations

from typing import Any

from mercer.htest.dependence.observed_variables import listed
from mercer.htest.dependence.strength import Strength
from mercer.htest.format_number import correlation_word
from mercer.htest.result import verdict_line


def told(result: Any, level: float, strength: Strength | None) -> str:
    """What was asked, the verdict, and how strong the dependence is."""
    lines = [
        f"Asked: {_question(result)} ({result.size:,} observations)",
        _verdict(result, level),
        *([_size(strength)] if strength is not None else []),
        *result.notes,
    ]
    return "\n".join(lines)


def _question(result: Any) -> str:
    names = [variable.described for variable in result.variables]
    own = getattr(result, "question", None)
    if own is not None:
        return own.format(listed(names))
    if result.given:
        *names, given = names
        return f"are {listed(names)} independent given {given}?"
    return f"are {listed(names)} independent?"


def _verdict(result: Any, level: float) -> str:
    more = ", beyond what they share with the given ones" if result.given else ""
    return verdict_line(
        result,
        level,
        f"they depend on each other{more}",
        "no dependence was found",
        "This does not show that they are independent.",
    )


def _size(strength: Strength) -> str:
    low, high = strength.correlation_interval
    word = correlation_word(strength.correlation)
    return (
        f"Size: kernel correlation {strength.correlation:.3g} ({strength.confidence:.0%} interval "
        f"{low:.3g} to {high:.3g}), {word}. HSIC = {strength.hsic:.3g} "
        f"({strength.interval.low:.3g} to {strength.interval.high:.3g})."
    )
