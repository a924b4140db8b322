"""MMD of a sample and a known distribution: exact embedding, level of its nulls, and intervals that cover."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.errors import NoRule
from mercer.htest import MMD, Bound, Gamma, Permutation, Spectrum, WildBootstrap
from mercer.htest.deviation import deviation_interval
from mercer.htest.samples.mmd_to_model import ModelMMDEvidence
from mercer.kernels import RBF, Linear
from mercer.rkhs import Empirical, Gaussian, Mixture, Uniform, mean_embedding, mmd2

MODEL = Mixture([Gaussian([0.0, 0.0], 1.0), Gaussian([2.0, 1.0], 0.5)], [0.4, 0.6])


@pytest.mark.parametrize("model", [MODEL, Uniform([0.0, -1.0], [1.0, 1.0])], ids=repr)
def test_the_statistic_is_the_limit_of_many_draws(model):
    x = np.random.default_rng(0).normal(size=(40, 2))
    draws = model.sample(6000, rng=1)
    for unbiased in (True, False):
        value = MMD(RBF(0.9), unbiased=unbiased).statistic(x, model)
        # 6,000 draws: embeddings known to about 1 / sqrt(6000) = 0.013 of a difference of about 0.3
        assert_allclose(value, mmd2(RBF(0.9), x, draws, unbiased=unbiased), atol=0.01)
    witness = mean_embedding(RBF(0.9), x) - mean_embedding(RBF(0.9), model)
    result = MMD(RBF(0.9), unbiased=False, null=Gamma()).test(x, model)
    assert_allclose(result.statistic, witness.norm2(), rtol=1e-9)
    assert_allclose(result.witness()(x), witness(x), rtol=1e-12)


def test_level_and_power():
    """All nulls hold their level for a true model (200 samples, a band of four deviations) and see a shift."""
    rng = np.random.default_rng(0)
    kernel = RBF(1.5)
    first = ModelMMDEvidence(kernel, MODEL.sample(30, rng=rng), MODEL, True)
    matrix = first._centred_draws
    hits = np.zeros(3)
    for _ in range(200):
        evidence = ModelMMDEvidence(kernel, MODEL.sample(30, rng=rng), MODEL, True)
        evidence.__dict__["_centred_draws"] = matrix  # that of every sample
        hits[0] += Gamma().judge(evidence).pvalue <= 0.05
        hits[1] += Permutation(19).judge(evidence, rng).pvalue <= 0.05
        hits[2] += Bound().judge(evidence).pvalue <= 0.05
    assert np.all(hits[:2] / 200 < 0.05 + 4 * (0.05 * 0.95 / 200) ** 0.5)
    assert np.all(hits[:2] / 200 > 0.01)
    assert hits[2] == 0
    shifted = MODEL.sample(200, rng=rng) + 0.5
    for null in (Gamma(), Spectrum(), Permutation(199)):
        assert MMD(null=null).test(shifted, MODEL, rng=0).rejects(0.01)


def test_both_intervals_cover():
    truth = mean_embedding(RBF(1.0), Gaussian(0.4, 1.0)).distance2(
        mean_embedding(RBF(1.0), Gaussian(0.0, 1.0))
    )
    rng = np.random.default_rng(2)
    asymptotic, bounded = 0, 0
    for _ in range(100):
        evidence = ModelMMDEvidence(
            RBF(1.0), rng.normal(0.4, 1.0, (60, 1)), Gaussian(0.0, 1.0), True
        )
        low, high = evidence.estimate.interval(0.9)
        asymptotic += low <= truth <= high
        bounded += _bounded(evidence, truth**0.5)
    assert 0.9 - 4 * (0.09 / 100) ** 0.5 < asymptotic / 100 <= 1.0
    assert bounded == 100  # its coverage is far above 90%


def _bounded(evidence: ModelMMDEvidence, truth: float) -> bool:
    low, high = deviation_interval(evidence.form, evidence.variance_bound(), 0.9)
    return low <= truth <= high


def test_the_deviation_interval_of_two_samples():
    """It has sqrt(MMD_b^2) in its middle, and shrinks like 1 / sqrt(n)."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(400, 1)), rng.normal(3.0, 1.0, size=(400, 1))
    result = MMD(RBF(1.0), null=Gamma()).test(x, y)
    low, high = result.mmd_interval(0.95)
    assert_allclose((low + high) / 2, mmd2(RBF(1.0), x, y, unbiased=False) ** 0.5, rtol=1e-9)
    reach = (2 / 400) ** 0.5 * (1 + (2 * np.log(20)) ** 0.5)
    assert_allclose(high - low, 2 * reach, rtol=1e-9)
    exact = mean_embedding(RBF(1.0), Gaussian(0.0, 1.0)).distance(
        mean_embedding(RBF(1.0), Gaussian(3.0, 1.0))
    )
    assert low < exact < high
    with pytest.raises(NoRule, match="bounded shift-invariant"):
        MMD(Linear(), null=Gamma()).test(x[:50], y[:50]).mmd_interval()


def test_what_a_model_refuses():
    x = np.zeros((5, 2)) + np.arange(5)[:, None]
    with pytest.raises(TypeError, match="weighted sample"):
        MMD().test(Empirical(x, np.full(5, 0.2)), MODEL)
    with pytest.raises(ValueError, match="at least 2 points"):
        MMD().test(x[:1], MODEL)
    with pytest.raises(ValueError, match="leave out paired"):
        MMD(null=Permutation(99, paired=True)).test(x, MODEL)
    with pytest.raises(NoRule, match="cannot be used"):
        MMD(null=WildBootstrap(99, 2)).test(x, MODEL)
    with pytest.raises(ValueError, match="dimension|columns"):
        MMD().test(x[:, :1], MODEL)
    with pytest.raises(ValueError, match="confidence"):
        MMD(null=Gamma()).test(x, MODEL).mmd_interval(1.5)
    with pytest.raises(ValueError, match="confidence"):
        MMD(null=Gamma()).test(x, MODEL).interval(1.5)
