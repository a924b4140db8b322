"""Circular shifts of several variables: against naive loops and gathered permutations, and their exactness."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.gram import Dense, shifted_sums
from mercer.htest import DHSIC, Lancaster, Permutation
from mercer.htest.dependence.dhsic_statistic import JointEvidence
from mercer.htest.dependence.lancaster_statistic import InteractionEvidence, three_grams
from mercer.htest.dependence.sums import cyclic_permutations, permuted_tensor
from mercer.htest.dependence.sums.cyclic_permutations import IndependentShifts, draws_shifts
from mercer.htest.dependence.sums.permuted_tensor import shifted_tensor_sums
from mercer.kernels import RBF, Energy, Laplace
from mercer.rkhs.paired_samples import variables
from tests.support.htest_joint import drawn, turned

NAMES = ("x1", "x2", "x3")


def symmetric(rng, n):
    a = rng.normal(size=(n, n))
    return a + a.T


@pytest.mark.parametrize("n", [2, 7, 8, 150])
@pytest.mark.parametrize("others", [1, 2, 3])
def test_shifted_sums_are_those_of_rolled_matrices(n, others):
    rng = np.random.default_rng(n)
    first, *rest = (symmetric(rng, n) for _ in range(1 + others))
    shifts = rng.integers(n, size=(5, others))
    want = [
        np.sum(first * np.prod([np.roll(b, (-s, -s), (0, 1)) for b, s in zip(rest, row, strict=True)], 0))
        for row in shifts
    ]  # fmt: skip
    got = shifted_sums.shifted_sums(Dense(first), [Dense(b) for b in rest], shifts)
    assert_allclose(got, want, rtol=1e-12, atol=1e-10)
    vectors = [b[0] for b in (first, *rest)]
    want = [
        np.sum(vectors[0] * np.prod([np.roll(v, -s) for v, s in zip(vectors[1:], row, strict=True)], 0))
        for row in shifts
    ]  # fmt: skip
    assert_allclose(shifted_sums.shifted_dots(vectors[0], vectors[1:], shifts), want, atol=1e-12)


def test_the_compiled_loop_does_what_numpy_does(monkeypatch):
    pytest.importorskip("numba")
    rng = np.random.default_rng(0)
    first, *rest = (Dense(symmetric(rng, 70)) for _ in range(3))
    shifts = rng.integers(70, size=(9, 2))
    want = shifted_sums.shifted_sums(first, rest, shifts)
    monkeypatch.setattr(shifted_sums, "_worth_compiling", lambda products, others: True)
    assert_allclose(shifted_sums.shifted_sums(first, rest, shifts), want, rtol=1e-12)


def test_threads_and_memory_do_not_change_the_sums():
    rng = np.random.default_rng(1)
    first, *rest = (Dense(symmetric(rng, 600)) for _ in range(3))
    shifts = rng.integers(600, size=(60, 2))
    want = shifted_sums.shifted_sums(first, rest, shifts)
    with mercer.config(memory="16MiB", threads=3):
        assert np.array_equal(shifted_sums.shifted_sums(first, rest, shifts), want)


@pytest.mark.parametrize("kernels", [(RBF(1.0), Laplace(0.7), RBF(2.0)), (Energy(),) * 3])
def test_shifts_are_permutations(kernels):
    """The statistics of shifts by diagonals, and those of the same orders by gathered entries."""
    observed = variables(kernels, drawn(60), NAMES)
    shifts = IndependentShifts.drawn(60, Permutation(11), slice(0, 12), 2, seed=3)
    assert shifts.orders()[0][0].tolist() == list(range(60))
    joint = JointEvidence(observed)
    assert_allclose(
        joint._shifted(shifts), joint._permuted(shifts.orders(), joint._tensor), rtol=1e-9
    )
    evidence = InteractionEvidence(three_grams(observed))
    k, *rest = (gram.matrix().dense() for gram in evidence.grams)
    want = [
        np.sum(k * turned(rest[0], p) * turned(rest[1], q))
        for p, q in zip(*shifts.orders(), strict=True)
    ]
    assert_allclose(shifted_tensor_sums(evidence._matrices, shifts), want, rtol=1e-9, atol=1e-10)


def test_translated_shifts_have_the_same_statistics():
    """Why p-values are exact: with observation j of the set in place of the data, the set is the same."""
    samples = drawn(50)
    kernels = (RBF(1.0), RBF(0.5), Laplace(1.0))
    shifts = IndependentShifts.drawn(50, Permutation(19), slice(0, 20), 2, seed=0)
    assert all(len(set(column)) == 20 for column in shifts.values.T)  # no shift twice
    statistics = JointEvidence(variables(kernels, samples, NAMES))._shifted(shifts)
    j = 7
    p, q = (order[j] for order in shifts.orders())
    shifted = samples[0], samples[1][p], samples[2][q]
    back = IndependentShifts(shifts.base, (shifts.values - shifts.values[j]) % 50)
    again = JointEvidence(variables(kernels, shifted, NAMES))._shifted(back)
    assert_allclose(again, statistics, rtol=1e-9)


def test_pvalues_of_shifts_have_the_level(monkeypatch):
    """200 null runs with 19 resamples: P(p <= 0.1) is 0.1, here at most 4 standard errors above."""
    monkeypatch.setattr(cyclic_permutations, "_MIN_ROWS_FOR_SHIFTS", 30)
    monkeypatch.setattr(permuted_tensor, "_MIN_PRODUCTS_FOR_SHIFTS", 0)
    test, rng = DHSIC([Laplace(1.0)] * 3, null=Permutation(19)), np.random.default_rng(5)
    assert draws_shifts(30, test.null)
    pvalues = [test.test(*rng.normal(size=(3, 30)), rng=i).pvalue for i in range(200)]
    assert 0.015 <= np.mean(np.array(pvalues) <= 0.1) <= 0.185


def test_shifts_see_what_permutations_see():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, 1100, 4))
    z = x * y + 0.5 * rng.normal(size=(1100, 4))
    null = Permutation(199)
    assert draws_shifts(1100, null)
    assert DHSIC(null=null).test(x, y, z, rng=0).pvalue == 1 / 200
    assert Lancaster(total=True, null=null).test(x, y, z, rng=0).pvalue == 1 / 200
    independent = rng.normal(size=(3, 1100, 4))
    assert DHSIC(null=null).test(*independent, rng=0).pvalue > 0.05
    assert Lancaster(total=True, null=null).test(*independent, rng=0).pvalue > 0.05


def test_stopping_early_leaves_the_shifts_as_they_are():
    samples = np.random.default_rng(6).normal(size=(3, 1000, 3))
    joint = JointEvidence(variables((Laplace(1.0),) * 3, samples, NAMES))
    null = Permutation(40)
    every = joint.permuted(null, slice(0, 41), 1)
    assert_allclose(joint.permuted(null, slice(0, 20), 1), every[:20], rtol=1e-12)
    assert_allclose(joint.permuted(null, slice(20, 41), 1), every[20:], rtol=1e-12)
    assert_allclose(every[0], joint.observed, rtol=1e-9)


def test_low_rank_at_many_observations_is_that_of_all_factors():
    """Factors that miss 1e-10 of their trace give the statistics and the p-value of exact ones."""
    samples = np.random.default_rng(7).normal(size=(3, 1000, 1))
    joint = JointEvidence(variables((RBF(1.0),) * 3, samples, NAMES))
    short = joint._short_tensor
    assert isinstance(short, permuted_tensor.LowRankTensor)
    full = permuted_tensor.permuted_tensor(joint._matrices)
    assert isinstance(full, permuted_tensor.LowRankTensor)
    assert short.factors[0].shape[1] < full.factors[0].shape[1]
    seeds = np.random.default_rng(0)
    orders = [np.stack([seeds.permutation(1000) for _ in range(4)]) for _ in range(2)]
    bound = 3e-10 * 1000**2  # the largest product of diagonal entries is 1
    errors = np.abs(short.sums([None, *orders]) - full.sums([None, *orders]))
    assert np.max(errors) <= bound
    assert_allclose(joint._permuted(orders, short), joint._permuted(orders, full), rtol=1e-6)


def test_blocks_and_many_resamples_are_permuted():
    assert not draws_shifts(2000, Permutation(99, blocks=[0, 1] * 1000))
    assert not draws_shifts(2000, Permutation(2000))
    assert not draws_shifts(999, Permutation(99))
