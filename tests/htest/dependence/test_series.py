"""Time series: shifts and signs of blocks against naive loops, and their level on autoregressions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.signal import lfilter

import mercer
from mercer.errors import NoRule
from mercer.gram import Gram
from mercer.htest import (
    DHSIC,
    HSIC,
    MMD,
    Energy,
    Lancaster,
    Permutation,
    ShiftHSIC,
    WildBootstrap,
)
from mercer.htest.dependence.hsic_statistic import HSICEvidence
from mercer.htest.samples.mmd_series import block_forms
from mercer.htest.samples.mmd_statistic import QuadraticEvidence
from mercer.htest.samples.pooled_sample import pool
from mercer.htest.serial_dependence import across_blocks, lag_means, memory
from mercer.htest.slow_spectrum import effective_share
from mercer.kernels import RBF, Laplace, Linear
from mercer.kernels import Energy as EnergyKernel
from mercer.rkhs import Empirical, mmd2
from mercer.rkhs.paired_samples import variables
from tests.support.htest_levels import with_few_resamples
from tests.support.sequential_level import assert_level


def series(rng, n, rho, number=2):
    """Independent autoregressions x_t = rho x_(t-1) + e_t, of variance one: (number, n)."""
    noise = rng.standard_normal((number, n + 200))
    return lfilter([1], [1, -rho], noise, axis=1)[:, 200:] * np.sqrt(1 - rho**2)


def centred(k):
    return k - k.mean(axis=0) - k.mean(axis=1)[:, None] + k.mean()


# ---- shifts -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernels",
    [(RBF(1.0), RBF(2.0)), (Laplace(0.5), RBF(0.2)), (EnergyKernel(), EnergyKernel())],
    ids=["low rank", "full rank", "distances"],
)
@pytest.mark.parametrize("n", [40, 41])
def test_shifts_are_those_of_the_naive_loop(kernels, n):
    x, y = series(np.random.default_rng(0), n, 0.5)
    k, m = (centred(kernel(v)) for kernel, v in zip(kernels, (x, y), strict=True))
    want = [np.mean(k * np.roll(m, (-s, -s), axis=(0, 1))) for s in range(n)]
    result = ShiftHSIC(*kernels, head=5).test(x, y)
    assert_allclose(result.null, want[5 : n - 4], rtol=1e-8)
    assert_allclose(result.statistic, want[0], rtol=1e-9)
    shifts = np.array(want[5 : n - 4])
    effective = len(shifts) * effective_share(shifts)
    reached = effective * np.mean(shifts >= want[0])
    assert result.pvalue == pytest.approx((1 + reached) / (1 + effective))
    assert effective <= n - 9


def test_shifts_by_points_in_another_order():
    """HSIC of x_i and y_(i+k) is that of the shifted series."""
    x, y = series(np.random.default_rng(1), 50, 0.5)
    kernels = RBF(1.0), RBF(1.0)
    result = ShiftHSIC(*kernels, head=3).test(x, y)
    for step in (3, 20, 47):
        moved = HSIC(*kernels).statistic(x, np.roll(y, -step))
        assert_allclose(result.null[step - 3], moved, rtol=1e-9)


def test_tiles_and_factors_agree_on_shifts():
    x, y = series(np.random.default_rng(2), 700, 0.8)
    smooth = ShiftHSIC(RBF(2.0), RBF(2.0), head=10).test(x, y)
    rough = ShiftHSIC(RBF(2.0) + 1e-14 * Laplace(1.0), RBF(2.0) + 1e-14 * Laplace(1.0), head=10)
    with mercer.config(memory="16MiB", threads=1):
        assert_allclose(rough.test(x, y).null, smooth.null, rtol=1e-7)


def test_the_head_is_as_long_as_the_memory():
    rng = np.random.default_rng(0)
    short, long = (ShiftHSIC().test(*series(rng, 1000, rho)).notes[0] for rho in (0.0, 0.9))
    heads = [int(note.split()[2]) for note in (short, long)]
    assert heads[0] <= 2
    assert 10 < heads[1] < 80
    same = ShiftHSIC(head=heads[1]).test(*series(np.random.default_rng(5), 1000, 0.9), rng=1)
    assert same.notes[0].startswith(f"Shifts by {heads[1]} to {1000 - heads[1]}")


def test_shifts_find_what_permutations_invent():
    """Long memory makes permutations reject independent series; shifts and signs do not."""
    rng = np.random.default_rng(0)
    found = {"permuted": 0, "shifted": 0, "signed": 0}
    for _ in range(40):
        x, y = series(rng, 300, 0.8)
        found["permuted"] += HSIC(null=Permutation(99)).test(x, y, rng=rng).rejects()
        found["shifted"] += ShiftHSIC().test(x, y).rejects()
        found["signed"] += HSIC(null=WildBootstrap(99, None)).test(x, y, rng=rng).rejects()
    assert found["permuted"] > 8
    assert found["shifted"] <= 7
    assert found["signed"] <= 7


def test_refusals_of_shifts():
    x = np.random.default_rng(0).normal(size=20)
    with pytest.raises(
        ValueError, match="head must be at most half of the 20 observations, got 11"
    ):
        ShiftHSIC(head=11).test(x, x)
    with pytest.raises(ValueError, match="head must be a whole number of at least 1, got 0"):
        ShiftHSIC(head=0)
    with pytest.raises(TypeError, match="kernel_x must be a kernel, such as"):
        ShiftHSIC("rbf")
    with pytest.raises(TypeError, match="rng must be an int"):
        ShiftHSIC().test(x, x, rng="seed")


# ---- memory and blocks --------------------------------------------------------------------


@pytest.mark.parametrize("n", [100, 101])
def test_lag_means_of_the_linear_kernel_are_autocovariances(n):
    (x,) = series(np.random.default_rng(0), n, 0.8, number=1)
    x = x - x.mean()
    want = [np.mean(x[: n - h] * x[h:]) for h in range(n)]
    assert_allclose(lag_means(Gram(Linear(), x).centered()), want, rtol=1e-9, atol=1e-12)
    assert_allclose(lag_means(Gram(RBF(1.0), np.ones(20)).centered()), 0.0, atol=1e-15)


def test_memory():
    assert memory(0.5 ** np.arange(30)) == 5  # 0.5^4 = 0.0625
    assert memory(np.array([1.0, 0.01, 0.0, 0.0])) == 1
    assert memory(np.ones(28)) == 7
    assert memory(np.zeros(9)) == 1


@pytest.mark.parametrize(("n", "block"), [(12, 1), (12, 4), (13, 5), (7, 20)])
def test_pairs_in_different_blocks(n, block):
    means = np.random.default_rng(0).normal(size=n)
    of = np.arange(n) // block
    apart = of[:, None] != of[None, :]
    lag = np.abs(np.arange(n)[:, None] - np.arange(n)[None, :])
    assert_allclose(across_blocks(means, block), np.sum(means[lag] * apart) / n**2, atol=1e-15)


def test_what_is_subtracted_makes_signs_and_series_alike_on_average():
    """Of independent series the mean of what is compared is the mean of its signed forms."""
    gaps, sizes = [], []
    for run in range(200):
        x, y = series(np.random.default_rng(run), 100, 0.7)
        evidence = HSICEvidence.of(*variables((RBF(1.0), RBF(1.0)), (x, y)))
        observed, draws = evidence.signed(WildBootstrap(64, block=10), seed=run)
        gaps.append([observed - draws.mean(), evidence.observed - draws.mean()])
        sizes.append(draws.mean())
    gaps, error = np.mean(gaps, axis=0) / np.mean(sizes), np.std(gaps, axis=0)[0] / np.sqrt(200)
    assert abs(gaps[0]) < 4 * error / np.mean(sizes)
    assert gaps[1] > 0.1  # without it


# ---- signs --------------------------------------------------------------------------------


def test_signs_of_hsic_are_quadratic_forms():
    """Every draw is w'(K~ o L~)w / n^2 for one of the 2^5 signs of five blocks."""
    x, y = series(np.random.default_rng(0), 10, 0.5)
    test = HSIC(RBF(1.0), RBF(1.0), null=WildBootstrap(199, block=2))
    matrix = centred(RBF(1.0)(x)) * centred(RBF(1.0)(y))
    signs = np.repeat(np.array(np.meshgrid(*[[-1, 1]] * 5)).reshape(5, -1), 2, axis=0)
    forms = np.einsum("ib,ij,jb->b", signs, matrix, signs) / 100
    result = test.test(x, y, rng=0)
    gaps = np.min(np.abs(result.null[:, None] - forms), axis=1)
    assert np.max(gaps) < 1e-12
    assert len(np.unique(result.null.round(12))) == 16
    assert_allclose(result.statistic, matrix.mean(), rtol=1e-10)
    assert result.observed < result.statistic  # less what pairs in different blocks add


