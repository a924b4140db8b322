"""What studies of many runs keep: cells with their runs, saved as they go on, and tables of them.

A record is ``{"cells": {key: {"runs": 20, "rejections": 3, "seconds": 1.5}, ...}, ...}`` in NAME.json, and what it
says in NAME.md. A study is the keys of its cells, one run of a cell, and a text::

    RECORD = Record("my_study", markdown)  # markdown(store) -> str

    def main() -> int:
        told = arguments("What is studied", runs=100).parse_args()
        store = RECORD.load(told.results)
        RECORD.run(store, rounds(store, KEYS, told.runs), once, told.seconds, told.results, told.workers)
        print(markdown(store))
        return 0

    def once(key: str, seed: int) -> dict[str, Any]:  # {"rejections": 1}, or {"errors": [0.13]}
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from benchmarks.machine import describe

RESULTS = Path(__file__).parents[1] / "results"
EVERY = 10.0  # seconds between two savings
Store = dict[str, Any]
Once = Callable[[str, int], Mapping[str, Any]]


@dataclass(frozen=True)
class Record:
    """The files NAME.json and NAME.md of a study; `markdown` makes the second of what is in the first."""

    name: str
    markdown: Callable[[Store], str]

    def load(self, folder: Path = RESULTS) -> Store:
        """What was done before; no cells where nothing was."""
        file = folder / f"{self.name}.json"
        return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {"cells": {}}

    def save(self, store: Store, folder: Path = RESULTS, *, ran_here: bool = True) -> None:
        """Both files, each replaced at once: a run that is ended leaves the earlier one or this one.

        They name this machine, or the one on record where nothing was run here.
        """
        folder.mkdir(parents=True, exist_ok=True)
        done = {key: entry for key, entry in store["cells"].items() if entry["runs"]}
        cells = {
            key: entry | {"seconds": round(entry["seconds"], 2)} for key, entry in done.items()
        }
        machine = describe() if ran_here else store.get("machine", describe())
        kept = store | {"machine": machine, "cells": dict(sorted(cells.items()))}
        _replace(folder / f"{self.name}.json", json.dumps(kept, indent=1) + "\n")
        _replace(folder / f"{self.name}.md", self.page(kept))

    def page(self, store: Store) -> str:
        """The text of NAME.md, under the machine on record."""
        here, there = map(_facts, (describe(), store.get("machine", describe())))
        return self.markdown(store).replace("\n".join(here), "\n".join(there), 1)

    def run(
        self,
        store: Store,
        turns: Iterable[str],
        once: Once,
        seconds: float = np.inf,
        folder: Path = RESULTS,
        workers: int = 1,
    ) -> None:
        """One run of each cell in `turns`, until so many seconds are over; saved now and then, and at the end.

        ``once(key, seed)`` is run number `seed` of a cell, from 0 on. What it returns is kept in the cell: numbers are
        added up, lists are strung together. Seconds are processor time, of the whole call unless it tells its own.
        Several workers are processes that run ahead; what they finish is kept in the order of the turns.
        """
        saved = time.monotonic()
        end = saved + seconds
        ran_here = False
        for key, outcome in _outcomes(store, turns, once, workers, end):
            ran_here = True
            entry = cell(store, key)
            for name, value in outcome.items():
                entry[name] = entry.get(name, type(value)()) + value
            if time.monotonic() - saved > EVERY:
                self.save(store, folder)
                saved = time.monotonic()
        self.save(store, folder, ran_here=ran_here)


def _outcomes(
    store: Store, turns: Iterable[str], once: Once, workers: int, end: float
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Keys with what a run of them gives, in the order of `turns`; none is begun after `end`."""
    if workers == 1:
        for key in turns:
            yield key, _measured(once, key, cell(store, key)["runs"])
            if time.monotonic() > end:
                return
        return
    seeds: Counter[str] = Counter()
    ahead: deque[tuple[str, Future[Mapping[str, Any]]]] = deque()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # of the processes that are started now
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for key in turns:
            if time.monotonic() > end:
                break
            seed = cell(store, key)["runs"] + seeds[key]
            ahead.append((key, pool.submit(_measured, once, key, seed)))
            seeds[key] += 1
            while len(ahead) > 2 * workers:
                key, future = ahead.popleft()
                seeds[key] -= 1
                yield key, future.result()
        for key, future in ahead:
            yield key, future.result()


