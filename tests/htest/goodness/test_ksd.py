"""KSD: its statistic by hand, its level and power, chains, and what its result tells."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer.errors import NoRule
from mercer.gram.resampling_weights import resampling_seed
from mercer.htest import FSSD, KSD, GoodnessResult, KSDAgg, Permutation, WildBootstrap
from mercer.htest.slow_contrasts import SlowContrasts, slow_forms
from mercer.kernels import RBF, Exponential, InverseMultiquadric, Stein, median_bandwidth
from mercer.rkhs import Gaussian, Mixture, ksd2
from tests.support.arrays import torch
from tests.support.sequential_level import assert_level

P = Gaussian([1.0, -1.0], [[2.0, 0.5], [0.5, 1.0]])
B = WildBootstrap(199)


def normal(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def chain(n, rho, seed):
    """A stationary autoregression whose distribution is standard normal."""
    x = normal(n, 1, seed)
    for t in range(1, n):
        x[t] = rho * x[t - 1] + np.sqrt(1 - rho**2) * x[t]
    return x


@pytest.mark.parametrize("kernel", [None, RBF(1.5), InverseMultiquadric(1.0) + RBF(0.5)], ids=repr)
@pytest.mark.parametrize("unbiased", [False, True])
def test_the_statistic_is_ksd2(kernel, unbiased):
    x = P.sample(80, rng=0) + 0.2
    ours = KSD(P, kernel, unbiased=unbiased)
    expected = ksd2(kernel, P.score, x, unbiased=unbiased)
    assert_allclose(ours.statistic(x), expected, rtol=1e-10)
    assert_allclose(ours.test(x, rng=0).statistic, expected, rtol=1e-10)


def test_the_null_is_that_of_random_signs():
    """Draws of the null have the exact mean and variance of w'Hw / n^2, w of independent signs."""
    x = P.sample(50, rng=1)
    h = Stein(InverseMultiquadric(median_bandwidth(x)), P.score)(x)
    draws = KSD(P, null=WildBootstrap(9999)).test(x, rng=0).null
    off = h - np.diag(np.diag(h))
    std = np.sqrt(2 * (off**2).sum()) / 50**2
    assert abs(draws.mean() - np.trace(h) / 50**2) < 4 * std / 100
    assert_allclose(draws.std(), std, rtol=0.1)


def test_both_statistics_have_one_pvalue():
    x = P.sample(60, rng=2) + 0.3
    biased, unbiased = (KSD(P, unbiased=u, null=B).test(x, rng=0) for u in (False, True))
    assert biased.pvalue == unbiased.pvalue
    assert abs(unbiased.null.mean()) < 0.2 * unbiased.null.std()


def test_tiles_change_nothing():
    x = P.sample(1200, rng=0)
    whole = KSD(P, null=B).test(x, rng=0)
    with mercer.config(memory=2**24):
        tiled = KSD(P, null=B).test(x, rng=0)
    assert_allclose(tiled.statistic, whole.statistic, rtol=1e-9)
    assert_allclose(tiled.null, whole.null, rtol=1e-7)


def test_other_clothes():
    x = P.sample(60, rng=0)
    plain = KSD(P, null=B).test(x, rng=0)
    for other in (torch.tensor(x), pd.DataFrame(x, columns=["a", "b"]), x.tolist()):
        found = KSD(P, null=B).test(other, rng=0)
        assert_allclose(found.statistic, plain.statistic, rtol=1e-9)
        assert found.pvalue == plain.pvalue


@pytest.mark.parametrize("d", [1, 5])
def test_level(d):
    test = KSD(Gaussian(np.zeros(d), 1.0), null=B)
    assert_level(lambda s: test.test(normal(100, d, s), rng=s).rejects())


