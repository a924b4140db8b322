"""Result of an independence test: p-value, strength of the dependence, where it is, and notes."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import count
from mercer.errors import NoRule
from mercer.htest.dependence.conditional_strength import ConditionalStrength
from mercer.htest.dependence.dependence_summary import independence_summary
from mercer.htest.dependence.dependence_witness import DependenceWitness
from mercer.htest.dependence.strength import Dependence, Strength
from mercer.htest.explained_variation import PredictionError, prediction_errors
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Gamma, Judgement, Permutation, Spectrum
from mercer.htest.result import ExplainedResult, thinned_rows
from mercer.htest.sample_notes import (
    attainable_note,
    copied_rows_note,
    log_pairings,
    raised_to_attainable,
    same_values_note,
    subsample_note,
)
from mercer.htest.serial_hsic import serial_cautions
from mercer.kernels import Tensor, facts
from mercer.kernels.base import Kernel
from mercer.rkhs.paired_samples import Variable, listed

SCHEMA = "mercer/independence/1"
_MIN_ROWS = 4  # observations: the unbiased HSIC divides by n (n - 3)


@dataclass(frozen=True, eq=False)
class TellingPairs:
    """The observations that contribute most to the dependence.

    Attributes
    ----------
    indices : array (k,)
        Their positions among the observations that were handed in, the largest contribution first.
    contributions : array (k,)
        mean_j k~(x_i, x_j) l~(y_i, y_j), whose mean over all observations is HSIC.
    """

    indices: np.ndarray
    contributions: np.ndarray

    def __len__(self) -> int:
        return len(self.indices)


@dataclass(frozen=True)
class IndependenceResult(ExplainedResult):
    """The result of an independence test, with the variables it was computed from.

    `effect` is defined for two variables, perhaps given a third; `witness` and `points` for two variables
    alone. They use the kernels of the test, or the default ones. They take time quadratic in the number of observations; `thinned`
    returns the same result with fewer of them.

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

    _report = "independence_report"
    variables: tuple[Variable, ...] = field(repr=False, compare=False, kw_only=True)
    given: bool = field(default=False, repr=False, compare=False, kw_only=True)
    rows: int | None = field(default=None, repr=False, compare=False, kw_only=True)

    @property
    def question(self) -> str | None:
        """A template of the question for the summary, where the test does not ask about independence."""
        return getattr(self.test, "question", None)

    @property
    def size(self) -> int:
        """The number of observations."""
        return self.rows or count(self.variables[0].points)

    # ---- how much ---------------------------------------------------------------------

    def effect(self, confidence: float = 0.95) -> Strength | ConditionalStrength:
        """Share of variation that one variable explains of the other, with confidence intervals.

        With a variable that is given: of the variation that it leaves; else also HSIC and the kernel correlation.
        """
        if self.given:
            return ConditionalStrength.of(self._conditional_errors, confidence)
        self._need_two("effect")
        return self._dependence.strength(confidence)

    # ---- where ------------------------------------------------------------------------

    def witness(self) -> DependenceWitness:
        """w(x, y): positive where x and y come together more often than if independent."""
        self._need_two("witness")
        return DependenceWitness(*self.variables)

    def points(self, k: int = 5) -> TellingPairs:
        """The `k` observations that contribute most to the dependence."""
        validate.whole("k", k)
        self._need_two("points")
        contributions = self._dependence.contributions
        indices = np.argsort(-contributions, kind="stable")[:k]
        places = self.variables[0].places
        return TellingPairs(indices if places is None else places[indices], contributions[indices])

    def thinned(self, most: int) -> IndependenceResult:
        """The same p-value with a random subsample of at most `most` observations, of a fixed seed."""
        validate.whole("most", most, least=_MIN_ROWS)
        rows = thinned_rows(count(self.variables[0].points), most)
        if rows is None:
            return self
        return replace(self, variables=tuple(v.subset(rows) for v in self.variables))

    @cached_property
    def cautions(self) -> tuple[str, ...]:
        """A caution, where rows of two variables depend on those before them and the test ignores that."""
        if self.test.for_series:
            return ()
        remedy = (
            "condition on earlier rows too, such as x[:-1] and y[:-1]"
            if self.given
            else "use independence(x, y, series=True), or null=WildBootstrap(block=None)"
        )
        tested = self.variables[:-1] if self.given else self.variables
        return serial_cautions([(v.name, v) for v in tested], least=2, remedy=remedy)

    # ---- summaries and plots ----------------------------------------------------------

    def summary(self, level: float | None = None, *, confidence: float = 0.95) -> str:
        """The question, the verdict, and the strength of the dependence."""
        return independence_summary(
            self, self._level_or(level), self.effect(confidence) if self.has_effect else None
        )

    def to_dict(self, *, confidence: float = 0.95) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        fields = {
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
        if self.has_effect:
            fields["effect"] = self.effect(confidence).to_dict()
        return fields

    def plot_witness(self, ax: Any = None) -> Any:
        """A heat map of the witness, for two variables of one numeric column each; returns the Axes."""
        return importlib.import_module("mercer.plot").plot_dependence(self.witness(), ax=ax)

    @property
    def two(self) -> bool:
        """Whether there are exactly two variables, and none to condition on."""
        return len(self.variables) == 2

    @property
    def has_effect(self) -> bool:
        """Whether there is an effect size: for two variables, perhaps given a third."""
        return self.two or self.given

    # ---- private ----------------------------------------------------------------------

    @cached_property
    def _conditional_errors(self) -> tuple[PredictionError, ...]:
        x, y, z = self.variables
        return prediction_errors(x, y, z)

    @cached_property
    def _dependence(self) -> Dependence:
        x, y = self.variables
        return Dependence(x, y, series=self.test.for_series)

    def _need_two(self, what: str) -> None:
        if not self.two:
            raise NoRule(
                f"{what} is defined for two variables, and this test had {len(self.variables)}: "
                "test pairs of them with HSIC(), or some of them together against another, as columns of one frame"
            )


def independence_result(
    test: HypothesisTest,
    variables: tuple[Variable, ...],
    statistic: float,
    judgement: Judgement,
    notes: tuple[str, ...] = (),
    *,
    given: bool = False,
    rows: int | None = None,
) -> IndependenceResult:
    """The result of an independence test, with notes about the sample.

    `given`: the last variable is the one that is conditioned on. `rows` is the number of observations where the variables
    have a subsample of them.
    """
    if rows is not None:
        notes = (*notes, subsample_note(count(variables[0].points)))
    notes = (*notes, *_sample_notes(test, variables, judgement, given))
    null = getattr(test, "null", None)
    if not given and isinstance(null, Gamma | Spectrum):
        pairings = log_pairings(count(variables[0].points), len(variables), null)
        judgement = raised_to_attainable(judgement, pairings)
    return IndependenceResult.judged(
        test, statistic, judgement, notes, variables=variables, given=given, rows=rows
    )


def _sample_notes(
    test: HypothesisTest, variables: tuple[Variable, ...], judgement: Judgement, given: bool
) -> tuple[str, ...]:
    """Notes about the p-value of few or repeated observations."""
    null, points = getattr(test, "null", None), [v.points for v in variables]
    notes: tuple[str, ...] = ()
    if isinstance(null, Permutation):
        pairings = log_pairings(count(points[0]), len(points), null)
        notes = attainable_note(pairings, len(judgement.draws), "pairings")
    if not given:
        notes = (*notes, *same_values_note(*points[:2]))
    return (*notes, *copied_rows_note(*points, name=" and ".join(v.name for v in variables)))


# ---- which dependences kernels can detect ---------------------------------------------------------


def i_characteristic(kernels: Sequence[Kernel]) -> bool | None:
    """Whether the product kernel distinguishes every joint distribution from the product of its margins.

    For two kernels it is enough that both are characteristic (Gretton 2015), for three and more it is
    not (Szabo and Sriperumbudur 2018): there, bounded, continuous, shift-invariant characteristic
    kernels on R^d suffice, and every product that is integrally strictly positive definite. None where
    no theorem applies.

    Examples
    --------
    >>> from mercer.kernels import RBF, Energy, Linear
    >>> i_characteristic([RBF(1.0), RBF(2.0), RBF(1.0)])
    True
    >>> i_characteristic([Energy(), Energy()]), i_characteristic([Energy(), Energy(), Energy()])
    (True, None)
    >>> i_characteristic([RBF(1.0), Linear()])
    False
    """
    known = [facts(kernel).characteristic for kernel in kernels]
    if False in known:
        return False  # the product is blind to what one of its kernels is blind to
    if all(known) and len(kernels) == 2:
        return True
    return facts(Tensor(*kernels)).integrally_strict or None


def kernel_notes(kernels: Sequence[Kernel], names: Sequence[str]) -> tuple[str, ...]:
    """A note where the kernels may be blind, or are blind, to some dependences."""
    if i_characteristic(kernels) is not None:
        return blind_kernel_notes(kernels, names)
    if len(kernels) > 2 and all(facts(kernel).characteristic for kernel in kernels):
        return (
            f"The kernels are characteristic, which is not enough for {len(kernels)} variables: their "
            "product is not known to detect every dependence. Bounded continuous shift-invariant "
            "kernels, such as RBF, do.",
        )
    return ("It is not known whether the product of the kernels detects every dependence.",)


def blind_kernel_notes(kernels: Sequence[Kernel], names: Sequence[str]) -> tuple[str, ...]:
    """A note where the kernels are blind to some dependences."""
    blind = [n for n, k in zip(names, kernels, strict=True) if facts(k).characteristic is False]
    if not blind:
        return ()
    subject = f"kernel of {blind[0]} is" if len(blind) == 1 else f"kernels of {listed(blind)} are"
    return (
        f"The {subject} not characteristic: there are dependences that this test cannot detect, "
        "however many observations there are.",
    )
