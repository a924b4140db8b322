"""python -m benchmarks.footprint N D RESAMPLES MEMORY: the memory that a permutation null takes, as JSON.

Run in a fresh process: w'Kw for RESAMPLES permutations of the weights of a two-sample statistic,
N points in R^D, under ``mercer.config(memory=MEMORY)``. Sizes are resident bytes.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

import mercer
from mercer.gram import Gram, PermutedWeights
from mercer.kernels import RBF


def measure(n: int, d: int, resamples: int, memory: str) -> dict[str, float]:
    """Bytes before, at most, and more than before; seconds; and the mean of the null."""
    x = np.random.default_rng(0).standard_normal((n, d))
    weights = PermutedWeights(np.repeat([2.0, -2.0], n // 2) / n, resamples, rng=0)
    load_compiled_loops()
    before = resident()
    start = time.perf_counter()
    with mercer.config(memory=memory):
        null = Gram(RBF(d**0.5), x).quad(weights)
    seconds, most = time.perf_counter() - start, peak()
    found = {"before": before, "peak": most, "growth": most - before, "seconds": seconds}
    return found | {"mean": float(null.mean())}


def load_compiled_loops() -> None:
    """Compute once what takes compiled loops, so that their memory is not counted as that of a call."""
    n = 7200  # fewer points do not take them
    gram = Gram(RBF(1.0), np.zeros((n, 1)))
    _ = gram @ np.ones(n)
    gram.quad(PermutedWeights(np.repeat([1.0, -1.0], n // 2), 64, rng=0))


def resident() -> int:
    """Bytes of this process that are in memory now."""
    import psutil

    return psutil.Process().memory_info().rss


def peak() -> int:
    """The most there ever were."""
    if sys.platform == "linux":  # ru_maxrss would count the parent's memory at the fork
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
    if sys.platform == "win32":
        import psutil

        return psutil.Process().memory_info().peak_wset
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    n, d, resamples, memory = sys.argv[1:]
    print(json.dumps(measure(int(n), int(d), int(resamples), memory)))
