"""Models of every kind: their scores are the gradients of their log-densities, or they are refused."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.stats as stats
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.neighbors import KernelDensity

import mercer
from mercer.htest import FSSD, KSD, AgainstDraws, KSDAgg, LinearKSD, ModelDraws, WildBootstrap
from mercer.htest.goodness.score_models import model_of
from mercer.rkhs import Gaussian, LogDensity, Mixture, Scores, Uniform
from tests.support.arrays import needs_torch, torch
from tests.support.sequential_level import assert_level

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


class TestEstimatorsFittedOnFrames:
    """scikit-learn keeps the names of columns; the same numbers in another order are other observations."""

    frame = pd.DataFrame(DATA, columns=["height", "width"])
    model = GaussianMixture(2, random_state=0).fit(frame)

    @pytest.mark.parametrize("test", [KSD, KSDAgg, FSSD, LinearKSD, AgainstDraws])
    def test_columns_in_another_order_are_refused(self, test):
        exchanged = self.frame[["width", "height"]]
        with pytest.raises(
            ValueError, match=r"x must have the columns .* height, width in this order, got width"
        ):
            test(self.model).test(exchanged, rng=0)

    def test_other_columns_are_refused(self):
        other = self.frame.rename(columns={"width": "weight"})
        density = KernelDensity(bandwidth=0.4).fit(self.frame)
        with pytest.raises(ValueError, match="in this order, got height, weight"):
            mercer.goodness_of_fit(density, other, rng=0)

    def test_a_single_column_may_be_a_series_without_a_name(self):
        model = GaussianMixture(2, random_state=0).fit(self.frame[["height"]])
        assert KSD(model).statistic(pd.Series(DATA[:, 0])) == KSD(model).statistic(DATA[:, :1])

    def test_the_same_columns_and_arrays_are_the_same_observations(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # scikit-learn warns of arrays where it knows names
            named = KSD(self.model).test(self.frame, rng=0)
            plain = KSD(self.model).test(DATA, rng=0)
            named.plot_witness()
            plain.effect()
        assert named.statistic == plain.statistic


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


BORDERED = [
    stats.gamma(2.0),
    stats.gamma(0.5, loc=-3.0, scale=1e3),
    stats.expon(),
    stats.lognorm(1.0),
    stats.pareto(2.0),
    stats.weibull_max(2.0),
    stats.uniform(-1, 2),
    stats.beta(2, 3),
    stats.truncnorm(-1, 2),
]


@pytest.mark.parametrize("model", BORDERED, ids=lambda m: m.dist.name)
def test_borders_are_sent_to_infinity(model):
    """The score of the coordinates is the gradient of their log-density, and has mean zero."""
    x = model.rvs(size=(4000, 1), random_state=0)
    found = model_of(model)
    z = found.coordinates(x)
    assert_allclose(found.chart.points(z), x, rtol=1e-9, atol=1e-12)

    def log_density(v):
        slope, _ = found.chart.slopes(v)
        return (model.logpdf(found.chart.points(v)) + np.log(slope))[:, 0]

    score = found.score(z)
    assert_allclose(score, by_differences(log_density, z), rtol=1e-5, atol=1e-6)
    assert abs(score.mean()) < 4.5 * score.std() / np.sqrt(len(x))
    steps = (score * (z - z.mean()) + 1)[:, 0]  # Stein's identity for f(z) = z
    assert abs(steps.mean()) < 4.5 * steps.std() / np.sqrt(len(x))


@needs_torch
def test_a_log_density_with_a_support_is_the_distribution_of_scipy():
    """Known up to a constant, by autograd and by its own gradient; one column with borders, one without."""
    rng = np.random.default_rng(0)
    x = np.stack([rng.gamma(2.0, size=50), rng.normal(size=50)], axis=1)
    ends = ([0.0, -np.inf], np.inf)
    traced = LogDensity(lambda t: t[:, 0].log() - t[:, 0] - t[:, 1] ** 2 / 2 + 7, support=ends)
    given = LogDensity(
        lambda t: np.log(t[:, 0]) - t[:, 0] - t[:, 1] ** 2 / 2,
        gradient=lambda t: np.stack([1 / t[:, 0] - 1, -t[:, 1]], axis=1),
        support=ends,
    )
    z = np.stack([np.log(x[:, 0]), x[:, 1]], axis=1)
    expected = np.stack(
        [2 - x[:, 0], -x[:, 1]], axis=1
    )  # of log X, whose density is e^2z exp(-e^z)
    for model in (traced, given):
        assert_allclose(model_of(model).at(x).coordinates(x), z, rtol=1e-12)
        assert_allclose(model_of(model).at(x).score(z), expected, rtol=1e-10, atol=1e-12)
    one = LogDensity(lambda t: (t.log() - t).sum(axis=1), support=(0, np.inf))
    by_scipy = KSD(stats.gamma([2.0, 2.0])).test(np.abs(x), rng=0)
    assert_allclose(KSD(one).test(np.abs(x), rng=0).statistic, by_scipy.statistic, rtol=1e-7)
    with pytest.raises(ValueError, match="x must have 2 columns"):
        KSD(traced).test(x[:, :1])


def test_uniform_on_a_box():
    x = np.random.default_rng(0).random((100, 2)) * [1.0, 3.0]
    by_scipy = KSD(stats.uniform([0.0, 0.0], [1.0, 3.0])).test(x, rng=0)
    ours = KSD(Uniform([0.0, 0.0], [1.0, 3.0])).test(x, rng=0)
    assert_allclose(ours.statistic, by_scipy.statistic, rtol=1e-7)
    assert ours.pvalue == by_scipy.pvalue


@pytest.mark.parametrize(
    ("model", "x", "message"),
    [
        (stats.gamma(2.0), -0.5, "1 point outside.*point 30, whose column 0 is -0.5.*0 and inf"),
        (stats.expon(), 0.0, "point 30, whose column 0 is 0"),
        (stats.beta(2.0, 3.0), 1.5, "strictly between 0 and 1"),
    ],
    ids=["below", "on the border", "above"],
)
def test_what_the_model_says_cannot_happen(model, x, message):
    inside = np.linspace(0.1, 0.9, 30)
    with pytest.raises(ValueError, match=message):
        KSD(model).test([*inside, x])


def test_levels_and_power_with_borders():
    signs = WildBootstrap(199)
    for model, other in (
        (stats.gamma(2.0), stats.expon(scale=2.0)),
        (stats.beta(2, 3), stats.uniform()),
    ):
        for test in (KSD(model, null=signs), FSSD(model, locations=3)):
            assert_level(
                lambda s, test=test, model=model: test.test(
                    model.rvs(size=100, random_state=s), rng=s
                ).rejects()
            )
        assert KSD(model).test(other.rvs(size=500, random_state=0), rng=0).rejects(0.01)


def test_results_of_models_with_borders_are_in_the_units_of_the_data():
    x = np.random.default_rng(0).gamma(2.0, size=300)
    x[:40] = np.random.default_rng(1).normal(9.0, 0.2, size=40)
    model = stats.gamma(2.0)
    result = KSD(model).test(x, rng=0)
    w = result.witness()
    assert_allclose(w(x).mean(), result.statistic, rtol=1e-9)
    assert_allclose(w.norm2(), result.statistic, rtol=1e-9)
    assert w([9.0])[0] > 5 * abs(w([2.0])[0])
    assert np.all(np.isfinite(w([-1.0, 0.0])))  # for pictures
    assert set(result.points(20).indices.tolist()) <= set(range(40))
    mixed = np.random.default_rng(2).permutation(x)
    test = FSSD.optimized(model, mixed[:150], locations=1, rng=0)
    assert 6 < test.locations[0, 0] < 12
    found = test.test(mixed[150:])
    assert found.rejects(1e-4)
    assert_allclose([*found.locations()[0].coordinates.values()], test.locations[0])
    with pytest.raises(ValueError, match="locations has 1 point outside"):
        FSSD(model, locations=[[-1.0]]).test(x)


def test_units_of_models_with_borders():
    """The distribution of X / u has the score of its own formula, whatever the borders."""
    u, model = (4.0, 0.5, 3.0), stats.gamma(2.0)
    z = np.random.default_rng(0).normal(size=(20, 1))
    pairs = [
        (model, stats.gamma(2.0, scale=1 / u[0])),
        (stats.weibull_max(2.0), stats.weibull_max(2.0, scale=1 / u[0])),
        (stats.beta(2, 3, loc=1.0), stats.beta(2, 3, loc=1 / u[0], scale=1 / u[0])),
        (stats.norm(1.0), stats.norm(1.0 / u[0], 1 / u[0])),
    ]
    for before, after in pairs:
        divided, own = model_of(before).divided(u[:1]), model_of(after)
        x = after.rvs(size=(20, 1), random_state=0)
        assert_allclose(divided.coordinates(x), own.coordinates(x), rtol=1e-12)
        z = own.coordinates(x)
        assert_allclose(divided.score(z), own.score(z), rtol=1e-6, atol=1e-8)
    normal = lambda t: -(t**2).sum(axis=1) / 2  # noqa: E731
    cut = LogDensity(normal, gradient=lambda t: -t, support=(-5.0, np.inf))
    x = np.random.default_rng(1).normal(size=(20, 3))
    bound, scaled = model_of(cut).at(x), model_of(cut).divided(u).at(x / u)
    assert_allclose(scaled.score(scaled.coordinates(x / u)), bound.score(bound.coordinates(x)))


def test_scores_that_were_written_down():
    model = Gaussian([0.0, 0.0], 1.0)
    x = np.random.default_rng(0).normal(size=(700, 2))  # more than a tile
    known = Scores(model.score(x))
    plain, ours = KSD(model).test(x, rng=0), KSD(known).test(x, rng=0)
    assert_allclose(ours.statistic, plain.statistic, rtol=1e-12)
    assert ours.pvalue == plain.pvalue
    assert_allclose(ours.witness()(x[5:9]), plain.witness()(x[5:9]), rtol=1e-9)
    assert_allclose(ours.thinned(50).witness().norm2(), plain.thinned(50).witness().norm2())
    v = x[:3]
    assert_allclose(FSSD(known, locations=v).statistic(x), FSSD(model, locations=v).statistic(x))
    with pytest.raises(ValueError, match="known only at the observations, but point 1"):
        ours.witness()([x[0], [9.0, 9.0]])
    with pytest.raises(ValueError, match=r"x must have the shape of the scores, \(700, 2\)"):
        KSD(known).test(x[:-1])
    with pytest.raises(ValueError, match="x must have 2 columns"):
        KSD(known).test(x[:, 0])
    with pytest.raises(TypeError, match="something that can be sampled"):
        FSSD(known, null=ModelDraws())


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (
            stats.poisson(2.0),
            TypeError,
            r"poisson is discrete.*mercer\.htest\.AgainstDraws\(model\)",
        ),
        (stats.vonmises(1.0), ValueError, "vonmises is on the circle"),
        (stats.dirichlet([1.0, 2.0]), TypeError, "dirichlet_frozen is not supported"),
        (stats.norm, TypeError, r"Composite\(norm\).test\(x\).*write norm\(...\)"),
        (Gaussian, TypeError, "got the class Gaussian; pass an instance"),
        (GaussianMixture(2), ValueError, r"an unfitted GaussianMixture: .*Composite\(Gauss"),
        (KernelDensity(), ValueError, r"an unfitted KernelDensity: .*Composite\(KernelD"),
        (KernelDensity(kernel="tophat").fit(DATA), ValueError, "use kernel='gaussian'"),
        (KernelDensity(metric="manhattan").fit(DATA), ValueError, "metric='euclidean'"),
        (PCA(2).fit(DATA), TypeError, "PCA is not supported"),
        (LinearRegression(), TypeError, "score of LinearRegression returns a number"),
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
