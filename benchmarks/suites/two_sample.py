"""Two-sample tests against hyppo, dense NumPy and the machine; the memory of a large one; ME.optimized.

``python -m benchmarks.suites.two_sample N D RESAMPLES MEMORY`` runs one large test and tells its
memory as JSON; the suite calls it in a fresh process.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from dataclasses import asdict
from typing import Any

import numpy as np

import mercer
from benchmarks import mmd_peers, peers
from benchmarks.footprint import peak, resident
from benchmarks.machine import Limits, cores
from benchmarks.report import Bar, Options, Report, Table
from benchmarks.timing import Contender, Timing, interleaved
from mercer import htest
from mercer.datasets import MeanShift, VarianceShift
from mercer.kernels import RBF

MIB = 2**20
BUDGET = "512MiB"
_HYPPO = 10  # resamples that hyppo does; its time is scaled to all of them


def run(options: Options) -> Report:
    limits = Limits()
    limits.measure(2 if options.quick else 10)
    small = _small(options)
    large, floor = _large(limits, options)
    memory, me = _memory(options), _optimized(options)
    tables = [_table(*small), _table(*large), memory, me]
    bars = [] if options.quick else _bars(small[1], large[1], floor, memory, me)
    raw = {"limits": limits.history}
    raw |= {title: {k: asdict(t) for k, t in times.items()} for title, times, _ in (small, large)}
    return Report("Two-sample tests", tables, bars, raw)


Timed = tuple[str, dict[str, Timing], str]


# ---- what is run ----------------------------------------------------------------------------


def _small(options: Options) -> Timed:
    """Against hyppo, everything included: ours chooses its bandwidth, as hyppo's does."""
    n, d, resamples = (100, 10, 100) if options.quick else (500, 10, 1000)
    options.console.print(f"[dim]n = m = {n}[/]")
    x, y = MeanShift(d, 0.2).sample(n, rng=0)
    ours = htest.MMD(null=htest.Permutation(resamples))
    contenders = {"mercer": Contender(lambda: ours.test(x, y, rng=0))}
    note = "hyppo is not installed."
    if peers.installed("hyppo"):
        theirs = mmd_peers.hyppo_mmd()
        share = (_HYPPO + 1) / (resamples + 1)  # the statistic itself counts as one
        contenders["hyppo"] = Contender(lambda: theirs(x, y, _HYPPO), share)
        theirs(x[:20], y[:20], 1)  # compiles
        note = (
            f"hyppo did {_HYPPO} resamples on one core, and its time was scaled to {resamples:,}."
        )
    ours.test(x, y, rng=0)
    times = interleaved(contenders, max(options.repeats, 5), shared=options.shared)
    return f"n = m = {n}, d = {d}, {resamples:,} permutations", times, note


def _large(limits: Limits, options: Options) -> tuple[Timed, float]:
    """Against the best dense version, with the same kernel; all draw their permutations."""
    n, d, resamples = (500, 10, 100) if options.quick else (5000, 10, 1000)
    options.console.print(f"[dim]n = m = {n:,}[/]")
    x, y = MeanShift(d, 0.1).sample(n, rng=0)
    kernel = RBF(float(d) ** 0.5)
    ours = htest.MMD(kernel, null=htest.Permutation(resamples))
    contenders = {"mercer": Contender(lambda: ours.test(x, y, rng=0))}
    for dtype in ("float64", "float32"):
        contenders[f"dense NumPy, {dtype}"] = Contender(
            lambda t=dtype: mmd_peers.dense_mmd(x, y, kernel.rate, resamples, t)
        )

    def check(name: str, answer: Any) -> None:
        statistic = answer.statistic if name == "mercer" else answer[0]
        loose = 1e-4 if "32" in name else 1e-10
        np.testing.assert_allclose(statistic, ours.statistic(x, y), atol=loose, err_msg=name)

    measure = lambda: limits.measure(2)  # noqa: E731
    times = interleaved(
        contenders, options.repeats, shared=options.shared, between=measure, check=check
    )
    floor = limits.floor(2 * n, 2 * n, d, resamples, "float32") / 2
    note = (
        f"Floor: float32 products and exponentials over half of the matrix, {1000 * floor:.4g} ms. "
        "Dense: one Gram matrix, one matrix product."
    )
    return (f"n = m = {n:,}, d = {d}, {resamples:,} permutations", times, note), floor


