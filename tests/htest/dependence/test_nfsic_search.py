"""Learnt locations of the finite set independence criterion: gradients, the search, level, power."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.datasets import GaussianSign, Sinusoid
from mercer.errors import NoRule
from mercer.htest import NFSIC
from mercer.htest.dependence.learn_location_pairs import (
    LocationPairObjective,
    _forward_selection,
    _scaled_pair,
    power_proxy,
)
from mercer.kernels import RBF, Cauchy, InverseMultiquadric, Laplace
from tests.support.arrays import torch
from tests.support.htest_pairs import normal, squares


@pytest.fixture
def observed():
    return squares(90)


@pytest.mark.parametrize("kernel", [None, Cauchy(1.2), InverseMultiquadric(0.7)], ids=repr)
def test_the_gradient_is_that_of_torch(kernel, observed):
    """Of minus n u'(M + ridge)^-1 u, by (V, log width, W, log width); M is 3/4 S and 1/4 A o B."""
    sides = _scaled_pair((kernel, None), *observed)
    rng = np.random.default_rng(2)
    theta = np.concatenate([rng.normal(size=9), [-0.3], rng.normal(size=6), [0.2]])
    value, gradient = LocationPairObjective(sides, np.arange(60), 3, 0.01)(theta)

    t = torch.tensor(theta, requires_grad=True)
    features = []
    for side, part, d in zip(sides, (t[:10], t[10:]), (3, 2), strict=True):
        x, v = torch.tensor(side.points[:60]), part[:-1].reshape(3, d)
        r2 = ((x[:, None, :] - v) ** 2).sum(-1) * torch.exp(-2 * part[-1]) * side.scale
        features.append(_radial(side.kernel, r2))
    k, l_ = features
    k, l_ = k - k.mean(0), l_ - l_.mean(0)
    g = k * l_
    u = g.mean(0)
    m = 0.75 * (g - u).T @ (g - u) / 60 + 0.25 * (k.T @ k / 60) * (l_.T @ l_ / 60)
    expected = -60 * u @ torch.linalg.solve(m + 0.01 * torch.eye(3, dtype=torch.float64), u)
    expected.backward()
    assert_allclose(value, expected.item(), rtol=1e-10)
    assert_allclose(gradient, t.grad.numpy(), rtol=1e-8, atol=1e-10)


def _radial(kernel, r2):
    """Plain formulas in torch."""
    if kernel is None:
        return torch.exp(-r2 / 2)
    if isinstance(kernel, Cauchy):
        return 1 / (1 + r2 / kernel.bandwidth**2)
    return (kernel.offset**2 + r2) ** -kernel.exponent


def test_the_proxy_of_power_has_the_slopes_of_finite_differences():
    """By every entry of both sets of features; central differences err by about 1e-9 of the value."""
    rng = np.random.default_rng(3)
    k, l_ = rng.random(size=(2, 30, 4))
    value, by_k, by_l = power_proxy(k, l_, 1e-3)
    step = 1e-6
    for features, slopes in ((k, by_k), (l_, by_l)):
        found = np.empty_like(slopes)
        for place in np.ndindex(*features.shape):
            kept = features[place]
            features[place] = kept + step
            above = power_proxy(k, l_, 1e-3)[0]
            features[place] = kept - step
            found[place] = (above - power_proxy(k, l_, 1e-3)[0]) / (2 * step)
            features[place] = kept
        assert_allclose(found, slopes, rtol=1e-5, atol=1e-6 * value)


def test_the_proxy_of_power_is_not_fooled_by_holes():
    """Where no observation is, S is small by chance, and the paper's number large; A o B is not."""
    rng = np.random.default_rng(0)
    n = 400
    k, l_ = np.zeros((2, n, 1))
    k[:20], l_[20:40] = rng.random(size=(2, 20, 1))  # never together, which may be chance
    g = (k - k.mean(0)) * (l_ - l_.mean(0))
    paper = n * g.mean() ** 2 / g.var()
    chance = n * g.mean() ** 2 / (k.var() * l_.var())
    found = power_proxy(k, l_, 0.0)[0]
    assert_allclose(1 / found, 0.75 / paper + 0.25 / chance, rtol=1e-10)
    assert chance < 1.5 < found < paper


