"""Tests and kernels by their names on the command line."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from mercer import kernels
from mercer.backend import count
from mercer.cli.exits import WrongUse
from mercer.cli.match import FileSample
from mercer.cli.streamed_files import StreamedSample
from mercer.cli.table import LabelColumn, quoted
from mercer.cli.test_names import KernelName, TestName
from mercer.frames import Table
from mercer.htest.nulls import Permutation, WildBootstrap
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
from mercer.htest.samples.two_sample import chosen, chosen_for_series, two_sample
from mercer.kernels import Kernel, median_bandwidth
from mercer.kernels.default import categories, product, varying
from mercer.rkhs.sample_rows import stacked, taken
from mercer.row_streams import RowStream

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
_FOR_SERIES = (TestName.AUTO, TestName.MMD, TestName.ENERGY)
_PERMUTED = {  # by default, and also where rows are read part by part
    TestName.AUTO, TestName.MMD, TestName.MMDAGG, TestName.MMDFUSE, TestName.MAXMMD, TestName.ENERGY,
}  # fmt: skip
_DEFAULT_PERMUTATIONS = 499  # permutation tests draw at least this many by default
_MIN_ROWS_TO_LEARN = 40  # of each file: 20 to learn locations from, 20 to test


@dataclass(frozen=True)
class Choice(ABC):
    """Kernel, bandwidth, number of resamples and seed from the command line.

    A subclass for each kind of test adds the test itself.
    """

    kernel: KernelName | None = None
    bandwidth: float | None = None
    resamples: int | None = None
    seed: int = 0
    series: bool = False  # rows depend on those before them

    @property
    def has_series_form(self) -> bool:
        """Whether the test has a null distribution for rows that depend on those before them."""
        return False

    @property
    def has_kernel(self) -> bool:
        """Whether a kernel or a bandwidth was chosen; without a test that means the quadratic one."""
        return self.kernel is not None or self.bandwidth is not None

    @property
    @abstractmethod
    def test_name(self) -> str:
        """Name of the test, as --test gives it."""

    @abstractmethod
    def resampling_null(self, test: Any, resamples: int) -> Any:
        """Null distribution of `test` with this many resamples; None if it does not resample."""

    def check_series(self, *tests: str) -> None:
        """Refuse --series with any other test than these."""
        if self.series and self.test_name not in tests:
            raise WrongUse(
                f"--test {self.test_name} takes rows for independent: with --series use "
                f"{', '.join(f'--test {name}' for name in tests if name != 'auto')}, or leave it out"
            )

    def resampled(self, test: Any) -> Any:
        """`test` with the number of resamples that was chosen; for series with a null for them."""
        more = {} if self.resamples is None else {"resamples": self.resamples}
        if self.series:
            return replace(test, null=WildBootstrap(block=None, **more))
        if self.resamples is None:
            return test
        null = self.resampling_null(test, self.resamples)
        if null is None:
            raise WrongUse(f"--test {self.test_name} does not resample: leave out --resamples")
        return replace(test, null=null)

    def kernel_argument(self, kind: Any, kernel: Kernel) -> dict[str, Any]:
        """Argument by which tests of the class `kind` take one kernel."""
        parameters = {f.name for f in fields(kind)}
        if not parameters & {"kernel", "kernels"}:
            raise WrongUse(
                f"--test {self.test_name} has no kernel: leave out --kernel and --bandwidth"
            )
        return {"kernel": kernel} if "kernel" in parameters else {"kernels": (kernel,)}


@dataclass(frozen=True)
class TwoSampleChoice(Choice):
    """Two-sample test chosen on the command line."""

    test: TestName = TestName.AUTO
    paired: bool = False  # row i of one sample belongs to row i of the other

    @property
    def test_name(self) -> TestName:
        """Name of the test; a kernel without a test means MMD."""
        return TestName.MMD if self.has_kernel and self.test is TestName.AUTO else self.test

    @property
    def has_series_form(self) -> bool:
        """Whether the test has a null distribution for rows that depend on those before them."""
        return self.test_name in _FOR_SERIES

    def with_at_least(self, resamples: int) -> TwoSampleChoice:
        """More permutations if the default is too few to reject one batch among many."""
        kind: Any = _CLASSES.get(self.test_name)
        permutes = kind is None or isinstance(getattr(kind(), "null", None), Permutation)
        if self.resamples is not None or resamples < _DEFAULT_PERMUTATIONS or not permutes:
            return self
        return replace(self, resamples=max(resamples, 999))

    def run(self, x: Any, y: Any, notes: list[str]) -> Any:
        """Result of the test of two samples of files; what it did to the data is added to `notes`."""
        self.check_series(*_FOR_SERIES)
        self._check_paired()
        if self.test_name is TestName.AUTO:
            return self._automatic(x.points, y.points)
        tested_x, tested_y, test = self._learnt(x, y, notes)
        return test.test(tested_x, tested_y, rng=self.seed)

    def resampled(self, test: Any) -> Any:
        """`test` with the number of resamples that was chosen; for series and pairs with a null for them."""
        test = super().resampled(test)
        return replace(test, null=replace(test.null, paired=True)) if self.paired else test

    def _check_paired(self) -> None:
        """Refuse --paired with a test that does not permute its samples by default."""
        if self.paired and self.test_name not in _PERMUTED:
            known = ", ".join(
                f"--test {name}" for name in TestName if name in _PERMUTED - {TestName.AUTO}
            )
            raise WrongUse(
                f"--test {self.test_name} does not swap rows within pairs: with --paired use {known}, or leave it out"
            )

    @property
    def streams(self) -> bool:
        """Whether the test, or the one in its place, can read samples part by part."""
        if (
            self.series
            or self.paired
            or (self.resamples is not None and self.test_name not in _PERMUTED)
        ):
            return False
        return self.test_name is TestName.AUTO or _CLASSES[self.test_name]().reads_parts

    def streamed(self, x: StreamedSample, y: StreamedSample, notes: list[str]) -> Any:
        """Result of the test of two samples that are read part by part; a kernel has the bandwidth of random rows."""
        if self.test_name is TestName.AUTO:
            return self._automatic(x.stream, y.stream)
        kind: Any = _CLASSES[self.test_name]
        if _has_locations(kind):
            notes.append("the places where the samples are compared were drawn at random")
        kernel = self._kernel(kind, x.drawn(), y.drawn()) if self.has_kernel else {}
        return self.resampled(kind(**kernel)).test(x.stream, y.stream, rng=self.seed)

    def without_learning(self, x: FileSample, y: FileSample) -> tuple[Any, Any, Any]:
        """Both samples and the test with its default locations: no row is spent on learning."""
        self._refuse_labels(x)
        kind: Any = _CLASSES[self.test_name]
        test = kind(**self._kernel(kind, x.points, y.points))
        return x.points, y.points, self.resampled(test)

    def quadratic(self, x: FileSample, y: FileSample) -> mmd.MMD:
        """MMD with the kernel that rejects most clearly in the automatic test."""
        return self.resampled(mmd.MMD(self._automatic(x.points, y.points).kernel))

    def resampling_null(self, test: Any, resamples: int) -> Permutation | None:
        """Permutations, for every test with a null distribution to choose."""
        return Permutation(resamples) if "null" in {f.name for f in fields(test)} else None

    def _automatic(self, x: Any, y: Any) -> Any:
        """Result of the automatic test of points, or of streams of rows."""
        if self.resamples is None and not self.paired:
            return two_sample(x, y, series=self.series, rng=self.seed)
        test, why = (
            chosen_for_series()
            if self.series
            else chosen(count(x), count(y), parts=isinstance(x, RowStream))
        )
        result = self.resampled(test).test(x, y, rng=self.seed)
        return replace(result, notes=(why, *result.notes))

    def _learnt(self, x: FileSample, y: FileSample, notes: list[str]) -> tuple[Any, Any, Any]:
        """Rows to test, and the test; tests with locations learn them from the other rows."""
        kind: Any = _CLASSES[self.test_name]
        kernel = self._kernel(kind, x.points, y.points)
        if not _has_locations(kind) or kernel or not _learnable(x, y):
            return self.without_learning(x, y)
        test_x, learn_x = _halves(x.points, self.seed)
        test_y, learn_y = _halves(y.points, self.seed + 1)
        test = kind.optimized(learn_x, learn_y, rng=self.seed)
        notes.append(
            "the test learnt its locations from half of the rows of each file; the other half was "
            "tested"
        )
        return test_x, test_y, self.resampled(test)

    def _kernel(self, kind: Any, x: Any, y: Any) -> dict[str, Any]:
        if not self.has_kernel:
            return {}
        kernel = kernel_for(self.kernel, stacked(x, y), self.bandwidth)
        return self.kernel_argument(kind, kernel)

    def _refuse_labels(self, sample: FileSample) -> None:
        labels = [name for name, c in sample.columns.items() if isinstance(c, LabelColumn)]
        if self.test_name in _NUMBERS_ONLY and labels:
            raise WrongUse(
                f"--test {self.test_name} needs numeric columns, got labels in {quoted(labels)}: "
                "select others with --columns, or choose another test"
            )


def kernel_for(name: KernelName | None, points: Any, bandwidth: float | None) -> Kernel:
    """Kernel of this name; median bandwidth by default.

    On a table: the kernel of the numeric columns, in units of their standard deviations, times
    those of the categorical columns.
    """
    make = _KERNELS[name or KernelName.RBF]
    if not isinstance(points, Table):
        return make(bandwidth or median_bandwidth(points))
    numbers, factors = varying(points), categories(points)
    if numbers is not None:
        base = make(bandwidth or median_bandwidth(numbers.values))
        factors = [numbers.kernel(base), *factors]
    return product(factors, points.columns.names)


def _has_locations(kind: Any) -> bool:
    """Whether the test has locations or frequencies to learn."""
    return not {"locations", "frequencies"}.isdisjoint(field.name for field in fields(kind))


def _learnable(x: FileSample, y: FileSample) -> bool:
    """Whether the columns are numeric and the rows enough to learn locations from a half."""
    table = x.points if isinstance(x.points, Table) else None
    numeric = table is None or not any(table.columns.categorical)
    return numeric and min(x.rows, y.rows) >= _MIN_ROWS_TO_LEARN


def _halves(points: Any, seed: int) -> tuple[Any, Any]:
    """Random halves of the rows, each in the order of the file."""
    rows = np.random.default_rng(seed).permutation(len(points))
    half = len(rows) // 2
    return taken(points, np.sort(rows[:half])), taken(points, np.sort(rows[half:]))
