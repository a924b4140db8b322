"""Tests of two samples or variables that get one or three: errors that name the test for that many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_VARIABLES = (
    "three or more variables are tested for joint independence by DHSIC().test(x, y, z), every pair of columns of a "
    "data frame by pairwise_independence(frame), and x and y given z by independence(x, y, given=z)"
)
_SAMPLES = "three or more samples are compared by KSample().test(x, y, z), which also takes a kernel, such as Energy()"
_ONE_SAMPLE = (
    "the groups of one table are two samples, such as frame[group == 'A'] and frame[group == 'B']"
)


def other_number(
    where: str, module: str, known: Sequence[str], args: Sequence[Any], given: Mapping[str, Any]
) -> TypeError | None:
    """The error for a call that hands another number of samples than two to a test of x and y, else None.

    `known` are the names of the positional parameters, `args` and `given` what they and the others get.
    """
    own = known[1:] if known[:1] == ["self"] else known
    if own != ["x", "y"]:
        return None
    samples = args[len(known) - len(own) :]
    number = len(samples) + sum(name in given for name in own)
    if number == 2:
        return None
    kind, advice = "samples", _SAMPLES if number > 2 else _ONE_SAMPLE
    if ".dependence." in module:
        kind, advice = "variables", _VARIABLES
    return TypeError(f"{where} takes two {kind}, x and y, got {number}: {advice}")
