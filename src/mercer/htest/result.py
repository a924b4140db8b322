"""Results of tests: p-value and verdict, and the base of those that explain them by their data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Self

import numpy as np

from mercer import validate
from mercer.frames import rows_frame
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.intervals import EffectSize
from mercer.htest.nulls import Bound, Judgement
from mercer.htest.reportable import Reportable
from mercer.htest.result_rows import summary_table
from mercer.plot import plot_null


@dataclass(frozen=True)
class Result:
    """Statistic, p-value and null distribution of a test.

    `pvalue` is the probability, under the null hypothesis, of a statistic at least as large;
    `null` holds draws of the statistic under the null hypothesis, where it was resampled, and
    `law` is its distribution, with the methods of SciPy's, where that has a name. Both are
    on the scale of `observed`, which is the statistic, or what the null compares instead of it.
    """

    statistic: float
    pvalue: float
    test: HypothesisTest
    null: np.ndarray = field(repr=False, compare=False)
    notes: tuple[str, ...] = ()
    observed: float | None = field(default=None, repr=False, compare=False, kw_only=True)
    law: Any = field(default=None, repr=False, compare=False, kw_only=True)
    level: float = field(
        default=0.05, repr=False, compare=False, kw_only=True
    )  # where none is given

    @classmethod
    def judged(
        cls,
        test: HypothesisTest,
        statistic: float,
        judgement: Judgement,
        notes: tuple[str, ...] = (),
        **data: Any,
    ) -> Self:
        """The result of a statistic and the judgement of its null; `data` are fields of a subclass."""
        return cls(
            float(statistic),
            float(judgement.pvalue),
            test,
            judgement.draws,
            (*notes, *judgement.notes),
            observed=float(judgement.observed),
            law=judgement.law,
            **data,
        )

    def rejects(self, level: float | None = None) -> bool:
        """Whether the null hypothesis is rejected at this level; None: that of the result, 0.05 by default."""
        return bool(self.pvalue <= self._level_or(level))

    def _level_or(self, level: float | None) -> float:
        """A level that was given, checked, or the level of the result."""
        level = self.level if level is None else level
        validate.between("level", level, 0.0, 1.0)
        return level

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return summary_table(type(self.test).__name__, self.summary())

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(
            f"{type(self).__name__} cannot be unpacked: use result.statistic, result.pvalue"
        )

    def to_frame(self) -> Any:
        """One row of a pandas data frame: numbers and texts of `to_dict`, entries of entries joined by dots."""
        return rows_frame(self.to_dict())

    def summary(self, level: float | None = None) -> str:
        """Statistic, p-value and verdict in plain words."""
        level = self._level_or(level)
        rejected = self.rejects(level)
        default = f"The null hypothesis is {'rejected' if rejected else 'not rejected'}"
        lines = [
            f"{type(self.test).__name__}: statistic {self.statistic:.4g}, "
            f"p = {self.pvalue:.3g} ({self.null_in_words()}).",
            f"{self.test.verdict(rejected) or default} at level {level:g}.",
            *self.notes,
        ]
        return cautions_first(lines)

    def null_in_words(self) -> str:
        """Source of the p-value: resamples, a named distribution, or a bound."""
        if len(self.null):
            return f"{len(self.null):,} resamples"
        if self.law is not None:
            name = getattr(self.law, "name", type(self.law).__name__)
            return f"{_LAWS.get(name, name)} null distribution"
        return "a bound" if self.bounded else "its limiting null distribution"

    @property
    def bounded(self) -> bool:
        """Whether `pvalue` is only an upper bound on the p-value."""
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
        """Draw the null distribution with the statistic in it, whatever the test; returns the Axes."""
        return plot_null(self, ax=ax)


class ExplainedResult(Result, Reportable, ABC):
    """A result that keeps its data, to measure the effect and to show where it lies.

    The common base of the results of two-sample, independence and goodness-of-fit tests. The p-value
    comes from all observations; effect, witness and points are computed when they are asked for, over
    all pairs of observations, and `thinned` gives the same result on fewer.
    """

    @abstractmethod
    def effect(self, confidence: float = 0.95) -> EffectSize:
        """Size of the effect, with a confidence interval and without a unit."""

    @abstractmethod
    def witness(self) -> Callable[..., Any]:
        """Function that is large where the data contradict the null hypothesis."""

    @abstractmethod
    def points(self, k: int = 5) -> Any:
        """The `k` observations that contradict the null hypothesis most."""

    @abstractmethod
    def thinned(self, most: int) -> Self:
        """The same verdict with a random subsample of at most `most` observations, always the same."""

    @abstractmethod
    def summary(self, level: float | None = None, *, confidence: float = 0.95) -> str:
        """Question, verdict and size of the effect in plain words."""

    def to_dict(self, *, confidence: float = 0.95) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON; subclasses add the effect at this confidence."""
        return super().to_dict()

    def _report_defaults(self) -> dict[str, Any]:
        return {"level": self.level}


def thinned_rows(size: int, most: int, rng: np.random.Generator | None = None) -> np.ndarray | None:
    """Sorted positions of a random subsample of `most` rows; None where there are no more than that."""
    if size <= most:
        return None
    rng = np.random.default_rng(0) if rng is None else rng
    return np.sort(rng.choice(size, most, replace=False, shuffle=False))


def cautions_first(lines: Iterable[str]) -> str:
    """The lines of a summary; those that say when not to trust the p-value come first."""
    return "\n".join(sorted(lines, key=lambda line: not line.startswith("Caution:")))


_LAWS = {"chi2": "chi-square", "norm": "normal", "gamma": "gamma", "f": "F", "t": "Student's t"}


def described(test: Any) -> dict[str, Any]:
    """The parameters of a test or a method by name, as text."""
    names = [f.name for f in fields(test)] if is_dataclass(test) else []
    return {name: repr(getattr(test, name)) for name in names}


def verdict_line(result: Result, level: float, rejected: str, accepted: str, caution: str) -> str:
    """Verdict, p-value and its source in one line of a summary.

    `rejected` where the null hypothesis is rejected, else `accepted` and, at the end, a `caution`; the
    words of `test.verdict`, where it has any, replace both.
    """
    rejects = result.rejects(level)
    special = result.test.verdict(rejects)
    verdict = special or (rejected if rejects else accepted)
    verdict = verdict[:1].lower() + verdict[1:]
    p = f"p {'<=' if result.bounded else '='} {result.pvalue:.3g}"
    how = f"{type(result.test).__name__}, {result.null_in_words()}; level {level:g}"
    line = f"Verdict: {verdict}, {p} ({how})."
    return line if rejects or special else f"{line} {caution}"
