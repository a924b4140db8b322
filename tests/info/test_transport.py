"""Wasserstein, Kantorovich and Dudley: linear programs, SciPy and POT, and the functions that attain the suprema."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import trapezoid
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

import mercer
from mercer.errors import MemoryBudgetError, NoRule
from mercer.info import (
    MaxNorm,
    SumNorm,
    dudley,
    exact_transport,
    kantorovich,
    line_transport,
    sliced_wasserstein,
    wasserstein,
)
from mercer.rkhs import Empirical, Gaussian, Uniform

rng = np.random.default_rng(19)
X, Y = rng.normal(size=31), rng.normal(1.0, 2.0, size=47)
WX, WY = rng.dirichlet(np.ones(31)), rng.dirichlet(np.ones(47))
PLANE, OTHER = rng.normal(size=(20, 2)), rng.normal(0.5, 1.0, size=(20, 2))


def transport_program(costs, a, b):
    """The cost of transport by a linear program over all plans."""
    n, m = costs.shape
    rows = np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))
    return linprog(costs.ravel(), A_eq=np.vstack(rows), b_eq=np.concatenate([a, b])).fun


def dudley_program(x, y, a, b, both):
    """sup of the mean difference over values of f, its bound M and Lipschitz constant L."""
    z = np.vstack([x, y])
    n, d = len(z), cdist(z, z)
    i, j = np.nonzero(~np.eye(n, dtype=bool))
    steps = np.zeros((len(i), n + 2))
    steps[np.arange(len(i)), i], steps[np.arange(len(i)), j], steps[:, n] = 1, -1, -d[i, j]
    bounded = np.zeros((2 * n, n + 2))
    bounded[:n, :n], bounded[n:, :n], bounded[:, n + 1] = np.eye(n), -np.eye(n), -1
    norm = np.zeros((1, n + 2))
    norm[0, n:] = both
    found = linprog(
        -np.concatenate([a, -b, [0, 0]]),
        A_ub=np.vstack([steps, bounded, norm]),
        b_ub=np.concatenate([np.zeros(len(i) + 2 * n), [1.0]]),
        bounds=[(None, None)] * n + [(0, 1)] * 2,
    )
    return -found.fun


@pytest.mark.parametrize("block", [2**17, 7])
@pytest.mark.parametrize("p", [1, 2, 3.5])
def test_on_the_line_it_is_the_program_and_has_potentials(p, block, monkeypatch):
    monkeypatch.setattr(line_transport, "_BLOCK", block)
    costs = np.abs(X[:, None] - Y) ** p
    distance = wasserstein(Empirical(X, WX), Empirical(Y, WY), p)
    assert_allclose(distance**p, transport_program(costs, WX, WY), rtol=1e-10)
    f, g = distance.witness, distance.witness.conjugate
    assert_allclose(WX @ f(X) + WY @ g(Y), distance**p, rtol=1e-10)
    assert np.all(f(X)[:, None] + g(Y) <= costs + 1e-9)
    t = np.linspace(-8, 8, 200)
    assert_allclose(f(t), np.min(np.abs(t[:, None] - f.targets) ** p - f.values, axis=1), atol=1e-9)


def test_w1_is_that_of_scipy_and_its_witness_is_lipschitz():
    assert_allclose(wasserstein(X, Y), stats.wasserstein_distance(X, Y), rtol=1e-12)
    weighted = wasserstein(Empirical(X, WX), Empirical(Y, WY))
    assert_allclose(weighted, stats.wasserstein_distance(X, Y, WX, WY), rtol=1e-12)
    f, t = weighted.witness, np.linspace(-8, 8, 500)
    assert np.max(np.abs(np.diff(f(t)))) <= (t[1] - t[0]) * (1 + 1e-9)
    assert_allclose(WX @ f(X) - WY @ f(Y), weighted, rtol=1e-10)


@pytest.mark.parametrize("p", [1, 2])
def test_in_the_plane_it_is_the_program(p, monkeypatch):
    monkeypatch.setattr(exact_transport, "find_spec", lambda name: None)  # SciPy's assignment
    equal, costs = np.full(20, 1 / 20), cdist(PLANE, OTHER) ** p
    distance = wasserstein(PLANE, OTHER, p)
    assert_allclose(distance**p, transport_program(costs, equal, equal), rtol=1e-10)
    f = distance.witness
    assert_allclose(f(PLANE).mean() + f.values.mean(), distance**p, rtol=1e-10)
    if p == 1:
        assert_allclose(f(PLANE).mean() - f(OTHER).mean(), kantorovich(PLANE, OTHER), rtol=1e-10)


@pytest.mark.parametrize(("norm", "both"), [(SumNorm(), 1), (MaxNorm(), 0)])
@pytest.mark.parametrize("scale", [0.2, 1.0, 4.0])
def test_dudley_is_its_program_and_its_witness_is_in_the_ball(norm, both, scale):
    x, y, equal = scale * PLANE, scale * OTHER, np.full(20, 1 / 20)
    distance = dudley(x, y, norm=norm)
    assert_allclose(distance, dudley_program(x, y, equal, equal, both), rtol=1e-10)
    f, z = distance.witness, 2 * scale * rng.normal(size=(200, 2))
    values, between = f(z), cdist(z, z) + np.eye(200)
    slope, height = np.max(np.abs(values[:, None] - values) / between), np.max(np.abs(values))
    assert (slope + height if both else max(slope, height)) <= 1 + 1e-9
    assert_allclose(f(x).mean() - f(y).mean(), distance, rtol=1e-9)


def test_weights_and_unequal_sizes_by_pot():
    ot = pytest.importorskip("ot")
    x, weights = PLANE[:13], WX[:13] / WX[:13].sum()
    distance, equal = wasserstein(Empirical(x, weights), OTHER, 2), np.full(20, 1 / 20)
    assert_allclose(distance**2, ot.emd2(weights, equal, ot.dist(x, OTHER)), rtol=1e-10)
    for norm, both in ((SumNorm(), 1), (MaxNorm(), 0)):
        value = dudley(Empirical(x, weights), OTHER, norm=norm)
        assert_allclose(value, dudley_program(x, OTHER, weights, equal, both), rtol=1e-10)
        assert_allclose(weights @ value.witness(x) - value.witness(OTHER).mean(), value, rtol=1e-9)


def test_without_pot_unequal_sizes_are_refused(monkeypatch):
    monkeypatch.setattr(exact_transport, "find_spec", lambda name: None)
    with pytest.raises(
        ImportError, match=r"wasserstein of samples of different sizes.*\[transport\]"
    ):
        wasserstein(PLANE[:10], OTHER)
    with (
        mercer.config(memory=2**24),
        pytest.raises(MemoryBudgetError, match="sliced_wasserstein, fewer points"),
    ):
        wasserstein(np.zeros((800, 2)), np.ones((800, 2)))


@pytest.mark.parametrize("p", [1, 2])
def test_sliced_is_the_mean_over_lines(p):
    x, y, lines = rng.normal(size=(50, 3)), rng.normal(1.0, 1.0, size=(70, 3)), 11
    weights = rng.dirichlet(np.ones(50))
    for first in (x, Empirical(x, weights)):
        distance = sliced_wasserstein(first, y, p, projections=lines, rng=1)
        f = distance.witness
        costs = [
            wasserstein(Empirical(x @ t, getattr(first, "weights", None)), y @ t, p) ** p
            for t in f.directions
        ]
        assert_allclose(distance**p, np.mean(costs), rtol=1e-12)
    assert_allclose(np.linalg.norm(f.directions, axis=1), 1)
    given = sliced_wasserstein(x, y, p, projections=3 * f.directions)
    assert_allclose(given, sliced_wasserstein(x, y, p, projections=lines, rng=1), rtol=1e-12)
    if p == 1:
        assert_allclose(weights @ f(x) - f(y).mean(), distance, rtol=1e-10)


def test_gaussians_have_closed_forms():
    p, q = Gaussian(0.3, 1.4), Gaussian(-0.5, 0.6)
    t = np.linspace(-15, 15, 100_001)
    gap = stats.norm(0.3, 1.4**0.5).cdf(t) - stats.norm(-0.5, 0.6**0.5).cdf(t)
    distance = wasserstein(p, q)
    assert_allclose(distance, trapezoid(np.abs(gap), t), rtol=1e-7)
    densities = np.exp(p.log_density(t)) - np.exp(q.log_density(t))
    assert_allclose(trapezoid(distance.witness(t) * densities, t), distance, rtol=1e-7)
    a = Gaussian([0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]])
    b = Gaussian([1.0, 0.0], [[1.0, -0.3], [-0.3, 2.0]])
    u = rng.normal(size=(40_000, 2))
    moved = wasserstein(a, b, 2)
    # the optimal map moves draws of a by W_2 on average, and is half the gradient of |z|^2 - f
    z, f = u @ np.linalg.cholesky(a.cov).T + a.mean, moved.witness
    step = np.eye(2) * 1e-4
    gradient = np.stack([(f(z + e) - f(z - e)) / 2e-4 for e in step], axis=1)
    image = z - gradient / 2
    assert_allclose(image.mean(axis=0), b.mean, atol=0.03)
    assert_allclose(np.cov(image.T), b.cov, atol=0.05)
    assert_allclose(np.mean(np.sum((image - z) ** 2, axis=1)), moved**2, rtol=0.02)
    with pytest.raises(NoRule, match=r"no closed form of wasserstein .* draw samples"):
        wasserstein(p, Uniform(0.0, 1.0))


def test_values_are_floats_that_pickle():
    distance = wasserstein(X, Y)
    again = pickle.loads(pickle.dumps(distance))
    assert again == distance
    assert_allclose(again.witness(X), distance.witness(X))
    with pytest.raises(ValueError, match="z must have 1 columns, as the samples, got 2"):
        distance.witness(PLANE)
    with pytest.raises(ValueError, match="p must be at least 1, got 0.5"):
        wasserstein(X, Y, 0.5)
