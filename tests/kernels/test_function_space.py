"""Functions of an RKHS and kernels on their own domains: each fact is probed by numbers."""

from __future__ import annotations

from math import inf, pi

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.errors import NoRule
from mercer.htest import i_characteristic
from mercer.kernels import (
    RBF,
    BSpline,
    Cosine,
    Delta,
    Dirichlet,
    Energy,
    Exponential,
    Fejer,
    Laplace,
    Linear,
    Matern,
    Poisson,
    Polynomial,
    Sinc,
    Sobolev,
    Tensor,
    facts,
    facts_on_circle,
    facts_on_points,
    function_space,
)
from mercer.rkhs import dhsic, hsic
from tests.support.zoo import IDS, ZOO

ROUGH = [
    Exponential(1.0),
    Laplace(1.0),
    Matern(1.5),
    Matern(2.5),
    BSpline(1),
    BSpline(3),
]
ROUGH += [Sobolev(1), Sobolev(2), RBF(1.0) + Matern(1.5), Matern(2.5) * Laplace(1.0), Energy(1.0)]


@pytest.mark.parametrize("kernel", ROUGH, ids=repr)
def test_the_order_of_smoothness(kernel):
    """k(., y) has 2m derivatives at y where k is in C^(m, m), and the next even one jumps or grows without bound."""
    smoothness = function_space(kernel).smoothness
    assert smoothness is not None
    m = int(smoothness)
    order = 2 * m + 2
    sizes = [abs(_difference(kernel, order, h)) / h**order for h in (0.1, 0.05, 0.025)]
    assert sizes[2] > 1.5 * sizes[1] > 2 * sizes[0]  # (2m + 2)-th difference quotients diverge
    if m:
        quotients = [_difference(kernel, 2 * m, h) / h ** (2 * m) for h in (0.02, 0.01)]
        assert_allclose(quotients[1], quotients[0], rtol=0.3, atol=0.02)


def _difference(kernel, order: int, h: float) -> float:
    """Central difference of k(., 0.4) at 0.4."""
    steps = np.arange(order + 1)
    signs = (-1.0) ** steps * [_choose(order, int(j)) for j in steps]
    points = 0.4 + (steps - order / 2)[:, None] * h
    return float(signs @ kernel(points, np.full((1, 1), 0.4))[:, 0])


def _choose(n: int, k: int) -> float:
    return float(np.prod(np.arange(n - k + 1, n + 1)) / max(np.prod(np.arange(1, k + 1)), 1))


@pytest.mark.parametrize("entry", ZOO, ids=IDS)
def test_facts_of_functions_agree_with_those_of_the_kernel(entry):
    known, space = facts(entry.kernel), function_space(entry.kernel)
    if known.analytic:
        assert space.smoothness == inf
    if space.c0_universal:
        assert known.integrally_strict
        assert space.vanishing
    if space.vanishing and known.domain == "R^d":
        assert space.cb_universal is False
        x = entry.sample(np.random.default_rng(0), 5)
        assert np.abs(entry.kernel(x + 1e7, x)).max() < 1e-6 * np.abs(entry.kernel(x)).max()


def test_density_of_some_spaces():
    assert function_space(RBF(1.0)).c0_universal is True
    assert function_space(Sinc(1.0)).c0_universal is False  # dense on compact sets only
    assert function_space(Cosine(1.0)).vanishing is False
    assert function_space(Sobolev(2)).cb_universal is True  # on [0, 1]
    assert function_space(RBF(1.0) + Cosine(1.0)).vanishing is False
    assert function_space(RBF(1.0) * Cosine(1.0)).c0_universal is True
    assert function_space(Tensor(RBF(1.0), Laplace(1.0))).vanishing is True
    assert function_space(RBF(1.0).select(0) + RBF(1.0).select(1)).vanishing is None


@pytest.mark.parametrize(
    ("kernel", "strict"),
    [
        (RBF(1.0), True),
        (Sinc(1.0), True),
        (Linear(), False),
        (Polynomial(3), False),
        (Energy(1.0), False),
        (Energy(1.0) + 1, None),
        (Cosine(1.0), False),
        (RBF(1.0) + Linear(), True),
        (RBF(1.0).select(0) + RBF(1.0).select(1), False),
        (Tensor(RBF(1.0), Laplace(1.0)), True),
    ],
    ids=repr,
)
def test_strictly_positive_definite(kernel, strict):
    assert facts(kernel).strictly_positive_definite is strict
    x = np.array([[0, 0], [1, 1], [0, 1], [1, 0], [2, 0], [3, 0], [4, 0], [5, 0], [6, 0], [7, 0]])
    x = np.concatenate([x, x[:, ::-1][4:], x[4:, ::-1] + [[1, 0]]]).astype(float)
    points = np.unique(x, axis=0)
    if strict is not None and not isinstance(kernel, Cosine):
        assert facts_on_points(kernel, points).strictly_positive_definite is strict


def test_kernels_on_finite_sets():
    three = [-1.0, 0.0, 1.0]
    assert facts_on_points(Energy(1.0), three).characteristic is True
    assert facts_on_points(Energy(1.0), three).universal is False  # f(0) = 0
    assert facts_on_points(Delta(), ["a", "b", "c"]).universal is True
    assert facts_on_points(Linear(), three).separates is True
    assert facts_on_points(Polynomial(2, 0.0), [-1.0, 1.0]).separates is False


def test_kernels_on_the_circle():
    """Weights of total mass zero on a regular polygon: e^(ijt) that no frequency of the kernel sees."""
    turn = 2 * pi * np.arange(12) / 12
    for kernel, all_frequencies in ((Poisson(0.6), True), (Fejer(3), False), (Dirichlet(4), False)):
        known = facts_on_circle(kernel)
        assert known.characteristic is known.universal is all_frequencies
        wave = np.cos(6 * turn)  # of frequency 6, above those of the polynomials
        form = float(wave @ kernel(turn) @ wave)
        assert (form > 1e-6) is all_frequencies
        assert facts(kernel).characteristic is False  # on the line
    with pytest.raises(NoRule, match="periodic kernels"):
        facts_on_circle(RBF(1.0))


def test_three_characteristic_kernels_whose_product_misses_a_dependence():
    """Szabo and Sriperumbudur (2018), example 1: 2 delta - 1 on two points, which is x y on {-1, 1}."""
    two = np.array([-1.0, 1.0])
    assert_allclose(Linear()(two), 2 * Delta()(two) - 1)
    assert facts_on_points(Linear(), two).characteristic is True
    x = np.array([1.0, 1.0, -1.0, -1.0] * 5)
    y, z = x.copy(), np.array([1.0, -1.0] * 10)  # y = x, and z is independent of both
    k = Linear()
    assert hsic(k, k, x, y) > 0.9  # two kernels see it
    assert_allclose(dhsic([k, k, k], [x, y, z]), 0, atol=1e-15)  # E xyz = 0 = E x E y E z
    assert dhsic([Delta(), Delta(), Delta()], [x, y, z]) > 0.01
    assert i_characteristic([Delta(), Delta(), Delta()]) is True


def test_continuous_kernels_have_separable_spaces():
    """Known on R^d for continuous kernels; nothing is claimed of discrete sets of any size."""
    assert function_space(RBF(1.0)).separable
    assert function_space(Matern(0.5) + RBF(1.0)).separable
    assert function_space(Delta()).separable is None
