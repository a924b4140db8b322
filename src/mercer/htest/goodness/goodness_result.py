"""What a goodness-of-fit test found: beside the p-value, how far the model is off, and where."""

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
from mercer.htest.goodness.misfit import Discrepancy, Misfit
from mercer.htest.goodness.misfit_by_column import MisfitColumn, misfit_columns
from mercer.htest.goodness.standardized_model import as_given
from mercer.htest.goodness.stein_sample import Sample
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Judgement, WildBootstrap
from mercer.htest.repeated_rows import copied_rows_note
from mercer.htest.result import ExplainedResult, thinned_rows
from mercer.htest.smallest_pvalue import attainable_note, log_signs
from mercer.rkhs.function import Function
from mercer.rkhs.logdensity import Scores

SCHEMA = "mercer/goodness/1"
_MAP = 2  # columns that have a picture of where


@dataclass(frozen=True, eq=False)
class MisfitPoints:
    """The observations that speak most against the model.

    Attributes
    ----------
    indices : array (k,)
        Their positions, the most telling first.
    contributions : array (k,)
        mean_j k_p(x_i, x_j), whose mean over all observations is the discrepancy.
    """

    indices: np.ndarray
    contributions: np.ndarray

    def __len__(self) -> int:
        return len(self.indices)


@dataclass(frozen=True)
class MisfitLocation:
    """A location at which `FSSD` compared observations and model: `coordinates` by column.

    `evidence` is the signal-to-noise ratio of this location by itself.
    """

    coordinates: Mapping[str, float]
    evidence: float

    def __str__(self) -> str:
        told = ", ".join(f"{name} = {figure(v)}" for name, v in self.coordinates.items())
        return f"{told}: signal-to-noise ratio {self.evidence:.3g}"


