"""Facts: each one is probed by numbers, and none contradicts another."""

import inspect
from math import pi

import numpy as np
import pytest
from numpy.polynomial import chebyshev
from numpy.testing import assert_allclose

import mercer.kernels
from mercer.kernels import (
    RBF,
    ArcCosine,
    BandLimited,
    Brownian,
    BSpline,
    Constant,
    Cosine,
    Dirichlet,
    Energy,
    Exponential,
    Fejer,
    HalfLine,
    Intersection,
    Kernel,
    Laplace,
    Linear,
    Matern,
    Poisson,
    Polynomial,
    Sinc,
    Sobolev,
    Tensor,
)
from mercer.kernels.columns_used import reads
from mercer.kernels.facts import facts
from mercer.kernels.theory import facts_rule
from tests.support.zoo import IDS, ZOO

every_kernel = pytest.mark.parametrize("entry", ZOO, ids=IDS)


def kernels_where(known):
    """The kernels of the zoo whose facts let a test say something; no test is made of the others."""
    cases = [(e, i) for e, i in zip(ZOO, IDS, strict=True) if known(facts(e.kernel))]
    return pytest.mark.parametrize("entry", [e for e, _ in cases], ids=[i for _, i in cases])


# Points at the far ends of each domain, where an unbounded kernel is large
ENDS = {
    "R^d": [1e4, -1e4],
    "[0, 1]^d": [0.0, 1.0],
    "[0, inf)^d": [0.0, 1e4],
    "(0, inf)^d": [1e-6, 1e4],
    "the open unit ball": [0.999999],
    "discrete sets": [0.0, 7.0],
}


def quadratic(kernel, points, weights):
    """w'Kw relative to the sum of |w_i K_ij w_j|."""
    k, w = kernel(np.asarray(points, dtype=float)), np.asarray(weights)
    return w @ k @ w / (abs(w) @ abs(k) @ abs(w))


def test_every_public_kernel_has_facts():
    for name, kind in vars(mercer.kernels).items():
        if inspect.isclass(kind) and issubclass(kind, Kernel) and not inspect.isabstract(kind):
            assert (kind,) in facts_rule.cases, name


@every_kernel
def test_definite(entry):
    assert facts(entry.kernel).positive_definite is entry.definite


@kernels_where(lambda found: found.stationary is not None)
def test_stationary(entry):
    found = facts(entry.kernel)
    x = entry.sample(np.random.default_rng(0), 12)
    x = 0.3 * x if found.domain in ("[0, 1]^d", "the open unit ball") else x
    moved = x + 0.3
    same = np.allclose(entry.kernel(moved), entry.kernel(x), rtol=1e-6, atol=1e-6)
    assert found.stationary is same


@kernels_where(lambda found: found.bounded is not None and found.domain in ENDS)
def test_bounded(entry):
    found = facts(entry.kernel)
    x = entry.sample(np.random.default_rng(0), 12)
    d = x.shape[1]
    far = np.array(ENDS[found.domain])[:, None] * np.ones(d)
    far = far / np.sqrt(d) if found.domain == "the open unit ball" else far
    with np.errstate(over="ignore"):
        largest = entry.kernel.diag(far).max()
    limit = 10 * entry.kernel.diag(x).max() + 10
    assert bool(largest < limit) is found.bounded


@kernels_where(lambda found: found.integrally_strict)
def test_integrally_strict_kernels_are_strict_on_points(entry):
    x = entry.sample(np.random.default_rng(3), 5)
    x = np.unique(x, axis=0)
    spectrum = np.linalg.eigvalsh(entry.kernel(x))
    assert spectrum[0] > 1e-12 * spectrum[-1]


CHARACTERISTIC = [e for e in ZOO if facts(e.kernel).characteristic]


@pytest.mark.parametrize("entry", CHARACTERISTIC, ids=lambda e: type(e.kernel).__name__)
def test_characteristic_kernels_tell_two_samples_apart(entry):
    x = entry.sample(np.random.default_rng(3), 5)
    k = entry.kernel(x)
    w = np.array([0.2, -0.3, 0.4, 0.1, -0.4])
    assert w @ k @ w > 1e-12 * np.trace(k)


