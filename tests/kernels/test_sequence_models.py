"""Kernels of hidden Markov models and linear dynamical systems equal sums over all sequences and integrals."""

from __future__ import annotations

from itertools import combinations, pairwise, product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from mercer.kernels import (
    CauchyBinet,
    HiddenMarkov,
    HiddenMarkovProduct,
    LinearSystem,
    LinearSystemProduct,
    facts,
)
from tests.support.object_zoo import linear_systems, markov_models


def likelihood(model, symbols):
    """p(symbols): the sum over all hidden paths."""
    total = 0.0
    for path in product(range(model.states), repeat=len(symbols)):
        p = model.start[path[0]]
        for i, j in pairwise(path):
            p *= model.transitions[i, j]
        for state, symbol in zip(path, symbols, strict=True):
            p *= model.emissions[state, symbol]
        total += p
    return total


def test_symbols_by_all_sequences():
    models = markov_models()(np.random.default_rng(0), 5)
    for length in (1, 4):
        rows = [[likelihood(m, o) for o in product(range(3), repeat=length)] for m in models]
        expected = np.array(rows) @ np.array(rows).T
        assert_allclose(HiddenMarkovProduct(length)(models), expected, rtol=1e-12, atol=1e-14)


def test_gaussian_emissions_by_all_pairs_of_paths():
    a, b = markov_models(gaussian=True)(np.random.default_rng(1), 2)
    total = 0.0
    for p, q in product(product(range(a.states), repeat=3), product(range(b.states), repeat=3)):
        value = a.start[p[0]] * b.start[q[0]]
        for t in range(3):
            if t:
                value *= a.transitions[p[t - 1], p[t]] * b.transitions[q[t - 1], q[t]]
            spread = a.covariances[p[t]] + b.covariances[q[t]]
            value *= multivariate_normal(b.emissions[q[t]], spread).pdf(a.emissions[p[t]])
        total += value
    assert_allclose(HiddenMarkovProduct(3)([a], [b]), [[total]], rtol=1e-12)


def test_relabelled_states_and_long_sequences():
    (model,) = markov_models()(np.random.default_rng(4), 1)
    order = np.arange(model.states)[::-1]
    twin = HiddenMarkov(
        model.start[order], model.transitions[np.ix_(order, order)], model.emissions[order]
    )
    assert_allclose(HiddenMarkovProduct(2000).normalized()([model, twin]), 1, rtol=1e-9)
    assert HiddenMarkovProduct(2000)([model])[0, 0] == pytest.approx(0, abs=1e-200)
    assert facts(HiddenMarkovProduct(3)).separates is False
    never = HiddenMarkov([1.0], [[1.0]], [[1.0, 0.0]]), HiddenMarkov([1.0], [[1.0]], [[0.0, 1.0]])
    assert_allclose(HiddenMarkovProduct(3).normalized()(list(never)), np.eye(2))


def test_systems_by_quadrature_and_kalman_filter():
    """Two observations on a grid; densities by the recursion of the Kalman filter, step by step."""
    rng = np.random.default_rng(2)
    systems = [
        LinearSystem(rng.normal(size=2), 0.5 * rng.normal(size=(2, 2)), rng.normal(size=(1, 2)),
                     0.3 * np.eye(2), 0.4 * np.eye(2), [[0.5]])
        for _ in range(2)
    ]  # fmt: skip
    grid = np.linspace(-12, 12, 400)
    y = np.stack([v.ravel() for v in np.meshgrid(grid, grid)], axis=1)
    p, q = (_filtered(s, y) for s in systems)
    cell = (grid[1] - grid[0]) ** 2
    for rho in (0.5, 1.0, 1.7):
        expected = np.sum(p**rho * q**rho) * cell
        value = LinearSystemProduct(2, rho=rho)(systems[:1], systems[1:])[0, 0]
        assert_allclose(value, expected, rtol=1e-9)  # the trapezoidal rule is exact to 1e-12 here


