"""Spectra: the Fourier integral of every density is its kernel, and so is the mean over frequencies."""

from math import pi

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import kstest, multivariate_t

from mercer.backend import to_numpy
from mercer.errors import NoRule
from mercer.kernels import (
    RBF,
    BandLimited,
    BSpline,
    Cauchy,
    Constant,
    Cosine,
    Delta,
    Dirichlet,
    Exponential,
    Fejer,
    HalfLine,
    InverseMultiquadric,
    Laplace,
    Linear,
    Matern,
    Poisson,
    RationalQuadratic,
    Sinc,
    Tensor,
)
from mercer.kernels.facts import facts
from mercer.kernels.spectral_density import sample_frequencies, spectral_density
from tests.support.arrays import torch
from tests.support.zoo import IDS, ZOO

DENSE = [
    RBF(1.3),
    Exponential(0.8),
    Matern(0.3, 1.2),
    Matern(1.5, 0.7),
    Matern(2.7, 1.1),
    Matern(80.0, 1.1),
    Laplace(1.4),
    RationalQuadratic(0.3, 1.2),
    RationalQuadratic(0.5, 1.2),
    RationalQuadratic(1.0, 0.9),
    RationalQuadratic(1.5, 1.1),
    RationalQuadratic(4.2, 1.3),
    RationalQuadratic(400.0, 1.3),
    Cauchy(0.9),
    InverseMultiquadric(0.7, 0.5),
    InverseMultiquadric(1.3, 2.0),
    BSpline(1, 0.8),
    BSpline(3, 1.5),
    BSpline(7, 0.6),
    Sinc(1.7),
    BandLimited(2.1),
    RBF(0.5) + 2 * Laplace(1.5),
    3 * RBF(1.3),
    (3 * Cauchy(1.3)).normalized(),
    RBF(1.3).scaled(-0.6),
]
ATOMIC = [
    Constant(2.0),
    Cosine(1.6),
    Poisson(0.6),
    Poisson(0.05),
    Dirichlet(1),
    Dirichlet(4),
    Fejer(1),
    Fejer(3),
    RBF(1.0) + 0.5,
    RBF(1.0) + Cosine(2.0),
    RBF(1.2).exp(1.5),
    Poisson(0.4).exp(0.3),
    RBF(0.9).exp(0.0),
    RBF(0.9) ** 0,
    RBF(0.9).scaled(0.0),
]
PRODUCTS = [
    RBF(0.9) * Laplace(2.0),
    RBF(1.1) * Cosine(2.0),
    (RBF(1.1) + 1) * Cauchy(1.0),
    RBF(1.4) ** 3,
    (Laplace(2.0) + Cosine(1.0)) ** 2,
]


def top(kernel, d):
    return float(kernel.diag(np.zeros((1, d)))[0])


def on_the_line(kernel, delta):
    return float(kernel(np.array([delta]), np.array([0.0]))[0, 0])


def density(kernel, *omega):
    return float(spectral_density(kernel, np.array([omega], dtype=float))[0])


def fourier(kernel, delta):
    """2 int_0^inf p(w) cos(w delta) dw."""
    if isinstance(kernel, Sinc | BandLimited):
        return 2 * quad(lambda w: density(kernel, w) * np.cos(w * delta), 0, kernel.cutoff)[0]
    near = quad(lambda w: density(kernel, w) * np.cos(w * delta), 0, 2, limit=200)[0]
    if delta == 0:
        return 2 * (near + quad(lambda w: density(kernel, w), 2, np.inf, limit=500)[0])
    options = {"weight": "cos", "wvar": delta, "limit": 500, "limlst": 500, "epsabs": 1e-7}
    return 2 * (near + quad(lambda w: density(kernel, w), 2, np.inf, **options)[0])


@pytest.mark.parametrize("kernel", [k for k in DENSE if not isinstance(k, BSpline)], ids=repr)
@pytest.mark.parametrize("delta", [0.0, 0.7, 2.3])
def test_fourier_integral_of_the_density_is_the_kernel(kernel, delta):
    assert_allclose(fourier(kernel, delta), on_the_line(kernel, delta), atol=2e-6)


@pytest.mark.parametrize("kernel", [k for k in DENSE if isinstance(k, BSpline)], ids=repr)
def test_fourier_sum_of_the_b_spline_density_is_the_kernel(kernel):
    """k has bounded support: by Poisson's formula a sum over frequencies is exact (and converges)."""
    step = 2 * pi / (4 * kernel.bandwidth * (kernel.order + 1))
    omega = step * np.arange(-200_000, 200_001)
    for delta in (0.0, 0.4, 1.1):
        total = step * np.sum(spectral_density(kernel, omega) * np.cos(omega * delta))
        assert_allclose(total, on_the_line(kernel, delta), atol=1e-5)  # the tail of a hat's 1/w^2