def test_blocks_of_two_samples_change_places():
    """Every draw is the biased MMD^2 of two samples made of whole blocks, as many as before."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=7), rng.normal(size=5)
    kernel, z = RBF(1.0), np.concatenate([x, y])
    forms = block_forms(pool(kernel, x, y), WildBootstrap(200, block=3), seed=0)
    of = np.array([0, 0, 0, 1, 1, 1, 2, 3, 3, 3, 4, 4])
    possible = []
    for a in range(5):
        for b in range(a):
            second = np.isin(of, [a, b])
            possible.append(mmd2(kernel, z[~second], z[second], unbiased=False))
    gaps = np.min(np.abs(forms[:, None] - np.array(possible)), axis=1)
    assert np.max(gaps) < 1e-12
    assert len(np.unique(forms.round(12))) == 10
    evidence = QuadraticEvidence(pool(kernel, x, y), True)
    observed, draws = evidence.signed(WildBootstrap(200, block=3), 0)
    assert_allclose(observed, mmd2(kernel, x, y, unbiased=False), rtol=1e-10)
    assert_allclose(draws, forms)
    with mercer.config(memory="16MiB"):
        assert_allclose(block_forms(pool(kernel, x, y), WildBootstrap(200, block=3), 0), forms)


def test_blocks_of_one_are_permutations():
    x, y = np.random.default_rng(3).normal(size=(2, 60))
    signs = MMD(RBF(1.0), unbiased=False, null=WildBootstrap(4999)).test(x, y, rng=0)
    permuted = MMD(RBF(1.0), unbiased=False, null=Permutation(4999)).test(x, y, rng=1)
    levels = (0.5, 0.9, 0.95)
    assert_allclose(np.quantile(signs.null, levels), np.quantile(permuted.null, levels), rtol=0.08)
    assert signs.pvalue == pytest.approx(permuted.pvalue, abs=0.03)


def test_weighted_series_are_refused():
    x = Empirical(np.arange(6.0), np.array([1, 2, 3, 4, 5, 6]) / 21)
    with pytest.raises(NoRule, match="WildBootstrap.. needs samples without weights"):
        MMD(RBF(1.0), null=WildBootstrap(9)).test(x, np.arange(5.0), rng=0)


def test_wild_bootstrap_takes_whole_numbers_or_none():
    with pytest.raises(ValueError, match="block must be a whole number of at least 1, got 0"):
        WildBootstrap(9, 0)
    with pytest.raises(NoRule, match="provides no statistics with random signs"):
        WildBootstrap(9).judge(object())


# ---- level and power on autoregressions ---------------------------------------------------

W = WildBootstrap(199, block=None)
TESTS = {
    "HSIC": (HSIC(null=W), 2),
    "MMD": (MMD(null=W), 2),
    "Energy": (Energy(null=W), 2),
    "DHSIC": (DHSIC(null=W), 3),
    "Lancaster": (Lancaster(null=W), 3),
    "ShiftHSIC": (ShiftHSIC(), 2),
}
every_test = pytest.mark.parametrize(("test", "number"), TESTS.values(), ids=TESTS)


@every_test
def test_level_quickly(test, number):
    """400 runs each, of other sizes too, are in tests/support/htest_dependence_levels.py."""
    quick = with_few_resamples(test)

    def rejects(run):
        rng = np.random.default_rng((run, 200, number))
        return quick.test(*series(rng, 200, 0.8, number), rng=rng).rejects(0.05)

    assert_level(rejects)


@every_test
def test_power(test, number):
    rejected = 0
    for run in range(5):
        rng = np.random.default_rng(run)
        x, y, z = series(rng, 600, 0.8, 3)
        if isinstance(test, MMD | Energy):
            samples = x, y + 1.5
        elif isinstance(test, Lancaster):
            samples = x, y, np.sign(x * y) * np.abs(z)
        else:
            samples = (x, 0.5 * z + np.abs(x), y)[:number]
        rejected += test.test(*samples, rng=rng).rejects(0.05)
    assert rejected >= 4
