"""Semigroup kernels on distributions: functions of the average of two distributions (Cuturi et al. 2005)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import to_numpy
from mercer.errors import NoRule
from mercer.info.estimator import Estimator
from mercer.info.information_measures import Measure, Renyi, Shannon, Tsallis
from mercer.info.itemwise_distributions import (
    DISTRIBUTIONS,
    DistributionKernel,
    check_estimator,
    distribution_integrals,
    exponential,
    same_distribution,
)
from mercer.info.sample import Sample, require_instance
from mercer.kernels.theory import Facts, facts_rule
from mercer.rkhs.gaussian import Gaussian

_SHANNON = Shannon()
_ROUNDING = 4 * float(np.finfo(np.float64).eps)  # of an eigenvalue of correlations, for each column


@dataclass(frozen=True)
class EntropyKernel(DistributionKernel):
    """Semigroup kernel exp(-h((P + Q) / 2) / s) of the entropy h of the average (Cuturi et al. 2005).

    Positive definite for every scale s with Shannon's entropy, with Tsallis' of order up to 2 (Martins et al. 2009) and
    with Renyi's of order below 1, whose entropies of an average are negative definite functions of the two
    distributions. Averages of Gaussians have no closed form: use `InverseGeneralizedVariance`, which replaces h by the
    Shannon entropy of the Gaussian with the same covariance.

    Parameters
    ----------
    scale : float
    measure : Shannon, Renyi, Tsallis or another entropy
    estimator : Estimator or None
        Estimates the entropy of samples, as in `entropy`.

    References
    ----------
    M. Cuturi, K. Fukumizu, J.-P. Vert (2005). Semigroup kernels on measures. Journal of Machine Learning
    Research 6, 1169-1198.

    Examples
    --------
    >>> from mercer.info import EntropyKernel
    >>> EntropyKernel()([[1.0, 0.0], [0.0, 1.0]])  # the average of both has the entropy log 2
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    scale: float = 1.0
    measure: Measure = field(default=_SHANNON, kw_only=True)
    estimator: Estimator | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        validate.positive("scale", self.scale)
        require_instance("measure", self.measure, Measure, "Shannon()")
        check_estimator(self.estimator)

    def _of_pair(self, a: Any, b: Any, /) -> float:
        if isinstance(a, Gaussian) or isinstance(b, Gaussian):
            raise NoRule(
                "no closed form of the entropy of an average of Gaussians: use InverseGeneralizedVariance(), or "
                "samples"
            )
        if same_distribution(a, b):  # the average is the distribution itself
            average = distribution_integrals(a, None, self.estimator)
        else:
            average, _, _ = distribution_integrals(a, b, self.estimator).mixed(0.5)
        return exponential(-self.measure.entropy(average) / self.scale, self)


@dataclass(frozen=True)
class InverseGeneralizedVariance(DistributionKernel):
    """Semigroup kernel det(C + r I)^(-1/2), C the covariance matrix of (P + Q) / 2, with the ridge r.

    Up to a constant exp(-h) of the Gaussian with this covariance, which has the largest entropy (Cuturi et al. 2005,
    inverse generalised variance). Positive definite. Bins of a histogram are orthogonal unit vectors, whose
    covariance diag(m) - mm' is singular, so that histograms need a ridge.

    Parameters
    ----------
    ridge : float
        In squared units of the data.

    Examples
    --------
    >>> from mercer.info import InverseGeneralizedVariance
    >>> from mercer.rkhs import Gaussian
    >>> InverseGeneralizedVariance()([Gaussian(0.0, 1.0), Gaussian(2.0, 1.0)]).round(3)  # variance 1 + 1
    array([[1.   , 0.707],
           [0.707, 1.   ]])
    """

    ridge: float = 0.0

    def __post_init__(self) -> None:
        validate.number("ridge", self.ridge)
        if self.ridge < 0:
            raise ValueError(f"ridge must be zero or positive, got {self.ridge!r}")

    def view(self, items: Any, /) -> list[Any]:
        return [_moments(item) for item in items]

    def value(self, a: Any, b: Any, /) -> float:
        (m, c), (n, d) = a, b
        if m.shape != n.shape:
            raise ValueError(
                f"x and y must have the same number of columns, got {len(m)} and {len(n)}"
            )
        covariance = (c + d) / 2 + np.outer(m - n, m - n) / 4 + self.ridge * np.eye(len(m))
        return exponential(-_log_determinant(covariance) / 2, self)

    def _of_pair(self, a: Any, b: Any, /) -> float:
        return self.value(_moments(a), _moments(b))


def _log_determinant(covariance: np.ndarray) -> float:
    """Logarithm of the determinant of a covariance matrix; that of the correlations shows whether it is singular."""
    variances = np.diagonal(covariance)
    if np.all(variances > 0):
        units = np.sqrt(variances)
        eigenvalues = linalg.eigvalsh(covariance / units / units[:, None])
        if eigenvalues[0] > _ROUNDING * len(units) * eigenvalues[-1]:
            return float(np.sum(np.log(eigenvalues)) + np.sum(np.log(variances)))
    raise ValueError(
        "the covariance matrix of an average is singular: use InverseGeneralizedVariance(ridge=0.01), in "
        "squared units of the data"
    )


# ---- what theory promises -----------------------------------------------------------------


@facts_rule(EntropyKernel)
def _entropy_kernel(kernel: EntropyKernel) -> Facts:
    """Power sums of p + q are negative definite up to the order 1, minus them up to 2; and so is a logarithm.

    Berg, Christensen and Ressel (1984), chapter 3: t -> t^a is a Bernstein function for a <= 1, -t^a negative
    definite on the half-line for 1 <= a <= 2, and log f negative definite where f > 0 is.
    """
    measure, definite = kernel.measure, None
    if isinstance(measure, Shannon):
        definite = True
    elif isinstance(measure, Tsallis):
        definite = True if measure.alpha <= 2 else None
    elif isinstance(measure, Renyi):
        definite = True if measure.alpha < 1 else None
    return Facts(positive_definite=definite, domain=DISTRIBUTIONS)


@facts_rule(InverseGeneralizedVariance)
def _inverse_generalized_variance(kernel: InverseGeneralizedVariance) -> Facts:
    return Facts(
        bounded=kernel.ridge > 0, positive_definite=True, separates=False, domain=DISTRIBUTIONS
    )


def _moments(item: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance matrix of a distribution."""
    if isinstance(item, np.ndarray):
        return item, np.diag(item) - np.outer(item, item)
    if isinstance(item, Sample):
        points = to_numpy(item.numbers("InverseGeneralizedVariance", weighted=True))
        centred = points - item.masses @ points
        return item.masses @ points, (centred * item.masses[:, None]).T @ centred
    if isinstance(item, Gaussian):
        return item.mean, np.diag(item.cov) if item.cov.ndim == 1 else item.cov
    raise NoRule(f"no covariance matrix of {item!r}: use samples, such as p.sample(10_000, rng=0)")
