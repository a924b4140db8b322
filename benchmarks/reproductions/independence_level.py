"""python -m benchmarks.reproductions.independence_level: how often independence tests reject what is true.

Null runs at level 0.05 of every public independence test; the cells are those of
`pytest -m slow tests/calibration/test_independence.py`. ``--runs 400 --only DHSIC`` does a part; what
was done before is kept, so that a long run can be made of short ones, and ``--again`` forgets it.
"""

from __future__ import annotations

from benchmarks.reproductions.levels import Levels

from tests.support.htest_dependence_levels import CELLS  # isort: skip  (found by the path that `levels` adds)

LEVELS = Levels(
    CELLS,
    "independence_calibration",
    "Level of independence tests",
    "benchmarks.reproductions.independence_level",
)
PLAN = LEVELS.plan

if __name__ == "__main__":
    raise SystemExit(LEVELS.main())
