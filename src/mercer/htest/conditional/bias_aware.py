"""Studentised means of products of residuals, with p-values that allow for the bias of the regressions.

Under independence given z the mean product of two residuals is normal with mean the product of two biases. That
is at most b standard errors, b from the models of both regressions, and the p-value is the largest one over all
biases up to b: P(|N + b| >= |t|) (bias-aware inference; Armstrong and Kolesar 2018).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.special import ndtr

from mercer.htest.conditional.bias_variance import sharpest_weights
from mercer.htest.conditional.regression import SmoothedResiduals

_MOST_CORRECTION = 20.0  # of a variance, where regressions use nearly all degrees of freedom


@dataclass(frozen=True)
class MeanProduct:
    """A mean of products of residuals over its standard error, and a bound on its bias in the same unit."""

    studentized: float
    bias_bound: float

    @property
    def pvalue(self) -> float:
        """The largest p-value over all biases within the bound."""
        t, b = abs(self.studentized), self.bias_bound
        return float(min(ndtr(b - t) + ndtr(-b - t), 1.0))

    def with_bias(self, least: float) -> MeanProduct:
        """The same mean with a bias bound of at least `least`."""
        return MeanProduct(self.studentized, max(self.bias_bound, least))


def trust(x: SmoothedResiduals, y: SmoothedResiduals) -> np.ndarray:
    """Weights of observations, small where both regressions lack neighbours: (n,).

    The product of biases is harmless where one of the two is small.
    """
    return sharpest_weights(np.sqrt(x.sparse * y.sparse / max(x.noise * y.noise, 1e-300)))


def mean_product(
    x: SmoothedResiduals, y: SmoothedResiduals, weights: np.ndarray, correction: float | None = None
) -> MeanProduct:
    """The mean of w r_x r_y; weights are functions of z, and `correction` is `variance_correction(x, y)`.

    A bias of several standard errors is extrapolated from a model that does not fit well, and may be larger
    still: such a bound is squared.
    """
    products = weights * x.values * y.values
    scale = variance_correction(x, y) if correction is None else correction
    error = sqrt(scale * float(np.sum(products**2)))
    if error == 0:
        return MeanProduct(0.0, 0.0)
    bias = np.sqrt((x.bias + x.sparse) * (y.bias + y.sparse))
    bound = float(np.sum(np.abs(weights) * bias)) / error
    return MeanProduct(float(np.sum(products)) / error, max(bound, bound**2))


def variance_correction(x: SmoothedResiduals, y: SmoothedResiduals) -> float:
    """Variance of a sum of products of residuals over the sum of their variances.

    Residuals are less variable than noise, and dependent. For noise of equal variance the ratio is
    tr (I - S)^2 (I - R)^2 over the sum of the products of the diagonals.
    """
    independent = float(np.sum((1 - x.removed) * (1 - y.removed)))
    ratio = x.trace_with(y) / max(independent, 1e-12)
    return float(np.clip(ratio, 1.0, _MOST_CORRECTION))
