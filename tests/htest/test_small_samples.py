"""What results say about few, repeated and shared observations."""

from itertools import combinations, permutations, product
from math import exp

import numpy as np
import pytest

from mercer import independence, two_sample
from mercer.htest import HSIC, KSD, MMD, Gamma, KSample, Permutation, Spectrum
from mercer.htest.sample_notes import (
    copied_rows_note,
    log_labellings,
    log_pairings,
    log_signs,
    same_values_note,
    sample_rows_notes,
)
from mercer.kernels import RBF
from mercer.rkhs import Gaussian

RNG = np.random.default_rng(0)


def mentions(result, words):
    return any(words in note for note in result.notes)


# ---- the smallest p-value -----------------------------------------------------------------------


def distinct(statistics):
    return len({round(float(s), 9) for s in statistics})


@pytest.mark.parametrize(("n", "m"), [(2, 2), (2, 3), (3, 3), (3, 4)])
def test_labellings_are_counted_as_enumeration_finds_them(n, m):
    rng = np.random.default_rng(n * m)
    pooled, test = rng.normal(size=(n + m, 2)), MMD(RBF(1.0))
    found = []
    for rows in combinations(range(n + m), n):
        rest = [i for i in range(n + m) if i not in rows]
        found.append(test.statistic(pooled[list(rows)], pooled[rest]))
    assert round(exp(log_labellings((n, m), None))) == distinct(found)


def test_labellings_within_pairs_and_blocks():
    assert round(exp(log_labellings((4, 4), Permutation(paired=True)))) == 2**3
    blocks = ["a", "a", "b", "a", "b", "b"]  # x: a a b, y: a b b
    assert round(exp(log_labellings((3, 3), Permutation(blocks=tuple(blocks))))) == 3 * 3


def test_pairings_and_signs_are_counted_as_enumeration_finds_them():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(4, 1)), rng.normal(size=(4, 1))
    test = HSIC(RBF(1.0), RBF(1.0))
    found = [test.statistic(x, y[list(order)]) for order in permutations(range(4))]
    assert round(exp(log_pairings(4, 2, None))) == distinct(found)
    matrix = RBF(1.0)(x, x)
    forms = [np.array(s) @ matrix @ np.array(s) for s in product((-1, 1), repeat=4)]
    assert round(exp(log_signs(4))) == distinct(forms)


@pytest.mark.parametrize(("n", "m"), [(2, 2), (2, 3), (3, 3)])
def test_results_of_tiny_samples_name_the_smallest_pvalue(n, m):
    x, y = np.linspace(0, 1, n), 100 + np.linspace(0, 1, m)
    result = two_sample(x, y, rng=0)
    labellings = round(exp(log_labellings((n, m), None)))
    assert mentions(result, f"{labellings} different labellings")
    assert mentions(result, "no result is significant at level 0.05")
    # ranks may have two most extreme labellings; permutations meet them in one or two of so many cases
    slack = 5 * (2 / labellings / 999) ** 0.5 + 2e-3
    assert 1 / labellings - slack < result.pvalue < 2 / labellings + slack


def test_independence_and_goodness_of_fit_name_it_too():
    x = np.arange(4.0)
    assert mentions(HSIC().test(x, x**2, rng=0), "24 different pairings")
    model = Gaussian([0.0], 1.0)
    assert mentions(KSD(model).test(np.arange(4.0)[:, None], rng=0), "8 different vectors of signs")


def test_several_samples_name_it():
    x = np.arange(2.0)
    result = KSample().test(x, x + 10, x + 20, rng=0)  # 6! / 2!^3 / 3!
    assert mentions(result, "15 different labellings")


def test_nothing_is_said_where_resamples_are_the_limit():
    x, y = RNG.normal(size=(8, 1)), RNG.normal(size=(8, 1))
    assert not mentions(two_sample(x, y, rng=0), "labellings")
    assert not mentions(independence(x, y, rng=0), "pairings")


@pytest.mark.parametrize("null", [Gamma(), Spectrum(9999)])
def test_fitted_nulls_go_no_further_than_permutations(null):
    x = np.arange(4.0)
    close = 1 - 1e-9  # the number of labellings comes from logarithms
    assert MMD(null=null).test(x, x + 1e3).pvalue >= close / 35  # C(8, 4) / 2
    assert HSIC(null=null).test(x, x).pvalue >= close / 24


# ---- copies -------------------------------------------------------------------------------------


def test_the_same_array_twice_is_said():
    x = RNG.normal(size=(50, 2))
    assert mentions(two_sample(x, x, rng=0), "same rows")
    assert mentions(two_sample(x, x[::-1].copy(), rng=0), "same rows")
    assert mentions(independence(x, x, rng=0), "equal in every observation")
    assert not same_values_note(x, x[::-1])


def test_overlapping_samples_are_said():
    data = RNG.normal(size=(100, 3))
    assert mentions(two_sample(data[:60], data[40:], rng=0), "20 rows occur in both samples")
    assert not sample_rows_notes(data[:50], data[50:])


def test_copied_rows_are_said():
    x, y = RNG.normal(size=(30, 2)), RNG.normal(size=(40, 2))
    twice = np.concatenate([x, x])
    assert mentions(two_sample(twice, y, rng=0), "Every row of x occurs twice")
    assert mentions(two_sample(y, np.repeat(x, 3, axis=0), rng=0), "Every row of y occurs 3 times")
    assert mentions(independence(twice, np.concatenate([y[:30]] * 2), rng=0), "occurs twice")
    model = Gaussian([0.0, 0.0], 1.0)
    assert mentions(KSD(model).test(twice, rng=0), "occurs twice")
    # one variable that repeats beside one that does not: observations of their own
    assert not mentions(independence(twice, RNG.normal(size=60), rng=0), "occurs")


def test_discrete_data_repeat_without_a_word():
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 2, (60, 2)).astype(float), rng.integers(0, 2, (50, 2)).astype(float)
    assert not sample_rows_notes(x, y)
    assert not copied_rows_note(x)
    assert not copied_rows_note(np.repeat([[0.0], [1.0]], 20, axis=0))


def test_negative_zero_is_zero_and_objects_are_left_alone():
    x = np.linspace(-1, 1, 21)[:, None]
    assert sample_rows_notes(x, np.where(x == 0, -0.0, x)[::-1])
    assert not copied_rows_note(["a", "b"])


def test_copies_among_many_rows():
    """Of many rows a share is compared first: copies are seen all the same."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 10_000, 2))
    assert sample_rows_notes(x, y) == ()
    y[:500] = x[5000:5500]
    assert "500 rows occur in both samples" in sample_rows_notes(x, y)[0]
    assert "Every row of x occurs twice" in sample_rows_notes(np.repeat(x[:5000], 2, axis=0), x)[0]
    assert "the same rows" in sample_rows_notes(x, x[::-1])[0]
