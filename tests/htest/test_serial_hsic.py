"""SerialHSIC against HSIC of shifted copies, its exactness, and what it sees."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.errors import NoRule
from mercer.htest import Permutation, SerialHSIC
from mercer.htest.serial_hsic import SerialEvidence, serial_cautions
from mercer.kernels import RBF, Delta, Linear
from mercer.rkhs import hsic
from mercer.rkhs.paired_samples import variables
from tests.support.series_problems import arma, garch


def test_it_is_the_sum_of_hsic_over_lags():
    """With a kernel of rank at most 8 no component is lost."""
    x = np.random.default_rng(0).normal(size=(40, 3))
    kernel = Linear()
    want = sum(hsic(kernel, kernel, x, np.roll(x, -h, axis=0)) for h in range(1, 5))
    assert_allclose(SerialHSIC(kernel, lags=4).statistic(x), want, rtol=1e-9)


def test_components_with_equal_eigenvalues_are_taken_or_left_together():
    """Twelve labels, equally frequent, have eleven equal eigenvalues; sixty have too many to take."""
    x, kernel = np.random.default_rng(0).permutation(np.arange(120) % 12)[:, None], Delta()
    want = sum(hsic(kernel, kernel, x, np.roll(x, -h, axis=0)) for h in range(1, 5))
    assert_allclose(SerialHSIC(kernel, lags=4).statistic(x), want, rtol=1e-9)
    assert SerialHSIC(kernel).statistic(np.arange(120)[:, None] % 60) == 0.0


def test_permutations_are_those_of_the_rows():
    x = np.random.default_rng(1).normal(size=30)
    evidence = SerialEvidence(variables((RBF(1.0),), (x,))[0], 5)
    null = Permutation(20)
    values = evidence.permuted(null, null.columns, 3)
    assert_allclose(values[0], evidence.observed, rtol=1e-12)
    assert_allclose(evidence.permuted(null, slice(7, 12), 3), values[7:12], rtol=1e-12)
    order = evidence._order(3, 4)
    again = SerialEvidence(variables((RBF(1.0),), (x[order],))[0], 5)
    assert_allclose(values[4], again.observed, rtol=1e-6)


def test_it_is_exact_on_all_orders():
    """Over all orders of eight rows the share of p-values of at most 0.1 is at most 0.1, up to the draws."""
    rows = np.random.default_rng(2).normal(size=8)
    evidence = SerialEvidence(variables((RBF(1.0),), (rows,))[0], 3)
    orders = np.array(list(itertools.permutations(range(8))))[::16]
    values = evidence._sums(orders)
    rng = np.random.default_rng(0)
    small = 0
    for value in values:
        others = evidence._sums(np.stack([rng.permutation(8) for _ in range(99)]))
        small += (1 + np.sum(others >= value - 1e-12)) / 100 <= 0.1
    assert small / len(values) <= 0.1 + 3 * np.sqrt(0.09 / len(values))


@pytest.mark.parametrize(
    "draw",
    [arma((0.5,)), arma((-0.5,)), garch(0.4, 0.5), arma(ma=(0.0, 0.8))],
    ids=["AR(0.5)", "AR(-0.5)", "GARCH", "MA(2)"],
)
def test_power(draw):
    found = [
        SerialHSIC(null=Permutation(99)).test(draw(np.random.default_rng(i), 300), rng=i).rejects()
        for i in range(10)
    ]
    assert sum(found) >= 7


def test_level():
    found = [
        SerialHSIC(null=Permutation(99)).test(np.random.default_rng(i).normal(size=60), rng=i)
        for i in range(100)
    ]
    assert sum(result.rejects() for result in found) <= 13  # more with probability 0.0005


def test_constant_rows_and_categories():
    assert SerialHSIC(RBF(1.0)).test(np.ones(20), rng=0).pvalue == 1.0
    alternating = ["a", "b"] * 20
    assert SerialHSIC(Delta()).test(alternating, rng=0).pvalue <= 0.05


def test_words_and_notes():
    rng = np.random.default_rng(0)
    slow = arma((0.9,))(rng, 300)
    summary = SerialHSIC().test(slow, rng=0).summary()
    assert "depend on earlier ones" in summary
    (caution,) = serial_cautions([("y", slow)])
    assert caution.startswith("Caution: the rows of y depend on those before them")
    assert serial_cautions([("x", rng.normal(size=2000)), ("few", [1.0, 2.0])]) == ()
    assert serial_cautions([("x", slow[::-1]), ("y", rng.normal(size=300))], least=2) == ()


def test_one_of_many_samples_may_be_found_by_chance(monkeypatch):
    """Thirteen samples at level 0.01 gave a caution in one of eight cases: here one of them has p = 0.007."""
    pvalues = {"July": (0.01, 0.007), "August": (0.005, 0.0005)}
    asked = []

    def known(x, name="x", resamples=199):
        asked.append(resamples)
        return pvalues.get(name, (0.5, 0.5))[resamples > 199]

    monkeypatch.setattr("mercer.htest.serial_hsic.serial_pvalue", known)
    months = [("July", 0), *((f"month {i}", 0) for i in range(12))]
    assert serial_cautions(months) == ()
    assert max(asked) >= 13 / 0.02  # permutations enough for the level over the number of samples
    (caution,) = serial_cautions([*months, ("August", 0)])
    assert caution.startswith("Caution: the rows of July and August depend")
    assert serial_cautions(months[:2]) != ()  # two samples are looked at without a correction


def test_refusals():
    with pytest.raises(NoRule, match="SerialHSIC permutes all observations"):
        SerialHSIC(null=Permutation(9, paired=True))
    with pytest.raises(ValueError, match="lags must be a whole number"):
        SerialHSIC(lags=0)
    with pytest.raises(TypeError, match="null must be a Permutation"):
        SerialHSIC(null="permutation")
    with pytest.raises(ValueError, match="at least 8"):
        SerialHSIC().test(np.arange(5.0))
