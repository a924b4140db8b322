"""Few points for many: greedy choices against brute force, discrepancies against random subsets, memory."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.kernels import RBF, InverseMultiquadric, Laplace, Stein, median_bandwidth
from mercer.rkhs import (
    Empirical,
    Gaussian,
    Mixture,
    kernel_herding,
    kernel_thinning,
    ksd2,
    mean_embedding,
    mmd2,
    stein_points,
    stein_thinning,
)
from mercer.rkhs.compression import thinning
from tests.support.arrays import torch

P = Mixture([Gaussian([0.0, 0.0], 1.0), Gaussian([3.0, 1.0], [0.5, 2.0])], [0.4, 0.6])
K = RBF(1.0)


def chain(n, seed=0):
    """A biased walk: it begins far away and is too wide."""
    x = P.sample(n, rng=seed) * 1.2
    x[: n // 10] += np.linspace(8.0, 0.0, n // 10)[:, None]
    return x


def test_stein_thinning_is_the_best_choice_step_by_step():
    """Every row in turn is the one that makes the discrepancy of the chosen ones least."""
    x = chain(60)
    kernel = InverseMultiquadric(median_bandwidth(x))
    h = Stein(kernel, P.score)(x)
    rows: list[int] = []
    for _ in range(15):
        values = [np.mean(h[np.ix_([*rows, i], [*rows, i])]) for i in range(60)]
        rows.append(int(np.argmin(values)))
    assert_array_equal(stein_thinning(P.score, x, 15), rows)
    assert_array_equal(stein_thinning(P.score(x), x, 15), rows)
    assert_array_equal(stein_thinning(P.score, x, 5, kernel=kernel), rows[:5])


def test_stein_thinning_removes_bias():
    x = chain(1500)
    rows = stein_thinning(P.score, x, 100)
    assert np.all(x[rows][:, 0] < 7)  # nothing of where the walk began
    kernel = InverseMultiquadric(median_bandwidth(x))

    def distance(some):
        return ksd2(kernel, P.score, x[some], unbiased=False)

    random = min(distance(np.random.default_rng(s).choice(1500, 100)) for s in range(10))
    assert distance(rows) < random / 3
    assert distance(rows) < distance(np.arange(1500)) / 3


def test_stein_thinning_comes_closer_to_the_target_itself():
    """By the MMD to draws from the target, which it has not seen."""
    p = Gaussian([0.0, 0.0], [[1.0, 0.6], [0.6, 1.0]])
    x = 1.4 * p.sample(1500, rng=0) + 0.4
    draws = p.sample(20_000, rng=5)
    rows = stein_thinning(p.score, x, 100)
    assert mmd2(K, draws, x[rows], unbiased=False) < mmd2(K, draws, x, unbiased=False) / 3


def test_stein_points_beat_draws():
    wide = Gaussian([1.0, 0.0], 9.0)
    found = stein_points(P.score, lambda n, rng: wide.sample(n, rng=rng), 40, kernel=K, rng=0)
    assert found.shape == (40, 2)
    ours = ksd2(K, P.score, found, unbiased=False)
    draws = [ksd2(K, P.score, P.sample(40, rng=s), unbiased=False) for s in range(10)]
    assert ours < min(draws)
    again = stein_points(P.score, lambda n, rng: wide.sample(n, rng=rng), 3, kernel=K, rng=0)
    assert_array_equal(again, found[:3])


def herded(k, mean, m):
    """Herding by its formula on held matrices."""
    rows: list[int] = []
    for t in range(m):
        rows.append(int(np.argmax(mean - k[:, rows].sum(axis=1) / (t + 1))))
    return rows


@pytest.mark.parametrize("kernel", [K, Laplace(2.0)], ids=repr)
def test_herding_is_its_formula(kernel):
    x = P.sample(80, rng=0)
    k = kernel(x)
    assert_array_equal(kernel_herding(kernel, x, 20), herded(k, k.mean(axis=1), 20))
    other = P.sample(30, rng=1)
    expected = herded(k, kernel(x, other).mean(axis=1), 20)
    assert_array_equal(kernel_herding(kernel, x, 20, target=other), expected)


def test_herding_towards_a_distribution():
    """By the closed form, as by very many draws; nearer than random subsets of the same size."""
    x = P.sample(1000, rng=0)
    exact = kernel_herding(K, x, 40, target=P)
    mu = mean_embedding(K, P)
    draws = P.sample(20_000, rng=1)
    by_draws = kernel_herding(K, x, 40, target=draws)
    ours, sampled = (mu.distance(mean_embedding(K, x[rows])) for rows in (exact, by_draws))
    random = min(mu.distance(mean_embedding(K, P.sample(40, rng=s))) for s in range(10))
    assert ours < random / 2
    assert sampled < random / 2
    weighted = Empirical(x[:50], np.arange(1.0, 51.0) / np.arange(1.0, 51.0).sum())
    assert_array_equal(
        kernel_herding(K, x, 9, target=weighted),
        herded(K(x), K(x, x[:50]) @ weighted.weights, 9),
    )


def walk(k, risk, coins):
    """KT-SPLIT's halves pair by pair, by the sums over both halves that the paper writes."""
    first, second, width2 = [], [], 0.0
    for i, coin in enumerate(coins):
        a, b = 2 * i, 2 * i + 1
        size2 = k[a, a] + k[b, b] - 2 * k[a, b]
        seen = [*range(b + 1)]
        alpha = k[b, b] - k[a, a] + np.sum(k[seen, a] - k[seen, b])
        alpha -= 2 * np.sum(k[first, a] - k[first, b])
        top = max(np.sqrt(size2 * width2 * 2 * np.log(2 / risk)), size2)
        width2 += size2 * max(1 + (size2 - 2 * top) * width2 / top**2, 0)
        if coin < min(1, max(0, 0.5 * (1 - alpha / top))):
            a, b = b, a
        first.append(a)
        second.append(b)
    return first, second


