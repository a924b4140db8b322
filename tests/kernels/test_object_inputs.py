"""Objects as other packages have them: graphs of networkx, series of tslearn, aeon and sktime, text columns, gudhi."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer.kernels import (
    GlobalAlignment,
    MultiscaleLaplacian,
    PersistenceScaleSpace,
    Series,
    ShortestPath,
    Spectrum,
    WeisfeilerLehman,
    default_kernel,
)
from mercer.learn import SVC
from tests.support.object_zoo import random_graph

_rng = np.random.default_rng(0)
GRAPHS = [random_graph(_rng, n) for n in (1, 4, 6)]
ARRAYS = [_rng.normal(size=(n, 2)) for n in (3, 5, 1)]


class OtherGraph:
    """A graph with the interface of networkx, of which mercer imports nothing."""

    def __init__(self, adjacency, labels, directed=False):
        self.directed = directed
        self.nodes = _Nodes({f"n{i}": {"label": s} for i, s in enumerate(labels)})
        pairs = zip(*np.nonzero(np.triu(adjacency)), strict=True)
        self.pairs = [(f"n{i}", f"n{j}", {"weight": adjacency[i, j]}) for i, j in pairs]

    def is_directed(self):
        return self.directed

    def edges(self, data=False):
        return self.pairs if data else [p[:2] for p in self.pairs]


class _Nodes(dict):
    def __call__(self, data=False):
        return list(self.items()) if data else list(self)


@pytest.mark.parametrize(
    "kernel", [WeisfeilerLehman(2), ShortestPath(), MultiscaleLaplacian(1)], ids=repr
)
def test_graphs_by_their_interface(kernel):
    others = [OtherGraph(a, b) for a, b in GRAPHS]
    assert_allclose(kernel(others), kernel(GRAPHS), rtol=1e-12)
    with pytest.raises(ValueError, match="to_undirected"):
        kernel([OtherGraph(*GRAPHS[1], directed=True)])


def test_networkx():
    nx = pytest.importorskip("networkx")
    graphs = []
    for adjacency, labels in GRAPHS:
        graph = nx.from_numpy_array(adjacency)
        nx.set_node_attributes(graph, dict(enumerate(labels)), "label")
        graphs.append(graph)
    assert_allclose(ShortestPath()(graphs), ShortestPath()(GRAPHS))
    assert default_kernel(graphs) == default_kernel(GRAPHS)
    assert mercer.two_sample(graphs * 8, [*graphs[1:], graphs[1]] * 8, rng=0).pvalue < 0.05
    karate = nx.karate_club_graph()  # weighted, without labels, not numbered from 0 by design
    relabelled = nx.relabel_nodes(karate, {i: f"member {33 - i}" for i in karate})
    assert_allclose(WeisfeilerLehman(3).normalized()([karate, relabelled]), 1)
    with pytest.raises(ValueError, match="directed"):
        ShortestPath()([nx.DiGraph([(0, 1)])])
    with pytest.raises(ValueError, match="negative"):
        ShortestPath()([nx.from_numpy_array(-np.ones((2, 2)))])


def test_lists_of_series_need_no_kernel():
    x = [_rng.normal(size=(int(n), 2)) for n in _rng.integers(2, 6, 20)]
    y = [a + 1.5 for a in x]
    assert default_kernel(x) == default_kernel(Series.of(x))
    assert mercer.two_sample(x, y, rng=0).rejects()
    assert mercer.two_sample(x, y, rng=0).pvalue == mercer.two_sample(Series.of(x), y, rng=0).pvalue
    assert mercer.independence(x, y, rng=0).rejects()
    assert SVC().fit([*x, *y], [0] * 20 + [1] * 20).score([*x, *y], [0] * 20 + [1] * 20) > 0.9
    with pytest.raises(ValueError, match="series 1 of x"):
        mercer.two_sample([x[0], np.array([[np.nan, 0.0]])], y, rng=0)
    with pytest.raises(ValueError, match="from_channels_first"):
        mercer.two_sample(np.zeros((4, 2, 9)), np.zeros((4, 2, 9)))


def test_arrays_of_tslearn_and_aeon():
    longest = max(map(len, ARRAYS))
    padded = np.full((3, longest, 2), np.nan)  # to_time_series_dataset
    for i, a in enumerate(ARRAYS):
        padded[i, : len(a)] = a
    assert Series.from_padded(padded) == Series.of(ARRAYS)
    assert Series.from_channels_first([a.T for a in ARRAYS]) == Series.of(ARRAYS)  # np-list of aeon
    equal = _rng.normal(size=(4, 2, 7))  # numpy3D of aeon and sktime
    assert Series.from_channels_first(equal) == Series.of(equal.transpose(0, 2, 1))
    with pytest.raises(ValueError, match="from_padded"):
        GlobalAlignment()(padded)


def test_frames_of_sktime():
    pd = pytest.importorskip("pandas")
    frames = [pd.DataFrame(a, columns=["u", "v"]) for a in ARRAYS]
    assert Series.of(frames) == Series.of(ARRAYS)  # df-list
    long = pd.concat(frames, keys=["c", "a", "b"], names=["instance", "time"])  # pd-multiindex
    assert Series.from_frame(long) == Series.of(ARRAYS)
    assert Series.from_frame(long.reset_index(), "instance", "time") == Series.of(ARRAYS)
    shuffled = long.iloc[[4, 0, 8, 2, 1, 3, 5, 7, 6]]
    expected = [ARRAYS[1], ARRAYS[0], ARRAYS[2]]  # in the order of first occurrence
    assert Series.from_frame(shuffled) == Series.of(expected)
    nested = pd.DataFrame({c: [f[c] for f in frames] for c in ("u", "v")})  # nested_univ
    assert Series.from_frame(nested) == Series.of(ARRAYS)
    with pytest.raises(ValueError, match="group must name"):
        Series.from_frame(frames[0])
    uneven = pd.DataFrame({"u": [frames[0]["u"]], "v": [frames[1]["v"]]})
    with pytest.raises(ValueError, match="different lengths"):
        Series.from_frame(uneven)


def test_text_columns():
    pd = pytest.importorskip("pandas")
    text = ["the cat", "", "a dog ", "the cat"]
    expected = Spectrum(3)(text)
    for column in (pd.Series(text), pd.Series(text, dtype="string"), pd.DataFrame({"t": text})):
        assert_array_equal(Spectrum(3)(column), expected)
    polars = pytest.importorskip("polars")
    assert_array_equal(Spectrum(3)(polars.Series("t", text)), expected)
    with pytest.raises(TypeError, match="missing"):
        Spectrum(3)(pd.Series(["a", None]))


def test_diagrams_of_gudhi():
    """`persistence_intervals_in_dimension` is an array; `persistence` a list of (dimension, (birth, death))."""
    arrays = [np.array([[0.0, 1.0], [0.2, 0.5]]), np.array([[0.1, 0.4]]), np.empty((0, 2))]
    listed = [[(1, tuple(row)) for row in a.tolist()] for a in arrays]
    kernel = PersistenceScaleSpace(0.5)
    assert_allclose(kernel(listed), kernel(arrays), rtol=1e-14)
    with pytest.raises(ValueError, match=r"dimensions \[0, 1\]"):
        kernel([[(0, (0.0, 1.0)), (1, (0.0, 1.0))]])
    with pytest.raises(ValueError, match="never die"):
        kernel([[(0, (0.0, float("inf")))]])
