"""Every test of the zoo holds its level and has power; quickly by default, 400 runs with -m slow."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from htest_zoo import CALIBRATED_ELSEWHERE, IDS, ZOO, Entry

import mercer.htest
from mercer.htest import HypothesisTest

every_test = pytest.mark.parametrize("entry", ZOO, ids=IDS)
every_null = pytest.mark.parametrize(
    ("entry", "number"),
    [(entry, i) for entry in ZOO for i in range(len(entry.null))],
    ids=[
        f"{name}-{i}" for entry, name in zip(ZOO, IDS, strict=True) for i in range(len(entry.null))
    ],
)


def share_rejected(entry: Entry, number: int, runs: int) -> float:
    rejected = 0
    for run in range(runs):
        rng = np.random.default_rng((run, number))
        samples = entry.null[number](rng, entry.sizes)
        rejected += entry.test.test(*samples, rng=rng).rejects(0.05)
    return rejected / runs


@every_test
def test_level_quickly(entry: Entry):
    """40 runs: more than 7 rejections at level 0.05 have a probability of 0.001."""
    assert share_rejected(entry, len(entry.null) - 2, 40) <= 7 / 40


@pytest.mark.slow
@every_null
def test_level(entry: Entry, number: int):
    assert 0.0175 <= share_rejected(entry, number, 400) <= 0.09


@every_test
def test_power(entry: Entry):
    rejected = 0
    for run in range(5):
        rng = np.random.default_rng(run)
        sizes = tuple(3 * n for n in entry.sizes)
        rejected += entry.test.test(*entry.alternative(rng, sizes), rng=rng).rejects(0.05)
    assert rejected >= 4


@every_test
def test_laws(entry: Entry):
    """A result repeats itself, its statistic is that of the test, and the test prints and compares."""
    rng = np.random.default_rng(0)
    samples = entry.alternative(rng, entry.sizes)
    result = entry.test.test(*samples, rng=0)
    assert result.pvalue == entry.test.test(*samples, rng=0).pvalue
    assert 0 < result.pvalue <= 1
    assert result.statistic == pytest.approx(entry.test.statistic(*samples), rel=1e-9)
    assert result.test == entry.test
    assert type(entry.test).__name__ in repr(entry.test)


def test_every_public_test_is_in_the_zoo():
    public = {
        name
        for name in mercer.htest.__all__
        if isinstance(value := getattr(mercer.htest, name), type)
        and issubclass(value, HypothesisTest)
        and not inspect.isabstract(value)
    }
    shown = {type(entry.test).__name__ for entry in ZOO}
    assert public - shown - set(CALIBRATED_ELSEWHERE) == set()
