"""Result of a goodness-of-fit test: size of the misfit, where it is, summary and plots."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import to_numpy
from mercer.errors import NoRule
from mercer.htest.format_number import figure
from mercer.htest.goodness.evidence_map import Evidence, log_density_of
from mercer.htest.goodness.misfit import Discrepancy, Misfit, MisfitColumn, misfit_columns
from mercer.htest.goodness.model_separation import separation_from_model
from mercer.htest.goodness.score_models import original_model
from mercer.htest.goodness.stein_sample import SteinSample
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Judgement, WildBootstrap
from mercer.htest.result import ExplainedResult, thinned_rows, verdict_line
from mercer.htest.sample_notes import (
    attainable_note,
    copied_rows_note,
    log_signs,
    subsample_note,
)
from mercer.htest.separation_auc import Separation
from mercer.rkhs.function import Function
from mercer.rkhs.logdensity import Scores

SCHEMA = "mercer/goodness/1"
_LOCATIONS_IN_SUMMARY = 3  # the others are in `locations()`


@dataclass(frozen=True, eq=False)
class MisfitPoints:
    """The observations that contribute most to the discrepancy.

    Attributes
    ----------
    indices : array (k,)
        Positions of the observations, the largest contribution first.
    contributions : array (k,)
        mean_j k_p(x_i, x_j); their mean over all observations is the squared discrepancy.
    """

    indices: np.ndarray
    contributions: np.ndarray

    def __len__(self) -> int:
        return len(self.indices)


@dataclass(frozen=True)
class MisfitLocation:
    """A location at which `FSSD` compares observations and model.

    `coordinates` are given by column; `evidence` is the signal-to-noise ratio of a test at this
    location alone.
    """

    coordinates: Mapping[str, float]
    evidence: float

    def __str__(self) -> str:
        coordinates = ", ".join(f"{name} = {figure(v)}" for name, v in self.coordinates.items())
        return f"{coordinates}: signal-to-noise ratio {self.evidence:.3g}"


@dataclass(frozen=True)
class GoodnessResult(ExplainedResult):
    """Result of a goodness-of-fit test; it stores the observations, to show where the misfit is.

    Effect, witness and points use the Stein kernel of the test and all pairs of observations;
    `thinned` gives the same result with fewer observations.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.htest import KSD
    >>> from mercer.rkhs import Gaussian
    >>> x = np.random.default_rng(0).normal(size=300)
    >>> x[:30] += 4.0  # outliers
    >>> result = KSD(Gaussian(0.0, 1.0)).test(x, rng=0)
    >>> result.rejects(), set(result.points(20).indices.tolist()) <= set(range(30))
    (True, True)
    >>> result.effect().relative_interval.low > 0.1
    True
    """

    _report = "goodness_report"
    sample: SteinSample = field(repr=False, compare=False, kw_only=True)
    rows: int | None = field(default=None, repr=False, compare=False, kw_only=True)

    @property
    def size(self) -> int:
        """Number of observations."""
        return self.rows or len(self.sample)

    # ---- size of the misfit -----------------------------------------------------------

    def effect(self, confidence: float = 0.95) -> Misfit:
        """How well a classifier tells observations from draws, and the Stein discrepancy, with intervals."""
        misfit, separation = self._discrepancy.misfit(confidence), self._separation
        if separation is None:
            return misfit
        return replace(misfit, auc=separation.auc, auc_interval=separation.interval(confidence))

    @property
    def measured(self) -> SteinSample:
        """The observations by which the size of the misfit is estimated."""
        return self.sample

    @property
    def independent(self) -> bool:
        """Whether intervals are valid: observations independent of each other and of the model."""
        return getattr(getattr(self.test, "null", None), "block", 1) == 1

    # ---- where the model does not fit -------------------------------------------------

    def witness(self) -> Function:
        """Stein witness w(y) = mean_i k_p(x_i, y): large where there are unexpected observations.

        It is the mean embedding of the sample with the Stein kernel; that of the model is 0. Its
        squared norm and its mean over the sample are the squared discrepancy.
        """
        sample, n = self.sample, len(self.sample)
        weights = np.full(n, 1 / n, dtype=np.float64)
        return Function(sample.outer, sample.observations, weights, sample.columns)

    def evidence(self) -> Evidence:
        """Evidence of a test at a single location, as a function of the location."""
        return Evidence(self.sample)

    def points(self, k: int = 5) -> MisfitPoints:
        """The `k` observations that contribute most to the discrepancy."""
        validate.whole("k", k)
        contributions = to_numpy(self.sample.gram.row_sums()) / len(self.sample)
        indices = np.argsort(-contributions, kind="stable")[:k]
        places = self.sample.places
        return MisfitPoints(indices if places is None else places[indices], contributions[indices])

    def columns(self, confidence: float = 0.95) -> tuple[MisfitColumn, ...]:
        """Misfit of every column given the others, largest first.

        The intervals are simultaneous: all of them hold with probability `confidence`. If the model
        was fitted to the same observations, estimates and intervals are too low. Of a series, whose rows depend on those
        before them, intervals are not known, and their limits are NaN.
        """
        return misfit_columns(self.sample, confidence, self.test.for_series)

    def locations(self) -> tuple[MisfitLocation, ...]:
        """The locations of `FSSD` with their evidence, largest first."""
        places = self.places
        if places is None:
            raise NoRule(
                f"{type(self.tested).__name__} has no locations: use FSSD, whose locations show where "
                "the model does not fit"
            )
        evidence = self.evidence()(places)
        locations = [
            MisfitLocation(dict(zip(self.sample.names, map(float, row), strict=True)), float(v))
            for row, v in zip(places, evidence, strict=True)
        ]
        return tuple(sorted(locations, key=lambda location: -location.evidence))

    @property
    def places(self) -> np.ndarray | None:
        """The locations of the test as an array (J, d); None for tests without locations."""
        locations = getattr(self.tested, "locations", None)
        if locations is None or isinstance(locations, int):
            return None
        return np.asarray(self.sample.original_units(to_numpy(locations)))

    def thinned(self, most: int) -> GoodnessResult:
        """The same verdict with a random subsample of at most `most` observations, always the same."""
        validate.whole("most", most)
        rows = thinned_rows(len(self.sample), most)
        return self if rows is None else replace(self, sample=self.sample.subset(rows))

    # ---- text and plots -----------------------------------------------------------------

    def summary(self, level: float | None = None, *, confidence: float = 0.95) -> str:
        """Question, verdict, size of the misfit and locations in plain words."""
        level, model, misfit = self._level_or(level), self.model_in_words, self.effect(confidence)
        if self.fitted_here:
            model = f"a model such as {model}, which was fitted to them"
        verdict = verdict_line(
            self,
            level,
            "the model does not fit",
            "no misfit was found",
            "This does not prove that the model is right.",
        )
        lines = [
            f"Asked: do the {self.size:,} observations come from {model}?",
            verdict,
            f"Size: {how_much(self, misfit)}. {_discrepancy_sentence(self, misfit)}",
        ]
        if self.places is not None:
            shown = "; ".join(str(place) for place in self.locations()[:_LOCATIONS_IN_SUMMARY])
            lines.append(f"Locations: {shown}.")
        return "\n".join([*lines, *self.notes])

    def to_dict(self, *, confidence: float = 0.95) -> dict[str, Any]:
        """The result as a dictionary that can be written as JSON."""
        columns = self.sample.columns
        entries = {
            "schema": SCHEMA,
            **super().to_dict(),
            "size": self.size,
            "model": self.model_in_words,
            "kernel": repr(self.sample.kernel.kernel),
            "columns": None if columns is None else list(columns.names),
            "units": None if self.sample.units is None else list(self.sample.units),
            "effect": self.effect(confidence).to_dict(),
        }
        if self.places is not None:
            entries["locations"] = [
                {"coordinates": dict(place.coordinates), "evidence": place.evidence}
                for place in self.locations()
            ]
        return entries

    def plot_witness(self, ax: Any = None) -> Any:
        """Draw the witness of one or two columns, with the observations and the model's density."""
        plot = importlib.import_module("mercer.plot")
        density = log_density_of(self.model)
        return plot.plot_misfit(
            self.witness(),
            ax=ax,
            log_density=density,
            locations=self.places,
            support=self.sample.support,
        )

    def plot_evidence(self, ax: Any = None) -> Any:
        """Draw the evidence map of two columns, with the observations and the test's locations."""
        plot = importlib.import_module("mercer.plot")
        names = None if self.sample.columns is None else self.sample.columns.names
        return plot.plot_evidence(self.evidence(), ax=ax, locations=self.places, labels=names)

    def plot_columns(self, ax: Any = None) -> Any:
        """Draw the misfit of each column given the others; returns the Axes."""
        plot = importlib.import_module("mercer.plot")
        return plot.plot_columns(self.columns(), ax=ax)

    # ---- the model ----------------------------------------------------------------------

    @property
    def tested(self) -> HypothesisTest:
        """The test of the model itself."""
        return self.test

    @property
    def everywhere(self) -> bool:
        """Whether the score of the model is known everywhere, which the witness needs."""
        return not isinstance(self.model, Scores)

    @property
    def fitted_here(self) -> bool:
        """Whether the model was fitted to the same observations, as in `Composite`."""
        return getattr(self, "fitted", None) is not None

    @property
    def model(self) -> Any:
        """The model that was tested, in original units."""
        return original_model(getattr(self, "fitted", None) or getattr(self.test, "model", None))

    @property
    def model_in_words(self) -> str:
        """The repr of the model if it is short, else its name."""
        words = repr(self.model)
        if len(words) <= 80 and " at 0x" not in words:
            return words
        name = getattr(self.model, "__name__", "<lambda>")
        return type(self.model).__name__ if name == "<lambda>" else name

    @cached_property
    def _separation(self) -> Separation | None:
        return separation_from_model(self.model, self.sample.observations, self.sample.columns)

    @cached_property
    def _discrepancy(self) -> Discrepancy:
        return Discrepancy(self.measured.gram)


