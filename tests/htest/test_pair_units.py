"""Samples whose rows are pairs: columns in units of their changes, so that those that vary between pairs do not hide them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom

from mercer.htest import MMD, Energy, MaxMMD, MMDAgg, MMDFuse, Permutation, feature_differences
from mercer.htest.pair_units import change_factors, scores_of_pairs, varying_numbers
from mercer.kernels.prepare import as_table

PAIRS = Permutation(199, paired=True)
DEFAULTS = [
    MMD(null=PAIRS),
    MMDAgg(null=PAIRS),
    MMDFuse(null=PAIRS),
    MaxMMD(null=PAIRS),
    Energy(null=PAIRS),
]


def trial(rng: np.random.Generator, fall: float = 2.0, n: int = 60) -> tuple[Any, Any]:
    """Weights that vary by 15 between units and by 3 within, and numbers that no unit keeps."""
    unit = rng.normal(100.0, 15.0, n)
    weights = unit + rng.normal(0.0, 2.1, (2, n))
    others = rng.normal(50.0, 10.0, (2, n))
    x, y = (pd.DataFrame({"weight": w, "other": o}) for w, o in zip(weights, others, strict=True))
    return x, y.assign(weight=y.weight - fall)


def test_units_are_root_mean_squares_of_changes():
    values = np.array([[0.0, 1.0, 2.0], [2.0, 5.0, 2.0], [3.0, 1.5, 2.0], [1.0, 5.5, 2.0]])
    changes = np.sqrt((np.array([9.0, 0.25]) + np.array([1.0, 0.25])) / 2)
    assert_allclose(change_factors(values), [*(1 / changes), 1.0], rtol=1e-12)
    scores = scores_of_pairs(values[:, :2])(values[:, :2])
    assert_allclose(np.mean((scores[:2] - scores[2:]) ** 2, axis=0), 1.0, rtol=1e-12)


def test_swaps_leave_units_as_they_are():
    rng = np.random.default_rng(0)
    x, y = trial(rng)
    swapped = rng.random(len(x)) < 0.5
    rows = x.copy(), y.copy()
    rows[0][swapped], rows[1][swapped] = y[swapped], x[swapped]
    units = [varying_numbers(as_table(pd.concat(pair), "x"), True) for pair in ((x, y), rows)]
    factors = [None if each is None else each.factors for each in units]
    assert_allclose(factors[0], factors[1], rtol=1e-12)


@pytest.mark.parametrize(
    ("test", "least"), [(MMDAgg(null=PAIRS), 9), (Energy(null=PAIRS), 9), (MMD(null=PAIRS), 6)]
)
def test_a_change_within_pairs_is_found_beside_a_column_that_no_unit_keeps(test: Any, least: int):
    """The t-test of these pairs has p below 1e-4 in nearly all studies; the distances between units hid them."""
    found = [test.test(*trial(np.random.default_rng(k)), rng=k).pvalue <= 0.05 for k in range(10)]
    assert sum(found) >= least


def test_the_column_that_changes_is_named():
    named = []
    for k in range(10):
        x, y = trial(np.random.default_rng(k))
        found = feature_differences(x, y, null=PAIRS, rng=k)
        named += [f.name for f in found.differing()]
    assert named.count("weight") >= 9
    assert named.count("other") <= 2


def test_other_changes_than_those_of_means_are_found_in_columns():
    x, y = trial(np.random.default_rng(0), fall=0.0, n=200)
    spread = y.assign(weight=100 + 2 * (y.weight - 100))
    found = feature_differences(x, spread, null=PAIRS, rng=0)
    assert "weight" in [f.name for f in found.differing()]


RUNS = 200
MOST = int(binom.ppf(0.999, RUNS, 0.05))


@pytest.mark.parametrize("test", [MMDAgg(null=PAIRS), Energy(null=PAIRS)], ids=["MMDAgg", "Energy"])
def test_units_that_are_estimated_do_not_change_the_level(test: Any):
    rejections = sum(
        test.test(*trial(np.random.default_rng(1000 + k), 0.0, 12), rng=k).pvalue <= 0.05
        for k in range(RUNS)
    )
    assert rejections <= MOST


def test_the_level_of_columns():
    false = 0
    for k in range(RUNS):
        x, y = trial(np.random.default_rng(2000 + k), 0.0, 12)
        false += bool(feature_differences(x, y, null=PAIRS, rng=k).differing())
    assert false <= MOST


def test_sizes_that_are_no_pairs_are_refused_as_such():
    x, y = trial(np.random.default_rng(0))
    for test in DEFAULTS:
        with pytest.raises(ValueError, match="same size where they are paired"):
            test.test(x, y.iloc[:-1])
