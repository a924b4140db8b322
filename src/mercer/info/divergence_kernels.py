"""Kernels on distributions made of entropies and divergences; points are histograms, Gaussians or samples."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from math import exp
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import is_array, to_numpy
from mercer.errors import NoRule
from mercer.info.closed_forms import closed_integrals, is_distribution
from mercer.info.entropies import default_entropy_estimator
from mercer.info.estimator import Estimator
from mercer.info.hilbertian_metric import HilbertianMetric
from mercer.info.information_measures import L2, Hellinger, Integrals, Measure, Shannon
from mercer.info.mixture_measures import Jeffreys, JensenShannon, JensenTsallis, L
from mercer.info.regions import RegionIntegrals
from mercer.info.sample import Sample, read_sample, require_instance, same_columns
from mercer.kernels.objects import ItemwiseKernel
from mercer.kernels.theory import Facts, facts_rule
from mercer.rkhs.embeddings.bags import Bags
from mercer.rkhs.gaussian import Gaussian

_JEFFREYS = Jeffreys()
_DOMAIN = "distributions"
_UNIT = 1e-6  # by how much the sum of a histogram may differ from one


class DistributionKernel(ItemwiseKernel):
    """A kernel of two distributions: rows of histograms, distributions with closed forms, or samples.

    An array (n, values) holds histograms, one per row; a list holds Gaussians or other distributions, or samples
    (n_i, d), weighted ones as `Empirical`.
    """

    domain = _DOMAIN

    def items(self, x: Any, name: str, /) -> list[Any]:
        if isinstance(x, Bags):
            return [read_sample(bag, f"{name}[{i}]") for i, bag in enumerate(x)]
        if is_array(x) and x.dtype == object and x.ndim == 1:
            x = x.tolist()
        stacked = is_array(x) and x.ndim == 3
        if stacked or (isinstance(x, list | tuple) and validate.holds_objects(x)):
            return [_distribution(item, f"{name}[{i}]") for i, item in enumerate(x)]
        return list(_histograms(x, name))

    def view(self, items: Any, /) -> list[Any]:
        return list(items)

    def value(self, a: Any, b: Any, /) -> float:
        if isinstance(a, Sample) and isinstance(b, Sample):
            same_columns(a, b)
        elif isinstance(a, np.ndarray) != isinstance(b, np.ndarray) or isinstance(a, Sample) != (
            isinstance(b, Sample)
        ):
            raise TypeError(
                f"{self!r} compares distributions of one kind: histograms, distributions known in closed form, or "
                "samples; draw samples of those that are known, such as p.sample(1000, rng=0)"
            )
        return self._of_pair(a, b)

    @abstractmethod
    def _of_pair(self, a: Any, b: Any, /) -> float:
        """k of two distributions of one kind."""


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
        Of divergences of samples, as in `divergence`. `Parametric(Gaussian)` fits Gaussians, as Moreno et al. do.

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
        _check_estimator(self.estimator)

    def _of_pair(self, a: Any, b: Any, /) -> float:
        if _same(a, b):
            return 1.0
        both = _integrals(a, b, self.estimator)
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
        Of samples, as in `entropy`.

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
        _check_estimator(self.estimator)

    def _of_pair(self, a: Any, b: Any, /) -> float:
        q = self.q
        if _same(a, b):
            if q == 1:
                return float(np.log(2))
            return (1 - 2 ** (1 - q)) / (q - 1) * _integrals(a, None, self.estimator).power(q)
        both = _integrals(a, b, self.estimator)
        if q == 1:
            return float(np.log(2)) - JensenShannon().divergence(both)
        if q == 2:
            return both.power(1, 1) / 2
        mixture, p, r = both.mixed(0.5)
        return mixture.power(q) / (q - 1) - 2**-q * (p.power(q) + r.power(q)) / (q - 1)


@dataclass(frozen=True)
class EntropyKernel(DistributionKernel):
    """Semigroup kernel exp(-h((P + Q) / 2) / s) of the Shannon entropy h of the average (Cuturi et al. 2005).

    Positive definite for every scale s. Averages of Gaussians have no closed form: use
    `InverseGeneralizedVariance`, which replaces h by the entropy of the Gaussian with the same covariance.

    Parameters
    ----------
    scale : float
    estimator : Estimator or None
        Of samples, as in `entropy`.

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
    estimator: Estimator | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        validate.positive("scale", self.scale)
        _check_estimator(self.estimator)

    def _of_pair(self, a: Any, b: Any, /) -> float:
        if isinstance(a, Gaussian) or isinstance(b, Gaussian):
            raise NoRule(
                "no closed form of the entropy of an average of Gaussians: use InverseGeneralizedVariance(), or "
                "samples"
            )
        if _same(a, b):  # the average is the distribution itself
            return exp(-Shannon().entropy(_integrals(a, None, self.estimator)) / self.scale)
        mixture, _, _ = _integrals(a, b, self.estimator).mixed(0.5)
        return exp(-Shannon().entropy(mixture) / self.scale)


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
        sign, log_determinant = linalg.slogdet(covariance)
        scale = float(np.trace(covariance)) / len(m)
        # A singular matrix has the determinant zero up to rounding, relative to its size.
        if sign <= 0 or log_determinant < len(m) * np.log(max(scale, 1e-300)) - _LARGEST_DROP:
            raise ValueError(
                "the covariance matrix of an average is singular: use InverseGeneralizedVariance(ridge=0.01), in "
                "squared units of the data"
            )
        return exp(-log_determinant / 2)

    def _of_pair(self, a: Any, b: Any, /) -> float:
        return self.value(_moments(a), _moments(b))


