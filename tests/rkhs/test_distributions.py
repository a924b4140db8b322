"""Weighted samples: of every kind, checked at the door, drawn from, and taken by the tests."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.htest import MMD
from mercer.kernels import RBF, Energy
from mercer.rkhs import Empirical

WEIGHTS = [0.1, 0.2, 0.3, 0.4]


def test_draws_follow_the_weights():
    p = Empirical(np.arange(4.0), WEIGHTS)
    drawn = p.sample(20_000, rng=0)
    shares = np.bincount(drawn[:, 0].astype(int)) / 20_000
    assert_allclose(shares, WEIGHTS, atol=4 * 0.5 / np.sqrt(20_000))
    assert_array_equal(p.sample(5, rng=3), p.sample(5, rng=3))
    assert Empirical(np.arange(4.0)).sample(7, rng=0).shape == (7, 1)


def test_the_effective_size_is_that_of_equal_weights():
    assert Empirical(np.arange(4.0)).effective_size == 4
    assert_allclose(Empirical(np.arange(4.0), [0.25] * 4).effective_size, 4)
    assert_allclose(Empirical(np.arange(4.0), [1.0, 0, 0, 0]).effective_size, 1)
    assert_allclose(Empirical(np.arange(4.0), WEIGHTS).effective_size, 1 / 0.3)


def frames():
    pd, pl, pa = (pytest.importorskip(n) for n in ("pandas", "polars", "pyarrow"))
    data = {"size": [1.0, 2.0, 3.0, 4.0], "town": ["a", "b", "a", "c"]}
    return [
        pd.DataFrame(data, index=[7, 8, 9, 10]),
        pl.DataFrame(data),
        pa.table(data),
        pa.RecordBatch.from_pydict(data),
    ]


def test_rows_of_frames_stay_rows_of_frames():
    for frame in frames():
        drawn = Empirical(frame, [0.0, 0.0, 1.0, 0.0]).sample(3, rng=0)
        assert len(drawn["size"]) == 3
        assert [float(str(v)) for v in drawn["size"]] == [3.0, 3.0, 3.0]
        assert "DataFrame" in type(drawn).__name__ or "Table" in type(drawn).__name__


def test_series_tensors_and_words():
    pd = pytest.importorskip("pandas")
    series = Empirical(pd.Series(["a", "b"]), [0.0, 1.0]).sample(2, rng=0)
    assert series.tolist() == ["b", "b"]
    assert Empirical(["to", "be"], [1.0, 0.0]).sample(2, rng=0) == ["to", "to"]
    torch = pytest.importorskip("torch")
    p = Empirical(torch.arange(6.0).reshape(3, 2), torch.tensor([0.5, 0.5, 0.0]))
    assert isinstance(p.weights, np.ndarray)
    assert p.weights.dtype == np.float64
    assert p.sample(4, rng=0).shape == (4, 2)
    assert "Tensor" in type(p.sample(4, rng=0)).__name__


def test_weights_are_probabilities():
    x = np.arange(4.0)
    almost = np.array(WEIGHTS) * (1 + 1e-9)
    assert Empirical(x, almost).weights.sum() == 1
    given = np.array(WEIGHTS)
    Empirical(x, given)
    assert_array_equal(given, WEIGHTS)  # not written into
    for weights, message in [
        ([1.0, 2.0, 3.0, 4.0], "weights must add up to one, got 10: divide by their sum"),
        ([0.5, 0.5], r"weights must have shape \(4,\), got \(2,\)"),
        ([1.5, -0.5, 0.0, 0.0], "weights must not be negative, got -0.5"),
        ([np.nan, 0.5, 0.25, 0.25], "weights has NaN"),
        ([[0.25] * 4], r"weights must have shape \(4,\), got \(1, 4\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            Empirical(x, weights)


def test_points_are_checked():
    with pytest.raises(ValueError, match="NaN"):
        Empirical([0.0, np.nan])
    with pytest.raises(TypeError, match="is already an Empirical"):
        Empirical(Empirical([0.0, 1.0]))
    with pytest.raises(ValueError, match="n must be a whole number of at least 1"):
        Empirical([0.0, 1.0]).sample(0)
    with pytest.raises(TypeError):
        Empirical("word")


def test_it_prints_short():
    assert repr(Empirical(np.zeros((3, 2)))) == "Empirical(3 points)"
    assert repr(Empirical(np.arange(4.0), WEIGHTS)) == "Empirical(4 points, weighted)"


@pytest.mark.parametrize("kernel", [None, RBF(0.7), Energy()], ids=repr)
def test_equal_weights_change_nothing(kernel):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(30, 2)), rng.normal(size=(20, 2))
    plain = MMD(kernel).test(x, y, rng=0)
    weighted = MMD(kernel).test(Empirical(x, np.full(30, 1 / 30)), Empirical(y), rng=0)
    assert_allclose(weighted.statistic, plain.statistic, rtol=1e-9)
    assert weighted.pvalue == plain.pvalue
    assert_allclose(weighted.effect().interval, plain.effect().interval, rtol=1e-8)
    assert_allclose(weighted.witness()(x), plain.witness()(x), rtol=1e-9, atol=1e-12)


def test_points_of_weight_zero_do_not_count():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(30, 2)), rng.normal(size=(25, 2))
    weights = np.repeat([1 / 20, 0.0], [20, 10])
    some = MMD(RBF(1.0)).test(Empirical(x, weights), y, rng=0)
    only = MMD(RBF(1.0)).test(x[:20], y, rng=0)
    assert_allclose(some.statistic, only.statistic, rtol=1e-9)
    assert_allclose(some.effect().interval, only.effect().interval, rtol=1e-8)
