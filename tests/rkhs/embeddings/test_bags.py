"""Bags: ways to make them, sequences of them, what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.kernels import RBF
from mercer.rkhs import Bags, Empirical, Gaussian
from mercer.rkhs.embeddings import bags as bags_module
from mercer.rkhs.embeddings.as_bags import as_bags
from mercer.rkhs.embeddings.as_batch import batch_of
from mercer.rkhs.embeddings.bags import tensor_bags
from mercer.rkhs.embeddings.batch import inner_products


@pytest.fixture
def bags() -> Bags:
    rng = np.random.default_rng(0)
    return Bags.of([rng.normal(size=(n, 2)) for n in (3, 1, 4, 2)])


def test_of_lists_arrays_and_weighted_samples():
    found = Bags.of([[[1.0], [2.0]], np.array([[3.0]]), Empirical([[1.0], [5.0]], [0.25, 0.75])])
    assert_array_equal(found.offsets, [0, 2, 3, 5])
    assert_allclose(found.weights, [0.5, 0.5, 1.0, 0.25, 0.75])
    assert_allclose(found.means(), [[1.5], [3.0], [4.0]])
    assert Bags.of(found) is found


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_of_frames_in_the_order_of_names(frame):
    data = frame({"who": ["b", "a", "b"], "x": [1.0, 2.0, 3.0], "y": [0.0, 1.0, 2.0]})
    found = Bags.from_frame(data, "who")
    assert found.names == ("a", "b")
    assert_array_equal(found[0].points, [[2.0, 1.0]])
    assert_array_equal(found[1].points, [[1.0, 0.0], [3.0, 2.0]])


def test_of_arrow_lists():
    numbers = pa.array([[1.0, 2.0], [3.0]])
    assert_array_equal(Bags.from_arrow(numbers).values, [[1.0], [2.0], [3.0]])
    points = pa.chunked_array([[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]]])
    found = Bags.from_arrow(points)
    assert_array_equal(found.offsets, [0, 2, 3])
    assert_array_equal(found.values, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert_array_equal(Bags.from_arrow(numbers.slice(1)).values, [[3.0]])


def test_of_arrow_in_other_forms():
    pairs = pa.array([[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]], pa.list_(pa.list_(pa.float64(), 2)))
    assert_array_equal(Bags.from_arrow(pairs).values, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert_array_equal(Bags.from_arrow(pairs[1:]).values, [[3.0, 4.0], [5.0, 6.0]])
    equal = pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float64(), 2))
    assert_array_equal(Bags.from_arrow(equal).offsets, [0, 2, 4])
    assert_array_equal(
        Bags.from_arrow(pl.Series([[1.0, 2.0], [3.0]])).values, [[1.0], [2.0], [3.0]]
    )
    small = pa.chunked_array([pa.array([[1, 2]], pa.large_list(pa.int8())), [[3]]])
    assert_array_equal(Bags.from_arrow(small).values, [[1.0], [2.0], [3.0]])


def test_names_of_groups_of_any_kind():
    data = pd.DataFrame(
        {"x": [1.0, 2.0, 3.0], "day": pd.to_datetime(["2020-01-02", "2020-01-01", "2020-01-02"])}
    )
    found = Bags.from_frame(data, "day")
    assert [str(name)[:10] for name in found.names] == ["2020-01-01", "2020-01-02"]
    assert_array_equal(found.values, [[2.0], [1.0], [3.0]])
    by_number = pd.DataFrame({0: [2, 1, 2], 1: [1.0, 2.0, 3.0]})
    assert Bags.from_frame(by_number, 0).names == (1, 2)
    frames = [part[["x"]] for _, part in data.groupby("day")]
    assert_array_equal(Bags.of(frames).values, found.values)


def test_none_of_them(bags):
    for rows in (slice(4, None), [False] * 4, np.array([], dtype=int)):
        assert len(bags[rows]) == 0
        assert repr(bags[rows]) == "Bags(0 bags, 2 dimensions)"


def test_a_sequence_that_slices(bags):
    assert len(bags) == 4
    assert [len(b) for b in bags] == [3, 1, 4, 2]
    assert_array_equal(bags[1:3].values, bags.values[3:8])
    assert_array_equal(bags[1:3].offsets, [0, 1, 5])
    assert_array_equal(bags[-1].points, bags.values[8:])
    for rows in ([2, 0, 2], np.array([True, False, True, False]), slice(None, None, 2)):
        at = np.arange(4)[rows]
        assert_array_equal(bags[rows].values, np.concatenate([bags[int(i)].points for i in at]))
    with pytest.raises(IndexError):
        bags[4]


def test_saved_and_loaded(bags, tmp_path):
    named = Bags(bags.values, bags.offsets, names=("a", "b", "c", "d"))
    named.save(tmp_path / "bags.npz")
    again = Bags.load(tmp_path / "bags.npz")
    assert_array_equal(again.values, bags.values)
    assert_array_equal(again.offsets, bags.offsets)
    assert again.names == named.names
    assert again.weights is None
    assert again[1:3].names == ("b", "c")
    assert again[[3, 0]].names == ("d", "a")


def test_saved_under_any_name_and_with_any_names(bags, tmp_path):
    weighted = Bags.of([Empirical([[0.0], [1.0]], [0.3, 0.7]), [[2.0]]])
    for names in ((1, 2), ("a", "b"), (np.datetime64("2020-01-01"), np.datetime64("2021-01-01"))):
        named = Bags(weighted.values, weighted.offsets, weighted.weights, names)
        named.save(tmp_path / "bags")
        again = Bags.load(tmp_path / "bags")
        assert again.names == names
        assert_array_equal(again.weights, weighted.weights)
    for names in (("a", 1), (None, "b"), ((1, 2), (3, 4))):
        with pytest.raises(
            TypeError, match="names can be saved only if all of them are text, all numbers"
        ):
            Bags(weighted.values, weighted.offsets, names=names).save(tmp_path / "bags")


def test_refusals():
    with pytest.raises(ValueError, match="bag 1 is empty"):
        Bags.of([np.zeros((2, 2)), np.zeros((0, 2))])
    with pytest.raises(ValueError, match="bag 0 has 2, bag 1 has 3"):
        Bags.of([np.zeros((2, 2)), np.zeros((2, 3))])
    with pytest.raises(ValueError, match="bag 1.*NaN"):
        Bags.of([np.zeros((2, 2)), np.array([[0.0, np.nan]])])
    with pytest.raises(ValueError, match=r"bag 1 has NaN.*1 of 2 points \(first: point 1\)"):
        Bags(np.array([[0.0], [1.0], [np.nan]]), [0, 1, 3])
    with pytest.raises(TypeError, match="Bags hold samples only: use a list for distributions"):
        Bags.of([Gaussian(0.0, 1.0)])
    for nothing in (3, "abc"):
        with pytest.raises(TypeError, match="bags must be a sequence of samples"):
            Bags.of(nothing)
    with pytest.raises(ValueError, match="those of bag 1 add up to 1.5"):
        Bags(np.zeros((3, 1)), [0, 1, 3], [1.0, 1.0, 0.5])
    with pytest.raises(ValueError, match="must not be negative"):
        Bags(np.zeros((2, 1)), [0, 2], [1.5, -0.5])
    with pytest.raises(ValueError, match="bag 1 is empty"):
        Bags(np.zeros((3, 1)), [0, 3, 3])
    with pytest.raises(ValueError, match="from 0 to the number of points, 3"):
        Bags(np.zeros((3, 1)), [0, 2])
    with pytest.raises(ValueError, match="offsets must be integers"):
        Bags(np.zeros((3, 1)), [0.0, 3.0])
    with pytest.raises(ValueError, match="at least one bag"):
        Bags.of([])
    with pytest.raises(ValueError, match="names must have one entry per bag"):
        Bags(np.zeros((3, 1)), [0, 3], names=("a", "b"))


def test_refused_frames():
    data = pd.DataFrame({"who": ["a", None], "x": [1.0, 2.0], "kind": ["u", "v"]})
    with pytest.raises(ValueError, match="missing values"):
        Bags.from_frame(data, "who")
    with pytest.raises(
        ValueError, match="no column 'group': the frame has the columns who, x, kind"
    ):
        Bags.from_frame(data.dropna(), "group")
    with pytest.raises(TypeError, match="column 'kind' holds categories"):
        Bags.from_frame(data.dropna(), "who")
    with pytest.raises(TypeError, match="must be a data frame"):
        Bags.from_frame([[1.0]], "who")
    with pytest.raises(TypeError, match="array of lists"):
        Bags.from_arrow(pa.array([1.0]))
    with pytest.raises(ValueError, match="missing bags"):
        Bags.from_arrow(pa.array([[1.0], None]))
    with pytest.raises(ValueError, match="the first has 1 numbers, one of bag 1 has 2"):
        Bags.from_arrow(pa.array([[[1.0]], [[1.0], [1.0, 2.0]]]))
    with pytest.raises(ValueError, match="bag 1 is empty"):
        Bags.from_arrow(pa.array([[1.0], []]))
    for missing in ([[1.0], [2.0, None]], [[[1.0, 2.0]], [[3.0, None]]], [[[1.0]], [None]]):
        with pytest.raises(ValueError, match="bag 1 has missing values"):
            Bags.from_arrow(pa.array(missing))
    with pytest.raises(ValueError, match="bag 1 has NaN"):
        Bags.from_arrow(pa.array([[1.0], [float("nan")]]))
    with pytest.raises(TypeError, match="numbers or lists of numbers, got struct"):
        Bags.from_arrow(pa.array([[{"x": 1.0}]]))
    with pytest.raises(TypeError, match="got list: for Python lists use Bags.of"):
        Bags.from_arrow([[1.0]])
    with pytest.raises(TypeError, match="got LazyFrame: call .collect"):
        Bags.from_frame(pl.DataFrame({"who": [1], "x": [1.0]}).lazy(), "who")
    with pytest.raises(TypeError, match="names of one type"):
        Bags.from_frame(pd.DataFrame({"who": ["a", 1], "x": [1.0, 2.0]}), "who")


def test_tensors_of_a_gpu_are_checked_together_and_give_the_same_batch(monkeypatch):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    x = [torch.as_tensor(rng.normal(size=(m, 2))) for m in (3, 1, 4)]
    one_by_one = batch_of(RBF(1.0), x)
    assert tensor_bags(x) is None
    monkeypatch.setattr(bags_module, "on_gpu", lambda bag: isinstance(bag, torch.Tensor))
    joined = tensor_bags(x)
    assert isinstance(joined, Bags)
    assert joined.sizes.tolist() == [3, 1, 4]
    together = batch_of(RBF(1.0), x)
    expected = inner_products(RBF(1.0), one_by_one, one_by_one)
    assert_allclose(inner_products(RBF(1.0), together, together), expected)
    assert as_bags(x, draws=1, rng=0).sizes.tolist() == [3, 1, 4]
    x[1][0, 0] = np.nan
    assert tensor_bags(x) is None  # the check of each names the bag
    with pytest.raises(ValueError, match=r"x\[1\]"):
        batch_of(RBF(1.0), x)
    assert tensor_bags([x[0], x[2][:, :1]]) is None
    assert tensor_bags([x[0], x[2].to(torch.float32)]) is None


def test_a_frame_whose_columns_have_very_different_spreads_is_warned_of():
    """Beside steps of thousands, pulses are constant: a learner of their spread had R^2 = -0.12, and 0.83 once they were divided."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"who": rng.integers(5, size=60), "pulse": rng.normal(90, 9, 60)})
    frame["steps"], frame["site"] = rng.exponential(3000, 60), 1.0  # a constant has no spread
    with pytest.warns(
        UserWarning, match=r"hardly see 'pulse' \(standard deviation .* beside 'steps'"
    ):
        raw = Bags.from_frame(frame, "who")
    frame["steps"] /= 100
    scaled = Bags.from_frame(frame, "who")  # warnings are errors here
    assert_allclose(scaled.values[:, 1], raw.values[:, 1] / 100)