def goodness_result(
    test: HypothesisTest,
    sample: SteinSample,
    statistic: float,
    judgement: Judgement,
    notes: tuple[str, ...] = (),
    *,
    rows: int | None = None,
) -> GoodnessResult:
    """Make the result of a goodness-of-fit test, with the notes that all tests share.

    `rows` is the number of observations where `sample` is a subsample of them.
    """
    if rows is not None:
        notes = (*notes, subsample_note(len(sample)))
    null = getattr(test, "null", None)
    if isinstance(null, WildBootstrap) and null.block == 1:
        distinct = log_signs(len(sample))
        notes = (*notes, *attainable_note(distinct, len(judgement.draws), "vectors of signs"))
    notes = (*notes, *copied_rows_note(sample.points))
    return GoodnessResult.judged(test, statistic, judgement, notes, sample=sample, rows=rows)


def how_much(result: GoodnessResult, misfit: Misfit) -> str:
    """The size of the misfit in words, with its interval if that is valid."""
    if not result.independent:  # neither interval is valid
        if misfit.auc is None:
            return f"relative Stein discrepancy {misfit.relative:.2g}, {misfit.word}"
        return (
            f"a classifier tells the observations from draws of the model {misfit.auc:.0%} of the time "
            f"(50% is guessing), {misfit.word}"
        )
    return misfit.sentence()


def _discrepancy_sentence(result: GoodnessResult, misfit: Misfit) -> str:
    """The Stein discrepancy by the kernel of the test."""
    if misfit.auc is None:
        return f"Squared discrepancy {misfit.ksd2:.3g}."
    low, high = misfit.relative_interval
    interval = f" ({100 * misfit.confidence:g}% interval {low:.2g} to {high:.2g})"
    halves = ", fitted to one half and estimated on the other" if result.fitted_here else ""
    return (
        f"With the kernel of the test, the relative Stein discrepancy is {misfit.relative:.2g}"
        f"{interval + halves if result.independent else ''}, and the squared discrepancy {misfit.ksd2:.3g}."
    )
