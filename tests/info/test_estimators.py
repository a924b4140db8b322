"""Estimators other than neighbours, and estimates with intervals."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import digamma

from mercer import info
from mercer.errors import NoRule
from mercer.info import divergence, entropy, estimate, mutual_information, transfer_entropy
from mercer.kernels import RBF, Matern
from mercer.rkhs import Gaussian, Mixture

NORMAL, EXPONENTIAL = np.log(2 * np.pi * np.e) / 2, 1.0
CONSISTENT = [
    info.Spacing(), info.Vasicek(), info.Ebrahimi(), info.VanEs(), info.Correa(), info.KDE(), info.KNN(),
]  # fmt: skip


@pytest.mark.parametrize("estimator", CONSISTENT, ids=lambda e: type(e).__name__)
def test_errors_shrink(estimator):
    rng = np.random.default_rng(0)
    for draw, truth in ((rng.standard_normal, NORMAL), (rng.exponential, EXPONENTIAL)):
        errors = [
            np.mean([abs(entropy(draw(size=n), estimator=estimator) - truth) for _ in range(10)])
            for n in (60, 2400)
        ]
        assert errors[1] < 0.65 * errors[0] + 0.01


@pytest.mark.parametrize("m", [1, 4])
def test_spacings_of_uniform_numbers_have_no_bias(m):
    """E log of a Beta(m, n + 1 - m) variable, m = 1 in the worst case for other constants."""
    rng = np.random.default_rng(m)
    for estimator in (info.Spacing(m), info.VanEs(m)):
        values = [entropy(rng.uniform(size=40), estimator=estimator) for _ in range(400)]
        assert abs(np.mean(values)) < 5 * np.std(values) / 20 + 1 / 80
    x = np.sort(rng.uniform(size=9))
    spacing = np.mean(np.log(x[m:] - x[:-m])) + digamma(10) - digamma(m)
    assert_allclose(entropy(x, estimator=info.Spacing(m)), spacing, rtol=1e-12)


def test_correa_is_the_slope_of_local_lines():
    x, m = np.sort(np.random.default_rng(1).standard_normal(12)), 2
    n, logs = len(x), []
    for i in range(n):
        window = np.arange(i - m, i + m + 1)
        values = x[np.clip(window, 0, n - 1)]
        centred = values - values.mean()
        logs.append(np.log(np.sum(centred * (window - i)) / (n * np.sum(centred**2))))
    assert_allclose(entropy(x, estimator=info.Correa(m)), -np.mean(logs), rtol=1e-9)


@pytest.mark.parametrize("m", [1, 20])
def test_correa_keeps_its_digits_beside_far_observations(m):
    x = np.sort(np.random.default_rng(2).standard_cauchy(1500) ** 3)
    padded = np.concatenate([np.full(m, x[0]), x, np.full(m, x[-1])])
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * m + 1)
    centred = windows - windows.mean(axis=1, keepdims=True)
    slopes = centred @ np.arange(-m, m + 1) / np.sum(centred**2, axis=1)
    expected = -np.mean(np.log(slopes / len(x)))
    assert_allclose(entropy(x, estimator=info.Correa(m)), expected, rtol=1e-9)


def test_moments_see_skewness_and_tails():
    """A sum of 8 exponentials is near a Gaussian: the correction takes most of the difference."""
    rng = np.random.default_rng(2)
    x = rng.gamma(8, size=(20_000, 2)) @ np.array([[1.0, 0.5], [0.0, 1.0]])
    truth = 2 * (8 + np.log(np.prod(np.arange(1.0, 8))) - 7 * digamma(8))
    plain, better = (entropy(x, estimator=e) for e in (info.Parametric(), info.Edgeworth()))
    assert plain - truth > 0.05
    assert abs(better - truth) < 0.035
    laplace = rng.laplace(size=20_000)
    for estimator in (info.MaximumEntropy(), info.MaximumEntropy(heavy_tails=False)):
        error = entropy(laplace, estimator=estimator) - (1 + np.log(2))
        assert abs(error) < abs(entropy(laplace, estimator=info.Parametric()) - (1 + np.log(2))) / 2


def test_parametric_is_the_closed_form_of_the_fit():
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((40, 3)), rng.standard_normal((50, 3)) + 1
    p, q = Gaussian.fit(x), Gaussian.fit(y)
    assert divergence(x, y, estimator=info.Parametric()) == divergence(p, q)
    values = [
        entropy(rng.standard_normal((12, 3)), estimator=info.Parametric()) for _ in range(800)
    ]
    assert_allclose(np.mean(values), 3 * NORMAL, atol=5 * np.std(values) / 800**0.5)  # unbiased

    class TwoParts:
        @staticmethod
        def fit(x):
            return Mixture.fit(x, 2, rng=0)

    renyi = entropy(x[:, :1], info.Renyi(2), estimator=info.Parametric(TwoParts))
    assert renyi == entropy(Mixture.fit(x[:, :1], 2, rng=0), info.Renyi(2))


@pytest.mark.parametrize("kernel", [RBF(0.4), Matern(2.5, 0.5)], ids=repr)
def test_kernel_densities_leave_a_point_out(kernel):
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((30, 2)), rng.standard_normal((20, 2))
    grid = np.linspace(-9, 9, 361)
    plane = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    volume = float(np.sum(kernel(plane, np.zeros((1, 2))))) * (grid[1] - grid[0]) ** 2
    own = np.maximum(kernel(x).sum(axis=1) - 1, 1 / 30) / (29 * volume)
    other = kernel(x, y).sum(axis=1) / (20 * volume)
    rule = info.KDE(kernel)
    assert_allclose(entropy(x, estimator=rule), -np.mean(np.log(own)), rtol=1e-4)
    expected = np.mean(np.log(own) - np.log(other))
    assert_allclose(divergence(x, y, estimator=rule), expected, rtol=1e-3)


def test_spanning_trees_estimate_renyi_entropies():
    from scipy.sparse.csgraph import minimum_spanning_tree
    from scipy.spatial.distance import cdist

    from mercer.info.spanning_tree import tree_edges

    x = np.random.default_rng(5).standard_normal((150, 3))
    assert_allclose(np.sum(tree_edges(x)), np.sum(minimum_spanning_tree(cdist(x, x)).data))
    p, rule = Gaussian([0.0, 0.0], 1.0), info.SpanningTree()
    truth = entropy(p, info.Renyi(0.8))
    few, many = (entropy(p.sample(n, rng=0), info.Renyi(0.8), estimator=rule) for n in (200, 4000))
    assert abs(many - truth) < min(0.6 * abs(few - truth), 0.08)
    with pytest.raises(NoRule, match=r"SpanningTree\(\) does not estimate the integral of p\^2"):
        entropy(x, info.Renyi(2.0), estimator=rule)


def test_graphs_of_neighbours_estimate_renyi_entropies():
    p, rule = Gaussian([0.0, 0.0], 1.0), info.NeighbourGraph((1, 2, 4))
    truth = entropy(p, info.Renyi(0.8))
    few, many = (entropy(p.sample(n, rng=0), info.Renyi(0.8), estimator=rule) for n in (200, 8000))
    assert abs(many - truth) < min(0.6 * abs(few - truth), 0.05)
    x = p.sample(50, rng=0)
    assert_allclose(  # a single neighbour is the estimator of KNN
        entropy(x, info.Tsallis(0.6), estimator=info.NeighbourGraph((3,))),
        entropy(x, info.Tsallis(0.6), estimator=info.KNN(3)),
    )
    with pytest.raises(NoRule, match="does not estimate the integral of"):
        entropy(x, info.Renyi(2.0), estimator=rule)
    for wrong in ((), [1, 2], (1, 1), (0,)):
        with pytest.raises(ValueError, match="neighbours"):
            info.NeighbourGraph(wrong)
    with pytest.raises(ValueError, match="all neighbours in x are at distance zero"):
        entropy(np.repeat(x[:9], 5, axis=0), info.Renyi(0.8), estimator=rule)
    with pytest.raises(ValueError, match="must have other units for this measure"):
        entropy(
            1e3 * np.random.default_rng(0).normal(size=(60, 300)),
            estimator=rule,
            measure=info.Renyi(0.5),
        )


def test_as_many_neighbours_as_the_root_of_the_sample():
    p, q = Gaussian([0.0, 0.0], 1.0), Gaussian([0.5, 0.0], 1.5)
    x, y = p.sample(2000, rng=0), q.sample(900, rng=1)
    rule = info.KNN(None)
    assert_allclose(entropy(x, estimator=rule), entropy(x, estimator=info.KNN(44)))
    assert abs(divergence(x, y, estimator=rule) - divergence(p, q)) < 0.05


def test_weighted_phi_entropies():
    """int w p^2 by spacings and by neighbours: of a normal variable, w = x^2 gives 1 / (4 sqrt(pi))."""
    x = np.random.default_rng(0).standard_normal(6000)
    for rule in (info.Spacing(), info.KNN()):
        square = info.Phi(lambda p: p, weight=np.square)
        assert abs(entropy(x, square, estimator=rule) - 1 / (4 * np.sqrt(np.pi))) < 0.01
        one = info.Phi(lambda p: p, weight=np.ones_like)
        assert_allclose(
            entropy(x, one, estimator=rule), entropy(x, info.Phi(lambda p: p), estimator=rule)
        )
    with pytest.raises(NoRule, match="weighted means"):
        entropy(Gaussian(0.0, 1.0), info.Phi(np.log, weight=np.square))
    with pytest.raises(TypeError, match="weight must be a function"):
        info.Phi(np.log, weight=2.0)


def test_weights_of_phi_are_one_for_each_observation():
    """A column of weights, (n, 1), times densities, (n,), would be a mean over all pairs."""
    x = np.random.default_rng(0).standard_normal((200, 2))
    column = info.Phi(np.log, weight=lambda rows: rows[:, :1])
    with pytest.raises(
        ValueError, match=r"one number for each of 200 observations, got shape \(200, 1\)"
    ):
        entropy(x, column, estimator=info.KNN())
    for rule in (info.Spacing(), info.KNN()):
        doubled = entropy(x[:, 0], info.Phi(np.log, weight=lambda _: 2.0), estimator=rule)
        assert_allclose(doubled, 2 * entropy(x[:, 0], info.Phi(np.log), estimator=rule))


def test_adaptive_partitions():
    rng = np.random.default_rng(6)
    rule = info.AdaptivePartition()
    x, noise = rng.standard_normal((2, 4000))
    values = [mutual_information(x, x + s * noise, estimator=rule) for s in (0.5, 1.0)]
    assert_allclose(values, [np.log(5) / 2, np.log(2) / 2], atol=0.08)
    assert abs(mutual_information(x, noise, estimator=rule)) < 0.02
    assert mutual_information(np.exp(x), x, estimator=rule) == mutual_information(
        x, x, estimator=rule
    )
    with pytest.raises(ValueError, match="on the line, but x has 2 columns"):
        mutual_information(rng.standard_normal((50, 2)), rng.standard_normal(50), estimator=rule)


# ---- estimates --------------------------------------------------------------------------------


def test_standard_errors_are_those_of_repeated_samples():
    rng = np.random.default_rng(7)
    results = [estimate(mutual_information, x, x + y) for x, y in rng.standard_normal((30, 2, 400))]
    spread = np.std([r.value for r in results])
    assert 0.7 < np.mean([r.standard_error for r in results]) / spread < 1.5
    covered = [r.interval[0] < np.log(2) / 2 < r.interval[1] for r in results]
    assert np.mean(covered) > 0.75  # 95% of 30, less five standard errors
    wide = estimate(entropy, rng.standard_normal(300), level=0.99).interval
    narrow = estimate(entropy, rng.standard_normal(300), level=0.5).interval
    assert wide[1] - wide[0] > narrow[1] - narrow[0]


def test_a_printed_estimate_has_its_interval_and_notes():
    value = info.InformationEstimate(1.23456, 0.1, (1.0, 1.5), 0.9, 0.0, False, ("A note.",))
    assert str(value) == "1.235 (90% interval 1 to 1.5)\nA note."


def test_estimates_tell_what_is_not_to_be_trusted():
    rng = np.random.default_rng(8)
    x, noise = rng.standard_normal((2, 500, 1))
    assert not estimate(mutual_information, x, x + noise).notes
    result = estimate(mutual_information, x, x + 1e-4 * noise)
    assert result.saturated
    assert "close to log n" in result.notes[0]
    x, noise = rng.standard_normal((2, 500, 8))
    result = estimate(mutual_information, x, x + noise)
    assert result.correction > 0.5
    assert "KSG is off by -" in result.notes[0]
    assert float(result) == result.value == mutual_information(x, x + noise)
    series = estimate(transfer_entropy, x[:, 0], x[:, 1], lags=1)
    low, high = series.interval
    assert low == 0 < high  # independent series, of which the estimate may be below zero
    assert series.value < high


def test_estimates_of_the_wrong_things():
    with pytest.raises(ValueError, match="at least 150 observations for a standard error, got 20"):
        estimate(entropy, np.arange(20.0))
    with pytest.raises(TypeError, match="function must be a function of mercer.info"):
        estimate(np.mean, np.arange(200.0))
    for make in (lambda: info.KDE(3.0), lambda: info.Parametric(3.0)):
        with pytest.raises(TypeError, match="must"):
            make()
    x = np.arange(20.0)
    with pytest.raises(ValueError, match="occurs more than m = 1 times"):
        entropy(np.repeat(x, 2), estimator=info.Spacing(1))
    for estimator in (info.MaximumEntropy(), info.Spacing()):
        with pytest.raises(ValueError, match="on the line, but x has 2 columns"):
            entropy(np.stack([x, x**2], axis=1), estimator=estimator)
    with pytest.raises(
        NoRule, match="does not estimate divergences|does not estimate cross-entropies"
    ):
        divergence(x, x + 1, estimator=info.Spacing())