# Signed measures of total mass 0 that the kernel does not see: two distributions with MMD = 0
nodes2, weights2 = np.polynomial.hermite_e.hermegauss(2)  # exact up to degree 3
nodes3, weights3 = np.polynomial.hermite_e.hermegauss(3)  # exact up to degree 5
SAME_MOMENTS = (np.r_[nodes2, nodes3], np.r_[weights2, -weights3])
TURN = ([[0.3], [0.3 + 2 * pi]], [1, -1])
COUPLED = ([[0, 0], [1, 1], [0, 1], [1, 0]], [0.5, 0.5, -0.5, -0.5])
INVISIBLE = [
    (Constant(2.0), [[0.0], [5.0]], [1, -1]),
    (Linear(), [[-1.0], [1.0], [0.0]], [0.5, 0.5, -1]),
    (Energy(2.0), [[-1.0], [1.0], [0.0]], [0.5, 0.5, -1]),
    (Polynomial(3, 1.0), *SAME_MOMENTS),
    (Polynomial(2, 0.0), [[1.0], [-1.0]], [1, -1]),
    (ArcCosine(0), [[1.0, 2.0], [2.0, 4.0]], [1, -1]),
    (ArcCosine(1), [[1.0, 2.0], [2.0, 4.0], [0.0, 0.0]], [1, -0.5, -0.5]),
    (ArcCosine(2), [[1.0, 2.0], [2.0, 4.0], [0.0, 0.0]], [1, -0.25, -0.75]),
    (Cosine(2.0), [[0.3], [0.3 + pi]], [1, -1]),
    (Poisson(0.6), *TURN),
    (Dirichlet(3), *TURN),
    (Fejer(2), *TURN),
    (Intersection(), *COUPLED),
    (RBF(1.0).select(0) + RBF(1.0).select(1), *COUPLED),
    (Laplace(1.0).scaled((1.0, 0.0)), [[1.0, 2.0], [1.0, 5.0]], [1, -1]),
    (Tensor(RBF(1.0), Linear()), [[1.0, -1.0], [1.0, 1.0], [1.0, 0.0]], [0.5, 0.5, -1]),
    (Poisson(0.6).exp(2.0), *TURN),
    (Poisson(0.6) ** 2, *TURN),
    (RBF(1.0).on(Poisson(0.6)), *TURN),
    (3 * Poisson(0.6) + 1, *TURN),
    (Poisson(0.6).normalized(), *TURN),
    (Linear().scaled(2.0) + 1, [[-1.0], [1.0], [0.0]], [0.5, 0.5, -1]),
]


@pytest.mark.parametrize(("kernel", "points", "weights"), INVISIBLE, ids=lambda v: repr(v)[:40])
def test_two_distributions_look_the_same_to_kernels_that_are_not_characteristic(
    kernel, points, weights
):
    found = facts(kernel)
    assert found.characteristic is False
    assert found.integrally_strict is False
    assert_allclose(np.sum(weights), 0, atol=1e-12)
    assert_allclose(quadratic(kernel, points, weights), 0, atol=1e-14)


@pytest.mark.parametrize("kernel", [Sinc(1.0), BandLimited(1.0)], ids=repr)
def test_band_limited_kernels_see_the_characteristic_function_near_zero_only(kernel):
    """Polya: 1 - |t| on [-1, 1], and its periodic continuation, belong to two distributions."""
    assert facts(kernel).characteristic is False
    k = np.arange(1, 20_001, 2)
    atoms = np.r_[0.0, pi * k, -pi * k]
    masses = np.r_[0.5, 2 / (pi * k) ** 2, 2 / (pi * k) ** 2]
    x = np.array([0.1, 1.0, 2.5, 7.0])
    discrete = kernel(x, atoms) @ masses
    t = (np.arange(20_000) + 0.5) / 20_000
    continuous = kernel.factor(np.zeros((1, 1)))[0, 0] * np.mean(
        (1 - t) * np.cos(np.outer(x, t)), axis=1
    )
    assert_allclose(discrete, continuous, rtol=1e-4)


# Measures of any mass that the kernel does not see: no universal kernel has one
ORIGIN = ([[0.0, 0.0]], [1.0])
ANNIHILATED = [
    (Linear(), *ORIGIN),
    (Energy(1.0), *ORIGIN),
    (Energy(2.0), *ORIGIN),
    (Intersection(), *ORIGIN),
    (ArcCosine(1), *ORIGIN),
    (ArcCosine(0), [[1.0, 2.0], [2.0, 4.0]], [1, -1]),
    (Polynomial(2, 1.0), [[0.0], [1.0], [2.0], [3.0]], [1, -3, 3, -1]),
    (Poisson(0.6), *TURN),
    (Constant(1.0), [[0.0], [1.0]], [1, -1]),
    (RBF(1.0).select(0) + RBF(1.0).select(1), *COUPLED),
    (Tensor(Linear(), RBF(1.0)), *ORIGIN),
]


