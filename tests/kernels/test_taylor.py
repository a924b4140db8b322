"""Taylor kernels from coefficients, spectral masses of periodic kernels, and kernels that distances induce."""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.errors import NoRule
from mercer.htest import Energy as EnergyTest
from mercer.kernels import (
    RBF,
    Constant,
    Cosine,
    Dirichlet,
    DistanceInduced,
    Energy,
    ExponentialDot,
    Fejer,
    Poisson,
    Polynomial,
    Taylor,
    facts,
    is_positive_definite,
    sample_frequencies,
    spectral_masses,
)
from mercer.rkhs import Function, hsic, mmd2

X = np.random.default_rng(0).normal(size=(12, 3))


def test_taylor_kernels_are_their_series():
    assert_allclose(Taylor((1.0, 3.0, 3.0, 1.0))(X), Polynomial(3)(X), rtol=1e-10, atol=1e-13)
    exponential = Taylor([0.3**n / factorial(n) for n in range(40)])
    assert_allclose(exponential(X), ExponentialDot(0.3)(X), rtol=1e-12)
    f = Function(Taylor((0.5, 0.0, 2.0)), X, np.linspace(-1, 1, 12))
    step = 1e-6 * np.eye(3)
    slopes = [(f(X[:1] + s) - f(X[:1] - s))[0] / 2e-6 for s in step]
    assert_allclose(f.gradient(X[:1])[0], slopes, rtol=1e-6)


def test_taylor_kernels_see_the_moments_of_their_orders():
    even = Taylor((1.0, 0.0, 1.0))
    assert facts(even).separates is False  # x and -x
    assert_allclose(mmd2(even, X, -X, unbiased=False), 0.0, atol=1e-12)
    odd = Taylor((0.0, 1.0))
    assert facts(odd).separates
    assert not facts(odd).characteristic
    for wrong in ((), (1.0, -0.5), (np.nan,)):
        with pytest.raises(ValueError, match="coefficients must"):
            Taylor(wrong)


@pytest.mark.parametrize(
    "kernel", [Cosine(1.7), Dirichlet(3), Fejer(4), Poisson(0.6), Constant(2.0)]
)
def test_masses_are_the_spectrum(kernel):
    """Their Fourier sum is the kernel, and drawn frequencies occur as often as their masses say."""
    w, m = spectral_masses(kernel, 80)
    t = np.linspace(-3, 3, 31)
    assert_allclose((np.exp(1j * np.outer(t, w)) @ m).real, kernel(t, [0.0])[:, 0], atol=1e-12)
    assert np.all(m > 0)
    drawn = sample_frequencies(kernel, 4000, 1, rng=0)[:, 0]
    assert set(np.round(drawn, 9)) <= set(np.round(w, 9))
    shares = np.array([np.mean(np.abs(drawn - v) < 1e-9) for v in w])
    p = m / m.sum()
    assert np.all(np.abs(shares - p) < 5 * np.sqrt(p * (1 - p) / 4000) + 2 / 4000)


def test_densities_have_no_masses():
    with pytest.raises(NoRule, match="others have a spectral_density"):
        spectral_masses(RBF(1.0))


# ---- distances ----------------------------------------------------------------------------


def geodesic(a, b):
    """Distance on the unit sphere, of negative type."""
    return float(np.arccos(np.clip(a @ b, -1, 1)))


def test_euclidean_distances_induce_the_energy_kernel():
    kernel = DistanceInduced(lambda a, b: float(np.linalg.norm(a - b)), np.zeros(3))
    assert_allclose(kernel(X), Energy()(X), atol=1e-12)
    other = DistanceInduced(lambda a, b: float(np.linalg.norm(a - b)), np.ones(3))
    assert_allclose(mmd2(other, X[:6], X[6:]), mmd2(Energy(), X[:6], X[6:]), atol=1e-12)
    assert_allclose(
        2 * mmd2(other, X[:6], X[6:], unbiased=False),
        EnergyTest().statistic(X[:6], X[6:]),
        rtol=1e-9,
    )


def test_distance_covariance_in_metric_spaces():
    """On the sphere, and between points and words: the sum over double-centred distances, whatever the origin."""
    rng = np.random.default_rng(1)
    sphere = X / np.linalg.norm(X, axis=1, keepdims=True)
    words = ["".join(rng.choice(list("ab"), 6)) for _ in range(12)]
    hamming = lambda a, b: sum(s != t for s, t in zip(a, b, strict=True))  # noqa: E731
    on_sphere, on_words = DistanceInduced(geodesic, sphere[3]), DistanceInduced(hamming, words[0])
    centre = np.eye(12) - 1 / 12
    a = centre @ np.array([[geodesic(p, q) for q in sphere] for p in sphere]) @ centre
    b = centre @ np.array([[hamming(p, q) for q in words] for p in words]) @ centre
    distance_covariance2 = np.sum(a * b) / 144
    assert_allclose(4 * hsic(on_sphere, on_words, sphere, words), distance_covariance2, rtol=1e-9)
    assert is_positive_definite(on_sphere, sphere)
    assert is_positive_definite(on_words, words)


def test_distances_that_are_not_of_negative_type_are_found_out():
    """The shortest-path distance of the complete bipartite graph K(3, 2) is not of negative type."""
    side = np.array([0, 0, 0, 1, 1])
    path = lambda i, j: 0 if i == j else 1 if side[i] != side[j] else 2  # noqa: E731
    assert not is_positive_definite(DistanceInduced(path, 0), list(range(5)))
    with pytest.raises(ValueError, match="is 0 where they are equal"):
        DistanceInduced(lambda a, b: 1.0, 0)([1, 2])
    with pytest.raises(ValueError, match="must be symmetric"):
        DistanceInduced(lambda a, b: a - b, 0)([1, 2])
    with pytest.raises(TypeError, match="also to the origin"):
        DistanceInduced(lambda a, b: len(a) - len(b), 3)(["a", "b"])
