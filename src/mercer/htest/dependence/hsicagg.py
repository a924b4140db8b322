"""An independence test aggregated over kernels of both variables: the default when nothing is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from mercer.htest.aggregation import aggregated, never_early, shares
from mercer.htest.dependence.dependence_result import IndependenceResult, independence_result
from mercer.htest.dependence.observed_variables import (
    Variable,
    chosen_for,
    need_variation,
    variables,
)
from mercer.htest.dependence.sums.kernel_grid import Grid
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.kernel_collection import (
    checked_kernels,
    collection,
    frame_collection,
    unfolded,
)
from mercer.htest.kernel_names import CHOSEN, LEVEL, told_apart
from mercer.htest.nulls import Permutation
from mercer.kernels.base import Kernel
from mercer.kernels.prepare import as_table
from mercer.kernels.radial import VECTOR_KERNEL

NUMBER = 5  # bandwidths of the Gaussian kernel, and as many of the Laplace kernel


@dataclass(frozen=True)
class HSICAgg(HypothesisTest):
    """HSICAgg: rejects if any of several HSIC tests does, each at its share of the level.

    Every kernel of x meets every kernel of y, and the pair (k, l) rejects at level u / (number of
    pairs), where u is as large as the level of the whole allows (Albert et al. 2022; Schrab et al.
    2022). Nothing has to be known about the scales on which the variables depend on each other.
    The p-value is the smallest level at which the aggregated test rejects, and it is exact at any
    sample size and any number of permutations (`mercer.htest.aggregation`).

    The statistic is -log10 min_kl p_kl / w with w = 1 / (number of pairs); on its own it is computed
    with `null` permutations of a fixed seed.

    Parameters
    ----------
    kernels_x, kernels_y : sequence of kernels or None
        None: Gaussian and Laplace kernels, five bandwidths each, that cover the scales of that
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
        evidence = _Evidence(*collected(self.kernels_x, self.kernels_y, x, y))
        judgement = self.null.judge(evidence, rng)
        found = tuple(many[i] for many, i in zip(evidence.collections, evidence.best, strict=True))
        notes = _told(evidence, judgement.pvalue)
        return independence_result(self, found, judgement.observed, judgement, notes)


def collected(
    kernels_x: Sequence[Kernel] | None, kernels_y: Sequence[Kernel] | None, x: Any, y: Any
) -> tuple[tuple[Variable, ...], tuple[Variable, ...]]:
    """Both variables, once by every kernel; None: a collection that fits the variable."""
    kernels = []
    for given, sample, name in ((kernels_x, x, "x"), (kernels_y, y, "y")):
        frame = as_table(sample, name) if given is None else None
        if frame is not None:
            given = chosen_for(frame, name, lambda table: frame_collection(table, NUMBER))
        kernels.append(given)
    whole = [VECTOR_KERNEL if many is None else reduce(add, many) for many in kernels]
    found = []
    for many, variable in zip(kernels, variables(whole, (x, y)), strict=True):
        if many is None:
            need_variation(variable.points, variable.name)
            bound = collection(variable.points, NUMBER, variable.name)
        else:
            bound = unfolded(variable.kernel, len(many))
        found.append(tuple(replace(variable, kernel=kernel) for kernel in bound))
    return found[0], found[1]


class _Evidence:
    """-log10 min_kl p_kl / w of every permutation."""

    best = (0, 0)  # the kernels with the smallest p-value for the variables as they are
    rejecting = 0  # how many pairs reject at their share of level 0.05

    def __init__(self, *collections: tuple[Variable, ...]) -> None:
        self.collections = collections

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """Of all permutations together; column 0 is the observed one."""
        grid = Grid(*self.collections)
        values = grid.permuted(null, columns, seed)  # (k, l, B + 1)
        number = values.shape[0] * values.shape[1]
        found = aggregated(values.reshape(number, -1), grid.ties.ravel(), shares(None, number))
        first, second = divmod(found.best, values.shape[1])
        self.best, self.rejecting = (first, second), found.rejecting(LEVEL)
        return found.scores

    def tolerance(self) -> float:
        """0: statistics that are equal have the same score."""
        return 0.0


def _told(evidence: _Evidence, pvalue: float) -> tuple[str, ...]:
    """The pair of kernels that sees most, and how many reject."""
    kernels = [[v.kernel for v in many] for many in evidence.collections]
    number = len(kernels[0]) * len(kernels[1])
    names = [told_apart(many, i) for many, i in zip(kernels, evidence.best, strict=True)]
    pair = f"{names[0]} on x with {names[1]} on y"
    if number == 1:
        return (f"Kernels: {pair}.",)
    if pvalue > LEVEL:
        return (
            f"None of {number} pairs of kernels rejects at level {LEVEL:g}; {pair} comes closest.",
        )
    rejects = f"{max(evidence.rejecting, 1)} of {number} pairs of kernels reject at level {LEVEL:g}"
    return (f"{rejects}, first of all {pair}.", CHOSEN)
