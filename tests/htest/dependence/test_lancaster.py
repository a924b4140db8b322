"""Lancaster's interaction: its formula, shortcuts against naive loops, the largest of three p-values."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.testing import assert_allclose

from mercer.htest import (
    Lancaster,
    Permutation,
)
from mercer.htest.dependence.hsic_statistic import HSICEvidence
from mercer.htest.dependence.lancaster_statistic import (
    InteractionEvidence,
    hadamard_gram,
    three_grams,
)
from mercer.kernels import RBF, Energy, Laplace
from mercer.rkhs.paired_samples import variables
from tests.support.htest_joint import centred, drawn, every_kernels, turned


@every_kernels
def test_the_interaction_is_its_formula(kernels):
    samples = drawn(40)
    grams = [centred(k(x)) for k, x in zip(kernels, samples, strict=True)]
    want = np.prod(grams, axis=0).mean()
    assert_allclose(Lancaster(kernels).statistic(*samples), want, rtol=1e-8)


def test_the_interaction_is_a_distance_of_embeddings():
    """<m, m> of m = P_XYZ - P_XY P_Z - P_YZ P_X - P_XZ P_Y + 2 P_X P_Y P_Z on all combinations."""
    n = 4
    x, y, z = np.random.default_rng(0).normal(size=(3, n))
    index = np.stack(np.meshgrid(*[np.arange(n)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    i, j, k = index.T
    mass = (i == j) * (j == k) / n
    mass = mass - ((i == j) * 1.0 + (j == k) + (i == k)) / n**2 + 2 / n**3
    gram = RBF(1.0)(x[i]) * RBF(1.0)(y[j]) * RBF(1.0)(z[k])
    assert_allclose(Lancaster([RBF(1.0)] * 3).statistic(x, y, z), mass @ gram @ mass, rtol=1e-9)


@every_kernels
def test_one_against_two_is_hsic_of_the_product(kernels):
    samples = drawn(30)
    sides = three_grams(variables(kernels, samples))
    k, m, p = (centred(k(x)) for k, x in zip(kernels, samples, strict=True))
    both = centred(k * m)
    order = np.random.default_rng(0).permutation(30)
    for most in (0, 30):
        evidence = HSICEvidence(hadamard_gram(sides[0], sides[1], most), sides[2])
        assert_allclose(evidence.observed, np.mean(both * p), rtol=1e-8)
        got = evidence.trace.permuted(order[None, :])[0]
        assert_allclose(got, np.sum(both * turned(p, order)), rtol=1e-8)
        assert_allclose(evidence.first.matrix(order).dense(), turned(both, order), atol=1e-9)
        assert_allclose(evidence.first.squared_norm, np.sum(both**2), rtol=1e-8)
        values = np.linalg.eigvalsh(both)[::-1]
        assert_allclose(evidence.first.eigenvalues(3), values[:3], rtol=1e-8)
        assert_allclose(evidence.first.cube_trace, np.sum(values**3), rtol=0.01)
        assert_allclose(evidence.moments()[1], np.trace(both) * np.trace(p) / (29 * 900))


def test_factors_serve_where_they_are_short():
    samples = np.random.default_rng(0).uniform(size=(3, 4000))
    wide = (RBF(5.0), RBF(5.0), RBF(5.0))
    sides = three_grams(variables(wide, samples))
    both = hadamard_gram(sides[0], sides[1], 4000)
    assert both.columns.shape[1] < 60
    assert_allclose(both.squared_norm, hadamard_gram(sides[0], sides[1], 0).squared_norm, rtol=1e-9)


def test_total_independence_permutes_two_variables():
    kernels, n = (RBF(1.0), Energy(), Laplace(1.0)), 5
    samples = drawn(n)
    grams = [centred(k(x)) for k, x in zip(kernels, samples, strict=True)]
    every = list(itertools.permutations(range(n)))
    values = [
        np.mean(grams[0] * turned(grams[1], p) * turned(grams[2], q))
        for p, q in itertools.product(every, repeat=2)
    ]
    evidence = InteractionEvidence(three_grams(variables(kernels, samples)))
    observed, mean, variance = evidence.moments()
    assert_allclose([observed, mean, variance], [values[0], np.mean(values), np.var(values)])
    draws = evidence.permuted(Permutation(300), slice(0, 301), 0)
    assert_allclose(draws[0], observed, rtol=1e-9)
    assert all(np.min(np.abs(np.array(values) - d)) < 1e-12 for d in draws)


def test_the_largest_of_three_pvalues_counts():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 200))
    result = Lancaster(null=Permutation(199)).test(x, y, x + 0.5 * rng.normal(size=200), rng=0)
    assert result.pvalue == max(result.separate)
    assert not result.rejects()
    assert "the largest counts" in result.summary()
    assert "do x, y and z interact?" in result.summary()
    assert set(result.to_dict()["separate"]) == {"x", "y", "z"}
    total = Lancaster(null=Permutation(199), total=True).test(x, y, x, rng=0)
    assert total.separate is None
    assert "independent?" in total.summary()
