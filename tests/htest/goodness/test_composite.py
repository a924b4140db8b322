"""Composite: the parametric bootstrap by hand, levels of fitted models, what can be fitted."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from numpy.testing import assert_allclose
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity

from mercer.htest import (
    FSSD,
    KSD,
    MMD,
    AgainstDraws,
    Composite,
    CompositeResult,
    KSDAgg,
    TwoSampleResult,
    WildBootstrap,
)
from mercer.kernels import RBF, InverseMultiquadric, Stein, median_bandwidth
from mercer.rkhs import Gaussian, Uniform

B = WildBootstrap(199)


def by_draws(model):
    return AgainstDraws(model, MMD())


def unitless(model, x):
    h = Stein(InverseMultiquadric(median_bandwidth(x)), model.score)(x)
    return h.mean() / np.diag(h).mean()


def test_units_do_not_matter():
    """Meters or millimeters, and the same seed: the same p-value."""
    x = np.random.default_rng(0).gamma(4.0, size=(60, 2))
    for by in (KSD, KSDAgg, FSSD, by_draws):
        near, far = (
            Composite(Gaussian.fit, by, resamples=19).test(unit * x, rng=0).pvalue
            for unit in (1.0, 1024.0)
        )
        assert near == far


def test_draws_beside_the_observations_are_new_in_every_run():
    """With draws that were the same for every sample, they decided: hardly ever rejected, or too often."""
    x = np.random.default_rng(0).normal(size=(60, 1))
    results = [Composite(Gaussian.fit, by_draws, resamples=9).test(x, rng=s) for s in range(3)]
    assert len({result.observed for result in results}) == 3


def test_it_is_a_parametric_bootstrap():
    """The same loop by hand: draw, fit, compare."""
    x = np.random.default_rng(0).gamma(4.0, size=(60, 2))
    result = Composite(Gaussian.fit, KSD, resamples=19).test(x, rng=3)
    rng = np.random.default_rng(3)
    model = Gaussian.fit(x)
    null = []
    for seed in rng.integers(2**63, size=20)[1:]:  # the first is for the observed statistic
        y = model.sample(60, rng=np.random.default_rng(int(seed)))
        null.append(unitless(Gaussian.fit(y), y))
    assert_allclose(result.null, null, rtol=1e-10)
    assert_allclose(result.observed, unitless(model, x), rtol=1e-10)
    assert_allclose(result.statistic, KSD(model).statistic(x), rtol=1e-10)
    assert result.pvalue == (1 + np.sum(np.array(null) >= result.observed)) / 20
    assert_allclose(result.fitted.cov, model.cov)


def test_fitted_models_need_it():
    """KSD of a fitted Gaussian almost never rejects; with refitting the level is back."""
    rng = np.random.default_rng(0)
    samples = [rng.normal(2.0, 3.0, size=(60, 2)) for _ in range(60)]
    plain = [KSD(Gaussian.fit(x), null=B).test(x, rng=0).pvalue for x in samples]
    refitted = [Composite(Gaussian.fit, KSD, resamples=39).test(x, rng=0).pvalue for x in samples]
    assert min(plain) > 0.3
    assert np.mean(plain) > 0.9
    assert 0.35 < np.mean(refitted) < 0.65
    assert sum(p <= 0.05 for p in refitted) <= 9


@pytest.mark.parametrize("by", [KSD, KSDAgg, FSSD, by_draws])
def test_power(by):
    """A t distribution is no Gaussian, and an exponential one less so."""
    x = np.random.default_rng(1).exponential(size=(150, 2))
    assert Composite(Gaussian.fit, by, resamples=39).test(x, rng=0).rejects()


def test_what_can_be_fitted():
    x = np.random.default_rng(0).normal(1.0, 2.0, size=(80, 1))
    families = [
        Gaussian.fit,
        scipy.stats.norm,
        lambda v: scipy.stats.norm(v.mean(), v.std()),
        GaussianMixture(1),
        KernelDensity(bandwidth=1.0),
    ]
    for fit in families:
        result = Composite(fit, KSD, resamples=19).test(x, rng=0)
        assert result.pvalue > 0.05
        assert result.pvalue == Composite(fit, KSD, resamples=19).test(x, rng=0).pvalue
    same = [Composite(fit, KSD, resamples=19).statistic(x) for fit in families[:4]]
    assert_allclose(same, same[0], rtol=1e-5)
    three = scipy.stats.multivariate_normal
    assert Composite(three, KSD, resamples=19).test(np.hstack([x, x**2]), rng=0).rejects()


def test_mixtures():
    """Two groups: one Gaussian is not enough, two are."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(-3.0, 1.0, (120, 1)), rng.normal(3.0, 0.5, (80, 1))])
    one, two = (Composite(GaussianMixture(k), KSD, resamples=39).test(x, rng=0) for k in (1, 2))
    assert one.rejects()
    assert not two.rejects()
    assert two.fitted.n_components == 2
    assert not hasattr(GaussianMixture(2), "means_")


def test_the_estimator_is_left_alone():
    estimator = GaussianMixture(2)
    Composite(estimator, KSD, resamples=3).test(np.random.default_rng(0).normal(size=30), rng=0)
    assert not hasattr(estimator, "means_")
    assert estimator.random_state is None