@pytest.mark.parametrize(("kernel", "points", "weights"), ANNIHILATED, ids=lambda v: repr(v)[:40])
def test_kernels_that_are_not_universal_annihilate_a_measure(kernel, points, weights):
    assert facts(kernel).universal is False
    k, w = kernel(np.asarray(points, dtype=float)), np.asarray(weights)
    assert_allclose(k @ w, 0, atol=1e-12 * max(abs(k).max(), 1))


def test_energy_and_brownian_kernels_become_universal_with_a_constant():
    assert facts(Energy(1.0)).universal is False
    assert facts(Energy(1.0) + 1).universal is None
    k = (Energy(1.0) + 1)(np.array([-1.0, 0.0, 0.5, 2.0]))
    assert np.linalg.eigvalsh(k)[0] > 0.05


def test_a_product_with_a_sum_of_a_constant_sees_no_more_than_its_terms():
    """k (k' + c) = k k' + c k: with k of one column alone, c k does not see the other one."""
    for sum_of_both in (Linear().select([1]) + 1, Linear() + 1):
        kernel = RBF(1.0).select([0]) * sum_of_both
        x, y = np.array([[0.0, -1.0], [0.0, 1.0]]), np.array([[0.0, -2.0], [0.0, 2.0]])
        difference = np.r_[0.5, 0.5, -0.5, -0.5]
        k = kernel(np.concatenate([x, y]))
        assert difference @ k @ difference == pytest.approx(0, abs=1e-12)
        for name in ("characteristic", "universal", "integrally_strict"):
            assert not getattr(facts(kernel), name), name
    seen = (RBF(1.0).select([0]) + 1) * (RBF(1.0).select([1]) + 1)
    assert facts(seen).characteristic
    assert facts(RBF(1.0) * (Linear().select([1]) + 1)).characteristic


def error_of_expansion(kernel, degree=24):
    """How far k(., 0.4) on [0.1, 0.7] is from its Chebyshev interpolation."""
    centre, half = 0.4, 0.3

    def section(t):
        return kernel(centre + half * np.asarray(t), np.array([centre]))[:, 0]

    series = chebyshev.chebinterpolate(section, degree)
    t = np.linspace(-1, 1, 201)
    return np.max(np.abs(chebyshev.chebval(t, series) - section(t)))


ANALYTIC = [
    e.kernel
    for e in ZOO
    if facts(e.kernel).analytic and len(e.sample(np.random.default_rng(0), 2).T) == 3
]
ANALYTIC = [k for k in ANALYTIC if reads(k) is None and "(1.0, 0.5" not in repr(k)]
ANALYTIC = [k for k in ANALYTIC if getattr(k, "metric", None) is None]


@pytest.mark.parametrize("kernel", [*ANALYTIC, Poisson(0.6), Dirichlet(3), Fejer(2)], ids=repr)
def test_analytic_kernels_have_expansions_that_converge_geometrically(kernel):
    assert facts(kernel).analytic is True
    assert error_of_expansion(kernel) < 1e-9


ROUGH = [Exponential(1.0), Laplace(1.0), Matern(1.5), BSpline(1), BSpline(3, 0.2), Energy(1.0)]
ROUGH += [Sobolev(1), Brownian(), HalfLine()]


@pytest.mark.parametrize("kernel", ROUGH, ids=repr)
def test_kernels_that_are_not_analytic_have_slow_expansions(kernel):
    assert facts(kernel).analytic is False
    assert error_of_expansion(kernel) > 1e-7


@kernels_where(lambda found: found.continuous and found.domain != "discrete sets")
def test_continuous(entry):
    found = facts(entry.kernel)
    x = np.maximum(entry.sample(np.random.default_rng(0), 6), 1e-3 if found.domain != "R^d" else -9)
    assert np.abs(entry.kernel(x * (1 + 1e-9)) - entry.kernel(x)).max() < 1e-4


def test_arc_cosine_of_degree_zero_jumps_at_the_origin():
    k = ArcCosine(0)(np.array([[1e-100, 0.0], [-1e-100, 0.0]]), np.array([[1.0, 0.0]]))
    assert_allclose(k[:, 0], [1, 0], atol=1e-12)
    assert facts(ArcCosine(0)).continuous is False
