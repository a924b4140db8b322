"""Assertion for test suites: two samples come from the same distribution."""

from __future__ import annotations

from typing import Any

from mercer import validate
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.samples.two_sample import two_sample

__all__ = ["assert_same_distribution"]


def __dir__() -> list[str]:
    return __all__


def assert_same_distribution(
    a: Any,
    b: Any,
    *,
    test: HypothesisTest | None = None,
    level: float = 0.01,
    min_effect: float = 0.5,
    rng: Any = 0,
) -> None:
    """Assert that two samples come from the same distribution, for tests of generators and pipelines.

    At level 0.01 one in a hundred pairs of samples from the same distribution fails: fix the
    seeds of the code under test, so that a test that passes once always passes. Passing does not
    prove that the distributions are equal; for that use `mercer.htest.Equivalence`.

    Parameters
    ----------
    a, b : samples
        Arrays, tensors or data frames; rows are observations.
    test : HypothesisTest or None
        Test to use; None: `mercer.two_sample` chooses one.
    level : float
        Significance level, the probability of a false alarm.
    min_effect : float
        How often a classifier must tell the samples apart to fail, between 0.5 (a guess) and 1: large
        samples show differences that do not matter.
    rng : int, Generator or None

    Raises
    ------
    AssertionError
        If the test rejects, with the verdict, the effect size and the columns that differ.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.testing import assert_same_distribution
    >>> rng = np.random.default_rng(0)
    >>> assert_same_distribution(rng.normal(size=(200, 3)), rng.normal(size=(150, 3)))
    >>> assert_same_distribution(rng.normal(size=200), rng.exponential(size=200))
    Traceback (most recent call last):
    AssertionError: the samples differ...
    """
    __tracebackhide__ = True  # pytest shows the caller's line
    validate.between("level", level, 0.0, 1.0)
    if not 0.5 <= min_effect <= 1:
        raise ValueError(
            "min_effect must be between 0.5 (a classifier that guesses) and 1 (one that is never wrong), "
            f"got {min_effect!r}"
        )
    if test is not None:
        validate.instance("test", test, HypothesisTest, "a two-sample test or None")
    result = two_sample(a, b, rng=rng) if test is None else test.test(a, b, rng=rng)
    if not result.rejects(level):
        return
    effect = getattr(result, "effect", None)
    if effect is None or min_effect == 0.5 or not effect().unitless < min_effect:
        raise AssertionError(f"the samples differ\n{result.summary(level)}")
