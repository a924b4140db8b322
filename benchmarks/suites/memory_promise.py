"""Peak memory of every public name that takes data, under a small budget."""

from __future__ import annotations

import json
import subprocess
import sys

from benchmarks.report import Options, Report, Table, worst

MIB = 2**20
CONSTANT = 24  # MiB, as in tests/memory/test_promise.py


def run(options: Options) -> Report:
    """All cases, each under its budget; with `quick` those of the usual suite."""
    command = [sys.executable, "-m", "benchmarks.memory_promise"]
    command += [] if options.quick else ["--slow"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    rows = [
        {
            "name": told["name"],
            "points": told["n"],
            "budget, MiB": told["budget"] // MIB,
            "growth, MiB": told["growth"] / MIB,
            "ended": "refused" if told["refusal"] else "computed",
        }
        for told in found
    ]
    note = (
        "Growth: what the call added to the resident memory at most, two threads, without numba. "
        f"Promise: 1.25 times the budget and {CONSTANT} MiB for tiles of the threads. "
        "Made by `python -m benchmarks memory_promise`."
    )
    above = (
        (told["name"], (told["growth"] / MIB - CONSTANT) / (told["budget"] / MIB)) for told in found
    )
    bars = worst(f"(growth - {CONSTANT} MiB) / budget", 1.25, above)
    return Report("The memory promise", [Table("Public names", rows, note)], bars, found)
