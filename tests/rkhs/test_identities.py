"""Identities of the texts: discrepancies by densities, distribution and characteristic functions; classes and norms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import (
    RBF,
    Brownian,
    GlobalAlignment,
    Matern,
    ShortestPath,
    Sobolev,
    Spectrum,
    canonical_distance,
    spectral_density,
)
from mercer.learn import SupportMeasureMachine
from mercer.rkhs import Function, Gaussian, MeanMap, Mixture, Quadrature, mean_embedding, mmd2

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=25), RNG.normal(0.5, 1.3, size=30)


def test_the_distance_of_kernel_densities_is_an_mmd():
    """int |f_X - f_Y|^2 of kernel density estimates of width h is a multiple of MMD^2 of RBF(h sqrt 2)."""
    h = 0.4
    t = np.linspace(-8, 8, 4001)
    densities = [np.exp(Mixture([Gaussian(p, h**2) for p in z]).log_density(t)) for z in (X, Y)]
    integral = np.sum((densities[0] - densities[1]) ** 2) * (t[1] - t[0])
    constant = 1 / np.sqrt(4 * np.pi * h**2)
    assert_allclose(integral, constant * mmd2(RBF(h * 2**0.5), X, Y, unbiased=False), rtol=1e-9)


def test_the_mmd_is_the_distance_of_characteristic_functions():
    """MMD^2 = int |c_P - c_Q|^2 dLambda, the spectral measure: of samples, and of two Gaussians."""
    kernel = RBF(0.8)
    w = np.linspace(-12, 12, 6001)
    density = spectral_density(kernel, w) * (w[1] - w[0])
    empirical = [np.exp(1j * np.outer(w, z)).mean(axis=1) for z in (X, Y)]
    value = np.sum(np.abs(empirical[0] - empirical[1]) ** 2 * density)
    assert_allclose(value, mmd2(kernel, X, Y, unbiased=False), rtol=1e-9)
    exact = [np.exp(1j * w * m - v * w**2 / 2) for m, v in ((0.0, 1.0), (0.7, 2.0))]
    p, q = (mean_embedding(kernel, Gaussian(m, v)) for m, v in ((0.0, 1.0), (0.7, 2.0)))
    squared = p.inner(p) + q.inner(q) - 2 * p.inner(q)
    assert_allclose(np.sum(np.abs(exact[0] - exact[1]) ** 2 * density), squared, rtol=1e-9)


def test_the_embedding_by_brownian_motion_is_the_cdf():
    """min(x, y) = int 1[t < x] 1[t < y] dt on (0, inf): the embedding is the tail function, MMD^2 = int (F - G)^2."""
    x, y = np.abs(X) + 0.1, np.abs(Y) + 0.1
    places = np.sort(np.concatenate([[0.0], x, y]))
    gaps = np.diff(places)
    f, g = ((z[:, None] <= places[:-1]).mean(axis=0) for z in (x, y))
    assert_allclose(mmd2(Brownian(), x, y, unbiased=False), np.sum((f - g) ** 2 * gaps), rtol=1e-9)


@pytest.mark.parametrize(
    ("kernel", "exponent"),
    [(Brownian(), 0.5), (Sobolev(1), 0.5), (Matern(1.5), 1.0), (RBF(0.5), 1.0)],
)
def test_functions_are_in_hoelder_classes(kernel, exponent):
    """|f(x) - f(y)| <= L |x - y|^beta, with L = |f| sup d_k(x, y) / |x - y|^beta, for every f of the space."""
    places = np.linspace(0.01, 0.99, 60)
    f = Function(kernel, RNG.uniform(0.01, 0.99, 15), RNG.normal(size=15))
    distance = np.abs(places[:, None] - places)
    off = distance > 0
    ratios = canonical_distance(kernel, places, places)[off] / distance[off] ** exponent
    rises = np.abs(f(places)[:, None] - f(places))[off] / distance[off] ** exponent
    assert np.all(rises <= f.norm() * ratios * (1 + 1e-6))
    fine = canonical_distance(kernel, [0.5], [0.5 + 1e-4])[0, 0] / 1e-4**exponent
    assert 0.1 < fine < 10  # the exponent is right: the ratio neither vanishes nor explodes
    # the Taylor bound of a class with two derivatives: |f(x + h) - f(x) - h f'(x)| <= sup |f''| h^2 / 2
    if isinstance(kernel, RBF):
        h = 0.05
        gaps = np.abs(f(places + h) - f(places) - h * f.gradient(places)[:, 0])
        grid = np.linspace(0, 1.1, 2001)
        second = np.gradient(f.gradient(grid)[:, 0], grid)
        assert np.all(gaps <= 1.01 * np.max(np.abs(second)) * h**2 / 2)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 4.0])
def test_inequalities_of_lebesgue_norms(p):
    """Minkowski, and Hoelder with its equality case, for functions of an RKHS under a quadrature."""
    rule = Quadrature.legendre(0.0, 1.0, 60)
    points, weights = rule.nodes[:, 0], rule.weights
    f, g = (Function(RBF(0.3), RNG.uniform(0, 1, 6), RNG.normal(size=6))(points) for _ in range(2))

    def norm(values, order):
        if np.isinf(order):
            return np.max(np.abs(values))
        return np.sum(weights * np.abs(values) ** order) ** (1 / order)

    conjugate = np.inf if p == 1 else p / (p - 1)
    assert norm(f + g, p) <= norm(f, p) + norm(g, p)
    assert norm(f * g, 1) <= norm(f, p) * norm(g, conjugate)
    if p > 1:
        equal = np.sign(f) * np.abs(f) ** (p - 1)
        assert_allclose(norm(f * equal, 1), norm(f, p) * norm(equal, conjugate), rtol=1e-9)


def _edges(n, chance):
    graph = np.triu(RNG.random((n, n)) < chance, 1)
    return (graph + graph.T).astype(float)


DOCUMENTS = [["abba", "baab"], ["abab", "aaaa", "bbab"], ["cccc", "dcdc"]]
SERIES = [
    [np.cumsum(RNG.normal(s, 1.0, size=(6, 1)), axis=0) for _ in range(3)] for s in (0.0, 0.1, 2.0)
]
GRAPHS = [[_edges(6, c) for _ in range(3)] for c in (0.3, 0.35, 0.9)]


@pytest.mark.parametrize(
    ("kernel", "groups"),
    [(Spectrum(2), DOCUMENTS), (GlobalAlignment(1.0), SERIES), (ShortestPath(), GRAPHS)],
    ids=["documents", "series", "graphs"],
)
def test_bags_of_objects_are_points(kernel, groups):
    """A corpus is a bag of documents, a user a set of series, a group of people a bag of graphs of friends.

    The mean map of a kernel of objects is the mean over pairs of objects, and machines on it take the bags.
    """
    found = MeanMap(kernel)(groups)
    expected = [[np.mean(kernel(p, q)) for q in groups] for p in groups]
    assert_allclose(found, expected, rtol=1e-9)
    machine = SupportMeasureMachine(MeanMap(kernel).normalized(), 10.0).fit(groups, [0, 0, 1])
    assert machine.predict(groups).tolist() == [0, 0, 1]
