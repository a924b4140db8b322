"""Kernels on distributions made of entropies and divergences; points are histograms, Gaussians or samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp
from typing import Any

import numpy as np

from mercer import validate
from mercer.info.estimator import Estimator
from mercer.info.hilbertian_metric import HilbertianMetric
from mercer.info.information_measures import (
    L2,
    Hellinger,
    Measure,
)
from mercer.info.itemwise_distributions import (
    DISTRIBUTIONS,
    DistributionKernel,
    check_estimator,
    distribution_integrals,
    same_distribution,
)
from mercer.info.mixture_measures import Jeffreys, JensenShannon, JensenTsallis, L
from mercer.info.sample import require_instance
from mercer.kernels.theory import Facts, facts_rule

_JEFFREYS = Jeffreys()
_HALF = 0.5  # the exponent of the Bhattacharyya coefficient


@dataclass(frozen=True)
class ExponentiatedDivergence(DistributionKernel):
    """exp(-D(P, Q) / s) of a divergence D, symmetrised as (D(P, Q) + D(Q, P)) / 2, with the scale s.

    With `Jeffreys()`, the symmetric Kullback-Leibler divergence, this is the kernel of Moreno, Ho and Vasconcelos
    (2003), which is not positive definite in general: support vector machines warn where a matrix is indefinite.
    It is positive definite where D is conditionally negative definite: for `JensenShannon()` and `HilbertianMetric`
    (Hein and Bousquet 2005), `JensenTsallis(alpha)` with alpha up to 2 (Briet and Harremoes 2009), `Hellinger()` and
    `L2()`. These facts are about distributions; estimates from neighbours in samples may be indefinite all the same.

    Parameters
    ----------
    measure : Measure
        A divergence.
    scale : float
    estimator : Estimator or None
        Estimates the divergence of samples, as in `divergence`. `Parametric(Gaussian)` fits Gaussians, as Moreno et al. do.

    Examples
    --------
    >>> from mercer.info import ExponentiatedDivergence
    >>> from mercer.rkhs import Gaussian
    >>> ExponentiatedDivergence()([Gaussian(0.0, 1.0), Gaussian(1.0, 1.0)]).round(3)  # exp(-1/2 - 1/2)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    measure: Measure = _JEFFREYS
    scale: float = 1.0
    estimator: Estimator | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        require_instance("measure", self.measure, Measure, "Jeffreys()")
        validate.positive("scale", self.scale)
        check_estimator(self.estimator)

    def _of_pair(self, a: Any, b: Any, /) -> float:
        if same_distribution(a, b):
            return 1.0
        both = distribution_integrals(a, b, self.estimator)
        value = self.measure.divergence(both)
        if not isinstance(self.measure, _SYMMETRIC):
            value = (value + self.measure.divergence(both.swapped())) / 2
        return exp(-max(value, 0.0) / self.scale)


# Symmetric in P and Q, so that one order is enough.
_SYMMETRIC = (Jeffreys, JensenTsallis, L, Hellinger, L2, HilbertianMetric)


@dataclass(frozen=True)
class JensenTsallisKernel(DistributionKernel):
    """Jensen-Tsallis kernel 2^-q (int (p + r)^q - int p^q - int r^q) / (q - 1) of two densities p and r.

    It is log_q 2 minus the Jensen-Tsallis q-difference of Martins et al. (2009), positive definite for q up to 2.
    q = 1 is log 2 minus the Jensen-Shannon divergence, q = 2 half the inner product of the densities, q -> 0
    counts common values. Gaussians have a closed form for q = 2 only.

    Parameters
    ----------
    q : float
    estimator : Estimator or None
        Estimates the entropy of samples, as in `entropy`.

    References
    ----------
    A. Martins, N. Smith, E. Xing, P. Aguiar, M. Figueiredo (2009). Nonextensive information theoretic kernels on
    measures. Journal of Machine Learning Research 10, 935-975.

    Examples
    --------
    >>> from mercer.info import JensenTsallisKernel
    >>> JensenTsallisKernel(2.0)([[0.5, 0.5], [1.0, 0.0]])
    array([[0.25, 0.25],
           [0.25, 0.5 ]])
    """

    q: float = 1.0
    estimator: Estimator | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        validate.positive("q", self.q)
        if self.q > 2:
            raise ValueError(f"q must be at most 2 for a positive definite kernel, got {self.q!r}")
        check_estimator(self.estimator)

    def _of_pair(self, a: Any, b: Any, /) -> float:
        q = self.q
        if same_distribution(a, b):
            if q == 1:
                return float(np.log(2))
            return (
                (1 - 2 ** (1 - q))
                / (q - 1)
                * distribution_integrals(a, None, self.estimator).power(q)
            )
        both = distribution_integrals(a, b, self.estimator)
        if q == 1:
            return float(np.log(2)) - JensenShannon().divergence(both)
        if q == 2:
            return both.power(1, 1) / 2
        mixture, p, r = both.mixed(0.5)
        return mixture.power(q) / (q - 1) - 2**-q * (p.power(q) + r.power(q)) / (q - 1)


