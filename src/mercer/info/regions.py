"""Integrals of piecewise constant densities: sums over regions, or over the values of discrete distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.info.estimator import EstimatedIntegrals
from mercer.info.information_measures import Integrals


class RegionIntegrals(EstimatedIntegrals):
    """Sums of v p^a q^b over regions of volume v with constant densities p and q; v is 1 for probabilities."""

    def __init__(
        self, source: Any, p: np.ndarray, q: np.ndarray | None, volumes: Any = 1.0
    ) -> None:
        super().__init__(source)
        self.p, self.q, self.volumes = p, q, np.broadcast_to(volumes, p.shape)

    def log_p(self) -> float:
        inside = self.p > 0
        return float(np.sum((self.volumes * self.p)[inside] * np.log(self.p[inside])))

    def log_q(self) -> float:
        p, q = self.pair
        inside = p > 0
        with np.errstate(divide="ignore"):  # -inf where p has values that q has not
            return float(np.sum((self.volumes * p)[inside] * np.log(q[inside])))

    def power(self, a: float, b: float = 0.0) -> float:
        inside = self.p > 0
        terms = self.volumes[inside] * self.p[inside] ** a
        if b != 0:
            with np.errstate(divide="ignore"):
                terms = terms * self.pair[1][inside] ** b
        return float(np.sum(terms))

    def mean(self, f: Callable[[np.ndarray], np.ndarray]) -> float:
        inside = self.p > 0
        return float(np.sum((self.volumes * self.p)[inside] * f(self.p[inside])))

    def mean_ratio(self, f: Callable[[np.ndarray], np.ndarray]) -> float:
        p, q = self.pair
        inside = q > 0
        return float(np.sum((self.volumes * q)[inside] * f(p[inside] / q[inside])))

    def require_support(self) -> None:
        p, q = self.pair
        if np.any(p[q == 0] > 0):
            raise ValueError(
                "x has values that y has not, where the ratio of densities is infinite: use JensenShannon(), "
                "Hellinger() or L2(), or exchange x and y"
            )

    def swapped(self) -> RegionIntegrals:
        p, q = self.pair
        return RegionIntegrals(self.estimator, q, p, self.volumes)

    def mixed(self, weight: float) -> tuple[Integrals, Integrals, Integrals]:
        p, q = self.pair
        mixture = weight * p + (1 - weight) * q
        each = [RegionIntegrals(self.estimator, v, None, self.volumes) for v in (mixture, p, q)]
        return each[0], each[1], each[2]

    @property
    def pair(self) -> tuple[np.ndarray, np.ndarray]:
        """Both densities."""
        if self.q is None:
            raise ValueError("y is needed: a divergence compares two samples")
        return self.p, self.q
