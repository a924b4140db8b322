"""Every closed form lies within its standard errors of Monte Carlo, with covariances that do not commute."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.closed_forms import (
    BAR,
    BLOCK_RULES,
    BOX_RULES,
    GAUSSIAN_RULES,
    POWERS,
    blocks,
    boxes,
    everything,
    expected,
    gaussians,
    products,
)
from mercer.errors import NoRule
from mercer.kernels import RBF, Laplace, Polynomial, Tensor
from mercer.rkhs import Gaussian, MeanMap, Mixture, ProbabilityProduct, Uniform

D = 3
DRAWS = 40_000


def matrix(rng: np.random.Generator) -> np.ndarray:
    a = rng.normal(size=(D, D))
    return 0.3 * a @ a.T + 0.1 * np.eye(D)


@pytest.mark.parametrize("kernel", GAUSSIAN_RULES, ids=repr)
def test_gaussians_and_mixtures(kernel):
    assert expected(kernel, gaussians(), "", DRAWS).worst < BAR


@pytest.mark.parametrize("kernel", BOX_RULES, ids=repr)
def test_boxes(kernel):
    assert expected(kernel, boxes(), "", DRAWS).worst < BAR


@pytest.mark.parametrize("kernel", BLOCK_RULES, ids=repr)
def test_products_over_independent_columns(kernel):
    assert expected(kernel, blocks(), "", DRAWS).worst < BAR


@pytest.mark.parametrize("rho", POWERS)
def test_probability_products(rho):
    assert products(rho, DRAWS).worst < BAR


def test_a_wrong_formula_would_be_seen():
    """Two misprints of the literature lie many standard errors from the draws."""
    rng = np.random.default_rng(2)
    p, q = (Gaussian(2 * rng.normal(size=D), matrix(rng)) for _ in range(2))
    x, y = p.sample(DRAWS, rng=rng), q.sample(DRAWS, rng=rng)
    for kernel, wrong in ((RBF(0.5), _printed_rbf), (Polynomial(3, 1.0), _printed_cubic)):
        values = kernel.paired(x, y)
        standard = values.std() / np.sqrt(DRAWS)
        assert abs(MeanMap(kernel)([p], [q])[0, 0] - values.mean()) < BAR * standard
        assert abs(wrong(p, q) - values.mean()) > 2 * BAR * standard


def _printed_rbf(p: Gaussian, q: Gaussian) -> float:
    """exp(-g/2 |x - y|^2) with S1 + S2 + g I where S1 + S2 + I/g is right; g = 4."""
    g, m, total = 4.0, p.mean - q.mean, p.cov + q.cov
    volume = np.sqrt(np.linalg.det(g * total + np.eye(D)))
    return float(np.exp(-0.5 * m @ np.linalg.solve(total + g * np.eye(D), m)) / volume)


def _printed_cubic(p: Gaussian, q: Gaussian) -> float:
    """6 m_i' S_i S_j m_j where 6 m_j' S_i S_j m_i is right."""
    a, s, t = p.mean @ q.mean + 1, p.cov, q.cov
    second = np.trace(s @ t) + p.mean @ t @ p.mean + q.mean @ s @ q.mean
    return float(a**3 + 6 * p.mean @ s @ t @ q.mean + 3 * a * second)


@pytest.mark.slow
def test_everything_with_a_million_draws():
    found = list(everything(1_000_000))
    assert sum(len(errors.errors) for errors in found) > 400
    assert max(errors.worst for errors in found) < BAR


def test_many_dimensions_do_not_overflow():
    wide = [Gaussian(np.zeros(400), np.full(400, v)) for v in (1e-3, 1.0, 1e3)]
    found = MeanMap(RBF(10.0))(wide)
    v = np.array([1e-3, 1.0, 1e3])
    assert_allclose(np.log(found), -200 * np.log1p((v[:, None] + v) / 100), rtol=1e-10)


def test_full_and_diagonal_covariances_agree():
    rng = np.random.default_rng(4)
    means, variances = rng.normal(size=(6, D)), rng.uniform(0.1, 2.0, size=(6, D))
    plain = [Gaussian(m, v) for m, v in zip(means, variances, strict=True)]
    full = [Gaussian(m, np.diag(v)) for m, v in zip(means, variances, strict=True)]
    for kernel in (RBF(0.8), Polynomial(3, 1.0)):
        assert_allclose(MeanMap(kernel)(full), MeanMap(kernel)(plain), rtol=1e-12)


@pytest.mark.parametrize("rho", [0.5, 0.8, 1.0])
def test_probability_products_by_quadrature(rho):
    rng = np.random.default_rng(5)
    of = [Gaussian(rng.normal(size=2), matrix(rng)[:2, :2]) for _ in range(3)]
    of = [*of, Mixture(of[:2], [0.3, 0.7])] if rho == 1 else of
    t = np.linspace(-9, 9, 601)
    grid = np.stack(np.meshgrid(t, t), axis=-1).reshape(-1, 2)
    powers = np.exp(rho * np.stack([p.log_density(grid) for p in of]))
    assert_allclose(ProbabilityProduct(rho)(of), powers @ powers.T * (t[1] - t[0]) ** 2, rtol=1e-8)


@pytest.mark.parametrize("rho", [0.25, 0.5, 2.0])
def test_probability_products_of_mixtures_and_samples(rho):
    """On a grid for any exponent; for rho = 2 also by the closed form of products of four Gaussians."""
    rng = np.random.default_rng(6)
    components = [
        Gaussian(m, v) for m, v in zip(rng.normal(0, 2, 6), rng.uniform(0.05, 2, 6), strict=True)
    ]
    of = [
        Mixture(components[:2], [0.3, 0.7]),
        Mixture(components[2:], [0.4, 0.3, 0.2, 0.1]),
        components[0],
    ]
    t = np.linspace(-15, 15, 4001)

    def on_grid(densities):
        powers = np.exp(rho * np.stack([p.log_density(t) for p in densities]))
        return powers @ powers.T * (t[1] - t[0])

    assert_allclose(ProbabilityProduct(rho)(of), on_grid(of), rtol=1e-9)
    bags = [rng.normal(m, 1.0, size=(12, 1)) for m in (0.0, 1.0)]
    smooth = [Mixture([Gaussian(p, 0.25) for p in bag]) for bag in bags]
    assert_allclose(ProbabilityProduct(rho, bandwidth=0.5)(bags), on_grid(smooth), rtol=1e-9)
    if rho == 2:
        value = sum(
            a * b * c * d * _four(p, q, r, s)
            for a, p in zip(of[0].weights, of[0].parts, strict=True)
            for b, q in zip(of[0].weights, of[0].parts, strict=True)
            for c, r in zip(of[1].weights, of[1].parts, strict=True)
            for d, s in zip(of[1].weights, of[1].parts, strict=True)
        )
        assert_allclose(ProbabilityProduct(rho)(of)[0, 1], value, rtol=1e-9)


def _four(*parts):
    """Integral of the product of normal densities on the line."""
    means, precisions = (
        np.array([float(v) for v in values])
        for values in ([p.mean[0] for p in parts], [1 / p.cov.ravel()[0] for p in parts])
    )
    total = precisions.sum()
    centre = precisions @ means / total
    logs = 0.5 * np.sum(np.log(precisions / (2 * np.pi))) + 0.5 * np.log(2 * np.pi / total)
    return np.exp(logs - 0.5 * precisions @ (means - centre) ** 2)


def test_probability_products_of_mixtures_in_several_dimensions():
    """The Bhattacharyya kernel of equal densities is 1, and others agree with draws."""
    rng = np.random.default_rng(7)
    of = [Mixture([Gaussian(rng.normal(size=4), 1.0) for _ in range(2)]) for _ in range(2)]
    kernel = ProbabilityProduct(0.5)(of)
    assert_allclose(
        np.diagonal(kernel), 1.0, atol=1e-6
    )  # at equal densities the integrand is constant
    x = of[0].sample(40_000, rng=0)
    ratios = np.exp((of[1].log_density(x) - of[0].log_density(x)) / 2)
    assert abs(kernel[0, 1] - ratios.mean()) < 5 * ratios.std() / 200 + 1e-3


def test_no_rule_says_what_to_do():
    gaussian = Gaussian(np.zeros(2), 1.0)
    with pytest.raises(NoRule, match=r"take draws instead, such as Empirical\(p.sample"):
        MeanMap(Laplace(1.0))([gaussian])
    dependent = Gaussian(np.zeros(2), [[1.0, 0.5], [0.5, 1.0]])
    with pytest.raises(NoRule, match="are correlated"):
        MeanMap(Tensor(RBF(1.0), RBF(1.0)))([dependent])
    with pytest.raises(NoRule, match="of a Product for Gaussians.*are correlated"):
        MeanMap(RBF(1.0).select(0) * RBF(1.0).select(1))([dependent])
    for kernel in (RBF(1.0) * RBF(2.0), RBF(1.0).select(0) * Polynomial(2).select([1, -2])):
        with pytest.raises(NoRule, match="factors use the same columns"):
            MeanMap(kernel)([dependent])
    with pytest.raises(NoRule, match="with correlated coordinates"):
        MeanMap(RBF(1.0))([dependent, Uniform([0.0, 0.0], [1.0, 1.0])])
    with pytest.raises(NoRule, match="have no density: pass a bandwidth.*or fit"):
        ProbabilityProduct(0.5)([np.zeros((3, 2))])


def test_wrong_boxes():
    with pytest.raises(ValueError, match="same length, got 2 and 1"):
        Uniform([0.0, 0.0], [1.0])
    with pytest.raises(ValueError, match="lower must be below upper, got 2 and 1 in coordinate 1"):
        Uniform([0.0, 2.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="NaN"):
        Uniform([np.nan], [1.0])
    with pytest.raises(ValueError, match="x must have 1 columns"):
        Uniform(0.0, 1.0).log_density(np.zeros((2, 2)))
    draws = Uniform([0.0, 5.0], [1.0, 6.0]).sample(1000, rng=0)
    assert_allclose(draws.mean(axis=0), [0.5, 5.5], atol=0.05)
