"""Projected covariance measure: a conditional test that learns in which direction x helps to predict y."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from scipy.special import ndtr

from mercer.htest.conditional.basis import NumericTable
from mercer.htest.conditional.bias_aware import MeanProduct, mean_product
from mercer.htest.conditional.regression import (
    SmoothedResiduals,
    fitted_on_part,
    regress_on,
    standard,
)
from mercer.htest.conditional.residual_test import RegressedVariables, ResidualTest, Term

_MOST_BIAS = 1e6  # standard errors; stands for "not known" in a sum of two halves


@dataclass(frozen=True)
class PCM(ResidualTest):
    """Projected covariance measure (PCM): does x help to predict y beyond z?

    On one half of the observations a function h(x, z) is learned that predicts the residuals of y after
    regression on z; on the other half its covariance with y given z is tested, as in `GCM` (Lundborg, Kim,
    Shah and Samworth 2024). The halves then change places, and the two studentised means are added (averaged, where x
    has categories). The test detects any dependence of the mean of y on x given z, also where the covariance of x and y is zero; it
    does not treat x and y alike.

    Parameters
    ----------
    regression : None
        Regressions are those of `GCM`; other estimators are not supported.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(600, 2))
    >>> e = rng.normal(size=600)
    >>> x, y = z[:, 0] + e, np.sin(2 * z[:, 0]) + rng.normal(size=600)
    >>> PCM().test(x, y, z).rejects()
    False
    >>> PCM().test(x, y + np.cos(2 * e), z).rejects()
    True
    """

    regression: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.regression is not None:
            raise TypeError(
                f"PCM has no other regression than its own, got {self.regression!r}: use GCM(regression)"
            )

    def _terms(self, regressed: RegressedVariables) -> Iterable[Term]:
        n = len(regressed.z.values)
        first = np.arange(n) % 2 == 0
        both = regressed.x_table.expanded().beside(regressed.z)
        shares = 1 / len(regressed.y)
        # Regressions on categories are nearly the same linear map in both halves, whose studentised means then had a
        # correlation of 0.55: their mean has a variance of at most 1 whatever it is.
        scale = 2.0 if any(regressed.x_table.categorical) else sqrt(2)
        for residuals in regressed.y:
            halves = [
                self._half(regressed, both, residuals, train, test)
                for train, test in ((first, ~first), (~first, first))
            ]
            t, b = (sum(part) / scale for part in zip(*halves, strict=True))
            yield Term(OneSided(t, min(b, _MOST_BIAS)), shares)

    @staticmethod
    def _half(
        regressed: RegressedVariables,
        both: NumericTable,
        residuals: SmoothedResiduals,
        train: np.ndarray,
        test: np.ndarray,
    ) -> tuple[float, float]:
        """The studentised mean on the observations of `test`, and the bound on its bias."""
        direction = fitted_on_part(both, standard(residuals.values), train)[test]
        z = regressed.z.rows(test)
        targets = [standard(direction), standard(residuals.values[test])]
        if not np.any(targets[0]):
            return 0.0, 0.0
        _, (h, y) = regress_on(z, targets)
        product = mean_product(h, y, np.ones(len(targets[0])))
        return product.studentized, product.bias_bound


@dataclass(frozen=True)
class OneSided(MeanProduct):
    """A mean that is positive under dependence."""

    @property
    def pvalue(self) -> float:
        """The largest p-value over all biases within the bound, of a positive mean."""
        return float(ndtr(self.bias_bound - self.studentized))
