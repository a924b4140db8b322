"""Tests over several kernels: maximum, aggregation, fusion, and the choice that needs none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.htest import MMD, KSample, MaxMMD, MMDAgg, MMDFuse, Permutation
from mercer.htest.samples.landmark_mmd import LandmarkDiscrepancies
from mercer.htest.samples.mmd_statistic import Discrepancies
from mercer.htest.samples.pooled_sample import pool_for
from mercer.htest.samples.two_sample import chosen
from mercer.htest.ties import merged
from mercer.kernels import RBF, Laplace
from mercer.rkhs import mmd2
from mercer.rkhs.distributions import Empirical
from tests.support.arrays import torch

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((40, 2)), 1.6 * RNG.standard_normal((30, 2))
KERNELS = [RBF(0.3), RBF(1.0), Laplace(2.0)]


def test_max_is_the_largest_standardized_discrepancy():
    parts = Discrepancies.of(pool_for(KERNELS, X, Y)[0], KERNELS)
    values = [mmd2(k, X, Y) for k in KERNELS]
    assert_allclose(parts.observed, values, rtol=1e-9)
    assert_allclose(MaxMMD(KERNELS).statistic(X, Y), np.max(values / parts.deviations), rtol=1e-9)


def test_one_kernel_is_the_plain_test():
    plain = MMD(RBF(1.0)).test(X, Y, rng=1).pvalue
    for test in (MaxMMD([RBF(1.0)]), MMDFuse([RBF(1.0)]), MMDAgg([RBF(1.0)])):
        assert test.test(X, Y, rng=1).pvalue == plain


def test_fuse_is_the_formula():
    both, n = np.concatenate([X, Y]), 30
    terms = []
    for kernel in KERNELS:
        k = kernel(both)[~np.eye(70, dtype=bool)]
        terms.append(mmd2(kernel, X, Y) / np.sqrt(np.mean(k**2)))
    sharp = np.sqrt(n * (n - 1))
    right = np.log(np.mean(np.exp(sharp * np.array(terms)))) / sharp
    assert_allclose(MMDFuse(KERNELS).statistic(X, Y), right, rtol=1e-9)


def test_the_aggregated_p_value_is_the_smallest_level_that_rejects():
    """At levels u w_k with the largest u the labellings allow, as in the paper."""
    null = Permutation(199)
    for shift in (0.0, 0.3, 0.6):
        y = Y / 1.6 + shift
        result = MMDAgg(KERNELS, null=null, weights=(1, 2, 1)).test(X, y, rng=4)
        seed = int(np.random.default_rng(4).integers(2**63))
        pooled, kernels = pool_for(KERNELS, X, y)
        values = Discrepancies.of(pooled, kernels).resampled(null, slice(0, 200), seed)
        p = np.stack([merged(v, 0.0).ranks for v in values]) / 200  # (kernels, labellings)
        needed = np.min(p / np.array([0.25, 0.5, 0.25])[:, None], axis=0)
        assert np.mean(needed < needed[0]) < result.pvalue <= np.mean(needed <= needed[0])


def test_all_landmarks_are_no_projection():
    pooled, kernels = pool_for(KERNELS, X, Y)
    whole = Discrepancies.of(pooled, kernels, unbiased=False).resampled(
        Permutation(20), slice(0, 21), 0
    )
    projected = LandmarkDiscrepancies(pooled, kernels, 70, np.random.default_rng(0))
    found = projected.resampled(Permutation(20), slice(0, 21), 0)
    assert_allclose(found, whole, rtol=0.02, atol=1e-4)
    a, b = RNG.random(40), RNG.random(30)
    pooled, kernels = pool_for(KERNELS, Empirical(X, a / a.sum()), Empirical(Y, b / b.sum()))
    whole = Discrepancies.of(pooled, kernels, unbiased=False).resampled(
        Permutation(20), slice(0, 21), 0
    )
    projected = LandmarkDiscrepancies(pooled, kernels, 70, np.random.default_rng(0))
    found = projected.resampled(Permutation(20), slice(0, 21), 0)
    assert_allclose(found, whole, rtol=0.02, atol=1e-4)


@pytest.mark.parametrize("test", [MaxMMD(), MMDFuse(), MMDAgg()], ids=lambda t: type(t).__name__)
def test_tensors_and_scales(test):
    plain = test.test(X, Y, rng=0).pvalue
    assert test.test(torch.tensor(X), torch.tensor(Y), rng=0).pvalue == pytest.approx(
        plain, abs=0.01
    )
    assert test.test(1000 * X, 1000 * Y, rng=0).pvalue == pytest.approx(plain, abs=0.01)


def test_the_chosen_test_says_why():
    result = mercer.two_sample(X, Y, rng=0)
    assert "MMDAgg was chosen" in result.notes[0]
    assert result.rejects(0.05)
    assert chosen(2000, 2000)[0] == MMDAgg()
    large, why = chosen(60_000, 40_000)
    assert large.landmarks == 217
    assert "100,000 observations" in why
    assert chosen(10**6, 10**6)[0].landmarks == 50


def test_rows_come_back_as_the_frames_they_came_in():
    frames = [pd.DataFrame(s, columns=["u", "v"]).assign(w="a") for s in (X, Y)]
    found = mercer.two_sample(*frames, rng=0).points(3).second
    pd.testing.assert_frame_equal(found.rows, frames[1].iloc[found.indices])
    weighted = Empirical(frames[1], np.full(len(Y), 1 / len(Y)))
    assert list(mercer.two_sample(frames[0], weighted, rng=0).points(3).second.rows) == list("uvw")
    assert mercer.two_sample(X.tolist(), memoryview(Y), rng=0).points(3).second.rows.shape == (3, 2)
    assert MMD().test(X, memoryview(Y), rng=0).points(3).second.rows.shape == (3, 2)


def test_large_samples_are_chosen_landmarks(monkeypatch):
    monkeypatch.setattr("mercer.htest.samples.two_sample._ALL_PAIRS", 50)
    result = mercer.two_sample(X, Y, rng=0)
    assert "landmarks" in result.notes[0]
    assert result.rejects(0.05)


def test_k_samples_reduce_to_two():
    two = KSample(RBF(1.0)).test(X, Y, rng=0)
    assert_allclose(two.statistic, mmd2(RBF(1.0), X, Y), rtol=1e-9)
    third = X[:20] + 0.5
    result = KSample(RBF(1.0)).test(X, Y, third, rng=0)
    samples = (X, Y, third)
    pairs = [(0, 1), (0, 2), (1, 2)]
    values = [mmd2(RBF(1.0), samples[a], samples[b]) for a, b in pairs]
    sizes = [len(samples[a]) * len(samples[b]) for a, b in pairs]
    assert_allclose(result.statistic, np.average(values, weights=sizes), rtol=1e-9)
    for (a, b), value in zip(pairs, values, strict=True):
        assert_allclose(result.distances[a, b], value, rtol=1e-9)
    assert_allclose(result.observed, result.statistic, rtol=1e-4)
    assert result.to_dict()["distances"][0][0] == 0.0


def test_k_samples_of_frames_and_arrays():
    rng = np.random.default_rng(5)
    a, b, c = (rng.normal(i, 1.0 + i, size=(20, 2)) for i in range(3))
    frames = [pd.DataFrame(s, columns=["u", "v"]) for s in (a, b, c)]
    turned = frames[2][["v", "u"]]
    together = KSample().statistic(*frames)
    assert_allclose(KSample().statistic(frames[0], b, turned), together)
    with pytest.raises(
        ValueError, match=r"samples\[0\] and samples\[1\] must have the same columns"
    ):
        KSample().statistic(frames[0], turned.rename(columns={"u": "w"}))
    labelled = frames[0].assign(u="x")
    with pytest.raises(TypeError, match=r"samples\[1\] must be a data frame"):
        KSample().statistic(labelled, b)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MMDAgg([]), "at least one kernel"),
        (lambda: MMDAgg(RBF(1.0)), "kernels must be a list"),
        (lambda: MMDAgg(KERNELS, weights=(1, 2)), "weights must have 3 entries"),
        (lambda: MMDAgg(null=Permutation(9, stop_early=True)), "cannot stop early"),
        (lambda: MMDAgg(landmarks=0), "landmarks must be"),
        (lambda: MaxMMD([1.0]), "must be a kernel"),
        (lambda: KSample().test(X), "at least two samples"),
        (lambda: KSample(null=Permutation(9, paired=True)), "does not support paired permutations"),
        (lambda: KSample().test(Empirical(X, np.full(40, 1 / 40)), Y), "no weighted samples"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
