"""Radial kernels by a second road: scikit-learn, mixtures of Gaussians, integrals, limits."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import gammaln
from sklearn.gaussian_process import kernels as sk
from sklearn.metrics import pairwise as skp

from mercer.kernels import (
    RBF,
    Cauchy,
    Exponential,
    InverseMultiquadric,
    Matern,
    RationalQuadratic,
)
from mercer.kernels.radial import _matern, _matern_half, _matern_large
from mercer.kernels.smooth import radial_form
from tests.support.arrays import torch

X, Y = np.random.default_rng(0).standard_normal((2, 12, 3))
DISTANCES = np.array([0.0, 1e-9, 1e-3, 0.3, 1.0, 4.0, 30.0])


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (RBF(1.7), sk.RBF(1.7)),
        (RationalQuadratic(0.6, 1.7), sk.RationalQuadratic(length_scale=1.7, alpha=0.6)),
        *((Matern(nu, 1.7), sk.Matern(1.7, nu=nu)) for nu in (0.5, 1.5, 2.5, 0.3, 1.0, 3.5, 7.3)),
    ],
    ids=str,
)
def test_scikit_learn_agrees(ours, theirs):
    assert_allclose(ours(X, Y), theirs(X, Y), rtol=1e-11)
    assert_allclose(ours(X), theirs(X), rtol=1e-11)


def test_gamma_is_scikit_learns():
    assert_allclose(RBF.from_gamma(0.3)(X, Y), skp.rbf_kernel(X, Y, gamma=0.3), rtol=1e-12)
    assert RBF.from_gamma(0.3).rate == pytest.approx(0.3, rel=1e-15)


def test_members_of_one_family_agree():
    assert_allclose(Matern(0.5, 1.3)(X, Y), Exponential(1.3)(X, Y), rtol=1e-14)
    assert_allclose(Cauchy(1.3)(X, Y), RationalQuadratic(1.0, 1.3 / 2**0.5)(X, Y), rtol=1e-13)
    same = InverseMultiquadric(1.0, 0.7)(X, Y)
    assert_allclose(same, RationalQuadratic(0.7, 1 / 1.4**0.5)(X, Y), rtol=1e-13)
    for limit in (Matern(1e9, 1.3), RationalQuadratic(1e9, 1.3)):
        assert_allclose(limit(X, Y), RBF(1.3)(X, Y), atol=1e-8)
    assert_allclose(RationalQuadratic(1e14, 1.3)(X, Y), RBF(1.3)(X, Y), rtol=1e-12)


@pytest.mark.parametrize("nu", [0.4, 1.0, 1.7, 12.3, 80.0])
def test_matern_is_a_mixture_of_gaussians(nu):
    """int w^(nu-1) e^-w exp(-nu r^2 / (2 s^2 w)) dw / Gamma(nu), by quadrature in log w."""

    def mixture(r):
        def density(v):
            return np.exp(nu * v - np.exp(v) - gammaln(nu) - nu * r**2 / (2 * 1.3**2 * np.exp(v)))

        return quad(density, -60, 8, points=[np.log(nu)], limit=400, epsabs=1e-13, epsrel=1e-12)[0]

    for r in (0.0, 0.05, 0.7, 2.0, 5.0):
        assert Matern(nu, 1.3).profile(np.array([r**2]))[0] == pytest.approx(mixture(r), rel=1e-8)


@pytest.mark.parametrize("p", range(11))
def test_matern_bessel_and_closed_forms_agree(p):
    t = np.concatenate([[0.0], np.geomspace(1e-12, 300, 60)])
    assert_allclose(_matern(p + 0.5, t), _matern_half(p, t), rtol=1e-12)


def test_matern_bessel_and_debye_expansions_agree():
    t = np.concatenate([[0.0], np.geomspace(1e-6, 200, 60)])
    assert_allclose(_matern_large(50.0, t), _matern(50.0, t), rtol=1e-9)
    assert_allclose(_matern_large(50.0, t), _matern(50.0, t), atol=2e-11)


@pytest.mark.parametrize("nu", [0.01, 0.3, 0.5, 1.0, 1.5, 2.0, 2.5, 8.8, 10.5, 49.0, 51.0, 1e6])
def test_matern_at_the_ends(nu):
    """1 at r = 0, falling, 0 far away: no overflow and no NaN between (warnings are errors)."""
    r2 = np.concatenate([[0.0], np.geomspace(1e-320, 1e300, 400)])
    k = Matern(nu).profile(r2)
    assert k[0] == 1
    assert k[-1] == 0
    assert np.all((k >= 0) & (k <= 1))
    assert np.all(np.diff(k) <= 1e-12)
    assert Matern(nu).profile(r2[:1].astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("nu", [2.5, 3.5, 2.2, 7.7, 60.0])
def test_matern_has_derivatives_beyond_smoothness_two(nu):
    """Against differences, and at 0 against the series 1 - nu r2 / (2 (nu - 1) s^2) + ..."""
    form, r2, h = radial_form(Matern(nu, 1.3)), np.array([0.1, 1.0, 6.0]), 1e-4
    down, here, up = (form.profile(r2 + s) for s in (-h, 0, h))
    assert_allclose(form.slope(r2), (up - down) / (2 * h), rtol=1e-5)
    assert_allclose(form.curvature(r2), (up - 2 * here + down) / h**2, rtol=2e-4, atol=1e-6)
    rate = nu / (2 * 1.3**2)
    assert form.slope(np.zeros(1))[0] == pytest.approx(-rate / (nu - 1), rel=1e-12)
    assert form.curvature(np.zeros(1))[0] == pytest.approx(rate**2 / (nu - 1) / (nu - 2), rel=1e-12)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.0])
def test_matern_has_none_below(nu):
    assert radial_form(Matern(nu)).slope is None
    assert radial_form(Matern(nu)).curvature is None


def test_matern_gradient_only_where_there_is_a_closed_form():
    x = torch.tensor(X, requires_grad=True)
    assert Matern(3.5).pairwise(x, x).requires_grad
    with pytest.raises(TypeError, match=r"Matern\(nu=1.2\) has no gradient in torch"):
        Matern(1.2).pairwise(x, x)
    assert_allclose(Matern(1.2).pairwise(x.detach(), x.detach()).numpy(), Matern(1.2)(X))


@pytest.mark.parametrize("kernel", [Matern(), Cauchy(), RationalQuadratic(), InverseMultiquadric()])
def test_values_at_one_distance(kernel):
    r = 0.9
    expected = {
        Matern: (1 + 3**0.5 * r) * np.exp(-(3**0.5) * r),
        Cauchy: 1 / (1 + r**2),
        RationalQuadratic: 1 / (1 + r**2 / 2),
        InverseMultiquadric: 1 / np.sqrt(1 + r**2),
    }[type(kernel)]
    assert kernel([[0.0, 0.0]], [[r, 0.0]])[0, 0] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("cls", [RBF, Exponential, Matern, RationalQuadratic, Cauchy])
@pytest.mark.parametrize("bad", [0, -1.0, np.nan, np.inf, 1e200])
def test_bandwidth_must_be_positive(cls, bad):
    with pytest.raises(ValueError, match="bandwidth must be a positive number"):
        cls(bandwidth=bad)
    with pytest.raises(TypeError, match="bandwidth must be a positive number, got '1'"):
        cls(bandwidth="1")


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda v: Matern(nu=v), "nu"),
        (lambda v: RationalQuadratic(alpha=v), "alpha"),
        (lambda v: InverseMultiquadric(offset=v), "offset"),
        (lambda v: InverseMultiquadric(exponent=v), "exponent"),
        (RBF.from_gamma, "gamma"),
    ],
)
def test_other_parameters_must_be_positive(make, name):
    with pytest.raises(ValueError, match=f"{name} must be a positive number, got -0.5"):
        make(-0.5)
    with pytest.raises(TypeError, match=f"{name} must be a positive number, got True"):
        make(True)