@dataclass(frozen=True)
class GoodnessResult(ExplainedResult):
    """The result of a goodness-of-fit test; it keeps the sample, and looks into it when asked.

    Effect, witness and points are by the Stein kernel of the test and look at all pairs of
    observations; `thinned` gives the same result on fewer.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.htest import KSD
    >>> from mercer.rkhs import Gaussian
    >>> x = np.random.default_rng(0).normal(size=300)
    >>> x[:30] += 4.0  # some that the model does not know
    >>> result = KSD(Gaussian(0.0, 1.0)).test(x, rng=0)
    >>> result.rejects(), set(result.points(20).indices.tolist()) <= set(range(30))
    (True, True)
    >>> result.effect().relative_interval.low > 0.1
    True
    """

    sample: Sample = field(repr=False, compare=False, kw_only=True)

    @property
    def size(self) -> int:
        """How many observations there are."""
        return len(self.sample)

    # ---- how much ---------------------------------------------------------------------

    def effect(self, confidence: float = 0.95) -> Misfit:
        """The squared Stein discrepancy, and the part of it without a unit, with intervals."""
        return self._discrepancy.misfit(confidence)

    @property
    def measured(self) -> Sample:
        """What the size of the misfit is measured on."""
        return self.sample

    @property
    def independent(self) -> bool:
        """Whether these are independent of each other and of the model, as intervals need it."""
        return getattr(getattr(self.test, "null", None), "block", 1) == 1

    # ---- where ------------------------------------------------------------------------

    def witness(self) -> Function:
        """w(y) = mean_i k_p(x_i, y): large where observations are that the model does not expect.

        The embedding of the sample by the Stein kernel, by which that of the model is 0; its
        squared norm is the squared discrepancy, and its mean over the sample too.
        """
        sample, n = self.sample, self.size
        weights = np.full(n, 1 / n, dtype=np.float64)
        return Function(sample.outer, sample.observations, weights, sample.columns)

    def evidence(self) -> Evidence:
        """The evidence that a test at one location would give, as a function of the location."""
        return Evidence(self.sample)

    def points(self, k: int = 5) -> MisfitPoints:
        """The `k` observations that add most to the discrepancy."""
        validate.whole("k", k)
        contributions = to_numpy(self.sample.gram.row_sums()) / self.size
        indices = np.argsort(-contributions, kind="stable")[:k]
        places = self.sample.places
        return MisfitPoints(indices if places is None else places[indices], contributions[indices])

    def columns(self, confidence: float = 0.95) -> tuple[MisfitColumn, ...]:
        """In which columns the model is off, given the others, the one furthest off first.

        Intervals hold together: all of them with this probability. Of a model that was fitted to the
        same observations they are too low, so that columns above zero are off all the more.
        """
        return misfit_columns(self.sample, confidence)

    def locations(self) -> tuple[MisfitLocation, ...]:
        """The locations of `FSSD`, the most telling first, by the names of the columns."""
        places = self.places
        if places is None:
            raise NoRule(
                f"{type(self.tested).__name__} compares with the model everywhere: use FSSD, whose "
                "locations tell where the model does not fit"
            )
        evidence = self.evidence()(places)
        found = [
            MisfitLocation(dict(zip(self.sample.names, map(float, row), strict=True)), float(v))
            for row, v in zip(places, evidence, strict=True)
        ]
        return tuple(sorted(found, key=lambda place: -place.evidence))

    @property
    def places(self) -> np.ndarray | None:
        """The locations of the test as an array (J, d); None for tests that have none."""
        found = getattr(self.tested, "locations", None)
        if found is None or isinstance(found, int):
            return None
        return np.asarray(self.sample.own_units(to_numpy(found)))

    def thinned(self, most: int) -> GoodnessResult:
        """The same verdict, with at most `most` of the observations, always the same ones."""
        validate.whole("most", most)
        rows = thinned_rows(self.size, most)
        return self if rows is None else replace(self, sample=self.sample.some(rows))

    # ---- words and pictures -------------------------------------------------------------

    def summary(self, level: float = 0.05, *, confidence: float = 0.95) -> str:
        """What was asked, the verdict, how far the model is off, and where it was looked."""
        from mercer.htest.goodness.goodness_summary import told

        return told(self, level, self.effect(confidence))

    def to_dict(self, *, confidence: float = 0.95) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        columns = self.sample.columns
        found = {
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
            found["locations"] = [
                {"coordinates": dict(place.coordinates), "evidence": place.evidence}
                for place in self.locations()
            ]
        return found

    def plot(self, ax: Any = None) -> Any:
        """Where the model does not fit, for one or two columns; else the null distribution.

        The witness or, for tests with locations on the plane, the evidence with the locations on
        it; returns the Axes.
        """
        looked = self.places is not None or not self.everywhere
        if self.sample.width == _MAP and looked:
            return self.plot_evidence(ax)
        mapped = self.sample.width <= _MAP and self.everywhere
        return self.plot_witness(ax) if mapped else self.plot_null(ax)

    def plot_null(self, ax: Any = None) -> Any:
        """The null distribution with the statistic in it; returns the Axes."""
        return super().plot(ax)

    def plot_witness(self, ax: Any = None) -> Any:
        """The witness on the line or the plane, with the observations and the model's density."""
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
        """The evidence over the plane, with the observations and the locations of the test."""
        plot = importlib.import_module("mercer.plot")
        names = None if self.sample.columns is None else self.sample.columns.names
        return plot.plot_evidence(self.evidence(), ax=ax, locations=self.places, labels=names)

    def plot_columns(self, ax: Any = None) -> Any:
        """How far the model is off in each column, given the others; returns the Axes."""
        plot = importlib.import_module("mercer.plot")
        return plot.plot_columns(self.columns(), ax=ax)

    # ---- what the model is --------------------------------------------------------------

    @property
    def tested(self) -> HypothesisTest:
        """The test of the model itself."""
        return self.test

    @property
    def everywhere(self) -> bool:
        """Whether the score of the model is known beyond the observations, as a witness needs it."""
        return not isinstance(self.model, Scores)

    @property
    def fitted_here(self) -> bool:
        """Whether the model was fitted to these very observations, as in `Composite`."""
        return getattr(self, "fitted", None) is not None

    @property
    def model(self) -> Any:
        """The model as it was handed in, or fitted."""
        return as_given(getattr(self, "fitted", None) or getattr(self.test, "model", None))

    @property
    def model_in_words(self) -> str:
        """The model in a word."""
        words = repr(self.model)
        if len(words) <= 80 and " at 0x" not in words:
            return words
        name = getattr(self.model, "__name__", "<lambda>")
        return type(self.model).__name__ if name == "<lambda>" else name

    @cached_property
    def _discrepancy(self) -> Discrepancy:
        return Discrepancy(self.measured.gram)


def goodness_result(
    test: HypothesisTest,
    sample: Sample,
    statistic: float,
    judgement: Judgement,
    notes: tuple[str, ...] = (),
) -> GoodnessResult:
    """The one way every goodness-of-fit test makes its result."""
    null = getattr(test, "null", None)
    if isinstance(null, WildBootstrap) and null.block == 1:
        distinct = log_signs(len(sample))
        notes = (*notes, *attainable_note(distinct, len(judgement.draws), "vectors of signs"))
    notes = (*notes, *copied_rows_note(sample.points))
    return GoodnessResult.judged(test, statistic, judgement, notes, sample=sample)
