"""From the names on the command line to a test object."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from mercer import kernels
from mercer.cli.exits import WrongUse
from mercer.cli.match import Sample
from mercer.cli.options import KernelName, TestName
from mercer.cli.table import Labels, quoted
from mercer.frames import Table
from mercer.htest.nulls import Permutation
from mercer.htest.samples import (
    cross_mmd,
    energy,
    hotelling,
    linear_time_mmd,
    maxmmd,
    me,
    mmd,
    mmdagg,
    mmdfuse,
    scf,
    ume,
)
from mercer.htest.samples.two_sample import chosen, two_sample
from mercer.kernels import Kernel, median_bandwidth
from mercer.kernels.default import categories, product, varying
from mercer.rkhs.sample_rows import stacked, taken

_KERNELS = {
    KernelName.RBF: kernels.RBF,
    KernelName.LAPLACE: kernels.Laplace,
    KernelName.EXPONENTIAL: kernels.Exponential,
    KernelName.MATERN: lambda bandwidth: kernels.Matern(1.5, bandwidth),
    KernelName.CAUCHY: kernels.Cauchy,
    KernelName.RATIONAL: lambda bandwidth: kernels.RationalQuadratic(1.0, bandwidth),
    KernelName.IMQ: kernels.InverseMultiquadric,
}
_CLASSES = {
    TestName.MMD: mmd.MMD,
    TestName.MMDAGG: mmdagg.MMDAgg,
    TestName.MMDFUSE: mmdfuse.MMDFuse,
    TestName.MAXMMD: maxmmd.MaxMMD,
    TestName.LINEAR: linear_time_mmd.LinearMMD,
    TestName.BLOCK: linear_time_mmd.BlockMMD,
    TestName.CROSS: cross_mmd.CrossMMD,
    TestName.ENERGY: energy.Energy,
    TestName.ME: me.ME,
    TestName.SCF: scf.SCF,
    TestName.UME: ume.UME,
    TestName.HOTELLING: hotelling.Hotelling,
}
_NUMBERS_ONLY = {TestName.ENERGY, TestName.HOTELLING, TestName.SCF}
_USUAL = 499  # permutations that every test draws which draws any
_LEARNT = 40  # rows of a file from which a half is enough to learn locations


@dataclass(frozen=True)
class Choice:
    """What was asked for on the command line."""

    test: TestName = TestName.AUTO
    kernel: KernelName | None = None
    bandwidth: float | None = None
    resamples: int | None = None
    seed: int = 0

    @property
    def name(self) -> TestName:
        """A kernel or a bandwidth without a test means the quadratic one."""
        given = self.kernel is not None or self.bandwidth is not None
        return TestName.MMD if given and self.test is TestName.AUTO else self.test

    def with_at_least(self, resamples: int) -> Choice:
        """More permutations where few are drawn, so that one batch among many can be found."""
        kind: Any = _CLASSES.get(self.name)
        permutes = kind is None or isinstance(getattr(kind(), "null", None), Permutation)
        if self.resamples is not None or resamples < _USUAL or not permutes:
            return self
        return replace(self, resamples=max(resamples, 999))

    def run(self, x: Sample, y: Sample, notes: list[str]) -> Any:
        """The result of the test."""
        if self.name is TestName.AUTO:
            return self._automatic(x, y)
        a, b, test = self._made(x, y, notes)
        return test.test(a, b, rng=self.seed)

    def plain(self, x: Sample, y: Sample) -> tuple[Any, Any, Any]:
        """The samples and the test as they are: nothing is learnt."""
        self._refuse_labels(x)
        kind: Any = _CLASSES[self.name]
        test = kind(**self._kernel(kind, x.points, y.points))
        return x.points, y.points, self._resampled(test)

    def quadratic(self, x: Sample, y: Sample) -> mmd.MMD:
        """The quadratic test with the kernel that the automatic one prefers."""
        return self._resampled(mmd.MMD(self._automatic(x, y).kernel))

    def _automatic(self, x: Sample, y: Sample) -> Any:
        if self.resamples is None:
            return two_sample(x.points, y.points, rng=self.seed)
        test, why = chosen(x.rows, y.rows)
        result = self._resampled(test).test(x.points, y.points, rng=self.seed)
        return replace(result, notes=(why, *result.notes))

    def _made(self, x: Sample, y: Sample, notes: list[str]) -> tuple[Any, Any, Any]:
        """The samples to test, and the test; learnt on other rows where it learns."""
        kind: Any = _CLASSES[self.name]
        kernel = self._kernel(kind, x.points, y.points)
        if not hasattr(kind, "optimized") or kernel or not _learnable(x, y):
            return self.plain(x, y)
        (a, learn_a), (b, learn_b) = _halves(x.points, self.seed), _halves(y.points, self.seed + 1)
        test = kind.optimized(learn_a, learn_b, rng=self.seed)
        notes.append(
            "half of the rows of each file taught the test where to look, the others were tested"
        )
        return a, b, self._resampled(test)

    def _kernel(self, kind: Any, x: Any, y: Any) -> dict[str, Any]:
        """The argument that gives the test its kernel, if one was asked for."""
        if self.kernel is None and self.bandwidth is None:
            return {}
        known = {f.name for f in fields(kind)}
        if not known & {"kernel", "kernels"}:
            raise WrongUse(f"--test {self.name} has no kernel: leave out --kernel and --bandwidth")
        kernel = kernel_for(self.kernel, stacked(x, y), self.bandwidth)
        return {"kernel": kernel} if "kernel" in known else {"kernels": (kernel,)}

    def _refuse_labels(self, sample: Sample) -> None:
        labels = [name for name, held in sample.columns.items() if isinstance(held, Labels)]
        if self.name in _NUMBERS_ONLY and labels:
            raise WrongUse(
                f"--test {self.name} takes numbers only, and labels are in {quoted(labels)}: "
                "choose --columns, or another test"
            )

    def _resampled(self, test: Any) -> Any:
        if self.resamples is None:
            return test
        if "null" not in {f.name for f in fields(test)}:
            raise WrongUse(f"--test {self.name} does not resample: leave out --resamples")
        return replace(test, null=Permutation(self.resamples))


def kernel_for(name: KernelName | None, both: Any, bandwidth: float | None) -> Kernel:
    """On tables: the kernel of the numbers, in their standard deviations, times that of labels."""
    make = _KERNELS[name or KernelName.RBF]
    if not isinstance(both, Table):
        return make(bandwidth or median_bandwidth(both))
    numbers, factors = varying(both), categories(both)
    if numbers is not None:
        base = make(bandwidth or median_bandwidth(numbers.values))
        factors = [numbers.kernel(base), *factors]
    return product(factors)


def _learnable(x: Sample, y: Sample) -> bool:
    table = x.points if isinstance(x.points, Table) else None
    numbers = table is None or not any(table.columns.categorical)
    return numbers and min(x.rows, y.rows) >= _LEARNT


def _halves(points: Any, seed: int) -> tuple[Any, Any]:
    rows = np.random.default_rng(seed).permutation(len(points))
    half = len(rows) // 2
    return taken(points, np.sort(rows[:half])), taken(points, np.sort(rows[half:]))
