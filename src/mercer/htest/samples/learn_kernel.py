"""Kernels chosen for the power of two-sample tests, on samples that the test itself does not use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.htest.kernel_collection import checked_kernels, collection, frame_collection
from mercer.htest.mean_statistic import IndependentTerms, MeanEvidence
from mercer.htest.samples.mmd_statistic import Discrepancies
from mercer.htest.samples.pooled_sample import Pooled, pool_for, stacked_table
from mercer.kernels.base import Kernel
from mercer.kernels.prepare import as_table


class KernelCandidates:
    """Two samples, and kernels among which one is chosen: as the user wrote them, and bound to the columns."""

    def __init__(self, kernels: Sequence[Kernel] | None, x: Any, y: Any) -> None:
        given = checked_kernels(kernels)
        frame = as_table(x, "x") if given is None else None
        if frame is not None:
            given = frame_collection(stacked_table(frame, y))
        self.pooled, self.bound = pool_for(given, x, y)
        if self.pooled.weights is not None:
            raise TypeError("kernels are chosen by plain samples: draw from the weighted one first")
        self.kernels = given or collection(self.pooled.points)

    def with_each(self) -> list[Pooled]:
        """The pooled sample once with each of the kernels."""
        return [replace(self.pooled, given_kernel=kernel) for kernel in self.bound]

    def best(self, ratios: Sequence[float] | np.ndarray) -> Kernel:
        """The kernel with the largest signal-to-noise ratio; kernels that see nothing come last."""
        ratios = np.asarray(ratios, dtype=np.float64)
        return self.kernels[int(np.argmax(np.where(np.isfinite(ratios), ratios, -np.inf)))]


def quadratic_ratios(candidates: KernelCandidates) -> np.ndarray:
    """MMD_u^2 over its standard deviation under permutations, by every kernel, in one pass: (kernels,)."""
    sums = Discrepancies.of(candidates.pooled, candidates.bound)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sums.deviations > 0, sums.observed / sums.deviations, -np.inf)


def mean_ratio(terms: MeanEvidence) -> float:
    """A mean over its standard error, without the correction for few skewed terms."""
    return (
        IndependentTerms.studentized(terms)
        if isinstance(terms, IndependentTerms)
        else terms.studentized()
    )
