"""Causal graph from conditional independence tests: the PC algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer import validate
from mercer.causal.graph_result import CausalGraph
from mercer.causal.orientation import oriented
from mercer.causal.skeleton import PValue, Skeleton, stable_skeleton
from mercer.frames import Table
from mercer.htest import (
    HSIC,
    BenjaminiHochberg,
    Gamma,
    HypothesisTest,
    KernelGCM,
    PartialCorrelation,
)
from mercer.htest.corrections import StepCorrection
from mercer.htest.dependence.all_pairs import varying_columns

_MIN_ROWS = 20  # observations


@dataclass(frozen=True)
class PC:
    """Causal graph by the PC algorithm, from tests of conditional independence.

    Two variables stay adjacent unless some set of other variables makes them independent (PC-stable, Colombo and
    Maathuis 2014). Colliders i -> k <- j follow from what separates i and j, and Meek's rules orient what follows
    from these. The result is a CPDAG: directions that all graphs with the same independences share, and edges
    whose direction the independences leave open.

    It assumes that there are no hidden common causes and no cycles, that every independence is one of the graph
    (faithfulness), and that the tests are right. They are many: the graph reports how many, and for every
    pair the largest p-value of its tests, which is a valid p-value of the pair, and that value corrected for the number
    of pairs.

    Parameters
    ----------
    test : conditional independence test
        `KernelGCM()`, `KCI()`, `RCoT()` or another with `test(x, y, z)`; `PartialCorrelation()` for linear relations.
    marginal : independence test or None
        For two variables with nothing given. None: `HSIC(null=Gamma())`, or `PartialCorrelation()` if that is the test.
    level : float
        A pair is separated if a p-value is above it.
    most_given : int or None
        Largest number of variables to condition on. None: as many as there are neighbours.
    correction : Holm or BenjaminiHochberg
        Corrects the reported p-values for the number of pairs; it does not change the graph.

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> rain, sprinkler = rng.normal(size=(2, 500))
    >>> wet = rain + sprinkler + 0.5 * rng.normal(size=500)
    >>> frame = pd.DataFrame({"rain": rain, "sprinkler": sprinkler, "wet": wet})
    >>> graph = PC(PartialCorrelation()).fit(frame)
    >>> [str(edge) for edge in graph]
    ['rain -> wet', 'sprinkler -> wet']
    """

    test: HypothesisTest = field(default_factory=KernelGCM)
    marginal: HypothesisTest | None = None
    level: float = field(default=0.01, kw_only=True)
    most_given: int | None = field(default=None, kw_only=True)
    correction: StepCorrection = field(default=BenjaminiHochberg(), kw_only=True)

    def __post_init__(self) -> None:
        what = "a conditional independence test, such as KernelGCM()"
        validate.instance("test", self.test, HypothesisTest, what)
        if self.marginal is not None:
            what = "an independence test, such as HSIC(), or None"
            validate.instance("marginal", self.marginal, HypothesisTest, what)
        validate.between("level", self.level, 0.0, 1.0)
        if self.most_given is not None:
            validate.whole("most_given", self.most_given, least=0)
        what = "Holm() or BenjaminiHochberg()"
        validate.instance("correction", self.correction, StepCorrection, what)
        for test in (self.test, self._marginal):
            _check_resolution(test, self.level)

    @property
    def _marginal(self) -> HypothesisTest:
        if self.marginal is not None:
            return self.marginal
        return self.test if isinstance(self.test, PartialCorrelation) else HSIC(null=Gamma())

    def fit(self, frame: Any, *, half_samples: int = 0, rng: Any = None) -> CausalGraph:
        """The graph of the columns of a table.

        Parameters
        ----------
        frame : data frame, or array with a column for each variable
            Columns of categories are allowed if the test takes them, as `KernelGCM` does.
        half_samples : int
            Learn the graph again on so many random halves of the rows, and report how often each edge is there
            (stability selection, Meinshausen and Buhlmann 2010). Halves, because copies of rows, as a bootstrap
            has them, look like dependence.
        rng : int, Generator or None
            For halves and for tests that are random.
        """
        validate.whole("half_samples", half_samples, least=0)
        table, generator = variables_table(frame), validate.generator(rng)
        graph = self._learn(table, generator)
        if half_samples == 0:
            return graph
        size, width = table.values.shape
        counts = np.zeros((2, width, width))
        for _ in range(half_samples):
            rows = np.sort(generator.choice(size, size // 2, replace=False))
            marks = self._learn(Table(table.values[rows], table.columns), generator).marks
            counts += np.stack([marks & ~marks.T, marks & marks.T])
        return replace(graph, frequencies=counts / half_samples)

    def of_oracle(self, independent: Any, names: Any) -> CausalGraph:
        """The graph of known independences, without data.

        `independent(i, j, given)` says whether variables number i and j are independent given those numbered `given`.
        """
        labels = tuple(str(name) for name in names)
        return self._graph(lambda i, j, k: float(bool(independent(i, j, k))), labels, 0)

    def _learn(self, table: Table, rng: np.random.Generator) -> CausalGraph:
        def pvalue(i: int, j: int, between: tuple[int, ...]) -> float:
            x, y = columns_of(table, (i,)), columns_of(table, (j,))
            if not between:
                return self._marginal.test(x, y, rng=rng).pvalue
            return self.test.test(x, y, columns_of(table, between), rng=rng).pvalue

        return self._graph(pvalue, table.columns.names, len(table))

    def _graph(self, pvalue: PValue, names: tuple[str, ...], size: int) -> CausalGraph:
        skeleton = stable_skeleton(len(names), pvalue, self.level, self.most_given)
        marks, conflicts = oriented(skeleton.adjacent, skeleton.colliders())
        notes = ()
        if conflicts:
            left_out = (
                "1 collider contradicts surer ones and was left out"
                if conflicts == 1
                else f"{conflicts} colliders contradict surer ones and were left out"
            )
            notes = (f"{left_out}: there may be hidden common causes, or too few observations.",)
        corrected = self._corrected(skeleton)
        return CausalGraph(
            names, marks, skeleton.pvalues, corrected, self, size, skeleton.tests, notes
        )

    def _corrected(self, skeleton: Skeleton) -> np.ndarray:
        """p-values of all pairs, corrected for their number."""
        d = len(skeleton.pvalues)
        corrected, upper = np.full((d, d), np.nan), np.triu_indices(d, 1)
        corrected[upper] = self.correction.adjusted(skeleton.pvalues[upper])
        corrected.T[upper] = corrected[upper]
        return corrected


def variables_table(frame: Any) -> Table:
    """The columns of a table, each a variable of the graph."""
    table = varying_columns(frame)
    if len(table) < _MIN_ROWS:
        raise ValueError(f"frame needs at least {_MIN_ROWS} observations, got {len(table)}")
    return table


def columns_of(table: Table, positions: Sequence[int]) -> Table:
    """Columns of a table as a table."""
    return Table(table.values[:, list(positions)], table.columns.take(positions))


def _check_resolution(test: HypothesisTest, level: float) -> None:
    """Refuse resampled tests whose smallest p-value is above the level: no edge could remain."""
    null = getattr(test, "null", test)
    resamples = getattr(null, "resamples", None)
    if isinstance(resamples, int) and 1 / (resamples + 1) > level:
        needed = int(np.ceil(1 / level)) - 1
        raise ValueError(
            f"{type(test).__name__} with {resamples} resamples has no p-value at or below the level {level:g}, so no "
            f"edge could remain: use at least {needed} resamples, or a null without resamples"
        )