_LARGEST_DROP = 34.0  # log of the condition that float64 resolves, about 1 / eps


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
    return Facts(bounded=True, positive_definite=definite, domain=_DOMAIN)


@facts_rule(JensenTsallisKernel)
def _jensen_tsallis(kernel: JensenTsallisKernel) -> Facts:
    return Facts(bounded=True if kernel.q <= 1 else None, positive_definite=True, domain=_DOMAIN)


@facts_rule(EntropyKernel)
def _entropy_kernel(kernel: EntropyKernel) -> Facts:
    return Facts(positive_definite=True, domain=_DOMAIN)


@facts_rule(InverseGeneralizedVariance)
def _inverse_generalized_variance(kernel: InverseGeneralizedVariance) -> Facts:
    return Facts(bounded=kernel.ridge > 0, positive_definite=True, separates=False, domain=_DOMAIN)


# ---- reading ------------------------------------------------------------------------------


def _histograms(x: Any, name: str) -> np.ndarray:
    rows = to_numpy(validate.points(x, name)).astype(np.float64)
    if np.any(rows < 0) or np.any(np.abs(rows.sum(axis=1) - 1) > _UNIT):
        raise ValueError(
            f"{name} must hold histograms, rows of non-negative numbers that add up to one: divide each by its sum; "
            "pass samples as a list of arrays"
        )
    return rows


def _distribution(item: Any, name: str) -> Any:
    return item if is_distribution(item) else read_sample(item, name)


def _integrals(a: Any, b: Any, estimator: Estimator | None) -> Integrals:
    """Integrals of one distribution, or of two of one kind."""
    if isinstance(a, np.ndarray):
        if b is not None and a.shape != b.shape:
            raise ValueError(
                f"x and y must have the same number of columns, got {len(a)} and {len(b)}"
            )
        return RegionIntegrals("histograms", a, b)
    if isinstance(a, Sample):
        return default_entropy_estimator(estimator, a).integrals(a, b)
    return closed_integrals(a, b)


def _same(a: Any, b: Any) -> bool:
    """Whether two distributions are one and the same, of which no divergence is to be estimated."""
    if a is b:
        return True
    if not isinstance(a, Sample):
        return False
    return np.array_equal(a.masses, b.masses) and np.array_equal(
        to_numpy(a.values), to_numpy(b.values)
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


def _check_estimator(estimator: Estimator | None) -> None:
    if estimator is not None:
        require_instance("estimator", estimator, Estimator, "KNN(), or None")
