"""python -m benchmarks.reproductions.conditional_picture: how often conditional tests reject true nulls, for the guide.

Writes docs/_static/conditional_levels.svg: false rejections of `KCI`, `RCoT` and `KernelGCM` on four nulls.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt

from mercer.htest import KCI, HypothesisTest, KernelGCM, RCoT
from tests.support.htest_conditional_grid import Problem, additive

FILE = Path(__file__).parents[2] / "docs" / "_static" / "conditional_levels.svg"
NULLS = {
    "sin(3z), one column": additive("sine", "normal", 1),
    "sum of sin(3z), 3 columns": additive("sine", "normal", 3),
    "sum of products, 5 columns": additive("interactions", "normal", 5),
    "sum of 10 columns": additive("linear", "normal", 10),
}
TESTS = (KCI(), RCoT(), KernelGCM())
N, RUNS = 300, 200


def rate(test: HypothesisTest, problem: Problem) -> float:
    """Share of runs that are rejected at level 0.05."""
    draws = (problem.draw(np.random.default_rng([run, 17]), N) for run in range(RUNS))
    return sum(test.test(*draw, rng=run).rejects() for run, draw in enumerate(draws)) / RUNS


def main() -> int:
    """Draw the bars, and print their lengths."""
    figure, ax = plt.subplots(figsize=(8, 3), layout="constrained")
    for i, test in enumerate(TESTS):
        name = type(test).__name__
        rates = [rate(test, problem) for problem in NULLS.values()]
        print(name, dict(zip(NULLS, rates, strict=True)), flush=True)
        ax.barh(np.arange(len(NULLS)) + 0.25 * (i - 1), rates, 0.25, label=name)
    ax.axvline(0.05, color="black", lw=0.8, ls="--")
    ax.set(title=f"False rejections, {N} observations", xlim=(0, 1))
    ax.set_yticks(range(len(NULLS)), list(NULLS))
    ax.invert_yaxis()
    figure.legend(loc="outside right upper")
    plt.rcParams["svg.hashsalt"] = "mercer"
    figure.savefig(FILE, metadata={"Date": None})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
