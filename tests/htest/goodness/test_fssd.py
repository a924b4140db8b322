"""FSSD: its features by autograd, its null by the model, the learnt locations, and linear time."""

import tracemalloc
from time import process_time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.optimize import brentq, check_grad

from mercer.errors import NoRule
from mercer.htest import FSSD, GoodnessResult, ModelDraws, Permutation, Spectrum, WeightedChi2
from mercer.htest.goodness.learn_stein_locations import (
    _NULL_DEVIATION,
    NULL_VARIANCE_FACTOR,
    Ratio,
    _without_search,
)
from mercer.htest.goodness.stein_features import SteinMoments, stein_features
from mercer.kernels import RBF, Exponential, InverseMultiquadric, Matern
from mercer.kernels.stein import Scored
from mercer.rkhs import Gaussian, LogDensity, Mixture
from tests.support.arrays import torch
from tests.support.sequential_level import assert_level

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
    monkeypatch.setattr("mercer.htest.goodness.stein_features._MAX_FEATURE_VALUES", 50)
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


def test_the_null_of_draws_agrees_with_that_of_observations():
    """Of the model itself, where both covariances are estimates of one."""
    x, v = P.sample(5000, rng=3), P.sample(4, rng=5)
    observed = FSSD(P, RBF(2.0), locations=v).test(x)
    drawn = FSSD(P, RBF(2.0), locations=v, null=ModelDraws(5000)).test(x, rng=0)
    assert drawn.statistic == observed.statistic
    assert_allclose(drawn.law.std(), observed.law.std(), rtol=0.1)
    for level in (0.5, 0.1, 0.01):
        at = _quantile(observed.law, level)
        assert_allclose(drawn.law.sf(at), level, rtol=0.25)
    assert abs(drawn.pvalue - observed.pvalue) < 0.05
    again = FSSD(P, RBF(2.0), locations=v, null=ModelDraws(5000)).test(x, rng=0)
    assert again.pvalue == drawn.pvalue


def _quantile(law, level):
    return float(brentq(lambda t: law.sf(t) - level, law.support()[0], law.mean() + 30 * law.std()))


def test_the_null_of_draws_is_that_of_the_model():
    """Where observations vary far more than the model says, only draws know how features vary under it."""
    model, x = Gaussian([0.0, 0.0], 1.0), 2 * normal(400, 2)
    v = normal(3, 2, 1)
    wide = FSSD(model, RBF(3.0), locations=v).test(x).law
    right = FSSD(model, RBF(3.0), locations=v, null=ModelDraws(20_000)).test(x, rng=0).law
    assert right.std() < wide.std() / 1.4
    t = made(RBF(3.0), normal(50_000, 2, 2), v, model).reshape(50_000, -1)
    weights = np.linalg.eigvalsh(np.cov(t.T)) / 400
    assert_allclose(right.std(), np.sqrt(2 * np.sum(weights**2)), rtol=0.05)


@pytest.mark.parametrize("null", [None, ModelDraws(500)], ids=repr)
def test_levels_of_both_nulls_for_scipy_and_fitted_models(null):
    model = stats.gamma([2.0, 3.0])
    test = FSSD(model, locations=3, null=null)
    assert_level(lambda s: test.test(model.rvs(size=(150, 2), random_state=s), rng=s).rejects())


@pytest.mark.parametrize("d", [1, 5])
def test_level(d):
    test = FSSD(Gaussian(np.zeros(d), 1.0))
    assert_level(lambda s: test.test(normal(200, d, s), rng=s).rejects())


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_gradient_of_the_search(kernel):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3)) + 0.2
    ratio = Ratio(x, -(x**3), *Scored(kernel).form, 2)
    theta = np.append(rng.normal(size=6), 0.3)
    error = check_grad(lambda t: ratio(t)[0], lambda t: ratio(t)[1], theta)
    assert error < 1e-6 * max(1.0, np.linalg.norm(ratio(theta)[1]))
    low = ratio.subset(slice(None), floor=ratio.power(theta) ** 2)
    assert 0 < low(theta)[0] / ratio(theta)[0] < 0.9
    error = check_grad(lambda t: low(t)[0], lambda t: low(t)[1], theta)
    assert error < 1e-6 * max(1.0, np.linalg.norm(low(theta)[1]))


