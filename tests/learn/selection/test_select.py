"""HSIC of sets of features equals rkhs.hsic, the search finds what brute force finds, and what correlation misses."""

from __future__ import annotations

import tracemalloc
from itertools import combinations
from math import sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_friedman1
from sklearn.feature_selection import SelectKBest, f_classif

import mercer
from mercer.gram import Gram
from mercer.kernels import RBF, Delta, Laplace, Linear, Matern, Polynomial, median_bandwidth
from mercer.learn import Backward, Forward, HSICSelector
from mercer.learn.selection.scores import SetScores, UCentered
from mercer.rkhs import hsic

KERNELS = [None, RBF(1.5), 2 * Matern(1.5, 0.7) + 1, Linear(), Polynomial(2), Laplace(1.0)]
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=str)


def data(n: int = 60, p: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p))
    return x, x[:, 0] * x[:, 1] + x[:, 2] ** 2 + 0.2 * rng.normal(size=n)


def scores_of(x: np.ndarray, y: np.ndarray, kernel=None) -> SetScores:
    return SetScores(x, UCentered.of(Gram(RBF(1.0), y)), kernel)


# ---- scores -----------------------------------------------------------------------------------


@each_kernel
@pytest.mark.parametrize("n", [4, 60, 600])  # 600 points take several tiles
def test_scores_are_unbiased_hsic(kernel, n):
    x, y = data(n)
    scores = scores_of(x, y, kernel)

    def direct(columns):
        chosen = RBF(sqrt(len(columns)) / 2) if kernel is None else kernel
        return hsic(chosen, RBF(1.0), x[:, columns], y, unbiased=True)

    inside = [0, 2, 3, 4]
    less = [direct([c for c in inside if c != j]) for j in inside]
    more = [direct([*inside, 1]), direct([*inside, 0])]  # a column may come twice
    assert_allclose(scores.without(inside), less, rtol=1e-8, atol=1e-13)
    assert_allclose(scores.with_each(inside, [1, 0]), more, rtol=1e-8, atol=1e-13)
    assert_allclose(scores.with_each([], [3]), direct([3]), rtol=1e-8, atol=1e-13)
    assert_allclose(scores.of(inside), direct(inside), rtol=1e-8, atol=1e-13)


def test_no_feature_depends_on_nothing():
    scores = scores_of(*data())
    assert scores.of([]) == 0.0
    assert_array_equal(scores.without([2]), [0.0])


def test_rows_of_a_u_centred_matrix_add_up_to_zero():
    u = UCentered.of(Gram(RBF(1.0), data(700)[0])).dense()
    assert_allclose(u, u.T)
    assert_allclose(u.sum(axis=1), 0, atol=1e-10)
    assert_array_equal(np.diag(u), 0)


def test_target_kernels():
    x, y = data()
    labels = np.where(y > 0, "yes", "no")
    numbers = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    for target, kernel in ((y, RBF(median_bandwidth(y))), (labels, Delta()), (y > 0, Delta())):
        fitted = HSICSelector(5).fit(x, target)
        points = target if target.dtype.kind == "U" else target.astype(float)
        expected = hsic(RBF(sqrt(5) / 2), kernel, numbers, points, unbiased=True)
        assert_allclose(fitted.hsic_, expected, rtol=1e-9)
    given = HSICSelector(5, target_kernel=Linear()).fit(x, y)
    assert_allclose(
        given.hsic_, hsic(RBF(sqrt(5) / 2), Linear(), numbers, y, unbiased=True), rtol=1e-9
    )


def test_whole_numbers_are_labels_if_they_repeat():
    x, y = data(40)
    few, many = np.digitize(y, [-1, 0, 1]), np.argsort(np.argsort(y))
    assert_array_equal(
        HSICSelector(2).fit(x, few).scores_, HSICSelector(2).fit(x, few.astype(str)).scores_
    )
    assert_allclose(
        HSICSelector(2).fit(x, many).scores_, HSICSelector(2).fit(x, many.astype(float)).scores_
    )


@pytest.mark.parametrize("direction", [Forward(), Backward(), Backward(0.5)], ids=str)
def test_worth_of_features(direction):
    """HSIC with the feature less HSIC without it, in the round that decided."""
    x, y = data(p=6)
    kernel = RBF(2.0)
    fitted = HSICSelector(2, direction=direction, kernel=kernel, target_kernel=RBF(1.0)).fit(x, y)
    best = np.argsort(fitted.ranking_)

    def worth(j, others):
        whole, less = (
            hsic(kernel, RBF(1.0), x[:, c], y, unbiased=True) for c in ([*others, j], others)
        )
        return whole - less

    if direction == Forward():
        assert_allclose(fitted.scores_[best[1]], worth(best[1], best[:1]), rtol=1e-7)
        assert_allclose(fitted.scores_[best[4]], worth(best[4], best[:1]), rtol=1e-7)
    else:
        assert_allclose(fitted.scores_[best[0]], worth(best[0], best[1:2]), rtol=1e-7)
        assert_allclose(fitted.scores_[best[5]], worth(best[5], best[:5]), rtol=1e-7)
    assert_allclose(fitted.hsic_, hsic(kernel, RBF(1.0), x[:, best[:2]], y, unbiased=True))