@dataclass(frozen=True)
class DensityProduct(DistributionKernel):
    """Probability product kernel int (p q)^rho of two densities, by estimates from samples (Poczos et al. 2012).

    rho = 1/2 is the Bhattacharyya coefficient, rho = 1 the inner product of the densities (Jebara et al. 2004). With
    neighbours, rho must be less than their number. `mercer.rkhs.ProbabilityProduct` smooths samples by Gaussian
    kernels instead, and has every rho of Gaussians and of their mixtures.

    Parameters
    ----------
    rho : float
    estimator : Estimator or None
        Estimates the entropy of samples, as in `entropy`; estimates from neighbours may be indefinite.

    References
    ----------
    B. Poczos, L. Xiong, D. Sutherland, J. Schneider (2012). Nonparametric kernel estimators for image classification.
    Computer Vision and Pattern Recognition, 2989-2996.

    Examples
    --------
    >>> from mercer.info import DensityProduct
    >>> DensityProduct()([[0.5, 0.5], [1.0, 0.0]]).round(3)
    array([[1.   , 0.707],
           [0.707, 1.   ]])
    """

    rho: float = 0.5
    estimator: Estimator | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        validate.positive("rho", self.rho)
        check_estimator(self.estimator)

    def _of_pair(self, a: Any, b: Any, /) -> float:
        if same_distribution(a, b):
            own = distribution_integrals(a, None, self.estimator)
            return 1.0 if self.rho == _HALF else own.power(2 * self.rho)
        both = distribution_integrals(a, b, self.estimator)
        return (both.power(self.rho, self.rho) + both.swapped().power(self.rho, self.rho)) / 2


# ---- what theory promises -----------------------------------------------------------------


@facts_rule(ExponentiatedDivergence)
def _exponentiated(kernel: ExponentiatedDivergence) -> Facts:
    """Schoenberg: exp(-t D) is positive definite for all t if and only if D is conditionally negative definite."""
    definite = None
    measure = kernel.measure
    if isinstance(measure, Jeffreys):
        definite = False
    elif isinstance(measure, Hellinger | L2 | HilbertianMetric | L):
        definite = True
    elif isinstance(measure, JensenShannon):
        definite = True if measure.weight == 0.5 else None
    elif isinstance(measure, JensenTsallis):
        definite = True if measure.alpha <= 2 else None
    return Facts(bounded=True, positive_definite=definite, domain=DISTRIBUTIONS)


@facts_rule(JensenTsallisKernel)
def _jensen_tsallis(kernel: JensenTsallisKernel) -> Facts:
    """k(p, p) is proportional to int p^q, which is 1 for q = 1 and otherwise grows with the width or the height of p."""
    return Facts(
        bounded=True if kernel.q == 1 else None, positive_definite=True, domain=DISTRIBUTIONS
    )


@facts_rule(DensityProduct)
def _density_product(kernel: DensityProduct) -> Facts:
    """An inner product of p^rho and q^rho."""
    return Facts(
        bounded=True if kernel.rho == _HALF else None, positive_definite=True, domain=DISTRIBUTIONS
    )
