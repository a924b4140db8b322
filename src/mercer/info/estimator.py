"""Base of all estimators of information."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer.errors import NoRule
from mercer.info.information_measures import Integrals, Shannon
from mercer.info.sample import Sample, joined_columns

LARGEST_LOG = 700.0  # exp of it is finite in float64, exp of minus it positive


class Estimator:
    """An estimator of integrals of densities, from one sample or from two, or of mutual information."""

    def integrals(self, x: Sample, y: Sample | None = None) -> Integrals:
        """Integrals of the density of x, and of those of x and y."""
        raise NoRule(f"{self!r} estimates mutual information only: use KNN() for entropies")

    def information(self, variables: Sequence[Sample], given: Sample | None = None) -> float:
        """Shannon's mutual information of several variables, given another one; here from entropies."""
        condition = [] if given is None else [given]

        def entropy(samples: Sequence[Sample]) -> float:
            return Shannon().entropy(self.integrals(joined_columns([*samples, *condition])))

        total = sum(entropy([v]) for v in variables) - entropy(variables)
        return total - (len(variables) - 1) * entropy([]) if condition else total


class EstimatedIntegrals(Integrals):
    """Integrals of which an estimator knows some; asking for others raises `NoRule`."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def _unknown(self, what: str) -> NoRule:
        return NoRule(f"{self.estimator!r} does not estimate {what}: use KNN() on a sample")

    def power(self, a: float, b: float = 0.0) -> float:
        raise self._unknown(f"the integral of p^{a:g}" + f" q^{b:g}" * (b != 0))

    def log_p(self) -> float:
        raise self._unknown("Shannon's entropy")

    def log_q(self) -> float:
        raise self._unknown("cross-entropies")

    def mean(self, f: Callable[[np.ndarray], np.ndarray]) -> float:
        raise self._unknown("means of functions of the density")

    def weighted_mean(
        self, f: Callable[[np.ndarray], np.ndarray], weight: Callable[[np.ndarray], np.ndarray]
    ) -> float:
        raise self._unknown("weighted means of functions of the density")

    def mean_ratio(self, f: Callable[[np.ndarray], np.ndarray]) -> float:
        raise self._unknown("means of functions of the density ratio")

    def require_support(self) -> None:
        """Densities are not known well enough to tell."""

    def swapped(self) -> Integrals:
        raise self._unknown("divergences")

    def mixed(self, weight: float) -> tuple[Integrals, Integrals, Integrals]:
        raise self._unknown("entropies of mixtures")


def need_moderate_units(log_integral: float, sample: Sample) -> None:
    """Raise where float64 cannot hold an integral with this logarithm, as in many dimensions with large units."""
    if abs(log_integral) > LARGEST_LOG:
        raise ValueError(
            f"{sample.name} must have other units for this measure, whose integral float64 cannot hold: "
            "divide the data by a constant first"
        )


class ShannonIntegral(EstimatedIntegrals):
    """Shannon's entropy and no other integral."""

    def __init__(self, estimator: Estimator, entropy: float) -> None:
        super().__init__(estimator)
        self.entropy = entropy

    def log_p(self) -> float:
        return -self.entropy
