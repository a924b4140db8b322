"""The quadratic statistic: one form per labelling equals the naive loop, for any kernel and weights."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer import htest
from mercer.errors import NoRule
from mercer.htest import MMD, Bound, Gamma, Permutation, Spectrum
from mercer.htest.samples.mmd_statistic import Discrepancies, QuadraticEvidence
from mercer.htest.samples.pooled_sample import labellings, pool
from mercer.kernels import RBF, Delta, Energy, Laplace, Linear
from mercer.rkhs import mmd2
from mercer.rkhs.distributions import Empirical
from tests.support.arrays import torch

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((23, 3)), RNG.standard_normal((14, 3)) + 0.4


def naive(k: np.ndarray, t: np.ndarray, w: np.ndarray, unbiased: bool) -> float:
    """MMD^2 of one labelling by three double sums; w around one."""
    total = 0.0
    for a, b, sign in ((1, 1, 1), (-1, -1, 1), (1, -1, -2)):
        pairs = np.outer(w * (t == a), w * (t == b))
        if unbiased and a == b:
            np.fill_diagonal(pairs, 0.0)
        total += sign * np.sum(pairs * k) / np.sum(pairs)
    return total


def lost(w: np.ndarray, t: np.ndarray) -> float:
    """What the variance of a difference of weighted means is proportional to; 1/n + 1/m."""
    return sum(np.sum(w[t == a] ** 2) / np.sum(w[t == a]) ** 2 for a in (1, -1))


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(
    "null",
    [Permutation(40), Permutation(40, blocks=tuple(range(4)) * 9), Permutation(40, paired=True)],
)
def test_resampled_statistics_equal_a_naive_loop(unbiased, weighted, null):
    y = X[:13] + 0.3 if null.paired or null.blocks else Y
    x = X if not null.paired else X[:13]
    if null.blocks:
        null = Permutation(40, blocks=tuple(i % 4 for i in range(len(x) + len(y))))
    kernels = [RBF(1.0), Laplace(2.0), RBF(0.3), Energy(), RBF(1.0) * Delta() + Linear()]
    a, b = RNG.random(len(x)), RNG.random(len(y))
    given = (Empirical(x, a / a.sum()), Empirical(y, b / b.sum())) if weighted else (x, y)
    pooled = pool(sum(kernels), *given)
    found = Discrepancies.of(pooled, kernels, unbiased).resampled(null, slice(0, 41), 5)
    labels = labellings(len(x), len(y), null, 5).dense()
    w = np.ones(len(x) + len(y))
    if weighted:
        w = np.concatenate([a / a.mean(), b / b.mean()])
    units = np.array([lost(w, labels[:, 0]) / lost(w, t) for t in labels.T])
    for k, values in zip(kernels, found, strict=True):
        matrix = k(pooled.points)
        right = [naive(matrix, t, w, unbiased) for t in labels.T] * units
        assert_allclose(values, right, rtol=1e-5, atol=3e-6 * np.abs(matrix).max())


def test_observed_equals_the_measure_in_full_precision():
    for kernel in (RBF(1.0), Laplace(1.0), Linear(), Energy(0.7)):
        for unbiased in (True, False):
            found = MMD(kernel, unbiased=unbiased).statistic(X, Y)
            assert_allclose(found, mmd2(kernel, X, Y, unbiased=unbiased), rtol=1e-10)


def test_tiles_threads_and_memory_do_not_matter():
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((900, 4)), rng.standard_normal((700, 4))
    whole = MMD(null=Permutation(99)).test(x, y, rng=0)
    with mercer.config(threads=1, memory="16MiB"):
        part = MMD(null=Permutation(99)).test(x, y, rng=0)
    assert part.pvalue == whole.pvalue
    assert_allclose(part.null, whole.null, rtol=1e-4, atol=1e-9)
    assert_allclose(whole.observed, whole.statistic, rtol=1e-4)


def test_deviations_are_those_of_many_permutations():
    pooled = pool(RBF(1.0), X, Y)
    parts = Discrepancies.of(pooled, [RBF(1.0), Laplace(0.5)])
    draws = parts.resampled(Permutation(20_000), slice(1, 20_001), 3)
    assert_allclose(draws.std(axis=1), parts.deviations, rtol=0.03)
    assert np.all(np.abs(draws.mean(axis=1)) < 4.5 * parts.deviations / np.sqrt(20_000))


def test_moments_are_those_of_many_permutations():
    evidence = QuadraticEvidence(pool(RBF(1.0), X, Y), unbiased=False)
    draws = evidence.permuted(Permutation(20_000), slice(1, 20_001), 3)
    observed, mean, variance = evidence.moments()
    assert_allclose(observed, evidence.observed, rtol=1e-9)
    assert_allclose(draws.mean(), mean, rtol=0.01)
    assert_allclose(draws.var(), variance, rtol=0.06)


@pytest.mark.parametrize("d", [1, 50])
@pytest.mark.parametrize("rank", [3, 200])
def test_the_spectrum_has_the_moments_of_many_permutations(d, rank):
    """In many dimensions the eigenvalues of few points are spread too widely by themselves."""
    rng = np.random.default_rng(3)
    evidence = QuadraticEvidence(
        pool(None, rng.normal(size=(60, d)), rng.normal(size=(40, d))), unbiased=False
    )
    draws = evidence.permuted(Permutation(9999), slice(1, 10_000), 3)
    observed, weights, rest = evidence.spectrum(rank)
    assert_allclose(observed, evidence.observed, rtol=1e-9)
    assert_allclose(weights.sum() + rest, draws.mean(), rtol=0.01)
    assert_allclose(2 * weights @ weights, draws.var(), rtol=0.08)
    matrix = evidence.pooled.gram.centered().dense()
    right = np.linalg.eigvalsh(matrix)[::-1][: len(weights)]
    assert_allclose(weights / weights[0], right / right[0], atol=1e-6)


@pytest.mark.parametrize("null", [Gamma(), Spectrum()])
def test_approximate_nulls_agree_with_permutations(null):
    rng = np.random.default_rng(2)
    for shift in (0.0, 0.15, 0.25):
        x, y = rng.standard_normal((250, 2)), rng.standard_normal((150, 2)) + shift
        exact = MMD(unbiased=False, null=Permutation(1999)).test(x, y, rng=0).pvalue
        assert MMD(null=null).test(x, y, rng=0).pvalue == pytest.approx(exact, abs=0.035)


def test_the_bound_is_conservative_and_wants_a_bounded_kernel():
    for shift in (0.0, 0.5, 2.0):
        exact = MMD(RBF(1.0)).test(X, Y + shift, rng=0).pvalue
        assert MMD(RBF(1.0), null=Bound()).test(X, Y + shift).pvalue >= exact - 0.03
    far = MMD(RBF(1.0), null=Bound()).test(np.zeros((400, 1)), np.full((300, 1), 9.0))
    assert far.pvalue < 1e-6
    with pytest.raises(NoRule, match="bounded"):
        MMD(Linear(), null=Bound()).test(X, Y)


def test_ties_are_ties():
    """Where all labellings give the same statistic, p is 1; equal labellings count."""
    constant = np.ones((30, 2))
    assert MMD(RBF(1.0)).test(constant, constant[:20], rng=0).pvalue == 1.0
    assert MMD(RBF(1.0), null=Gamma()).test(constant, constant[:20]).pvalue == 1.0
    x, y = np.repeat([0.0, 1.0], [20, 20]), np.repeat([0.0, 1.0], [10, 20])
    pooled = pool(RBF(1.0), x, y)
    evidence = QuadraticEvidence(pooled, unbiased=True)
    labels = labellings(40, 30, Permutation(499), 1).dense()
    ones = labels[pooled.points[:, 0] == pooled.points[:, 0].max()] > 0
    counts = ones.sum(axis=0)  # the statistic is a function of this number alone
    draws = evidence.permuted(Permutation(499), slice(0, 500), 1)
    for number in np.unique(counts):
        assert np.ptp(draws[counts == number]) <= evidence.tolerance()


def test_tensors():
    plain = MMD(RBF(1.0), null=Permutation(99)).test(X, Y, rng=0)
    tensors = MMD(RBF(1.0), null=Permutation(99)).test(torch.tensor(X), torch.tensor(Y), rng=0)
    assert_allclose(tensors.statistic, plain.statistic, rtol=1e-10)
    assert tensors.pvalue == plain.pvalue
    assert_allclose(tensors.null, plain.null, atol=1e-6)


def test_single_precision():
    single = MMD(RBF(1.0)).test(X.astype(np.float32), Y.astype(np.float32), rng=0)
    double = MMD(RBF(1.0)).test(X, Y, rng=0)
    assert_allclose(single.statistic, double.statistic, rtol=1e-3, atol=1e-6)
    assert single.pvalue == pytest.approx(double.pvalue, abs=0.01)


@pytest.mark.parametrize("unit", [1e-60, 1e-25, 1e25, 1e60])
@pytest.mark.parametrize(("kernel", "power"), [(Linear(), 2), (Energy(), 1)])
def test_units_whose_kernel_values_float32_cannot_hold(kernel, power, unit):
    test = MMD(kernel, null=Permutation(99))
    plain, scaled = test.test(X, Y, rng=0), test.test(unit * X, unit * Y, rng=0)
    assert scaled.pvalue == plain.pvalue < 1
    assert_allclose(scaled.null / unit**power, plain.null, atol=1e-5 * np.max(np.abs(plain.null)))


def test_arguments_are_not_written_into():
    x, y = X.copy(), Y.copy()
    MMD().test(x, y, rng=0)
    assert_array_equal(x, X)
    assert_array_equal(y, Y)


@pytest.mark.parametrize("kernel", [RBF(1.0), Energy(), Energy(1.5), Linear()])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("unbiased", [True, False])
def test_a_matrix_in_memory_gives_what_tiles_give(kernel, width, unbiased):
    pooled = pool(kernel, X[:, :width], Y[:, :width])
    in_memory = QuadraticEvidence(pooled, unbiased, null=Gamma())
    by_tiles = QuadraticEvidence(pooled, unbiased, null=Permutation(9))
    assert_allclose(in_memory.observed, by_tiles.observed, rtol=1e-10)
    assert_allclose(in_memory.moments(), by_tiles.moments(), rtol=1e-10)


def test_energy_distance_of_numbers_by_sorting():
    """On the line by sorting; with a second column of zeros, from the distances of all pairs."""
    rng = np.random.default_rng(0)
    x, y = np.round(rng.normal(1e3, 3.0, size=40), 1), np.round(rng.normal(1e3, 2.0, size=30), 1)
    plane = [np.column_stack([sample, np.zeros_like(sample)]) for sample in (x, y)]
    assert_allclose(htest.Energy().statistic(x, y), htest.Energy().statistic(*plane), rtol=1e-9)
    with pytest.raises(ValueError, match="at least 2 points"):
        htest.Energy().statistic(x[:1], y)
    with pytest.raises(ValueError, match="y has NaN"):
        htest.Energy().statistic(x, np.append(y, np.nan))
