"""Mean embedding tests, normalised and not: plain formulas, order, gradients, level, power."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

from mercer.errors import NoRule
from mercer.htest import ME, SCF, UME, Chi2, Permutation, Spectrum, WeightedChi2
from mercer.htest.lbfgs import RadialMap
from mercer.htest.samples.learn_locations import _box, training
from mercer.htest.samples.mean_difference import NormalizedEvidence
from mercer.htest.samples.power_proxy import (
    FrequencyFeatures,
    Training,
    normalized_power,
    proxy,
    squared_power,
)
from mercer.htest.weighted_chi2 import weighted_chi2_sf
from mercer.kernels import RBF, Cauchy, Delta, InverseMultiquadric, Laplace, Linear
from mercer.kernels.smooth import radial_form
from mercer.rkhs import Empirical
from tests.support.arrays import torch
from tests.support.htest_levels import cell
from tests.support.htest_zoo import coins, counts, same
from tests.support.sequential_level import assert_level

KERNELS = [RBF(1.5), Cauchy(2.0), Laplace(1.0), RBF(1.0) + Linear()]
BOTH = pytest.mark.parametrize("test", [ME, UME])


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    return rng.normal(size=(70, 3)), rng.normal(0.3, 1.2, size=(50, 3))


@pytest.fixture
def places():
    return np.random.default_rng(1).normal(size=(4, 3))


@pytest.mark.parametrize("shift", [0.0, 30.0])
def test_moments_give_the_statistic_of_whitened_features(samples, shift):
    """Of features around zero, and of those whose means are far larger than their deviations."""
    evidence = NormalizedEvidence(np.concatenate(samples) + shift, 70, None)
    assert evidence._from_moments is not None
    assert_allclose(evidence.observed, evidence._values(evidence.difference.observed), rtol=1e-10)
    assert evidence.rank == 3


def test_collinear_features_are_whitened(samples):
    z = np.concatenate(samples)[:, [0, 1, 1]]
    evidence = NormalizedEvidence(z, 70, None)
    assert evidence._from_moments is None
    assert evidence.degrees == 2
    assert_allclose(evidence.observed, NormalizedEvidence(z[:, :2], 70, None).observed, rtol=1e-8)


def plain(kernel, x, y, v):
    zx, zy = kernel(x, v), kernel(y, v)
    delta = zx.mean(0) - zy.mean(0)
    s = np.cov(zx.T) / len(x) + np.cov(zy.T) / len(y)
    return delta @ np.linalg.solve(s, delta), (delta @ delta - np.trace(s)) / len(v)


# ---- the numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_statistics_are_the_plain_formulas(kernel, samples, places):
    normalised, squared = plain(kernel, *samples, places)
    assert_allclose(ME(kernel, locations=places).statistic(*samples), normalised, rtol=1e-6)
    assert_allclose(UME(kernel, locations=places).statistic(*samples), squared, rtol=1e-9)


@BOTH
@pytest.mark.parametrize("locations", [4, None])
def test_order_does_not_matter(test, locations, samples, places):
    x, y = samples
    made = test(RBF(1.5), locations=places if locations is None else locations)
    expected = made.statistic(x, y)
    rng = np.random.default_rng(3)
    assert_allclose(made.statistic(y, x), expected, rtol=1e-8)
    assert_allclose(made.statistic(rng.permutation(x), rng.permutation(y)), expected, rtol=1e-8)


@BOTH
def test_far_from_the_origin_nothing_changes(test, samples, places):
    x, y = samples
    near = test(RBF(1.5), locations=places).statistic(x, y)
    far = test(RBF(1.5), locations=places + 1000).statistic(x + 1000, y + 1000)
    assert_allclose(far, near, rtol=1e-6)


@BOTH
def test_weights_are_repetitions_of_the_mean(test, samples, places):
    """Equal weights change nothing, and a point of weight 0 is not there."""
    x, y = samples
    made = test(RBF(1.5), locations=places)
    equal = Empirical(x, np.full(len(x), 1 / len(x)))
    assert_allclose(made.statistic(equal, y), made.statistic(x, y), rtol=1e-9)
    weights = np.append(np.full(len(x) - 1, 1 / (len(x) - 1)), 0.0)
    assert_allclose(made.statistic(Empirical(x, weights), y), made.statistic(x[:-1], y), rtol=1e-6)
    assert 0 < made.test(equal, y, rng=0).pvalue <= 1


@BOTH
def test_tensors_are_taken(test, samples, places):
    x, y = samples
    made = test(RBF(1.5), locations=places)
    tensors = torch.tensor(x), torch.tensor(y)
    assert_allclose(made.statistic(*tensors), made.statistic(x, y), rtol=1e-8)
    drawn = test().test(*tensors, rng=0)
    assert isinstance(drawn.test.locations, np.ndarray)
    assert_allclose(drawn.pvalue, test().test(x, y, rng=0).pvalue)


def test_objects_have_locations_too():
    x, y = ["a", "b", "c"] * 20, ["a", "a", "c"] * 15
    result = ME(Delta(), locations=2).test(x, y, rng=0)
    assert result.rejects(0.01)
    assert len(result.test.locations) == 2


# ---- nulls --------------------------------------------------------------------------------------


def test_large_samples_have_a_chi_square(samples, places):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(700, 3)), rng.normal(size=(500, 3))
    result = ME(RBF(1.5), locations=places).test(x, y)
    assert_allclose(result.pvalue, chi2.sf(result.statistic, 4), rtol=1e-10)
    assert "at least 500" in result.notes[0]
    small = ME(RBF(1.5), locations=places).test(*samples, rng=0)
    assert len(small.null) == 999
    assert "fewer than 500" in small.notes[0]


def test_asymptotic_nulls_warn_when_samples_are_small(samples):
    x, y = np.random.default_rng(0).normal(size=(2, 150, 3))
    with pytest.warns(UserWarning, match="use null=Permutation"):
        ME(null=Chi2()).test(x, y, rng=0)
    with pytest.raises(ValueError, match="at least 100 observations in each sample"):
        ME(null=Chi2()).test(x[:99], y, rng=0)
    with pytest.warns(UserWarning, match="holds from about 500"):
        UME(null=WeightedChi2()).test(*samples, rng=0)


def test_the_squared_witness_has_no_chi_square_limit():
    x, y = np.random.default_rng(0).normal(size=(2, 600, 2))
    with pytest.raises(NoRule, match="no chi-square limit: use a null that"):
        UME(null=Chi2()).test(x, y, rng=0)


def test_formula_and_draws_give_one_p_value():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(600, 2)), rng.normal(0.08, 1.0, size=(600, 2))
    exact = UME(RBF(1.0)).test(x, y, rng=1).pvalue
    drawn = UME(RBF(1.0), null=Spectrum(9999)).test(x, y, rng=1).pvalue
    assert_allclose(drawn, exact, atol=4 * np.sqrt(exact * (1 - exact) / 9999))


@pytest.mark.parametrize("k", [1, 2, 5, 30])
def test_equal_weights_are_a_chi_square(k):
    for value in (0.1 * k, k, 3 * k, 10 * k + 50):
        assert_allclose(weighted_chi2_sf(value, np.ones(k)), chi2.sf(value, k), rtol=1e-7)


def test_pairs_of_weights_are_sums_of_exponentials():
    weights = np.array([1.0, 0.4, 0.03])
    for value in (0.5, 3.0, 60.0):
        shares = [np.prod([a / (a - b) for b in weights if b != a]) for a in weights]
        exact = np.sum(shares * np.exp(-value / (2 * weights)))
        assert_allclose(weighted_chi2_sf(value, np.repeat(weights, 2)), exact, rtol=1e-10)


@BOTH
def test_samples_that_do_not_vary(test):
    zeros = np.zeros((30, 2))
    assert test(RBF(1.0)).test(zeros, zeros, rng=0).pvalue == 1
    assert test(RBF(1.0)).test(zeros, zeros + 1, rng=0).pvalue <= 0.002


@pytest.mark.parametrize("problem", [same(1), same(50), coins], ids=["1", "50", "coins"])
@BOTH
def test_level_is_kept_by_small_samples(test, problem):
    assert_level(cell(test(null=Permutation(39)), problem, (30, 20)).run)


@pytest.mark.parametrize("problem", [same(5), coins, counts], ids=["5", "coins", "counts"])
@BOTH
def test_level_is_kept_by_the_limit(test, problem):
    assert_level(cell(test(), problem, (500, 300)).run)


# ---- learning -----------------------------------------------------------------------------------


def autograd(power, features, weights, n, ridge):
    """The same proxies, word for word, in torch."""
    means, covariances = [], []
    for rows in (slice(0, n), slice(n, None)):
        z, w = features[rows], weights[rows]
        mean = w @ z
        apart = (z - mean) * w[:, None]
        means.append(mean)
        covariances.append(apart.T @ apart / (1 - w @ w))
    delta, s = means[0] - means[1], covariances[0] + covariances[1]
    ridge = ridge * float(weights @ weights)
    moved = s + ridge * torch.eye(len(delta), dtype=torch.float64)
    if power is normalized_power:
        return delta @ torch.linalg.solve(moved, delta)
    null = torch.sqrt(2 * torch.trace(moved @ moved))
    deviation = torch.sqrt(4 * delta @ moved @ delta + null**2)
    return (delta @ delta - torch.trace(s) - 3 * null) / deviation


@pytest.mark.parametrize("power", [normalized_power, squared_power])
@pytest.mark.parametrize(
    "kernel", [RBF(1.3), Cauchy(0.8), InverseMultiquadric(1.1), None], ids=repr
)
def test_gradients_agree_with_autograd(power, kernel):
    rng = np.random.default_rng(0)
    n, m, d, number = 25, 18, 3, 2
    x, w = rng.normal(size=(n + m, d)), rng.uniform(0.5, 1.5, n + m)
    w[:n], w[n:] = w[:n] / w[:n].sum(), w[n:] / w[n:].sum()
    data = Training(x, n, w, np.zeros(d), np.ones(d))
    theta = rng.normal(size=number * d + 1) / 2
    form = radial_form(kernel) if kernel is not None else None
    maps = FrequencyFeatures(x) if form is None else RadialMap(x, form.profile, form.slope)
    z, known = maps.push(theta)
    value, by_z = proxy(power, z, data, 1e-3)
    gradient = maps.pull(by_z, known)

    at = torch.tensor(theta, requires_grad=True)
    points, v, s = torch.tensor(x), at[:-1].reshape(number, d), torch.exp(at[-1])
    if form is None:
        window = torch.exp(-((points / s) ** 2).sum(1, keepdim=True) / 2)
        phase = points @ v.T / s
        features = torch.cat([window * torch.sin(phase), window * torch.cos(phase)], dim=1)
    else:
        features = form.profile(((points[:, None] - v[None]) ** 2).sum(2) / s**2)
    expected = autograd(power, features, torch.tensor(w), n, 1e-3)
    assert_allclose(z, features.detach(), rtol=1e-10, atol=1e-14)
    assert_allclose(value, float(expected.detach()), rtol=1e-9)
    (by_theta,) = torch.autograd.grad(expected, at)
    assert_allclose(gradient, by_theta, rtol=1e-7, atol=1e-9)


def shifted(rng, n, d=10):
    x, y = rng.normal(size=(n, d)), rng.normal(size=(n, d))
    y[:, 0] += 0.5
    return x, y


def stretched(rng, n, d=10):
    x, y = rng.normal(size=(n, d)), rng.normal(size=(n, d))
    y[:, 0] *= 1.7
    return x, y


@pytest.mark.parametrize("problem", [shifted, stretched])
@BOTH
def test_learning_beats_chance(test, problem):
    learnt, random = [], []
    for seed in range(7):
        x, y = problem(np.random.default_rng(seed), 1200)
        made = test.optimized(x[:600], y[:600], locations=2, rng=seed)
        learnt.append(made.test(x[600:], y[600:], rng=seed).pvalue)
        random.append(test(locations=2).test(x[600:], y[600:], rng=seed).pvalue)
    assert np.median(learnt) < 0.01
    assert np.mean(np.log(learnt)) < np.mean(np.log(random))


def test_locations_stay_where_points_are_unless_columns_are_many():
    points = np.random.default_rng(0).normal(size=(500, 150))
    points -= points.mean(axis=0)
    low, high = _box(points[:, :100])
    assert_allclose(low, points[:, :100].min(axis=0))
    assert_allclose(high, points[:, :100].max(axis=0))
    low, high = _box(points)
    most = np.maximum(points.max(axis=0), -points.min(axis=0))
    longest = np.linalg.norm(points / most, axis=1).max()
    assert longest > 3  # four deviations in each of 150 columns are a length of 3
    assert_allclose([low, high], longest * np.array([points.min(axis=0), points.max(axis=0)]))


@pytest.mark.slow
def test_one_of_many_columns_is_found_from_afar():
    """Two locations far out along the column whose variance differs; found from most beginnings."""
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x, y = stretched(rng, 20_000, 300)
        made = ME.optimized(x[:10_000], y[:10_000], rng=seed)
        far = np.argmax(np.abs(made.locations), axis=1)[np.abs(made.locations).max(axis=1) > 10]
        result = made.test(x[10_000:], y[10_000:])
        found.append(result.rejects(1e-10) and len(far) > 0 and bool(np.all(far == 0)))
    assert sum(found) >= 2


def test_learnt_tests_are_new_and_readable(samples):
    x, y = samples
    made = ME.optimized(x, y, locations=2, rng=0)
    assert made.locations.shape == (2, 3)
    assert not made.locations.flags.writeable
    assert isinstance(made.kernel, RBF)
    assert made == ME.optimized(x, y, locations=2, rng=0)
    assert hash(made) == hash(ME.optimized(x, y, locations=2, rng=0))
    assert made != ME(made.kernel, locations=made.locations + 1)
    result = made.test(x, y, rng=0)
    assert result.test == made
    assert len(result.locations()) == 2


def test_other_kernels_learn_their_width(samples):
    made = ME.optimized(*samples, kernel=Cauchy(1.0), locations=1, rng=0)
    assert isinstance(made.kernel, Cauchy)
    made = UME.optimized(*samples, kernel=InverseMultiquadric(), locations=1, rng=0)
    assert made.kernel.parts()["kernel"] == InverseMultiquadric()
    with pytest.raises(NoRule, match="smooth radial"):
        ME.optimized(*samples, kernel=Laplace())


def test_columns_of_frames_have_their_own_units(samples):
    pd = pytest.importorskip("pandas")
    x, y = (pd.DataFrame(s * [1.0, 1e6, 1e-6], columns=["a", "b", "c"]) for s in samples)
    made = ME.optimized(x, y, locations=2, rng=0)
    plain = ME.optimized(x, y[["c", "b", "a"]], locations=2, rng=0)
    assert_allclose(made.statistic(x, y), plain.statistic(x, y), rtol=1e-6)
    assert np.ptp(training(x, y, own_units=True).points.std(axis=0)) < 1e-9


# ---- the door -----------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("locations", [0, -1, True, 2.5, "5", [[np.nan, 0.0, 1.0]]])
def test_bad_locations_are_refused(test, locations):
    with pytest.raises((TypeError, ValueError), match="locations"):
        test(locations=locations)


@BOTH
def test_locations_must_fit_the_samples(test, samples):
    with pytest.raises(ValueError, match="locations must have the same number of columns"):
        test(locations=[[0.0, 1.0]]).test(*samples)


@pytest.mark.parametrize("test", [ME, UME, SCF])
def test_learning_refuses_what_tests_refuse(test, samples):
    x, y = samples
    with pytest.raises(ValueError, match="same number of columns"):
        test.optimized(x, y[:, :2])
    with pytest.raises(ValueError, match="y has NaN"):
        test.optimized(x, np.where(y > 1, np.nan, y))
    with pytest.raises(ValueError, match="x must have at least 2 points"):
        test.optimized(x[:1], y)
    with pytest.raises(TypeError, match="rng must be"):
        test.optimized(x, y, rng="seed")
    name = "frequencies" if test is SCF else "locations"
    with pytest.raises(ValueError, match=f"{name} must be a whole number"):
        test.optimized(x, y, **{name: 0})


def test_tests_are_printed_short(places):
    assert repr(ME(RBF(1.0), locations=[[0.0, 1.0]])) == (
        "ME(kernel=RBF(bandwidth=1.0), locations=[[0.0, 1.0]], null=None)"
    )
    assert "<array 20 x 3>" in repr(ME(locations=np.tile(places, (5, 1))))
