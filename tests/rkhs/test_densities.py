"""Gaussians and mixtures: SciPy's densities, the gradients of autograd, draws that follow them."""

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

from mercer.rkhs import Gaussian, Mixture
from tests.support.arrays import LIBRARIES, to_numpy, torch

COV = np.array([[2.0, 0.6, 0.1], [0.6, 1.0, -0.3], [0.1, -0.3, 0.5]])
MEAN = np.array([1.0, -2.0, 0.5])
PARTS = [Gaussian(MEAN, COV), Gaussian([0.0, 0.0, 3.0], [0.1, 4.0, 1.0]), Gaussian(-MEAN, 0.3)]
WEIGHTS = [0.2, 0.7, 0.1]
FULL = [COV, np.diag([0.1, 4.0, 1.0]), 0.3 * np.eye(3)]
EVERY = {
    "matrix": PARTS[0],
    "diagonal": PARTS[1],
    "number": PARTS[2],
    "line": Gaussian(1.5, 0.3),
    "mixture": Mixture(PARTS, WEIGHTS),
    "of mixtures": Mixture([Mixture(PARTS), PARTS[0]], [0.4, 0.6]),
}
each = pytest.mark.parametrize("p", EVERY.values(), ids=EVERY)


def points(d, n=40, seed=0):
    return 2 * np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize(("part", "cov"), list(zip(PARTS, FULL, strict=True)), ids=list(EVERY)[:3])
def test_gaussian_density_is_scipys(part, cov):
    x = points(3)
    theirs = scipy.stats.multivariate_normal(part.mean, cov).logpdf(x)
    assert_allclose(part.log_density(x), theirs, rtol=1e-12)


def test_mixture_density_is_scipys():
    x = points(3)
    theirs = sum(
        w * scipy.stats.multivariate_normal(p.mean, c).pdf(x)
        for w, p, c in zip(WEIGHTS, PARTS, FULL, strict=True)
    )
    assert_allclose(np.exp(Mixture(PARTS, WEIGHTS).log_density(x)), theirs, rtol=1e-11)
    line = Mixture([Gaussian(0.0, 4.0), Gaussian(1.0, 0.01)], [0.9, 0.1])
    norm, at = scipy.stats.norm, np.linspace(-5, 5, 41)
    assert_allclose(
        np.exp(line.log_density(at)), 0.9 * norm(0, 2).pdf(at) + 0.1 * norm(1, 0.1).pdf(at)
    )


@pytest.mark.parametrize("d", [1, 2])
def test_densities_integrate_to_one(d):
    """The normaliser in d dimensions, by sums over a grid."""
    parts = [Gaussian(np.zeros(d), np.full(d, 0.5)), Gaussian(np.ones(d), 0.4 * np.eye(d) + 0.2)]
    axis = np.linspace(-7, 8, 301)
    grid = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1).reshape(-1, d)
    for p in (*parts, Mixture(parts, [0.3, 0.7])):
        total = np.exp(p.log_density(grid)).sum() * (axis[1] - axis[0]) ** d
        assert_allclose(total, 1, rtol=1e-10)


@each
def test_the_score_is_the_gradient(p):
    x = torch.tensor(points(p.dimension), requires_grad=True)
    (gradient,) = torch.autograd.grad(p.log_density(x).sum(), x)
    assert_allclose(to_numpy(p.score(x)), to_numpy(gradient), rtol=1e-11, atol=1e-12)


@each
def test_the_score_has_mean_zero(p):
    """E_p s = 0, and E_p s_j x_k = -[j = k]: Stein's identity for f(x) = x_k."""
    x = p.sample(100_000, rng=0)
    s = p.score(x)
    spread = s.std(axis=0) / np.sqrt(len(x))
    assert np.all(np.abs(s.mean(axis=0)) < 4.5 * spread)
    products = s[:, :, None] * (x - x.mean(axis=0))[:, None, :]
    error = np.abs(products.mean(axis=0) + np.eye(p.dimension))
    assert np.all(error < 5 * products.std(axis=0) / np.sqrt(len(x)))


@each
def test_draws_follow_the_density(p):
    x = p.sample(50_000, rng=1)
    assert x.shape == (50_000, p.dimension)
    assert_array_equal(p.sample(5, rng=3), p.sample(5, rng=3))
    parts = p.parts if isinstance(p, Mixture) else [p]
    weights = p.weights if isinstance(p, Mixture) else [1.0]
    expected = sum(w * _mean(part) for w, part in zip(weights, parts, strict=True))
    assert np.all(np.abs(x.mean(axis=0) - expected) < 4.5 * x.std(axis=0) / np.sqrt(len(x)))
    if p is PARTS[0]:
        assert_allclose(np.cov(x.T), COV, atol=0.06)


