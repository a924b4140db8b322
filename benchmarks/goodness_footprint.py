"""python -m benchmarks.goodness_footprint TEST N D MEMORY: the memory that a goodness-of-fit test takes, as JSON.

TEST is KSD, FSSD or LinearKSD, of N points in R^D under ``mercer.config(memory=MEMORY)``. Run in a
fresh process; sizes are resident bytes.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

import mercer
from benchmarks.footprint import peak, resident
from mercer import htest
from mercer.rkhs import Gaussian


def measure(name: str, n: int, d: int, memory: str) -> dict[str, float]:
    """Bytes before, at most, and more than before; seconds; and the statistic."""
    x = np.random.default_rng(0).standard_normal((n, d))
    test = getattr(htest, name)(Gaussian(np.zeros(d), 1.0))
    test.test(x[:4000], rng=0)  # imports, too
    before = resident()
    start = time.perf_counter()
    with mercer.config(memory=memory):
        result = test.test(x, rng=0)
    seconds, most = time.perf_counter() - start, peak()
    found = {"before": before, "peak": most, "growth": most - before, "seconds": seconds}
    return found | {"statistic": result.statistic}


if __name__ == "__main__":
    name, n, d, memory = sys.argv[1:]
    print(json.dumps(measure(name, int(n), int(d), memory)))
