"""Every test of the zoo holds its level and has power; quickly by default, 400 runs with -m slow."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

import mercer.htest
from mercer.htest import HypothesisTest, Null
from tests.support.htest_levels import CELLS, Cell, cell, judged, with_few_resamples
from tests.support.htest_zoo import (
    CALIBRATED_ELSEWHERE,
    IDS,
    NULLS_CALIBRATED_ELSEWHERE,
    ZOO,
    Entry,
)
from tests.support.sequential_level import assert_level

ROOT = Path(__file__).resolve().parents[2]

every_test = pytest.mark.parametrize("entry", ZOO, ids=IDS)


@every_test
def test_level_quickly(entry: Entry):
    assert_level(cell(with_few_resamples(entry.test), entry.null[-2:][0], entry.sizes).run)


@pytest.mark.slow
@pytest.mark.parametrize("found", CELLS.values(), ids=CELLS)
def test_level(found: Cell):
    assert found.holds(share := judged(found)), share


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


def test_every_public_null_is_in_the_zoo():
    public = {
        name
        for name in mercer.htest.__all__
        if isinstance(value := getattr(mercer.htest, name), type)
        and issubclass(value, Null)
        and not inspect.isabstract(value)
    }
    shown = {type(getattr(entry.test, "null", None)).__name__ for entry in ZOO}
    assert public - shown - set(NULLS_CALIBRATED_ELSEWHERE) == set()
    for name, place in NULLS_CALIBRATED_ELSEWHERE.items():
        assert f"{name}(" in (ROOT / place).read_text(encoding="utf-8")


def test_every_two_sample_test_has_its_level_measured():
    measured = {c.test.split("(")[0].split(".")[0] for c in CELLS.values()}
    here = {
        name
        for name, place in CALIBRATED_ELSEWHERE.items()
        if place == "tests/support/htest_levels.py"
    }
    assert {name for name in here if name in mercer.htest.__all__} <= measured
