"""A pair of kernels chosen for the power of `HSIC`, on observations that the test itself does not use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.htest.dependence.hsic_statistic import HSICEvidence
from mercer.htest.dependence.hsicagg import kernel_collections
from mercer.htest.dependence.sums.kernel_grid import KernelGrid
from mercer.htest.kernel_collection import checked_kernels
from mercer.kernels.base import Kernel


def best_kernel_pair(
    kernels_x: Sequence[Kernel] | None, kernels_y: Sequence[Kernel] | None, x: Any, y: Any
) -> tuple[Kernel, Kernel]:
    """Kernels of x and y with the largest HSIC in standard deviations over all permutations."""
    given_x, given_y = (
        checked_kernels(kernels, name)
        for kernels, name in ((kernels_x, "kernels_x"), (kernels_y, "kernels_y"))
    )
    first, second = (c.scales for c in kernel_collections(given_x, given_y, x, y))
    grid = KernelGrid(first, second)
    ratios = np.array(
        [[_ratio(HSICEvidence(a, b)) for b in grid.seconds] for a in grid.firsts], dtype=np.float64
    )
    i, j = np.unravel_index(int(np.argmax(ratios)), ratios.shape)
    return (
        given_x[i] if given_x else first[i].kernel,
        given_y[j] if given_y else second[j].kernel,
    )


def _ratio(evidence: HSICEvidence) -> float:
    """By how many standard deviations the statistic exceeds its mean over all permutations."""
    observed, mean, variance = evidence.moments()
    return (observed - mean) / variance**0.5 if variance > 0 else -np.inf
