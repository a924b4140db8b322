"""Effect sizes that do not depend on the kernel: areas and shares against closed forms and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

import mercer
from mercer.htest import HSIC, KSD, ME, MMD, RDC, Energy, MMDAgg
from mercer.htest.format_number import area_word, share_word
from mercer.htest.separation_auc import Separation, _ordered, separation
from mercer.kernels import RBF, Laplace, Linear
from mercer.rkhs import Empirical, Gaussian

pd = pytest.importorskip("pandas")
KERNEL = RBF(1.0)


def area(x, y, **given):
    return separation(np.concatenate([x, y]), (len(x), len(y)), None, KERNEL, **given)


def test_shifted_normals_have_the_area_of_the_best_classifier():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(900, 3)), rng.normal([1.0, 0.0, 0.0], size=(700, 3))
    best = norm.cdf(1 / np.sqrt(2))  # 0.760, of the likelihood ratio
    told = area(x, y)
    assert best - 0.04 < told.auc < best + 0.04
    assert told.interval(0.999).low < best < told.interval(0.999).high


def test_differences_of_spread_and_of_dependence_are_found():
    rng = np.random.default_rng(1)
    cov = [[1.0, 0.9], [0.9, 1.0]]
    x, y = rng.normal(size=(300, 2)), rng.multivariate_normal([0, 0], cov, size=300)
    best = _best_area(x, y, cov)
    assert best - 0.08 < area(x, y).auc < best + 0.03
    assert area(x, 3 * x[::-1]).auc > 0.8


def _best_area(x, y, cov):
    """The area of the likelihood ratio on these very rows."""
    ratio = [
        multivariate_normal([0, 0], np.eye(2)).logpdf(s)
        - multivariate_normal([0, 0], cov).logpdf(s)
        for s in (x, y)
    ]
    return np.mean(ratio[0][:, None] > ratio[1])


def test_ordered_pairs_by_brute_force():
    rng = np.random.default_rng(2)
    x, y = rng.integers(5, size=30).astype(float), rng.integers(5, size=20).astype(float)
    p, q = rng.random(30), rng.random(20)
    brute = sum(
        a * b * ((u > v) + (u == v) / 2)
        for u, a in zip(x, p, strict=True)
        for v, b in zip(y, q, strict=True)
    )
    np.testing.assert_allclose(_ordered(x, y, p, q), brute)


@pytest.mark.parametrize("auc", [0.4, 0.5, 0.62, 0.93, 1.0])
def test_the_interval_solves_its_equation(auc):
    """Both ends are z standard errors from the estimate, or at an end of [1/2, 1]."""
    told, z = Separation(auc, (40.0, 25.0)), norm.ppf(0.975)
    low, high = told.interval(0.95)
    estimate = max(auc, 0.5)
    assert 0.5 <= low <= estimate <= high <= 1
    for end in (low, high):
        if 0.5 < end < 1:
            np.testing.assert_allclose(abs(estimate - end), z * told._deviation(end), rtol=1e-6)
    assert told.interval(0.5).high <= high


def test_the_same_size_whatever_the_test():
    """0.17, 0.84 and 3.1 by kernel and test were the distances of the same two wines."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(60, 3)), rng.normal([0.9, 0.0, 0.0], size=(50, 3))
    tests = [MMD(RBF(0.3)), MMD(RBF(5.0)), MMD(Linear()), MMDAgg(), Energy(), ME()]
    effects = [test.test(x, y, rng=0).effect() for test in tests]
    np.testing.assert_allclose([e.auc for e in effects], effects[0].auc, rtol=1e-12)
    assert len({e.word for e in effects}) == 1
    assert max(e.standardized for e in effects) > 2 * min(e.standardized for e in effects)
    moved = MMD().test(1e3 * x + 5e3, 1e3 * y + 5e3, rng=0).effect()  # other units
    np.testing.assert_allclose(moved.auc, effects[0].auc, atol=0.01)


def test_equal_samples_are_a_guess_and_sizes_are_not_negative():
    rng = np.random.default_rng(4)
    areas = [area(rng.normal(size=(40, 2)), rng.normal(size=(40, 2))) for _ in range(20)]
    assert np.mean([a.interval(0.95).low <= 0.5 for a in areas]) >= 0.8
    assert abs(np.mean([a.auc for a in areas]) - 0.5) < 0.06
    assert area(np.zeros((9, 1)), np.zeros((9, 1))).auc == 0.5
    assert np.isnan(area(np.zeros((3, 1)), np.ones((9, 1))).auc)


