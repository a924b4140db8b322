"""Peak memory of a permutation null of 1,000 resamples, 100,000 points, under a budget of 512 MiB."""

from __future__ import annotations

import json
import subprocess
import sys

from benchmarks.report import Bar, Options, Report, Table

BUDGET = "512MiB"
MIB = 2**20


def run(options: Options) -> Report:
    sizes = [5_000] if options.quick else [10_000, 100_000]
    rows, found = [], []
    for n in sizes:
        options.console.print(f"[dim]{n:,} points[/]")
        command = [sys.executable, "-m", "benchmarks.footprint", str(n), "10", "1000", BUDGET]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found.append(json.loads(done.stdout))
        row = {
            "points": n,
            "columns": 1000,
            "budget, MiB": 512,
            "K would take, MiB": 8 * n * n / MIB,
        }
        row |= {f"{key}, MiB": found[-1][key] / MIB for key in ("before", "peak", "growth")}
        rows.append(row | {"seconds": found[-1]["seconds"]})
    note = "Before: after imports and with the data. Peak: the whole process. Growth: what the call added at most."
    table = Table("Gram(RBF, x).quad(PermutedWeights), d = 10", rows, note)
    bars = [
        Bar(
            "peak memory of the whole process, MiB",
            768.0,
            rows[-1]["peak, MiB"],
            f"n = {sizes[-1]:,}",
        ),
        Bar("growth, MiB", 768.0, rows[-1]["growth, MiB"], f"n = {sizes[-1]:,}"),
    ]
    return Report("Memory of a permutation null", [table], bars, found)
