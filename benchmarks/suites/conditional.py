"""Conditional independence: KCI against causal-learn's, time and memory; RCoT on many observations.

``python -m benchmarks.suites.conditional NAME N D`` runs one test and tells its memory as JSON; the suite
calls it in a fresh process.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.footprint import peak, resident
from benchmarks.report import Bar, Options, Report, Table
from benchmarks.timing import Contender, Timing, interleaved
from mercer import htest

MIB = 2**20
OURS, THEIRS = "mercer KCI", "causal-learn KCI"

Timed = tuple[str, dict[str, Timing]]


def run(options: Options) -> Report:
    n = 200 if options.quick else 2000
    timed = [_timed(n, d, options) for d in (1, 5)]
    memory = _memory(n, options)
    tables = [*(_compared(*found) for found in timed), memory, _linear(options)]
    bars = [] if options.quick else _bars(timed, memory)
    raw = {title: {k: asdict(t) for k, t in times.items()} for title, times in timed}
    title = "Conditional independence tests"
    title += " (by processor time: others used the machine)" if options.shared else ""
    return Report(title, tables, bars, raw)


# ---- what is run ----------------------------------------------------------------------------


def variables(n: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x and y made of z in d dimensions, and of noise of their own."""
    rng = np.random.default_rng(0)
    z, s = rng.standard_normal((n, d)), np.arange(1, d + 1) ** -0.5
    x = np.tanh(z @ s + rng.standard_normal(n))
    y = (np.sin(2 * z) @ s + rng.standard_normal(n)) ** 3
    return x[:, None], y[:, None], z


def contenders() -> dict[str, Callable[..., Any]]:
    """Tests of x, y and z by name; causal-learn's as it comes, with its gamma null."""
    found: dict[str, Callable[..., Any]] = {OURS: lambda *s: htest.KCI().test(*s).pvalue}
    found["mercer RCoT"] = lambda *s: htest.RCoT().test(*s, rng=0).pvalue
    if peers.installed("causallearn"):
        from causallearn.utils.KCI.KCI import KCI_CInd

        found[THEIRS] = lambda *s: KCI_CInd().compute_pvalue(*s)[0]
    return found


def _timed(n: int, d: int, options: Options) -> Timed:
    options.console.print(f"[dim]n = {n:,}, d = {d}[/]")
    samples = variables(n, d)
    calls = {k: Contender(lambda t=t: t(*samples)) for k, t in contenders().items()}
    for contender in calls.values():
        contender.call()  # imports, compiles
    times = interleaved(calls, max(options.repeats // 2, 1), shared=options.shared)
    return f"n = {n:,}, z in {d} dimension{'s' * (d > 1)}", times


def _memory(n: int, options: Options) -> Table:
    rows = []
    for d in (1, 5):
        for name in contenders():
            options.console.print(f"[dim]memory of {name}, d = {d}[/]")
            command = [sys.executable, "-m", __name__, name, str(n), str(d)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            found = json.loads(done.stdout)
            row = {"test": name, "n": n, "d": d}
            row |= {f"{key}, MiB": found[key] / MIB for key in ("before", "peak")}
            row["more, MiB"] = (found["peak"] - found["before"]) / MIB
            rows.append(row)
    one = 8 * n**2 / MIB
    note = f"Peak: of the whole fresh process. A matrix of n^2 numbers takes {one:.1f} MiB."
    return Table("Memory", rows, note)


def _linear(options: Options) -> Table:
    rows = []
    for n in (500, 1000) if options.quick else (10_000, 30_000, 100_000):
        options.console.print(f"[dim]RCoT, n = {n:,}[/]")
        samples = variables(n, 3)
        for test in (htest.RCoT(), htest.RCIT()):
            call = Contender(lambda t=test, s=samples: t.test(*s, rng=0))
            timing = interleaved({"": call}, 1, shared=options.shared)[""]
            rows.append({"test": type(test).__name__, "n": n, "seconds": timing.best})
    return Table("Many observations, z in 3 dimensions", rows)


# ---- the printed page -----------------------------------------------------------------------


def _compared(title: str, times: dict[str, Timing]) -> Table:
    best = times[OURS].best
    rows = [
        {"test": name, "seconds": timing.best, f"/ {OURS}": timing.best / best}
        for name, timing in times.items()
    ]
    return Table(title, rows)


def _bars(timed: list[Timed], memory: Table) -> list[Bar]:
    bars = []
    for title, times in timed:
        if THEIRS in times:
            ratio = times[THEIRS].best / times[OURS].best
            bars.append(Bar(f"{THEIRS} / {OURS}, seconds", 2.0, ratio, title, at_least=True))
    more = {(row["test"], row["d"]): row["more, MiB"] for row in memory.rows}
    for d in (1, 5):
        if (THEIRS, d) in more:
            ratio = more[OURS, d] / more[THEIRS, d]
            bars.append(Bar(f"{OURS} / {THEIRS}, memory", 0.5, ratio, f"z in {d}, n = 2,000"))
    return bars


# ---- one test, in its own process -----------------------------------------------------------


def measure(name: str, n: int, d: int) -> dict[str, float]:
    """Bytes before and at most, and seconds, of one test."""
    warnings.simplefilter("ignore")
    samples, test = variables(n, d), contenders()[name]
    test(*(v[:50] for v in samples))  # imports
    before, start = resident(), time.perf_counter()
    test(*samples)
    return {"before": before, "peak": peak(), "seconds": time.perf_counter() - start}


if __name__ == "__main__":
    name, n, d = sys.argv[1:]
    print(json.dumps(measure(name, int(n), int(d))))
