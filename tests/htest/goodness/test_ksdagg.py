"""KSDAgg: one kernel is KSD, forms are those of dense matrices, scales nobody told it are found."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.errors import NoRule
from mercer.gram import SignWeights
from mercer.htest import KSD, KSDAgg, KSDAggResult, Permutation, WildBootstrap
from mercer.htest.goodness.ksd_statistic import SteinForms
from mercer.htest.goodness.score_models import model_of
from mercer.htest.goodness.stein_sample import sample_of
from mercer.kernels import RBF, Exponential, InverseMultiquadric, Stein, bandwidth_grid
from mercer.rkhs import Gaussian, Mixture, ksd2
from tests.support.arrays import torch

P = Gaussian([1.0, -1.0], [[2.0, 0.5], [0.5, 1.0]])
B = WildBootstrap(199)
KERNELS = [RBF(1.0), InverseMultiquadric(0.7), InverseMultiquadric(2.0, 0.3) + RBF(3.0)]


@pytest.mark.parametrize("n", [60, 700])
def test_forms_are_those_of_dense_matrices(n):
    """Held matrices and held signs: the second road."""
    x = P.sample(n, rng=0) + 0.1
    null = WildBootstrap(50, block=3 if n > 100 else 1)
    sample = sample_of(model_of(P), None, x, 4)
    forms = SteinForms(sample, KERNELS)
    found = forms.signed(null, 7).values
    signs = SignWeights(n, 50, scale=1 / n, block=null.block, rng=7).dense()
    for k, kernel in enumerate(KERNELS):
        h = Stein(kernel, P.score)(x)
        assert_allclose(forms.observed[k], h.mean(), rtol=1e-10)
        spread = np.sqrt((h**2).sum()) / n**2
        assert_allclose(found[k, 1:], np.einsum("ib,ij,jb->b", signs, h, signs), atol=1e-5 * spread)
        if null.block == 1:
            assert_allclose(found[k, 0], h.mean(), atol=1e-5 * spread)


def test_discrepancies_without_a_unit():
    x = P.sample(90, rng=1)
    expected = [
        ksd2(kernel, P.score, x, unbiased=False) / Stein(kernel, P.score).diag(x).mean()
        for kernel in KERNELS
    ]
    assert_allclose(KSDAgg(P, KERNELS).unitless(x), expected, rtol=1e-10)
    for kernel, value in zip(KERNELS, expected, strict=True):
        assert_allclose(KSD(P, kernel, unbiased=True).unitless(x), [value], rtol=1e-10)


def test_one_kernel_is_ksd():
    for seed in range(5):
        x = P.sample(80, rng=seed) + 0.15
        one, plain = (t.test(x, rng=0) for t in (KSDAgg(P, [RBF(1.0)]), KSD(P, RBF(1.0))))
        assert one.pvalue == plain.pvalue
        assert one.pvalues[0] == plain.pvalue
        assert one.notes[-1] == "Kernel: RBF(bandwidth=1)."


def test_the_collection_covers_the_scales():
    x = P.sample(100, rng=0)
    found = KSDAgg(P, null=B).test(x, rng=0).kernels
    assert [k.offset for k in found[:5]] == pytest.approx(bandwidth_grid(x, 5))
    assert [k.bandwidth for k in found[5:]] == pytest.approx(bandwidth_grid(x, 5))


def test_many_dimensions_need_gaussian_kernels():
    """Laplace of the same mean and variance in ten dimensions: KSD at the median sees nothing."""
    model, rng = Gaussian(np.zeros(10), 1.0), np.random.default_rng(0)
    samples = [rng.laplace(scale=0.5**0.5, size=(300, 10)) for _ in range(10)]
    assert sum(KSD(model, null=B).test(x, rng=0).rejects() for x in samples) <= 5
    assert sum(KSDAgg(model, null=B).test(x, rng=0).rejects() for x in samples) >= 9


def test_small_scales_are_found():
    """Ripples that the median distance does not see."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 1))
    x = np.round(x / 0.3) * 0.3 + 0.03 * rng.normal(size=(400, 1))
    model = Gaussian(0.0, 1.0)
    assert KSD(model, null=B).test(x, rng=0).pvalue > 0.05
    result = KSDAgg(model).test(x, rng=0)
    assert result.rejects(0.01)
    seeing = result.rejecting(0.05)
    widths = {k: k.offset if isinstance(k, InverseMultiquadric) else k.bandwidth for k in seeing}
    assert min(widths.values()) < 0.2
    assert max(widths.values()) < 1.0
    assert "of 10 kernels reject" in result.notes[-2]


