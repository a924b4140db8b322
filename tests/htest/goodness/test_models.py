"""Models of every kind: their scores are the gradients of their log-densities, or they are refused."""

import numpy as np
import pytest
import scipy.stats as stats
from arrays import torch
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.neighbors import KernelDensity

import mercer
from mercer.htest import KSD
from mercer.htest.goodness.models import model_of
from mercer.rkhs import Gaussian, Mixture

DATA = np.random.default_rng(0).normal(size=(150, 2)) @ [[1.0, 0.4], [0.0, 0.7]] + [1.0, -1.0]
WEIGHTS = np.linspace(0.5, 2.0, 150)
COV = [[2.0, 0.5], [0.5, 1.0]]


def by_differences(log_density, x, h=1e-5):
    """Central differences of a log-density of rows."""
    steps = h * np.eye(x.shape[1])
    return np.stack([(log_density(x + e) - log_density(x - e)) / (2 * h) for e in steps], axis=1)


MIXTURES = [
    GaussianMixture(3, covariance_type=kind, random_state=0).fit(DATA)
    for kind in ("full", "tied", "diag", "spherical")
]
ESTIMATES = [
    *MIXTURES,
    KernelDensity(bandwidth=0.4).fit(DATA),
    KernelDensity(bandwidth="scott").fit(DATA, sample_weight=WEIGHTS),
]


@pytest.mark.parametrize("model", ESTIMATES, ids=lambda m: str(m)[:60])
def test_fitted_estimators(model):
    x = np.random.default_rng(1).normal(size=(20, 2))
    found = model_of(model)
    assert found.dimension == 2
    assert_allclose(found.score(x), by_differences(model.score_samples, x), rtol=1e-5, atol=1e-6)
    assert_allclose(found.score(torch.tensor(x)).numpy(), found.score(x), rtol=1e-12)


def test_a_bayesian_mixture_is_the_one_that_it_draws_from():
    model = BayesianGaussianMixture(n_components=3, max_iter=2000, random_state=0).fit(DATA)
    x = np.random.default_rng(1).normal(size=(20, 2))

    def log_density(v):
        parts = zip(model.weights_, model.means_, model.covariances_, strict=True)
        return np.log(sum(w * stats.multivariate_normal(m, c).pdf(v) for w, m, c in parts))

    assert_allclose(model_of(model).score(x), by_differences(log_density, x), rtol=1e-5, atol=1e-6)


MANY = {
    "multivariate normal": stats.multivariate_normal([1.0, 0.0], COV),
    "multivariate t": stats.multivariate_t([1.0, 0.0], COV, df=3),
    "multivariate t, no df": stats.multivariate_t([1.0, 0.0], COV, df=np.inf),
    "product": stats.norm([0.0, 1.0], [1.0, 2.0]),
    "density estimate": stats.gaussian_kde(DATA.T, weights=WEIGHTS),
}


@pytest.mark.parametrize("name", MANY)
def test_distributions_of_scipy_in_the_plane(name):
    model, x = MANY[name], np.random.default_rng(1).normal(size=(20, 2))
    density = {
        "product": lambda v: model.logpdf(v).sum(axis=1),
        "density estimate": lambda v: model.logpdf(v.T),
    }.get(name, model.logpdf)
    found = model_of(model)
    assert found.dimension == 2
    assert_allclose(found.score(x), by_differences(density, x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("model", "score"),
    [
        (stats.norm(1.0, 0.5), lambda x: (1 - x) / 0.25),
        (stats.t(3, loc=1.0), lambda x: -4 * (x - 1) / (3 + (x - 1) ** 2)),
        (stats.cauchy(), lambda x: -2 * x / (1 + x**2)),
        (stats.logistic(scale=2.0), lambda x: -np.tanh(x / 4) / 2),
        (stats.laplace(loc=100.0), lambda x: -np.sign(x - 100)),
        (stats.gumbel_r(), lambda x: np.exp(-x) - 1),
        (stats.norm(1e6, 1e-3), lambda x: (1e6 - x) * 1e6),
    ],
    ids=lambda m: m.dist.name if hasattr(m, "dist") else "",
)
def test_distributions_of_scipy_on_the_line(model, score):
    x = model.rvs(size=(30, 1), random_state=0)
    scale = model.ppf(0.75) - model.ppf(0.25)
    tolerance = 1e-9 if model.ppf(0.5) < 1e5 else 1e-5
    assert_allclose(scale * model_of(model).score(x), scale * score(x), atol=tolerance, rtol=1e-8)


@pytest.mark.parametrize(
    "model",
    [stats.gamma(2.0), stats.uniform(-1, 2), stats.beta(2, 3), stats.expon(), stats.lognorm(1.0)],
    ids=lambda m: m.dist.name,
)
def test_bounded_support_is_refused_with_the_reason(model):
    with pytest.raises(ValueError, match="Stein's identity does not hold"):
        KSD(model)


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (stats.poisson(2.0), TypeError, "poisson is discrete"),
        (stats.dirichlet([1.0, 2.0]), TypeError, "dirichlet_frozen is not known here"),
        (stats.norm, TypeError, r"with its parameters, such as norm\(0, 1\)"),
        (Gaussian, TypeError, "got the class Gaussian: make one of it"),
        (GaussianMixture(2), ValueError, "model must be fitted"),
        (KernelDensity(), ValueError, "model must be fitted"),
        (KernelDensity(kernel="tophat").fit(DATA), ValueError, "use kernel='gaussian'"),
        (KernelDensity(metric="manhattan").fit(DATA), ValueError, "metric='euclidean'"),
        (PCA(2).fit(DATA), TypeError, "PCA is not known here"),
        (LinearRegression(), TypeError, "the score of LinearRegression is a number"),
        ("normal", TypeError, "model must be a Gaussian or Mixture.*got 'normal'"),
        (None, TypeError, "model must be"),
        (3.0, TypeError, "model must be"),
    ],
    ids=lambda value: None,
)
def test_what_has_no_score_is_refused(model, error, message):
    with pytest.raises(error, match=message):
        KSD(model)


class WithScore:
    dimension = 2

    def score(self, x):
        return -x


def test_objects_and_functions():
    x = DATA[:30]
    expected = KSD(Gaussian([0.0, 0.0], 1.0)).statistic(x)
    for model in (WithScore(), lambda v: -v, Mixture([Gaussian([0.0, 0.0], 1.0)] * 2)):
        assert_allclose(KSD(model).statistic(x), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="x must have 2 columns"):
        KSD(WithScore()).test(DATA[:, 0])
    with pytest.raises(ValueError, match=r"score\(x\) must have the shape of x"):
        KSD(lambda v: -v[:, 0]).test(x)
    with pytest.raises(ValueError, match=r"score\(x\) has NaN"):
        KSD(lambda v: np.log(-np.abs(v) - 1 + 0j).real * np.nan).test(x)


def test_scores_of_many_points_stay_inside_the_budget():
    model = model_of(ESTIMATES[-2])
    x = np.random.default_rng(2).normal(size=(20_000, 2))
    whole = model.score(x)
    with mercer.config(memory=2**24):
        assert_allclose(model.score(x), whole, rtol=1e-9, atol=1e-9)
