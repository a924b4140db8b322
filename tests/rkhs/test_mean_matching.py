"""Weights by embeddings: against a solver, against exact ratios and posteriors; prototypes against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import RBF
from mercer.learn import KernelRidge
from mercer.rkhs import abc_posterior, kernel_mean_matching, mmd2, prototypes


def test_mean_matching_solves_its_quadratic_program():
    """By the conditions of Karush, Kuhn and Tucker: gradient >= 0 at zero weights, <= 0 at the bound, 0 between."""
    rng = np.random.default_rng(0)
    x, y, k = rng.normal(size=(40, 1)), rng.normal(0.6, 0.8, size=(60, 1)), RBF(0.7)
    w = kernel_mean_matching(x, y, kernel=k, largest=3.0, slack=0.9)
    gradient = k(x) @ w / 40 - k(x, y).mean(axis=1)
    assert abs(w.mean() - 1) < 0.9  # the slack does not bind
    between = (w > 1e-6) & (w < 3 - 1e-6)
    assert between.any()
    assert_allclose(gradient[between], 0, atol=1e-5)
    assert gradient[w <= 1e-6].min(initial=0) > -1e-5
    assert gradient[w >= 3 - 1e-6].max(initial=0) < 1e-5
    tight = kernel_mean_matching(x, y + 5, kernel=k, slack=0.0)
    assert_allclose(tight.mean(), 1.0, rtol=1e-9)
    assert tight.min() >= 0


def test_weights_are_density_ratios_and_correct_a_regression():
    """Source N(0, 1), target N(1, 0.5^2): the ratio is known, and a line fitted to y = x^2 is another one there."""
    rng = np.random.default_rng(1)
    x, target = rng.normal(size=600), rng.normal(1.0, 0.5, size=600)
    w = kernel_mean_matching(x, target, kernel=RBF(0.5), largest=20.0)
    exact = 2 * np.exp(-2 * (x - 1) ** 2 + x**2 / 2)
    assert np.corrcoef(w, exact)[0, 1] > 0.8
    assert_allclose(np.average(x, weights=w), 1.0, atol=0.1)
    assert_allclose(np.average(x**2, weights=w), 1.25, atol=0.2)
    weighted = np.polyfit(x, x**2, 1, w=np.sqrt(w))
    assert_allclose(weighted, [2.0, -0.75], atol=0.35)  # E: cov(x, x^2) / var x = 2 at the target
    assert abs(np.polyfit(x, x**2, 1)[0]) < 0.5
    learner = KernelRidge(RBF(1.0), 0.1)
    learner.fit(x[:, None], x**2, sample_weight=w)
    assert learner.score(target[:, None], target**2) > 0.9


def test_the_posterior_of_a_normal_mean():
    """Prior N(0, 4), 60 observations of variance 1: the posterior is N(60 m / 60.25, 1 / 60.25)."""
    rng = np.random.default_rng(2)
    observed = rng.normal(0.8, 1.0, size=60)
    means = rng.normal(0.0, 2.0, size=1500)
    simulated = list(rng.normal(means[:, None], 1.0, size=(1500, 60)))
    posterior = abc_posterior(means, simulated, observed, epsilon=0.003)
    estimate = float(np.sum(posterior.weights * means))
    # simulated means have the standard error of the observed one, 0.13; the kernel width adds to the spread
    assert_allclose(estimate, 60 * observed.mean() / 60.25, atol=0.1)
    spread = float(np.sqrt(np.sum(posterior.weights * (means - estimate) ** 2)))
    assert 0.13 * 0.9 < spread < 0.13 * 2.5
    with pytest.raises(ValueError, match="a sample for each"):
        abc_posterior(means, simulated[:3], observed, epsilon=1.0)


def test_prototypes_are_the_greedy_minimum_and_criticisms_are_far_from_them():
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(0, 0.5, (30, 2)), rng.normal(4, 0.5, (30, 2)), [[9.0, -5.0]]])
    k = RBF(1.0)
    chosen = prototypes(k, x, 4, criticisms=2)
    rows: list[int] = []
    for _ in range(4):
        left = [i for i in range(61) if i not in rows]
        rows.append(min(left, key=lambda i: mmd2(k, x, x[[*rows, i]], unbiased=False)))
    assert chosen.prototypes.tolist() == rows
    values = [mmd2(k, x, x[rows[: t + 1]], unbiased=False) for t in range(4)]
    assert_allclose(chosen.mmd2, values, atol=1e-12)
    assert_allclose(chosen.witness, k(x).mean(axis=1) - k(x, x[rows]).mean(axis=1), atol=1e-12)
    size = np.abs(chosen.witness)
    size[rows] = -np.inf
    assert chosen.criticisms[0] == int(np.argmax(size))
    first = chosen.criticisms[0]
    gain = size + np.log(1 - k(x, x[[first]])[:, 0] ** 2 + 1e-300)
    gain[first] = -np.inf
    assert chosen.criticisms[1] == int(np.argmax(gain))
    with pytest.raises(ValueError, match="at most 61"):
        prototypes(k, x, 60, criticisms=2)