def _mean(p):
    if isinstance(p, Gaussian):
        return p.mean
    return sum(w * _mean(part) for w, part in zip(p.weights, p.parts, strict=True))


@pytest.mark.parametrize("library", LIBRARIES)
@each
def test_every_library_gets_its_own_arrays(p, library):
    x = points(p.dimension, 6)
    ours = LIBRARIES[library](x)
    for of_p in (p.log_density, p.score):
        assert type(of_p(ours)) is type(ours)
        assert_allclose(to_numpy(of_p(ours)), of_p(x), rtol=1e-12)
        narrow = of_p(LIBRARIES[library](x.astype(np.float32)))
        assert str(narrow.dtype).endswith("float32")
        assert_allclose(to_numpy(narrow), of_p(x), rtol=2e-4, atol=1e-4)


def test_far_from_every_part_nothing_underflows():
    p = Mixture([Gaussian(0.0, 1.0), Gaussian(3.0, 1.0)], [0.5, 0.5])
    assert_allclose(p.log_density([1e3, -1e3])[1], -5e5 - np.log(2 * np.sqrt(2 * np.pi)))
    assert_allclose(p.score([[1e3], [-1e3]]), [[-997.0], [1000.0]])


def test_parts_without_weight_do_not_count():
    p, q = Gaussian(0.0, 1.0), Gaussian(5.0, 0.1)
    both, x = Mixture([p, q], [1.0, 0.0]), np.linspace(-6, 6, 9)
    assert_allclose(both.log_density(x), p.log_density(x))
    assert_allclose(both.score(x), p.score(x))
    assert both.sample(1000, rng=0).max() < 5


def test_arguments_are_copied():
    mean, cov = np.zeros(2), np.eye(2)
    p = Gaussian(mean, cov)
    mean[0], cov[0, 0] = 9.0, 9.0
    assert p.mean[0] == 0
    assert p.cov[0, 0] == 1


@pytest.mark.parametrize(
    ("mean", "cov", "message"),
    [
        ([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]], "cov must be positive definite.* -1"),
        ([0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]], "cov must be positive definite"),
        ([0.0, 0.0], [[1.0, 0.0], [0.0, 0.0]], "cov must be positive definite"),
        ([0.0, 0.0], [[1.0, 0.5], [0.0, 1.0]], "cov must be symmetric"),
        ([0.0, 0.0], [1.0, -1.0], "cov must have positive variances, got -1"),
        ([0.0, 0.0], [1.0, 1.0, 1.0], r"2 variances or a matrix \(2, 2\).*got shape \(3,\)"),
        (0.0, np.eye(2), r"1 variances or a matrix \(1, 1\)"),
        (0.0, 0.0, "cov must be a positive number"),
        ([0.0, np.nan], 1.0, "mean has NaN"),
        ([0.0, 0.0], [1.0, np.inf], "cov has NaN or infinite"),
        ([[0.0]], 1.0, "mean must have shape"),
    ],
)
def test_wrong_gaussians(mean, cov, message):
    with pytest.raises(ValueError, match=message):
        Gaussian(mean, cov)


def test_small_variances_are_no_singular_matrix():
    cov = np.diag([1e-20, 1.0]) + 1e-12 * (1 - np.eye(2))
    x = np.zeros((1, 2))
    expected = -np.log(2 * np.pi) - 0.5 * np.log(np.linalg.det(cov))
    assert_allclose(Gaussian([0.0, 0.0], cov).log_density(x), expected)


def test_wrong_mixtures():
    p, q = Gaussian(0.0, 1.0), Gaussian([0.0, 0.0], 1.0)
    for weights, message in [
        ([0.5, 0.6], "weights must add up to one, got 1.1"),
        ([1.5, -0.5], "weights must not be negative"),
        ([1.0], r"weights must have shape \(2,\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            Mixture([p, p], weights)
    with pytest.raises(ValueError, match=r"parts must have the same dimension, got \[1, 2\]"):
        Mixture([p, q])
    with pytest.raises(ValueError, match="parts must have at least one distribution"):
        Mixture([])
    with pytest.raises(TypeError, match="parts must be distributions"):
        Mixture([p, "normal"])
    with pytest.raises(TypeError, match="parts must be a sequence"):
        Mixture(p)


@each
def test_wrong_points(p):
    wrong = np.zeros((4, p.dimension + 1))
    for of_p in (p.log_density, p.score):
        with pytest.raises(ValueError, match=f"x must have {p.dimension} columns"):
            of_p(wrong)
    with pytest.raises(ValueError, match="n must be a whole number"):
        p.sample(0)


def test_they_print_short():
    assert repr(EVERY["line"]) == "Gaussian(1.5, 0.3)"
    assert repr(EVERY["matrix"]) == "Gaussian(3 dimensions)"
    assert repr(EVERY["mixture"]) == "Mixture(3 parts, 3 dimensions)"