def test_power():
    model = Gaussian(np.zeros(2), 1.0)
    for x in (
        normal(200, 2) + np.array([0.4, 0.0]),
        normal(200, 2) * 1.5,
        np.random.default_rng(0).laplace(scale=0.5**0.5, size=(600, 2)),
    ):
        assert KSD(model, null=B).test(x, rng=0).rejects(0.01)
    far = Mixture([model, Gaussian([6.0, 6.0], 1.0)], [0.9, 0.1])
    assert KSD(far, null=B).test(far.sample(300, rng=1), rng=0).pvalue > 0.05


@pytest.mark.parametrize(("rho", "least"), [(0.8, 10), (-0.8, 0)])
def test_chains_of_the_right_distribution(rho, least):
    """Autocorrelation of either sign; with signs of single observations that of 0.8 is often rejected."""
    model, plain, series = Gaussian(0.0, 1.0), B, WildBootstrap(199, block=None)
    runs = [chain(300, rho, seed) for seed in range(40)]
    alone = sum(KSD(model, null=plain).test(x, rng=0).rejects() for x in runs)
    rotated = sum(KSD(model, null=series).test(x, rng=0).rejects() for x in runs)
    assert alone >= least
    assert rotated <= 7  # binomial(40, 0.05) exceeds it with probability 0.001


def test_chains_keep_their_power():
    """A wrong mean moves all features together, which is not memory: a chain of 400 is worth more than 30."""
    model, series = Gaussian(0.0, 1.0), WildBootstrap(199, block=None)
    results = [KSD(model, null=series).test(chain(400, 0.5, s) + 0.6, rng=0) for s in range(10)]
    assert sum(r.rejects() for r in results) >= 9
    assert all(r.notes[0].startswith("Compared with the") for r in results)


def test_forms_of_cosines_by_hand():
    """w'Hw of the slowest cosines, inflated and cut at the spectrum of the witness, mixed at random."""
    x, n, series = chain(80, 0.5, 0), 80, WildBootstrap(19, block=None)
    result = KSD(Gaussian(0.0, 1.0), null=series).test(x, rng=3)
    h = Stein(InverseMultiquadric(median_bandwidth(x)), lambda v: -v)(x)
    contrasts = SlowContrasts.of(np.ones(n), (n,))
    forms = slow_forms(contrasts, h @ contrasts.weights)
    expected = forms.rotated(19, resampling_seed(3)) / n
    assert_allclose(result.statistic, h.mean(), rtol=1e-10)
    assert_allclose(result.null, expected, rtol=1e-9)


def test_a_chain_that_has_not_mixed():
    x = np.cumsum(np.random.default_rng(0).normal(size=300))
    for test in (KSD, KSDAgg, FSSD):
        with pytest.raises(ValueError, match="have not mixed"):
            test(Gaussian(0.0, 100.0), null=WildBootstrap(block=None)).test(x, rng=0)


