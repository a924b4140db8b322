"""Conversion of bags, vectors and distributions into `Bags` of points."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from mercer import frames
from mercer.backend import count, is_array, is_numpy
from mercer.kernels.prepare import as_table
from mercer.kernels.radial import VECTOR_KERNEL
from mercer.rkhs.embeddings.as_batch import batch_of
from mercer.rkhs.embeddings.bags import Bags, tensor_bags
from mercer.rkhs.gaussian import Gaussian
from mercer.rkhs.mixture import Mixture
from mercer.rkhs.uniform import Dirac, Uniform

KNOWN = Gaussian, Mixture, Uniform


def as_bags(x: Any, *, draws: int, rng: Any, name: str = "X") -> Bags:
    """Bags from bags, vectors (bags of one point) and distributions, which are sampled `draws` times.

    The checks and their messages are those of `MeanMap`.
    """
    x = tensor_bags(x) or x
    if isinstance(x, Bags):
        return x
    frame = as_table(x, name)
    x = x if frame is None else frames.numbers(frame, name)
    if is_array(x) and not (is_numpy(x) and x.dtype == object):
        if x.ndim <= 2:
            x = x[:, None] if x.ndim == 1 else x
            return Bags(x, np.arange(count(x) + 1))
        batch_of(VECTOR_KERNEL, x, name)
        return Bags.of(x)
    batch_of(VECTOR_KERNEL, x, name)
    return Bags.of([sample_of(item, draws, rng) for item in x])


def are_known(x: Any) -> np.ndarray:
    """Which items are distributions known in closed form, rather than samples: (n,)."""
    if isinstance(x, Bags) or (is_array(x) and not (is_numpy(x) and x.dtype == object)):
        return np.zeros(len(x), dtype=bool)
    return np.array([isinstance(item, KNOWN) for item in x], dtype=bool)


def sample_of(item: Any, draws: int, rng: Any) -> Any:
    """Points of a sample, or draws from a distribution known in closed form."""
    if isinstance(item, KNOWN):
        return item.sample(draws, rng=rng)
    if isinstance(item, Dirac):
        return item.point[None, :]
    if isinstance(item, Real):
        return np.array([[item]], dtype=np.float64)
    if is_array(item):
        return item[None, :] if item.ndim == 1 else item
    numbers = isinstance(item, list | tuple) and all(isinstance(v, Real) for v in item)
    return [item] if numbers else item
