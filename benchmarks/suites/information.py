"""Entropy and mutual information by neighbours, against scikit-learn, the calls of NPEET, and infomeasure.

``python -m benchmarks.suites.information`` computes the entropy of a million points in three dimensions and tells
seconds and memory as JSON; the suite calls it in a fresh process.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.footprint import peak, resident
from benchmarks.report import Bar, Options, Report, Table
from benchmarks.timing import Contender, Timing, interleaved
from mercer.info import KNN, KSG, entropy, mutual_information

MIB = 2**20
Timed = tuple[str, dict[str, Timing], float]


def run(options: Options) -> Report:
    timed = [_pair(options), _many_columns(options), _entropy(options)]
    memory = _million(options)
    tables = [*(_table(title, times) for title, times, _ in timed), memory]
    bars = [] if options.quick else _bars(timed, memory)
    return Report(
        "Information", tables, bars, {t: {k: asdict(v) for k, v in x.items()} for t, x, _ in timed}
    )


def _pair(options: Options) -> Timed:
    """KSG of two columns; scikit-learn scales and adds noise, which takes little of its time."""
    n = 1000 if options.quick else 10_000
    x, y = _dependent(n, 1)
    calls: dict[str, Callable[[], Any]] = {
        "mercer": lambda: mutual_information(x, y, estimator=KSG(3))
    }
    if peers.installed("sklearn"):
        from sklearn.feature_selection import mutual_info_regression

        calls["scikit-learn"] = lambda: mutual_info_regression(x, y[:, 0], n_neighbors=3)
    return f"KSG, 1 + 1 columns, n = {n:,}", _timed(calls, options), 2.0


def _many_columns(options: Options) -> Timed:
    """NPEET is on no index: its three calls of scikit-learn's trees, without its loops."""
    n = 1000 if options.quick else 10_000
    x, y = _dependent(n, 5)
    calls: dict[str, Callable[[], Any]] = {
        "mercer": lambda: mutual_information(x, y, estimator=KSG(3))
    }
    if peers.installed("sklearn"):
        from sklearn.neighbors import KDTree

        def trees() -> None:
            joint = np.hstack([x, y])
            radii = KDTree(joint, metric="chebyshev").query(joint, k=4)[0][:, 3]
            for variable in (x, y):
                tree = KDTree(variable, metric="chebyshev")
                tree.query_radius(variable, radii - 1e-15, count_only=True)

        calls["trees as NPEET"] = trees
    return f"KSG, 5 + 5 columns, n = {n:,}", _timed(calls, options), 1.5


def _entropy(options: Options) -> Timed:
    n = 2000 if options.quick else 100_000
    x = np.random.default_rng(0).standard_normal((n, 5))
    calls: dict[str, Callable[[], Any]] = {"mercer": lambda: entropy(x, estimator=KNN(4))}
    if peers.installed("infomeasure"):
        import infomeasure

        calls["infomeasure"] = lambda: infomeasure.entropy(x, approach="metric", k=4)
    return f"kNN entropy, 5 columns, n = {n:,}", _timed(calls, options), 1.5


def _million(options: Options) -> Table:
    n = 20_000 if options.quick else 1_000_000
    command = [sys.executable, "-m", __name__, str(n)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    row = json.loads(done.stdout)
    return Table("kNN entropy, 3 columns", [row], "Growth: of the memory of a fresh process.")


def _timed(calls: dict[str, Callable[[], Any]], options: Options) -> dict[str, Timing]:
    options.console.print(f"[dim]{', '.join(calls)}[/]")
    contenders = {name: Contender(call) for name, call in calls.items()}
    return interleaved(contenders, min(options.repeats, 5), shared=options.shared)


def _dependent(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    x, noise = np.random.default_rng(0).standard_normal((2, n, d))
    return x, 0.6 * x + 0.8 * noise


def _table(title: str, times: dict[str, Timing]) -> Table:
    best = times["mercer"].best
    rows = [
        {"who": name, "seconds": timing.best, "/ mercer": timing.best / best}
        for name, timing in times.items()
    ]
    return Table(title, rows)


def _bars(timed: list[Timed], memory: Table) -> list[Bar]:
    bars = []
    for title, times, wanted in timed:
        for name, timing in times.items():
            if name != "mercer":
                ratio = timing.best / times["mercer"].best
                bars.append(Bar(f"{name} / mercer", wanted, ratio, title, at_least=True))
    row = memory.rows[0]
    bars.append(Bar("seconds", 60.0, row["seconds"], f"n = {row['n']:,}, d = 3"))
    bars.append(Bar("growth / data", 20.0, row["growth, MiB"] / row["data, MiB"], "linear memory"))
    return bars


def measure(n: int) -> dict[str, float]:
    """Seconds and growth of memory of one large entropy."""
    x = np.random.default_rng(0).standard_normal((n, 3))
    entropy(x[:100])  # imports
    before, start = resident(), time.perf_counter()
    value = entropy(x)
    seconds = time.perf_counter() - start
    truth = 1.5 * np.log(2 * np.pi * np.e)
    growth = (peak() - before) / MIB
    return {
        "n": n, "seconds": seconds, "growth, MiB": growth, "data, MiB": x.nbytes / MIB,
        "error": value - truth,
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
