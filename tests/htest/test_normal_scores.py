"""Normal scores of ranks, as a map and as kernels of the default tests."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm, rankdata

import mercer
from mercer.backend import to_numpy
from mercer.htest import HSICAgg, MMDAgg, Permutation
from mercer.htest.kernel_collection import formula, frame_low_order, low_order
from mercer.htest.normal_scores import NormalScores
from mercer.htest.samples.effect import witness_of
from mercer.htest.samples.pooled_sample import by_kernel, pool_with_low_order
from mercer.kernels.prepare import as_table

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.standard_cauchy(60), RNG.integers(0, 4, 60)])


def _expected(x):
    scores = norm.ppf((rankdata(x, axis=0) - 0.5) / len(x))
    return (scores - scores.mean(axis=0)) / scores.std(axis=0)


def test_scores_are_quantiles_of_mean_ranks():
    assert_allclose(NormalScores.of(X)(X), _expected(X), atol=1e-12)


def test_between_and_beyond_the_values():
    scores = NormalScores.of(np.array([[0.0], [2.0], [3.0]]))
    low, middle, high = scores(np.array([[0.0], [2.0], [3.0]]))[:, 0]
    expected = [low, (low + middle) / 2, high, high]
    assert_allclose(scores(np.array([[-9.0], [1.0], [3.0], [1e308]]))[:, 0], expected)


def test_constant_columns_have_score_zero():
    constant = np.hstack([X[:, :1], np.full((60, 1), 7.0)])
    assert np.all(NormalScores.of(constant)(constant)[:, 1] == 0)


def test_many_values_are_interpolated():
    x = RNG.exponential(size=(30_000, 1))
    scores = NormalScores.of(x)
    assert len(scores.knots[0]) <= 4096
    assert np.max(np.abs(scores(x) - _expected(x))) < 0.5
    assert np.mean(np.abs(scores(x) - _expected(x))) < 1e-3


def test_moved_scores_are_those_of_moved_points():
    origin = np.array([3.0, -1.0])
    assert_allclose(NormalScores.of(X).moved(origin)(X + origin), NormalScores.of(X)(X))


def test_torch_gives_the_same_scores():
    torch = pytest.importorskip("torch")
    for dtype in (torch.float32, torch.float64):
        points = torch.tensor(X, dtype=dtype)
        scores = NormalScores.of(points)(points)
        assert scores.dtype == dtype
        assert_allclose(scores.numpy(), _expected(points.numpy()), atol=1e-5)


def test_kernels_of_low_order_are_means_and_products():
    values, linear, products = low_order(X)
    z = _expected(X)
    assert_allclose(values(X), X @ X.T)
    assert_allclose(linear(X), z @ z.T, atol=1e-12)
    assert_allclose(products(X), (z @ z.T) ** 2, atol=1e-12)
    assert formula(linear) == "Linear() of normal scores"


def test_frames_add_shares_of_categories():
    frame = pd.DataFrame({"a": X[:, 0], "letter": RNG.choice(["u", "v"], 60), "b": X[:, 1]})
    z, same = _expected(X), frame["letter"].to_numpy()[:, None] == frame["letter"].to_numpy()
    values, linear, products = frame_low_order(as_table(frame, "frame"))
    standard = X / X.std(axis=0)
    assert_allclose(values(frame), standard @ standard.T + same)
    assert_allclose(linear(frame), z @ z.T + same, atol=1e-12)
    assert_allclose(products(frame), (z @ z.T) ** 2, atol=1e-12)
    shares, _ = frame_low_order(as_table(frame[["letter"]], "frame"))
    assert_allclose(shares(frame), same)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_result_of_a_shift_is_in_the_coordinates_of_the_user(offset):
    rng = np.random.default_rng(1)
    x, y = rng.normal(offset, size=(60, 2)), rng.normal(offset + 0.5, size=(50, 2))
    assert MMDAgg(null=Permutation(199)).test(x, y, rng=0).rejects()
    pooled, kernels, _ = pool_with_low_order(x, y)
    together = np.concatenate([x, y])
    center = to_numpy(pooled.origin)
    for kernel, z in zip(kernels[:2], (together - center, _expected(together)), strict=True):
        moved = by_kernel(pooled, kernel)
        assert_allclose(moved.points, together, atol=1e-9)
        means = z[:60].mean(axis=0) - z[60:].mean(axis=0)
        assert_allclose(witness_of(moved)(together), z @ means, atol=1e-7)
        assert "values" in formula(moved.kernel) or "scores" in formula(moved.kernel)


def test_heavy_tails_do_not_hide_a_shift_or_a_linear_relation():
    rng = np.random.default_rng(2)
    x, y = rng.standard_cauchy(200), 1.2 + rng.standard_cauchy(200)
    assert mercer.two_sample(x, y, rng=0).rejects(0.01)
    result = HSICAgg(null=Permutation(199)).test(x, 0.5 * x + rng.standard_cauchy(200), rng=0)
    assert result.rejects(0.01)
    assert result.witness()([1.0], [1.0])[0] > 0 > result.witness()([1.0], [-1.0])[0]


def test_monotone_maps_of_columns_leave_the_linear_evidence():
    x = np.random.default_rng(3).normal(size=80)
    _, linear, _ = low_order(x[:, None])
    _, again, _ = low_order(np.exp(x)[:, None])
    assert_allclose(linear(x), again(np.exp(x)), atol=1e-12)


@pytest.mark.parametrize("unit", [2.0**-400, 2.0**400], ids=["small", "large"])
@pytest.mark.parametrize("kind", [MMDAgg, HSICAgg])
def test_extreme_units_leave_the_linear_evidence_and_its_effect(kind, unit):
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(60, 1)), rng.normal(0.6, size=(60, 1))
    if kind is HSICAgg:
        y = x + 2 * y
    test = kind(null=Permutation(99))
    expected, extreme = test.test(x, y, rng=0), test.test(unit * x, unit * y, rng=0)
    assert "the strongest is Linear()" in expected.notes[0]
    assert extreme.notes == expected.notes
    assert extreme.pvalue == expected.pvalue
    assert_allclose(extreme.statistic, expected.statistic, rtol=1e-6)
    assert_allclose(extreme.effect().unitless, expected.effect().unitless, rtol=1e-9)
    assert np.all(np.isfinite(extreme.effect().interval))
