"""What an independence test found: beside the p-value, how strong the dependence is, and where."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import count
from mercer.errors import NoRule
from mercer.htest.dependence.dependence_witness import DependenceWitness
from mercer.htest.dependence.observed_variables import Variable
from mercer.htest.dependence.strength import Dependence, Strength
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Judgement, Permutation
from mercer.htest.repeated_rows import copied_rows_note, same_values_note
from mercer.htest.result import ExplainedResult, thinned_rows
from mercer.htest.smallest_pvalue import attainable_note, log_pairings, raised_to_attainable
from mercer.rkhs.sample_rows import taken

SCHEMA = "mercer/independence/1"
_LEAST = 4  # observations, for an unbiased HSIC


@dataclass(frozen=True, eq=False)
class TellingPairs:
    """The observations that add most to the dependence.

    Attributes
    ----------
    indices : array (k,)
        Their positions, the most telling first.
    contributions : array (k,)
        mean_j k~(x_i, x_j) l~(y_i, y_j), whose mean over all observations is HSIC.
    """

    indices: np.ndarray
    contributions: np.ndarray

    def __len__(self) -> int:
        return len(self.indices)


@dataclass(frozen=True)
class IndependenceResult(ExplainedResult):
    """The result of an independence test; it keeps the variables, and looks into them when asked.

    Strength, witness and points are those of two variables, by their kernels: those of the test,
    or the default ones. They look at all pairs of observations; `thinned` gives the same
    result on fewer.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.htest import HSIC
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, size=200)
    >>> result = HSIC().test(x, x**2 + 0.1 * rng.normal(size=200), rng=0)
    >>> result.rejects(), result.effect().correlation
    (True, 0.56)
    """

    variables: tuple[Variable, ...] = field(repr=False, compare=False, kw_only=True)
    given: bool = field(default=False, repr=False, compare=False, kw_only=True)

    @property
    def size(self) -> int:
        """How many observations there are."""
        return count(self.variables[0].points)

    # ---- how much ---------------------------------------------------------------------

    def effect(self, confidence: float = 0.95) -> Strength:
        """HSIC and the kernel correlation of two variables, with confidence intervals."""
        self._need_two("effect")
        return self._dependence.strength(confidence)

    # ---- where ------------------------------------------------------------------------

    def witness(self) -> DependenceWitness:
        """w(x, y): positive where x and y come together more often than if independent."""
        self._need_two("witness")
        return DependenceWitness(*self.variables)

    def points(self, k: int = 5) -> TellingPairs:
        """The `k` observations that add most to the dependence."""
        validate.whole("k", k)
        self._need_two("points")
        contributions = self._dependence.contributions
        indices = np.argsort(-contributions, kind="stable")[:k]
        return TellingPairs(indices, contributions[indices])

    def thinned(self, most: int) -> IndependenceResult:
        """The same verdict, with at most `most` of the observations, always the same ones."""
        validate.whole("most", most, least=_LEAST)
        rows = thinned_rows(self.size, most)
        if rows is None:
            return self
        some = tuple(replace(v, points=taken(v.points, rows)) for v in self.variables)
        return replace(self, variables=some)

    # ---- words and pictures -----------------------------------------------------------

    def summary(self, level: float = 0.05, *, confidence: float = 0.95) -> str:
        """What was asked, the verdict, and how strong the dependence is."""
        from mercer.htest.dependence.dependence_summary import told

        return told(self, level, self.effect(confidence) if self.two else None)

    def to_dict(self, *, confidence: float = 0.95) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        found = {
            "schema": SCHEMA,
            **super().to_dict(),
            "size": self.size,
            "given": self.given,
            "variables": [
                {
                    "name": v.name,
                    "columns": None if v.columns is None else list(v.columns.names),
                    "kernel": repr(v.kernel),
                }
                for v in self.variables
            ],
        }
        if self.two:
            found["effect"] = self.effect(confidence).to_dict()
        return found

    def plot_witness(self, ax: Any = None) -> Any:
        """The witness as a map, for two variables of one column of numbers each; an Axes."""
        return importlib.import_module("mercer.plot").plot_dependence(self.witness(), ax=ax)

    @property
    def two(self) -> bool:
        """Whether it is about two variables, without others that are given."""
        return len(self.variables) == 2

    # ---- private ----------------------------------------------------------------------

    @cached_property
    def _dependence(self) -> Dependence:
        x, y = self.variables
        return Dependence(x, y)

    def _need_two(self, what: str) -> None:
        if not self.two:
            raise NoRule(
                f"{what} is about two variables, and this test had {len(self.variables)}: "
                "test pairs of them with HSIC()"
            )


def independence_result(
    test: HypothesisTest,
    variables: tuple[Variable, ...],
    statistic: float,
    judgement: Judgement,
    notes: tuple[str, ...] = (),
    *,
    given: bool = False,
) -> IndependenceResult:
    """The one way every independence test makes its result.

    `given`: the last variable is the one that is given.
    """
    notes = (*notes, *_sample_notes(test, variables, judgement, given))
    if not given:
        null, size = getattr(test, "null", None), count(variables[0].points)
        judgement = raised_to_attainable(judgement, null, log_pairings(size, len(variables), null))
    return IndependenceResult.judged(
        test, statistic, judgement, notes, variables=variables, given=given
    )


def _sample_notes(
    test: HypothesisTest, variables: tuple[Variable, ...], judgement: Judgement, given: bool
) -> tuple[str, ...]:
    """What few or repeated observations mean for the p-value."""
    null, points = getattr(test, "null", None), [v.points for v in variables]
    notes: tuple[str, ...] = ()
    if isinstance(null, Permutation):
        pairings = log_pairings(count(points[0]), len(points), null)
        notes = attainable_note(pairings, len(judgement.draws), "pairings")
    if not given:
        notes = (*notes, *same_values_note(*points[:2]))
    return (*notes, *copied_rows_note(*points, name=" and ".join(v.name for v in variables)))
