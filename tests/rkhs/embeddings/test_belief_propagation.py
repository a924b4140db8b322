"""Kernel belief propagation against exact marginals: of tables, of loops of tables, and of Gaussian chains."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import RBF, Delta
from mercer.rkhs import ConditionalEmbedding, KernelBeliefPropagation


def categories(n, seed=0):
    """Five dependent variables with three values each."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n)
    b = np.where(rng.random(n) < 0.6, a, rng.integers(0, 3, n))
    c = np.where(rng.random(n) < 0.5, (a + 1) % 3, rng.integers(0, 3, n))
    d = np.where(rng.random(n) < 0.7, b, rng.integers(0, 3, n))
    e = np.where(rng.random(n) < 0.4, b, rng.integers(0, 3, n))
    return {"a": a, "b": b, "c": c, "d": d, "e": e}


def tables(samples, edges):
    """Empirical marginals of nodes and pairs."""
    single = {v: np.bincount(x, minlength=3) / len(x) for v, x in samples.items()}
    pairs = {}
    for s, t in edges:
        pairs[s, t] = np.zeros((3, 3))
        np.add.at(pairs[s, t], (samples[s], samples[t]), 1 / len(samples[s]))
    return single, pairs


def shares(belief):
    return np.array([belief.weights[belief.points[:, 0] == v].sum() for v in range(3)])


def test_on_a_tree_of_tables_it_is_exact():
    """The joint distribution of the tree with the empirical pairs, summed over all states."""
    edges = (("a", "b"), ("a", "c"), ("b", "d"), ("b", "e"))
    samples = categories(120)
    single, pairs = tables(samples, edges)
    evidence = {"d": 2, "c": 0}
    names = list(samples)
    exact = {v: np.zeros(3) for v in names}
    for state in product(range(3), repeat=5):
        at = dict(zip(names, state, strict=True))
        if any(at[v] != value for v, value in evidence.items()):
            continue
        mass = np.prod([single[v][at[v]] for v in names])
        for s, t in edges:
            mass *= pairs[s, t][at[s], at[t]] / (single[s][at[s]] * single[t][at[t]])
        for v in names:
            exact[v][at[v]] += mass
    tree = KernelBeliefPropagation(edges, dict.fromkeys(names, Delta()), ridge=1e-9)
    beliefs = tree.beliefs(samples, evidence)
    assert set(beliefs) == {"a", "b", "e"}
    for v, belief in beliefs.items():
        assert_allclose(shares(belief), exact[v] / exact[v].sum(), atol=1e-6)


def test_with_a_loop_it_is_loopy_belief_propagation():
    edges = (("a", "b"), ("b", "d"), ("a", "d"), ("a", "c"))
    samples = {v: x for v, x in categories(120, 1).items() if v != "e"}
    single, pairs = tables(samples, edges)
    pairs |= {(t, s): table.T for (s, t), table in list(pairs.items())}
    messages = {way: np.ones(3) for way in pairs}
    local = {v: np.ones(3) for v in samples} | {"c": np.eye(3)[1]}
    for _ in range(300):  # sum-product, from t to s
        new = {}
        for t, s in pairs:
            value = local[t] * np.prod(
                [m for (u, v), m in messages.items() if v == t and u != s] or [np.ones(3)], axis=0
            )
            new[t, s] = (
                pairs[s, t] @ (value / single[t] * (single[t] if t != "c" else 1)) / single[s]
            )
            new[t, s] /= single[s] @ new[t, s]
        messages = new
    beliefs = KernelBeliefPropagation(edges, dict.fromkeys(samples, Delta()), ridge=1e-9).beliefs(
        samples, {"c": 1}
    )
    for v, belief in beliefs.items():
        exact = single[v] * np.prod([m for (_, to), m in messages.items() if to == v], axis=0)
        assert_allclose(shares(belief), exact / exact.sum(), atol=1e-5)


def test_a_gaussian_chain():
    """Four normal variables with correlation 0.8 between neighbours: means and variances given both ends."""
    rng = np.random.default_rng(2)
    n, r = 500, 0.8
    x = [rng.normal(size=n)]
    for _ in range(3):
        x.append(r * x[-1] + np.sqrt(1 - r**2) * rng.normal(size=n))
    cov = r ** np.abs(np.subtract.outer(range(4), range(4)))
    chain = KernelBeliefPropagation(
        ((0, 1), (1, 2), (2, 3)), dict.fromkeys(range(4), RBF(1.0)), ridge=1e-3
    )
    seen = np.array([1.0, 0.5])
    beliefs = chain.beliefs(dict(enumerate(x)), {0: 1.0, 3: 0.5})
    ends, inner = [0, 3], [1, 2]
    gains = cov[np.ix_(inner, ends)] @ np.linalg.inv(cov[np.ix_(ends, ends)])
    means = gains @ seen
    variances = np.diagonal(cov[np.ix_(inner, inner)] - gains @ cov[np.ix_(ends, inner)])
    for node, mean, variance in zip(inner, means, variances, strict=True):
        points, w = beliefs[node].points[:, 0], beliefs[node].weights
        assert abs(w @ points - mean) < 0.15  # measured: 0.01 and 0.06
        assert abs(w @ (points - w @ points) ** 2 - variance) < 0.15
    free = chain.beliefs(dict(enumerate(x)))[2]
    assert (
        np.quantile(np.abs(n * free.weights - 1), 0.9) < 0.02
    )  # no evidence: nearly the sample itself


def test_refusals():
    with pytest.raises(ValueError, match="pair of different nodes"):
        KernelBeliefPropagation([(0, 0)])
    with pytest.raises(ValueError, match="must not repeat"):
        KernelBeliefPropagation([(0, 1), (1, 0)])
    tree = KernelBeliefPropagation([(0, 1)])
    with pytest.raises(ValueError, match="which no edge has"):
        tree.beliefs({0: [0.0, 1.0], 1: [0.0, 1.0]}, {2: 0.0})
    with pytest.raises(ValueError, match="1 is missing"):
        tree.beliefs({0: [0.0, 1.0]})
    with pytest.raises(ValueError, match="same number of observations"):
        tree.beliefs({0: [0.0, 1.0], 1: [0.0, 1.0, 2.0]})


def test_kernel_abc_on_a_conjugate_model():
    """Kernel ABC is the conditional embedding of parameters given simulated summaries: here of a normal mean.

    Prior N(0, 1), ten draws from N(theta, 1): the posterior given the mean m of the draws is N(10 m / 11, 1 / 11).
    """
    rng = np.random.default_rng(3)
    theta = rng.normal(size=600)
    summaries = theta + rng.normal(size=600) / np.sqrt(10)
    posterior = ConditionalEmbedding.fit(
        summaries, theta, kernel_x=RBF(0.5), kernel_y=RBF(0.5), ridge=0.5
    )
    for m in (-0.5, 0.8):
        mean = posterior.expectation(lambda t: t, [m])[0]
        square = posterior.expectation(lambda t: t**2, [m])[0]
        assert abs(mean - 10 * m / 11) < 0.08
        assert abs(square - mean**2 - 1 / 11) < 0.08
