"""The tests of mercer as the published studies use them: learn on one half, test on the other."""

from __future__ import annotations

import numpy as np

from mercer import htest
from mercer.kernels import RBF, median_bandwidth
from mercer.rkhs import mmd2

Pair = tuple[np.ndarray, np.ndarray]
J = 5


def me_optimised(train: Pair, test: Pair, rng: np.random.Generator, locations: int = J) -> float:
    return htest.ME.optimized(*train, locations=locations, rng=rng).test(*test, rng=rng).pvalue


def scf_optimised(train: Pair, test: Pair, rng: np.random.Generator) -> float:
    return htest.SCF.optimized(*train, frequencies=J, rng=rng).test(*test, rng=rng).pvalue


def me_random(train: Pair, test: Pair, rng: np.random.Generator, locations: int = J) -> float:
    """Locations from the training half, the best of 20 widths for them."""
    numbers = locations // 2, locations - locations // 2
    points = np.concatenate(
        [s[rng.integers(len(s), size=number)] for s, number in zip(train, numbers, strict=True)]
    )
    tests = [htest.ME(RBF(width), locations=points) for width in _widths(train, -2.5, 2.5)]
    return max(tests, key=lambda t: t.statistic(*train)).test(*test, rng=rng).pvalue


def scf_random(train: Pair, test: Pair, rng: np.random.Generator) -> float:
    """Standard normal frequencies, the best of 20 widths for them."""
    frequencies = rng.standard_normal((J, train[0].shape[1]))
    tests = [htest.SCF(width, frequencies=frequencies) for width in _widths(train, -4.0, 3.0)]
    return max(tests, key=lambda t: t.statistic(*train)).test(*test, rng=rng).pvalue


def mmd_quadratic(train: Pair, test: Pair, rng: np.random.Generator) -> float:
    """The width with the largest MMD^2 on 1,000 training points of each sample; 400 permutations."""
    few = train[0][:1000], train[1][:1000]
    width = max(_widths(train, -2.0, 2.0), key=lambda w: mmd2(RBF(w), *few))
    return htest.MMD(RBF(width), null=htest.Permutation(400)).test(*test, rng=rng).pvalue


def mmd_linear(train: Pair, test: Pair, rng: np.random.Generator) -> float:
    """The width with the smallest p-value on the training half."""
    tests = [htest.LinearMMD(RBF(width)) for width in _widths(train, -1.0, 4.0)]
    return min(tests, key=lambda t: t.test(*train, rng=rng).pvalue).test(*test, rng=rng).pvalue


def ume_optimised(train: Pair, test: Pair, rng: np.random.Generator) -> float:
    return htest.UME.optimized(*train, locations=J, rng=rng).test(*test, rng=rng).pvalue


def ume_random(train: Pair, test: Pair, rng: np.random.Generator) -> float:
    """Points of the pooled sample, at its median distance."""
    return htest.UME(locations=J).test(*test, rng=rng).pvalue


def mmdagg_five(train: Pair, test: Pair, rng: np.random.Generator) -> float:
    """Gaussians exp(-r^2 / s^2) at s = 2^-4, ..., 2^0 times the median distance of coordinates."""
    pooled = np.concatenate(test)[rng.permutation(len(test[0]) + len(test[1]))[:1000]]
    middle = np.mean(
        [np.median(np.abs(np.subtract.outer(c, c))[np.triu_indices(len(c), 1)]) for c in pooled.T]
    )
    kernels = [RBF(float(middle) * 2.0**octave / 2**0.5) for octave in range(-4, 1)]
    return htest.MMDAgg(kernels, null=htest.Permutation(1000)).test(*test, rng=rng).pvalue


def mmdagg_default(train: Pair, test: Pair, rng: np.random.Generator) -> float:
    return htest.MMDAgg().test(*test, rng=rng).pvalue


def _widths(train: Pair, low: float, high: float, number: int = 20) -> list[float]:
    few = np.concatenate([s[:500] for s in train])
    return [float(w) for w in median_bandwidth(few) * 2.0 ** np.linspace(low, high, number)]
