"""Test of zero partial correlation, for linear relations with Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import linalg
from mercer.backend import to_numpy
from mercer.htest.dependence.dependence_result import IndependenceResult, independence_result
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Judgement
from mercer.kernels import Linear
from mercer.rkhs.paired_samples import Variable, variables

_NEGLIGIBLE = 1e-10  # share of the variance below which z explains a column up to rounding


@dataclass(frozen=True)
class PartialCorrelation(HypothesisTest):
    """Test of zero partial correlation of x and y given z: exact for linear relations with Gaussian noise.

    Columns of x and y are regressed linearly on z. The statistic is the largest squared canonical correlation of
    the residuals, for single columns the squared partial correlation, and the p-value is that of Wilks' lambda
    with Rao's F approximation, which is exact if x or y has one or two columns. It sees linear dependence only,
    and what is left of nonlinear effects of z looks like dependence: `KernelGCM` makes neither assumption.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(200, 2))
    >>> x, y = z @ rng.normal(size=(2, 2)) + rng.normal(size=(200, 2)), z[:, 0] + rng.normal(size=200)
    >>> PartialCorrelation().test(x, y, z).rejects()
    False
    >>> PartialCorrelation().test(x, y + x[:, 0], z).rejects()
    True
    """

    def statistic(self, x: Any, y: Any, z: Any = None) -> float:
        """Largest squared canonical correlation given z."""
        return self.test(x, y, z).statistic

    def test(self, x: Any, y: Any, z: Any = None, *, rng: Any = None) -> IndependenceResult:
        """The statistic and its p-value; nothing is random. z None: the plain correlation."""
        samples = (x, y) if z is None else (x, y, z)
        observed = variables((Linear(),) * len(samples), samples)
        first, second, *others = (_columns(v) for v in observed)
        given = others[0] if others else first[:, :0]
        squares, freedom = _canonical_squares(first, second, given)
        statistic = float(np.max(squares, initial=0.0))
        judgement = _wilks(squares, (first.shape[1], second.shape[1]), freedom)
        return independence_result(self, observed, statistic, judgement, given=z is not None)


def _columns(variable: Variable) -> np.ndarray:
    values = to_numpy(variable.points).astype(np.float64)
    return values - values.mean(axis=0)


def _canonical_squares(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, int]:
    """Squared canonical correlations of the residuals of x and y given z, and the residual degrees of freedom."""
    basis = _orthonormal(z, np.sum(z**2, axis=0))
    first, second = (_orthonormal(v - basis @ (basis.T @ v), np.sum(v**2, axis=0)) for v in (x, y))
    products = first.T @ second
    squares = linalg.eigvalsh(products @ products.T)[::-1]
    rank = min(first.shape[1], second.shape[1])
    return np.clip(squares[:rank], 0.0, 1.0 - 1e-15), len(x) - 1 - basis.shape[1]


def _orthonormal(columns: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Orthonormal basis of columns, without those that are rounding in units of their sizes."""
    scaled = columns / np.sqrt(np.maximum(sizes, 1e-300))
    values, vectors = linalg.eigh(scaled.T @ scaled)
    positive = values > _NEGLIGIBLE
    return scaled @ (vectors[:, positive] / np.sqrt(values[positive]))


def _wilks(squares: np.ndarray, widths: tuple[int, int], freedom: int) -> Judgement:
    """p-value of Wilks' lambda prod(1 - r^2) by Rao's F (Rao 1951); `freedom` is that of the residuals."""
    from scipy import stats

    p, q = widths
    shape = (p * p * q * q - 4) / (p * p + q * q - 5) if p * p + q * q > 5 else 1.0
    power = np.sqrt(max(shape, 1.0))
    upper = p * q
    lower = (freedom - (p + q + 1) / 2) * power - upper / 2 + 1
    if lower <= 0:
        raise ValueError(
            f"partial correlation needs more observations: {p} and {q} columns leave no degrees of freedom"
        )
    log_wilks = float(np.sum(np.log1p(-squares))) / power
    ratio = float(np.expm1(-log_wilks)) * lower / upper
    law = stats.f(upper, lower)
    return Judgement.by_tail(law.sf(ratio), ratio, law)
