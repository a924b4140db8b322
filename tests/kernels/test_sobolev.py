"""Reproducing kernels reproduce: f(x) = <f, k_x> in their own inner product, by quadrature."""

from __future__ import annotations

from itertools import pairwise
from math import factorial

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from numpy.testing import assert_allclose
from scipy.integrate import quad

from mercer.kernels import BandLimited, Brownian, HalfLine, Sinc, Sobolev
from tests.support.arrays import torch

POINTS = [0.15, 0.5, 0.83]


def derivatives(function, t, order):
    """f, f', ..., f^(order) at t, by autograd."""
    t = torch.tensor(t, dtype=torch.float64, requires_grad=True)
    values = [function(t)]
    for _ in range(order):
        if not values[-1].requires_grad:
            values.append(torch.zeros_like(t))
            continue
        (slope,) = torch.autograd.grad(values[-1].sum(), t, create_graph=True)
        values.append(slope)
    return [v.detach().numpy() for v in values]


def at(function, x):
    return float(function(torch.tensor(x, dtype=torch.float64)))


def section(kernel, x):
    """k_x."""
    return lambda t: kernel.pairwise(torch.tensor([[x]], dtype=torch.float64), t[:, None])[0]


def nodes(*edges, panels=1):
    """Gauss-Legendre nodes and weights between the edges, at which integrands may break."""
    t, w = leggauss(40)
    cuts = [np.linspace(a, b, panels + 1) for a, b in pairwise(edges)]
    ends = [pair for part in cuts for pair in pairwise(part)]
    places = np.concatenate([(a + b) / 2 + (b - a) / 2 * t for a, b in ends])
    return places, np.concatenate([(b - a) / 2 * w for a, b in ends])


@pytest.mark.parametrize("m", [1, 2, 3, 4])
@pytest.mark.parametrize("x", POINTS)
@pytest.mark.parametrize(
    "f", [lambda t: torch.exp(-2 * t), lambda t: torch.sin(5 * t + 0.3), lambda t: 1 - t**3 + t**5]
)
def test_sobolev_reproduces(m, x, f):
    t, w = nodes(0, x, 1)
    g = section(Sobolev(m), x)
    top = (w * derivatives(f, t, m)[m] * derivatives(g, t, m)[m]).sum()
    start = np.array([1e-300])  # 0, from inside
    jets = sum(
        a * b
        for a, b in zip(derivatives(f, start, m - 1), derivatives(g, start, m - 1), strict=True)
    )
    assert float(jets[0]) + top == pytest.approx(at(f, x), rel=1e-9)


@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_sobolev_is_its_integral(m):
    def printed(x, y):
        def integrand(u):
            return ((x - u) * (y - u)) ** (m - 1) / factorial(m - 1) ** 2

        jets = sum((x * y) ** k / factorial(k) ** 2 for k in range(m))
        return jets + quad(integrand, 0, min(x, y))[0]

    x, y = np.array([0.0, 0.3, 0.9, 1.0]), np.array([0.2, 0.3, 1.0])
    assert_allclose(Sobolev(m)(x, y), [[printed(a, b) for b in y] for a in x], rtol=1e-12)


def test_sobolev_of_order_two_is_the_cubic_spline():
    x, y = np.meshgrid(np.linspace(0, 1, 7), np.linspace(0, 1, 7), indexing="ij")
    low, high = np.minimum(x, y), np.maximum(x, y)
    cubic = 1 + x * y + high * low**2 / 2 - low**3 / 6
    assert_allclose(Sobolev(2)(x[:, 0]), cubic, rtol=1e-14)


@pytest.mark.parametrize("x", [0.4, 2.0])
@pytest.mark.parametrize(
    "f", [lambda t: t * torch.exp(-t), lambda t: torch.sin(t), lambda t: torch.log1p(t)]
)
def test_brownian_reproduces(x, f):
    t, w = nodes(0, x, 5, panels=4)  # k_x' is 0 from x on
    f1, k1 = derivatives(f, t, 1)[1], derivatives(section(Brownian(), x), t, 1)[1]
    assert (w * f1 * k1).sum() == pytest.approx(at(f, x), rel=1e-7)


