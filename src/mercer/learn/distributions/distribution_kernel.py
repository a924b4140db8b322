"""Default kernel of distributions: Gaussian in the MMD, at the scale of the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import count, is_array, to_numpy
from mercer.features.kernel_estimator import KernelEstimator
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel
from mercer.kernels.prepare import as_table
from mercer.kernels.radial import RBF
from mercer.rkhs import MeanMap
from mercer.rkhs.embeddings.as_bags import as_bags

_DRAWS_FOR_BANDWIDTH = 20  # points of each distribution: enough for a median distance of points
_MAX_DISTRIBUTIONS_FOR_BANDWIDTH = (
    500  # 125,000 pairs: enough for a median distance of distributions
)


class DistributionLearner(KernelEstimator):
    """A learner of distributions whose default kernel is that of `default_distribution_kernel`."""

    def _default_kernel(self, x: Any) -> Kernel:
        if getattr(x, "ndim", 0) == 2:
            super()._default_kernel(x)  # refuses points without distances
        return default_distribution_kernel(x)


def default_distribution_kernel(x: Any) -> Kernel:
    """RBF of the distances of mean embeddings, with median distances as both bandwidths.

    exp(-MMD(P, Q)^2 / 2 s^2), where the MMD is that of an RBF kernel of points.
    """
    frame = as_table(x, "X")
    vectors = is_array(x) and x.ndim < 3 and x.dtype != object
    if (
        vectors or frame is not None
    ):  # distinct ones, so that a weight of two equals a repeated point
        x = np.unique(to_numpy(x if frame is None else frame.values), axis=0)
    inner = MeanMap(median_rbf(_pooled(x), name="X"))
    stride = -(-count(x) // _MAX_DISTRIBUTIONS_FOR_BANDWIDTH)
    values = to_numpy(inner(x[::stride] if stride > 1 else x))
    norms2 = np.diagonal(values)
    distances2 = (norms2[:, None] + norms2 - 2 * values)[np.triu_indices(len(values), 1)]
    positive = distances2[distances2 > 1e-12 * norms2.max()]
    return RBF(float(np.sqrt(np.median(positive))) if len(positive) else 1.0).on(inner)


def _pooled(x: Any) -> np.ndarray:
    """Points of all distributions, at most a fixed number of each."""
    rng = np.random.default_rng(0)
    bags = as_bags(x, draws=_DRAWS_FOR_BANDWIDTH, rng=rng)
    if bags.weights is None and bags.sizes.max() <= _DRAWS_FOR_BANDWIDTH:
        return to_numpy(bags.values)
    small = bags.sizes <= _DRAWS_FOR_BANDWIDTH
    samples = [
        to_numpy(bag.points if is_small else bag.sample(_DRAWS_FOR_BANDWIDTH, rng=rng))
        for bag, is_small in zip(bags, small, strict=True)
    ]
    return np.concatenate(samples)
