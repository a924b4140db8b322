"""How long `import mercer` takes against `import numpy`, in fresh interpreters."""

from __future__ import annotations

import subprocess
import sys
from statistics import median

from benchmarks.report import Options, Report, Table, worst

STATEMENTS = {
    "numpy": "import numpy",
    "mercer": "import mercer",
    "mercer.kernels": "import mercer.kernels",
    "mercer.gram": "import mercer.gram",
}
_TIMED = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"


def run(options: Options) -> Report:
    rounds = 2 if options.quick else max(15, options.repeats)
    for statement in STATEMENTS.values():
        _seconds(statement)  # compiles what is not compiled yet
    times: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for _ in range(rounds):
        for name, statement in STATEMENTS.items():
            times[name].append(_seconds(statement))
    rows = []
    for name, seconds in times.items():
        row = {
            "import": name,
            "best, ms": 1000 * min(seconds),
            "median, ms": 1000 * median(seconds),
        }
        row["best / numpy"] = min(seconds) / min(times["numpy"])
        row["median / numpy"] = median(seconds) / median(times["numpy"])
        rows.append(row)
    bars = worst("import mercer / import numpy", 1.5, [("best", rows[1]["best / numpy"])])
    bars += worst("import mercer / import numpy", 1.5, [("median", rows[1]["median / numpy"])])
    table = Table(
        "Imports", rows, f"{rounds} rounds of fresh interpreters, one after the other in each."
    )
    return Report("Time of an import", [table], bars, times)


def _seconds(statement: str) -> float:
    command = [sys.executable, "-c", _TIMED.format(statement)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
