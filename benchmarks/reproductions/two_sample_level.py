"""python -m benchmarks.reproductions.two_sample_level: how often two-sample tests reject what is true.

Null runs at level 0.05 of every public two-sample test, and how often the intervals of effect sizes
hold the truth; the cells are those of `pytest -m slow tests/calibration tests/htest/samples`.
``--runs 400 --only MMDAgg`` does a part; what was done before is kept, so that a long run can be made
of short ones, and ``--again`` forgets it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import describe

sys.path.append(str(Path(__file__).parents[2] / "tests"))  # where the cells are

from htest_coverage import SPANS, Span
from htest_levels import CELLS, LEAST, LEVEL, MORE, MOST, RUNS, Cell

RESULTS = Path(__file__).parents[1] / "results"
NAME = "two_sample_calibration"
ALL: dict[str, Cell | Span] = {**CELLS, **SPANS}


def main() -> int:
    told = _arguments()
    chosen = [c for c in ALL.values() if told.only in c.name]
    store = _load(told.results)
    if told.again:
        store = {key: entry for key, entry in store.items() if told.only not in key}
    started = saved = time.monotonic()
    for cell in chosen:
        entry = store.setdefault(cell.name, {"runs": 0, "counts": [], "seconds": 0.0})
        while _wanted(cell, entry, told.runs) and time.monotonic() - started < told.seconds:
            _once(cell, entry)
            if time.monotonic() - saved > 10:
                _save(store, told.results)
                saved = time.monotonic()
    _save(store, told.results)
    print(_markdown({cell.name: store[cell.name] for cell in chosen}))
    tests = [c for c in chosen if isinstance(c, Cell)]
    return 0 if all(c.holds(_shares(store[c.name])[0]) for c in tests) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="cells whose name has this in it")
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of each, earlier ones counted")
    parser.add_argument("--seconds", type=float, default=np.inf, help="stop after so long")
    parser.add_argument("--again", action="store_true", help="forget the earlier runs of these")
    parser.add_argument("--results", type=Path, default=RESULTS)
    return parser.parse_args()


def _wanted(cell: Cell | Span, entry: dict[str, Any], runs: int) -> bool:
    """Whether another run is; levels that are outside after 400 runs are run on to 2,000."""
    if entry["runs"] < runs:
        return True
    if entry["runs"] == RUNS:
        entry["first"] = _shares(entry)[0]
    outside = isinstance(cell, Cell) and not cell.holds(entry.get("first", LEVEL))
    return outside and entry["runs"] < MORE


def _once(cell: Cell | Span, entry: dict[str, Any]) -> None:
    start = time.process_time()
    found = np.atleast_1d(cell.run(entry["runs"])).astype(int)
    entry["counts"] = (found + (entry["counts"] or [0])).tolist()
    entry["seconds"] += time.process_time() - start
    entry["runs"] += 1


# ---- what is told ---------------------------------------------------------------------------


def _shares(entry: dict[str, Any]) -> list[float]:
    return [count / max(entry["runs"], 1) for count in entry["counts"] or [0]]


def _level(cell: Cell, entry: dict[str, Any]) -> dict[str, str]:
    rate, first = _shares(entry)[0], entry.get("first", 0.0)
    more = f" (first {RUNS}: {first:.2%})" if entry["runs"] > RUNS else ""
    return {
        "test": cell.test,
        "null problem": cell.problem,
        "sizes": "/".join(map(str, cell.sizes)),
        "rejected": f"{rate:.2%}{more}",
        "runs": str(entry["runs"]),
        "inside": ("yes" if cell.holds(rate) else "NO") + (", at most" * cell.conservative),
        "ms a run": f"{1000 * entry['seconds'] / entry['runs']:.1f}",
    }


def _coverage(span: Span, entry: dict[str, Any]) -> dict[str, str]:
    held, standardized, below, above = _shares(entry)
    return {
        "d": str(span.d),
        "difference": span.difference,
        "sizes": "/".join(map(str, span.sizes)),
        "MMD^2 in its interval": f"{held:.1%}",
        "below": f"{below:.1%}",
        "above": f"{above:.1%}",
        "standardized": f"{standardized:.1%}",
        "runs": str(entry["runs"]),
    }


def _markdown(store: dict[str, Any]) -> str:
    done = {ALL[name]: entry for name, entry in store.items() if entry["runs"]}
    levels = [_level(c, entry) for c, entry in done.items() if isinstance(c, Cell)]
    spans = [_coverage(c, entry) for c, entry in done.items() if isinstance(c, Span)]
    outside = sum(row["inside"].startswith("NO") for row in levels)
    lines = ["# Level of two-sample tests, and coverage of their effect sizes", ""]
    lines += [f"    python -m benchmarks.reproductions.{Path(__file__).stem} --runs {RUNS}", ""]
    lines += [f"* {key}: {value}" for key, value in describe().items()]
    if levels:
        lines += ["", "## Level", "", f"{len(levels)} cells, {outside} outside.", ""]
        lines += [*_table(levels), "", *_LEVELS]
    if spans:
        lines += ["", "## Coverage of 95% intervals", "", *_table(spans), "", *_SPANS]
    return "\n".join(lines) + "\n"


_LEVELS = [
    f'Rejected: null hypotheses that are true, at level 0.05. Inside: {LEAST:.2%} to {MOST:.0%}; "at most":',
    "the level is an upper bound by construction (a bound on the p-value, equivalence at its margin,",
    "corrections for many columns, streams at any time), and only the upper end counts. One rate in some",
    f"thousands is outside by chance: what is after {RUNS} runs is run on to {MORE:,}. Milliseconds: of one",
    "processor.",
]
_SPANS = [
    "N(0, I) against N(shift e1, scale^2 I) under RBF(1) for d = 1, RBF(sqrt(2 d)) beyond. Below, above: the",
    "truth is below the interval, or above it. Standardized: the distance in units of the spread.",
]


def _table(rows: Iterable[dict[str, str]]) -> list[str]:
    rows = list(rows)
    head = list(rows[0])
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return lines + ["| " + " | ".join(row.values()) + " |" for row in rows]


def _load(folder: Path) -> dict[str, Any]:
    file = folder / f"{NAME}.json"
    return json.loads(file.read_text(encoding="utf-8"))["cells"] if file.is_file() else {}


def _save(store: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    kept = {name: store[name] for name in ALL if name in store}
    cells = {key: entry | {"seconds": round(entry["seconds"], 2)} for key, entry in kept.items()}
    text = json.dumps({"machine": describe(), "cells": cells}, indent=1)
    (folder / f"{NAME}.json").write_text(text + "\n", encoding="utf-8")
    (folder / f"{NAME}.md").write_text(_markdown(kept), encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