@pytest.mark.parametrize("kernel", DENSE, ids=repr)
@pytest.mark.parametrize("d", [1, 2])
def test_densities_in_more_dimensions_have_the_densities_in_fewer_as_marginals(kernel, d):
    at = np.array([0.45, 0.8][:d])
    end = kernel.cutoff if isinstance(kernel, Sinc | BandLimited) else np.inf
    end = 400 * pi / kernel.bandwidth if isinstance(kernel, BSpline) else end
    total = 2 * quad(lambda w: density(kernel, *at, w), 0, end, limit=2000)[0]
    expected = density(kernel, *at) * top(kernel, d + 1) / top(kernel, d)
    assert_allclose(total, expected, rtol=2e-3 if isinstance(kernel, BSpline) else 1e-6)


@pytest.mark.parametrize("kernel", DENSE + ATOMIC + PRODUCTS, ids=repr)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_mean_cosine_over_frequencies_is_the_kernel(kernel, d):
    n = 20_000
    w = sample_frequencies(kernel, n, d, rng=5)
    assert w.shape == (n, d)
    assert w.dtype == np.float64
    delta = np.random.default_rng(1).normal(size=(6, d))
    estimate = np.cos(w @ delta.T).mean(axis=0)
    exact = kernel(delta, np.zeros((1, d)))[:, 0] / top(kernel, d)
    assert_allclose(estimate, exact, atol=5 / np.sqrt(n))  # five standard errors at least


@pytest.mark.parametrize("kernel", [k for k in DENSE if not isinstance(k, BSpline)], ids=repr)
def test_frequencies_have_the_density(kernel):
    """Through the arctangent, which makes every tail short."""
    w = sample_frequencies(kernel, 2_000, 1, rng=3)[:, 0]
    grid = np.linspace(-pi / 2, pi / 2, 40_001)[1:-1]
    values = spectral_density(kernel, np.tan(grid)) / np.cos(grid) ** 2 / top(kernel, 1)
    values = np.where(np.isfinite(values), values, 0.0)
    table = np.cumsum(values) * (grid[1] - grid[0])
    assert_allclose(table[-1], 1, atol=2e-2)  # poles at 0 lose a little on the grid
    result = kstest(np.arctan(w), lambda t: np.interp(t, grid, table))
    assert result.pvalue > 1e-4


def test_matern_density_is_students_t():
    omega = np.random.default_rng(0).normal(size=(7, 3))
    student = multivariate_t(shape=np.eye(3) / 0.7**2, df=3.0)
    assert_allclose(spectral_density(Matern(1.5, 0.7), omega), student.pdf(omega), rtol=1e-12)


@pytest.mark.parametrize("d", [1, 3, 8])
def test_matern_and_rational_quadratic_densities_tend_to_the_gaussian(d):
    omega = np.random.default_rng(0).normal(size=(7, d))
    limit = spectral_density(RBF(0.9), omega)
    for large in (Matern(1e7, 0.9), Matern(1e120, 0.9)):
        assert_allclose(spectral_density(large, omega), limit, rtol=1e-5)
    for large in (RationalQuadratic(1e7, 0.9), RationalQuadratic(1e100, 0.9)):
        assert_allclose(spectral_density(large, omega), limit, rtol=1e-5)


@pytest.mark.parametrize(
    "kernel", [Matern(1e120), RationalQuadratic(1e120), Matern(1e-3)], ids=repr
)
def test_extreme_parameters_give_finite_frequencies(kernel):
    assert np.all(np.isfinite(sample_frequencies(kernel, 5_000, 2, rng=0)))


def test_densities_without_integral_at_zero_are_infinite_there():
    assert density(RationalQuadratic(0.5), 0.0) == np.inf
    assert density(RationalQuadratic(0.3), 0.0) == np.inf
    assert density(RationalQuadratic(1.0), 0.0, 0.0) == np.inf
    assert_allclose(density(RationalQuadratic(1.0, 1.0), 0.0), 1 / np.sqrt(2))


