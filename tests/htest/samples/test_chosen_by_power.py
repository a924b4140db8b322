"""Kernels and bandwidths chosen for power: the grid at random locations, and the raw supremum over kernels."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.htest import ME, NFSIC, MaxMMD, Permutation
from mercer.kernels import RBF
from mercer.rkhs import fsic, hsic, mmd2

KERNELS = [RBF(s) for s in (0.02, 0.3, 1.0, 20.0)]


def samples(n, shift, seed, scale=1.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), scale * rng.normal(size=(n, 2)) + [shift, 0.0]


def test_tuned_is_the_best_of_the_grid_at_its_locations():
    x, y = samples(300, 0.5, 0)
    test = ME.tuned(x, y, kernels=KERNELS, locations=3, rng=1)
    values = [ME(k, locations=test.locations).statistic(x, y) for k in KERNELS]
    assert test.kernel == KERNELS[int(np.argmax(values))]
    rows = {tuple(p) for p in np.concatenate([x, y]).tolist()}
    assert {tuple(p) for p in np.asarray(test.locations).tolist()} <= rows
    again = ME.tuned(x, y, kernels=KERNELS, locations=3, rng=1)
    assert again.kernel == test.kernel
    with pytest.raises(ValueError, match="locations"):
        ME.tuned(x, y, locations=0)


def test_tuned_keeps_its_level_and_gains_power():
    """Chosen on other samples: 60 nulls at level 0.1, and more power than a bandwidth far off."""
    level, tuned, far = [], [], []
    for seed in range(60):
        a, b = samples(1040, 0.0, seed)
        test = ME.tuned(a[:520], b[:520], kernels=KERNELS, locations=3, rng=seed)
        level.append(test.test(a[520:], b[520:]).pvalue <= 0.1)
        if seed < 15:
            a, b = samples(1040, 0.25, 1000 + seed)
            best = ME.tuned(a[:520], b[:520], kernels=KERNELS, locations=3, rng=seed)
            tuned.append(best.test(a[520:], b[520:]).pvalue <= 0.1)
            narrow = ME(KERNELS[0], locations=best.locations, null=Permutation(99))
            far.append(narrow.test(a[520:], b[520:], rng=seed).pvalue <= 0.1)
    assert sum(level) <= 15  # binomial(60, 0.1): P(X > 15) < 0.001
    assert np.mean(tuned) > 0.7  # measured: 14 of 15
    assert np.mean(tuned) > np.mean(far) + 0.2


def test_the_raw_supremum_is_the_largest_discrepancy():
    x, y = samples(60, 0.4, 2)
    raw = MaxMMD(KERNELS, standardized=False)
    assert_allclose(raw.statistic(x, y), max(mmd2(k, x, y) for k in KERNELS), rtol=1e-9)
    assert MaxMMD(KERNELS).statistic(x, y) != raw.statistic(x, y)
    rng = np.random.default_rng(3)
    null = MaxMMD(KERNELS, standardized=False, null=Permutation(99))
    rejected = [null.test(*rng.normal(size=(2, 25, 2)), rng=rng).pvalue <= 0.1 for _ in range(120)]
    assert sum(rejected) <= 24  # binomial(120, 0.1): P(X > 24) < 0.001


def test_fsic_is_the_norm_of_the_dependence_witness():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(200, 2))
    y = x[:, :1] ** 2 + 0.3 * rng.normal(size=(200, 1))
    v, w = x[:3], y[3:6]
    k, l = RBF(1.0)(x, v), RBF(0.7)(y, w)
    u = [np.cov(k[:, j], l[:, j])[0, 1] for j in range(3)]
    value = fsic(RBF(1.0), RBF(0.7), x, y, locations=(v, w))
    assert_allclose(value, np.sqrt(np.mean(np.square(u))), rtol=1e-12)
    # at one location NFSIC is its square over the variance of the products
    one = fsic(RBF(1.0), RBF(0.7), x, y, locations=(v[:1], w[:1]))
    centred = (k[:, 0] - k[:, 0].mean()) * (l[:, 0] - l[:, 0].mean())
    normalized = NFSIC(RBF(1.0), RBF(0.7), locations=(v[:1], w[:1])).statistic(x, y)
    assert_allclose(normalized, 200 * one**2 / centred.var(), rtol=1e-9)
    # the norm over all pairs of observed points is at most sqrt(HSIC) by Cauchy-Schwarz, for kernels bounded by 1
    assert value <= np.sqrt(hsic(RBF(1.0), RBF(0.7), x, y)) * 200 / 199
    with pytest.raises(TypeError, match="a pair of points"):
        fsic(RBF(1.0), RBF(1.0), x, y, locations=v)
    with pytest.raises(ValueError, match="same number"):
        fsic(RBF(1.0), RBF(1.0), x, y, locations=(v, w[:2]))
