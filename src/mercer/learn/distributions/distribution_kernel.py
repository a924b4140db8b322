"""The kernel of distributions that come without one, at the scale of their points and distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import count, is_array, to_numpy
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel
from mercer.kernels.prepare import as_table
from mercer.kernels.radial import RBF
from mercer.rkhs import Bags, MeanMap
from mercer.rkhs.embeddings.as_bags import as_bags

_DRAWN = 20  # points of each distribution that say how far apart points are
_SOME = 500  # distributions that say how far apart distributions are


def default_distribution_kernel(x: Any) -> Kernel:
    """RBF of the distances of mean embeddings, both bandwidths at the median distance.

    exp(-MMD(P, Q)^2 / 2 s^2), with MMD that of an RBF kernel of points.
    """
    frame = as_table(x, "X")
    vectors = is_array(x) and x.ndim < 3 and x.dtype != object
    if vectors or frame is not None:  # distinct ones: a weight of two is a point that comes twice
        x = np.unique(to_numpy(x if frame is None else frame.values), axis=0)
    inner = MeanMap(median_rbf(_pooled(x), name="X"))
    values = to_numpy(inner(x[:: -(-count(x) // _SOME)] if count(x) > _SOME else x))
    own = np.diagonal(values)
    distances2 = (own[:, None] + own - 2 * values)[np.triu_indices(len(values), 1)]
    apart = distances2[distances2 > 1e-12 * own.max()]
    return RBF(float(np.sqrt(np.median(apart))) if len(apart) else 1.0).on(inner)


def _pooled(x: Any) -> np.ndarray:
    """Some points of every distribution."""
    rng = np.random.default_rng(0)
    bags: Bags = as_bags(x, draws=_DRAWN, rng=rng)
    if bags.weights is None and bags.sizes.max() <= _DRAWN:
        return to_numpy(bags.values)
    small = bags.sizes <= _DRAWN
    parts = [
        to_numpy(bag.points if few else bag.sample(_DRAWN, rng=rng))
        for bag, few in zip(bags, small, strict=True)
    ]
    return np.concatenate(parts)
