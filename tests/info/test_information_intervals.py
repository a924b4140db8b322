"""Intervals of mutual information cover zero where variables are independent, also where their numbers repeat."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.info import (
    KL,
    KSG,
    MixedKSG,
    PlugIn,
    RandomTies,
    divergence,
    entropy,
    estimate,
    mutual_information,
    transfer_entropy,
)
from mercer.info.boundary import exceeds_permutations
from mercer.info.permuted_information import permuted_information
from mercer.info.random_ties import random_scores
from mercer.info.sample import fixed_generator, read_sample

pd = pytest.importorskip("pandas")
LAWS = {
    "normal": lambda rng: rng.normal(size=(2, 200)),
    "rounded": lambda rng: rng.normal(size=(2, 200)).round(1),
    "categories": lambda rng: tuple(
        pd.DataFrame({"v": rng.integers(0, 15, 200).astype(str)}) for _ in "xy"
    ),
}


@pytest.mark.parametrize("law", LAWS)
def test_intervals_of_independent_variables_contain_zero(law):
    """Each of 30 leaves it out with probability 2.5% at most: more than 4 with probability 0.001."""
    left_out = 0
    for seed in range(30):
        low, high = estimate(mutual_information, *LAWS[law](np.random.default_rng(seed))).interval
        assert 0 <= low < high
        left_out += low > 0
    assert left_out <= 4


def test_intervals_of_dependent_variables_do_not():
    x, noise = np.random.default_rng(0).normal(size=(2, 400))
    result = estimate(mutual_information, x, x + noise)
    assert 0 < result.interval[0] < np.log(2) / 2 < result.interval[1]
    low, high = estimate(transfer_entropy, x, noise, lags=1).interval
    assert low == 0 < high


def test_numbers_that_repeat_tell_nothing_of_each_other_by_repeating():
    """The mean over 10 samples; MixedKSG makes 0.2 nats of independent columns."""
    samples = [np.random.default_rng(s).normal(size=(2, 263)).round(1) for s in range(10)]
    mean = np.mean([mutual_information(x, y) for x, y in samples])
    assert_allclose(mean, 0.0, atol=0.05)  # five standard errors
    assert np.mean([mutual_information(x, y, estimator=MixedKSG()) for x, y in samples]) > 0.15


def test_ties_in_random_order_keep_the_information():
    """Rounding undoes the random order; increasing maps change nothing."""
    x, noise = np.random.default_rng(0).normal(size=(2, 2000))
    x, y = x.round(1), (x + noise).round(1)
    value = mutual_information(x, y)
    assert_allclose(value, np.log(2) / 2, atol=0.06)
    assert mutual_information(np.exp(x), y**3) == value
    assert mutual_information(x, y, given=noise.round(1)) > 1  # and with a condition
    local = RandomTies(KSG(5)).local
    from mercer.info.sample import read_variables

    terms = local(read_variables((x, y), ("x", "y")))
    assert_allclose(terms.mean(), mutual_information(x, y, estimator=RandomTies(KSG(5))))


def test_few_permutations_that_coincide_are_not_clear():
    """One of 2 rare labels is beside one of 7: by chance in 9% of orders, which five permutations often miss.

    At level 0.025 that is positive for 1 of 40 orders of the rows; more than 6 with probability 1e-4.
    """
    x, y = np.arange(150) < 2, (np.arange(150) >= 1) & (np.arange(150) < 8)
    positive = 0
    for seed in range(40):
        rows = np.random.default_rng(seed).permutation(150)
        samples = [read_sample(pd.DataFrame({"v": v[rows].astype(str)}), "v") for v in (x, y)]
        value = PlugIn().information(samples)
        positive += exceeds_permutations(PlugIn(), samples, value, 0.025)
    assert positive <= 6


def test_permutations_are_not_those_that_break_ties():
    """Rows sorted by y: moved as the keys of the ties of x, y would order all ties of x."""
    rng, y = np.random.default_rng(0), np.arange(200.0)
    x = rng.poisson(8, 200).astype(float)
    seen = []

    class Spy(RandomTies):
        def information(self, variables, given=None):
            seen.append(variables[1].values[:, 0])
            return super().information(variables, given)

    exceeds_permutations(Spy(KSG()), [read_sample(x, "x"), read_sample(y, "y")], np.inf, 0.3)
    keys = fixed_generator()
    for _ in range(4):
        ties = keys.permutation(200)
        assert all(abs(np.corrcoef(moved, ties)[0, 1]) < 0.4 for moved in seen)  # 5.6 errors


def test_permuted_columns_need_more_rows_than_neighbours():
    rng = np.random.default_rng(0)
    for n in (2, 3):
        with pytest.raises(ValueError, match="3 neighbours need more than 3 observations"):
            permuted_information(rng.normal(size=n), rng.normal(size=n), np.arange(n)[None], 3)


def test_levels_are_written_with_their_digits():
    x, noise = np.random.default_rng(0).normal(size=(2, 200))
    assert "(99.5% interval" in estimate(mutual_information, x, noise, level=0.995).summary()


def test_rows_of_both_samples_are_counted():
    x, y, z = np.random.default_rng(0).normal(size=(3, 300))
    shared = estimate(divergence, x, np.concatenate([x[:120], y[:150]]))
    assert shared.notes[0].startswith("120 of the 300 rows of x are in y as well")
    assert estimate(divergence, x, z).notes == ()  # one column, and no row in common
    words = [pd.DataFrame({"v": v}) for v in np.random.default_rng(1).choice(["a", "b"], (2, 300))]
    assert estimate(divergence, *words).notes == ()  # categories have no neighbours
    several = estimate(entropy, np.stack([x, y, z], axis=1)).notes
    assert "many dimensions" in several[0]


def test_a_measure_is_no_sample():
    x, y = np.random.default_rng(0).normal(size=(2, 200))
    with pytest.raises(TypeError, match=r"write measure=KL\(\)"):
        estimate(divergence, x, y, KL())


@pytest.mark.parametrize(("n", "k"), [(30, 3), (300, 30)])
def test_information_of_permuted_columns_by_two_roads(n, k):
    rng = np.random.default_rng(0)
    x, y = (random_scores(rng.normal(size=n), rng) for _ in "xy")
    orders = np.array([rng.permutation(n) for _ in range(5)])
    # Scores are symmetric, so that equal distances may be rounded to either side: a count of one in n k.
    assert_allclose(
        permuted_information(x, y, orders, k),
        [mutual_information(x, y[o], estimator=KSG(k)) for o in orders],
        atol=4 / (n * k),
    )
