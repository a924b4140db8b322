"""Surrogate series: what they keep, the shifts of ShiftHSIC, refusals, and levels on linear processes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer.errors import NoRule
from mercer.htest import DHSIC, HSIC, MMD, Lancaster, PhaseSurrogates, ShiftHSIC, ShiftSurrogates
from mercer.htest.surrogates import PhaseRandomized
from mercer.kernels import RBF
from tests.support.htest_zoo import autoregressions
from tests.support.series_problems import arma, walk


@pytest.mark.parametrize("n", [200, 201])
def test_surrogates_keep_values_and_periodogram(n):
    """Of normal scores the moduli of all Fourier coefficients and the cross-spectra of columns, before ranks."""
    rng = np.random.default_rng(0)
    x = np.exp(np.stack([arma((0.8,))(rng, n) for _ in range(2)], axis=1))
    surrogates = PhaseRandomized.of(x)
    y = surrogates.draw(rng)
    assert_allclose(np.sort(y, axis=0), np.sort(x, axis=0))
    assert np.mean(y == x) < 0.1
    lag = [np.corrcoef(np.log(v[1:, 0]), np.log(v[:-1, 0]))[0, 1] for v in (x, y)]
    assert_allclose(*lag, atol=0.1)
    assert_allclose(surrogates.amplitudes[0], 0.0, atol=1e-10)  # the mean stays, whatever its phase


def test_draws_are_hsic_of_surrogates():
    x, y = autoregressions(2, 0.8)(np.random.default_rng(0), (60,))
    kernels = RBF(1.0), RBF(2.0)
    result = HSIC(*kernels, null=PhaseSurrogates(5)).test(x, y, rng=3)
    assert_allclose(result.observed, HSIC(*kernels).statistic(x, y), rtol=1e-10)
    assert len(set(result.null)) == 5
    assert 0 < result.null.min() < result.null.max() < 1
    again = HSIC(*kernels, null=PhaseSurrogates(9)).test(x, y, rng=3)
    assert_allclose(again.null[:5], result.null)  # a draw depends on the seed and its number only


@pytest.mark.parametrize("unbiased", [False, True])
def test_shifts_are_those_of_shift_hsic(unbiased):
    x, y = (v.ravel() for v in autoregressions(2, 0.5)(np.random.default_rng(0), (50,)))
    kernels = RBF(1.0), RBF(2.0)
    result = HSIC(*kernels, unbiased=unbiased, null=ShiftSurrogates(head=5)).test(x, y)
    test = HSIC(*kernels, unbiased=unbiased)
    want = [test.statistic(x, np.roll(y, -step)) for step in range(5, 46)]
    assert_allclose(result.null, want, rtol=1e-8, atol=1e-14)
    if not unbiased:
        assert result.pvalue == ShiftHSIC(*kernels, head=5).test(x, y).pvalue


def test_refusals():
    rng = np.random.default_rng(0)
    x, y, z = rng.normal(size=(3, 60))
    for null in (PhaseSurrogates(9), ShiftSurrogates()):
        with pytest.raises(NoRule, match="cannot be used with this test"):
            MMD(null=null).test(x, y, rng=0)
        with pytest.raises(NoRule, match="cannot be used with this test"):
            DHSIC(null=null).test(x, y, z, rng=0)
        assert 0 < Lancaster(null=null).test(x, y, z, rng=0).pvalue <= 1
        with pytest.raises(ValueError, match="must be a stationary series"):
            HSIC(null=null).test(walk(rng, 300), walk(rng, 300), rng=0)
    labels = pd.DataFrame({"a": pd.Categorical(rng.choice(list("abc"), 60))})
    with pytest.raises(NoRule, match="needs a series of numbers in y: use ShiftSurrogates"):
        HSIC(null=PhaseSurrogates(9)).test(pd.DataFrame({"x": x}), labels, rng=0)


@pytest.mark.parametrize("draw", [arma((0.7,)), arma((-0.8,))])
def test_levels_of_phase_surrogates(draw):
    """40 runs of independent linear series: binomial(40, 0.05) exceeds 7 with probability 0.001."""
    rejected = 0
    for run in range(40):
        rng = np.random.default_rng(run)
        test = HSIC(null=PhaseSurrogates(39))
        rejected += test.test(draw(rng, 150), draw(rng, 150), rng=run).pvalue <= 0.05
    assert rejected <= 7
