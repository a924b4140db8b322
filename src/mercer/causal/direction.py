"""Cause or effect? The direction between two variables, by a method of choice."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import detached, to_numpy
from mercer.causal.penalised_spline import standardized
from mercer.frames import rows_frame
from mercer.htest.result import described
from mercer.htest.result_rows import summary_table
from mercer.kernels.prepare import read
from mercer.kernels.radial import VECTOR_KERNEL

_MIN_ROWS = 20  # observations; fewer do not support a regression and a test of its residuals


@dataclass(frozen=True)
class Verdict:
    """What a method says about a pair: a direction or None, scores of both directions, and why."""

    forward: bool | None  # True: x causes y; False: y causes x; None: the method abstains
    scores: dict[str, float]
    reason: str


class DirectionMethod(ABC):
    """A rule that says which of two variables causes the other, or abstains."""

    @abstractmethod
    def judge(self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Verdict:
        """The verdict about two standardized variables of numbers: (n,) each."""


@dataclass(frozen=True)
class DirectionResult:
    """Direction between two variables, with the scores it was decided by.

    Attributes
    ----------
    direction : str or None
        "x -> y", "y -> x", or None where the method abstains; names of columns replace x and y.
    scores : dict
        What the method compared, by name.
    reason : str
        The comparison in words.
    method : DirectionMethod
    size : int
        Number of observations.
    """

    direction: str | None
    scores: dict[str, float] = field(repr=False)
    reason: str = field(repr=False)
    method: DirectionMethod
    size: int
    names: tuple[str, str] = ("x", "y")

    @property
    def abstains(self) -> bool:
        """Whether the method leaves the direction open."""
        return self.direction is None

    def summary(self) -> str:
        """Question, verdict and its reason in plain words."""
        x, y = self.names
        verdict = "the method abstains" if self.abstains else self.direction
        condition = "This holds if one of them causes the other and nothing else causes both; no experiment was made."
        if self.abstains:
            condition = (
                "Methods abstain from pairs that do not depend on each other, too: whether these do, "
                f"independence({x}, {y}) tells."
            )
        return "\n".join(
            [
                f"Asked: does {x} cause {y}, or {y} cause {x}? ({self.size:,} observations)",
                f"Verdict: {verdict} ({type(self.method).__name__}). {self.reason}",
                condition,
            ]
        )

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return summary_table(type(self.method).__name__, self.summary())

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        return {
            "direction": self.direction,
            "scores": dict(self.scores),
            "reason": self.reason,
            "method": type(self.method).__name__,
            "parameters": described(self.method),
            "size": self.size,
        }

    def to_frame(self) -> Any:
        """One row of a pandas data frame, entries of entries joined by dots."""
        return rows_frame(self.to_dict())


def numbers_of(x: Any, name: str) -> tuple[np.ndarray, str]:
    """One column of numbers as a float64 array (n,), and what to call it."""
    points, columns = read(VECTOR_KERNEL, x, None, name)
    if points.shape[1] != 1:
        raise ValueError(
            f"{name} must have one column, got {points.shape[1]}: pass one variable of numbers each"
        )
    values = to_numpy(detached(points))[:, 0].astype(np.float64)
    if np.all(values == values[0]):
        raise ValueError(
            f"all values of {name} are equal; a constant is neither cause nor effect, so drop it"
        )
    return values, name if columns is None else str(columns.names[0])


def judged_pair(method: DirectionMethod, x: Any, y: Any, rng: Any) -> DirectionResult:
    """The result of a method on two variables of numbers."""
    (first, name_x), (second, name_y) = numbers_of(x, "x"), numbers_of(y, "y")
    if len(first) != len(second):
        raise ValueError(
            f"x and y must have the same number of observations, got {len(first)} and {len(second)}"
        )
    if len(first) < _MIN_ROWS:
        raise ValueError(f"x and y need at least {_MIN_ROWS} observations, got {len(first)}")
    generator = validate.generator(rng)
    verdict = method.judge(standardized(first), standardized(second), generator)
    arrows = {True: f"{name_x} -> {name_y}", False: f"{name_y} -> {name_x}", None: None}
    names = (name_x, name_y)
    reason = verdict.reason.replace("x -> y", str(arrows[True])).replace(
        "y -> x", str(arrows[False])
    )
    return DirectionResult(
        arrows[verdict.forward], verdict.scores, reason, method, len(first), names
    )