def test_results_of_both_kinds():
    x = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)), columns=["a", "b"])
    test = Composite(Gaussian.fit, KSD, resamples=9)
    result = test.test(x, rng=0)
    assert isinstance(result, CompositeResult)
    assert result.test is test
    assert result.notes == (
        "Parametric bootstrap: the model was refitted to 9 samples drawn from it.",
    )
    assert result.sample.columns.names == ("a", "b")
    found = result.to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["model"] == "Gaussian(2 dimensions)"
    assert "(Composite, 9 resamples; level 0.05)" in result.summary()
    other = Composite(Gaussian.fit, by_draws, resamples=9).test(x, rng=0)
    assert isinstance(other, TwoSampleResult)
    assert other.notes[0].startswith("Parametric bootstrap: the model was refitted to 9")
    both = Composite(Gaussian.fit, resamples=19)
    assert both.statistic(x) == both.test(x, rng=0).statistic


def test_tests_with_more_to_say():
    x = np.random.default_rng(0).normal(size=(60, 1))
    narrow = Composite(Gaussian.fit, lambda m: KSD(m, RBF(0.3)), resamples=9)
    assert_allclose(narrow.statistic(x), KSD(Gaussian.fit(x), RBF(0.3)).statistic(x), rtol=1e-12)


def test_wrong_arguments():
    x = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(TypeError, match="fit must be a function x -> model.*Gaussian"):
        Composite(Gaussian([0.0], 1.0))
    with pytest.raises(TypeError, match="got the class GaussianMixture; pass an instance"):
        Composite(GaussianMixture)
    with pytest.raises(TypeError, match="by must be a function model -> test"):
        Composite(Gaussian.fit, KSD(Gaussian(0.0, 1.0)))
    with pytest.raises(TypeError, match=r"by\(model\) must be a goodness-of-fit test"):
        Composite(Gaussian.fit, lambda model: 3.0).test(x)
    with pytest.raises(ValueError, match="resamples must be a whole number"):
        Composite(Gaussian.fit, resamples=0)
    with pytest.raises(TypeError, match="model must be"):
        Composite(lambda v: 7).test(x)
    with pytest.raises(TypeError, match="something that can be sampled"):
        Composite(lambda v: lambda z: -z, KSD, resamples=2).test(x)


# ---- parameters in the support ------------------------------------------------------------------


def pareto_from_zero(v):
    return scipy.stats.pareto(*scipy.stats.pareto.fit(v, floc=0))


def box(v):
    return Uniform(v.min(axis=0), v.max(axis=0))


ON_BOUNDS = [  # a family, a draw from it, and how many observations its fit puts on bounds
    (scipy.stats.expon, lambda rng: 7.0 + rng.exponential(2.0, 80), 1),
    (scipy.stats.uniform, lambda rng: rng.uniform(-3.0, 1e3, 80), 2),
    (pareto_from_zero, lambda rng: 0.3 * (1 + rng.pareto(1.5, 80)), 1),
    (box, lambda rng: rng.uniform(size=(80, 2)), 4),
]


@pytest.mark.parametrize("by", [KSD, KSDAgg, FSSD, by_draws])
@pytest.mark.parametrize(("fit", "draw", "number"), ON_BOUNDS)
def test_fitted_bounds_are_those_of_each_sample(fit, draw, number, by):
    x = draw(np.random.default_rng(0))
    test = Composite(fit, by, resamples=19)
    result = test.test(x, rng=0)
    assert result.pvalue > 0.05
    assert np.isfinite(test.statistic(x))
    if by is not by_draws:
        assert result.size == 80 - number
        assert f"{number} observation" in result.notes[1]


def test_observations_on_fitted_bounds_are_left_out_by_hand():
    """The exponential distribution: given the minimum, the others are draws from it."""
    x = 5.0 + np.random.default_rng(1).exponential(2.0, 40)
    result = Composite(scipy.stats.expon, KSD, resamples=9).test(x, rng=3)
    null = []
    for sample in (
        x,
        *(
            scipy.stats.expon(x.min(), x.mean() - x.min()).rvs(40, random_state=g)
            for g in map(
                np.random.default_rng, np.random.default_rng(3).integers(2**63, size=10)[1:]
            )
        ),
    ):
        z = np.log(np.delete(sample, sample.argmin()) - sample.min())[:, None]
        rate = 1 / (sample.mean() - sample.min())  # z has the score 1 - rate e^z

        def score(z, rate=rate):
            return 1 - rate * np.exp(z)

        h = Stein(InverseMultiquadric(median_bandwidth(z)), score)(z)
        null.append(h.mean() / np.diag(h).mean())
    assert_allclose(np.array([result.observed, *result.null]), null, rtol=1e-6)
    assert int(x.argmin()) not in result.points(39).indices
    assert set(result.points(39).indices) == set(range(40)) - {int(x.argmin())}


def test_other_shapes_between_fitted_bounds_are_seen():
    rng = np.random.default_rng(0)
    assert Composite(scipy.stats.uniform, KSD, resamples=39).test(rng.beta(3, 3, 150)).rejects()
    assert Composite(scipy.stats.expon, KSD, resamples=39).test(rng.gamma(4.0, size=150)).rejects()


def test_points_outside_of_a_support_that_is_not_fitted_are_refused():
    x = np.random.default_rng(0).exponential(size=50)

    def from_zero(v):
        return scipy.stats.expon(0.0, v.mean())

    assert Composite(from_zero, KSD, resamples=9).test(x, rng=0).size == 50
    for value in (0.0, -1.0):
        with pytest.raises(ValueError, match="x has 1 point outside of the support of the model"):
            Composite(from_zero, KSD, resamples=9).test(np.r_[x, value], rng=0)
    with pytest.raises(ValueError, match="outside of the support of the model"):
        KSD(scipy.stats.expon(x.min(), 1.0)).test(x)

    def by_moments(v):
        return scipy.stats.uniform(v.mean() - v.std(), 2 * v.std())

    with pytest.raises(ValueError, match="support contains the sample that it was fitted to"):
        Composite(by_moments, KSD, resamples=9).test(x, rng=0)