# ---- the search -------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", [Forward(), Backward(1e-9)], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_each_step_is_the_best(direction, seed):
    """Against all sets that differ by one feature, scored by rkhs.hsic."""
    x, y = data(seed=seed)

    def value(columns):
        return hsic(RBF(1.3), RBF(1.0), x[:, sorted(columns)], y, unbiased=True)

    here = set() if direction == Forward() else set(range(5))
    while len(here) != 2:
        steps = [here | {j} for j in set(range(5)) - here]
        here = max([here - {j} for j in here] if direction != Forward() else steps, key=value)
    found = HSICSelector(2, direction=direction, kernel=RBF(1.3), target_kernel=RBF(1.0)).fit(x, y)
    assert set(found.get_support(indices=True)) == here


@pytest.mark.parametrize("direction", [Forward(), Backward()], ids=str)
def test_optimal_for_kernels_that_add_up(direction):
    """For the linear kernel HSIC is a sum over features, and the search cannot go wrong."""
    x, y = data(p=7)
    found = HSICSelector(3, direction=direction, kernel=Linear(), target_kernel=Linear()).fit(x, y)
    best = max(
        combinations(range(7), 3),
        key=lambda c: hsic(Linear(), Linear(), x[:, list(c)], y, unbiased=True),
    )
    assert_array_equal(found.get_support(indices=True), best)


def test_finds_the_best_pair_of_all():
    x, _ = data(200)
    labels = x[:, 1] * x[:, 3] > 0
    scores = scores_of(x, labels.astype(float))
    best = max(combinations(range(5), 2), key=scores.of)
    assert best == (1, 3)
    assert_array_equal(HSICSelector(2).fit(x, labels).get_support(indices=True), best)


@pytest.mark.parametrize("seed", range(3))
def test_exclusive_or_among_noise(seed):
    """Neither feature is correlated with the label; univariate selection is lost, BAHSIC is not."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(200, 20))
    y = x[:, 4] * x[:, 11] > 0
    assert set(HSICSelector(2).fit(x, y).get_support(indices=True)) == {4, 11}
    alone = SelectKBest(f_classif, k=2).fit(x, y)
    assert set(alone.get_support(indices=True)) != {4, 11}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("direction", [Forward(), Backward()], ids=str)
def test_friedman(direction, seed):
    """10 sin(pi x0 x1) + 20 (x2 - 1/2)^2 + 10 x3 + 5 x4 + noise: x2 is not correlated with y."""
    x, y = make_friedman1(500, 15, noise=1.0, random_state=seed)
    found = HSICSelector(5, direction=direction).fit(x, y)
    assert_array_equal(found.get_support(indices=True), range(5))
    correlations = abs(np.corrcoef(x.T, y)[-1, :-1])
    assert 2 not in np.argsort(correlations)[-4:]


def test_units_do_not_matter():
    x, y = data()
    units = np.array([1e-3, 1.0, 50.0, 1e6, 3.0])
    one, other = HSICSelector(2).fit(x, y), HSICSelector(2).fit(x * units + 7.0 * units, 1e4 * y)
    assert_array_equal(one.ranking_, other.ranking_)
    assert_allclose(one.scores_, other.scores_, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("direction", [Forward(), Backward()], ids=str)
def test_constant_features(direction):
    """They are worth no more than rounding, once the bandwidth does not change with their number."""
    x, y = data()
    x[:, 0], x[:, 3] = 1.0, 0.1 + 0.2  # the mean of the second is not exactly its value
    fitted = HSICSelector(2, direction=direction, kernel=RBF(1.0)).fit(x, y)
    assert_allclose(fitted.scores_[[0, 3]], 0, atol=1e-12)
    assert fitted.scores_[2] > 1e-3
    assert HSICSelector(1, direction=direction).fit(x, y).get_support(indices=True) == [2]


def test_memory_and_threads():
    """No n x n array, and the same numbers whatever runs the tiles."""
    x, y = data(2500, 4)
    dense = 8 * 2500**2
    tracemalloc.start()
    with mercer.config(threads=1):
        one = HSICSelector(2).fit(x, y).scores_
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < dense / 2
    with mercer.config(threads=3):
        assert_array_equal(HSICSelector(2).fit(x, y).scores_, one)


# ---- what cannot be done ----------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, np.nan])
def test_wrong_share(share):
    with pytest.raises(ValueError, match="share must be"):
        Backward(share)


def test_wrong_parameters():
    x, y = data()
    with pytest.raises(TypeError, match="direction must be Backward"):
        HSICSelector(direction="backward").fit(x, y)
    with pytest.raises(TypeError, match="kernel must be a kernel"):
        HSICSelector(kernel="rbf").fit(x, y)
    with pytest.raises(TypeError, match="target_kernel must be a kernel"):
        HSICSelector(target_kernel=Delta).fit(x, y)


def test_wrong_targets():
    x, y = data(10)
    with pytest.raises(ValueError, match="all labels of y are different"):
        HSICSelector().fit(x, [*"abcdefghij"])
    with pytest.raises(TypeError, match="y must hold labels .* drop or fill"):
        HSICSelector().fit(x, np.array([None, *"abcabcabc"], dtype=object))
    with pytest.raises(ValueError, match="all points of y are equal"):
        HSICSelector().fit(x, np.ones(10))
    with pytest.raises(ValueError, match="minimum of 4 is required"):
        HSICSelector().fit(x[:3], y[:3])