def test_categories_weights_and_many_columns():
    rng = np.random.default_rng(5)
    x = pd.DataFrame({"city": rng.choice(list("abc"), 200), "v": rng.normal(size=200)})
    y = pd.DataFrame({"city": rng.choice(list("bcd"), 150), "v": rng.normal(size=150)})
    assert (
        0.68 < MMD().test(x, y, rng=0).effect().auc < 0.82
    )  # 7/9 of pairs, with ties halved: 0.78
    a, b = rng.normal(size=(300, 1)), rng.normal(size=(300, 1))
    weights = np.exp(a[:, 0])  # turns N(0, 1) into N(1, 1)
    weighted = MMD(KERNEL).test(Empirical(a, weights / weights.sum()), b, rng=0).effect()
    assert 0.66 < weighted.auc < 0.86
    genes = rng.normal(size=(60, 300))
    genes[30:, :20] += 1
    assert area(genes[:30], genes[30:]).auc > 0.8


@pytest.mark.parametrize(("moved", "best"), [(5.0, 1.0), (1.5, 0.856)])
def test_one_column_of_a_thousand_that_differs_is_told_apart(moved, best):
    """Phi(1.5 / sqrt 2) = 0.856; among a thousand columns with one variance for all effects it was 0.6, "small"."""
    rng = np.random.default_rng(11)
    x, y = rng.normal(size=(2, 100, 1000))
    y[:, 500] += moved
    told = area(x, y)
    assert best - 0.09 < told.auc <= 1
    assert told.interval(0.95).low > 0.6


def test_rounding_is_no_misfit():
    """Normal lengths in whole units and tenths: draws were told from them 87% of the time, by their decimals."""
    x = np.random.default_rng(13).normal(size=(80, 2))
    x[:, 0], x[:, 1] = np.round(3 * x[:, 0]) + 40, np.round(x[:, 1], 1)
    effect = KSD(Gaussian([40.0, 0.0], np.diag([9.0, 1.0]))).test(x, rng=0).effect()
    assert effect.auc < 0.62
    assert effect.auc_interval.low == 0.5


def test_one_column_of_many_that_explains_counts():
    """y is a column of five hundred plus noise of the same variance: it explains half."""
    rng = np.random.default_rng(12)
    x = rng.normal(size=(120, 500))
    y = x[:, 7] + rng.normal(size=120)
    strength = HSIC().test(x, y, rng=0).effect()
    shares = {(e.of, e.what): e.share for e in strength.explained}
    assert 0.3 < shares["y", "level"] < 0.65


def test_shares_of_variation_against_closed_forms():
    rng = np.random.default_rng(6)
    x, noise = rng.normal(size=400), rng.normal(size=400)
    linear = HSIC().test(x, 0.8 * x + 0.6 * noise, rng=0).effect()
    assert abs(linear.unitless - 0.64) < 0.08
    assert linear.unitless_interval.low < 0.64 < linear.unitless_interval.high
    assert {(e.of, e.by) for e in linear.explained} == {("y", "x"), ("x", "y")}
    square = HSIC().test(x, x**2 + 0.3 * noise, rng=0).effect()
    assert (square.explained[0].of, square.explained[0].what) == ("y", "level")
    variance = HSIC().test(x, x * noise, rng=0).effect().explained[0]
    assert variance.what == "spread"
    assert variance.interval.low > 0
    nothing = HSIC().test(x, noise, rng=0).effect()
    assert nothing.unitless < 0.05
    assert nothing.unitless_interval.low < 0.02


def test_the_same_share_whatever_the_test():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(80, 1))
    y = x + rng.normal(size=(80, 1))
    tests = [HSIC(), HSIC(Laplace(0.3), Linear()), RDC()]
    shares = [test.test(x, y, rng=0).effect().unitless for test in tests]
    np.testing.assert_allclose(shares, shares[0], rtol=1e-12)
    outlier = np.concatenate([y[:-1], [[1e6]]])
    assert abs(HSIC().test(x, outlier, rng=0).effect().unitless - shares[0]) < 0.15


def test_models_are_told_from_their_draws_where_they_can_draw():
    rng = np.random.default_rng(8)
    x = rng.normal(size=250)
    right, wrong = (mercer.goodness_of_fit(norm(m, 1), x, rng=0).effect() for m in (0.0, 1.0))
    assert right.unitless_interval.low < 0.52
    assert abs(wrong.auc - norm.cdf(1 / np.sqrt(2))) < 0.05
    by_score = KSD(lambda z: 1.0 - z).test(x, rng=0)
    assert by_score.effect().auc is None
    assert by_score.effect().unitless == by_score.effect().relative
    assert "it depends on the kernel" in by_score.summary()
    assert (
        "tells the observations from draws"
        in mercer.goodness_of_fit(norm(1, 1), x, rng=0).summary()
    )


def test_words_are_those_of_cohen_on_these_scales():
    for d, below, above in (
        (0.2, "very small", "small"),
        (0.5, "small", "moderate"),
        (0.8, "moderate", "large"),
    ):
        limit = norm.cdf(d / np.sqrt(2))
        assert (area_word(limit - 0.002), area_word(limit + 0.002)) == (below, above)
    for r, below, above in (
        (0.1, "very weak", "weak"),
        (0.3, "weak", "moderate"),
        (0.5, "moderate", "strong"),
    ):
        assert (share_word(r**2 - 1e-6), share_word(r**2 + 1e-6)) == (below, above)
