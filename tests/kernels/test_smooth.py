"""Radial forms: the same numbers as the kernel, and derivatives that autograd agrees with."""

import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.backend import to_numpy
from mercer.kernels.algebra import Constant
from mercer.kernels.compose import Tensor
from mercer.kernels.radial import RBF, Cauchy, Exponential, InverseMultiquadric, Laplace, Matern
from mercer.kernels.radial import RationalQuadratic as RQ
from mercer.kernels.smooth import RadialForm, radial_form
from tests.support.arrays import torch

SMOOTH = [
    RBF(1.3),
    RQ(0.7, 1.4),
    Cauchy(0.8),
    InverseMultiquadric(1.2, 0.6),
    Constant(2.0),
    RBF(1.3) + Cauchy(0.8),
    RBF(1.3) * RQ(0.7, 1.4) * Cauchy(2.0),
    3 * RBF(0.9) + 1,
    0 * RBF(0.9),
    RBF(1.1) ** 0,
    RBF(1.1) ** 1,
    RBF(1.1) ** 2,
    (RBF(1.1) + 0.5) ** 3,
    (2 * Cauchy(1.2)).exp(0.4),
    RBF(0.7).exp(0.0),
    InverseMultiquadric(0.5, 0.6).normalized(),
    (0 * RBF(0.9)).normalized(),
    RBF(1.3).scaled(0.5),
    RBF(1.3).scaled((-0.5, 0.5, 0.5)),
    (RBF(1.3) + Cauchy(1.0)).scaled(0.0),
    RBF(0.6).on(2 * Cauchy(1.2) + 1),
    (RBF(1.0) * Cauchy(2.0) + RBF(3.0).scaled(0.3).exp()).normalized(),
]
ROUGH = [
    Exponential(1.1),
    Matern(1.5, 1.1),
    Exponential(1.1) + RBF(1.0),
    RBF(1.0) * Exponential(1.1),
    Exponential(1.1) ** 2,
    2 * Exponential(1.1),
    Exponential(1.1).exp(),
    Exponential(1.1).normalized(),
    Exponential(1.1).scaled(2.0),
    Exponential(1.1).on(RBF(1.0)),
    RBF(1.0).on(Exponential(1.1)),
]
OTHER = [
    Laplace(1.0),
    RBF(1.0) + Laplace(1.0),
    RBF(1.0) * Laplace(1.0),
    RBF(1.0).select((0, 1)),
    RBF(1.0).scaled((1.0, 2.0, 1.0)),
    RBF(1.0).weighted(lambda x: x[:, 0]),
    RBF(1.0).transformed(lambda x: 2 * x),
    RBF(1.0).on(Laplace(1.0)),
    Laplace(1.0).normalized(),
    Laplace(1.0) ** 2,
    2 * Laplace(1.0),
    Laplace(1.0).exp(),
    Laplace(1.0).scaled(2.0),
    Tensor(RBF(1.0), RBF(1.0), RBF(1.0)),
]


def points(n, seed):
    return np.random.default_rng(seed).normal(size=(n, 3))


def squared_distances(x, y):
    return ((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=2)


@pytest.mark.parametrize("kernel", SMOOTH + ROUGH, ids=repr)
def test_profile_is_the_kernel(kernel):
    x, y = points(7, 0), points(5, 1)
    r2 = squared_distances(x, y)
    assert_allclose(radial_form(kernel).profile(r2), kernel(x, y), rtol=1e-12)


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
def test_derivatives_agree_with_autograd(kernel):
    form = radial_form(kernel)
    r2 = torch.linspace(0.01, 9.0, 40, dtype=torch.float64, requires_grad=True)
    value = form.profile(r2)
    if not value.requires_grad:
        value = value + 0 * r2
    (slope,) = torch.autograd.grad(value.sum(), r2, create_graph=True)
    (curvature,) = torch.autograd.grad((slope + 0 * r2).sum(), r2)
    plain = r2.detach()
    assert_allclose(form.slope(plain), slope.detach(), rtol=1e-10, atol=1e-14)
    assert_allclose(form.curvature(plain), curvature, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
def test_derivatives_exist_at_zero(kernel):
    form, at, h = radial_form(kernel), np.zeros(1), 1e-6
    difference = (form.profile(at + h) - form.profile(at)) / h
    assert_allclose(form.slope(at), difference, rtol=1e-4, atol=1e-8)
    difference = (form.slope(at + h) - form.slope(at)) / h
    assert_allclose(form.curvature(at), difference, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("kernel", ROUGH, ids=repr)
def test_rough_parts_leave_no_derivatives(kernel):
    form = radial_form(kernel)
    assert isinstance(form, RadialForm)
    assert form.slope is None
    assert form.curvature is None


@pytest.mark.parametrize("kernel", OTHER, ids=lambda k: type(k).__name__)
def test_kernels_that_are_not_radial_have_no_form(kernel):
    assert radial_form(kernel) is None


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
@pytest.mark.parametrize(
    "convert", [lambda x: torch.tensor(x), array_api_strict.asarray], ids=["torch", "strict"]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_forms_are_the_same_in_every_library(kernel, convert, dtype):
    form = radial_form(kernel)
    r2 = np.linspace(0, 4, 12, dtype=dtype).reshape(3, 4)
    for function in (form.profile, form.slope, form.curvature):
        ours = function(convert(r2))
        assert str(ours.dtype).endswith(dtype)
        assert_allclose(to_numpy(ours), function(r2), rtol=50 * np.finfo(dtype).eps, atol=1e-30)


def test_common_scale_moves_nothing_else():
    form, plain = radial_form(RBF(1.0).scaled(3.0)), radial_form(RBF(1 / 3))
    r2 = np.linspace(0, 1, 5)
    assert_allclose(form.profile(r2), plain.profile(r2), rtol=1e-13)
    assert_allclose(form.slope(r2), plain.slope(r2), rtol=1e-13)
    assert_allclose(form.curvature(r2), plain.curvature(r2), rtol=1e-13)
