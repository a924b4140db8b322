"""MMD^2 of samples that are read part by part, with permutations: tiles of pairs of blocks of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.backend import to_numpy
from mercer.gram.partition_forms import PartitionedPairs, PartitionedPoints
from mercer.htest.nulls import Permutation
from mercer.htest.samples.mmd_statistic import Discrepancies
from mercer.htest.samples.streamed_samples import StreamedSamples
from mercer.kernels.base import Kernel


def partitioned_discrepancies(
    samples: StreamedSamples, kernels: Sequence[Kernel], unbiased: bool = True
) -> Discrepancies:
    """MMD^2 by several kernels, of all rows of both samples."""
    pooled = samples.pooled
    origin = None if pooled.origin is None else to_numpy(pooled.origin)
    points = PartitionedPoints(samples.streams, samples.readers, origin)
    some = to_numpy(pooled.points).astype(np.float64)
    return Discrepancies(PartitionedPairs(kernels, points, some), samples.sizes, unbiased)


class PartitionedEvidence:
    """MMD^2 by one kernel, times `scale`, observed and of other labellings, for `Permutation`.

    As `QuadraticEvidence`: the observed statistic is in float64, permuted ones are made of kernel values in float32.
    """

    def __init__(self, samples: StreamedSamples, unbiased: bool, scale: float = 1.0) -> None:
        self.sizes, self._scale = samples.sizes, scale
        self._discrepancies = partitioned_discrepancies(samples, [samples.kernel], unbiased)

    @property
    def observed(self) -> float:
        """The statistic in full precision."""
        return self._scale * float(self._discrepancies.observed[0])

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """The statistic of the labellings in some columns; column 0 is the observed one."""
        return self._scale * self._discrepancies.resampled(null, columns, seed)[0]

    def tolerance(self) -> float:
        """Largest difference by rounding between resampled statistics that are equal."""
        return self._scale * float(self._discrepancies.tie_tolerances[0])
