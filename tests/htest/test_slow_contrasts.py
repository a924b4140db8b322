"""Slow cosines of series: laws of the contrasts, Student's t in one dimension, spectra, seasons, refusals and levels."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from mercer.errors import NoRule
from mercer.gram import Gram, LowRank
from mercer.htest import HSIC, MMD, Energy, Permutation, ShiftHSIC, WildBootstrap
from mercer.htest.samples.pooled_sample import pool
from mercer.htest.seasons import Residual, deseasonalised, harmonics, periodogram, season
from mercer.htest.slow_contrasts import SlowContrasts, SlowForms, cosines, slow_forms
from mercer.htest.slow_spectrum import (
    autocovariances,
    autoregressive_spectrum,
    single_lag_spectrum,
    slow_changes_spectrum,
)
from mercer.kernels import RBF, Linear
from mercer.rkhs import Empirical, mmd2
from tests.support.series_problems import STATIONARY, arma, seasonal, walk

SERIES = WildBootstrap(199, block=None)
W = np.pi * np.arange(1, 9) / 300


# ---- contrasts and rotations ------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(50,), (40, 60), (5, 7), (2, 30)])
def test_contrasts_are_orthonormal(sizes):
    observed = np.concatenate([np.full(n, (-1.0) ** i / n) for i, n in enumerate(sizes)])
    weights = SlowContrasts.of(observed, sizes).weights
    assert_allclose(weights.T @ weights, np.eye(weights.shape[1]), atol=1e-12)
    assert_allclose(np.ones(50) @ cosines(50, 16), 0.0, atol=1e-12)


@pytest.mark.parametrize("k", [3, 16])
def test_rotations_of_numbers_are_student_t(k):
    """With one feature the draws beyond the observed form have the probability of t with k degrees of freedom."""
    z = np.random.default_rng(0).normal(size=1 + k)
    draws = SlowForms(np.outer(z, z), 100.0, ()).rotated(40_000, seed=1)
    want = stats.f.sf(z[0] ** 2 / np.mean(z[1:] ** 2), 1, k)
    assert_allclose(np.mean(draws >= z[0] ** 2), want, atol=4 * np.sqrt(0.25 / 40_000))


def test_rotations_hold_the_level_exactly_for_normal_features():
    """Any covariance of the features: p-values of the first of 1 + k independent vectors are uniform."""
    rng, scale = np.random.default_rng(0), np.array([3.0, 1.0, 0.3, 0.1])
    pvalues = []
    for run in range(2000):
        z = rng.normal(size=(7, 4)) * scale
        forms = SlowForms(z @ z.T, 100.0, ())
        draws = forms.rotated(99, seed=run)
        pvalues.append((1 + np.sum(draws >= forms.matrix[0, 0])) / 100)
    assert stats.kstest(pvalues, "uniform").pvalue > 1e-3


def test_forms_are_those_of_the_dense_matrix():
    """Of white noise, on which nothing is scaled: W'KW, and its first entry is MMD^2 over |w|^2."""
    x, y = np.random.default_rng(7).normal(size=(2, 200, 1))
    pooled = pool(RBF(1.0), x, y)
    contrasts = SlowContrasts.of(pooled.contrast, (200, 200))
    dense = RBF(1.0)(np.concatenate([x, y]))
    forms = slow_forms(contrasts, dense @ contrasts.weights)
    kept = len(forms.matrix)
    scale = np.sqrt(
        np.diag(forms.matrix) / np.diag(contrasts.weights.T @ dense @ contrasts.weights)[:kept]
    )
    assert kept == 17
    assert np.all((scale >= 1 - 1e-12) & (scale < 1.2))
    result = MMD(RBF(1.0), null=SERIES).test(x, y, rng=0)
    assert_allclose(result.observed, mmd2(RBF(1.0), x, y, unbiased=False), rtol=1e-9)
    assert_allclose(result.observed, forms.matrix[0, 0] * (2 / 200), rtol=1e-9)
    assert_allclose(HSIC(null=SERIES).test(x, y, rng=0).observed, HSIC().statistic(x, y), rtol=1e-9)


