"""Entropies and divergences from distances to nearest neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, isqrt, lgamma, log, pi, sqrt

import numpy as np

from mercer import validate
from mercer.backend import namespace, scalar, to_numpy
from mercer.info.estimator import EstimatedIntegrals, Estimator, need_moderate_units
from mercer.info.information_measures import Integrals, weights_at
from mercer.info.neighbours import kth_distances
from mercer.info.sample import Sample, fixed_generator, more_points_than, same_columns


@dataclass(frozen=True)
class KNN(Estimator):
    """Estimator from the distances to the k-th neighbours, consistent for every fixed k.

    The volume V of the ball around x_i up to its k-th neighbour among m points, times the density, is
    Beta(k, m + 1 - k) distributed where the density is constant in the ball. Its moments and the mean of its
    logarithm remove the bias: -E log p = psi(n) - psi(k) + E log V (Kozachenko and Leonenko 1987), and the same
    for integrals of p^a q^b (Leonenko, Pronzato and Savani 2008; Poczos and Schneider 2011), which need
    k > a - 1 and k > b. Means of other functions of densities and of their ratios, `Phi` and `FDivergence`, use
    at least sqrt(n) neighbours. Repeated points are refused where a distance is zero. The bias falls like
    n^(-2/d), so that much is left in more than about six dimensions. Where this has psi(n) the limit for many
    points, as in the toolbox ITE, is log(n - 1); the divergence there has log(m / (n - 1)), and here psi(m + 1) - psi(n).

    Parameters
    ----------
    k : int or None
        Number of neighbours. None: sqrt(n) of each sample, rounded down, so that variances vanish faster and
        biases more slowly (Wang, Kulkarni and Verdu 2009).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.info import entropy
    >>> x = np.random.default_rng(0).normal(size=(4000, 2))
    >>> round(entropy(x, estimator=KNN(5)), 2)  # log(2 pi e) = 2.84
    2.8...
    """

    k: int | None = 3

    def __post_init__(self) -> None:
        if self.k is not None:
            validate.whole("k", self.k)

    def integrals(self, x: Sample, y: Sample | None = None) -> Integrals:
        return NeighbourIntegrals(self, x, y)


class NeighbourIntegrals(EstimatedIntegrals):
    """Integrals of the densities of one or two samples from distances of neighbours."""

    def __init__(self, estimator: KNN, x: Sample, y: Sample | None) -> None:
        super().__init__(estimator)
        self.k, self.x, self.y = estimator.k, x, y
        more_points_than(x, self._neighbours(x), repr(estimator))
        if y is not None:
            same_columns(x, y)
            more_points_than(y, self._neighbours(y), repr(estimator))
        self.scale = _spread(x)

    def log_p(self) -> float:
        k = self._neighbours(self.x)
        log_volumes = self._log_volumes(self.x, k)
        return _digamma(k) - _digamma(len(self.x)) - float(np.mean(log_volumes))

    def log_q(self) -> float:
        k = self._neighbours(self._other)
        log_volumes = self._log_volumes(self._other, k)
        return _digamma(k) - _digamma(len(self._other) + 1) - float(np.mean(log_volumes))

    def power(self, a: float, b: float = 0.0) -> float:
        if a == 0:
            return self.swapped().power(b)
        logs = np.zeros(len(self.x))
        if a != 1:
            logs += self._log_power(self.x, a - 1, len(self.x) - 1)
        if b != 0:
            logs += self._log_power(self._other, b, len(self._other))
        need_moderate_units(float(np.max(logs)), self.x)
        return float(np.mean(np.exp(logs)))

    def mean(self, f: Callable[[np.ndarray], np.ndarray]) -> float:
        return float(np.mean(f(self._density())))

    def weighted_mean(
        self, f: Callable[[np.ndarray], np.ndarray], weight: Callable[[np.ndarray], np.ndarray]
    ) -> float:
        points = to_numpy(self.x.numbers("KNN"))
        weights = weights_at(weight, points[:, 0] if self.x.dimension == 1 else points)
        return float(np.mean(weights * f(self._density())))

    def mean_ratio(self, f: Callable[[np.ndarray], np.ndarray]) -> float:
        """Mean of f(p / q) at the points of q."""
        other = NeighbourIntegrals(KNN(self.k), self._other, self.x)
        n, m = len(self.x), len(self._other)
        k = self._growing(min(n, m))
        log_p = -log(n) - other._log_volumes(self.x, k)
        log_q = -log(m - 1) - other._log_volumes(self._other, k)
        return float(np.mean(f(np.exp(log_p - log_q))))

    def swapped(self) -> NeighbourIntegrals:
        return NeighbourIntegrals(KNN(self.k), self._other, self.x)

    def mixed(self, weight: float) -> tuple[Integrals, Integrals, Integrals]:
        """A sample of the mixture has as many points of either sample as their sizes allow."""
        x, y, estimator = self.x, self._other, KNN(self.k)
        size = min(len(x) / weight, len(y) / (1 - weight))
        rng = fixed_generator()
        left = x.take(np.sort(rng.permutation(len(x))[: round(size * weight)]))
        right = y.take(np.sort(rng.permutation(len(y))[: round(size * (1 - weight))]))
        values = namespace(left.values).concat([left.values, right.values])
        mixture = Sample(values, x.categorical, f"{x.name} and {y.name}")
        each = (NeighbourIntegrals(estimator, sample, None) for sample in (mixture, x, y))
        return next(each), next(each), next(each)

    # ---- private ----------------------------------------------------------------------

    @property
    def _other(self) -> Sample:
        if self.y is None:
            raise ValueError("y is needed: a divergence compares two samples")
        return self.y

    def _density(self) -> np.ndarray:
        """Density at every point of x, by at least sqrt(n) neighbours: (n,)."""
        k = self._growing(len(self.x))
        log_density = log(max(k - 1, 0.5) / (len(self.x) - 1)) - self._log_volumes(self.x, k)
        return np.exp(log_density)

    def _neighbours(self, sample: Sample) -> int:
        """k, or the root of the size of a sample."""
        return max(isqrt(len(sample)), 1) if self.k is None else self.k

    def _growing(self, n: int) -> int:
        return min(max(self.k or 1, ceil(sqrt(n))), n - 1)

    def _log_power(self, sample: Sample, exponent: float, m: int) -> np.ndarray:
        """log p(x_i)^exponent without bias, from the neighbours of x_i among m points of a sample: (n,)."""
        k = self._neighbours(sample)
        if exponent >= k:
            raise ValueError(
                f"k must be larger than {exponent:g} for this measure, got {k}: use KNN({int(exponent) + 1})"
            )
        constant = lgamma(k) + lgamma(m + 1 - exponent) - lgamma(k - exponent) - lgamma(m + 1)
        return constant - exponent * self._log_volumes(sample, k)

    def _log_volumes(self, sample: Sample, k: int) -> np.ndarray:
        """Logarithm of the volume of the ball at x_i up to its k-th neighbour in a sample: (n,)."""
        x = self.x.numbers("KNN") / self.scale
        y = None if sample is self.x else sample.numbers("KNN") / self.scale
        distances = to_numpy(kth_distances(x, k, y))
        zero = int(np.sum(distances == 0))
        if zero:
            raise ValueError(
                f"KNN needs continuous data, but {zero} of the {len(distances)} points of {self.x.name} have "
                f"{k} neighbours at distance zero in {sample.name}: use PlugIn() for discrete data; "
                "for rounded measurements add noise of the width of the rounding"
            )
        d = self.x.dimension
        ball = d / 2 * log(pi) - lgamma(d / 2 + 1)
        return d * (np.log(distances) + log(self.scale)) + ball


def _spread(sample: Sample) -> float:
    """Largest absolute value after centring, by which numbers are divided against overflow."""
    values = sample.numbers("KNN")
    xp = namespace(values)
    spread = scalar(xp.max(values)) / 2 - scalar(xp.min(values)) / 2
    return spread if spread > 0 else 1.0


def _digamma(value: float) -> float:
    from scipy.special import digamma

    return float(digamma(value))