def test_neighbours_across_borders_are_subtracted():
    """By hand: pairs of different blocks, up to a block apart, at the mean of their lag."""
    x, block, n = chain(60, 0.7, 0), 7, 60
    result = KSD(Gaussian(0.0, 1.0), null=WildBootstrap(9, block=block)).test(x, rng=0)
    h = Stein(InverseMultiquadric(median_bandwidth(x)), lambda v: -v)(x)
    lost = sum(
        2 * np.diag(h, lag).mean() * sum(i // block != (i + lag) // block for i in range(n - lag))
        for lag in range(1, block)
    )
    assert_allclose(result.statistic - result.observed, lost / n**2, rtol=1e-4)
    alone = KSD(Gaussian(0.0, 1.0), null=B).test(x, rng=0)
    assert_allclose(alone.statistic, alone.observed, rtol=1e-5)


def test_the_witness_is_the_embedding_of_the_sample():
    x = np.concatenate([normal(150, 2), normal(30, 2, 1) * 0.3 + [4.0, 0.0]])
    result = KSD(Gaussian(np.zeros(2), 1.0), null=B).test(x, rng=0)
    w = result.witness()
    assert_allclose(w.norm2(), result.statistic, rtol=1e-9)
    assert_allclose(w(x).mean(), result.statistic, rtol=1e-9)
    at = w([[4.0, 0.0], [0.0, 0.0]])
    assert at[0] > 5 * abs(at[1])
    found = result.points(10)
    assert len(found) == 10
    assert np.all(found.indices >= 150)
    assert_allclose(found.contributions, w(x)[found.indices], rtol=1e-9)
    assert_allclose(result.points(180).contributions.mean(), result.statistic, rtol=1e-9)


def test_columns_of_frames_keep_their_names():
    x = pd.DataFrame(P.sample(50, rng=0), columns=["a", "b"])
    result = KSD(P, null=B).test(x, rng=0)
    assert result.to_dict()["columns"] == ["a", "b"]
    assert_allclose(result.witness()(x[["b", "a"]]), result.witness()(x), rtol=1e-12)


def test_words_and_numbers():
    x = normal(100, 1)
    fits, not_so = (KSD(Gaussian(m, 1.0)).test(x, rng=0) for m in (0.0, 2.0))
    assert isinstance(fits, GoodnessResult)
    assert "no misfit was found" in fits.summary()
    assert "does not prove that the model is right" in fits.summary()
    told = not_so.summary()
    assert "Asked: do the 100 observations come from Gaussian(2, 1)?" in told
    assert "the model does not fit, p = 0.001 (KSD, 999 resamples; level 0.05)" in told
    found = not_so.to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["schema"] == "mercer/goodness/1"
    assert found["model"] == "Gaussian(2, 1)"
    assert found["size"] == 100
    assert KSD(lambda v: -v).test(x, rng=0).to_dict()["model"] == "function"


def test_a_thinned_result_has_the_same_verdict():
    result = KSD(P, null=B).test(P.sample(100, rng=0), rng=0)
    few = result.thinned(20)
    assert few.size == 20
    assert few.pvalue == result.pvalue
    assert_array_equal(few.sample.points, result.thinned(20).sample.points)
    assert result.thinned(100) is result


def test_wrong_arguments():
    x = P.sample(10, rng=0)
    with pytest.raises(TypeError, match="kernel must be a kernel or None"):
        KSD(P, "rbf")
    with pytest.raises(NoRule, match="two derivatives"):
        KSD(P, Exponential(1.0))
    with pytest.raises(TypeError, match="null must be a WildBootstrap"):
        KSD(P, null=Permutation(99))
    with pytest.raises(TypeError, match="unbiased must be True or False"):
        KSD(P, unbiased=1)
    with pytest.raises(ValueError, match="x needs at least 4 observations, got 3"):
        KSD(P).test(x[:3])
    with pytest.raises(ValueError, match="x must have 2 columns"):
        KSD(P).test(np.zeros((9, 3)) + np.arange(9.0)[:, None])
    with pytest.raises(ValueError, match="k must be a whole number"):
        KSD(P, null=B).test(x, rng=0).points(0)


def test_columns_of_chains_have_no_intervals_of_independent_rows(tmp_path):
    """In 40 of 40 AR(0.9) chains of the model the interval of some column excluded 0."""
    pytest.importorskip("jinja2")
    x = np.hstack([chain(300, 0.9, seed) for seed in range(3)])
    test = KSD(Gaussian(np.zeros(3), 1.0), null=WildBootstrap(99, block=None))
    result = test.test(x, rng=0)
    assert all(np.isnan(column.misfit.relative_interval).all() for column in result.columns())
    assert all(column.to_dict()["relative_interval"] is None for column in result.columns())
    result.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "There are no intervals, because rows depend" in page
    assert "simultaneous" not in page
    independent = KSD(Gaussian(np.zeros(3), 1.0)).test(x, rng=0)
    assert all(column.misfit.relative_interval.low >= 0 for column in independent.columns())
