"""Columns of a file as variables, and the independence test chosen on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

import numpy as np

from mercer.cli.exits import Refused, WrongUse
from mercer.cli.match import FileSample, refuse_constant
from mercer.cli.table import quoted
from mercer.cli.test_registry import Choice, kernel_for
from mercer.frames import Table
from mercer.htest import (
    CRT,
    GCM,
    HSIC,
    KCI,
    NFSIC,
    PCM,
    RCIT,
    RDC,
    BlockHSIC,
    CrossHSIC,
    FourierHSIC,
    HSICAgg,
    KernelGCM,
    LocalPermutation,
    NystromHSIC,
    Permutation,
    RCoT,
    SplitKCI,
)
from mercer.htest.dependence.independence import (
    chosen,
    chosen_for_series,
    independence,
    width_of,
)
from mercer.kernels import Energy


class IndependenceName(StrEnum):
    """Names of the independence tests on the command line."""

    AUTO = "auto"
    HSIC = "hsic"
    HSICAGG = "hsicagg"
    DCOV = "dcov"
    CROSS = "cross"
    BLOCK = "block"
    FOURIER = "fourier"
    NYSTROM = "nystrom"
    NFSIC = "nfsic"
    RDC = "rdc"
    KCI = "kci"
    RCIT = "rcit"
    RCOT = "rcot"
    KERNELGCM = "kernelgcm"
    GCM = "gcm"
    PCM = "pcm"
    SPLITKCI = "splitkci"
    LOCAL = "local"
    CRT = "crt"


_CLASSES: dict[IndependenceName, Any] = {
    IndependenceName.HSIC: HSIC,
    IndependenceName.HSICAGG: HSICAgg,
    IndependenceName.DCOV: HSIC,
    IndependenceName.CROSS: CrossHSIC,
    IndependenceName.BLOCK: BlockHSIC,
    IndependenceName.FOURIER: FourierHSIC,
    IndependenceName.NYSTROM: NystromHSIC,
    IndependenceName.NFSIC: NFSIC,
    IndependenceName.RDC: RDC,
    IndependenceName.KCI: KCI,
    IndependenceName.RCIT: RCIT,
    IndependenceName.RCOT: RCoT,
    IndependenceName.KERNELGCM: KernelGCM,
    IndependenceName.GCM: GCM,
    IndependenceName.PCM: PCM,
    IndependenceName.SPLITKCI: SplitKCI,
    IndependenceName.LOCAL: LocalPermutation,
    IndependenceName.CRT: CRT,
}
_FOR_SERIES = (IndependenceName.AUTO, IndependenceName.HSIC, IndependenceName.DCOV)
_CONDITIONAL = {
    IndependenceName.KCI,
    IndependenceName.RCIT,
    IndependenceName.RCOT,
    IndependenceName.KERNELGCM,
    IndependenceName.GCM,
    IndependenceName.PCM,
    IndependenceName.SPLITKCI,
    IndependenceName.LOCAL,
    IndependenceName.CRT,
}


@dataclass(frozen=True)
class Question:
    """Columns of a file by their role: x independent of y, perhaps given others."""

    x: tuple[str, ...]
    y: tuple[str, ...]
    given: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for first, second in ((self.x, self.y), (self.x, self.given), (self.y, self.given)):
            shared = [name for name in first if name in second]
            if shared:
                raise WrongUse(
                    f"{quoted(shared)} cannot be in more than one of --x, --y and --given"
                )

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the question."""
        return (*self.x, *self.y, *self.given)

    def refuse_constant(self, sample: FileSample) -> None:
        """Refuse a constant column of x or y, and given columns that are all constant."""
        constant = [name for name in self.columns if sample.is_constant(name)]
        for option, names in (("--x", self.x), ("--y", self.y), ("--given", self.given)):
            of_these = [name for name in names if name in constant]
            if of_these and (option != "--given" or len(of_these) == len(names)):
                refuse_constant(sample, of_these, f"name others with {option}")

    def variables(self, sample: FileSample) -> list[Any]:
        """x, y and the given columns: tables, or arrays where the file is an array."""
        roles = [self.x, self.y, *([self.given] if self.given else [])]
        return [select(sample, names) for names in roles]


