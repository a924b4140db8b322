"""Goodness-of-fit tests hold their level: 400 runs of every test on draws from its model, with -m slow."""

from __future__ import annotations

import pytest

from tests.support.htest_goodness_levels import CELLS
from tests.support.htest_levels import Cell, judged


@pytest.mark.slow
@pytest.mark.parametrize("found", CELLS.values(), ids=CELLS)
def test_level(found: Cell):
    assert found.holds(share := judged(found)), share
