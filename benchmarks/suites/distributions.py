"""Distributions as points: Gaussians against the Python loop, bags against the machine, mean features.

``python -m benchmarks.suites.distributions N POINTS`` tells the memory of the Gram matrix of bags.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

import mercer
from benchmarks.footprint import peak, resident
from benchmarks.machine import Limits
from benchmarks.report import Bar, Options, Report, Table
from benchmarks.timing import Contender, Timing, interleaved
from mercer.features import RandomFourier
from mercer.kernels import RBF
from mercer.learn import MeanFeatures
from mercer.rkhs import Bags, Gaussian, MeanMap

MIB = 2**20
LOOPED = 100  # Gaussians in the loop, whose time is multiplied


def run(options: Options) -> Report:
    limits = Limits()
    limits.measure(2 if options.quick else 4 * options.repeats)
    gaussians, bags = _gaussians(options), _bags(options, limits)
    features, memory = _features(options), _memory(options)
    bars = []
    if not options.quick:
        bars = [
            Bar("pairwise loop / MeanMap", 20.0, gaussians.rows[1]["/ MeanMap"], at_least=True),
            Bar("bags / floor", 1.5, bags.rows[1]["/ floor"]),
            Bar("memory of bags, MiB", 256.0, memory.rows[0]["more, MiB"]),
        ]
    return Report("Distributions as points", [gaussians, bags, memory, features], bars)


# ---- Gaussians with full covariances --------------------------------------------------------


def _gaussians(options: Options) -> Table:
    n, d, s = 200 if options.quick else 1000, 10, 2.0
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(n, d, d)) / np.sqrt(d)
    of = [Gaussian(rng.normal(size=d), a @ a.T + 0.1 * np.eye(d)) for a in roots]
    kernel, some = MeanMap(RBF(s)), min(LOOPED, n)

    def loop() -> np.ndarray:
        return np.array([[_expected(p, q, s) for q in of[:some]] for p in of[:some]])

    np.testing.assert_allclose(kernel(of[:some]), loop(), rtol=1e-9)
    calls = {
        "MeanMap": Contender(lambda: kernel(of)),
        "pairwise loop": Contender(loop, share=some**2 / n**2),
    }
    times = interleaved(calls, options.repeats, shared=options.shared)
    return _table(f"{n:,} Gaussians in R^{d}, full covariances", times, "MeanMap")


def _expected(p: Gaussian, q: Gaussian, s: float) -> float:
    total = p.cov + q.cov + s**2 * np.eye(len(p.mean))
    moved = p.mean - q.mean
    volume = np.sqrt(np.linalg.det(total / s**2))
    return float(np.exp(-0.5 * moved @ np.linalg.solve(total, moved)) / volume)


# ---- bags -----------------------------------------------------------------------------------


def _some_bags(n: int, points: int, d: int = 16) -> Bags:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(n, 1, d)) + rng.normal(size=(n, points, d))
    return Bags(values.reshape(-1, d), np.arange(0, n * points + 1, points))


def _bags(options: Options, limits: Limits) -> Table:
    """Half of the pairs are enough: the matrix is symmetric."""
    n, points, d = (100, 20, 16) if options.quick else (1000, 100, 16)
    bags, kernel = _some_bags(n, points, d), MeanMap(RBF(4.0))
    pairs = (n * points) ** 2 / 2
    floor = limits.floor(n * points, n * points, d, 0, "float64") / 2
    calls = {"MeanMap": Contender(lambda: kernel(bags))}
    times = interleaved(calls, max(options.repeats // 2, 1), shared=options.shared)
    rows = [
        {"what": "floor", "seconds": floor, "/ floor": 1.0},
        {
            "what": "MeanMap",
            "seconds": times["MeanMap"].best,
            "/ floor": times["MeanMap"].best / floor,
        },
    ]
    note = "Floor: the exponents of half of all pairs as matrix products, and their exponentials."
    return Table(f"{n:,} bags of {points} points in R^{d}: {2 * pairs:.0e} pairs", rows, note)


def _memory(options: Options) -> Table:
    n, points = (100, 20) if options.quick else (1000, 100)
    command = [sys.executable, "-m", __name__, str(n), str(points)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    row = {
        "what": "MeanMap",
        "before, MiB": found["before"] / MIB,
        "peak, MiB": found["peak"] / MIB,
    }
    row["more, MiB"] = row["peak, MiB"] - row["before, MiB"]
    return Table("Memory of the same, mercer.config(memory='256MiB')", [row])


def _features(options: Options) -> Table:
    rows = []
    for n, points in ((100, 20),) if options.quick else ((1000, 100), (10_000, 100)):
        bags = _some_bags(n, points)
        call = Contender(
            lambda b=bags: MeanFeatures(
                RandomFourier(RBF(4.0), 256, random_state=0), random_state=0
            ).fit_transform(b)
        )
        seconds = interleaved({"": call}, 1, shared=options.shared)[""].best
        rows.append({"bags": n, "points": n * points, "seconds": seconds})
    return Table("MeanFeatures, 256 random Fourier features, R^16", rows)


def _table(title: str, times: dict[str, Timing], first: str) -> Table:
    rows = [
        {"what": name, "seconds": t.best, f"/ {first}": t.best / times[first].best}
        for name, t in times.items()
    ]
    return Table(title, rows)


def measure(n: int, points: int) -> dict[str, float]:
    """Bytes before and at most."""
    MeanMap(RBF(4.0))(_some_bags(30, 50))  # imports
    bags = _some_bags(n, points)
    before = resident()
    with mercer.config(memory="256MiB"):
        MeanMap(RBF(4.0))(bags)
    return {"before": before, "peak": peak()}


if __name__ == "__main__":
    print(json.dumps(measure(*map(int, sys.argv[1:]))))