@pytest.mark.parametrize("x", [0.3, 1.0, 4.0])
@pytest.mark.parametrize(
    "f",
    [
        lambda t: torch.exp(-t),
        lambda t: torch.exp(-(t**2)) * (1 - t),
        lambda t: torch.cos(t) / torch.cosh(t),
    ],
)
def test_half_line_reproduces(x, f):
    t, w = nodes(0, x, x + 60, panels=30)
    (f0, f1), (k0, k1) = derivatives(f, t, 1), derivatives(section(HalfLine(), x), t, 1)
    inner = (w * (f0 * k0 + f1 * k1) * t**2).sum()
    assert inner == pytest.approx(at(f, x), rel=1e-7, abs=1e-12)


def test_half_line_at_the_ends():
    x = np.array([1e-300, 1e-12, 1e-3, 1.0, 700.0, 1e5])
    k = HalfLine()(x)
    assert np.isfinite(k).all()
    assert k[1, 3] == pytest.approx(np.exp(-1), rel=1e-11)  # x -> 0: e^-y / y
    assert k[2, 3] == pytest.approx(np.exp(-1) * np.sinh(1e-3) / 1e-3, rel=1e-13)
    assert k[5, 5] == pytest.approx(0.5e-10, rel=1e-12)


@pytest.mark.parametrize("x", [0.0, 0.7, -2.2])
def test_band_limited_reproduces(x):
    """Of two functions of band a the trapezoid rule of step < pi/a gives the integral exactly."""
    a, h = 2.0, 1.0
    t = np.arange(-20000, 20001) * h
    for f in (
        lambda t: np.sinc(1.0 * (t - 0.4) / np.pi) ** 2,  # band 2 * 1.0
        lambda t: np.sinc(0.5 * (t + 1.3) / np.pi) ** 4,  # band 4 * 0.5
        lambda t: np.sinc(0.6 * t / np.pi) ** 3 * np.cos(0.2 * t),
    ):
        k = BandLimited(a)(np.array([x]), t)[0]
        assert h * (f(t) * k).sum() == pytest.approx(f(x), abs=1e-7)


def test_band_limited_is_a_multiple_of_sinc():
    x, y = np.random.default_rng(0).standard_normal((2, 4))
    assert_allclose(BandLimited(1.7)(x, y), 1.7 / np.pi * Sinc(1.7)(x, y), rtol=1e-14)
    apart = x[:, None] - y
    assert_allclose(BandLimited(1.7)(x, y), np.sin(1.7 * apart) / (np.pi * apart), rtol=1e-12)


def test_columns_multiply():
    x, y = np.random.default_rng(0).uniform(0.1, 1, (2, 5, 3))
    for kernel in (Sobolev(2), Brownian(), HalfLine(), BandLimited()):
        product = np.prod([kernel(x[:, k], y[:, k]) for k in range(3)], axis=0)
        assert_allclose(kernel(x, y), product, rtol=1e-12)


def test_domains():
    with pytest.raises(
        ValueError, match=r"x must have values in \[0, 1\], got values from 0.5 to 2: rescale"
    ):
        Sobolev()([0.5, 2.0])
    with pytest.raises(
        ValueError, match=r"y must have values in \[0, inf\), got values from -1 to 3"
    ):
        Brownian()([0.0], [-1.0, 3.0])
    with pytest.raises(
        ValueError, match=r"x must have values in \(0, inf\), got values from 0 to 3"
    ):
        HalfLine()([0.0, 3.0])
    with pytest.raises(ValueError, match="x must have values"):
        Sobolev().select(1)(np.array([[0.0, 2.0]]))
    with pytest.raises(ValueError, match="order must be at most 10, got 11"):
        Sobolev(11)
    with pytest.raises(ValueError, match="cutoff must be a positive number"):
        BandLimited(-2.0)