def test_large_scales_too():
    model = Gaussian(np.zeros(2), 1.0)
    x = np.random.default_rng(1).normal(size=(200, 2)) * 1.4
    assert KSDAgg(model, null=B).test(x, rng=0).rejects(0.01)


def test_what_each_kernel_says():
    """Corrected levels: where the whole test does not reject, no kernel is said to."""
    for seed in range(20):
        x = P.sample(60, rng=seed) + 0.2
        result = KSDAgg(P, KERNELS, null=B).test(x, rng=0)
        assert isinstance(result, KSDAggResult)
        assert bool(result.rejecting()) == result.rejects()
        assert set(result.rejecting()) <= set(KERNELS)
        assert np.all((result.pvalues > 0) & (result.pvalues <= 1))
        assert result.pvalue >= result.pvalues.min() - 0.06  # looking at three costs something


def test_weights():
    x = P.sample(100, rng=0) * 1.5
    sure = KSDAgg(P, KERNELS, weights=[1.0, 1e-9, 1e-9], null=B).test(x, rng=0)
    assert sure.pvalue == KSD(P, KERNELS[0], null=B).test(x, rng=0).pvalue


def test_tiles_and_clothes_change_nothing():
    x = P.sample(900, rng=0)
    whole = KSDAgg(P, null=B).test(x, rng=0)
    with mercer.config(memory=2**24):
        assert KSDAgg(P, null=B).test(x, rng=0).pvalue == whole.pvalue
    for other in (torch.tensor(x), pd.DataFrame(x, columns=["a", "b"])):
        assert KSDAgg(P, null=B).test(other, rng=0).pvalue == whole.pvalue


def test_chains_share_mixtures_of_cosines():
    model, x = Gaussian(0.0, 1.0), np.random.default_rng(0).normal(size=(300, 1))
    for t in range(1, 300):
        x[t] = 0.9 * x[t - 1] + np.sqrt(1 - 0.81) * x[t]
    result = KSDAgg(model, null=WildBootstrap(199, block=None)).test(x, rng=0)
    assert any("slowest cosines" in note for note in result.notes)
    assert KSDAgg(model, null=B).test(x, rng=0).pvalue <= result.pvalue
    single = KSDAgg(model, [result.kernels[3]], null=WildBootstrap(199, block=None))
    alone = KSD(model, result.kernels[3], null=WildBootstrap(199, block=None))
    assert single.test(x, rng=0).pvalue == alone.test(x, rng=0).pvalue


def test_numbers_and_words():
    x = Mixture([Gaussian(0.0, 1.0), Gaussian(5.0, 1.0)]).sample(100, rng=0)
    result = KSDAgg(Gaussian(0.0, 1.0), null=B).test(x, rng=0)
    found = result.to_dict()
    assert json.loads(json.dumps(found)) == found
    assert len(found["kernels"]) == 10
    assert "KSDAgg" in result.summary()
    assert "the strongest is " in result.summary()


def test_wrong_arguments():
    with pytest.raises(TypeError, match="kernels must be a list of kernels"):
        KSDAgg(P, RBF(1.0))
    with pytest.raises(NoRule, match="two derivatives"):
        KSDAgg(P, [RBF(1.0), Exponential(1.0)])
    with pytest.raises(TypeError, match="null must be a WildBootstrap"):
        KSDAgg(P, null=Permutation(99))
    with pytest.raises(ValueError, match="weights must have 3 entries"):
        KSDAgg(P, KERNELS, weights=[1.0, 2.0])
    with pytest.raises(ValueError, match=r"weights\[1\] must be a positive number"):
        KSDAgg(P, KERNELS, weights=[1.0, 0.0, 1.0])
    with pytest.raises(ValueError, match="all points of x are equal"):
        KSDAgg(P).test(np.ones((9, 2)))