def test_beginnings_grow_by_the_best_location():
    rng = np.random.default_rng(0)
    g = rng.normal(size=(200, 12)) @ rng.normal(size=(12, 12)) + rng.normal(size=12)
    s, u = np.cov(g.T, bias=True) + 0.1 * np.eye(12), g.mean(axis=0)

    def value(at):
        return u[at] @ np.linalg.solve(s[np.ix_(at, at)], u[at])

    taken: list[int] = []
    for _ in range(4):
        rest = [c for c in range(12) if c not in taken]
        taken.append(max(rest, key=lambda c: value([*taken, c])))
    best, found = _forward_selection(u, np.cov(g.T, bias=True), 4, 0.1)
    assert_array_equal(found, taken)
    assert_allclose(best, value(taken), rtol=1e-8)


@pytest.mark.parametrize("problem", [Sinusoid(3.0), GaussianSign(3)], ids=repr)
def test_learnt_locations_have_power_where_random_ones_have_little(problem):
    learnt = random = 0
    for seed in range(4):
        x, y = problem.sample(3000, rng=seed)
        test = NFSIC.optimized(x[:1500], y[:1500], locations=6, rng=seed)
        learnt += test.test(x[1500:], y[1500:]).rejects(0.05)
        random += NFSIC(locations=6).test(x[1500:], y[1500:], rng=seed).rejects(0.05)
    assert learnt == 4
    assert random <= 3


def test_learning_repeats_itself_and_leaves_units_alone():
    x, y = Sinusoid(2.0).sample(600, rng=0)
    one = NFSIC.optimized(x, y, locations=3, rng=1)
    assert one == NFSIC.optimized(x, y, locations=3, rng=1)
    other = NFSIC.optimized(x * 1000 + 5, y, locations=3, rng=1)
    assert_allclose(other.statistic(x * 1000 + 5, y), one.statistic(x, y), rtol=1e-3)
    assert_allclose(other.kernel_x.bandwidth, 1000 * one.kernel_x.bandwidth, rtol=1e-2)


def test_given_kernels_are_widened():
    x, y = Sinusoid(2.0).sample(800, rng=0)
    test = NFSIC.optimized(x, y, kernel_x=Cauchy(1.0), kernel_y=2 * RBF(1.0), locations=2, rng=0)
    assert isinstance(test.kernel_x, Cauchy)
    fresh = Sinusoid(2.0).sample(800, rng=1)
    assert test.test(*fresh, rng=0).rejects(0.01)


def test_columns_of_frames_are_learnt_in_their_units():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 1000))
    x = pd.DataFrame({"a": a, "b": 1e4 * b})
    y = pd.DataFrame({"c": np.sin(3 * a) + 0.5 * rng.normal(size=1000)})
    test = NFSIC.optimized(x[:500], y[:500], locations=2, rng=0)
    assert test.test(x[500:], y[500:], rng=0).rejects(0.01)


def test_what_cannot_be_learnt_is_refused(observed):
    with pytest.raises(NoRule, match="smooth radial kernels"):
        NFSIC.optimized(*observed, kernel_x=Laplace(1.0))
    with pytest.raises(ValueError, match="locations must be a whole number"):
        NFSIC.optimized(*observed, locations=0)
    with pytest.raises(ValueError, match="all points of x are equal"):
        NFSIC.optimized(np.zeros((90, 1)), observed[1])


@pytest.mark.slow
def test_learnt_locations_hold_the_level():
    found = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        x, y = normal(3, 2)(rng, 800)
        test = NFSIC.optimized(x[:300], y[:300], rng=rng)
        found += test.test(x[300:], y[300:], rng=rng).rejects(0.05)
    assert 0.0175 <= found / 400 <= 0.09
