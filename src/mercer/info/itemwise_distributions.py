"""Base of kernels of two distributions, which are histograms, distributions in closed form, or samples."""

from __future__ import annotations

from abc import abstractmethod
from math import exp
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import is_array, to_numpy
from mercer.info.closed_forms import closed_integrals, is_distribution
from mercer.info.entropies import default_entropy_estimator
from mercer.info.estimator import LARGEST_LOG, Estimator
from mercer.info.information_measures import Integrals
from mercer.info.regions import RegionIntegrals
from mercer.info.sample import Sample, read_sample, require_instance, same_columns
from mercer.kernels.base import Kernel
from mercer.kernels.objects import ItemwiseKernel
from mercer.rkhs.embeddings.bags import Bags

DISTRIBUTIONS = "distributions"  # the domain of these kernels
_UNIT = 1e-6  # by how much the sum of a histogram may differ from one


class DistributionKernel(ItemwiseKernel):
    """A kernel of two distributions: rows of histograms, distributions with closed forms, or samples.

    An array (n, values) holds histograms, one per row; a list holds Gaussians or other distributions, or samples
    (n_i, d), weighted ones as `Empirical`.
    """

    domain = DISTRIBUTIONS

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


def distribution_integrals(a: Any, b: Any, estimator: Estimator | None) -> Integrals:
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


def exponential(exponent: float, kernel: Kernel) -> float:
    """exp of a number, where float64 holds it."""
    if exponent > LARGEST_LOG:
        raise ValueError(
            f"values of {kernel!r} are as large as exp({exponent:,.0f}), which float64 cannot hold: divide the data by a "
            "constant first"
        )
    return exp(exponent)


def same_distribution(a: Any, b: Any) -> bool:
    """Whether two distributions are one and the same, of which no divergence is to be estimated."""
    if a is b:
        return True
    if not isinstance(a, Sample):
        return False
    return np.array_equal(a.masses, b.masses) and np.array_equal(
        to_numpy(a.values), to_numpy(b.values)
    )


def check_estimator(estimator: Estimator | None) -> None:
    """Require an estimator or None."""
    if estimator is not None:
        require_instance("estimator", estimator, Estimator, "KNN(), or None")
