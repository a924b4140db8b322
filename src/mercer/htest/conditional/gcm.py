"""Generalised covariance measure: conditional independence tests by mean products of residuals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.htest.conditional.basis import EffectBasis, robust_columns
from mercer.htest.conditional.bias_aware import MeanProduct, mean_product, variance_correction
from mercer.htest.conditional.regression import SmoothedResiduals, regress, standard
from mercer.htest.conditional.residual_test import (
    RegressedVariables,
    ResidualTest,
    Term,
    equal_shares,
)

# Share of the level for the covariance itself, in `KernelGCM`: a share of 0.8 costs at most 0.025 of the power of `GCM`.
_PLAIN_SHARE = 0.8
_FEATURE_SHARE = 0.12  # for features of the residuals
_WEIGHTED_SHARE = 0.08  # for covariances that change with z
_MOST_PAIRS = 36  # of columns of x and y, with features of their residuals
_FREQUENCIES = (1.5, 2.0)  # of an even and of an odd feature of residuals of variance one
_SHAPE_EFFECTS = ("line", "levels", "smooth")  # of z on spread and shape of the noise


@dataclass(frozen=True)
class GCM(ResidualTest):
    """Generalised covariance measure (GCM): is the covariance of x and y given z zero on average?

    The statistic is the mean product of the residuals of x and y after regression on z over its standard
    error (Shah and Peters 2020), for several columns the largest. It is normal with a bias that is the
    product of two errors of regression, and so of second order. The p-value allows for as much bias as the
    data cannot exclude; `result.diagnosis` says how much that is.

    The test detects dependence with a covariance given z that does not cancel over z; `KernelGCM` detects
    more.

    Parameters
    ----------
    regression : estimator or None
        A scikit-learn regressor whose residuals are taken from cross-fitting in ten folds; what the
        regression below can still predict of them is taken for bias. None: a Gaussian
        process with a variance of its own for straight, smooth and wiggly effects of every column, for
        products and for pairs of columns.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(300, 3))
    >>> x = z.sum(axis=1) + rng.normal(size=300)
    >>> y = np.sin(z[:, 0]) + rng.normal(size=300)
    >>> GCM().test(x, y, z).rejects()
    False
    >>> GCM().test(x, y + 0.5 * x, z).rejects()
    True
    """

    regression: Any = None

    def _terms(self, regressed: RegressedVariables) -> Iterable[Term]:
        return equal_shares(regressed.covariances.values(), 1.0)


@dataclass(frozen=True)
class WeightedGCM(ResidualTest):
    """Weighted generalised covariance measure: `GCM`, also with weights that change sign with z.

    Half of the level is for the covariance itself, half for covariances weighted by the columns of z
    (Scheidegger, Horrmann and Buhlmann 2022): these detect dependence whose sign changes with z.

    Parameters
    ----------
    regression : estimator or None
        As in `GCM`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z, x = rng.normal(size=(2, 500))
    >>> y = z * x + rng.normal(size=500)
    >>> WeightedGCM().test(x, y, z).rejects()
    True
    """

    regression: Any = None

    def _terms(self, regressed: RegressedVariables) -> Iterable[Term]:
        plain = equal_shares(regressed.covariances.values(), 0.5)
        return [*plain, *equal_shares(_weighted(regressed), 0.5)]


@dataclass(frozen=True)
class KernelGCM(ResidualTest):
    """Covariance measure of residuals and of their features: are x and y independent given z?

    The default of `mercer.independence` with `given`. Three kinds of mean products share the level: the
    residuals of x and y themselves (80%, as `GCM`), a cosine and a sine of them (12%), which detect
    dependence without covariance such as that of e and e^2, and residuals weighted by the columns of z
    (8%, as `WeightedGCM`). The features are regressed on z again, so that spread or shape of the noise
    may depend on z.

    Parameters
    ----------
    regression : estimator or None
        As in `GCM`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(500, 5))
    >>> e = rng.normal(size=500)
    >>> x, y = np.sin(3 * z[:, 0]) + e, z[:, 1] + rng.normal(size=500)
    >>> KernelGCM().test(x, y, z).rejects()
    False
    >>> KernelGCM().test(x, y + e**2, z).rejects()
    True
    """

    regression: Any = None

    def _terms(self, regressed: RegressedVariables) -> Iterable[Term]:
        features = list(_featured(regressed))
        plain = _PLAIN_SHARE + (0.0 if features else _FEATURE_SHARE)
        terms = equal_shares(regressed.covariances.values(), plain)
        terms += equal_shares(_weighted(regressed), _WEIGHTED_SHARE)
        return terms + (equal_shares(features, _FEATURE_SHARE) if features else [])


def _weighted(regressed: RegressedVariables) -> Iterator[MeanProduct]:
    """Covariances weighted by every column of z, minus its mean and bent in."""
    for column in np.arcsinh(robust_columns(regressed.z.values)).T:
        yield from regressed.weighted(standard(column)).values()


def _featured(regressed: RegressedVariables) -> Iterator[MeanProduct]:
    """Mean products of an even and an odd feature of the residuals with each other and with residuals."""
    if regressed.basis is None or len(regressed.weights) > _MOST_PAIRS:
        return
    basis = regressed.basis.only(*_SHAPE_EFFECTS)
    x, y = (
        [_features(basis, residuals) for residuals in side] for side in (regressed.x, regressed.y)
    )
    for (i, j), trust in regressed.weights.items():
        even_x, odd_x = x[i]
        even_y, odd_y = y[j]
        pairs = (
            (regressed.x[i], even_y),
            (even_x, regressed.y[j]),
            (even_x, even_y),
            (odd_x, odd_y),
        )
        for first, second in pairs:
            if first is not None and second is not None:
                # features of dependent residuals are taken to be as dependent as these
                correction = max(variance_correction(first, second), regressed.corrections[i, j])
                product = mean_product(first, second, trust, correction)
                yield product.with_bias(regressed.covariances[i, j].bias_bound)


def _features(
    basis: EffectBasis, residuals: SmoothedResiduals
) -> tuple[SmoothedResiduals | None, SmoothedResiduals | None]:
    """Residuals of cos and sin of the residuals after regression on z; None for constant features."""
    e, (even, odd) = residuals.standardized, _FREQUENCIES
    targets = (standard(np.cos(even * e)), standard(np.sin(odd * e)))
    cosine, sine = (regress(basis, t) if np.any(t) else None for t in targets)
    return cosine, sine