@pytest.mark.parametrize(("n", "d"), [(40, 2), (12, 5)], ids=repr)
def test_evidence_is_that_of_pairs_of_different_observations(n, d):
    """With more observations than features and with fewer, by all pairs."""
    rng = np.random.default_rng(0)
    x, theta = rng.normal(size=(n, d)) + 0.3, np.append(rng.normal(size=3 * d), 0.3)
    ratio = Ratio(x, -x, *Scored(RBF(1.0)).form, 3)
    t = np.sqrt(3 * d) * made(
        RBF(np.exp(0.3)), x, theta[:-1].reshape(3, d), Gaussian([0.0] * d, 1.0)
    )
    t = t.reshape(n, -1)
    pairs = (t @ t.T)[~np.eye(n, dtype=bool)]
    variance = 4 * np.var(t @ t.mean(axis=0)) / n + NULL_VARIANCE_FACTOR * np.mean(pairs**2) / n**2
    assert_allclose(ratio.deviations(theta), pairs.mean() / np.sqrt(variance), rtol=1e-9)


def test_a_location_sees_itself_alone_or_all_observations():
    x = normal(50, 2)
    ratio = Ratio(x, -x, *Scored(RBF(1.0)).form, 2)
    for width, expected in ((1e-3, 1.0), (1e3, 50.0)):
        theta = np.append(x[:2].ravel(), np.log(width))
        assert_allclose(ratio.neighbours(theta), expected, rtol=1e-4)
    far = np.append(x[:2].ravel() + 1000.0, 0.0)
    assert ratio.neighbours(far) == 0


def test_another_width_must_be_better_by_a_standard_deviation():
    made = np.arange(6.0).reshape(2, 3, 1)  # of two sets at three widths
    seen = np.array([[0.0, 0.1, 0.2], [0.3, 0.0, 0.1]])
    for more, expected in ((0.9, 2.0), (1.1, 3.0)):
        by_width = np.array([0.2 + more * _NULL_DEVIATION, 0.1, 0.2])
        assert_array_equal(_without_search(made, seen, by_width, 2), [expected])


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


def test_few_observations_in_many_dimensions_are_not_learnt_by_heart():
    """A fifth of 1,000 observations to learn from, fifty numbers to learn: Laplace's in ten dimensions.

    Steps that make the criterion large on all that there is to learn from find chance alone, and reject in one of ten runs.
    """
    model, rejected = Gaussian(np.zeros(10), 1.0), 0
    for seed in range(8):
        x = np.random.default_rng(seed).laplace(scale=0.5**0.5, size=(1000, 10))
        test = FSSD.optimized(model, x[:200], locations=5, rng=seed)
        assert np.linalg.norm(test.locations, axis=1).max() < 2 * np.linalg.norm(x, axis=1).max()
        rejected += test.test(x[200:]).rejects()
    assert rejected >= 5


def test_a_moved_mean_is_seen_by_a_wide_kernel():
    """A fifth of 1,000 observations sees a shift of 0.2 in one of ten coordinates hardly; the others clearly."""
    model, rejected = Gaussian(np.zeros(10), 1.0), 0
    for seed in range(8):
        x = normal(1000, 10, seed) + 0.2 * (np.arange(10) == 0)
        test = FSSD.optimized(model, x[:200], locations=5, rng=seed)
        rejected += test.test(x[200:]).rejects()
    assert rejected >= 6


def test_linear_in_time_and_memory():
    model = Gaussian(np.zeros(3), 1.0)
    x = normal(400_000, 3)
    test = FSSD(model, RBF(1.0), locations=5)
    test.test(x[:1000], rng=0)
    seconds = {}
    for n in (100_000, 400_000):
        start = process_time()
        test.test(x[:n], rng=0)
        seconds[n] = process_time() - start
    assert seconds[400_000] < 8 * seconds[100_000]
    tracemalloc.start()
    test.test(x, rng=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * x.nbytes + 3e8  # features alone are 5 times as large as x


def test_learnt_tests_hold_their_level():
    model = Gaussian([0.0, 0.0], 1.0)

    def rejects(seed):
        x = normal(260, 2, seed)
        return FSSD.optimized(model, x[:60], locations=1, rng=seed).test(x[60:]).rejects()

    assert_level(rejects)


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
    moments = SteinMoments(30, t.mean(axis=0), (t.T @ t) / 30)
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
    with pytest.raises(ValueError, match="draws must be a whole number of at least 2"):
        ModelDraws(1)
    with pytest.raises(TypeError, match="something that can be sampled"):
        FSSD(LogDensity(lambda t: -(t**2).sum(axis=1)), null=ModelDraws())