@pytest.mark.parametrize("pairs", [3, 240])
def test_halves_are_those_of_the_paper(pairs, monkeypatch):
    monkeypatch.setattr(thinning, "_PAIRS_PER_TILE", pairs)
    x, rows = P.sample(70, rng=0), np.random.default_rng(1).permutation(70)[:60]
    found = thinning._halves(K, x, rows, 0.01, np.random.default_rng(2))
    expected = walk(K(x[rows]), 0.01, np.random.default_rng(2).random(30))
    for ours, theirs in zip(found, expected, strict=True):
        assert_array_equal(ours, rows[theirs])


def test_swaps_are_the_best_of_all():
    x, rows = P.sample(50, rng=0), np.arange(8)
    k = K(x)
    expected = [*rows]
    for i in range(8):
        values = []
        for j in range(50):
            tried = [*expected[:i], j, *expected[i + 1 :]]
            values.append(k[np.ix_(tried, tried)].mean() - 2 * k[tried].mean())
        expected[i] = int(np.argmin(values))
    assert_array_equal(thinning._swapped(K, x, rows, k.mean(axis=1)), expected)


@pytest.mark.parametrize(("n", "m"), [(1024, 32), (1000, 30), (300, 300), (500, 200)])
def test_thinned_samples_beat_random_subsets(n, m):
    x = P.sample(n, rng=0)
    rows = kernel_thinning(K, x, m, rng=0)
    assert rows.shape == (m,)
    ours = mmd2(K, x, x[rows], unbiased=False)
    subsets = [np.random.default_rng(s).choice(n, m, replace=False) for s in range(20)]
    random = min(mmd2(K, x, x[some], unbiased=False) for some in subsets)
    assert ours <= (random / 10 if m < n / 3 else random)
    assert_array_equal(rows, kernel_thinning(K, x, m, rng=0))
    fresh = P.sample(50_000, rng=9)  # it stands for the distribution, not for the sample alone
    assert abs(x[rows].mean(axis=0) - fresh.mean(axis=0)).max() < 6 * x.std() / np.sqrt(n)


def test_other_clothes():
    x = P.sample(100, rng=0)
    frame = pd.DataFrame(x, columns=["a", "b"])
    for other in (frame, torch.tensor(x), x.tolist()):
        assert_array_equal(stein_thinning(P.score(x), other, 5), stein_thinning(P.score, x, 5))
        assert_array_equal(kernel_herding(None, other, 5), kernel_herding(None, x, 5))
        assert_array_equal(
            kernel_thinning(None, other, 25, rng=0), kernel_thinning(None, x, 25, rng=0)
        )
    one = K.select("a")
    assert_array_equal(kernel_herding(one, frame, 5), kernel_herding(K, x[:, 0], 5))


@pytest.mark.parametrize(
    "run",
    [
        lambda x: stein_thinning(P.score, x, 20, kernel=K),
        lambda x: kernel_herding(K, x, 20),
        lambda x: kernel_thinning(K, x, 20, rng=0),
    ],
    ids=["stein_thinning", "kernel_herding", "kernel_thinning"],
)
def test_no_matrix_of_all_pairs_is_held(run):
    x = P.sample(4000, rng=0)
    run(x[:100])
    tracemalloc.start()
    run(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4000**2 * 8 / 2  # of 128 MB


def test_wrong_arguments():
    x = P.sample(20, rng=0)
    with pytest.raises(ValueError, match="m must be at most 20, the number of points, got 21"):
        kernel_thinning(K, x, 21)
    for run in (
        lambda m: kernel_thinning(K, x, m),
        lambda m: kernel_herding(K, x, m),
        lambda m: stein_thinning(P.score, x, m),
        lambda m: stein_points(P.score, lambda n, rng: x, m),
    ):
        with pytest.raises(ValueError, match="m must be a whole number of at least 1"):
            run(0)
    with pytest.raises(ValueError, match=r"shape of the scores, \(19, 2\)"):
        stein_thinning(P.score(x[1:]), x, 3)
    with pytest.raises(ValueError, match=r"propose\(n, rng\) has NaN"):
        stein_points(P.score, lambda n, rng: np.full((n, 2), np.nan), 2)
    with pytest.raises(TypeError, match=r"propose\(n, rng\) must be"):
        stein_points(P.score, lambda n, rng: "many", 2)
    with pytest.raises(TypeError, match="kernel must be a kernel"):
        kernel_herding("rbf", x, 3)
    assert_allclose(len(stein_thinning(P.score, x, 30)), 30)
