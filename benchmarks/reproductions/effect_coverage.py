"""How often the intervals of areas, of explained shares and of misfits hold the truth.

`python -m benchmarks.reproductions.effect_coverage --runs 400 --processes 16` prints three tables; `--only shares,misfits`
some of them. The standard error of a coverage c is sqrt(c (1 - c) / runs), at least that of c = 1 - 1 / runs. The truth is twofold: what the
classifier or regression of such samples attains on average (the mean of the estimates), and what the best one
would attain (the area or share of the true model), which small samples cannot reach.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from itertools import product

import numpy as np
from scipy.stats import norm

from mercer.htest.explained_variation import prediction_errors
from mercer.htest.goodness.model_separation import separation_from_model
from mercer.htest.separation_auc import separation
from mercer.kernels import RBF
from mercer.rkhs import Gaussian
from mercer.rkhs.paired_samples import variables

KERNEL = RBF(1.0)


def areas(shift: float, d: int, n: int, runs: int) -> tuple[float, float, float, float]:
    """Mean estimate, best area, and coverage of both by 95% intervals."""
    best = float(norm.cdf(shift / np.sqrt(2)))
    estimates, intervals = [], []
    for run in range(runs):
        rng = np.random.default_rng((run, n, d, int(100 * shift)))
        points = rng.normal(size=(2 * n, d))
        points[n:, 0] += shift
        told = separation(points, (n, n), None, KERNEL)
        estimates.append(told.auc)
        intervals.append(told.interval(0.95))
    mean = max(float(np.mean(estimates)), 0.5)
    return mean, best, _coverage(intervals, mean), _coverage(intervals, best)


def shares(r: float, d: int, n: int, runs: int) -> tuple[float, float, float, float]:
    """The same for the share of y that x explains, y having correlation r with the first column of x."""
    estimates, intervals = [], []
    for run in range(runs):
        rng = np.random.default_rng((run, n, d, int(100 * r)))
        x = rng.normal(size=(n, d))
        y = r * x[:, :1] + np.sqrt(1 - r * r) * rng.normal(size=(n, 1))
        told = prediction_errors(*variables((KERNEL, KERNEL), (x, y)))[0].explained(0.95)
        estimates.append(told.share)
        intervals.append(told.interval)
    mean = max(float(np.mean(estimates)), 0.0)
    return mean, r * r, _coverage(intervals, mean), _coverage(intervals, r * r)


def misfits(shift: float, d: int, n: int, runs: int) -> tuple[float, float, float, float]:
    """The same for n observations with a shifted first column, told from draws of a standard normal model."""
    model, best = Gaussian(np.zeros(d), 1.0), float(norm.cdf(shift / np.sqrt(2)))
    estimates, intervals = [], []
    for run in range(runs):
        rng = np.random.default_rng((run, n, d, int(100 * shift)))
        points = rng.normal(size=(n, d))
        points[:, 0] += shift
        told = separation_from_model(model, points, None)
        if told is None:
            raise TypeError("a Gaussian has draws")
        estimates.append(told.auc)
        intervals.append(told.interval(0.95))
    mean = max(float(np.mean(estimates)), 0.5)
    return mean, best, _coverage(intervals, mean), _coverage(intervals, best)


def _coverage(intervals: list, truth: float) -> float:
    return float(np.mean([low <= truth <= high for low, high in intervals]))


def line(case: tuple) -> str:
    measure, effect, d, n, runs = case
    mean, best, held, held_best = measure(effect, d, n, runs)
    return f"| {effect:g} | {d} | {n} | {mean:.3f} | {best:.3f} | {held:.0%} | {held_best:.0%} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--only", default="areas,shares,misfits", help="tables, with commas")
    given = parser.parse_args()
    head = "columns | n | mean | best | covers mean | covers best |\n|---|---|---|---|---|---|---|"
    with ProcessPoolExecutor(given.processes) as pool:
        for title, measure, sizes in (
            ("shift", areas, (10, 40, 150)),
            ("r", shares, (20, 80, 300)),
            ("shift", misfits, (20, 80, 300)),
        ):
            if measure.__name__ not in given.only.split(","):
                continue
            print(f"\n| {title} | {head}")
            cases = product((0.0, 0.5, 0.8), (1, 5), sizes)
            for told in pool.map(line, [(measure, *case, given.runs) for case in cases]):
                print(told, flush=True)


if __name__ == "__main__":
    main()
