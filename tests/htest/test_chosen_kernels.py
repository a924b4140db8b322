"""Kernels chosen for power on one half of the data: the right one is chosen, and the other half keeps its level."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.htest import HSIC, MMD, BlockMMD, CrossMMD, Gamma, LinearMMD, Permutation
from mercer.htest.samples.learn_kernel import KernelCandidates, quadratic_ratios
from mercer.kernels import RBF, Laplace
from mercer.rkhs import Empirical

NARROW, WIDE = RBF(0.15), RBF(1.5)


def fine(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """A normal sample, and one that is gathered around the multiples of a half."""
    x, y = rng.normal(size=(2, n))
    return x, np.round(2 * y) / 2 + 0.08 * rng.normal(size=n)


def test_the_ratio_is_that_of_permutations():
    x, y = fine(np.random.default_rng(0), 40)
    kernels = [NARROW, WIDE, Laplace(0.3)]
    ratios = quadratic_ratios(KernelCandidates(kernels, x, y))
    for kernel, ratio in zip(kernels, ratios, strict=True):
        result = MMD(kernel, null=Permutation(3999)).test(x, y, rng=0)
        # the deviation of 4,000 draws is known to 2% or so, of skewed ones to 4%
        assert_allclose(ratio, result.statistic / np.std(result.null), rtol=0.12)
    assert MMD.optimized(x, y, kernels=kernels).kernel == kernels[int(np.argmax(ratios))]


@pytest.mark.parametrize("kind", [MMD, LinearMMD, BlockMMD, CrossMMD])
def test_two_sample_tests_see_what_their_defaults_miss(kind):
    x, y = fine(np.random.default_rng(1), 3000 if kind in (LinearMMD, BlockMMD) else 500)
    half = len(x) // 2
    test = kind.optimized(x[:half], y[:half], kernels=[WIDE, NARROW])
    assert test.kernel == NARROW
    assert test.test(x[half:], y[half:], rng=0).rejects(0.01)
    assert not kind().test(x[half:], y[half:], rng=0).rejects(0.01)
    default = kind.optimized(x[:half], y[:half])
    assert default.test(x[half:], y[half:], rng=0).rejects(0.01)


def test_independence_at_the_right_scale():
    rng = np.random.default_rng(2)
    x = rng.uniform(size=400)
    y = np.sin(30 * x) + 0.5 * rng.normal(size=400)
    test = HSIC.optimized(x[:200], y[:200], kernels_x=[RBF(0.5), RBF(0.03)], kernels_y=[RBF(1.0)])
    assert (test.kernel_x, test.kernel_y) == (RBF(0.03), RBF(1.0))
    assert test.test(x[200:], y[200:], rng=0).rejects(0.01)
    assert not HSIC().test(x[200:], y[200:], rng=0).rejects(0.01)
    learnt = HSIC.optimized(x[:200], y[:200], null=Gamma())
    assert learnt.test(x[200:], y[200:]).rejects(0.01)


def test_the_other_half_keeps_the_level():
    """100 runs of each at level 0.1: 10 rejections expected, with a deviation of 3."""
    rng = np.random.default_rng(3)
    hits = np.zeros(2)
    for _ in range(100):
        x, y = rng.normal(size=(2, 60))
        test = MMD.optimized(x[:30], y[:30], kernels=[NARROW, WIDE], null=Gamma())
        hits[0] += test.test(x[30:], y[30:]).rejects(0.1)
        pair = HSIC.optimized(
            x[:30], y[:30], kernels_x=[NARROW, WIDE], kernels_y=[NARROW, WIDE], null=Gamma()
        )
        hits[1] += pair.test(x[30:], y[30:]).rejects(0.1)
    assert np.all((hits >= 1) & (hits <= 22))


def test_what_is_refused():
    x = np.arange(10.0)
    with pytest.raises(TypeError, match="list of kernels"):
        MMD.optimized(x, x, kernels=RBF(1.0))  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="plain samples"):
        MMD.optimized(Empirical(x, np.full(10, 0.1)), x)
    with pytest.raises(ValueError, match="at least 4 points"):
        LinearMMD.optimized(x[:3], x)
    with pytest.raises(ValueError, match="at least one kernel"):
        HSIC.optimized(x, x, kernels_x=[])