def _filtered(system, y):
    mean, spread = np.tile(system.start, (len(y), 1)), system.start_covariance
    density = np.ones(len(y))
    for t in range(y.shape[1]):
        if t:
            mean = mean @ system.transition.T
            spread = system.transition @ spread @ system.transition.T + system.noise
        c = system.observation
        total = c @ spread @ c.T + system.observation_noise
        error = y[:, t : t + 1] - mean @ c.T
        density = density * np.exp(-(error[:, 0] ** 2) / total[0, 0] / 2)
        density = density / np.sqrt(2 * np.pi * total[0, 0])
        gain = spread @ c.T / total[0, 0]
        mean, spread = mean + error @ gain.T, spread - gain @ c @ spread
    return density


@pytest.mark.parametrize("order", [1, 2, 3])
def test_cauchy_binet_by_trajectories_and_minors(order):
    """P from 200 observations, and all principal minors of it; decay^200 is below 1e-60."""
    rng = np.random.default_rng(3)
    systems = [
        LinearSystem(rng.normal(size=s), 0.4 * rng.normal(size=(s, s)), rng.normal(size=(3, s)))
        for s in (1, 2, 4, 4)
    ]
    runs = []
    for s in systems:
        states = [s.start]
        for _ in range(199):
            states.append(s.transition @ states[-1])
        runs.append(np.array(states) @ s.observation.T)
    weights = 0.5 ** np.arange(200)
    expected = np.empty((4, 4))
    for i, j in product(range(4), repeat=2):
        p = (weights[:, None] * runs[i]).T @ runs[j]
        minors = combinations(range(3), order)
        expected[i, j] = sum(np.linalg.det(p[np.ix_(m, m)]) for m in minors)
    scale = np.abs(expected).max()
    assert_allclose(CauchyBinet(0.5, order=order)(systems), expected, atol=1e-12 * scale)


WRONG = {
    "rows that do not add up": (lambda: HiddenMarkov([1.0], [[0.9]], [[1.0]]), "add up to 1"),
    "negative": (lambda: HiddenMarkov([1.5, -0.5], np.eye(2), np.eye(2)), "start must be prob"),
    "shape": (lambda: HiddenMarkov([1.0], [[1.0]], [[1.0], [1.0]]), "emissions must have"),
    "NaN": (lambda: HiddenMarkov([np.nan], [[1.0]], [[1.0]]), "NaN"),
    "singular": (lambda: HiddenMarkov([1.0], [[1.0]], [[0.0]], [[[0.0]]]), "positive definite"),
    "rectangle": (lambda: LinearSystem([1.0], [[1.0, 2.0]], [[1.0]]), "transition must have"),
    "skew": (lambda: LinearSystem([1.0, 1.0], np.eye(2), np.eye(2), noise=[[1, 1], [0, 1]]), "symm"),
    "text": (lambda: LinearSystem("a", [[1.0]], [[1.0]]), "start"),
    "no density": (
        lambda: LinearSystemProduct(2)([LinearSystem([1.0], [[0.5]], [[1.0]])]),
        "give it observation_noise",
    ),
    "unstable": (lambda: CauchyBinet(0.5)([LinearSystem([1.0], [[2.0]], [[1.0]])]), "less than 0.25"),
    "order": (
        lambda: CauchyBinet(0.5, order=2)([LinearSystem([1.0], [[0.2]], [[1.0]])]),
        "at most 1",
    ),
    "other kind": (lambda: HiddenMarkovProduct(2)(linear_systems(np.random.default_rng(0), 2)), "hold"),
    "alone": (lambda: HiddenMarkovProduct(2)(HiddenMarkov([1.0], [[1.0]], [[1.0]])), "into a list"),
    "widths": (
        lambda: HiddenMarkovProduct(2)(
            [HiddenMarkov([1.0], [[1.0]], [[1.0]]), HiddenMarkov([1.0], [[1.0]], [[0.5, 0.5]])]
        ),
        "one kind",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_models(name):
    call, message = WRONG[name]
    with pytest.raises((ValueError, TypeError), match=message):
        call()