def test_tensor_columns_and_scales():
    kernel = Tensor(RBF(1.2), Laplace(0.7), widths=(2, 1)).select((2, 0, 1)).scaled((2.0, 1.0, 0.5))
    omega = np.random.default_rng(0).normal(size=(5, 3))
    inner = omega / np.array([2.0, 1.0, 0.5])
    expected = spectral_density(RBF(1.2), inner[:, [2, 0]]) * spectral_density(
        Laplace(0.7), inner[:, 1:2]
    )
    assert_allclose(spectral_density(kernel, omega), expected, rtol=1e-12)
    w = sample_frequencies(kernel, 20_000, 3, rng=2)
    delta = np.random.default_rng(1).normal(size=(6, 3))
    assert_allclose(
        np.cos(w @ delta.T).mean(axis=0), kernel(delta, np.zeros((1, 3)))[:, 0], atol=0.03
    )


def test_columns_that_are_not_selected_have_frequency_zero():
    kernel = RBF(1.0).select((0, -1))
    w = sample_frequencies(kernel, 50, 3, rng=0)
    assert np.all(w[:, 1] == 0)
    assert np.all(w[:, [0, 2]] != 0)
    with pytest.raises(NoRule, match="not selected"):
        spectral_density(kernel, np.zeros((1, 3)))
    twice = sample_frequencies(RBF(1.0).select((0, 0)), 20_000, 1, rng=0)  # k(sqrt(2) delta)
    assert_allclose(np.cos(twice).mean(), np.exp(-1), atol=0.03)


def frequencies(entry):
    d = entry.sample(np.random.default_rng(0), 3).shape[1]
    return sample_frequencies(entry.kernel, 3, d, rng=0)


def test_zoo_kernels_with_frequencies_are_stationary():
    """Some stationary kernels have no rule; what is not stationary on R^d can have none."""
    found = 0
    for name, entry in zip(IDS, ZOO, strict=True):
        try:
            w = frequencies(entry)
        except NoRule as error:
            assert "Nystrom" in str(error), name
            continue
        assert facts(entry.kernel).stationary, name
        assert "Delta" not in name
        assert len(w) == 3
        found += 1
    assert found >= 25


@pytest.mark.parametrize("kernel", ATOMIC, ids=repr)
def test_spectra_with_masses_have_no_density(kernel):
    with pytest.raises(
        NoRule, match="masses at single frequencies|mass at frequency 0|convolution"
    ):
        spectral_density(kernel, [0.3])


@pytest.mark.parametrize("kernel", PRODUCTS, ids=repr)
def test_products_have_no_density_but_frequencies(kernel):
    with pytest.raises(NoRule, match="convolution"):
        spectral_density(kernel, [0.3])


@pytest.mark.parametrize(
    "kernel", [Linear(), Delta(), HalfLine().scaled(2.0), RBF(1.0).on(Linear())], ids=repr
)
def test_kernels_without_a_spectrum_say_what_to_do(kernel):
    with pytest.raises(NoRule, match="Nystrom"):
        spectral_density(kernel, [0.3])
    with pytest.raises(NoRule, match="Nystrom"):
        sample_frequencies(kernel, 3, 1)


def test_wrong_arguments():
    with pytest.raises(TypeError, match="kernel must be a kernel"):
        spectral_density("rbf", [0.0])
    with pytest.raises(ValueError, match="n must be"):
        sample_frequencies(RBF(), 0, 1)
    with pytest.raises(TypeError, match="dim must be"):
        sample_frequencies(RBF(), 3, 1.0)
    with pytest.raises(ValueError, match="one number per column"):
        sample_frequencies(RBF().scaled((1.0, 2.0)), 3, 3)
    with pytest.raises(ValueError, match="no column 4"):
        sample_frequencies(RBF().select(4), 3, 3)
    with pytest.raises(TypeError, match="is a name"):
        sample_frequencies(RBF().select("a"), 3, 3)
    with pytest.raises(ValueError, match="do not split evenly"):
        sample_frequencies(Tensor(RBF(), RBF()), 3, 3)
    with pytest.raises(ValueError, match="NaN"):
        spectral_density(RBF(), [np.nan])


def test_frequencies_are_reproducible():
    kernel = RBF(1.0) + BSpline(3).exp(0.5) * Matern(1.3)
    first = sample_frequencies(kernel, 100, 2, rng=7)
    assert np.array_equal(first, sample_frequencies(kernel, 100, 2, rng=np.random.default_rng(7)))
    assert not np.array_equal(first, sample_frequencies(kernel, 100, 2, rng=8))


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_density_of_tensors_is_a_tensor(name):
    dtype = getattr(torch, name)
    omega = torch.linspace(-2, 2, 5, dtype=dtype)
    ours = spectral_density(Matern(1.5), omega)
    assert ours.dtype == dtype
    assert_allclose(to_numpy(ours), spectral_density(Matern(1.5), omega.numpy()), rtol=1e-6)
    with pytest.raises(TypeError, match="detach"):
        spectral_density(Matern(1.5), omega.requires_grad_())
