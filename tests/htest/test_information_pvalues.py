"""P-values of many pairs of columns, which share their null distributions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.frames import Columns, Table
from mercer.htest.dependence.information_pvalues import information_pvalues


def column(values, categorical=False):
    return Table(np.asarray(values, dtype=float)[:, None], Columns(("v",), (categorical,)))


def pvalues(columns, pairs, resamples=199, seed=0):
    return information_pvalues(columns, pairs, resamples=resamples, rng=np.random.default_rng(seed))


def test_dependent_pairs_of_every_kind_are_found():
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    columns = [
        column(x),
        column(x + 0.3 * rng.normal(size=120)),
        column((x > 0) + 0.0, True),
        column(np.where(x > 0.5, 2.0, 1.0), True),
        column(rng.poisson(3, 120)),
    ]
    found = pvalues(columns, [(0, 1), (0, 2), (3, 1), (2, 3), (0, 4), (4, 2)])
    assert_allclose(found[:4], 1 / 200)
    assert (found[4:] > 0.01).all()


@pytest.mark.parametrize("kind", ["rounded", "labels", "both"])
def test_pvalues_of_independent_columns_are_at_most_the_level_as_often_as_they_may(kind):
    """At level 0.2 in 200 samples: more than 60 with probability 4e-4."""
    rejected = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        first = rng.normal(size=25).round(kind == "rounded")
        x = column(rng.integers(0, 3, 25), True) if kind != "rounded" else column(first)
        y = column(rng.integers(0, 3, 25), True) if kind == "labels" else column(rng.normal(size=25).round(1))  # fmt: skip
        rejected += pvalues([x, y], [(0, 1)], 99, seed)[0] <= 0.2
    assert rejected <= 60


def test_clear_nulls_end_early_and_others_do_not():
    rng = np.random.default_rng(1)
    x = rng.normal(size=60)
    null = pvalues([column(x), column(rng.normal(size=60))], [(0, 1)], 10_000)[0]
    assert (20 / null) % 1 == pytest.approx(0, abs=1e-9)  # ended at the twentieth that reached it
    assert pvalues([column(x), column(x**2)], [(0, 1)], 999)[0] == 1 / 1000
