"""Columns of a file as variables, and the test of their independence that was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

import numpy as np

from mercer.cli.exits import Refused, WrongUse
from mercer.cli.match import Sample
from mercer.cli.options import KernelName
from mercer.cli.table import quoted
from mercer.cli.test_registry import kernel_for
from mercer.frames import Table
from mercer.htest import (
    HSIC,
    KCI,
    NFSIC,
    RCIT,
    RDC,
    BlockHSIC,
    CrossHSIC,
    FourierHSIC,
    HSICAgg,
    NystromHSIC,
    Permutation,
    RCoT,
)
from mercer.htest.dependence.independence import chosen, independence
from mercer.kernels import Energy


class IndependenceName(StrEnum):
    """The tests of independence, by the names the command gives them."""

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
}
_CONDITIONAL = {IndependenceName.KCI, IndependenceName.RCIT, IndependenceName.RCOT}


@dataclass(frozen=True)
class Question:
    """Columns of a file by the part they have: x _||_ y, perhaps given others."""

    x: tuple[str, ...]
    y: tuple[str, ...]
    given: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for one, other in ((self.x, self.y), (self.x, self.given), (self.y, self.given)):
            both = [name for name in one if name in other]
            if both:
                raise WrongUse(f"{quoted(both)} can be in one of --x, --y and --given only")

    @property
    def columns(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.x, *self.y, *self.given)

    def variables(self, sample: Sample) -> list[Any]:
        """Tables of the columns, or arrays where the file is one."""
        parts = [self.x, self.y, *([self.given] if self.given else [])]
        return [part(sample, names) for names in parts]


@dataclass(frozen=True)
class IndependenceChoice:
    """What was asked for on the command line."""

    test: IndependenceName = IndependenceName.AUTO
    kernel: KernelName | None = None
    bandwidth: float | None = None
    resamples: int | None = None
    seed: int = 0

    def run(self, variables: Sequence[Any]) -> Any:
        """The result of the test."""
        given = len(variables) == 3
        name = self._name(given)
        if (name in _CONDITIONAL) != given and name is not IndependenceName.AUTO:
            needed = "needs --given" if not given else "takes no --given: use kci, rcit or rcot"
            raise WrongUse(f"--test {name} {needed}")
        if name is IndependenceName.AUTO and self.resamples is None:
            more = {"given": variables[2]} if given else {}
            return independence(variables[0], variables[1], rng=self.seed, **more)
        test, notes = self._made(name, variables)
        result = self._resampled(test).test(*variables, rng=self.seed)
        return replace(result, notes=(*notes, *result.notes))

    def _name(self, given: bool) -> IndependenceName:
        """A kernel or a bandwidth without a test means the quadratic one."""
        asked = self.kernel is not None or self.bandwidth is not None
        if not asked or self.test is not IndependenceName.AUTO:
            return self.test
        return IndependenceName.KCI if given else IndependenceName.HSIC

    def _made(
        self, name: IndependenceName, variables: Sequence[Any]
    ) -> tuple[Any, tuple[str, ...]]:
        if name is IndependenceName.AUTO:
            test, why = chosen(len(variables[0]), len(variables) == 3)
            return test, (why,)
        kind = _CLASSES[name]
        if name is IndependenceName.DCOV:
            return kind(*(_energy(v) for v in variables)), ()
        return kind(**self._kernels(kind, name, variables)), ()

    def _kernels(
        self, kind: Any, name: IndependenceName, variables: Sequence[Any]
    ) -> dict[str, Any]:
        """The arguments that give the test its kernels, if one was asked for."""
        if self.kernel is None and self.bandwidth is None:
            return {}
        known = {f.name for f in fields(kind)}
        names = [f"kernel_{part}" for part in "xyz"[: len(variables)]]
        if not set(names) <= known:
            raise WrongUse(f"--test {name} has no such kernel: leave out --kernel and --bandwidth")
        return {
            part: kernel_for(self.kernel, variable, self.bandwidth)
            for part, variable in zip(names, variables, strict=True)
        }

    def _resampled(self, test: Any) -> Any:
        if self.resamples is None:
            return test
        if not isinstance(getattr(test, "null", None), Permutation):
            raise WrongUse(f"--test {self.test} does not permute: leave out --resamples")
        return replace(test, null=Permutation(self.resamples))


def part(sample: Sample, names: Sequence[str]) -> Any:
    """Some columns of a sample."""
    places = [list(sample.columns).index(name) for name in names]
    points = sample.points
    if isinstance(points, Table):
        return replace(points, values=points.values[:, places], columns=points.columns.take(places))
    return np.ascontiguousarray(points[:, places])


def _energy(variable: Any) -> Any:
    """Distances of columns in their standard deviations; labels have none."""
    if isinstance(variable, Table):
        labels = [
            name
            for name, categorical in zip(
                variable.columns.names, variable.columns.categorical, strict=True
            )
            if categorical
        ]
        if labels:
            raise Refused(f"--test dcov takes numbers only, and labels are in {quoted(labels)}")
        deviations = variable.values.std(axis=0)
        return Energy().scaled(tuple(1 / d if d > 0 else 1.0 for d in deviations))
    return Energy()
