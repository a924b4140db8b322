"""Does a test hold its level? A sequential check that runs until the answer is clear."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log

import numpy as np


@dataclass(frozen=True)
class LevelCheck:
    """Wald's sequential probability ratio test of `level` against `excessive`, cut off at `most` runs.

    A run is a sample for which the null hypothesis holds, and says whether the test rejected it. After
    each run the likelihood ratio of the two levels decides: the check passes when it falls below `miss`,
    fails when it exceeds (1 - miss) / false_alarm, and passes when the last run has left it in between.
    Among all checks with these error rates none needs fewer runs on average (Wald & Wolfowitz 1948);
    tests/calibration/test_sequential_level.py computes the error rates exactly.
    """

    level: float = 0.05
    excessive: float = 0.10
    false_alarm: float = 1e-4
    miss: float = 0.09
    most: int = 1200

    def decided(self, runs: int, rejections: int | np.ndarray) -> int | np.ndarray:
        """1 where the check has failed, -1 where it has passed, 0 where it goes on."""
        ratio = rejections * log(self.excessive / self.level)
        ratio = ratio + (runs - rejections) * log((1 - self.excessive) / (1 - self.level))
        failed = ratio >= log((1 - self.miss) / self.false_alarm)
        passed = (ratio <= log(self.miss)) | (runs >= self.most)
        return np.where(failed, 1, np.where(passed, -1, 0))

    def holds(self, rejects: Callable[[int], bool]) -> None:
        """Ask for run 0, 1, ... until the check is decided; an AssertionError if it fails."""
        rejections = 0
        for number in range(self.most):
            rejections += bool(rejects(number))
            if verdict := int(self.decided(number + 1, rejections)):
                told = f"{rejections} of {number + 1} true null hypotheses were rejected"
                assert verdict < 0, f"{told} at level {self.level:g}"
                return

    def characteristics(self, true_level: float) -> tuple[float, float]:
        """The exact probability that the check fails, and the expected number of runs."""
        going = np.array([1.0])  # by the number of rejections so far
        failing = expected = 0.0
        for runs in range(1, self.most + 1):
            expected += going.sum()
            going = np.append(going, 0.0) * (1 - true_level) + np.append(0.0, going) * true_level
            verdicts = self.decided(runs, np.arange(runs + 1))
            failing += going[verdicts == 1].sum()
            going[verdicts != 0] = 0.0
        return float(failing), float(expected)


def assert_level(rejects: Callable[[int], bool], level: float = 0.05) -> None:
    """A test of this nominal level does not reject twice as often: caught nine times in ten."""
    LevelCheck(level, 2 * level).holds(rejects)
