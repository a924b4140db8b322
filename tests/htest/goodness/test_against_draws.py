"""AgainstDraws: draws of every kind of model, exact levels, results that look into both samples."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity

from mercer.htest import (
    HSIC,
    KSD,
    ME,
    MMD,
    AgainstDraws,
    Energy,
    LinearMMD,
    MMDAgg,
    Permutation,
    TwoSampleResult,
)
from mercer.htest.goodness.against_draws import drawn
from mercer.rkhs import Gaussian, Mixture
from tests.support.arrays import torch
from tests.support.sequential_level import assert_level

DATA = np.random.default_rng(0).normal([1.0, -2.0], [1.0, 0.5], size=(400, 2))
P = Permutation(99)


@dataclass(frozen=True)
class Simulator:
    """Neither a density nor a score."""

    def sample(self, n, *, rng=None):
        return np.cumsum(rng.exponential(size=(n, 3)), axis=1)


MODELS = {
    "Gaussian": (Gaussian([1.0, -2.0], [1.0, 0.25]), 2),
    "Mixture": (Mixture([Gaussian(0.0, 1.0), Gaussian(4.0, 1.0)]), 1),
    "norm": (scipy.stats.norm(2.0, 3.0), 1),
    "gamma": (scipy.stats.gamma(2.0), 1),
    "multivariate normal": (scipy.stats.multivariate_normal([1.0, -2.0], np.diag([1.0, 0.25])), 2),
    "multivariate normal on the line": (scipy.stats.multivariate_normal(1.0, 2.0), 1),
    "kde": (scipy.stats.gaussian_kde(DATA.T), 2),
    "GaussianMixture": (GaussianMixture(2, random_state=0).fit(DATA), 2),
    "KernelDensity": (KernelDensity(bandwidth=0.2).fit(DATA), 2),
    "simulator": (Simulator(), 3),
    "function": (lambda n, rng: rng.uniform(size=(n, 4)), 4),
}


@pytest.mark.parametrize("name", MODELS)
def test_draws_of_every_kind(name):
    model, d = MODELS[name]
    first, again, other = (drawn(model, 50, np.random.default_rng(s)) for s in (0, 0, 1))
    assert first.shape == (50, d)
    assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0
    result = AgainstDraws(model, MMD(null=P)).test(other, rng=2)
    assert result.pvalue > 0.02
    assert isinstance(result, TwoSampleResult)


@pytest.mark.parametrize("name", ["GaussianMixture", "KernelDensity", "kde", "gamma"])
def test_draws_have_the_distribution_of_the_model(name):
    model = MODELS[name][0]
    found = drawn(model, 20_000, np.random.default_rng(0))
    if name == "gamma":
        assert_allclose([found.mean(), found.var()], model.stats(), rtol=0.05)
    else:
        extra = 0.2**2 if name == "KernelDensity" else 0.0
        assert_allclose(found.mean(axis=0), DATA.mean(axis=0), atol=0.05)
        assert_allclose(found.var(axis=0), DATA.var(axis=0) + extra, rtol=0.15)


@pytest.mark.parametrize("by", [MMD(null=P), MMDAgg(null=P), ME(locations=2), Energy(null=P)])
def test_level_and_power(by):
    model = Gaussian([0.0, 0.0], 1.0)
    rng = np.random.default_rng(0)
    test = AgainstDraws(model, by)
    assert_level(lambda run: test.test(model.sample(60, rng=rng), rng=rng).rejects())
    assert test.test(model.sample(200, rng=rng) + np.array([0.7, 0.0]), rng=rng).rejects()


def test_more_draws_see_more():
    model, wins = Gaussian(0.0, 1.0), {}
    for number in (60, 600):
        rng = np.random.default_rng(0)
        test = AgainstDraws(model, MMD(null=P), draws=number)
        wins[number] = sum(
            test.test(rng.normal(0.35, 1.0, size=60), rng=rng).rejects() for _ in range(60)
        )
    assert wins[600] > wins[60] + 5


def test_the_result_is_that_of_two_samples():
    model = Gaussian([0.0, 0.0], 1.0)
    x = pd.DataFrame(model.sample(150, rng=0) + np.array([0.0, 1.0]), columns=["a", "b"])
    result = AgainstDraws(model, MMD(null=P), draws=300).test(x, rng=0)
    assert result.sizes == (150, 300)
    assert result.notes[0] == "The second sample is 300 draws from Gaussian(2 dimensions)."
    assert [f.name for f in result.features(rng=0).differing()] == ["b"]
    test = AgainstDraws(model, MMD(null=P))
    assert_allclose(test.test(x, rng=0).statistic, test.statistic(x), rtol=1e-9)
    tensor = torch.tensor(x.to_numpy())
    assert_allclose(test.statistic(tensor), test.statistic(x.to_numpy()), rtol=1e-9)


def test_linear_time():
    model = Gaussian(np.zeros(2), 1.0)
    x = model.sample(20_000, rng=0) + 0.3
    assert AgainstDraws(model, LinearMMD()).test(x, rng=1).rejects()


def test_wrong_arguments():
    with pytest.raises(TypeError, match="by must be a two-sample test.*got KSD"):
        AgainstDraws(Gaussian(0.0, 1.0), KSD(Gaussian(0.0, 1.0)))
    with pytest.raises(TypeError, match="by must be a two-sample test.*got HSIC"):
        AgainstDraws(Gaussian(0.0, 1.0), HSIC())
    with pytest.raises(TypeError, match="by must be a two-sample test"):
        AgainstDraws(Gaussian(0.0, 1.0), "mmd")
    with pytest.raises(ValueError, match="not paired"):
        AgainstDraws(Gaussian(0.0, 1.0), MMD(null=Permutation(99, paired=True)))
    with pytest.raises(ValueError, match="draws must be a whole number"):
        AgainstDraws(Gaussian(0.0, 1.0), draws=0)
    with pytest.raises(TypeError, match="got the class GaussianMixture; pass an instance"):
        AgainstDraws(GaussianMixture)
    with pytest.raises(TypeError, match=r"Composite\(norm\).test\(x\)"):
        AgainstDraws(scipy.stats.norm)
    with pytest.raises(TypeError, match=r"the family poisson: .*write poisson\(...\)"):
        AgainstDraws(scipy.stats.poisson)
    with pytest.raises(ValueError, match=r"unfitted GaussianMixture: .*Composite\("):
        AgainstDraws(GaussianMixture(2))
    with pytest.raises(TypeError, match="model must be something that can be sampled"):
        AgainstDraws(3)
    with pytest.raises(TypeError, match="model must be something that can be sampled"):
        AgainstDraws(lambda x: -x)  # a score
    with pytest.raises(ValueError, match="must have 20 rows, got 5"):
        AgainstDraws(lambda n, rng: np.zeros((5, 1))).test(np.arange(20.0))
    with pytest.raises(ValueError, match="draws from the model"):
        AgainstDraws(lambda n, rng: np.full((n, 1), np.nan)).test(np.arange(20.0))

    class Unseeded:
        def sample(self, n):
            return np.zeros((n, 1))

    with pytest.raises(TypeError, match="takes no rng"):
        AgainstDraws(Unseeded())
