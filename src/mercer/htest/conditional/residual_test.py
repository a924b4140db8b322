"""Base class of conditional tests that compare residuals of regressions on z."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mercer import validate
from mercer.backend import is_array, to_numpy
from mercer.config import settings
from mercer.htest.conditional.basis import EffectBasis, NumericTable, most_features, within_reach
from mercer.htest.conditional.bias_aware import (
    MeanProduct,
    mean_product,
    trust,
    variance_correction,
)
from mercer.htest.conditional.cross_fitting import cross_fitted
from mercer.htest.conditional.diagnosis import Diagnosis, RegressionCheck, checked, neighbours
from mercer.htest.conditional.regression import SmoothedResiduals, regress_on, standard
from mercer.htest.conditional_memory import need_memory
from mercer.htest.dependence.dependence_result import IndependenceResult, independence_result
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Judgement
from mercer.rkhs.paired_samples import Variable, variables

MIN_ROWS = 8  # observations; fewer do not support a regression on z
_NEGLIGIBLE_SHARE = 1e-7  # of the variance, below which z explains a variable up to rounding


_FEATURE_COPIES = 5  # in memory at the same time


class Term(NamedTuple):
    """A studentised mean, and the share of the level that it gets."""

    product: MeanProduct
    share: float


@dataclass(frozen=True)
class ConditionalResult(IndependenceResult):
    """The result of a conditional test, with a diagnosis of its regressions.

    `pvalue` allows for the bias that the regressions may leave; `diagnosis` says how large that is.
    """

    diagnosis: Diagnosis | None = None


@dataclass(frozen=True)
class RegressedVariables:
    """Residuals of the columns of x and y, at the observations within reach of others."""

    z: NumericTable
    x_table: NumericTable
    basis: EffectBasis | None  # None: residuals of an estimator of the user
    x: tuple[SmoothedResiduals, ...]
    y: tuple[SmoothedResiduals, ...]
    checks: tuple[tuple[RegressionCheck, ...], tuple[RegressionCheck, ...]]
    size: int  # observations, also those out of reach

    @cached_property
    def weights(self) -> dict[tuple[int, int], np.ndarray]:
        """Trust in every observation, for every pair of columns of x and y."""
        pairs = ((i, j) for i in range(len(self.x)) for j in range(len(self.y)))
        return {(i, j): trust(self.x[i], self.y[j]) for i, j in pairs}

    @cached_property
    def covariances(self) -> dict[tuple[int, int], MeanProduct]:
        """The generalised covariance measure of every column of x with every column of y."""
        return self.weighted(np.ones(self.z.values.shape[0]))

    def weighted(self, weight: np.ndarray) -> dict[tuple[int, int], MeanProduct]:
        """The same with a function of z as weight: (n,)."""
        return {
            (i, j): mean_product(self.x[i], self.y[j], trust * weight, self.corrections[i, j])
            for (i, j), trust in self.weights.items()
        }

    @cached_property
    def corrections(self) -> dict[tuple[int, int], float]:
        """`variance_correction` of every column of x with every column of y."""
        return {(i, j): variance_correction(self.x[i], self.y[j]) for i, j in self.weights}

    @property
    def rows(self) -> float:
        """Share of the observations that the test rests on."""
        return float(np.mean([np.sum(w) for w in self.weights.values()])) / self.size


class ResidualTest(HypothesisTest):
    """Test of x _||_ y | z by means of products of residuals after regression on z.

    Several means share the level, by Bonferroni's inequality with unequal shares.
    """

    regression: Any

    def __post_init__(self) -> None:
        if self.regression is not None and not hasattr(self.regression, "fit"):
            raise TypeError(
                "regression must be an estimator with fit and predict, such as "
                f"RandomForestRegressor(), or None for mercer's own, got {self.regression!r}"
            )

    @abstractmethod
    def _terms(self, regressed: RegressedVariables) -> Iterable[Term]:
        """The means and their shares of the level, which sum to one."""

    def statistic(self, x: Any, y: Any, z: Any) -> float:
        """The studentised mean with the smallest p-value for its share of the level."""
        return self.test(x, y, z).statistic

    def test(self, x: Any, y: Any, z: Any, *, rng: Any = None) -> ConditionalResult:
        """The statistic, its p-value and a diagnosis; nothing is random."""
        validate.generator(rng)
        read = variables((None, None, None), (x, y, z), least=MIN_ROWS)
        x_table, y_table, z_table = (table_of(variable) for variable in read)
        z_table = z_table.expanded()
        n, width = z_table.values.shape
        what = f"the regression on {width} columns of {n:,} observations"
        need_memory(what, _feature_bytes(n, width))
        regressed = self._regressed(x_table, y_table, z_table, read)
        bias = max(product.bias_bound for product in regressed.covariances.values())
        diagnosis = Diagnosis(*regressed.checks, bias, regressed.rows)
        best = min(self._terms(regressed), key=lambda term: term.product.pvalue / term.share)
        pvalue = min(best.product.pvalue / best.share, 1.0)
        notes = diagnosis.notes()
        if any(_determined(r) for r in (*regressed.x, *regressed.y)):
            pvalue, notes = (
                1.0,
                (
                    f"{read[2].described} determines {read[0].described} or {read[1].described} completely: there is nothing to "
                    "test.",
                ),
            )
        judgement = Judgement.by_tail(pvalue, best.product.studentized)
        result = independence_result(
            self, read, best.product.studentized, judgement, notes, given=True
        )
        return _with_diagnosis(result, diagnosis)

    def _regressed(
        self, x: NumericTable, y: NumericTable, z: NumericTable, read: Sequence[Variable]
    ) -> RegressedVariables:
        rows = within_reach(z)
        if np.count_nonzero(rows) < MIN_ROWS:
            rows = np.ones(len(rows), dtype=bool)
        z = z.rows(rows)
        targets = [[standard(c) for c in t.rows(rows).indicators().T] for t in (x, y)]
        if self.regression is None:
            basis, both = regress_on(z, [*targets[0], *targets[1]])
            residuals = [both[: len(targets[0])], both[len(targets[0]) :]]
        else:
            basis = None
            residuals = [[cross_fitted(self.regression, z, t) for t in side] for side in targets]
        near = neighbours(z)
        sides, checks = [], []
        given = read[2].described
        for variable, table, side in zip(read[:2], (x, y), residuals, strict=True):
            labels = _labels(variable, table.rows(rows).indicators_of_columns())
            pairs = [checked(r, near, label, given) for r, label in zip(side, labels, strict=True)]
            sides.append(tuple(r for r, _ in pairs))
            checks.append(tuple(c for _, c in pairs))
        return RegressedVariables(
            z, x.rows(rows), basis, sides[0], sides[1], (checks[0], checks[1]), len(rows)
        )


def _labels(variable: Variable, indicators: list[int]) -> list[str]:
    """Names of the regressions of one variable: those of its columns, and numbers of the indicators of categories."""
    number = sum(indicators)
    if number == 1:
        return [variable.described]
    if variable.columns is None:
        return [f"{variable.name}[{i}]" for i in range(number)]
    return [
        f"{variable.name} ({name})"
        if k == 1
        else f"{variable.name} ({name}, indicator {i + 1} of {k})"
        for name, k in zip(variable.columns.names, indicators, strict=True)
        for i in range(k)
    ]


def affordable(n: int, width: int) -> bool:
    """Whether the features of so many columns of z fit into the memory budget."""
    return _feature_bytes(n, width) <= settings().memory


def _feature_bytes(n: int, width: int) -> int:
    return _FEATURE_COPIES * 8 * n * most_features(n, width)


def table_of(variable: Variable) -> NumericTable:
    """The columns of a variable as numbers, in the coordinates of the user."""
    points = variable.uncentred
    if not is_array(points) or points.ndim != 2:
        raise TypeError(
            f"{variable.name} must have columns of numbers or categories for a regression, got "
            f"{type(points).__name__}: use KCI, which takes any kernel"
        )
    values = np.asarray(to_numpy(points), dtype=np.float64)
    columns = variable.columns
    labels = (False,) * values.shape[1] if columns is None else tuple(columns.categorical)
    return NumericTable(values, labels)


def equal_shares(products: Iterable[MeanProduct], share: float) -> list[Term]:
    """Terms that divide a share of the level equally."""
    listed = list(products)
    return [Term(product, share / len(listed)) for product in listed]


def _determined(residuals: SmoothedResiduals) -> bool:
    """Whether z predicts a variable up to rounding, by a regression that does not merely interpolate."""
    simple = residuals.degrees < len(residuals.values) / 2
    return simple and float(np.mean(residuals.values**2)) < _NEGLIGIBLE_SHARE


def _with_diagnosis(result: IndependenceResult, diagnosis: Diagnosis) -> ConditionalResult:
    fields = {name: getattr(result, name) for name in result.__dataclass_fields__}
    return ConditionalResult(**fields, diagnosis=diagnosis)
