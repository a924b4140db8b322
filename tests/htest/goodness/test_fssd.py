"""FSSD: its features by autograd, its null by the model, the learnt locations, and linear time."""

import numpy as np
import pandas as pd
import pytest
from arrays import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import check_grad

from mercer.errors import NoRule
from mercer.htest import FSSD, GoodnessResult, Permutation, Spectrum, WeightedChi2
from mercer.htest.goodness import steinfeatures
from mercer.htest.goodness.search import Ratio
from mercer.htest.goodness.steinfeatures import FeatureMoments, stein_features
from mercer.kernels import RBF, Exponential, InverseMultiquadric, Matern
from mercer.kernels.stein import Scored
from mercer.rkhs import Gaussian, Mixture

P = Gaussian([1.0, -1.0], [[2.0, 0.5], [0.5, 1.0]])
KERNELS = [RBF(1.3), InverseMultiquadric(1.0), Matern(3.5, 2.0) + 0.5 * RBF(0.7)]


def normal(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def made(kernel, x, v, model=P):
    profile, slope, _ = Scored(kernel).form
    return stein_features(x, model.score(x), v, profile, slope)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_features_are_those_of_autograd(kernel):
    x, v = normal(7, 2), normal(3, 2, 1)
    t = torch.tensor(np.repeat(x, 3, axis=0), requires_grad=True)
    values = kernel.paired(t, torch.tensor(np.tile(v, (7, 1))))
    (gradient,) = torch.autograd.grad(values.sum(), t)
    xi = P.score(t) * values[:, None] + gradient
    expected = xi.detach().numpy().reshape(7, 3, 2) / np.sqrt(6)
    assert_allclose(made(kernel, x, v), expected, rtol=1e-10, atol=1e-12)


def test_features_have_mean_zero_under_the_model():
    t = made(RBF(1.0), P.sample(200_000, rng=0), normal(4, 2))
    assert np.all(np.abs(t.mean(axis=0)) < 4.5 * t.std(axis=0) / np.sqrt(len(t)))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_statistic_is_the_mean_of_products_of_pairs(kernel):
    x, v = P.sample(40, rng=0) + 0.3, normal(3, 2)
    t = made(kernel, x, v).reshape(40, -1)
    products = t @ t.T
    expected = (products.sum() - np.trace(products)) / (40 * 39)
    assert_allclose(FSSD(P, kernel, locations=v).statistic(x), expected, rtol=1e-9)


def test_some_rows_at_a_time_change_nothing(monkeypatch):
    x, v = P.sample(300, rng=0), normal(3, 2)
    whole = FSSD(P, locations=v).test(x)
    monkeypatch.setattr(steinfeatures, "_NUMBERS", 50)
    parts = FSSD(P, locations=v).test(x)
    assert_allclose(parts.statistic, whole.statistic, rtol=1e-9)
    assert_allclose(parts.pvalue, whole.pvalue, rtol=1e-8)


def test_the_null_is_that_of_samples_of_the_model():
    """Quantiles of the law from one sample's features, and of statistics of new samples."""
    v, n = P.sample(4, rng=5), 400
    test = FSSD(P, RBF(2.0), locations=v)
    law = test.test(P.sample(5000, rng=0)).law
    values = [n * test.statistic(P.sample(n, rng=seed)) for seed in range(1, 601)]
    for level in (0.5, 0.2, 0.05):
        at = np.quantile(values, 1 - level)
        share = law.sf(at / 5000)
        assert abs(share - level) < 4.5 * np.sqrt(level * (1 - level) / 600)


def test_both_nulls_agree():
    x, v = P.sample(500, rng=3), normal(5, 2)
    formula = FSSD(P, locations=v, null=WeightedChi2()).test(x).pvalue
    draws = FSSD(P, locations=v, null=Spectrum(20_000)).test(x, rng=0).pvalue
    assert abs(formula - draws) < 4.5 * np.sqrt(formula * (1 - formula) / 20_000) + 1e-4
    assert FSSD(P, locations=v).test(x).pvalue == formula


@pytest.mark.parametrize("d", [1, 5])
def test_level(d):
    """200 runs: a level of 0.05 gives at most 21 rejections in all but one of a thousand cases."""
    model = Gaussian(np.zeros(d), 1.0)
    rejected = sum(FSSD(model).test(normal(200, d, s), rng=s).rejects() for s in range(200))
    assert 1 <= rejected <= 21


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_gradient_of_the_search(kernel):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3)) + 0.2
    ratio = Ratio(x, -(x**3), *Scored(kernel).form, 2)
    theta = np.append(rng.normal(size=6), 0.3)
    error = check_grad(lambda t: ratio(t)[0], lambda t: ratio(t)[1], theta)
    assert error < 1e-6 * max(1.0, np.linalg.norm(ratio(theta)[1]))


