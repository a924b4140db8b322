"""Relevance less redundancy: factors against lazy matrices, the search against its definition."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer.gram import Gram
from mercer.kernels import RBF, Delta, Linear, median_bandwidth
from mercer.learn import MRMR
from mercer.learn.hsic_factors import HSICFactors, line_gram
from mercer.rkhs import cka, hsic


def data(n: int = 150, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The second feature is much like the first; the third tells something else; two are noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 5))
    x[:, 1] = x[:, 0] + 0.1 * rng.normal(size=n)
    return x, np.sin(2 * x[:, 0]) + 0.6 * x[:, 2] ** 2


def alignment(x, y, kernel_y=None):
    """Centred kernel alignment by lazy matrices."""
    return cka(None, kernel_y, x, y)


# ---- factors ----------------------------------------------------------------------------------


@pytest.mark.parametrize("unbiased", [False, True])
def test_factors_are_exact(unbiased):
    x, y = data()
    variables = [x[:, 0], x[:, 2], np.round(x[:, 3]), y]
    factors = HSICFactors.of(map(line_gram, variables))
    for i, a in enumerate(variables):
        for j, b in enumerate(variables):
            kernels = RBF(median_bandwidth(a)), RBF(median_bandwidth(b))
            value = factors.hsic()[i, j] if unbiased else factors.product(i, j) / len(y) ** 2
            assert_allclose(value, hsic(*kernels, a, b, unbiased=unbiased), atol=1e-11)


def test_factors_are_thin():
    x, _ = data(5000)
    assert HSICFactors.of([line_gram(x[:, 0])]).columns[0].shape[1] < 40


def test_factors_keep_to_the_memory_budget():
    x = np.random.default_rng(0).normal(size=(20_000, 10))
    with (
        mercer.config(memory="16MiB"),
        pytest.raises(mercer.MemoryBudgetError, match="fewer rows or features"),
    ):
        MRMR(2).fit(x, x[:, 0])


# ---- the search -------------------------------------------------------------------------------


def test_relevance_and_redundancy():
    """D(x_j, y) - mean of D(x_j, x_i) over the features chosen before (Peng et al. 2005, eq. 7)."""
    x, y = data()
    fitted = MRMR(3).fit(x, y)
    assert_allclose(fitted.relevance_, [alignment(c, y) for c in x.T], rtol=1e-7)
    order = np.argsort(fitted.ranking_)
    assert order[0] == np.argmax(fitted.relevance_)
    assert fitted.redundancy_[order[0]] == 0
    for place in range(1, 5):  # the last two were decided about together with the third
        j, before = order[place], order[: min(place, 2)]
        mean = np.mean([alignment(x[:, j], x[:, i]) for i in before])
        assert_allclose(fitted.redundancy_[j], mean, rtol=1e-7)
        assert_allclose(fitted.scores_[j], fitted.relevance_[j] - mean, rtol=1e-6)
        if place <= 3:
            others = [
                fitted.relevance_[k] - np.mean([alignment(x[:, k], x[:, i]) for i in before])
                for k in order[place:]
            ]
            assert_allclose(fitted.scores_[j], max(others), rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_copies_are_left_out(seed):
    x, y = data(300, seed)
    chosen = set(MRMR(2).fit(x, y).get_support(indices=True))
    assert chosen in ({0, 2}, {1, 2})
    relevant = np.argsort(MRMR(2).fit(x, y).relevance_)[-2:]
    assert set(relevant) == {0, 1}  # relevance alone takes both copies


def test_labels():
    x, y = data()
    labels = np.where(y > 0, "high", "low")
    codes = (y > 0).astype(float)
    fitted = MRMR(2).fit(x, labels)
    assert_allclose(fitted.relevance_, [alignment(c, codes, Delta()) for c in x.T], rtol=1e-7)
    assert_allclose(MRMR(2).fit(x, y > 0).scores_, fitted.scores_)


def test_any_measure():
    x, y = data()
    given = MRMR(3, relevance=partial(hsic, None, None)).fit(x, y)
    assert_allclose(given.relevance_, [hsic(None, None, c, y) for c in x.T])
    same = MRMR(3, relevance=alignment).fit(x, y)
    assert_array_equal(same.ranking_, MRMR(3).fit(x, y).ranking_)

    def correlation(a, b):
        return abs(np.corrcoef(a, b)[0, 1])

    mixed = MRMR(3, redundancy=correlation).fit(x, y)
    assert_allclose(mixed.relevance_, MRMR(3).fit(x, y).relevance_)
    second = np.argsort(mixed.ranking_)[1]
    first = np.argmax(mixed.relevance_)
    assert_allclose(mixed.redundancy_[second], correlation(x[:, first], x[:, second]))


def test_a_measure_of_labels():
    x, y = data()
    labels = np.where(y > 0, "high", "low")
    relevance, redundancy = partial(hsic, None, Delta()), partial(hsic, None, None)
    fitted = MRMR(2, relevance=relevance, redundancy=redundancy).fit(x, labels)
    assert_allclose(fitted.relevance_, [hsic(None, Delta(), c, labels) for c in x.T])


def test_linear_measures_agree_with_correlation():
    x, y = data()

    squared = partial(cka, Linear(), Linear())

    def correlation(a, b):
        return np.corrcoef(a, b)[0, 1] ** 2

    one, other = (MRMR(3, relevance=m).fit(x, y).scores_ for m in (squared, correlation))
    assert_allclose(one, other, rtol=1e-9)


def test_constant_features_are_irrelevant():
    x, y = data()
    x[:, 3] = 2.0
    fitted = MRMR(2).fit(x, y)
    assert fitted.relevance_[3] == 0
    assert HSICFactors.of([Gram(RBF(1.0), x[:, 3]), Gram(RBF(1.0), y)]).cka(0, 1) == 0


# ---- what cannot be done ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["relevance", "redundancy"])
def test_wrong_measures(name):
    x, y = data()
    with pytest.raises(TypeError, match=f"{name} must be a function of two variables"):
        MRMR(**{name: "cka"}).fit(x, y)
    with pytest.raises((TypeError, ValueError), match=f"the value of {name} must be"):
        MRMR(**{name: lambda a, b: np.nan}).fit(x, y)
    with pytest.raises((TypeError, ValueError), match=f"the value of {name} must be"):
        MRMR(**{name: lambda a, b: (0.0, 1.0)}).fit(x, y)
