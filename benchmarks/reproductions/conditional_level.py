"""python -m benchmarks.reproductions.conditional_level: how often conditional tests reject what is true.

Null runs at level 0.05 of `KCI`, `RCoT` and `RCIT` on nonlinear models x = g(f(z) + e), y = h(f'(z) + e')
with random functions and z in 1 to 5 dimensions, and on discrete variables; the cells are those of
`pytest -m slow tests/calibration/test_conditional.py`. ``--runs 400 --only RCoT`` does a part; what was
done before is kept, so that a long run can be made of short ones, and ``--again`` forgets it.
"""

from __future__ import annotations

from benchmarks.reproductions.levels import Levels

from tests.support.htest_conditional_levels import CELLS  # isort: skip  (found by the path that `levels` adds)

LEVELS = Levels(
    CELLS,
    "conditional_calibration",
    "Level of conditional independence tests",
    "benchmarks.reproductions.conditional_level",
)
PLAN = LEVELS.plan

if __name__ == "__main__":
    raise SystemExit(LEVELS.main())
