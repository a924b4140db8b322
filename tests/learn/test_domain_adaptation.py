"""Domain adaptation against density ratios and transformations that are known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from mercer.kernels import RBF, Laplace
from mercer.learn import (
    SVC,
    ConditionalShift,
    CovariateShift,
    DomainAdaptation,
    KernelRidge,
    TargetShift,
)


def test_covariate_shift_finds_the_density_ratio():
    """N(0, 1) to N(0.5, 0.7^2): the weights estimate the known ratio, and the target mean of any function."""
    rng = np.random.default_rng(0)
    x, target = rng.normal(size=(500, 1)), rng.normal(0.5, 0.7, size=(500, 1))
    model = DomainAdaptation(LinearRegression(), CovariateShift(RBF(0.5))).fit(
        x, x[:, 0], target=target
    )
    ratio = norm.pdf(x[:, 0], 0.5, 0.7) / norm.pdf(x[:, 0])
    assert np.corrcoef(model.weights_, ratio)[0, 1] > 0.8
    for f in (np.sin, np.square):
        error = np.average(f(x[:, 0]), weights=model.weights_) - np.mean(f(target))
        assert abs(error) < 0.06 < abs(np.mean(f(x)) - np.mean(f(target)))


def test_target_shift_finds_the_class_weights():
    """Classes from 1:1 to 4:1: the weights are 1.6 and 0.4."""
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 150)
    x = rng.normal(size=(300, 2)) + 2.0 * y[:, None]
    z = (rng.random(300) < 0.2).astype(int)
    target = rng.normal(size=(300, 2)) + 2.0 * z[:, None]
    model = DomainAdaptation(LogisticRegression(), TargetShift()).fit(x, y, target=target)
    for label, exact in ((0, 1.6), (1, 0.4)):
        weights = model.weights_[y == label]
        assert np.ptp(weights) < 1e-8  # one weight for each class
        assert abs(weights[0] - exact) < 0.15
    # the prior of the fitted model is that of the target: more points are of class 0
    plain = LogisticRegression().fit(x, y)
    assert model.score(target, z) >= plain.score(target, z)
    assert_allclose(model.points_, x)


def test_target_shift_of_numbers():
    """y from N(0, 1) to N(0.7, 0.6^2), x = y + noise: weights as the ratio of the densities of y."""
    rng = np.random.default_rng(2)
    y, z = rng.normal(size=300), rng.normal(0.7, 0.6, size=300)
    x, target = (v[:, None] + 0.3 * rng.normal(size=(300, 1)) for v in (y, z))
    model = DomainAdaptation(LinearRegression(), TargetShift()).fit(x, y, target=target)
    ratio = norm.pdf(y, 0.7, 0.6) / norm.pdf(y)
    assert np.corrcoef(model.weights_, ratio)[0, 1] > 0.9
    assert (
        abs(np.average(y, weights=model.weights_) - 0.7) < 0.12
    )  # the standard error of the target's mean is 0.035
    assert abs(np.sqrt(np.cov(y, aweights=model.weights_)) - 0.6) < 0.12


@pytest.mark.parametrize("reweighted", [False, True])
def test_conditional_shift_finds_locations_and_scales(reweighted):
    """Each class is scaled and moved in its own way; with another prior, too, weights are found at the same time."""
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 100)
    x = rng.normal(size=(200, 2)) * 0.5 + 3.0 * y[:, None]
    z = (rng.random(200) < (0.25 if reweighted else 0.5)).astype(int)
    scale, location = np.array([[1.5, 1.0], [0.6, 1.2]]), np.array([[0.5, -0.5], [-0.4, 0.8]])
    target = (rng.normal(size=(200, 2)) * 0.5 + 3.0 * z[:, None]) * scale[z] + location[z]
    shift = ConditionalShift(RBF(1.0), reweighted=reweighted)
    model = DomainAdaptation(SVC(RBF(2.0)), shift).fit(x, y, target=target)
    exact = x * scale[y] + location[y]
    before, after = (np.sqrt(np.mean((p - exact) ** 2)) for p in (x, model.points_))
    assert after < 0.35 * before  # measured: 0.14 to 0.2 of 0.93
    if reweighted:
        assert abs(model.weights_[y == 0].mean() - 1.5) < 0.2
    else:
        assert_allclose(model.weights_, 1.0)
    assert model.score(target, z) > 0.97


def test_without_a_target_it_is_the_estimator():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(40, 2))
    y = x[:, 0]
    model = DomainAdaptation(KernelRidge(RBF(1.0), 0.1)).fit(x, y)
    assert_allclose(model.predict(x), KernelRidge(RBF(1.0), 0.1).fit(x, y).predict(x))
    with pytest.raises(TypeError, match="takes no sample_weight"):
        DomainAdaptation(KNeighborsClassifier()).fit(x, y > 0, target=x)
    with pytest.raises(ValueError, match="the 2 columns of X, got 1"):
        DomainAdaptation(LinearRegression()).fit(x, y, target=x[:, :1])
    with pytest.raises(TypeError, match="needs an RBF"):
        DomainAdaptation(LinearRegression(), ConditionalShift(Laplace(1.0))).fit(x, y, target=x)
    with pytest.raises(TypeError, match="shift must be"):
        DomainAdaptation(LinearRegression(), "covariate").fit(x, y, target=x)
