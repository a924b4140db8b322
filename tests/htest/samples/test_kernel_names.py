"""Kernels in a few words, and what notes say about the kernel that was chosen."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.htest import MaxMMD, MMDAgg, MMDFuse, Permutation
from mercer.htest.aggregation import aggregated
from mercer.htest.kernel_collection import CHOSEN, LEVEL, formula, told_apart
from mercer.htest.samples.mmd_statistic import Discrepancies
from mercer.htest.samples.pooled_sample import pool_for
from mercer.kernels import RBF, Delta, Energy, Laplace, Linear, Matern, default_kernel

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((60, 2)), 1.8 * RNG.standard_normal((50, 2))


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (RBF(np.pi), "RBF(bandwidth=3.14)"),
        (2 * RBF(1.0) + 0.5, "2 RBF(bandwidth=1) + 0.5"),
        (0.5 * (RBF(1.0) + Linear()), "0.5 (RBF(bandwidth=1) + Linear())"),
        ((RBF(1.0) + 1.0) * Delta(), "(RBF(bandwidth=1) + 1) * Delta()"),
        (Matern(1.5, 2e-7).scaled(4.0).select((0, 1)), "Matern(nu=1.5, bandwidth=2e-07)"),
    ],
)
def test_formulas(kernel, expected):
    assert formula(kernel) == expected


def test_kernels_are_told_apart_by_what_they_do_not_share():
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1] * 50, "c": list("uvw") * 20})
    kernels = pool_for(None, frame, frame[::-1])[1]
    names = [told_apart(kernels, i) for i in range(len(kernels))]
    assert len(set(names)) == len(kernels) == 20
    assert all(name.endswith(") (columns standardized)") for name in names)
    assert not any("Delta" in name for name in names)
    labels = [told_apart(pool_for(None, frame[["c"]], frame[["c"]])[1], i) for i in range(5)]
    assert len(set(labels)) == 5
    assert "Delta" in told_apart([default_kernel(frame)], 0)  # alone it is told whole


def test_how_many_kernels_reject_is_what_the_definition_says():
    """Kernel k rejects at u w_k, u the largest with which at most 5% of the labellings are rejected."""
    rng = np.random.default_rng(1)
    counts = []
    for _ in range(20):
        values = rng.normal(size=(6, 200))
        values[:, 0] += rng.uniform(0.0, 4.0, 6)
        found = aggregated(values, np.zeros(6), np.full(6, 1 / 6))
        candidates = np.unique(np.concatenate([found.smallest, found.weighted]))
        fit = [u for u in candidates if np.mean(found.smallest <= u) <= LEVEL]
        counts.append(found.rejecting(LEVEL))
        assert counts[-1] == (np.sum(found.weighted <= max(fit)) if fit else 0)
    assert 0 < np.mean(counts) < 6


def test_notes_of_the_aggregated_test():
    null = Permutation(199)
    found = MMDAgg(null=null).test(X, Y, rng=0)
    number, *rest = found.notes[0].split()
    assert found.pvalue <= LEVEL
    assert 1 <= int(number) <= 23
    assert " ".join(rest).startswith("of 23 kernels reject at level 0.05; the strongest is ")
    assert len(found.notes[0]) < 120
    none = MMDAgg(null=null).test(X[:30], X[30:], rng=0)
    assert none.notes[0].startswith("None of 23 kernels rejects at level 0.05; ")
    one = MMDAgg([Laplace(2.0)], null=null).test(X, Y, rng=0)
    assert one.notes == ("Kernel: Laplace(bandwidth=2).",)


def test_the_number_is_one_where_ties_are_broken_for_the_observed_labels():
    pooled, kernels = pool_for([RBF(1.0), Energy()], X, Y)
    discrepancies = Discrepancies.of(pooled, kernels)
    values = discrepancies.resampled(Permutation(9), slice(0, 10), 0)
    combined = aggregated(values, discrepancies.tie_tolerances, np.full(2, 0.5))
    assert combined.rejecting(LEVEL) == 0  # nothing of ten labellings is below 5%


@pytest.mark.parametrize("test", [MaxMMD(), MMDFuse(), MMDAgg()], ids=lambda t: type(t).__name__)
def test_an_effect_by_a_chosen_kernel_has_a_caveat(test):
    result = test.test(X, Y, rng=0)
    assert CHOSEN in result.notes
    assert CHOSEN in result.summary()
    alone = type(test)([RBF(1.0)]).test(X, Y, rng=0)
    assert CHOSEN not in alone.notes


def test_the_caveat_is_needed():
    """Between equal samples the chosen kernel sees more than a fixed one does, on average."""
    rng = np.random.default_rng(2)
    chosen, fixed = [], []
    for _ in range(30):
        x, y = rng.standard_normal((40, 2)), rng.standard_normal((40, 2))
        result = MMDAgg(weights=(1,) * 20, null=Permutation(49)).test(x, y, rng=rng)
        chosen.append(result.effect().mmd2)
        fixed.append(mercer.htest.MMD(RBF(1.5), null=Permutation(1)).statistic(x, y))
    assert np.mean(chosen) > 2 * abs(np.mean(fixed))
    assert np.mean(chosen) > 2 * np.std(chosen) / np.sqrt(len(chosen))
