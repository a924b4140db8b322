"""Independence tests hold their level: 400 runs of every test on every null problem, with -m slow."""

from __future__ import annotations

import pytest

from tests.support.htest_dependence_levels import CELLS
from tests.support.htest_levels import Cell, judged


@pytest.mark.slow
@pytest.mark.parametrize("found", CELLS.values(), ids=CELLS)
def test_level(found: Cell):
    assert found.holds(share := judged(found)), share
