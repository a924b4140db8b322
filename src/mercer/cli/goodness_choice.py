"""The goodness-of-fit test that was asked for on the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import partial
from typing import Any

import numpy as np

from mercer.cli.exits import WrongUse
from mercer.cli.match import Sample
from mercer.cli.model_option import AskedModel
from mercer.cli.options import KernelName
from mercer.cli.test_registry import kernel_for
from mercer.frames import Table
from mercer.htest import FSSD, KSD, KSDAgg, LinearKSD, WildBootstrap, goodness_of_fit
from mercer.htest.goodness.composite import Composite
from mercer.htest.goodness.goodness_of_fit import chosen, family_fit, in_units
from mercer.htest.goodness.goodness_result import GoodnessResult
from mercer.htest.goodness.standardized_model import FitInUnits, InUnits
from mercer.rkhs.sample_rows import taken

_REFITS = 199  # resamples to each of which a model is fitted


class GoodnessName(StrEnum):
    """The tests of goodness of fit, by the names the command gives them."""

    AUTO = "auto"
    KSD = "ksd"
    KSDAGG = "ksdagg"
    LINEAR = "linear"
    FSSD = "fssd"


class FitName(StrEnum):
    """What a model is fitted to, and how its test then keeps its level."""

    BOOTSTRAP = "bootstrap"
    HALF = "half"


_CLASSES: dict[GoodnessName, Any] = {
    GoodnessName.KSD: KSD,
    GoodnessName.KSDAGG: KSDAgg,
    GoodnessName.LINEAR: LinearKSD,
    GoodnessName.FSSD: FSSD,
}


@dataclass(frozen=True)
class GoodnessChoice:
    """What was asked for on the command line."""

    test: GoodnessName = GoodnessName.AUTO
    fit: FitName = FitName.BOOTSTRAP
    chain: bool = False
    kernel: KernelName | None = None
    bandwidth: float | None = None
    resamples: int | None = None
    seed: int = 0

    def run(self, asked: AskedModel, sample: Sample, notes: list[str]) -> GoodnessResult:
        """The result of the test."""
        points = sample.points
        if asked.fit is None:
            return self._fixed(asked.model, points, np.random.default_rng(self.seed))
        if self.fit is FitName.BOOTSTRAP:
            self._refuse_chain()
            if not asked.drawn:
                raise WrongUse(
                    f"what {asked.name} makes cannot be drawn from, as --fit bootstrap needs it: give "
                    "it a method sample(n, rng=), or use --fit half"
                )
            notes.append(
                "the model was fitted to the rows it is tested on, and again to every resample: the "
                "question is whether any model of its kind fits"
            )
            return self._family(asked.fit, points)
        rng = np.random.default_rng(self.seed)
        order = rng.permutation(sample.rows)
        half = sample.rows // 2
        own, rest = np.sort(order[:half]), np.sort(order[half:])
        if self.chain:
            own, rest = np.arange(half), np.arange(half, sample.rows)
        notes.append(
            f"the model was fitted to {len(own):,} rows, and the other {len(rest):,} were tested: the "
            "question is whether this very model fits, with the error of its fit"
        )
        model = asked.fit(numbers(taken(points, own)))
        result = self._fixed(model, taken(points, rest), rng)
        held = result.sample
        places = rest if held.places is None else rest[held.places]
        return replace(result, sample=replace(held, places=places))

    # ---- a model that is given -----------------------------------------------------------

    def _fixed(self, model: Any, points: Any, rng: np.random.Generator) -> GoodnessResult:
        name = self._name
        if name is GoodnessName.AUTO and self.resamples is None:
            return goodness_of_fit(model, points, chain=self.chain, rng=rng)

        def run(z: Any, units: tuple[float, ...] | None) -> GoodnessResult:
            own = model if units is None else InUnits(model, units)
            rows: np.ndarray | None = None
            if name is GoodnessName.AUTO:
                test, why = chosen(own, len(z), self.chain)
            elif name is GoodnessName.FSSD:
                test, why, rows = self._learnt(own, z, rng)
            else:
                test, why = self._maker(name, z)(own), ""
            result = self._resampled(test).test(z if rows is None else taken(z, rows), rng=rng)
            notes = (*([why] if why else []), *result.notes)
            return replace(result, notes=notes, sample=replace(result.sample, places=rows))

        return in_units(points, run)

    def _learnt(self, model: Any, z: Any, rng: np.random.Generator) -> tuple[FSSD, str, np.ndarray]:
        """A test whose locations are learnt from half of the rows, and the rows to test."""
        self._refuse_chain()
        order, half = rng.permutation(len(z)), len(z) // 2
        learn, rest = np.sort(order[:half]), np.sort(order[half:])
        test = FSSD.optimized(model, taken(z, learn), kernel=self._kernel(z), rng=rng)
        return test, f"{half:,} rows taught the test where to look, the others were tested.", rest

    # ---- a model that is fitted -----------------------------------------------------------

    def _family(self, fit: Callable[[np.ndarray], Any], points: Any) -> GoodnessResult:
        resamples = self.resamples or _REFITS
        name = self._name
        if name is GoodnessName.AUTO:
            return family_fit(fit, points, resamples=resamples, rng=self.seed)

        def run(z: Any, units: tuple[float, ...] | None) -> GoodnessResult:
            own = fit if units is None else FitInUnits(fit, units)
            by = self._maker(name, z)
            found: Any = Composite(own, by, resamples=resamples).test(z, rng=self.seed)
            return found

        return in_units(points, run)

    # ---- what both share ------------------------------------------------------------------

    @property
    def _name(self) -> GoodnessName:
        """A kernel or a bandwidth without a test means the quadratic one."""
        asked = self.kernel is not None or self.bandwidth is not None
        return GoodnessName.KSD if asked and self.test is GoodnessName.AUTO else self.test

    def _maker(self, name: GoodnessName, z: Any) -> Callable[[Any], Any]:
        """model -> test."""
        kind, kernel = _CLASSES[name], self._kernel(z)
        given: dict[str, Any] = {}
        if kernel is not None:
            known = {f.name for f in fields(kind)}
            given = {"kernel": kernel} if "kernel" in known else {"kernels": (kernel,)}
        if self.chain:
            if name not in (GoodnessName.KSD, GoodnessName.KSDAGG):
                raise WrongUse(f"--test {name} takes no --chain: use ksd or ksdagg")
            given["null"] = WildBootstrap(999, block=None)
        return partial(kind, **given) if given else kind

    def _kernel(self, z: Any) -> Any:
        if self.kernel is None and self.bandwidth is None:
            return None
        return kernel_for(self.kernel or KernelName.IMQ, numbers(z), self.bandwidth)

    def _resampled(self, test: Any) -> Any:
        if self.resamples is None:
            return test
        null = getattr(test, "null", None)
        if not isinstance(null, WildBootstrap):
            raise WrongUse(f"--test {self.test} does not resample: leave out --resamples")
        return replace(test, null=replace(null, resamples=self.resamples))

    def _refuse_chain(self) -> None:
        if self.chain:
            raise WrongUse(
                "--chain goes with a model that is given, or with --fit half; and with --test ksd "
                "or ksdagg"
            )


def numbers(points: Any) -> np.ndarray:
    """Rows as an array (n, d), whatever they are held in."""
    return np.asarray(points.values if isinstance(points, Table) else points, dtype=np.float64)