def _memory(options: Options) -> Table:
    n, resamples = (1000, 50) if options.quick else (50_000, 500)
    options.console.print(f"[dim]n = m = {n:,}[/]")
    command = [sys.executable, "-m", __name__, str(n), "10", str(resamples), BUDGET]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    row = {"n = m": n, "permutations": resamples, "budget": BUDGET}
    row |= {f"{key}, MiB": found[key] / MIB for key in ("before", "peak")}
    row |= {"K would take, MiB": 8 * (2 * n) ** 2 / MIB, "seconds": found["seconds"]}
    row |= {"processor seconds / cores": found["cpu"] / cores()}
    return Table("Memory of a large test", [row], "Peak: of the whole fresh process. d = 10.")


def _optimized(options: Options) -> Table:
    sizes = [200, 400] if options.quick else [2500, 5000, 10_000, 20_000]
    problem, rows = VarianceShift(dim=50), []
    for n in sizes:
        options.console.print(f"[dim]ME.optimized, n = {n:,}[/]")
        x, y = problem.sample(n, rng=1)
        call = Contender(lambda x=x, y=y: htest.ME.optimized(x, y, locations=5, rng=0))
        timing = interleaved({"": call}, max(1, options.repeats // 2), shared=options.shared)[""]
        rows.append({"n = m": n, "seconds": timing.best})
    for row in rows:
        row["seconds / n, relative to the first"] = (
            row["seconds"] / row["n = m"] * sizes[0] / rows[0]["seconds"]
        )
    return Table("ME.optimized, d = 50, J = 5, Gaussian variance difference", rows)


# ---- the printed page -----------------------------------------------------------------------


def _table(title: str, times: dict[str, Timing], note: str) -> Table:
    best = times["mercer"].best
    rows = [
        {"test": name, "seconds": timing.best, "/ mercer": timing.best / best}
        for name, timing in times.items()
    ]
    return Table(title, rows, note)


def _bars(
    small: dict[str, Timing], large: dict[str, Timing], floor: float, memory: Table, me: Table
) -> list[Bar]:
    ours, bars = large["mercer"].best, []
    if "hyppo" in small:
        ratio = small["hyppo"].best / small["mercer"].best
        bars.append(Bar("hyppo / mercer", 300.0, ratio, "n = m = 500", at_least=True))
    for name, timing in large.items():
        if name != "mercer":
            bars.append(
                Bar(f"{name} / mercer", 2.0, timing.best / ours, "n = m = 5,000", at_least=True)
            )
    bars.append(Bar("mercer / floor", 1.5, ours / floor, "n = m = 5,000"))
    bars.append(Bar("peak memory, MiB", 1024.0, memory.rows[0]["peak, MiB"], "n = m = 50,000"))
    (at,) = (row for row in me.rows if row["n = m"] == 10_000)
    bars.append(Bar("ME.optimized, seconds", 10.0, at["seconds"], "n = m = 10,000"))
    growth = max(row["seconds / n, relative to the first"] for row in me.rows)
    bars.append(Bar("ME.optimized, seconds / n", 1.5, growth, "relative to n = 2,500"))
    return bars


# ---- one large test, in its own process -----------------------------------------------------


def measure(n: int, d: int, resamples: int, memory: str) -> dict[str, float]:
    """Bytes before and at most, and seconds, of one permutation test."""
    warnings.simplefilter("error")
    x, y = MeanShift(d, 0.02).sample(n, rng=0)
    test = htest.MMD(null=htest.Permutation(resamples))
    test.test(x[:50], y[:50], rng=0)  # imports
    before, start, spent = resident(), time.perf_counter(), time.process_time()
    with mercer.config(memory=memory):
        result = test.test(x, y, rng=0)
    found = {"before": before, "peak": peak(), "seconds": time.perf_counter() - start}
    return found | {"cpu": time.process_time() - spent, "pvalue": result.pvalue}


if __name__ == "__main__":
    n, d, resamples, memory = sys.argv[1:]
    print(json.dumps(measure(int(n), int(d), int(resamples), memory)))
