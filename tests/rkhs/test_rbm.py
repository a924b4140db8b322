"""Gauss-Bernoulli RBMs: the sum over hidden states, the gradient of autograd, draws by two roads."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.rkhs import GaussBernoulliRBM, Gaussian, Mixture
from tests.support.arrays import LIBRARIES, to_numpy, torch


def machine(d=3, m=4, seed=0, scale=0.5):
    rng = np.random.default_rng(seed)
    return GaussBernoulliRBM(
        scale * rng.normal(size=(d, m)), rng.normal(size=d), 0.5 * rng.normal(size=m)
    )


def as_mixture(p):
    """All 2^m hidden states, one Gaussian each, by the definition of p(x, h)."""
    states = np.array(np.meshgrid(*[[-1.0, 1.0]] * p.hidden)).reshape(p.hidden, -1).T
    middles = p.b + states @ p.B.T
    logs = states @ p.c + np.sum(middles**2, axis=1) / 2
    weights = np.exp(logs - logs.max())
    return Mixture([Gaussian(middle, 1.0) for middle in middles], weights / weights.sum())


def points(p, n=30, seed=1):
    return 2 * np.random.default_rng(seed).normal(size=(n, p.dimension))


@pytest.mark.parametrize(("d", "m"), [(1, 1), (3, 4), (2, 6)])
def test_it_is_a_mixture_of_gaussians(d, m):
    p = machine(d, m)
    x, mixture = points(p), as_mixture(p)
    assert_allclose(p.log_density(x), mixture.log_density(x), rtol=1e-11)
    assert_allclose(p.score(x), mixture.score(x), rtol=1e-10, atol=1e-12)


def test_the_score_is_the_gradient_of_the_unnormalised_density():
    p = machine(5, 30)  # more states than can be added up
    x = torch.tensor(points(p), requires_grad=True)
    (gradient,) = torch.autograd.grad(p.unnormalised_log_density(x).sum(), x)
    assert_allclose(to_numpy(p.score(x)), to_numpy(gradient), rtol=1e-11, atol=1e-12)
    with pytest.raises(ValueError, match=r"2\^30 hidden states"):
        p.log_density(points(p))


def test_far_away_nothing_overflows():
    p = machine()
    far = np.full((1, 3), 1e4)
    assert np.all(np.isfinite(p.unnormalised_log_density(far)))
    assert np.all(np.isfinite(p.score(far)))


@pytest.mark.parametrize("burn", [None, 60])
def test_draws_follow_the_density(burn):
    """Stein's identities, and the mean and variance of the mixture, for exact draws and chains."""
    p = machine(scale=0.3)
    x = p.sample(20_000, rng=0, burn=burn)
    s = p.score(x)
    assert np.all(np.abs(s.mean(axis=0)) < 4.5 * s.std(axis=0) / np.sqrt(len(x)))
    mixture = as_mixture(p)
    mean = sum(w * part.mean for w, part in zip(mixture.weights, mixture.parts, strict=True))
    assert np.all(np.abs(x.mean(axis=0) - mean) < 4.5 * x.std(axis=0) / np.sqrt(len(x)))
    second = 1 + sum(w * q.mean**2 for w, q in zip(mixture.weights, mixture.parts, strict=True))
    error = (x**2).std(axis=0) / np.sqrt(len(x))
    assert np.all(np.abs((x**2).mean(axis=0) - second) < 4.5 * error)
    assert_array_equal(p.sample(3, rng=1, burn=burn), p.sample(3, rng=1, burn=burn))


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_gets_its_own_arrays(library):
    p = machine()
    x, ours = points(p, 6), LIBRARIES[library](points(p, 6))
    for of_p in (p.log_density, p.score):
        assert type(of_p(ours)) is type(ours)
        assert_allclose(to_numpy(of_p(ours)), of_p(x), rtol=1e-12)


def test_wrong_arguments():
    with pytest.raises(ValueError, match=r"b must have shape \(3,\), because B has shape \(3, 2\)"):
        GaussBernoulliRBM(np.ones((3, 2)), np.ones(2), np.ones(2))
    with pytest.raises(ValueError, match=r"c must have shape \(2,\)"):
        GaussBernoulliRBM(np.ones((3, 2)), np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match="B has NaN"):
        GaussBernoulliRBM([[np.nan]], [0.0], [0.0])
    p = machine()
    with pytest.raises(ValueError, match="x must have 3 columns"):
        p.score(np.ones((2, 4)))
    with pytest.raises(ValueError, match="burn must be a whole number"):
        p.sample(3, burn=0)
    assert repr(p) == "GaussBernoulliRBM(3 visible, 4 hidden)"
