"""The test that the arguments of `two_sample`, `independence` and `goodness_of_fit` ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from mercer import validate
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.result import Result
from mercer.kernels.base import Kernel

ResultType = TypeVar("ResultType", bound=Result)


def asked_test(
    test: Any, kernel: Any, by_kernel: Callable[[Kernel], HypothesisTest], example: str
) -> HypothesisTest | None:
    """The test that was given, or that of the kernel that was given; None: it is to be chosen."""
    if test is not None:
        validate.instance("test", test, HypothesisTest, f"a test, such as {example}, or None")
        if kernel is not None:
            raise ValueError(
                f"test and kernel cannot be used together: give the kernel to the test, as in {example}"
            )
        return test
    if kernel is None:
        return None
    check_kernel(kernel)
    return by_kernel(kernel)


def check_kernel(kernel: Any) -> None:
    """Raise TypeError unless `kernel` is a kernel of mercer."""
    validate.instance("kernel", kernel, Kernel, "a kernel, such as RBF(1.0), or None")


def with_resamples(test: HypothesisTest, resamples: int | None) -> Any:
    """The test with so many resamples of its null distribution; None: as it is."""
    if resamples is None:
        return test
    validate.whole("resamples", resamples)
    null: Any = getattr(test, "null", None)
    if _has(null, "resamples"):
        return replace(test, null=replace(null, resamples=resamples))  # type: ignore[type-var]
    if _has(test, "resamples"):
        return replace(test, resamples=resamples)  # type: ignore[type-var]
    raise ValueError(
        f"{type(test).__name__} draws no resamples, its null distribution is known: leave out resamples"
    )


def at_level(result: ResultType, level: float) -> ResultType:
    """The result, whose verdicts are at this level where no other is given."""
    validate.between("level", level, 0.0, 1.0)
    return result if level == result.level else replace(result, level=level)


def _has(thing: Any, name: str) -> bool:
    return is_dataclass(thing) and name in {field.name for field in fields(thing)}
