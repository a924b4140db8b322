"""Closed forms of entropies and divergences against quadrature, limits and each other."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st
from numpy.testing import assert_allclose
from scipy.integrate import quad

from mercer import info
from mercer.errors import NoRule
from mercer.info import cross_entropy, divergence, entropy
from mercer.rkhs import Gaussian, Mixture, Uniform

PAIRS = {
    "Gaussians": (Gaussian(0.3, 1.0), Gaussian(1.0, 1.5), st.norm(0.3, 1), st.norm(1, 1.5**0.5)),
    "gamma": (st.gamma(3, scale=2), st.gamma(2.5, scale=2.5)) * 2,
    "beta": (st.beta(3, 2), st.beta(2, 1.5)) * 2,
    "exponential": (st.expon(scale=2), st.expon(scale=3)) * 2,
    "uniforms": (Uniform(0.5, 2.0), Uniform(0.0, 3.0), st.uniform(0.5, 1.5), st.uniform(0, 3)),
}
# integrand of each measure, and the function of its integral
DIVERGENCES = {
    info.KL(): (lambda p, q: p * np.log(p / q), lambda i: i),
    info.Renyi(0.7): (lambda p, q: p**0.7 * q**0.3, lambda i: np.log(i) / -0.3),
    info.Tsallis(1.3): (lambda p, q: p**1.3 * q**-0.3, lambda i: (i - 1) / 0.3),
    info.SharmaMittal(0.5, 1.4): (
        lambda p, q: p**0.5 * q**0.5,
        lambda i: (i ** (-0.4 / 0.5) - 1) / 0.4,
    ),
    info.L2(): (lambda p, q: (p - q) ** 2, np.sqrt),
    info.Hellinger(): (lambda p, q: (p**0.5 - q**0.5) ** 2 / 2, np.sqrt),
    info.Bhattacharyya(): (lambda p, q: (p * q) ** 0.5, lambda i: -np.log(i)),
    info.Chi2(): (lambda p, q: (p - q) ** 2 / q, lambda i: i),
    info.Jeffreys(): (lambda p, q: (p - q) * np.log(p / q), lambda i: i),
    info.Bregman(1.5): (
        lambda p, q: q**1.5 + (p**1.5 - 1.5 * p * q**0.5) / 0.5,
        lambda i: i,
    ),
    info.SymmetricBregman(1.5): (lambda p, q: (p - q) * (p**0.5 - q**0.5) / 0.5, lambda i: i),
}


def integral(f, p, q, low, high):
    def integrand(x):
        a, b = float(p.pdf(x)), float(q.pdf(x))
        return f(max(a, 1e-300), max(b, 1e-300))

    edges = [v for v in (0.5, 2.0) if low < v < high]
    return quad(integrand, low, high, points=edges, limit=200)[0]


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("measure", DIVERGENCES, ids=repr)
def test_divergences_are_integrals(pair, measure):
    p, q, left, right = PAIRS[pair]
    integrand, outer = DIVERGENCES[measure]
    if pair == "uniforms" and isinstance(measure, info.Jeffreys):
        assert divergence(p, q, measure) == np.inf
        return
    low, high = (
        max(right.support()[0], -12),
        min(right.support()[1], 150 if pair != "Gaussians" else 12),
    )
    expected = outer(integral(integrand, left, right, low, high))
    assert_allclose(divergence(p, q, measure), expected, rtol=1e-5)


@pytest.mark.parametrize("pair", PAIRS)
def test_entropies_are_those_of_scipy(pair):
    p, q, left, _ = PAIRS[pair]
    assert_allclose(entropy(p), left.entropy(), rtol=1e-12)
    assert_allclose(cross_entropy(p, q), entropy(p) + divergence(p, q), rtol=1e-12)
    # Renyi's and Tsallis' entropies tend to Shannon's, Sharma and Mittal's to Renyi's
    for measure in (info.Renyi(1 + 1e-6), info.Tsallis(1 + 1e-6)):
        assert_allclose(entropy(p, measure), entropy(p), atol=1e-4)
    between = entropy(p, info.SharmaMittal(2.0, 1 + 1e-7))
    assert_allclose(between, entropy(p, info.Renyi(2.0)), atol=1e-5)


def test_gaussians_in_several_dimensions():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 3, 3))
    p, q = Gaussian([0, 1, 2], a @ a.T + np.eye(3)), Gaussian([1, 1, 0], b @ b.T + np.eye(3))
    x = p.sample(200_000, rng=1)
    logs = p.log_density(x) - q.log_density(x)
    assert_allclose(divergence(p, q), logs.mean(), atol=5 * logs.std() / len(x) ** 0.5)
    powers = np.exp(-0.5 * logs)
    value = 1 - divergence(p, q, info.Hellinger()) ** 2
    assert_allclose(value, powers.mean(), atol=5 * powers.std() / len(x) ** 0.5)
    assert divergence(p, Gaussian([0, 0, 0], 1e-3), info.Renyi(3.0)) == np.inf


def test_mixtures_have_quadratic_integrals():
    p = Mixture([Gaussian(-1.0, 0.5), Mixture([Gaussian(2.0, 1.0)])], [0.3, 0.7])
    q = Gaussian(0.5, 2.0)

    def density(m):
        return lambda x: float(np.exp(m.log_density([x])[0]))

    f, g = density(p), density(q)
    expected = quad(lambda x: (f(x) - g(x)) ** 2, -20, 20, limit=200)[0] ** 0.5
    assert_allclose(divergence(p, q, info.L2()), expected, rtol=1e-8)
    squares = [quad(lambda x, h=h: h(x) ** 2, -20, 20, limit=200)[0] for h in (f, g)]
    cross = quad(lambda x: f(x) * g(x), -20, 20, limit=200)[0]
    expected = np.log(squares[0] * squares[1] / cross**2)
    assert_allclose(divergence(p, q, info.CauchySchwarz()), expected, rtol=1e-8)
    mixed = quad(lambda x: (f(x) / 2 + g(x) / 2) ** 2, -20, 20, limit=200)[0]
    expected = 1 - mixed - sum(1 - s for s in squares) / 2
    assert_allclose(divergence(p, q, info.JensenTsallis(2)), expected, rtol=1e-8)
    expected = quad(lambda x: f(x) * np.log(g(x)), -12, 12, limit=200)[0]
    assert_allclose(-cross_entropy(p, q), expected, rtol=1e-6)
    with pytest.raises(NoRule, match="take samples"):
        entropy(p)


def test_boxes():
    p, q = Uniform([0, 0], [1, 2]), Uniform([0.5, 0], [2, 2])
    assert divergence(p, q) == np.inf
    assert divergence(Uniform(0, 1), Uniform(5, 6), info.JensenShannon()) == pytest.approx(
        np.log(2)
    )
    assert divergence(p, q, info.L()) == pytest.approx(2 * divergence(p, q, info.JensenShannon()))
    expected = divergence(p, q, info.K()) + divergence(q, p, info.K())
    assert divergence(p, q, info.L()) == pytest.approx(expected)
    with pytest.raises(ValueError, match="x has values that y has not"):
        divergence(p, q, info.FDivergence(lambda r: (r - 1) ** 2))
    box = Uniform(-1, 2)
    expected = quad(lambda x: -st.norm.logpdf(x, 1, 2) / 3, -1, 2)[0]
    assert_allclose(cross_entropy(box, Gaussian(1.0, 4.0)), expected, rtol=1e-9)


def test_what_has_no_rule_says_what_to_do():
    with pytest.raises(NoRule, match="take samples instead"):
        divergence(Gaussian(0.0, 1.0), Uniform(0, 1))
    with pytest.raises(NoRule, match="y must be a distribution, because the other one is"):
        divergence(Gaussian(0.0, 1.0), [1.0, 2.0])
    with pytest.raises(NoRule, match=r"scipy.stats.cauchy"):
        entropy(st.cauchy())
    with pytest.raises(ValueError, match="same dimension, got 1 and 2"):
        divergence(Gaussian(0.0, 1.0), Gaussian([0.0, 0.0], 1.0))
    with pytest.raises(NoRule, match="no mutual information of distributions"):
        info.mutual_information(Gaussian(0.0, 1.0), Gaussian(0.0, 1.0))
