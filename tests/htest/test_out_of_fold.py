"""Predictions of rows by fits to the others, which measure effect sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from mercer.htest.out_of_fold import out_of_fold


class Watching:
    """Predictors that predict zero, and note how many threads BLAS has meanwhile."""

    def __init__(self) -> None:
        self.threads: set[int] = set()

    def predicted(self, target: np.ndarray, train: np.ndarray) -> np.ndarray:
        self.threads |= {e["num_threads"] for e in threadpool_info() if e["user_api"] == "blas"}
        return np.zeros(len(target))


def test_small_fits_do_not_wait_for_threads_of_each_other():
    """On two busy cores, two threads took ten times the processor time of one."""
    watching: Any = Watching()
    with threadpool_limits(2, "blas"):
        out_of_fold(watching, np.ones((40, 1)))
        assert {e["num_threads"] for e in threadpool_info() if e["user_api"] == "blas"} == {2}
    assert watching.threads == {1}
