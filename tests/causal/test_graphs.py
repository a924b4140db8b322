"""Causal graphs: the oracle recovers every CPDAG, partial correlations are SciPy's, and known graphs are found."""

from __future__ import annotations

import json
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from mercer.causal import PC, RESIT, d_separated, pattern_of
from mercer.causal.resit import causal_order
from mercer.htest import HSIC, PartialCorrelation, Permutation


def random_dag(rng: np.random.Generator, d: int, density: float) -> np.ndarray:
    order = rng.permutation(d)
    dag = np.zeros((d, d), dtype=bool)
    for i in range(d):
        for j in range(i + 1, d):
            dag[order[i], order[j]] = rng.random() < density
    return dag


@pytest.mark.parametrize("d", [3, 5, 7])
def test_the_oracle_recovers_every_pattern(d):
    rng = np.random.default_rng(d)
    for _ in range(25):
        dag = random_dag(rng, d, rng.uniform(0.2, 0.8))
        graph = PC().of_oracle(lambda i, j, k, dag=dag: d_separated(dag, i, j, k), range(d))
        assert_array_equal(graph.marks, pattern_of(dag))


def _check_picture(ax):
    """Names stand in boxes, and lines end outside of the boxes of their two names."""
    ax.figure.canvas.draw()
    names = [t for t in ax.texts if t.get_text()]
    edges = [t.arrow_patch for t in ax.texts if not t.get_text()]
    assert len(names) == 4
    assert len(edges) == 3
    boxes = [name.get_bbox_patch().get_window_extent() for name in names]
    for edge in edges:
        ends = edge.get_path().vertices[[0, -1]]
        assert not any(box.contains(*end) for end in ends for box in boxes)


