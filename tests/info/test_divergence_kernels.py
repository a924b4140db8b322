"""Kernels on distributions from divergences: values by a second road, definiteness, learners."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.errors import NoRule
from mercer.info import (
    L2,
    DensityProduct,
    EntropyKernel,
    ExponentiatedDivergence,
    Hellinger,
    HilbertianMetric,
    InverseGeneralizedVariance,
    Jeffreys,
    JensenShannon,
    JensenTsallis,
    JensenTsallisKernel,
    Parametric,
    Renyi,
    Tsallis,
    divergence,
    entropy,
)
from mercer.kernels import facts, is_positive_definite
from mercer.learn import SupportMeasureMachine
from mercer.rkhs import Empirical, Gaussian, ProbabilityProduct
from mercer.rkhs import JensenShannon as JensenShannonKernel

RNG = np.random.default_rng(0)
SPARSE = RNG.dirichlet(np.full(5, 0.3), 25)
SPARSE[:2] = np.eye(5)[:2]
P, Q = SPARSE[0], SPARSE[7]
DEFINITE = [
    ExponentiatedDivergence(JensenShannon()),
    ExponentiatedDivergence(JensenTsallis(1.5), 0.2),
    ExponentiatedDivergence(Hellinger()),
    ExponentiatedDivergence(L2()),
    ExponentiatedDivergence(HilbertianMetric(1, -1)),
    ExponentiatedDivergence(HilbertianMetric(2, 0.5), 0.1),
    ExponentiatedDivergence(HilbertianMetric(np.inf, 1.0)),
    ExponentiatedDivergence(HilbertianMetric(3, -np.inf)),
    JensenTsallisKernel(0.5),
    JensenTsallisKernel(1.0),
    JensenTsallisKernel(1.7),
    EntropyKernel(0.3),
    EntropyKernel(0.3, measure=Tsallis(1.6)),
    EntropyKernel(0.3, measure=Tsallis(0.4)),
    EntropyKernel(0.3, measure=Renyi(0.5)),
    DensityProduct(0.5),
    DensityProduct(1.3),
    InverseGeneralizedVariance(0.05),
]


@pytest.mark.parametrize("kernel", DEFINITE, ids=repr)
def test_kernels_that_are_positive_definite(kernel):
    assert facts(kernel).positive_definite
    assert is_positive_definite(kernel, SPARSE)


def test_symmetric_kullback_leibler_is_not_positive_definite():
    rows = np.random.default_rng(79).dirichlet(np.full(3, 0.5), 12) + 1e-6
    rows /= rows.sum(axis=1, keepdims=True)
    kernel = ExponentiatedDivergence(Jeffreys(), 5.0)
    assert facts(kernel).positive_definite is False
    assert not is_positive_definite(kernel, rows)
    with pytest.warns(UserWarning, match="not positive definite"):
        SupportMeasureMachine(kernel).fit(rows, np.arange(12) % 2)


def test_members_of_the_family_of_hilbertian_metrics():
    kernel = ExponentiatedDivergence
    sums = {
        HilbertianMetric(1, 0.5): np.sum((np.sqrt(P) - np.sqrt(Q)) ** 2),
        HilbertianMetric(1, -1): np.sum((P - Q) ** 2 / (P + Q)) / 3,
        HilbertianMetric(np.inf, 1.0): np.sum(np.abs(P - Q)),
    }
    for metric, expected in sums.items():
        assert_allclose(-np.log(kernel(metric)([P, Q])[0, 1]), expected, rtol=1e-12)
    # towards alpha = beta = 1: the Jensen-Shannon divergence times 2 / log 2, up to the gap
    near = -np.log(kernel(HilbertianMetric(1.0, 1 - 1e-6))([P, Q])[0, 1])
    assert_allclose(near, -2 * np.log2(JensenShannonKernel()([P, Q])[0, 1]), rtol=1e-5)
    with pytest.raises(ValueError, match="beta must be"):
        HilbertianMetric(1, 0.2)
    with pytest.raises(ValueError, match="alpha must be"):
        HilbertianMetric(0.5, -1)


def test_kernels_of_entropies_of_averages_and_products_by_their_definitions():
    average = (P + Q) / 2
    average = average[average > 0]
    renyi = np.log(np.sum(average**3)) / (1 - 3)
    assert_allclose(EntropyKernel(2.0, measure=Renyi(3))([P, Q])[0, 1], np.exp(-renyi / 2))
    assert facts(EntropyKernel(measure=Renyi(3))).positive_definite is None


def test_the_jensen_tsallis_kernel_of_small_order_has_no_bound():
    """k(p, p) is proportional to the sum of p^q, which grows with the number of values."""
    kernel = JensenTsallisKernel(0.5)
    few, many = (kernel([np.full(d, 1 / d)])[0, 0] for d in (4, 4096))
    assert many == pytest.approx(32 * few)
    assert not facts(kernel).bounded
    assert facts(JensenTsallisKernel(1.0)).bounded
    assert_allclose(DensityProduct(0.8)([P, Q])[0, 1], np.sum((P * Q) ** 0.8))
    assert_allclose(DensityProduct(0.8)([P, Q])[0, 0], np.sum(P**1.6))
    a, b = Gaussian(0.0, 1.0), Gaussian(1.0, 2.0)
    assert_allclose(DensityProduct(0.8)([a, b]), ProbabilityProduct(0.8)([a, b]))
    x, y = a.sample(3000, rng=0), b.sample(3000, rng=1)
    assert_allclose(DensityProduct(0.8)([x, y]), ProbabilityProduct(0.8)([a, b]), rtol=0.1)


def test_jensen_tsallis_kernel_by_its_definition():
    for q in (0.4, 1.0, 1.5, 2.0):

        def tsallis(p, q=q):
            p = p[p > 0]
            return -np.sum(p * np.log(p)) if q == 1 else (1 - np.sum(p**q)) / (q - 1)

        difference = tsallis((P + Q) / 2) - 2**-q * (tsallis(P) + tsallis(Q))
        log_q = np.log(2) if q == 1 else (2 ** (1 - q) - 1) / (1 - q)
        assert_allclose(JensenTsallisKernel(q)([P, Q])[0, 1], log_q - difference, atol=1e-12)


def test_gaussians_by_closed_forms_and_by_integrals():
    a, b = Gaussian(0.0, 1.0), Gaussian(1.0, 2.0)
    t = np.linspace(-12, 14, 20_001)[:, None]
    p, q = np.exp(a.log_density(t)), np.exp(b.log_density(t))
    step = t[1, 0] - t[0, 0]
    jeffreys = np.sum((p - q) * np.log(p / q)) * step
    assert_allclose(ExponentiatedDivergence()([a, b])[0, 1], np.exp(-jeffreys), rtol=1e-8)
    assert_allclose(JensenTsallisKernel(2.0)([a, b])[0, 1], np.sum(p * q) * step / 2, rtol=1e-8)
    average = (p + q) / 2
    mean = np.sum(average * t[:, 0]) * step
    variance = np.sum(average * (t[:, 0] - mean) ** 2) * step
    assert_allclose(InverseGeneralizedVariance()([a, b])[0, 1], variance**-0.5, rtol=1e-8)
    for kernel in (JensenTsallisKernel(1.5), EntropyKernel(), DEFINITE[0]):
        with pytest.raises(NoRule):
            kernel([a, b])


def test_samples_approach_their_distributions():
    a, b = Gaussian([0.0, 0.0], 1.0), Gaussian([1.0, 0.0], 2.0)
    x, y = a.sample(4000, rng=0), b.sample(3000, rng=1)
    exact = np.exp(-divergence(a, b, Jeffreys()))
    # neighbours in the tails are biased by about a tenth of the divergence of 1.25 nats
    for estimator, tolerance in ((None, 0.3), (Parametric(Gaussian), 0.1)):
        kernel = ExponentiatedDivergence(estimator=estimator)
        assert_allclose(kernel([x, y])[0, 1], exact, rtol=tolerance)
        assert kernel([x], [x.copy()])[0, 0] == 1.0
    assert_allclose(
        InverseGeneralizedVariance()([x, y]), InverseGeneralizedVariance()([a, b]), rtol=0.05
    )
    half = np.concatenate([x[:3000], y])
    assert_allclose(-np.log(EntropyKernel()([x, y])[0, 1]), entropy(half), atol=0.05)
    weighted = Empirical(x, np.full(len(x), 1 / len(x)))
    assert_allclose(InverseGeneralizedVariance()([x, weighted])[0, 1], np.linalg.det(np.cov(x.T, ddof=0)) ** -0.5)  # fmt: skip


def test_generalised_variances_of_many_columns_and_of_unlike_units():
    """A small determinant is no singular matrix: only that of the correlations tells."""
    rng = np.random.default_rng(0)
    bags = [rng.normal(size=(300, 150)) for _ in range(2)]
    covariance = (np.cov(bags[0].T, ddof=0) + np.cov(bags[1].T, ddof=0)) / 2
    covariance += np.outer(*[(bags[0] - bags[1]).mean(axis=0)] * 2) / 4
    expected = -np.linalg.slogdet(covariance)[1] / 2
    kernel = InverseGeneralizedVariance()
    assert_allclose(np.log(kernel(bags)[0, 1]), expected, rtol=1e-10)
    units = Gaussian([0.0, 0.0], [1e-18, 1e18])
    assert_allclose(kernel([units]), 1.0)
    twins = rng.normal(size=(50, 1)) * [1e-9, 1e9]
    with pytest.raises(ValueError, match="is singular"):
        kernel([twins])


@pytest.mark.parametrize("kernel", [InverseGeneralizedVariance(), EntropyKernel()], ids=repr)
def test_values_that_float64_cannot_hold_are_refused(kernel):
    x = 1e-7 * np.random.default_rng(0).normal(size=(120, 60))
    with pytest.raises(ValueError, match="divide the data by a constant first"):
        kernel([x, x[::-1] + 1e-8])


def test_bags_are_classified_by_their_spread():
    rng = np.random.default_rng(1)
    spread = np.where(np.arange(40) % 2, 1.0, 2.0)
    bags = [rng.normal(0.0, s, size=(40, 2)) for s in spread]
    gaussians = [Gaussian.fit(bag) for bag in bags]
    for kernel, points in (
        (InverseGeneralizedVariance(), bags),
        (ExponentiatedDivergence(HilbertianMetric(1, 0.5)), gaussians),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # both matrices are positive definite
            machine = SupportMeasureMachine(kernel, C=10.0).fit(points[:20], spread[:20] > 1)
        assert machine.score(points[20:], spread[20:] > 1) >= 0.9


def test_kinds_are_not_mixed():
    kernel = ExponentiatedDivergence()
    with pytest.raises(TypeError, match="of one kind"):
        kernel([Gaussian(0.0, 1.0), np.zeros((5, 1))])
    with pytest.raises(ValueError, match="add up to one"):
        kernel([[0.5, 0.4]])
    with pytest.raises(ValueError, match="same number of columns"):
        kernel(SPARSE, [[0.5, 0.5]])
    with pytest.raises(ValueError, match="singular"):
        InverseGeneralizedVariance()(SPARSE)
    with pytest.raises(ValueError, match="at most 2"):
        JensenTsallisKernel(3.0)
