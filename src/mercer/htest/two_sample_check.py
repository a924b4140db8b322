"""Refusal of tests that ask something else than whether two samples differ."""

from __future__ import annotations

from typing import Any

from mercer import validate
from mercer.htest.hypothesis_test import HypothesisTest


def require_two_sample(test: Any, name: str = "test") -> None:
    """Raise if `test` is not a two-sample test; tests of the user's own are trusted."""
    needed = "a two-sample test, such as MMD()"
    validate.instance(name, test, HypothesisTest, needed)
    module = type(test).__module__
    if module.startswith("mercer.") and not module.startswith("mercer.htest.samples."):
        raise TypeError(f"{name} must be {needed}, got {type(test).__name__}")
