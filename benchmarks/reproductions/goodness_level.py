"""python -m benchmarks.reproductions.goodness_level: how often goodness-of-fit tests reject what is true.

Null runs at level 0.05 of every public goodness-of-fit test; the cells are those of
`pytest -m slow tests/calibration/test_goodness.py`. ``--runs 400 --only KSDAgg`` does a part; what
was done before is kept, so that a long run can be made of short ones, and ``--again`` forgets it.
"""

from __future__ import annotations

from benchmarks.reproductions.levels import Levels

from tests.support.htest_goodness_levels import CELLS  # isort: skip  (found by the path that `levels` adds)

LEVELS = Levels(
    CELLS,
    "goodness_calibration",
    "Level of goodness-of-fit tests",
    "benchmarks.reproductions.goodness_level",
)
PLAN = LEVELS.plan

if __name__ == "__main__":
    raise SystemExit(LEVELS.main())
