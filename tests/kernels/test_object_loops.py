"""Compiled loops of kernels on objects agree with NumPy, and with other packages where these are right."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.kernels import (
    GlobalAlignment,
    Graphs,
    PersistenceFisher,
    PersistenceScaleSpace,
    PersistenceWeightedGaussian,
    ShortestPath,
    Signature,
    Spectrum,
    WeisfeilerLehman,
    feature_counts,
    feature_loops,
)
from mercer.kernels.diagrams import diagram_kernels
from mercer.kernels.series import alignment_engine

RNG = np.random.default_rng(0)


def random_graphs(n: int, nodes: int) -> list[tuple[np.ndarray, list[int]]]:
    upper = np.triu(RNG.uniform(size=(n, nodes, nodes)) < 0.3, 1)
    labels = RNG.integers(2, size=(n, nodes)).tolist()
    return list(zip((upper | upper.transpose(0, 2, 1)).astype(float), labels, strict=True))


def test_codes_are_numbered_and_sorted_when_the_table_grows():
    pytest.importorskip("numba")
    codes = feature_counts.mixed(RNG.integers(9_000, size=40_000).astype(np.uint64))
    distinct, numbers = feature_loops.numbered(codes)
    assert_array_equal(distinct[numbers], codes)
    assert len(np.unique(distinct)) == len(distinct)
    assert_array_equal(feature_loops.sorting_order(distinct), np.argsort(distinct))
    close = np.arange(10_000, dtype=np.uint64)  # all in one bucket
    assert_array_equal(feature_loops.sorting_order(close), np.arange(10_000))


@pytest.mark.parametrize("size", [30, 400])
def test_tables_and_products_equal_those_of_sorting(monkeypatch, size):
    rows = RNG.integers(40, size=3_000)
    codes = feature_counts.mixed(RNG.integers(size, size=3_000).astype(np.uint64))
    values = RNG.uniform(size=3_000)
    tables = [feature_counts.feature_table(rows, codes, values, 40)]
    products = [tables[0].products(tables[0]), tables[0][:7].products(tables[0])]
    for name in ("counts_compiled", "products_compiled"):
        monkeypatch.setattr(feature_counts, name, lambda: False)
    tables.append(feature_counts.feature_table(rows, codes, values, 40))
    assert_array_equal(tables[0].vocabulary, tables[1].vocabulary)
    dense = tables[1].counts.toarray()
    assert_allclose(tables[0].counts.toarray(), dense, rtol=1e-13)
    assert_allclose(products[0], dense @ dense.T, rtol=1e-12)
    assert_allclose(products[1], dense[:7] @ dense.T, rtol=1e-12)
    assert_allclose(tables[1].products(tables[1]), dense @ dense.T, rtol=1e-12)


def test_new_strings_meet_the_same_codes():
    strings = ["".join(RNG.choice(list("abcd"), 30)) for _ in range(12)]
    kernel = Spectrum(4)
    assert_array_equal(kernel(strings[:5], strings[5:]), kernel(strings)[:5, 5:])


@pytest.mark.parametrize(
    "kernel",
    [PersistenceScaleSpace(0.4), PersistenceWeightedGaussian(0.7), PersistenceFisher(0.5)],
)
def test_compiled_diagrams_equal_those_in_numpy(monkeypatch, kernel):
    births = [RNG.uniform(size=m) for m in (3, 0, 9, 1, 0, 6)]
    diagrams = [np.stack([b, b + 1e-3 * RNG.exponential(size=len(b))], axis=1) for b in births]
    diagrams[2][:, 1] += 1.0
    values = [kernel(diagrams), kernel(diagrams[:4], diagrams[2:])]
    monkeypatch.setattr(diagram_kernels, "sums_compiled", lambda: False)
    monkeypatch.setattr(diagram_kernels, "fisher_compiled", lambda: False)
    # chords of almost equal diagrams are differences of rounded square roots
    assert_allclose(values[0], kernel(diagrams), rtol=1e-12, atol=1e-12 * values[0].max())
    assert_allclose(values[1], values[0][:4, 2:], rtol=1e-12, atol=1e-12 * values[0].max())


@pytest.mark.parametrize("spread", [0.1, 3.0, 40.0])
def test_alignments_are_added_up_whether_or_not_cells_are_tiny(monkeypatch, spread):
    series = [spread * RNG.standard_normal((t, 2)).cumsum(axis=0) for t in (40, 41, 40, 3, 70)]
    kernel = GlobalAlignment(1.0)
    points = kernel.accept(series)
    quick = kernel.log_pairwise(points, points)
    assert_allclose(np.diag(quick), kernel.log_diag(points), rtol=1e-12, atol=1e-12)
    monkeypatch.setattr(alignment_engine, "_MIN_CELLS", 10**9)
    assert_allclose(quick, kernel.log_pairwise(points, points), rtol=1e-12, atol=1e-11)


def test_graphs_of_a_list_are_read_like_single_ones():
    graphs = random_graphs(6, 7)
    together = Graphs.of(graphs)
    for i, graph in enumerate(graphs):
        single = Graphs.of([graph])
        assert_array_equal(together[i : i + 1].adjacency.toarray(), single.adjacency.toarray())
        assert_array_equal(together[i : i + 1].labels, single.labels)
    lopsided = [graphs[0], (np.array([[0.0, 1.0], [0.0, 0.0]]), [0, 1])]
    with pytest.raises(ValueError, match="graph 1 of graphs must have a symmetric"):
        Graphs.of(lopsided)


def test_graph_kernels_equal_those_of_grakel():
    grakel = pytest.importorskip("grakel")
    graphs = random_graphs(12, 9)
    theirs = [[matrix, dict(enumerate(labels))] for matrix, labels in graphs]
    refined = grakel.WeisfeilerLehman(n_iter=3, base_graph_kernel=grakel.VertexHistogram)
    assert_array_equal(WeisfeilerLehman(3)(graphs), refined.fit_transform(theirs))
    assert_array_equal(ShortestPath()(graphs), grakel.ShortestPath().fit_transform(theirs))


def test_signatures_equal_those_of_pysiglib():
    pysiglib = pytest.importorskip("pysiglib")
    series = 0.2 * RNG.standard_normal((4, 12, 2)).cumsum(axis=1)
    theirs = pysiglib.sig_kernel_gram(series, series, method="polynomial", order=20)
    assert_allclose(Signature(None)(series), theirs, rtol=1e-11)


def test_fisher_distances_of_a_large_diagram_and_small_ones_have_room():
    """The buffer is for two diagrams of the larger kind: values next to a small buffer were overwritten once."""
    pytest.importorskip("numba")
    rng = np.random.default_rng(0)
    large = [np.sort(rng.random((400, 2)), axis=1)]
    small = [np.sort(rng.random((2, 2)), axis=1) for _ in range(3)]
    kernel = PersistenceFisher(0.5, 1.0)
    assert_allclose(kernel(large, small), kernel(small, large).T, rtol=1e-12)
    assert_allclose(kernel(large, small), kernel([*large, *small])[:1, 1:], rtol=1e-12)
