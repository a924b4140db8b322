"""Every closed form lies within its standard errors of Monte Carlo, with covariances that do not commute."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.errors import NoRule
from mercer.kernels import RBF, Constant, Kernel, Laplace, Linear, Polynomial, Tensor
from mercer.rkhs import Dirac, Empirical, Gaussian, MeanMap, Mixture, ProbabilityProduct, Uniform

D = 3


def matrix(rng: np.random.Generator) -> np.ndarray:
    a = rng.normal(size=(D, D))
    return 0.3 * a @ a.T + 0.1 * np.eye(D)


def distributions() -> dict[str, object]:
    rng = np.random.default_rng(0)
    first, second = (Gaussian(rng.normal(size=D), matrix(rng)) for _ in range(2))
    return {
        "full": first,
        "other": second,
        "diagonal": Gaussian(rng.normal(size=D), [0.2, 1.0, 0.5]),
        "isotropic": Gaussian(rng.normal(size=D), 0.7),
        "mixture": Mixture([first, Gaussian(np.ones(D), 0.3)], [0.3, 0.7]),
        "sample": Empirical(rng.normal(size=(5, D)), [0.1, 0.2, 0.3, 0.2, 0.2]),
        "point": Dirac(rng.normal(size=D)),
    }


GAUSSIAN_RULES: list[Kernel] = [
    RBF(1.3),
    Linear(),
    Linear(((2.0, 0.5, 0.0), (0.5, 1.0, 0.0), (0.0, 0.0, 3.0))),
    Polynomial(2, 1.0),
    Polynomial(3, 0.5),
    Polynomial(4, 1.0),
    Polynomial(5, 0.3),
    2.0 * RBF(0.7) + Linear(),
    RBF(1.0) + Constant(0.5),
    RBF(1.0).scaled((1.0, -0.5, 2.0)),
    RBF(1.0).select([0, 2]),
]


def largest_error(kernel: Kernel, of: dict[str, object], draws: int) -> float:
    """In standard errors, over all pairs; beside them rounding of what does not vary."""
    rng = np.random.default_rng(1)
    found = MeanMap(kernel)(list(of.values()))
    worst = 0.0
    for (i, p), (j, q) in product(enumerate(of.values()), repeat=2):
        values = kernel.paired(p.sample(draws, rng=rng), q.sample(draws, rng=rng))  # type: ignore[attr-defined]
        error = values.std() / np.sqrt(draws) + 1e-10
        worst = max(worst, abs(values.mean() - found[i, j]) / error)
    return worst


@pytest.mark.parametrize("kernel", GAUSSIAN_RULES, ids=repr)
def test_gaussians_and_mixtures(kernel):
    assert largest_error(kernel, distributions(), 40_000) < 4.5


@pytest.mark.slow
@pytest.mark.parametrize("kernel", GAUSSIAN_RULES, ids=repr)
def test_gaussians_and_mixtures_with_a_million_draws(kernel):
    assert largest_error(kernel, distributions(), 1_000_000) < 4.5


BOXES = {
    "box": Uniform([0.0, 0.0, 0.0], [1.0, 2.0, 0.5]),
    "around it": Uniform([-1.0, -1.0, -3.0], [1.0, 3.0, 0.5]),
    "apart": Uniform([2.0, 2.0, 2.0], [2.1, 5.0, 3.0]),
    "diagonal": Gaussian([0.0, 1.0, 0.0], [0.2, 1.0, 2.0]),
    "sample": Empirical(np.random.default_rng(3).normal(size=(4, D))),
}


@pytest.mark.parametrize(
    "kernel", [RBF(1.3), RBF(0.5), Linear(), Tensor(RBF(1.0), RBF(2.0), widths=(1, 2))], ids=repr
)
def test_boxes(kernel):
    assert largest_error(kernel, BOXES, 40_000) < 4.5


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


def test_no_rule_says_what_to_do():
    gaussian, mixture = Gaussian(np.zeros(2), 1.0), Mixture([Gaussian(np.zeros(2), 1.0)] * 2)
    with pytest.raises(NoRule, match=r"take draws instead, such as Empirical\(p.sample"):
        MeanMap(Laplace(1.0))([gaussian])
    dependent = Gaussian(np.zeros(2), [[1.0, 0.5], [0.5, 1.0]])
    with pytest.raises(NoRule, match="depend on each other"):
        MeanMap(Tensor(RBF(1.0), RBF(1.0)))([dependent])
    with pytest.raises(NoRule, match="with covariances"):
        MeanMap(RBF(1.0))([dependent, Uniform([0.0, 0.0], [1.0, 1.0])])
    with pytest.raises(NoRule, match="only with rho = 1"):
        ProbabilityProduct(0.5)([mixture])
    with pytest.raises(NoRule, match="no density of their own"):
        ProbabilityProduct(0.5)([np.zeros((3, 2))])


def test_wrong_boxes():
    with pytest.raises(ValueError, match="as many numbers, got 2 and 1"):
        Uniform([0.0, 0.0], [1.0])
    with pytest.raises(ValueError, match="lower must be below upper, got 2 and 1 in coordinate 1"):
        Uniform([0.0, 2.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="NaN"):
        Uniform([np.nan], [1.0])
    with pytest.raises(ValueError, match="x must have 1 columns"):
        Uniform(0.0, 1.0).log_density(np.zeros((2, 2)))
    draws = Uniform([0.0, 5.0], [1.0, 6.0]).sample(1000, rng=0)
    assert_allclose(draws.mean(axis=0), [0.5, 5.5], atol=0.05)
