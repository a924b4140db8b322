"""Categories beside numbers, weighted observations, and intervals of distances and associations."""

from __future__ import annotations

from functools import partial
from math import log

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer.info import (
    KDE,
    KL,
    FDivergence,
    Hellinger,
    JensenShannon,
    PlugIn,
    Renyi,
    Spearman,
    Tsallis,
    association,
    conditional_entropy,
    divergence,
    dudley,
    entropy,
    estimate,
    kantorovich,
    kernel_generalized_variance,
    kolmogorov,
    mutual_information,
    sliced_wasserstein,
    total_variation,
    wasserstein,
)
from mercer.rkhs import Empirical, Gaussian

P = {"a": (0.6, Gaussian(0.0, 1.0)), "b": (0.4, Gaussian(1.0, 0.5))}
Q = {"a": (0.3, Gaussian(0.5, 1.0)), "b": (0.7, Gaussian(1.0, 1.0))}


def _frame(parts: dict, n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    kinds = rng.choice(list(parts), n, p=[share for share, _ in parts.values()])
    draws = {kind: law.sample(n, rng=rng)[:, 0] for kind, (_, law) in parts.items()}
    values = np.select([kinds == kind for kind in parts], list(draws.values()))
    return pd.DataFrame({"kind": pd.Categorical(kinds), "size": values})


@pytest.mark.parametrize("measure", [KL(), Renyi(0.7), Hellinger(), Tsallis(0.7)])
def test_divergence_of_categories_and_numbers_is_that_of_the_joint_density(measure):
    class Joint:
        """Exact integrals: sums over the categories of closed forms of Gaussians."""

        def power(self, a, b=0.0):
            return sum(
                P[c][0] ** a
                * Q[c][0] ** b
                * np.exp((a - 1) * divergence(P[c][1], Q[c][1], Renyi(a)))
                for c in P
            )

        def log_p(self):
            return sum(w * (log(w) - entropy(law)) for w, law in P.values())

        def log_q(self):
            return sum(
                P[c][0] * (log(Q[c][0]) - entropy(P[c][1]) - divergence(P[c][1], Q[c][1]))
                for c in P
            )

    value = divergence(_frame(P, 6000, 0), _frame(Q, 4000, 1), measure)
    # standard errors at these sizes are 0.01 to 0.015, as repeated draws show
    assert_allclose(value, measure.divergence(Joint()), atol=0.06)


def test_other_entropies_of_categories_and_numbers():
    exact = log(sum(w**2 * np.exp(-entropy(law, Renyi(2))) for w, law in P.values())) / -1
    assert_allclose(entropy(_frame(P, 5000, 0), Renyi(2)), exact, atol=0.05)


def test_ratio_at_categories_of_one_sample_only():
    x, y = _frame(P, 500, 0), _frame(Q, 500, 1)
    only_b = y[y["kind"] == "b"]
    with pytest.raises(ValueError, match="categories that y has not"):
        divergence(x, only_b, FDivergence(lambda u: (u - 1) ** 2))
    assert divergence(x, only_b) == np.inf
    assert 0 < divergence(x, only_b, Hellinger()) < 1


def test_total_variation_of_categories():
    x = pd.DataFrame({"kind": list("aabc")})
    y = pd.DataFrame({"kind": list("abbd")})
    value = total_variation(x, y)
    assert value == 1.0  # |2 - 1| + |1 - 2| + 1 + 1, in quarters
    assert_allclose(value.witness(x).mean() - value.witness(y).mean(), value)


@pytest.mark.parametrize(
    "distance",
    [wasserstein, partial(sliced_wasserstein, rng=0), kantorovich, dudley, kolmogorov],
)
def test_distances_of_points_say_what_to_do_with_categories(distance):
    x = pd.DataFrame({"size": [1.0, 2.0, 3.0], "kind": list("aab")})
    y = pd.DataFrame({"size": [1.0, 2.0, 4.0], "kind": list("abb")})
    needed = r"column 'kind' of {} holds .* needs numbers: .*total_variation.*JensenShannon"
    for one, other in ((x, y), (Empirical(x), y)):
        with pytest.raises(TypeError, match=needed.format("x")):
            distance(one, other)
    with pytest.raises(TypeError, match=needed.format("y")):
        distance(x.assign(kind=0.0), y)
    numbers = [f.assign(kind=(f["kind"] == "a") * 1.0) for f in (x, y)]  # what the message advises
    assert 0 < distance(*numbers) == distance(*(f.to_numpy() for f in numbers))
    kinds = [f[["kind"]] for f in (x, y)]
    assert_allclose(total_variation(*kinds), 2 / 3)
    assert divergence(*kinds, JensenShannon()) > 0


def test_weighted_density_estimates_stand_for_another_distribution():
    wide, narrow = Gaussian(0.0, 2.0), Gaussian(0.0, 1.0)
    x = wide.sample(3000, rng=0)
    weights = np.exp(narrow.log_density(x) - wide.log_density(x))
    weighted = Empirical(x, weights / weights.sum())
    assert abs(entropy(weighted, estimator=KDE()) - entropy(narrow)) < 0.05
    assert abs(entropy(x, estimator=KDE()) - entropy(wide)) < 0.05
    equal = Empirical(x, np.full(len(x), 1 / len(x)))
    assert_allclose(entropy(equal, estimator=KDE()), entropy(x, estimator=KDE()), rtol=1e-12)


def test_sliced_distance_of_gaussians_is_that_of_large_samples():
    p, q = Gaussian([0.0, 0.0], [[1.0, 0.3], [0.3, 1.0]]), Gaussian([1.0, 0.0], [2.0, 0.5])
    x, y = p.sample(40_000, rng=0), q.sample(40_000, rng=1)
    for power in (1, 2):
        exact = sliced_wasserstein(p, q, power, projections=20, rng=0)
        sampled = sliced_wasserstein(x, y, power, projections=20, rng=0)
        assert_allclose(exact, sampled, rtol=0.02)  # error of samples: 1 / sqrt(n) = 0.005
    f = sliced_wasserstein(p, q, 1, projections=20, rng=0)
    assert_allclose(f.witness(x).mean() - f.witness(y).mean(), float(f), rtol=0.02)


def test_intervals_of_associations_and_distances():
    rng = np.random.default_rng(0)
    x = rng.normal(size=1000)
    y = 0.6 * x + 0.8 * rng.normal(size=1000)
    result = estimate(association, x, y, measure=Spearman())
    low, high = result.interval
    assert low < 6 / np.pi * np.arcsin(0.3) < high
    assert high - low < 0.2
    shifted = estimate(wasserstein, x, y + 1)
    assert shifted.interval[0] < 1 < shifted.interval[1]
    assert "biased" in shifted.notes[0]
    assert estimate(kernel_generalized_variance, None, None, x, y, ridge=0.1).value > 0


def test_weights_are_those_of_the_rows_of_all_variables():
    rng = np.random.default_rng(11)
    x, y = rng.integers(0, 3, (2, 60, 1))
    weights = rng.dirichlet(np.ones(60))
    table = np.zeros((3, 3))
    np.add.at(table, (x[:, 0], y[:, 0]), weights)
    product = np.outer(table.sum(axis=1), table.sum(axis=0))
    expected = np.sum(table * np.log(table / product))
    weighted = [Empirical(v, weights) for v in (x, y)]
    for pair in (weighted, (weighted[0], y), (x, weighted[1])):
        assert_allclose(mutual_information(*pair, estimator=PlugIn()), expected, rtol=1e-9)
    given_x = entropy(weighted[0], estimator=PlugIn())
    joint = -np.sum(table * np.log(table))
    assert_allclose(conditional_entropy(y, weighted[0], estimator=PlugIn()), joint - given_x)
    with pytest.raises(ValueError, match="x and y were observed together but have different"):
        mutual_information(weighted[0], Empirical(y, rng.dirichlet(np.ones(60))))
