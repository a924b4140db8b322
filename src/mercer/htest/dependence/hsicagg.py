"""HSICAgg: an independence test aggregated over kernels of both variables, the default test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

from mercer.frames import Table
from mercer.htest.aggregation import Aggregated, aggregated, never_early, shares
from mercer.htest.dependence.dependence_result import IndependenceResult, independence_result
from mercer.htest.dependence.sums.kernel_grid import KernelGrid
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.kernel_collection import (
    CHOSEN,
    LEVEL,
    checked_kernels,
    collection,
    frame_collection,
    told_apart,
    unfolded,
)
from mercer.htest.nulls import Judgement, Permutation
from mercer.kernels.base import Kernel
from mercer.kernels.prepare import as_table
from mercer.kernels.radial import VECTOR_KERNEL
from mercer.rkhs.paired_samples import Variable, kernel_for_frame, need_variation, variables

BANDWIDTHS = 5  # of the Gaussian kernel, and as many of the Laplace kernel


@dataclass(frozen=True)
class HSICAgg(HypothesisTest):
    """HSICAgg: rejects if any of several HSIC tests does, each at its share of the level.

    Every kernel of x is combined with every kernel of y, and the pair (k, l) rejects at level
    u / (number of pairs), with u as large as the level of the aggregated test allows (Albert et al. 2022;
    Schrab et al. 2022). The scales on which the variables depend on each other need not be known.
    The p-value is the smallest level at which the aggregated test rejects, and it is exact at any
    sample size and any number of permutations (`mercer.htest.aggregation`).

    The statistic is -log10 min_kl p_kl / w with w = 1 / (number of pairs); `statistic` computes it with
    the permutations of a fixed seed.

    Parameters
    ----------
    kernels_x, kernels_y : sequence of kernels or None
        None: Gaussian and Laplace kernels of five bandwidths each, which cover the scales of that
        variable.
    null : Permutation
        All of its permutations are compared with each other, so it cannot stop early.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, size=150)
    >>> y = np.cos(9 * x) + 0.5 * rng.normal(size=150)
    >>> HSICAgg().test(x, y, rng=0).pvalue < 0.01
    True
    """

    kernels_x: Sequence[Kernel] | None = None
    kernels_y: Sequence[Kernel] | None = None
    null: Permutation = field(default=Permutation(999), kw_only=True)

    def __post_init__(self) -> None:
        for name in ("kernels_x", "kernels_y"):
            object.__setattr__(self, name, checked_kernels(getattr(self, name), name))
        never_early(self.null, "HSICAgg")

    def statistic(self, x: Any, y: Any) -> float:
        """-log10 of the smallest weighted p-value, with permutations of a fixed seed."""
        return self.test(x, y, rng=0).statistic

    def test(self, x: Any, y: Any, *, rng: Any = None) -> IndependenceResult:
        """The statistic and its p-value."""
        collections = kernel_collections(self.kernels_x, self.kernels_y, x, y)
        combined = _aggregated_hsic(collections, self.null, self.null.seed(rng))
        judgement = Judgement.resampled(float(combined.scores[0]), combined.scores[1:])
        best_x, best_y = divmod(combined.best, len(collections[1]))
        best = collections[0][best_x], collections[1][best_y]
        notes = _kernel_notes(collections, (best_x, best_y), combined, judgement.pvalue)
        return independence_result(self, best, judgement.observed, judgement, notes)


Collections = tuple[tuple[Variable, ...], tuple[Variable, ...]]


def kernel_collections(
    kernels_x: Sequence[Kernel] | None, kernels_y: Sequence[Kernel] | None, x: Any, y: Any
) -> Collections:
    """Each variable once with each of its kernels; None: a collection that covers its scales."""
    kernels = []
    for explicit, sample, name in ((kernels_x, x, "x"), (kernels_y, y, "y")):
        frame = as_table(sample, name) if explicit is None else None
        if frame is None:
            kernels.append(explicit)
        else:
            kernels.append(kernel_for_frame(frame, name, _frame_kernels))
    # the sum of the kernels reads the sample once for all of them
    sums = [VECTOR_KERNEL if terms is None else reduce(add, terms) for terms in kernels]
    first, second = (
        _with_kernels(variable, terms)
        for variable, terms in zip(variables(sums, (x, y)), kernels, strict=True)
    )
    return first, second


def _frame_kernels(frame: Table) -> Sequence[Kernel]:
    return frame_collection(frame, BANDWIDTHS)


def _with_kernels(variable: Variable, kernels: Sequence[Kernel] | None) -> tuple[Variable, ...]:
    """The variable with each of the kernels, whose sum is its kernel; None: those of its scales."""
    if kernels is None:
        need_variation(variable.points, variable.name)
        bound = collection(variable.points, BANDWIDTHS, variable.name)
    else:
        bound = unfolded(variable.kernel, len(kernels))
    return tuple(replace(variable, kernel=kernel) for kernel in bound)


def _aggregated_hsic(collections: Collections, null: Permutation, seed: int) -> Aggregated:
    """-log10 min_kl p_kl / w of every permutation; the first is the observed one."""
    grid = KernelGrid(*collections)
    values = grid.permuted(null, seed)  # (k, l, B + 1)
    pairs = values.shape[0] * values.shape[1]
    return aggregated(values.reshape(pairs, -1), grid.tolerances.ravel(), shares(None, pairs))


def _kernel_notes(
    collections: Collections, best: tuple[int, int], combined: Aggregated, pvalue: float
) -> tuple[str, ...]:
    """The pair of kernels with the smallest p-value, and how many pairs reject."""
    kernels = [[v.kernel for v in variables] for variables in collections]
    number = len(kernels[0]) * len(kernels[1])
    names = [told_apart(collection, i) for collection, i in zip(kernels, best, strict=True)]
    pair = f"{names[0]} on x with {names[1]} on y"
    if number == 1:
        return (f"Kernels: {pair}.",)
    if pvalue > LEVEL:
        return (
            f"None of {number} pairs of kernels rejects at level {LEVEL:g}; {pair} comes closest.",
        )
    rejecting = max(combined.rejecting(LEVEL), 1)
    rejects = f"{rejecting} of {number} pairs of kernels reject at level {LEVEL:g}"
    return (f"{rejects}; the strongest is {pair}.", CHOSEN)
