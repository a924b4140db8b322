"""Goodness-of-fit test chosen on the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any

import numpy as np

from mercer.cli.exits import Refused, WrongUse
from mercer.cli.match import FileSample
from mercer.cli.model_option import ChosenModel
from mercer.cli.table import quoted
from mercer.cli.test_names import KernelName
from mercer.cli.test_registry import Choice, kernel_for
from mercer.frames import Table
from mercer.htest import FSSD, KSD, KSDAgg, LinearKSD, WildBootstrap, goodness_of_fit
from mercer.htest.goodness.composite import Composite
from mercer.htest.goodness.goodness_of_fit import chosen, family_fit, in_units
from mercer.htest.goodness.goodness_result import GoodnessResult
from mercer.htest.goodness.score_models import StandardizedFit, StandardizedModel, model_of
from mercer.rkhs.sample_rows import taken

_PER_CENT = (
    "; per cent are read as numbers up to 100 (60.44 % is 60.44): if these are, divide them by 100, or give the model that "
    "scale, as in beta(2, 5, scale=100)"
)
_REFITS = 199  # resamples, each with a fit of the model: a p-value of 0.005 is enough at level 0.05


class GoodnessName(StrEnum):
    """Names of the goodness-of-fit tests on the command line."""

    AUTO = "auto"
    KSD = "ksd"
    KSDAGG = "ksdagg"
    LINEAR = "linear"
    FSSD = "fssd"


class FitName(StrEnum):
    """Rows that the model is fitted to: all of them, with a bootstrap that refits, or half."""

    BOOTSTRAP = "bootstrap"
    HALF = "half"


_CLASSES: dict[GoodnessName, Any] = {
    GoodnessName.KSD: KSD,
    GoodnessName.KSDAGG: KSDAgg,
    GoodnessName.LINEAR: LinearKSD,
    GoodnessName.FSSD: FSSD,
}


@dataclass(frozen=True)
class GoodnessChoice(Choice):
    """Goodness-of-fit test chosen on the command line."""

    test: GoodnessName = GoodnessName.AUTO
    fit: FitName = FitName.BOOTSTRAP
    chain: bool = False

    @property
    def test_name(self) -> GoodnessName:
        """Name of the test; a kernel without a test means KSD."""
        automatic = self.test is GoodnessName.AUTO
        return GoodnessName.KSD if self.has_kernel and automatic else self.test

    def run(self, model: ChosenModel, sample: FileSample, notes: list[str]) -> GoodnessResult:
        """Result of the test; how the model was fitted is added to `notes`."""
        points = sample.points
        if model.fit is None:
            _refuse_impossible(model, sample)
            return self._test_model(model.model, points, np.random.default_rng(self.seed))
        if self.fit is FitName.HALF:
            return self._split(model.fit, sample, notes)
        self._refuse_chain()
        if not model.can_sample:
            raise WrongUse(
                f"--fit bootstrap draws from the model, and what {model.name} returns cannot be "
                "sampled: give it a method sample(n, rng=), or use --fit half"
            )
        notes.append(
            "The model was fitted to the rows it is tested on, and refitted to every bootstrap "
            "sample: the test is whether any model of this family fits."
        )
        return self._test_family(model.fit, points)

    def resampling_null(self, test: Any, resamples: int) -> WildBootstrap | None:
        """Wild bootstrap of the test with this many resamples."""
        null = getattr(test, "null", None)
        return replace(null, resamples=resamples) if isinstance(null, WildBootstrap) else None

    # ---- a fixed model, given or fitted to other rows -------------------------------------

    def _split(
        self, fit: Callable[[np.ndarray], Any], sample: FileSample, notes: list[str]
    ) -> GoodnessResult:
        """Fit the model to half of the rows, and test it on the other half."""
        rng = np.random.default_rng(self.seed)
        order, half = rng.permutation(sample.rows), sample.rows // 2
        fitted, tested = np.sort(order[:half]), np.sort(order[half:])
        if self.chain:
            fitted, tested = np.arange(half), np.arange(half, sample.rows)
        notes.append(
            f"The model was fitted to {len(fitted):,} rows and tested on the other {len(tested):,}: "
            "the test is of this fitted model, including its estimation error."
        )
        model = fit(numeric_array(taken(sample.points, fitted)))
        result = self._test_model(model, taken(sample.points, tested), rng)
        places = result.sample.places
        places = tested if places is None else tested[places]
        return replace(result, sample=replace(result.sample, places=places))

    def _test_model(self, model: Any, points: Any, rng: np.random.Generator) -> GoodnessResult:
        name = self.test_name
        if name is GoodnessName.AUTO and self.resamples is None:
            return goodness_of_fit(model, points, chain=self.chain, rng=rng)

        def run(z: Any, units: tuple[float, ...] | None) -> GoodnessResult:
            scaled = model if units is None else StandardizedModel(model, units)
            rows: np.ndarray | None = None
            if name is GoodnessName.AUTO:
                test, why = chosen(scaled, len(z), self.chain)
            elif name is GoodnessName.FSSD:
                test, why, rows = self._learn_locations(scaled, z, rng)
            else:
                test, why = self._test_maker(name, z)(scaled), ""
            result = self.resampled(test).test(z if rows is None else taken(z, rows), rng=rng)
            notes = (*([why] if why else []), *result.notes)
            return replace(result, notes=notes, sample=replace(result.sample, places=rows))

        return in_units(points, run)

    def _learn_locations(
        self, model: Any, z: Any, rng: np.random.Generator
    ) -> tuple[FSSD, str, np.ndarray]:
        """FSSD with locations learnt from half of the rows, a note, and the rows to test."""
        self._refuse_chain()
        order, half = rng.permutation(len(z)), len(z) // 2
        learn, tested = np.sort(order[:half]), np.sort(order[half:])
        test = FSSD.optimized(model, taken(z, learn), kernel=self._kernel(z), rng=rng)
        note = f"The test learnt its locations from {half:,} rows; the others were tested."
        return test, note, tested

    # ---- a family of models, fitted to every bootstrap sample ------------------------------

    def _test_family(self, fit: Callable[[np.ndarray], Any], points: Any) -> GoodnessResult:
        resamples = self.resamples or _REFITS
        name = self.test_name
        if name is GoodnessName.AUTO:
            return family_fit(fit, points, resamples=resamples, rng=self.seed)

        def run(z: Any, units: tuple[float, ...] | None) -> GoodnessResult:
            scaled = fit if units is None else StandardizedFit(fit, units)
            test: Any = Composite(scaled, self._test_maker(name, z), resamples=resamples)
            return test.test(z, rng=self.seed)

        return in_units(points, run)

    # ---- arguments of the tests ------------------------------------------------------------

    def _test_maker(self, name: GoodnessName, z: Any) -> Callable[[Any], Any]:
        """Function from a model to its test."""
        kind, kernel = _CLASSES[name], self._kernel(z)
        arguments = {} if kernel is None else self.kernel_argument(kind, kernel)
        if self.chain:
            if name not in (GoodnessName.KSD, GoodnessName.KSDAGG):
                raise WrongUse(f"--test {name} does not take --chain: use ksd or ksdagg")
            arguments["null"] = WildBootstrap(999, block=None)
        return partial(kind, **arguments) if arguments else kind

    def _kernel(self, z: Any) -> Any:
        if not self.has_kernel:
            return None
        return kernel_for(self.kernel or KernelName.IMQ, numeric_array(z), self.bandwidth)

    def _refuse_chain(self) -> None:
        if self.chain:
            raise WrongUse(
                "--chain needs a model that is not fitted, or --fit half; and --test ksd or ksdagg"
            )


def _refuse_impossible(model: ChosenModel, sample: FileSample) -> None:
    """Refuse rows outside of the support of the model, by their column and in its units."""
    points = numeric_array(sample.points)
    chart = model_of(model.model).at(points).chart
    outside = np.zeros(len(points), bool) if chart is None else chart.outside(points)
    if chart is None or not outside.any():
        return
    row = int(np.argmax(outside))
    column, value, low, high = chart.beyond(points[row])
    name, number = list(sample.columns)[column], int(outside.sum())
    place = f"{sample.name}, column {quoted([name])}" + f", row {row + 1:,}" * sample.original_rows
    others = f" and {number - 1:,} other value{'s' * (number > 2)} are" if number > 1 else " is"
    raise Refused(
        f"{place}: {value:g}{others} outside of the support of {model.description}, strictly between {low:g} and {high:g}: "
        "that refutes the model without a test; leave such rows out to test it on the others"
        f"{_PER_CENT if _per_cent(points[:, column], low, high) else ''}"
    )


def _per_cent(values: np.ndarray, low: float, high: float) -> bool:
    """Whether values may be per cent, and the model is one of shares."""
    return bool(low == 0 and high == 1 and np.all((values >= 0) & (values <= 100)))


def numeric_array(points: Any) -> np.ndarray:
    """Rows of a table or an array as float64 (n, d)."""
    return np.asarray(points.values if isinstance(points, Table) else points, dtype=np.float64)
