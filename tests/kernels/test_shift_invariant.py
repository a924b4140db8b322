"""Shift-invariant kernels against their Fourier sums, convolutions and spectra."""

from __future__ import annotations

from math import pi

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.interpolate import BSpline as SciPyBSpline

from mercer.kernels import BSpline, Cosine, Dirichlet, Fejer, Poisson, Sinc

T = np.concatenate([np.linspace(-7, 7, 201), 2 * pi * np.arange(-3, 4), [1e-9, 2 * pi + 1e-7]])
ZERO = np.zeros(1)


def on_the_line(kernel, t=T):
    return kernel(t, ZERO)[:, 0]


def fourier(weights):
    """sum over k = -n..n of weights[|k|] e^(ikt), at T."""
    terms = [2 * w * np.cos(k * T) for k, w in enumerate(weights) if k]
    return np.sum([np.full_like(T, weights[0]), *terms], axis=0)


@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_dirichlet_sums_all_frequencies_up_to_n(n):
    assert_allclose(on_the_line(Dirichlet(n)), fourier(np.ones(n + 1)), atol=1e-11 * n)


@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_fejer_weighs_them_by_a_triangle(n):
    weights = 1 - np.arange(n + 1) / (n + 1)
    assert_allclose(on_the_line(Fejer(n)), fourier(weights), atol=1e-11 * n)
    mean = np.mean([np.ones_like(T)] + [on_the_line(Dirichlet(m)) for m in range(1, n + 1)], axis=0)
    assert_allclose(on_the_line(Fejer(n)), mean, atol=1e-11 * n)


@pytest.mark.parametrize("q", [0.1, 0.6, 0.95])
def test_poisson_weighs_them_by_powers(q):
    weights = q ** np.arange(1000)
    assert_allclose(on_the_line(Poisson(q)), fourier(weights), rtol=1e-9)


def test_poisson_near_the_end_of_its_range():
    q = 1 - 1e-12
    near, far = on_the_line(Poisson(q), np.array([0.0, 1.0]))
    assert near == pytest.approx((1 + q) / (1 - q), rel=1e-12)
    assert far == pytest.approx((1 - q**2) / (2 - 2 * np.cos(1.0)), rel=1e-9)


@pytest.mark.parametrize("kernel", [Dirichlet(4), Fejer(4), Fejer(3), Poisson(0.7)], ids=str)
def test_period_is_two_pi(kernel):
    t = np.linspace(-3, 3, 31)
    for turns in (1, -1, 2, 1000):
        assert_allclose(on_the_line(kernel, t + 2 * pi * turns), on_the_line(kernel, t), atol=1e-9)
    whole_turns = 2 * pi * np.arange(-50, 51)
    assert_allclose(on_the_line(kernel, whole_turns), kernel.diag(np.zeros((101, 1))), rtol=1e-9)


@pytest.mark.parametrize("n", [1, 3, 5, 9, 15])
def test_bspline_is_scipys(n):
    knots = np.arange(n + 2) - (n + 1) / 2
    spline = SciPyBSpline.basis_element(knots, extrapolate=False)
    theirs = np.nan_to_num(spline(T / 1.3)) / spline(0.0)
    assert_allclose(on_the_line(BSpline(n, 1.3)), theirs, atol=3e-13)


def test_bspline_is_a_convolution_of_boxes():
    h = 1e-3
    t = np.arange(-2000, 2001) * h
    box = np.where(np.abs(t) < 0.5 - h / 4, 1.0, 0.0)
    box[[1500, 2500]] = 0.5  # the trapezoid rule
    hat = np.convolve(box, box, mode="same") * h
    cubic = np.convolve(hat, hat, mode="same") * h
    assert_allclose(on_the_line(BSpline(1), t), hat, atol=h)
    assert_allclose(on_the_line(BSpline(3), t), cubic / cubic[2000], atol=h)


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("t", [0.0, 0.4, 1.1, 2.5])
def test_bspline_is_the_transform_of_an_even_power_of_sinc(n, t):
    power = quad(lambda w: np.sinc(w / (2 * pi)) ** (n + 1) * np.cos(w * t), 0, 400, limit=4000)[0]
    top = quad(lambda w: np.sinc(w / (2 * pi)) ** (n + 1), 0, 400, limit=4000)[0]
    assert on_the_line(BSpline(n), np.array([t]))[0] == pytest.approx(power / top, abs=2e-3)


def test_bspline_of_even_order_is_refused_with_the_reason():
    with pytest.raises(ValueError, match=r"order must be odd, got 2: .* takes negative values"):
        BSpline(2)
    x = np.linspace(0, 4, 30)  # and this is why: the quadratic spline is not positive definite
    knots = np.arange(4) - 1.5
    spline = SciPyBSpline.basis_element(knots, extrapolate=False)
    gram = np.nan_to_num(spline(x[:, None] - x))
    assert np.linalg.eigvalsh(gram)[0] < -1e-2
    with pytest.raises(ValueError, match=r"order must be at most 15, got 17: .* RBF"):
        BSpline(17)


def test_bspline_tends_to_a_gaussian():
    gaussian = np.exp(-(T**2) / (2 * 16 / 12))
    assert_allclose(on_the_line(BSpline(15)), gaussian, atol=0.012)


@pytest.mark.parametrize("t", [0.0, 1e-9, 0.4, 3.0])
def test_sinc_has_a_flat_spectrum_up_to_its_cutoff(t):
    mean = quad(lambda w: np.cos(w * t), 0, 2.5)[0] / 2.5
    assert on_the_line(Sinc(2.5), np.array([t]))[0] == pytest.approx(mean, abs=1e-12)


def test_cosine():
    assert_allclose(on_the_line(Cosine(1.7)), np.cos(1.7 * T), rtol=1e-14)


def test_columns_multiply():
    x, y = np.random.default_rng(0).standard_normal((2, 5, 3))
    for kernel in (BSpline(3), Sinc(), Cosine(), Poisson(), Dirichlet(2), Fejer(2)):
        product = np.prod([kernel(x[:, k], y[:, k]) for k in range(3)], axis=0)
        assert_allclose(kernel(x, y), product, rtol=1e-12)


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="decay must be between 0 and 1, got 1"):
        Poisson(1.0)
    with pytest.raises(ValueError, match="order must be a whole number of at least 1, got 0"):
        Dirichlet(0)
    with pytest.raises(TypeError, match=r"order must be a whole number, got 1.5"):
        Fejer(1.5)
    with pytest.raises(ValueError, match="cutoff must be a positive number"):
        Sinc(0.0)
    with pytest.raises(ValueError, match="frequency must be a positive number"):
        Cosine(-1.0)