def test_the_pattern_is_that_of_all_equivalent_graphs():
    """By brute force: all DAGs on four nodes with the same skeleton and the same colliders."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        dag = random_dag(rng, 4, 0.6)
        same = [other for other in orientations(dag) if colliders(other) == colliders(dag)]
        assert_array_equal(pattern_of(dag), np.any(same, axis=0))


def orientations(dag: np.ndarray) -> list[np.ndarray]:
    """All acyclic orientations of the edges, by all orders of the nodes."""
    adjacent, found = dag | dag.T, {}
    for order in permutations(range(len(dag))):
        rank = np.argsort(order)
        other = adjacent & (rank[:, None] < rank[None, :])
        found[other.tobytes()] = other
    return list(found.values())


def colliders(dag: np.ndarray) -> set[tuple[int, int, int]]:
    d, adjacent = len(dag), dag | dag.T
    return {
        (i, k, j)
        for i in range(d)
        for j in range(i + 1, d)
        for k in range(d)
        if dag[i, k] and dag[j, k] and not adjacent[i, j]
    }


def test_d_separation_of_chains_colliders_and_their_descendants():
    dag = np.zeros((4, 4), dtype=bool)
    dag[0, 1] = dag[2, 1] = dag[1, 3] = True  # 0 -> 1 <- 2, 1 -> 3
    assert d_separated(dag, 0, 2, ())
    assert not d_separated(dag, 0, 2, (1,))
    assert not d_separated(dag, 0, 2, (3,))
    assert not d_separated(dag, 0, 3, ())
    assert d_separated(dag, 0, 3, (1,))


def linear_table(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """a -> c <- b, c -> d: all directions follow from the collider."""
    a, b, e, f = rng.normal(size=(4, n))
    c = a - b + 0.7 * e
    dag = np.zeros((4, 4), dtype=bool)
    dag[0, 2] = dag[1, 2] = dag[2, 3] = True
    return np.column_stack([a, b, c, c + 0.7 * f]), dag


def test_linear_relations_are_found_with_partial_correlations():
    table, dag = linear_table(1000, np.random.default_rng(0))
    graph = PC(PartialCorrelation()).fit(
        pd.DataFrame(table, columns=list("abcd")), half_samples=10, rng=0
    )
    assert_array_equal(graph.marks, dag)
    assert {str(edge) for edge in graph} == {"a -> c", "b -> c", "c -> d"}
    assert all(edge.frequency > 0.7 for edge in graph)
    assert "3 edges between 4 variables, 3 of them directed" in str(graph)
    assert "half-samples" in str(graph)
    assert set(graph.to_frame()["first"]) == {"a", "b", "c"}
    json.dumps(graph.to_dict())
    assert "<table>" in graph._repr_html_()
    _check_picture(graph.plot())


def test_nonlinear_relations_are_found_with_the_default():
    rng = np.random.default_rng(1)
    a, b, e = rng.normal(size=(3, 250))
    frame = pd.DataFrame({"a": a, "b": b, "c": np.sin(2 * a) + b**2 / 2 + 0.3 * e})
    graph = PC().fit(frame, rng=0)
    assert {str(edge) for edge in graph} == {"a -> c", "b -> c"}


def test_the_order_of_columns_does_not_matter():
    table, _ = linear_table(200, np.random.default_rng(5))
    order = np.array([2, 0, 3, 1])
    first = PC(PartialCorrelation()).fit(table).marks
    second = PC(PartialCorrelation()).fit(table[:, order]).marks
    assert_array_equal(second, first[np.ix_(order, order)])


def test_causal_learn_agrees_on_gaussian_data():
    pc = pytest.importorskip("causallearn.search.ConstraintBased.PC").pc
    for seed in range(5):
        table, _ = linear_table(400, np.random.default_rng(seed))
        theirs = pc(table, 0.01, "fisherz", show_progress=False).G.graph
        marks = theirs != 0
        arrows = (theirs.T == 1) & (theirs == -1)
        marks &= ~arrows.T
        assert_array_equal(PC(PartialCorrelation()).fit(table).marks, marks)


def test_p_values_of_pairs_are_the_largest_of_their_tests():
    table, _ = linear_table(300, np.random.default_rng(2))
    graph = PC(PartialCorrelation()).fit(table)
    ab = PartialCorrelation().test(table[:, 0], table[:, 1]).pvalue
    assert graph.pvalues[0, 1] == pytest.approx(ab)
    assert graph.tests >= 6
    assert np.nanmin(graph.corrected - graph.pvalues) >= 0


def test_tests_that_cannot_reach_the_level_are_refused():
    with pytest.raises(ValueError, match="at least 99 resamples"):
        PC(PartialCorrelation(), HSIC(null=Permutation(19)), level=0.01)
    with pytest.raises(TypeError, match="test must be"):
        PC("fisherz")
    with pytest.raises(ValueError, match="at least 20 observations"):
        PC().fit(np.eye(5))


# ---- partial correlation ------------------------------------------------------------------------


def test_partial_correlation_is_that_of_residuals_and_its_p_value_is_students():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(40, 3))
    x, y = z @ rng.normal(size=(3, 2)) @ np.diag([1, 2]) @ np.ones(2) + rng.normal(size=(2, 40))
    design = np.column_stack([np.ones(40), z])
    e, f = (v - design @ np.linalg.lstsq(design, v, rcond=None)[0] for v in (x, y))
    r = np.corrcoef(e, f)[0, 1]
    t = abs(r) * np.sqrt((40 - 5) / (1 - r**2))
    result = PartialCorrelation().test(x, y, z)
    assert_allclose([result.statistic, result.pvalue], [r**2, 2 * stats.t.sf(t, 35)], rtol=1e-9)
    plain = PartialCorrelation().test(x, y)
    want = stats.pearsonr(x, y)
    assert_allclose([plain.statistic, plain.pvalue], [want[0] ** 2, want[1]], rtol=1e-9)


def test_columns_that_z_determines_leave_nothing_to_test():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(30, 2))
    assert PartialCorrelation().test(z[:, 0], rng.normal(size=30), z).pvalue == 1.0
    with pytest.raises(ValueError, match="more observations"):
        PartialCorrelation().test(z[:4, 0], z[:4, 1], rng.normal(size=(4, 3)))


# ---- RESIT --------------------------------------------------------------------------------------


def test_resit_finds_orders_and_edges_of_additive_noise_models():
    right = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        a = rng.uniform(-2, 2, size=250)
        b = a**2 + 0.6 * rng.uniform(-1, 1, size=250)
        c = np.sin(b) + 0.5 * a + 0.3 * rng.uniform(-1, 1, size=250)
        values = np.column_stack([c, a, b])
        right += causal_order(values) == [1, 2, 0]
    assert right >= 3
    graph = RESIT().fit(pd.DataFrame(values, columns=list("cab")), rng=0)
    assert {str(edge) for edge in graph} == {"a -> b", "a -> c", "b -> c"}
    assert "joint" in str(graph)


def test_resit_refuses_categories():
    frame = pd.DataFrame({"a": np.arange(30.0), "b": ["u", "v", "w"] * 10})
    with pytest.raises(ValueError, match="holds categories"):
        RESIT().fit(frame)