def test_constant_and_short_series():
    ones = np.ones(30)
    assert MMD(RBF(1.0), null=SERIES).test(ones, ones, rng=0).pvalue == 1.0
    for n in (4, 5, 9):
        x, y = np.random.default_rng(n).normal(size=(2, n))
        for test in (MMD(null=SERIES), HSIC(null=SERIES), Energy(null=SERIES)):
            assert 0 < test.test(x, y, rng=0).pvalue <= 1


def test_weighted_series_are_refused():
    x = Empirical(np.arange(6.0), np.array([1, 2, 3, 4, 5, 6]) / 21)
    with pytest.raises(NoRule, match="WildBootstrap.. needs samples without weights"):
        MMD(RBF(1.0), null=SERIES).test(x, np.arange(5.0), rng=0)


# ---- spectra ----------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [0.5, 0.9, -0.8])
def test_spectrum_of_an_autoregression(a):
    """From exact autocovariances of many observations: f(0) / f(w) = |1 - a e^(iw)|^2 / (1 - a)^2, at least 1."""
    n = 10**6
    spectrum = autoregressive_spectrum(a ** np.arange(30.0), (n,), W)
    want = np.abs(1 - a * np.exp(1j * W)) ** 2 / (1 - a) ** 2
    assert_allclose(spectrum.inflation, np.maximum(want, 1.0), rtol=200 / n)  # terms of order 1/n
    assert_allclose(spectrum.effective, min((1 - a) / (1 + a), 1.0), rtol=1e-3)


def test_spectrum_of_slow_changes_and_of_one_lag():
    lags = np.arange(41)
    covariances = np.where(lags == 0, 1.0, 0.2 * 0.95**lags)
    slow = slow_changes_spectrum(covariances, (10**10,), W, 1.0)  # where its margin vanishes
    f = 0.8 + 0.2 * (1 - 0.95**2) / np.abs(1 - 0.95 * np.exp(1j * np.append(0.0, W))) ** 2
    assert_allclose(slow.inflation, f[0] / f[1:], rtol=1e-4)
    yearly = np.where(lags % 12 == 0, 0.6 ** (lags / 12), 0.0)
    lag = single_lag_spectrum(yearly, (10**7,), W)
    assert_allclose(lag.inflation, np.abs(1 - 0.6 * np.exp(12j * W)) ** 2 / 0.16, rtol=1e-4)
    nothing = np.eye(1, 41)[0]
    for fit in (
        slow_changes_spectrum(nothing, (10**7,), W, 1.0),
        single_lag_spectrum(nothing, (10**7,), W),
    ):
        assert_allclose(fit.inflation, 1.0, rtol=1e-4)


def test_autocovariances_are_pooled_over_pieces():
    a, b = np.random.default_rng(0).normal(size=(2, 50))
    want = [np.sum(a[: 50 - h] * a[h:]) + np.sum(b[: 50 - h] * b[h:]) for h in range(4)]
    assert_allclose(autocovariances([a, b], 3), np.array(want) / 100)


# ---- seasons ----------------------------------------------------------------------------------


@pytest.mark.parametrize("period", [7, 12.5, 40])
def test_seasons_are_located_and_taken_out(period):
    x = seasonal(period)(np.random.default_rng(0), 240)[:, None]
    centred = Gram(RBF(1.0), x).centered()
    dense = centred.dense()
    assert_allclose(1 / season(centred), period, rtol=0.03)
    basis = harmonics(240, season(centred))
    keep = np.eye(240) - basis @ basis.T
    assert_allclose(Residual.of(centred, basis).dense(), keep @ dense @ keep, atol=1e-10)
    assert_allclose(deseasonalised(centred)[0].dense(), keep @ dense @ keep, atol=1e-10)
    values, vectors = np.linalg.eigh(dense)
    factor = LowRank(vectors * np.sqrt(np.maximum(values, 0.0)))
    assert_allclose(periodogram(factor, 2), periodogram(centred, 2), atol=1e-8)
    assert_allclose(deseasonalised(factor)[0].dense(), keep @ dense @ keep, atol=1e-8)