@pytest.mark.parametrize("kernel", [None, InverseMultiquadric(1.0)], ids=repr)
def test_learnt_locations_sit_where_the_model_fails(kernel):
    """A small cluster that the model does not know, at (4, 0), in units of a thousand."""
    data = np.concatenate([normal(900, 2), 0.3 * normal(100, 2, 1) + np.array([4.0, 0.0])])
    data = 1000 * np.random.default_rng(0).permutation(data)
    model = Gaussian([0.0, 0.0], 1e6)
    kernel = None if kernel is None else kernel.scaled(1e-3)
    test = FSSD.optimized(model, data[:500], kernel=kernel, locations=1, rng=0)
    assert np.linalg.norm(test.locations[0] / 1000 - [4.0, 0.0]) < 1.5
    assert test.test(data[500:]).rejects(1e-6)
    assert test == FSSD.optimized(model, data[:500], kernel=kernel, locations=1, rng=0)


def test_learnt_locations_do_better_than_random_ones():
    """Laplace against a Gaussian of the same mean and variance."""
    model, learnt, random = Gaussian(np.zeros(3), 1.0), 0, 0
    for seed in range(10):
        x = np.random.default_rng(seed).laplace(scale=0.5**0.5, size=(800, 3))
        test = FSSD.optimized(model, x[:300], locations=3, rng=seed)
        learnt += test.test(x[300:]).rejects()
        random += FSSD(model, locations=3).test(x, rng=seed).rejects()
    assert learnt >= 8
    assert learnt >= random


def test_learnt_tests_hold_their_level():
    model, rejected = Gaussian([0.0, 0.0], 1.0), 0
    for seed in range(50):
        x = normal(300, 2, seed)
        test = FSSD.optimized(model, x[:100], locations=2, rng=seed)
        rejected += test.test(x[100:]).rejects()
    assert rejected <= 9  # 0.05: more in one of five thousand cases


def test_a_result_has_the_locations_that_were_used():
    x = pd.DataFrame(P.sample(100, rng=0), columns=["a", "b"])
    result = FSSD(P, locations=3).test(x, rng=7)
    assert isinstance(result, GoodnessResult)
    assert result.test.locations.shape == (3, 2)
    assert_array_equal(result.test.locations, FSSD(P, locations=3).test(x, rng=7).test.locations)
    again = result.test.test(x[["a", "b"]])
    assert_allclose((again.statistic, again.pvalue), (result.statistic, result.pvalue), rtol=1e-9)
    assert FSSD(P, locations=3).test(x, rng=0).statistic == FSSD(P, locations=3).statistic(x)
    assert "FSSD, weighted chi-square null distribution" in result.summary()
    assert_allclose(result.witness()(x).mean(), result.witness().norm2(), rtol=1e-9)


def test_tensors_and_mixtures():
    p = Mixture([P, Gaussian([4.0, 4.0], 1.0)], [0.8, 0.2])
    x, v = p.sample(100, rng=0), normal(3, 2)
    plain = FSSD(p, locations=v).test(x)
    assert_allclose(FSSD(p, locations=v).test(torch.tensor(x)).pvalue, plain.pvalue, rtol=1e-9)


def test_moments_of_one_feature_by_hand():
    t = normal(30, 1)
    moments = FeatureMoments(30, t.mean(axis=0), (t.T @ t) / 30)
    assert_allclose(moments.eigenvalues, [t.var(ddof=1)])
    observed, weights, rest = moments.spectrum(10)
    assert_allclose(observed, (t.sum() ** 2 - (t**2).sum()) / (30 * 29))
    assert_allclose(rest, -weights.sum())


def test_wrong_arguments():
    x = P.sample(20, rng=0)
    with pytest.raises(TypeError, match=r"null must be WeightedChi2\(\), Spectrum\(\), ModelDraws"):
        FSSD(P, null=Permutation(99))
    with pytest.raises(NoRule, match="two derivatives"):
        FSSD(P, Exponential(1.0))
    with pytest.raises(ValueError, match="locations must be a whole number of at least 1"):
        FSSD(P, locations=0)
    with pytest.raises(TypeError, match="locations must be a whole number"):
        FSSD.optimized(P, x, locations=x)
    with pytest.raises(ValueError, match="x and locations must have the same number of columns"):
        FSSD(P, locations=np.zeros((2, 3))).test(x)
    with pytest.raises(TypeError, match="model must be"):
        FSSD.optimized("normal", x)
