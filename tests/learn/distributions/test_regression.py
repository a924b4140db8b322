"""Regression on bags: points are bags of one, means of features are those of the kernel, honest widths."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV, cross_val_score

import mercer
from mercer.features import Nystrom, RandomFourier
from mercer.kernels import RBF
from mercer.learn import (
    BayesianDistributionRegressor,
    DistributionRegressor,
    KernelRidge,
    MeanFeatures,
    RidgePath,
)
from mercer.rkhs import Bags, Dirac, Gaussian, MeanMap


@pytest.fixture(scope="module")
def spreads() -> tuple[Bags, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.uniform(0.5, 2.0, size=120)
    return Bags.of([rng.normal(0, s, size=(rng.integers(20, 60), 2)) for s in y]), y


def test_points_are_bags_of_one():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    plain = KernelRidge(RBF(1.0), 0.1).fit(x, y).predict(x[:9])
    kernel = MeanMap(RBF(1.0))
    for points in (x, [Dirac(p) for p in x], [p[None, :] for p in x]):
        found = DistributionRegressor(kernel, 0.1).fit(points, y).predict(points[:9])
        assert_allclose(found, plain, rtol=1e-8)


def test_known_distributions_beside_bags(spreads):
    bags, y = spreads
    kernel = RBF(0.3).on(MeanMap(RBF(1.0)))
    model = DistributionRegressor(kernel, RidgePath()).fit(list(bags), y)
    known = model.predict([Gaussian(np.zeros(2), s**2) for s in (0.7, 1.0, 1.6)])
    assert_allclose(known, [0.7, 1.0, 1.6], atol=0.2)


@pytest.mark.parametrize("width", [1.0, 20.0])
def test_rounding_of_float32_bags_is_not_fitted(spreads, width):
    """Sums over bags are float64, but of points in float32: the ridge chosen must not see that."""
    bags, y = spreads
    single = [bag.points.astype(np.float32) for bag in bags]
    double = [bag.astype(np.float64) for bag in single]
    kernel = MeanMap(RBF(width))
    wanted = DistributionRegressor(kernel).fit(double[:80], y[:80]).predict(double[80:])
    found = DistributionRegressor(kernel).fit(single[:80], y[:80])
    assert_allclose(found.predict(single[80:]), wanted, atol=1e-3 * np.std(y))
    repeated = found.predict([single[80]] * 4)  # known by one of them
    assert_allclose(repeated, wanted[0], atol=1e-3 * np.std(y))


def test_default_kernel_cross_validation_and_search(spreads):
    bags, y = spreads
    scores = cross_val_score(DistributionRegressor(), bags, y, cv=3)
    assert scores.min() > 0.85
    grid = {"kernel__inner__kernel__bandwidth": [0.5, 1.0]}
    start = DistributionRegressor(RBF(0.3).on(MeanMap(RBF(1.0))))
    search = GridSearchCV(start, grid, cv=3).fit(list(bags), y)
    assert search.best_score_ > 0.85


def test_several_targets(spreads):
    bags, y = spreads
    both = DistributionRegressor().fit(bags, np.stack([y, -y], axis=1)).predict(bags)
    assert_allclose(both[:, 0], -both[:, 1], rtol=1e-6)


def test_mean_features_are_those_of_the_map(spreads):
    bags, _ = spreads
    fourier = RandomFourier(RBF(1.0), 4000, random_state=0)
    features = MeanFeatures(fourier, random_state=0).fit_transform(bags)
    assert_allclose(features @ features.T, MeanMap(RBF(1.0))(bags), atol=0.03)
    landmarks = MeanFeatures(Nystrom(RBF(1.0), 200, random_state=0), random_state=0)
    features = landmarks.fit_transform(bags)
    assert_allclose(features @ features.T, MeanMap(RBF(1.0))(bags), atol=1e-2)
    with mercer.config(memory="16MiB"):
        assert_allclose(landmarks.transform(bags), features, atol=1e-6)
    with pytest.raises(ValueError, match="expecting 2 features"):
        landmarks.transform([np.zeros((3, 1))])


def test_bayesian_widths_cover(spreads):
    rng = np.random.default_rng(2)
    y = rng.uniform(0.5, 2.0, size=500)
    sizes = rng.choice([3, 10, 100], size=500)
    bags = [rng.normal(0, s, size=(n, 1)) for s, n in zip(y, sizes, strict=True)]
    model = BayesianDistributionRegressor(random_state=0).fit(bags[:250], y[:250])
    mean, sd = model.predict(bags[250:], return_std=True)
    error, few = mean - y[250:], sizes[250:] == 3
    assert sd[few].mean() > 1.5 * sd[sizes[250:] == 100].mean()
    assert 0.85 < np.mean(np.abs(error) < 2 * sd) <= 1.0
    assert_allclose(model.predict(bags[250:]), mean)
    weighted = np.sqrt(np.mean(error[few] ** 2))
    plain = DistributionRegressor().fit(bags[:250], y[:250]).predict(bags[250:]) - y[250:]
    assert weighted < 1.1 * np.sqrt(np.mean(plain[few] ** 2))


def test_gradient_of_the_posterior():
    from scipy.optimize import check_grad

    from mercer.learn.distributions import bayesian

    captured = {}

    def minimize(loss, start, **_):
        captured["loss"], captured["start"] = loss, start
        raise StopIteration

    rng = np.random.default_rng(3)
    means, root = rng.normal(size=(20, 4)), rng.normal(size=(20, 4, 4))
    covs = np.einsum("nij,nkj->nik", root, root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scipy.optimize.minimize", minimize)
        with pytest.raises(StopIteration):
            bayesian._most_likely(means, covs, rng.normal(size=20), np.eye(4), 0.3)
    loss, start = captured["loss"], captured["start"] + 0.1
    assert check_grad(lambda t: loss(t)[0], lambda t: loss(t)[1], start) < 1e-4


def test_refusals(spreads):
    bags, y = spreads
    with pytest.raises(ValueError, match="inconsistent numbers"):
        BayesianDistributionRegressor().fit(bags, y[:-1])
    with pytest.raises(ValueError, match="ridge must be"):
        BayesianDistributionRegressor(ridge=0.0).fit(bags, y)
    with pytest.raises(ValueError, match="NaN"):
        BayesianDistributionRegressor().fit(bags, np.full(len(y), np.nan))
