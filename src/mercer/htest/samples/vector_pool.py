"""Two samples of vectors for tests without a kernel, and statistics of their labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mercer.backend import to_numpy
from mercer.config import settings
from mercer.htest.nulls import Permutation
from mercer.htest.samples.pooled_sample import Pooled, labellings, pool, within
from mercer.kernels.prepare import as_table, prepare
from mercer.kernels.radial import VECTOR_KERNEL
from mercer.rkhs.distributions import Empirical

_UNITS = "Columns were divided by their standard deviations, so that distances do not mix units."
_COPIES = 8  # of the labels of a chunk, as floats


class VectorPool(NamedTuple):
    """The pooled sample for results, its points for the statistic, and notes on their units."""

    pooled: Pooled
    points: (
        np.ndarray
    )  # (n + m, d), float64, where the user's are, in units of the columns for data frames
    notes: tuple[str, ...]


def vector_pool(x: Any, y: Any, what: str, *, units: bool) -> VectorPool:
    """Two checked samples of numbers; `units`: columns of data frames are divided by their deviations."""
    if any(isinstance(s, Empirical) and s.weights is not None for s in (x, y)):
        raise TypeError(f"{what} takes no weighted samples: use MMD(), which does")
    first, second = (s.points if isinstance(s, Empirical) else s for s in (x, y))
    frame = as_table(first, "x") is not None
    _, a, b = prepare(VECTOR_KERNEL, first, second)
    pooled = pool(None if frame else VECTOR_KERNEL, first, second)
    if not frame:  # the kernel of effects is computed when asked for
        pooled = replace(pooled, given_kernel=None)
    points = np.concatenate([to_numpy(a), to_numpy(b)]).astype(np.float64)
    if not (units and frame and points.shape[1] > 1):
        return VectorPool(pooled, points, ())
    deviations = points.std(axis=0)
    return VectorPool(pooled, points / np.where(deviations > 0, deviations, 1.0), (_UNITS,))


class LabelledEvidence(ABC):
    """A statistic of the labels of a pooled sample, which `Permutation` permutes."""

    def __init__(self, n: int, m: int) -> None:
        self.n, self.m = n, m

    @abstractmethod
    def values(self, first: np.ndarray) -> np.ndarray:
        """Statistics of labellings, the columns of an array (n + m, B) of 1 for the first sample and 0: (B,)."""

    @cached_property
    def observed(self) -> float:
        """The statistic."""
        return float(self.values(np.repeat([1.0, 0.0], [self.n, self.m])[:, None])[0])

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """Statistics of some labellings."""
        labels, total = labellings(self.n, self.m, null, seed), slice(0, self.n + self.m)
        like = np.empty(0, dtype=np.float64)
        beside = _COPIES * 8 * (self.n + self.m)
        chunks = within(columns, labels.chunks(settings().memory // 2, beside))
        return np.concatenate(
            [self.values((labels.columns(c, like).rows(total) + 1) / 2) for c in chunks]
        )

    def tolerance(self) -> float:
        """Largest difference by rounding between statistics that are equal."""
        return 1e-12 * max(abs(self.observed), 1e-300)
