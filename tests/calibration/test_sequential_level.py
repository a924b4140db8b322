"""The sequential check of levels has the error rates it promises, computed exactly."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.sequential_level import LevelCheck, assert_level


@pytest.mark.parametrize("level", [0.05, 0.2])
def test_error_rates(level):
    """A right test fails in fewer than one of 10,000 checks; twice the level is seen in nine of ten."""
    check = LevelCheck(level, 2 * level)
    fails, runs = check.characteristics(level)
    assert fails < 1e-4
    assert runs < 150
    assert check.characteristics(2 * level)[0] > 0.9
    assert check.characteristics(3 * level)[0] > 0.99


def test_characteristics_are_those_of_simulations():
    check = LevelCheck(0.05, 0.10, false_alarm=0.02, most=150)
    rng = np.random.default_rng(0)
    failed, lengths = 0, []
    for _ in range(2000):
        draws = rng.random(150) < 0.08
        lengths.append(0)
        try:
            check.holds(lambda number, draws=draws: bool(_count(lengths) and draws[number]))
        except AssertionError:
            failed += 1
    fails, runs = check.characteristics(0.08)
    assert abs(failed / 2000 - fails) < 4 * np.sqrt(fails * (1 - fails) / 2000)
    assert abs(np.mean(lengths) - runs) < 4 * np.std(lengths) / np.sqrt(2000)


def _count(lengths: list[int]) -> bool:
    lengths[-1] += 1
    return True


def test_too_many_rejections_are_told():
    with pytest.raises(
        AssertionError, match="of .* true null hypotheses were rejected at level 0.05"
    ):
        assert_level(lambda number: number % 4 == 0)
    assert_level(lambda number: number % 20 == 0)
