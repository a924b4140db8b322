"""The two-parameter family of squared Hilbertian metrics on distributions."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isinf

import numpy as np

from mercer import validate
from mercer.info.information_measures import Integrals, Measure


@dataclass(frozen=True)
class HilbertianMetric(Measure):
    """Squared Hilbertian metric c int (M_a(p, q) - M_b(p, q)), M_a the power mean ((p^a + q^a) / 2)^(1/a).

    The squared distance of two vectors of a Hilbert space for a >= 1 and b in [1/2, a) or b <= -1 (Hein and Bousquet
    2005, section 3; Fuglede 2005), with c = 2^(1/a + 1/b) / |2^(1/a) - 2^(1/b)|. Members: (1, 1/2) twice the squared
    Hellinger distance int (sqrt p - sqrt q)^2; (1, -1) a third of the symmetric chi-square int (p - q)^2 / (p + q);
    (inf, 1) the total variation int |p - q|; a and b towards 1 the
    Jensen-Shannon divergence times 2 / log 2. Either parameter
    may be infinite.

    Examples
    --------
    >>> from mercer.info import HilbertianMetric, divergence
    >>> from mercer.rkhs import Gaussian
    >>> round(divergence(Gaussian(0.0, 1.0), Gaussian(2.0, 1.0), HilbertianMetric(1, 0.5)), 3)  # 2 - 2 exp(-1/2)
    0.787
    """

    alpha: float = 1.0
    beta: float = -1.0

    def __post_init__(self) -> None:
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not (isinstance(value, float) and isinf(value)):
                validate.number(name, value)
        if self.alpha < 1:
            raise ValueError(f"alpha must be at least 1, got {self.alpha!r}")
        if not (0.5 <= self.beta < self.alpha or self.beta <= -1):
            raise ValueError(
                f"beta must be from 1/2 to alpha = {self.alpha:g}, which is excluded, or at most -1, got "
                f"{self.beta!r}: equal parameters are JensenShannon()"
            )

    def divergence(self, integrals: Integrals) -> float:
        if (self.alpha, self.beta) == (1, 0.5):
            return 2 - 2 * integrals.power(0.5, 0.5)

        # d(p, q) = q d(u, 1) / (1 + u) + p d(1, v) / (1 + v) with the ratios u = p / q and v = q / p: both terms are
        # bounded, and values that only one of the distributions has are counted.
        def share(ratio: np.ndarray) -> np.ndarray:
            return self._of_ratio(np.asarray(ratio, dtype=np.float64)) / (1 + ratio)

        return integrals.mean_ratio(share) + integrals.swapped().mean_ratio(share)

    def _of_ratio(self, u: np.ndarray) -> np.ndarray:
        """c (M_a(u, 1) - M_b(u, 1))."""
        a, b = (0.0 if isinf(v) else 1 / v for v in (self.alpha, self.beta))
        constant = 2 ** (a + b) / abs(2**a - 2**b)
        return constant * (_power_mean(u, self.alpha) - _power_mean(u, self.beta))


def _power_mean(u: np.ndarray, a: float) -> np.ndarray:
    """((u^a + 1) / 2)^(1/a), scaled by the larger number against overflow."""
    large, small = np.maximum(u, 1.0), np.minimum(u, 1.0)
    if a == inf:
        return large
    if a == -inf:
        return small
    ratio = small / large
    with np.errstate(divide="ignore"):  # zero to a negative power is infinite, and the mean is zero
        return large * ((ratio**a + 1) / 2) ** (1 / a)
