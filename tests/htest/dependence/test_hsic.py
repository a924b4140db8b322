"""HSIC: its statistic, its permutations by every road, and the nulls that need none."""

from __future__ import annotations

from itertools import permutations as every_order

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.gram.circular_correlation import circular_correlations, diagonals
from mercer.gram.combine import Dense
from mercer.htest import HSIC, Gamma, Permutation, Spectrum, WildBootstrap
from mercer.htest.dependence.hsic_statistic import HSICEvidence
from mercer.htest.dependence.sums.centered_gram import LowRankGram, TiledGram, centered_gram
from mercer.htest.dependence.sums.cyclic_permutations import CyclicPermutations, permutations
from mercer.htest.dependence.sums.dense_gram import DenseGram
from mercer.htest.dependence.sums.permuted_dense import permuted_sums
from mercer.htest.dependence.sums.permuted_trace import DiagonalTrace, Distance1DTrace, LowRankTrace
from mercer.htest.nulls import share
from mercer.kernels import RBF, Delta, Energy, Laplace, Linear, Sigmoid
from mercer.rkhs import hsic
from mercer.rkhs.paired_samples import variables
from tests.support.arrays import torch
from tests.support.letters import Letters


def drawn(n: int, dx: int, dy: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Variables that depend on each other a little."""
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((n, dx)), rng.standard_normal((n, dy))
    return x, y + 0.3 * x[:, :1] ** 2


def evidence_of(x, y, kernels=(None, None), unbiased=False) -> HSICEvidence:
    return HSICEvidence.of(*variables(kernels, (x, y)), unbiased)


def naive(evidence: HSICEvidence, orders: np.ndarray) -> np.ndarray:
    """The formulas of the papers for every permuted Gram matrix."""
    k, l = (s.variable.kernel(s.variable.points) for s in (evidence.first, evidence.second))
    n, out = len(k), []
    h = np.eye(n) - 1 / n
    for p in orders:
        m = l[np.ix_(p, p)]
        if evidence.unbiased:
            a, b = k - np.diag(np.diag(k)), m - np.diag(np.diag(m))
            value = np.sum(a * b) + a.sum() * b.sum() / ((n - 1) * (n - 2))
            out.append((value - 2 * np.sum(a @ b) / (n - 2)) / (n * (n - 3)))
        else:
            out.append(np.trace(k @ h @ m @ h) / n**2)
    return np.array(out)


ROADS = [  # n, widths, kernels, and the road that is taken
    (4, (1, 1), (None, None), DiagonalTrace),
    (31, (1, 7), (None, Laplace(1.0)), DiagonalTrace),
    (64, (6, 2), (None, None), DiagonalTrace),
    (1201, (1, 1), (RBF(1.0), RBF(2.0)), LowRankTrace),
    (200, (3, 2), (Linear(), Linear()), LowRankTrace),
    (150, (9, 2), (None, Linear()), DiagonalTrace),  # one of low rank only
    (60, (1, 1), (Energy(), Energy()), Distance1DTrace),
    (60, (1, 2), (Energy(), Energy()), DiagonalTrace),
    (60, (2, 2), (RBF(1.0), Sigmoid(0.3)), DiagonalTrace),  # not positive definite
]


# ---- statistics ------------------------------------------------------------------------------


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize(("n", "widths", "kernels", "road"), ROADS)
def test_statistic_is_hsic(n, widths, kernels, road, unbiased):
    x, y = drawn(n, *widths)
    evidence = evidence_of(x, y, kernels, unbiased)
    assert isinstance(evidence.trace, road)
    expected = hsic(*kernels, x, y, unbiased=unbiased)
    assert_allclose(evidence.observed, expected, rtol=1e-9, atol=1e-15)
    assert HSIC(*kernels, unbiased=unbiased).statistic(x, y) == evidence.observed


def test_the_unit_of_a_variable_does_not_matter():
    x, y = drawn(80, 2, 3)
    plain, scaled = (HSIC().test(x, c * y, rng=3) for c in (1.0, 1e5))
    assert plain.pvalue == scaled.pvalue
    assert_allclose(plain.statistic, scaled.statistic, rtol=1e-9)


def test_frames_and_categories():
    rng = np.random.default_rng(0)
    letters = rng.choice(["a", "b", "c"], 120)
    frame = pd.DataFrame({"letter": letters})
    number = pd.Series(rng.standard_normal(120) + (letters == "a"), name="number")
    result = HSIC().test(frame, number, rng=0)
    assert result.rejects(0.01)
    assert "letter" in result.to_dict()["variables"][0]["columns"]
    codes = (letters[:, None] == np.array(["a", "b", "c"])).astype(float)
    assert_allclose(
        HSIC(Delta(), RBF(1.0)).statistic(frame, number),
        HSIC(Linear(), RBF(1.0)).statistic(codes, number),
    )


def test_points_that_are_no_arrays():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (60, 5))
    words = ["".join(c for c, b in zip("abcde", row, strict=True) if b) for row in bits]
    y = bits[:, 0] + 0.5 * rng.standard_normal(60)
    kernels = Letters(), RBF(1.0)
    result = HSIC(*kernels, null=Permutation(199)).test(words, y, rng=0)
    same = HSIC(Linear(), RBF(1.0), null=Permutation(199)).test(bits.astype(float), y, rng=0)
    assert_allclose(result.statistic, same.statistic)
    assert_allclose(result.null, same.null, atol=1e-14)


def test_torch_and_float32():
    x, y = drawn(90, 3, 2)
    result = HSIC(RBF(1.0), RBF(1.0)).test(x, y, rng=0)
    single = HSIC(RBF(1.0), RBF(1.0)).test(x.astype(np.float32), y.astype(np.float32), rng=0)
    assert_allclose(single.statistic, result.statistic, rtol=1e-6)
    if torch is not None:
        tensors = torch.as_tensor(x), torch.as_tensor(y)
        again = HSIC(RBF(1.0), RBF(1.0)).test(*tensors, rng=0)
        assert_allclose(again.statistic, result.statistic, rtol=1e-10)
        assert again.pvalue == result.pvalue


# ---- permutations ----------------------------------------------------------------------------


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize(("n", "widths", "kernels", "road"), ROADS)
def test_permutations_are_those_of_the_naive_loop(n, widths, kernels, road, unbiased):
    x, y = drawn(n, *widths, seed=1)
    evidence = evidence_of(x, y, kernels, unbiased)
    number = 40 if n > 500 else 150
    null = Permutation(number)
    orders = CyclicPermutations(n, null, 7).orders(slice(0, number + 1))
    if n > 500:
        orders = orders[:12]
    expected = naive(evidence, orders)
    values = evidence.permuted(null, slice(0, number + 1), 7)
    size = np.max(np.abs(expected))
    assert_allclose(values[: len(orders)], expected, rtol=0, atol=1e-12 * size)
    assert_allclose(values[0], evidence.observed, rtol=1e-10, atol=1e-13 * size)
    if n <= 500:
        p = share(expected[1:], float(expected[0]), evidence.tolerance())
        assert null.judge(evidence, _Fixed(7)).pvalue == p


class _Fixed(np.random.Generator):
    """A generator whose next seed is known."""

    def __init__(self, seed: int) -> None:
        super().__init__(np.random.PCG64(0))
        self._seed = seed

    def integers(self, *_, **__):
        return self._seed


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize(("n", "widths", "kernels", "road"), [r for r in ROADS if 4 < r[0] < 500])
def test_permutations_within_blocks(n, widths, kernels, road, unbiased):
    x, y = drawn(n, *widths, seed=2)
    evidence = evidence_of(x, y, kernels, unbiased)
    labels = tuple("ab"[i % 2] for i in range(n))
    null = Permutation(20, blocks=labels)
    (orders,) = permutations(n, null, slice(0, 21), 5)
    assert all(labels[i] == labels[j] for order in orders for i, j in enumerate(order))
    expected = naive(evidence, orders)
    values = evidence.permuted(null, slice(0, 21), 5)
    assert_allclose(values, expected, rtol=0, atol=1e-12 * np.max(np.abs(expected)))


def test_paired_permutations_are_refused():
    x, y = drawn(20, 1, 1)
    with pytest.raises(ValueError, match="paired permutations swap the members of pairs"):
        HSIC(null=Permutation(99, paired=True)).test(x, y)


def test_turns_are_permutations_drawn_without_repeats():
    turns = CyclicPermutations(30, Permutation(59), 3)
    orders = turns.orders(slice(0, 60))
    assert np.all(np.sort(orders, axis=1) == np.arange(30))
    assert np.all(orders[0] == np.arange(30))
    assert len({tuple(order) for order in orders}) == 60
    assert len(turns.coset_orders) == 2


def test_turns_have_no_favourites():
    """Over many draws every observation takes every place equally often."""
    places = np.zeros((6, 6))
    for seed in range(600):
        order = CyclicPermutations(6, Permutation(5), seed).orders(slice(1, 6))
        for i in range(6):
            places[i] += np.bincount(order[:, i], minlength=6)
    off = places[~np.eye(6, dtype=bool)]  # moves of one order leave nothing in its place
    assert np.all(np.diag(places) == 0)
    assert np.max(np.abs(off / off.mean() - 1)) < 0.2


@pytest.mark.parametrize("n", [4, 7, 12, 129, 260])
def test_correlations_of_diagonals(n):
    rng = np.random.default_rng(n)
    a, b, c = (m + m.T for m in rng.standard_normal((3, n, n)))
    found = circular_correlations([Dense(a)], [Dense(b), Dense(c)])
    assert found.shape == (1, 2, n)
    for k in (0, 1, n // 2, n - 1):
        at = (np.arange(n) + k) % n
        for j, m in enumerate((b, c)):
            assert_allclose(found[0, j, k], np.sum(a * m[np.ix_(at, at)]), atol=1e-10 * n)
    cut = diagonals(Dense(a), slice(1, n // 2))
    assert_allclose(cut[:, 0], a[np.arange(n), (np.arange(n) + 1) % n])


def test_stripes_of_any_height():
    rng = np.random.default_rng(0)
    a, b = (m + m.T for m in rng.standard_normal((2, 700, 700)))
    orders = np.stack([np.arange(700), rng.permutation(700)])
    expected = [np.sum(a * b[np.ix_(p, p)]) for p in orders]
    assert_allclose(permuted_sums(Dense(a), Dense(b), orders), expected, rtol=1e-10)
    x, y = drawn(1500, 9, 9)
    evidence = evidence_of(x, y)
    left, right = (s.matrix() for s in (evidence.first, evidence.second))
    orders = np.stack([np.arange(1500), rng.permutation(1500)])
    with mercer.config(memory="16MiB"):  # 349 rows of each matrix at a time
        cut = permuted_sums(left, right, orders)
    assert_allclose(cut, permuted_sums(left, right, orders), rtol=1e-10)


def test_neither_threads_nor_memory_change_anything():
    x, y = drawn(700, 6, 5)
    found = {}
    for memory in ("2GiB", "16MiB"):
        for threads in (1, 2, 3):
            with mercer.config(threads=threads, memory=memory):
                found[memory, threads] = HSIC(null=Permutation(999)).test(x, y, rng=1)
        for threads in (2, 3):
            assert np.array_equal(found[memory, 1].null, found[memory, threads].null)
    assert_allclose(found["16MiB", 1].null, found["2GiB", 1].null, rtol=1e-10)
    assert len({result.pvalue for result in found.values()}) == 1


def test_early_stopping_uses_the_same_permutations():
    x = np.random.default_rng(0).standard_normal((60, 2))
    y = np.random.default_rng(1).standard_normal((60, 2))
    whole = HSIC(null=Permutation(2000)).test(x, y, rng=5)
    early = HSIC(null=Permutation(2000, stop_early=True, enough=20)).test(x, y, rng=5)
    assert np.array_equal(early.null, whole.null[: len(early.null)])
    assert np.count_nonzero(early.null >= early.observed - 1e-15) == 20


def test_ties_count():
    """Two binary variables: a few different tables, so that most permutations tie with another."""
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 2, (40, 1)).astype(float) for _ in range(2))
    result = HSIC(null=Permutation(499)).test(x, y, rng=0)
    table = np.array([[np.sum((x == a) & (y == b)) for b in (0, 1)] for a in (0, 1)])
    far = abs(table[0, 0] - table[0].sum() * table[:, 0].sum() / 40)
    evidence = evidence_of(x, y)
    orders = CyclicPermutations(
        40, Permutation(499), int(np.random.default_rng(0).integers(2**63))
    ).orders(slice(1, 500))
    as_far = [
        abs(np.sum((x[:, 0] == 0) & (y[p, 0] == 0)) - table[0].sum() * table[:, 0].sum() / 40)
        >= far - 1e-9
        for p in orders
    ]
    assert result.pvalue == (1 + sum(as_far)) / 500
    assert evidence.tolerance() < 1e-12


# ---- nulls without permutations --------------------------------------------------------------


def test_moments_are_those_of_all_permutations():
    x, y = drawn(7, 2, 1, seed=3)
    evidence = evidence_of(x, y)
    all_of_them = naive(evidence, np.array(list(every_order(range(7)))))
    observed, mean, variance = evidence.moments()
    assert_allclose([mean, variance], [all_of_them.mean(), all_of_them.var()], rtol=1e-9)
    assert_allclose(observed, evidence.observed)


NULLS = {
    "normal": lambda rng: (rng.standard_normal((500, 1)), rng.standard_normal((500, 1))),
    "unequal": lambda rng: (rng.standard_normal((500, 5)), rng.exponential(size=(500, 2))),
    "discrete": lambda rng: (
        rng.integers(0, 2, (500, 1)).astype(float),
        rng.poisson(1.0, (500, 2)).astype(float),
    ),
}


@pytest.mark.parametrize("problem", NULLS)
def test_quantiles_of_gamma_and_spectrum(problem):
    """The share of 4,000 permutations below each quantile, within four standard errors."""
    evidence = evidence_of(*NULLS[problem](np.random.default_rng(1)))
    draws = evidence.permuted(Permutation(3999), slice(1, 4000), 3)
    law = Gamma().judge(evidence).law
    spectral = Spectrum(20_000).judge(evidence, 0).draws
    for level in (0.5, 0.9, 0.99):
        error = np.sqrt(level * (1 - level) * (1 / 4000 + 1 / 20_000))
        for quantile in (float(law.ppf(level)), float(np.quantile(spectral, level))):
            assert abs(np.mean(draws <= quantile) - level) < 4 * error


def test_cubes_and_squares_of_a_centered_gram():
    x, y = drawn(120, 1, 8)
    for variable in variables((RBF(1.0), None), (x, y)):
        for found in (centered_gram(variable, 60), TiledGram(variable)):
            values = np.linalg.eigvalsh(np.asarray(variable.gram.centered().dense()))
            assert_allclose(found.squared_norm, np.sum(values**2), rtol=1e-9)
            assert_allclose(found.cube_trace, np.sum(values**3), rtol=1e-3)
            assert_allclose(found.diagonal.sum(), values.sum(), rtol=1e-9)
            assert_allclose(found.eigenvalues(5), values[::-1][:5], rtol=1e-7)
            assert_allclose(found.norm, np.sqrt(np.sum(values**2)), rtol=0.3)
    assert isinstance(centered_gram(variables((RBF(1.0),), (x,))[0], 60), LowRankGram)


def test_wild_bootstrap():
    x, _ = drawn(150, 1, 1)
    assert HSIC(null=WildBootstrap(199)).test(x, x**2, rng=0).rejects(0.01)
    other = np.random.default_rng(8).standard_normal((150, 1))
    assert not HSIC(null=WildBootstrap(199)).test(x, other, rng=0).rejects(0.01)


# ---- bad input -------------------------------------------------------------------------------


def test_refusals():
    x, y = drawn(20, 1, 1)
    with pytest.raises(
        ValueError, match="must have the same number of observations, got 20 and 19"
    ):
        HSIC().test(x, y[:19])
    with pytest.raises(ValueError, match="need at least 4 observations, got 3"):
        HSIC().test(x[:3], y[:3])
    with pytest.raises(TypeError, match="kernel_y must be a kernel, such as"):
        HSIC(None, "rbf")
    with pytest.raises(TypeError, match="null must be a null"):
        HSIC(null=999)


@pytest.mark.parametrize("kernel", [RBF(1.0), Laplace(0.5)])
def test_arrays_of_few_observations_give_what_tiles_give(kernel):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(90, 3))
    y = x[:, :2] ** 2 + rng.normal(size=(90, 2))
    pair = variables((kernel, kernel), (x, y))
    arrays = HSICEvidence.of(*pair, null=Gamma())
    tiles = HSICEvidence(*(TiledGram(variable) for variable in pair))
    assert isinstance(arrays.first, DenseGram)
    assert_allclose(arrays.observed, tiles.observed, rtol=1e-10)
    assert_allclose(arrays.moments(), tiles.moments(), rtol=1e-10)
    exact = np.sum(np.linalg.eigvalsh(arrays.first.array) ** 3)
    assert_allclose(arrays.first.cube_trace, exact, rtol=1e-10)
    assert_allclose(arrays.skewness(), tiles.skewness(), rtol=1e-2)  # tiles estimate small ones
    assert_allclose(arrays.first.eigenvalues(5), tiles.first.eigenvalues(5), rtol=1e-8)
