"""Semigroup kernels are Laplace transforms, and their distances those of Laplace transforms of distributions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import gamma

from mercer.htest import MMD, Permutation
from mercer.kernels import FromCallable, GammaSemigroup, StableSemigroup, facts, function_space
from mercer.rkhs import mmd2

# Kernel, and the density of the measure whose transform it is; stable of power 1/2: Levy's distribution.
MIXTURES = [
    (GammaSemigroup(0.8, 1.7), lambda r: gamma.pdf(r, 1.7, scale=1 / 0.8)),
    (
        StableSemigroup(1.3),
        lambda r: np.exp(-1 / (4 * 1.3 * r)) / (2 * np.sqrt(1.3 * np.pi)) * r**-1.5,
    ),
]


@pytest.mark.parametrize(("kernel", "density"), MIXTURES)
def test_kernels_are_laplace_transforms(kernel, density):
    for x, y in ((0.0, 0.3), (1.0, 1.0), (0.5, 6.0)):
        integral = quad(lambda r, t=x + y: np.exp(-t * r) * density(r), 0, np.inf, limit=500)[0]
        assert_allclose(kernel([[x]], [[y]]), integral, rtol=1e-6)
    rows = np.array([[0.2, 1.0, 0.0], [2.0, 0.1, 0.4]])
    columns = [kernel(rows[:, [j]])[0, 1] for j in range(3)]
    assert_allclose(kernel(rows)[0, 1], np.prod(columns))


@pytest.mark.parametrize(("kernel", "density"), MIXTURES)
def test_mmd_is_the_distance_of_laplace_transforms(kernel, density):
    rng = np.random.default_rng(0)
    x, y = rng.gamma(2.0, 0.5, 30), rng.exponential(1.0, 20)  # of the same mean

    def gap(r):
        return (np.mean(np.exp(-r * x)) - np.mean(np.exp(-r * y))) ** 2 * density(r)

    expected = quad(gap, 0, np.inf, limit=500)[0]
    assert_allclose(mmd2(kernel, x, y, unbiased=False), expected, rtol=1e-5)


def test_a_measure_with_few_atoms_is_blind_and_these_kernels_are_not():
    """Amounts 0, 1, 2 and weights w with sum w exp(-r x) = 0 at r = 0 and r = 1: seen at other r only."""
    amounts = np.array([0.0, 1.0, 2.0])
    transforms = np.exp(-np.outer([0.0, 1.0], amounts))
    weights = np.linalg.svd(transforms)[2][-1]

    def two_atoms(x, y):
        return 1 + np.exp(-(x + y.T))

    for kernel, sees in ((FromCallable(two_atoms), False), *((k, True) for k, _ in MIXTURES)):
        energy = weights @ kernel(amounts) @ weights
        assert (energy > 1e-6) == sees
    for kernel, _ in MIXTURES:
        known = facts(kernel)
        assert (known.characteristic, known.integrally_strict, known.universal) == (True,) * 3
        assert known.domain == "[0, inf)^d"
        assert function_space(kernel).c0_universal


def test_histograms_of_equal_means_are_told_apart():
    rng = np.random.default_rng(1)
    x, y = rng.poisson(2.0, (300, 2)), rng.negative_binomial(1, 1 / 3, (300, 2))
    for kernel in (GammaSemigroup(2.0), StableSemigroup(2.0)):
        assert MMD(kernel, null=Permutation(199)).test(x, y, rng=0).rejects(0.01)


def test_negative_amounts_and_wrong_powers_are_refused():
    with pytest.raises(ValueError, match="these kernels are for amounts"):
        GammaSemigroup()([-1.0, 2.0])
    for power in (0.0, 1.0, 2.0):  # exp(-(x + y) / s) is a product, of rank one
        with pytest.raises(ValueError, match="power must be between 0 and 1"):
            StableSemigroup(power=power)
