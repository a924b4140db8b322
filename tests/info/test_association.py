"""Measures of association: their integrals by brute force, their extreme values and invariances."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from mercer.info import (
    Blomqvist,
    CentredCorrentropy,
    CopulaMMD,
    Correntropy,
    CorrentropyCoefficient,
    CorrentropyMetric,
    Hoeffding,
    SchweizerWolff,
    Spearman,
    SpearmanTail,
    association,
)
from mercer.kernels import RBF
from mercer.rkhs import mmd2

rng = np.random.default_rng(3)
SAMPLE = rng.normal(size=(60, 3)) @ np.array([[1.0, 0.7, 0.3], [0.0, 1.0, -0.4], [0.0, 0.0, 1.0]])
RANKED = [*(Spearman(k) for k in (1, 2, 3, 4)), SpearmanTail(), SpearmanTail("upper", 0.4), Blomqvist(), Hoeffding(), Hoeffding(False), CopulaMMD(RBF(0.3))]  # fmt: skip


def copula(u, at):
    return np.mean(np.all(u[None] <= at[:, None], axis=2), axis=1)


def midpoints(n, d, low=0.0, high=1.0):
    axis = low + (high - low) * (np.arange(n) + 0.5) / n
    return np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1).reshape(-1, d)


def ranks(columns):
    return np.argsort(np.argsort(columns, axis=0), axis=0) + 1


@pytest.mark.parametrize(("n", "d"), [(60, 2), (20, 3)])
def test_they_are_integrals_of_the_empirical_copula(n, d):
    """By the cells between multiples of 1/n, on which the empirical copula is constant."""
    x = SAMPLE[:n, :d]
    u, grid = ranks(x) / n, midpoints(n, d)
    volume, h = copula(u, grid).mean(), (d + 1) / (2**d - d - 1)
    assert_allclose(association(x), h * (2**d * volume - 1), atol=1e-12)
    upper = h * (2**d * np.mean(np.prod(u, axis=1)) - 1)
    assert_allclose(association(x, measure=Spearman(2)), upper, atol=1e-12)
    assert_allclose(association(x, measure=Spearman(3)), (association(x) + upper) / 2, atol=1e-12)
    pairs = [association(x[:, p]) for p in map(list, combinations(range(d), 2))]
    assert_allclose(association(x, measure=Spearman(4)), np.mean(pairs), atol=1e-12)
    # a tail of 40% of the ranks, by the same cells
    for measure, low in ((SpearmanTail("lower", 0.4), 0.0), (SpearmanTail("upper", 0.4), 0.6)):
        cells = midpoints(2 * n // 5, d, low, low + 0.4)
        volumes = [
            0.4**d * f(cells)
            for f in (lambda z: copula(u, z).mean(), lambda z: np.prod(z, axis=1).mean())
        ]
        fine = midpoints(400 if d == 2 else 60, d, low, low + 0.4)
        same = 0.4**d * np.min(fine, axis=1).mean()
        expected = (volumes[0] - volumes[1]) / (same - volumes[1])
        assert_allclose(association(x, measure=measure), expected, rtol=1e-3)
    squares = np.mean((copula(u, grid) - np.prod(grid, axis=1)) ** 2)
    # the product is not constant on cells: its mean square there is (a^2 + ab + b^2) / 3 in each coordinate
    exact = np.prod(grid**2 + 1 / (12 * n**2), axis=1).mean() - np.mean(np.prod(grid, axis=1) ** 2)
    unit = {2: 1 / 90, 3: 2 / 20 - 6 / (8 * 0.5 * 1.5 * 2.5 * 3.5) + 1 / 27}[d]
    phi = association(x, measure=Hoeffding(adjusted=False))
    assert_allclose(phi**2, (squares + exact) / unit, rtol=1e-9)


def test_adjusted_hoeffding_and_schweizer_wolff_are_sums_over_the_grid():
    x = SAMPLE[:, :2]
    u, grid = ranks(x) / 60, midpoints(60, 2) + 0.5 / 60
    gaps = copula(u, grid + 1e-9) - np.prod(grid, axis=1)
    same = np.min(grid, axis=1) - np.prod(grid, axis=1)
    phi = association(x, measure=Hoeffding())
    assert_allclose(phi**2, np.sum(gaps**2) / np.sum(same**2), rtol=1e-9)
    sigma = association(x, measure=SchweizerWolff())
    assert_allclose(sigma, 12 / (60**2 - 1) * np.sum(np.abs(gaps)), rtol=1e-9)


def test_extremes():
    x = SAMPLE[:, 0]
    for measure in (Hoeffding(), SchweizerWolff(), Blomqvist()):
        assert_allclose(association(x, np.exp(x), measure=measure), 1, atol=1e-12)
    assert_allclose(association(x, -x, measure=SchweizerWolff()), 1, atol=0.05)
    assert association(x, -x, measure=Blomqvist()) == -1
    assert_allclose(association(x, x), 1 - 6 / 60 + 2 / 60**2, atol=1e-12)
    many = rng.normal(size=(20_000, 2))
    assert abs(association(many)) < 0.03 > abs(association(many, measure=Blomqvist()))
    tied = association(many[:500], measure=Spearman(3))
    assert_allclose(tied, stats.spearmanr(*many[:500].T).statistic, atol=0.02)


@pytest.mark.parametrize("measure", RANKED, ids=repr)
def test_ranks_do_not_change_by_increasing_functions(measure):
    x = SAMPLE * [1.0, -2.0, 0.1]
    transformed = np.stack([np.exp(x[:, 0]), x[:, 1] ** 3, np.arctan(x[:, 2])], axis=1)
    expected = association(x, measure=measure)
    assert_allclose(association(transformed, measure=measure), expected, atol=1e-12)
    assert_allclose(association(*x.T, measure=measure), expected, atol=1e-14)


def test_copula_mmd_is_that_of_many_uniform_draws():
    u, uniform = ranks(SAMPLE[:, :2]) / 60, midpoints(80, 2)
    expected = mmd2(RBF(0.3), u, uniform, unbiased=False)
    assert_allclose(
        association(SAMPLE[:, :2], measure=CopulaMMD(RBF(0.3))) ** 2, expected, atol=1e-4
    )


def test_correntropies():
    x, y = SAMPLE[:, 0], SAMPLE[:, 1]
    k = np.exp(-((x[:, None] - y) ** 2) / 0.5)
    kx, ky = (np.exp(-((v[:, None] - v) ** 2) / 0.5) for v in (x, y))
    kernel = RBF(0.5)
    centred = np.trace(k) / 60 - k.mean()
    assert_allclose(association(x, y, measure=Correntropy(kernel)), np.trace(k) / 60)
    assert_allclose(association(x, y, measure=CentredCorrentropy(kernel)), centred)
    norms = (1 - kx.mean()) * (1 - ky.mean())
    coefficient = association(x, y, measure=CorrentropyCoefficient(kernel))
    assert_allclose(coefficient, centred / np.sqrt(norms))
    metric = association(x, y, measure=CorrentropyMetric(kernel))
    assert_allclose(metric, np.sqrt(1 - np.trace(k) / 60))
    assert_allclose(association(x, x, measure=CorrentropyCoefficient()), 1)


def test_refusals():
    with pytest.raises(ValueError, match="SchweizerWolff is of two variables, got 3"):
        association(SAMPLE, measure=SchweizerWolff())
    with pytest.raises(ValueError, match="one column each"):
        association(SAMPLE, SAMPLE[:, 0])
    with pytest.raises(ValueError, match="at least two variables, got 1"):
        association(SAMPLE[:, 0])
    with pytest.raises(
        ValueError, match="x1 and x2 must have the same number of observations, got 60 and 59"
    ):
        association(SAMPLE[:, 0], SAMPLE[1:, 1])
    with pytest.raises(ValueError, match="kind must be 1, 2, 3 or 4, got 5"):
        Spearman(5)
    with pytest.raises(ValueError, match="tail must be 'lower' or 'upper', got 'left'"):
        SpearmanTail("left")
    with pytest.raises(ValueError, match="share must be at most 1, got 1.5"):
        SpearmanTail(share=1.5)


@pytest.mark.parametrize("measure", [Hoeffding(), Hoeffding(False), SchweizerWolff(), Blomqvist(), SpearmanTail("upper", 0.6), SpearmanTail(share=0.6), Spearman(2)], ids=repr)  # fmt: skip
def test_ties_have_the_mean_copula_of_all_their_orders(measure):
    """A constant is associated with nothing, rows have no order, and so have the two variables."""
    generator = np.random.default_rng(5)
    x, y = generator.integers(0, 3, (2, 40))
    value, order = association(x, y, measure=measure), generator.permutation(40)
    assert_allclose(association(x[order], y[order], measure=measure), value, atol=1e-12)
    assert_allclose(association(y, x, measure=measure), value, atol=1e-12)
    constant = association(SAMPLE[:, 0], np.ones(60), measure=measure)
    swapped = association(np.ones(60), SAMPLE[:, 1], measure=measure)
    assert_allclose(constant, swapped, atol=1e-7)  # the root of what is zero up to rounding
    if measure in (Hoeffding(), SchweizerWolff(), Blomqvist()):  # the others are of order 1 / n
        assert_allclose(constant, 0, atol=1e-7)


def test_tied_hoeffding_and_schweizer_wolff_are_sums_over_the_grid_of_the_mean_copula():
    generator, n = np.random.default_rng(6), 5
    x = np.array([[0, 1], [0, 0], [1, 1], [1, 2], [1, 2]])
    grid = np.arange(1, n + 1) / n
    copulas = np.zeros((n, n))
    for _ in range(20_000):
        broken = x + generator.uniform(0, 0.5, x.shape)
        copulas += copula(ranks(broken) / n, midpoints(n, 2) + 0.5 / n + 1e-9).reshape(n, n)
    gaps = copulas / 20_000 - np.outer(grid, grid)
    same = np.minimum.outer(grid, grid) - np.outer(grid, grid)
    sigma, phi = (association(x, measure=m) for m in (SchweizerWolff(), Hoeffding()))
    assert_allclose(sigma, 12 / (n**2 - 1) * np.sum(np.abs(gaps)), atol=0.02)
    assert_allclose(phi, np.sqrt(np.sum(gaps**2) / np.sum(same**2)), atol=0.02)
