"""Causal graph of additive noise models by regression and independence of residuals (RESIT)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import validate
from mercer.causal.graph_result import CausalGraph
from mercer.causal.pc import variables_table
from mercer.causal.penalised_spline import spline_smoother, standardized
from mercer.htest import DHSIC, HSIC, BenjaminiHochberg, Gamma, HypothesisTest
from mercer.htest.corrections import StepCorrection
from mercer.kernels import RBF, median_bandwidth
from mercer.learn import KernelRidge, RidgePath
from mercer.rkhs import cka


@dataclass(frozen=True)
class RESIT:
    """Causal graph of nonlinear additive noise models, by regression with subsequent independence tests.

    If every variable is a function of its causes plus independent noise, then the last variable in the causal order is
    the one whose residuals, after regression on all others, are independent of these. The algorithm (Peters et al.
    2014) finds that variable, leaves it out and goes on; then it removes causes without which the residuals stay
    independent. The graph is a DAG: all edges are directed. Linear relations with Gaussian noise have no such order.

    `result.notes` tell whether the residuals of all variables are jointly independent, by `DHSIC`, as they are if the
    graph and the model are right (Pfister et al. 2018).

    Parameters
    ----------
    test : independence test
        Tests whether the residuals are independent of the causes.
    level : float
        A cause is removed if the p-value without it is above the level.
    correction : Holm or BenjaminiHochberg
        Corrects the reported p-values for the number of pairs; it does not change the graph.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, size=300)
    >>> y = x**2 + 0.5 * rng.uniform(-1, 1, size=300)
    >>> z = np.sin(y) + 0.3 * rng.uniform(-1, 1, size=300)
    >>> [str(edge) for edge in RESIT().fit(np.column_stack([z, x, y]))]
    ['1 -> 2', '2 -> 0']
    """

    test: HypothesisTest = field(default_factory=lambda: HSIC(null=Gamma()))
    level: float = field(default=0.01, kw_only=True)
    correction: StepCorrection = field(default=BenjaminiHochberg(), kw_only=True)

    def __post_init__(self) -> None:
        validate.instance("test", self.test, HypothesisTest, "an independence test, such as HSIC()")
        validate.between("level", self.level, 0.0, 1.0)
        what = "Holm() or BenjaminiHochberg()"
        validate.instance("correction", self.correction, StepCorrection, what)

    def fit(self, frame: Any, *, rng: Any = None) -> CausalGraph:
        """The graph of the columns of a table of numbers; `rng` is for tests that are random."""
        table, generator = variables_table(frame), validate.generator(rng)
        if any(table.columns.categorical):
            name = table.columns.names[table.columns.categorical.index(True)]
            raise ValueError(
                f"column {name!r} of frame holds categories: RESIT needs numbers, PC(KernelGCM()) takes both"
            )
        columns = [standardized(c.astype(np.float64)) for c in table.values.T]
        values = np.column_stack(columns)
        marks, pvalues, tests, residuals = self._pruned(values, causal_order(values), generator)
        joint = DHSIC(null=Gamma()).test(*residuals.T).pvalue if len(columns) > 2 else None
        corrected, pairs = np.full(pvalues.shape, np.nan), ~np.isnan(pvalues)
        if np.any(pairs):
            corrected[pairs] = self.correction.adjusted(pvalues[pairs])
        notes = () if joint is None else (_joint_note(joint, self.level),)
        return CausalGraph(
            table.columns.names, marks, pvalues, corrected, self, len(table), tests, notes
        )

    def _pruned(
        self, values: np.ndarray, order: list[int], rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, int, np.ndarray]:
        """Arrows, p-values without each cause, number of tests, and residuals given the remaining causes."""
        d, tests = values.shape[1], 0
        marks, pvalues = np.zeros((d, d), dtype=bool), np.full((d, d), np.nan)
        residuals = values.copy()
        for position, effect in enumerate(order):
            earlier = order[:position]
            causes = list(earlier)
            for cause in earlier:
                fewer = [c for c in causes if c != cause]
                rest = _residuals(values, effect, fewer)
                p = float(self.test.test(rest, values[:, earlier], rng=rng).pvalue)
                pvalues[cause, effect] = pvalues[effect, cause] = p
                tests += 1
                if p > self.level:
                    causes = fewer
            marks[causes, effect] = True
            residuals[:, effect] = _residuals(values, effect, causes)
        return marks, pvalues, tests, residuals


def causal_order(values: np.ndarray) -> list[int]:
    """Variables from first cause to last effect: the last one has the residuals that depend least on the others."""
    remaining, order = list(range(values.shape[1])), []
    while len(remaining) > 1:
        scores = {}
        for effect in remaining:
            others = [c for c in remaining if c != effect]
            rest = _residuals(values, effect, others)
            scores[effect] = cka(None, None, rest, values[:, others], unbiased=True)
        last = min(scores, key=lambda effect: scores[effect])
        remaining.remove(last)
        order.append(last)
    return [*remaining, *reversed(order)]


def _residuals(values: np.ndarray, effect: int, causes: list[int]) -> np.ndarray:
    """What a regression on the causes leaves of the effect."""
    target = values[:, effect]
    if not causes:
        return target
    if len(causes) == 1:
        return target - spline_smoother(values[:, causes[0]])(target)
    points = values[:, causes]
    model = KernelRidge(RBF(median_bandwidth(points)), RidgePath())
    return target - model.fit(points, target).predict(points)


def _joint_note(pvalue: float, level: float) -> str:
    if pvalue > level:
        return f"Residuals are compatible with joint independence (DHSIC, p = {pvalue:.3g})."
    return f"Residuals are not jointly independent (DHSIC, p = {pvalue:.3g}): no additive noise model along this graph fits."
