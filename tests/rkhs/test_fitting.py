"""Fitted distributions: maxima of the likelihood, the same whatever the units, scikit-learn's numbers."""

import numpy as np
import pytest

from mercer.rkhs import Gaussian, Mixture

TRUE = Mixture(
    [Gaussian([0.0, 0.0], [[1.0, 0.6], [0.6, 1.0]]), Gaussian([4.0, 1.0], [0.25, 2.0])],
    [0.65, 0.35],
)


def likelihood(p, x):
    return float(np.mean(p.log_density(x)))


def test_gaussian_is_mean_and_covariance():
    x = TRUE.sample(50, rng=0)
    p = Gaussian.fit(x)
    np.testing.assert_allclose(p.mean, x.mean(axis=0))
    np.testing.assert_allclose(p.cov, (x - p.mean).T @ (x - p.mean) / 50)
    for moved in (Gaussian(p.mean + 0.05, p.cov), Gaussian(p.mean, 1.1 * p.cov)):
        assert likelihood(p, x) > likelihood(moved, x)


def test_one_part_is_a_gaussian():
    x = TRUE.sample(80, rng=1)
    (part,) = Mixture.fit(x, 1, rng=0).parts
    np.testing.assert_allclose(part.mean, Gaussian.fit(x).mean, atol=1e-12)
    np.testing.assert_allclose(part.cov, Gaussian.fit(x).cov, rtol=1e-5)  # and a ridge


@pytest.mark.parametrize("parts", [2, 3])
def test_as_likely_as_that_of_scikit_learn(parts):
    mixture = pytest.importorskip("sklearn.mixture")
    x = TRUE.sample(600, rng=2)
    if parts == 3:
        x = np.concatenate([x, np.random.default_rng(0).normal([0.0, 6.0], 0.7, size=(200, 2))])
    own = Mixture.fit(x, parts, rng=0)
    theirs = mixture.GaussianMixture(parts, n_init=3, tol=1e-5, max_iter=500, random_state=0).fit(x)
    assert likelihood(own, x) >= theirs.score(x) - 1e-4


def test_parameters_are_found():
    p = Mixture.fit(TRUE.sample(5000, rng=3), 2, rng=0)
    first, second = sorted(zip(p.parts, p.weights, strict=True), key=lambda part: part[0].mean[0])
    assert first[1] == pytest.approx(0.65, abs=0.02)
    np.testing.assert_allclose(first[0].cov, [[1.0, 0.6], [0.6, 1.0]], atol=0.1)
    np.testing.assert_allclose(second[0].mean, [4.0, 1.0], atol=0.1)
    np.testing.assert_allclose(second[0].cov, np.diag([0.25, 2.0]), atol=0.15)


def test_units_do_not_matter():
    x, units, far = TRUE.sample(300, rng=4), np.array([1e-3, 1e4]), np.array([5.0, -1e6])
    p, q = (Mixture.fit(v, 3, rng=0) for v in (x, x * units + far))
    np.testing.assert_allclose(q.weights, p.weights, rtol=1e-4)
    expected = p.log_density(x) - np.sum(np.log(units))
    np.testing.assert_allclose(q.log_density(x * units + far), expected, atol=1e-3)


def test_same_seed_same_fit():
    x = TRUE.sample(200, rng=5)
    a, b = (Mixture.fit(x, 3, rng=7) for _ in range(2))
    np.testing.assert_array_equal(a.log_density(x), b.log_density(x))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Gaussian.fit(np.zeros((2, 2))), "more points than columns"),
        (lambda: Gaussian.fit(np.ones((9, 2))), "positive"),
        (lambda: Mixture.fit(np.eye(5), 2), "at least 12 points"),
        (lambda: Mixture.fit(np.ones((9, 1)), 2), "vary in every column"),
        (lambda: Mixture.fit(np.eye(9), 0), "parts"),
        (lambda: Mixture.fit([[0.0], [np.nan], [1.0]], 1), "NaN|finite"),
    ],
)
def test_what_cannot_be_fitted_is_said(call, said):
    with pytest.raises(ValueError, match=said):
        call()
