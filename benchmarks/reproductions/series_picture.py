"""python -m benchmarks.reproductions.series_picture: what permutations and blocks do to series, for the guide.

Writes docs/_static/time_series.svg: a pair of series that permutations tell apart, and rates of false rejections.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from mercer.htest import HSIC, MMD, HypothesisTest, Permutation, WildBootstrap
from tests.support.series_problems import STATIONARY

FILE = Path(__file__).parents[2] / "docs" / "_static" / "time_series.svg"
SERIES = (
    "AR(0.5)",
    "AR(0.9)",
    "AR(-0.8)",
    "AR(2), oscillating",
    "seasonal, period 25",
    "GARCH(0.1, 0.85)",
)
NULLS = {
    "permutations": Permutation(199),
    "signs of blocks of 10": WildBootstrap(199, block=10),
    "slowest cosines": WildBootstrap(199, block=None),
}
N, RUNS = 300, 100


def rate(test: HypothesisTest, problem: str) -> float:
    """Share of pairs of independent series of one kind that are rejected at level 0.05; refusals are not."""
    rejected = 0
    for run in range(RUNS):
        rng = np.random.default_rng([run, 17])
        x, y = (STATIONARY[problem](rng, N) for _ in range(2))
        try:
            rejected += test.test(x, y, rng=run).rejects()
        except ValueError:
            continue
    return rejected / RUNS


def bars(ax: Axes, name: str, make: type[MMD] | type[HSIC]) -> None:
    """False rejections of one test by all nulls."""
    for i, (label, null) in enumerate(NULLS.items()):
        rates = [rate(make(null=null), problem) for problem in SERIES]
        print(name, label, dict(zip(SERIES, rates, strict=True)), flush=True)
        ax.barh(np.arange(len(SERIES)) + 0.25 * (i - 1), rates, 0.25, label=label)
    ax.axvline(0.05, color="black", lw=0.8, ls="--")
    ax.set(yticks=range(len(SERIES)), title=f"{name}: false rejections", xlim=(0, 1))
    ax.set_yticklabels(SERIES if make is MMD else [])
    ax.invert_yaxis()


def main() -> int:
    """Draw the three panels."""
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    rng = np.random.default_rng(2)
    for label in ("x", "y"):
        axes[0].plot(STATIONARY["AR(0.9)"](rng, N), lw=0.8, label=label)
    axes[0].set(title="Two series of the same kind, AR(0.9)", xlabel="time")
    axes[0].legend()
    bars(axes[1], "MMD", MMD)
    bars(axes[2], "HSIC", HSIC)
    axes[2].legend(loc="lower right")
    plt.rcParams["svg.hashsalt"] = "mercer"
    figure.savefig(FILE, metadata={"Date": None})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