def _measured(once: Once, key: str, seed: int) -> Mapping[str, Any]:
    spent = time.process_time()
    with mercer.config(threads=1):
        outcome = dict(once(key, seed))
    return {"runs": 1, "seconds": time.process_time() - spent} | outcome


def cell(store: Store, key: str) -> dict[str, Any]:
    """The entry of a cell; without runs where it is new."""
    return store["cells"].setdefault(key, {"runs": 0, "seconds": 0.0})


def rounds(store: Store, keys: Sequence[str], runs: int) -> Iterator[str]:
    """The first run of every cell that lacks it, then the second, up to `runs`."""
    before = {key: cell(store, key)["runs"] for key in keys}
    for seed in range(runs):
        yield from (key for key in keys if before[key] <= seed)


def arguments(title: str | None, runs: int) -> argparse.ArgumentParser:
    """--runs, --seconds, --workers and --results, which every study has."""
    parser = argparse.ArgumentParser(description=(title or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=runs, help="of each, earlier ones counted")
    parser.add_argument("--seconds", type=float, default=np.inf, help="stop after so long")
    parser.add_argument("--workers", type=int, default=1, help="processes, one thread each")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder of the record")
    return parser


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and its seconds of processor time."""
    start = time.process_time()
    return call(), time.process_time() - start


# ---- the printed page -----------------------------------------------------------------------


def heading(title: str, command: str = "") -> list[str]:
    """The title, the command and the machine."""
    lines = [f"# {title}", "", *([f"    {command}", ""] if command else [])]
    return lines + _facts(describe())


def _facts(machine: Mapping[str, str]) -> list[str]:
    return [f"* {key}: {value}" for key, value in machine.items()]


def table(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The lines of a Markdown table; rows have the same columns."""
    rows = list(rows)
    if not rows:
        return ["Nothing was run yet."]
    return [_line(rows[0]), "|" + " --- |" * len(rows[0]), *(_line(row.values()) for row in rows)]


def rate(entry: Mapping[str, Any]) -> float:
    """The share of runs that reject."""
    return entry["rejections"] / entry["runs"] if entry["runs"] else 0.0


def with_error(share: float, runs: int, digits: int = 2) -> str:
    """A share of runs and its standard error."""
    return f"{share:.{digits}f} ± {(share * (1 - share) / runs) ** 0.5:.{digits}f}"


def reaches(rate: float, runs: int, wanted: float, wanted_runs: int) -> bool:
    """Whether a rate is not below another by more than its 99% band (Agresti and Caffo 2000)."""
    p, q = ((r * n + 1) / (n + 2) for r, n in ((rate, runs), (wanted, wanted_runs)))
    error = (p * (1 - p) / (runs + 2) + q * (1 - q) / (wanted_runs + 2)) ** 0.5
    return p + 2.576 * error >= q


def band(rejections: int, runs: int) -> tuple[float, float]:
    """The 95% interval of a rate (Wilson 1927)."""
    p, z2 = rejections / runs, 1.96**2
    middle = (p + z2 / (2 * runs)) / (1 + z2 / runs)
    half = (z2 * (p * (1 - p) + z2 / (4 * runs)) / runs) ** 0.5 / (1 + z2 / runs)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def compared(
    ours: Mapping[str, Any], theirs: Mapping[str, Any] | None = None, level: float | None = None
) -> dict[str, str]:
    """Columns of a row: our rate of rejections beside theirs, and whether it is reached.

    With a `level` the null hypothesis is true, and the rate is to be that within three standard errors.
    """
    own, runs, other = rate(ours), ours["runs"], theirs or {"runs": 0}
    wanted = reached = ""
    if other["runs"]:
        wanted = with_error(rate(other), other["runs"])
        reached = "yes" if reaches(own, runs, rate(other), other["runs"]) else "NO"
    if level is not None:
        error = (level * (1 - level) / runs) ** 0.5
        reached = "yes" if abs(own - level) < 3 * error else "NO"
    return {
        "rate": with_error(own, runs),
        "runs": str(runs),
        "to reach": wanted,
        "of runs": str(other["runs"] or ""),
        "reached": reached,
        "seconds a run": f"{ours['seconds'] / runs:.2f}",
    }


def _line(cells: Iterable[Any]) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def _replace(file: Path, text: str) -> None:
    part = file.with_name(file.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(file)