@dataclass(frozen=True)
class IndependenceChoice(Choice):
    """Independence test chosen on the command line."""

    test: IndependenceName = IndependenceName.AUTO

    @property
    def test_name(self) -> IndependenceName:
        """Name of the test, as --test gives it."""
        return self.test

    @property
    def has_series_form(self) -> bool:
        """Whether the test has a null distribution for rows that depend on those before them."""
        return self.test in _FOR_SERIES

    def run(self, variables: Sequence[Any]) -> Any:
        """Result of the test of two variables, or of two given a third."""
        conditional = len(variables) == 3
        name = self._effective_name(conditional)
        if (name in _CONDITIONAL) != conditional and name is not IndependenceName.AUTO:
            hint = (
                "does not take --given: use kernelgcm, kci or rcot"
                if conditional
                else "needs --given"
            )
            raise WrongUse(f"--test {name} {hint}")
        if self.series and conditional:
            raise WrongUse(
                "--series does not go with --given: add columns of earlier rows to --given instead"
            )
        self.check_series(*_FOR_SERIES)
        if self.series and name is IndependenceName.AUTO and self.resamples is None:
            return independence(variables[0], variables[1], series=True, rng=self.seed)
        if name is IndependenceName.AUTO and self.resamples is None:
            more = {"given": variables[2]} if conditional else {}
            return independence(variables[0], variables[1], rng=self.seed, **more)
        test, notes = self._make(name, variables)
        result = self.resampled(test).test(*variables, rng=self.seed)
        return replace(result, notes=(*notes, *result.notes))

    def resampling_null(self, test: Any, resamples: int) -> Permutation | None:
        """Permutations, for tests that permute by default."""
        permutes = isinstance(getattr(test, "null", None), Permutation)
        return Permutation(resamples) if permutes else None

    def _effective_name(self, conditional: bool) -> IndependenceName:
        """Name of the test; a kernel without a test means the quadratic one."""
        if not self.has_kernel or self.test is not IndependenceName.AUTO:
            return self.test
        return IndependenceName.KCI if conditional else IndependenceName.HSIC

    def _make(
        self, name: IndependenceName, variables: Sequence[Any]
    ) -> tuple[Any, tuple[str, ...]]:
        """The test, and notes on why it was chosen."""
        if name is IndependenceName.AUTO and self.series:
            test, why = chosen_for_series()
            return test, (why,)
        if name is IndependenceName.AUTO:
            test, why = chosen(
                len(variables[0]), width_of(variables[2]) if len(variables) == 3 else None
            )
            return test, (why,)
        kind = _CLASSES[name]
        if name is IndependenceName.DCOV:
            return kind(*(_distance_kernel(v) for v in variables)), ()
        return kind(**self._kernels(kind, name, variables)), ()

    def _kernels(
        self, kind: Any, name: IndependenceName, variables: Sequence[Any]
    ) -> dict[str, Any]:
        """Kernel arguments of the test, if a kernel was chosen."""
        if not self.has_kernel:
            return {}
        names = [f"kernel_{letter}" for letter in "xyz"[: len(variables)]]
        if not set(names) <= {f.name for f in fields(kind)}:
            raise WrongUse(
                f"--test {name} does not take a kernel for each variable: leave out --kernel and "
                "--bandwidth"
            )
        return {
            argument: kernel_for(self.kernel, variable, self.bandwidth)
            for argument, variable in zip(names, variables, strict=True)
        }


def select(sample: FileSample, names: Sequence[str]) -> Any:
    """These columns of a sample, as a table or an array."""
    places = [list(sample.columns).index(name) for name in names]
    points = sample.points
    if isinstance(points, Table):
        return replace(points, values=points.values[:, places], columns=points.columns.take(places))
    return np.ascontiguousarray(points[:, places])


def _distance_kernel(variable: Any) -> Any:
    """Energy kernel of numeric columns, each in units of its standard deviation."""
    if not isinstance(variable, Table):
        return Energy()
    columns = variable.columns
    labels = [
        name
        for name, categorical in zip(columns.names, columns.categorical, strict=True)
        if categorical
    ]
    if labels:
        raise Refused(f"--test dcov needs numeric columns, got labels in {quoted(labels)}")
    deviations = variable.values.std(axis=0)
    return Energy().scaled(tuple(1 / d if d > 0 else 1.0 for d in deviations))
