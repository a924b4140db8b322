"""What a hypothesis test is: a frozen configuration with a statistic, a test, and a result."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np

from mercer import validate
from mercer.htest.nulls import Bound, Judgement


class HypothesisTest(ABC):
    """A frozen configuration: reusable, printable, comparable. What a call learns, it returns.

    Subclasses name their samples and options: `test(x, y, *, rng=None)` of two samples or variables,
    `test(x, *, rng=None)` of one. (A signature of `*samples: Any, **options: Any` is compatible with
    all of these.)
    """

    @abstractmethod
    def statistic(self, *samples: Any, **options: Any) -> float:
        """The test statistic of these samples."""

    @abstractmethod
    def test(self, *samples: Any, **options: Any) -> Result:
        """The statistic and its p-value; `rng=` seeds whatever is random."""

    def verdict(self, rejected: bool) -> str | None:
        """What a rejection, or none, means in plain words, where it is not what one expects."""
        return None


@dataclass(frozen=True)
class Result:
    """What a test found.

    `pvalue` is the probability, under the null hypothesis, of a statistic at least as large;
    `null` holds draws of the statistic under the null hypothesis, where it was resampled, and
    `law` is its distribution (SciPy's, or one with its methods), where that has a name. Both are
    on the scale of `observed`, which is the statistic, or what the null compares instead of it.
    """

    statistic: float
    pvalue: float
    test: HypothesisTest
    null: np.ndarray = field(repr=False, compare=False)
    notes: tuple[str, ...] = ()
    observed: float | None = field(default=None, repr=False, compare=False, kw_only=True)
    law: Any = field(default=None, repr=False, compare=False, kw_only=True)

    @classmethod
    def judged(
        cls,
        test: HypothesisTest,
        statistic: float,
        judgement: Judgement,
        notes: tuple[str, ...] = (),
        **own: Any,
    ) -> Self:
        """The result of a statistic and what its null says about it; `own` are fields of this kind."""
        return cls(
            float(statistic),
            float(judgement.pvalue),
            test,
            judgement.draws,
            (*notes, *judgement.notes),
            observed=float(judgement.observed),
            law=judgement.law,
            **own,
        )

    def rejects(self, level: float = 0.05) -> bool:
        """Whether the null hypothesis is rejected at this level."""
        validate.between("level", level, 0.0, 1.0)
        return bool(self.pvalue <= level)

    def summary(self, level: float = 0.05) -> str:
        """The verdict in plain words."""
        rejected = self.rejects(level)
        default = f"The null hypothesis is {'rejected' if rejected else 'not rejected'}"
        lines = [
            f"{type(self.test).__name__}: statistic {self.statistic:.4g}, "
            f"p = {self.pvalue:.3g} ({self.null_in_words()}).",
            f"{self.test.verdict(rejected) or default} at level {level:g}.",
            *self.notes,
        ]
        return "\n".join(lines)

    def null_in_words(self) -> str:
        """Where the p-value comes from."""
        if len(self.null):
            return f"{len(self.null):,} resamples"
        if self.law is not None:
            name = getattr(getattr(self.law, "dist", self.law), "name", type(self.law).__name__)
            return f"{_LAWS.get(name, name)} null distribution"
        return "a bound" if self.bounded else "its limiting null distribution"

    @property
    def bounded(self) -> bool:
        """Whether `pvalue` is a bound on the p-value only."""
        return isinstance(getattr(self.test, "null", None), Bound)

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        return {
            "statistic": self.statistic,
            "pvalue": self.pvalue,
            "test": type(self.test).__name__,
            "parameters": described(self.test),
            "null": self.null_in_words(),
            "resamples": len(self.null),
            "notes": list(self.notes),
        }

    def plot(self, ax: Any = None) -> Any:
        """The null distribution with the statistic in it; returns the Axes."""
        return importlib.import_module("mercer.plot").plot_null(self, ax=ax)


_LAWS = {"chi2": "chi-square", "norm": "normal", "gamma": "gamma", "f": "F", "t": "Student's t"}


def described(test: HypothesisTest) -> dict[str, Any]:
    """The parameters of a test by name, as text."""
    return {f.name: repr(getattr(test, f.name)) for f in fields(test)}  # type: ignore[arg-type]


def verdict_line(result: Result, level: float, found: str, nothing: str, caution: str) -> str:
    """One line of a summary: what the p-value means, the p-value, and where it comes from.

    `found` where the null hypothesis is rejected, else `nothing` and, at the end, a `caution`; if the
    test has words of its own, these.
    """
    rejected = result.rejects(level)
    own = result.test.verdict(rejected)
    words = own or (found if rejected else nothing)
    p = f"p {'<=' if result.bounded else '='} {result.pvalue:.3g}"
    how = f"{type(result.test).__name__}, {result.null_in_words()}; level {level:g}"
    line = f"Verdict: {words}, {p} ({how})."
    return line if rejected or own else f"{line} {caution}"