def test_noise_has_no_season():
    """Rarely by a Gaussian kernel; by a linear kernel of numbers as often as the bound allows."""
    noise = [arma()(np.random.default_rng(i), 100)[:, None] for i in range(100)]
    seen = [
        sum(season(Gram(kernel, x).centered()) is not None for x in noise)
        for kernel in (RBF(1.0), Linear())
    ]
    assert seen[0] <= 6
    assert seen[1] <= 33  # of 100 with probability 0.2: more with probability 0.001


# ---- walks, cautions and levels ---------------------------------------------------------------


@pytest.mark.parametrize("test", [MMD(null=SERIES), HSIC(null=SERIES), ShiftHSIC()], ids=str)
def test_random_walks_are_refused(test):
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(10):
        try:
            test.test(walk(rng, 200), walk(rng, 200), rng=0)
        except ValueError as error:
            assert "wanders like a random walk" in str(error)
            assert "np.diff(" in str(error)
            refused += 1
    assert refused >= 7
    x, y = (np.diff(walk(rng, 201)) for _ in range(2))
    assert test.test(x, y, rng=0).pvalue > 0


@pytest.mark.parametrize("test", [MMD(null=SERIES), HSIC(null=SERIES), ShiftHSIC()], ids=str)
def test_independent_rows_with_directions_of_their_own_are_no_walk(test):
    """In so many dimensions some direction of the rows is slow, and as many others are as fast."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        assert test.test(rng.normal(size=(30, 200)), rng.normal(size=(30, 200)), rng=0).pvalue > 0


def test_a_walk_beside_noise_is_tested():
    rng = np.random.default_rng(0)
    assert HSIC(null=SERIES).test(walk(rng, 200), rng.normal(size=200), rng=0).pvalue > 0.01


def test_few_effective_observations_are_said_first():
    x, y = (arma((0.9,))(np.random.default_rng(i), 150) for i in (3, 4))
    result = MMD(null=SERIES).test(x, y, rng=0)
    assert result.notes[0].startswith("Caution: the series are worth about")
    assert result.summary().startswith("Caution: ")
    rng = np.random.default_rng(0)
    plain = MMD(null=SERIES).test(rng.normal(size=300), rng.normal(size=300), rng=0)
    assert plain.notes == ("Compared with the 16 slowest cosines of the series.",)


@pytest.mark.parametrize(
    ("test", "problem"),
    [
        (MMD(null=SERIES), "AR(-0.8)"),
        (MMD(null=SERIES), "AR(2), oscillating"),
        (MMD(null=SERIES), "GARCH(0.1, 0.85)"),
        (HSIC(null=SERIES), "seasonal, period 25"),
        (ShiftHSIC(), "AR(-0.8)"),
    ],
    ids=str,
)
def test_levels(test, problem):
    """40 runs; 400 of many more series are in benchmarks/results/series_level.md."""
    rejected = 0
    for run in range(40):
        rng = np.random.default_rng([run, 5])
        samples = (STATIONARY[problem](rng, 150) for _ in range(2))
        rejected += test.test(*samples, rng=rng).rejects()
    assert rejected <= 7  # more are rejected at level 0.05 with probability 0.0003


def test_power_of_the_slow_cosines():
    """On independent observations, beside permutations."""
    rejected = np.zeros(2)
    for run in range(40):
        x, y = np.random.default_rng([run, 6]).normal(size=(2, 100))
        for i, null in enumerate((SERIES, Permutation(199))):
            rejected[i] += MMD(null=null).test(x, y + 0.5, rng=run).rejects()
    assert rejected[0] >= 0.7 * rejected[1] > 20
