"""HSIC by random features, and the randomized dependence coefficient: against HSIC, CCA and plain loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.datasets import GaussianSign, RotatedUniform, Sinusoid
from mercer.errors import MemoryBudgetError, NoRule
from mercer.htest import RDC, Chi2, FourierHSIC, Gamma, NystromHSIC, Permutation, Spectrum
from mercer.htest.dependence.rdc import CanonicalEvidence
from mercer.htest.dependence.sums.cyclic_permutations import CyclicPermutations, permutations
from mercer.kernels import RBF, Delta, Energy, Laplace, Linear, Matern, Sigmoid
from mercer.rkhs import hsic
from tests.support.arrays import torch
from tests.support.htest_pairs import discrete, normal, rejecting, rejections, squares
from tests.support.sequential_level import assert_level

BOTH = pytest.mark.parametrize("kind", [FourierHSIC, NystromHSIC])
EVERY = pytest.mark.parametrize("kind", [FourierHSIC, NystromHSIC, RDC])


@pytest.fixture
def observed():
    return squares(80)


# ---- HSIC ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [RBF(1.0), Linear(), Energy()], ids=repr)
def test_all_points_as_landmarks_give_hsic(kernel, observed):
    x, y = observed
    full = NystromHSIC(kernel, RBF(0.7), landmarks=80)
    assert_allclose(full.statistic(x, y), hsic(kernel, RBF(0.7), x, y), rtol=1e-7)


def test_an_indefinite_kernel_is_refused(observed):
    with pytest.raises(ValueError, match="the kernel of y must be positive definite"):
        NystromHSIC(RBF(1.0), Sigmoid(1.0, -1.0)).test(*observed)


@pytest.mark.parametrize("kernel", [RBF(1.3), Laplace(2.0), 2 * RBF(1.0) + Matern(1.5)], ids=repr)
def test_many_frequencies_give_hsic(kernel, observed):
    """The error of a mean over 4,000 frequencies is below a percent of the kernel."""
    x, y = observed
    many = FourierHSIC(kernel, RBF(0.7), frequencies=4000)
    with mercer.config(memory="4GiB"):
        assert_allclose(many.statistic(x, y), hsic(kernel, RBF(0.7), x, y), rtol=0.05)


@BOTH
def test_the_statistic_is_that_of_the_features(kind, observed):
    test, rng = kind(RBF(1.0), RBF(0.7)), np.random.default_rng(0)
    zx, zy = (test._features(v, rng) for v in test._variables(*observed))
    centred = zx - zx.mean(axis=0)
    assert_allclose(test.statistic(*observed), np.sum((centred.T @ zy) ** 2) / 80**2, rtol=1e-8)


@BOTH
def test_permuted_statistics_are_those_of_permuted_features(kind, observed):
    """Within blocks one by one; without, by turns, which tests of HSIC try."""
    null = Permutation(30, blocks=tuple(np.arange(80) % 3))
    test, rng = kind(RBF(1.0), RBF(0.7), null=null), np.random.default_rng(0)
    both = test._variables(*observed)
    evidence = test._evidence(both, np.random.default_rng(0))
    zx, zy = (test._features(v, rng) for v in both)
    zx = zx - zx.mean(axis=0)
    (order,) = permutations(80, null, slice(0, 31), 3)
    naive = [np.sum((zx.T @ zy[row]) ** 2) / 80**2 for row in order]
    assert_allclose(evidence.permuted(null, slice(0, 31), 3), naive, rtol=1e-8)


@BOTH
def test_other_nulls_of_hsic_serve_too(kind):
    x, y = RotatedUniform(0.15).sample(2000, rng=0)
    pvalues = [
        kind(null=null).test(x, y, rng=0).pvalue
        for null in (Permutation(1999), Gamma(), Spectrum(4999))
    ]
    assert_allclose(pvalues, pvalues[0], rtol=0.25, atol=0.01)
    with pytest.raises(NoRule):
        kind(null=Chi2()).test(x, y)


@EVERY
def test_order_does_not_matter(kind, observed):
    x, y = observed
    order = np.random.default_rng(3).permutation(80)
    assert_allclose(kind().statistic(x[order], y[order]), kind().statistic(x, y), rtol=1e-8)


@EVERY
def test_units_do_not_matter(kind, observed):
    x, y = observed
    moved = kind().statistic(x * 1e3, y * 1e-2 + 5)
    assert_allclose(moved, kind().statistic(x, y), rtol=1e-6)


@EVERY
def test_tensors_are_taken(kind, observed):
    tensors = [torch.tensor(z) for z in observed]
    test = kind(null=Permutation(99))
    assert_allclose(test.statistic(*tensors), test.statistic(*observed), rtol=1e-8)
    assert test.test(*tensors, rng=0).pvalue == test.test(*observed, rng=0).pvalue


@EVERY
@pytest.mark.parametrize("problem", [Sinusoid(1.0), GaussianSign(2), RotatedUniform()], ids=repr)
def test_power(kind, problem):
    hits = sum(kind().test(*problem.sample(1500, rng=s), rng=s).rejects() for s in range(4))
    assert hits == 4


@EVERY
@pytest.mark.parametrize("draw", [normal(1, 1), normal(20, 2), discrete])
def test_level_quickly(kind, draw):
    assert_level(rejecting(kind(null=Permutation(39)), draw, 60))


@pytest.mark.slow
@EVERY
@pytest.mark.parametrize("draw", [normal(1, 1), normal(5, 2), normal(50, 50), discrete])
@pytest.mark.parametrize("n", [100, 500])
def test_level(kind, draw, n):
    assert 0.0175 <= rejections(kind(null=Permutation(199)), draw, 400, n) <= 0.09


def test_landmarks_may_be_any_objects():
    words = ["a", "b", "c", "a", "b"] * 30
    test = NystromHSIC(Delta(), Delta(), null=Permutation(199))
    assert test.test(words, words, rng=0).pvalue == 1 / 200
    other = [str(w) for w in np.random.default_rng(0).permutation(words)]
    assert test.test(words, other, rng=0).pvalue > 0.01
    with pytest.raises(NoRule, match="features of x need numbers.*use NystromHSIC"):
        FourierHSIC(Delta(), Delta()).test(words, words)


def test_frames_with_categories_are_for_landmarks():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"a": rng.normal(size=300), "b": rng.choice(["u", "v"], 300)})
    y = (x["a"] > 0).to_numpy() * 1.0 + 0.1 * rng.normal(size=300)
    assert NystromHSIC().test(x, y, rng=0).rejects(0.01)
    with pytest.raises(NoRule, match="features of x need numbers"):
        FourierHSIC().test(x, y)
    with pytest.raises(TypeError, match="x must be columns of numbers.*use NystromHSIC"):
        RDC().test(x, y)


def test_a_kernel_without_spectrum_is_refused(observed):
    with pytest.raises(NoRule, match="features of x need .* a stationary kernel.* got Linear"):
        FourierHSIC(Linear(), RBF(1.0)).test(*observed)


@BOTH
def test_too_many_features_are_refused_before_they_are_made(kind):
    x = np.zeros((100_000, 1))
    x[:, 0] = np.arange(100_000)
    name = "frequencies" if kind is FourierHSIC else "landmarks"
    with (
        mercer.config(memory="64MiB"),
        pytest.raises(MemoryBudgetError, match=f"use fewer {name}"),
    ):
        kind(RBF(1.0), RBF(1.0)).statistic(x, x)


# ---- RDC ----------------------------------------------------------------------------------------


def test_the_coefficient_is_the_largest_canonical_correlation():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 4)), rng.normal(size=(200, 6))
    y[:, 0] += x[:, 1]
    q, r = (np.linalg.qr(z - z.mean(axis=0))[0] for z in (x, y))
    expected = np.linalg.svd(q.T @ r, compute_uv=False)[0]
    assert_allclose(CanonicalEvidence(x, y).observed, expected, rtol=1e-10)
    blocks = Permutation(20, blocks=tuple(np.arange(200) % 3))
    (by_blocks,) = permutations(200, blocks, slice(0, 21), 1)
    in_turns = CyclicPermutations(200, Permutation(20), 1).orders(slice(0, 21))
    for null, order in ((blocks, by_blocks), (Permutation(20), in_turns)):
        naive = [np.linalg.norm(q.T @ r[row], 2) for row in order]
        found = CanonicalEvidence(x, y).permuted(null, slice(0, 21), 1)
        assert_allclose(found, naive, rtol=1e-9)
    swapped = CanonicalEvidence(y, x)
    assert_allclose(swapped.observed, expected, rtol=1e-10)


def test_growing_functions_change_nothing(observed):
    x, y = observed
    bent = np.exp(x), y**3 + y
    assert_allclose(RDC().statistic(*bent), RDC().statistic(x, y), rtol=1e-12)


def test_the_coefficient_is_one_where_one_variable_is_a_function_of_the_other():
    x = np.random.default_rng(0).normal(size=500)
    assert RDC().statistic(x, x) > 0.999
    assert 0.98 < RDC().statistic(x, x**2) <= 1
    assert RDC(bandwidth=2.45).statistic(x, np.exp(x)) > 0.999


def test_many_columns_of_few_observations_have_power():
    """As many directions as observations correlate by 1 in every permutation, unless they are regularised."""
    rejected = 0
    for seed in range(10):
        x, noise = np.random.default_rng(seed).normal(size=(2, 30, 100))
        evidence = CanonicalEvidence(*(np.sin(z[:, :30] + z[:, 30:60]) for z in (x, noise)))
        assert np.max(evidence.permuted(Permutation(19), slice(0, 20), 0)) < 0.99
        x, noise = np.random.default_rng(seed).normal(size=(2, 100, 100))
        rejected += RDC(null=Permutation(99)).test(x, x + noise / 2, rng=seed).rejects()
    assert rejected >= 7


def test_discrete_columns_leave_few_directions():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 2, size=(2, 300)).astype(float)
    expected = abs(np.corrcoef(x, y)[0, 1])
    assert_allclose(RDC().statistic(x, y), expected, rtol=1e-8)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FourierHSIC(frequencies=0), "frequencies must be a whole number of at least 1"),
        (lambda: NystromHSIC(landmarks=1), "landmarks must be a whole number of at least 2, got 1"),
        (lambda: NystromHSIC("rbf"), "kernel_x must be a kernel"),
        (lambda: FourierHSIC(null=999), "null must be a null"),
        (lambda: RDC(features=0), "features must be a whole number of at least 1, got 0"),
        (lambda: RDC(bandwidth=0.0), "bandwidth must be a positive number"),
        (lambda: RDC(null=None), "null must be a null"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


@EVERY
def test_variables_must_fit(kind, observed):
    with pytest.raises(ValueError, match="must have the same number of observations"):
        kind().test(observed[0], observed[1][1:])
    with pytest.raises(ValueError, match="all points of x are equal"):
        kind().test(np.zeros(80), observed[1])


def test_rdc_of_few_observations_in_many_columns_has_power():
    """As many features as observations: every canonical correlation was 1, and no p-value below 1."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 100))
    result = RDC().test(x, x + 0.1 * rng.normal(size=(30, 100)), rng=0)
    assert result.statistic < 0.99
    assert result.rejects(0.05)
    others = [
        RDC(null=Permutation(99)).test(x, rng.normal(size=(30, 100)), rng=s) for s in range(40)
    ]
    assert sum(other.rejects(0.05) for other in others) <= 6
