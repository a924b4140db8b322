"""How often tests reject what is true: runs that can be interrupted, and the table of their rates."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import describe

sys.path.append(str(Path(__file__).parents[2] / "tests"))  # where the cells are

from htest_levels import LEAST, LEVEL, MORE, MOST, RUNS, Cell

RESULTS = Path(__file__).parents[1] / "results"


@dataclass(frozen=True)
class Levels:
    """Cells whose rates make one table; `name` is that of its files."""

    cells: Mapping[str, Cell]
    name: str
    title: str
    module: str

    def main(self) -> int:
        """Run what is asked for, keep it, and print the table; 1 where a rate is outside."""
        told = _arguments(self.title)
        chosen = [cell for cell in self.cells.values() if told.only in cell.name]
        store = self._load(told.results)
        if told.again:
            store = {key: entry for key, entry in store.items() if told.only not in key}
        started = saved = time.monotonic()
        for cell in chosen:
            entry = store.setdefault(cell.name, {"runs": 0, "rejections": 0, "seconds": 0.0})
            while _wanted(cell, entry, told.runs) and time.monotonic() - started < told.seconds:
                _once(cell, entry)
                if time.monotonic() - saved > 10:
                    self._save(store, told.results)
                    saved = time.monotonic()
        self._save(store, told.results)
        print(self.markdown({cell.name: store[cell.name] for cell in chosen}))
        return 0 if all(cell.holds(_rate(store[cell.name])) for cell in chosen) else 1

    def markdown(self, store: Mapping[str, Any]) -> str:
        """The table."""
        rows = list(self._rows(store))
        if not rows:
            return "Nothing was run yet.\n"
        head = list(rows[0])
        outside = sum(row["inside"].startswith("NO") for row in rows)
        lines = [f"# {self.title}", "", f"    python -m {self.module} --runs {RUNS}", ""]
        lines += [f"* {key}: {value}" for key, value in describe().items()]
        lines += ["", f"{len(rows)} cells, {outside} outside.", ""]
        lines += ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
        lines += ["| " + " | ".join(row.values()) + " |" for row in rows]
        lines += [
            "",
            f"Rejected: null hypotheses that are true, at level {LEVEL}. Inside: {LEAST:.2%} to "
            f'{MOST:.0%}; "at most": the level is an upper bound (the largest of several p-values, a '
            "null that is conservative there and says so), and only the upper end counts. "
            f"One rate in some thousands is outside by chance: what is after {RUNS} runs "
            f"is run on to {MORE:,}. Milliseconds: of one processor.",
        ]
        return "\n".join(lines) + "\n"

    def _rows(self, store: Mapping[str, Any]) -> Iterable[dict[str, str]]:
        for cell in self.cells.values():
            entry = store.get(cell.name)
            if entry and entry["runs"]:
                rate, first = _rate(entry), entry.get("first", 0.0)
                more = f" (first {RUNS}: {first:.2%})" if entry["runs"] > RUNS else ""
                bound = ", at most" if cell.conservative else ""
                yield {
                    "test": cell.test,
                    "null problem": cell.problem,
                    "sizes": "/".join(map(str, cell.sizes)),
                    "rejected": f"{rate:.2%}{more}",
                    "runs": str(entry["runs"]),
                    "inside": ("yes" if cell.holds(rate) else "NO") + bound,
                    "ms a run": f"{1000 * entry['seconds'] / entry['runs']:.1f}",
                }

    def _load(self, folder: Path) -> dict[str, Any]:
        file = folder / f"{self.name}.json"
        return json.loads(file.read_text(encoding="utf-8"))["cells"] if file.is_file() else {}

    def _save(self, store: Mapping[str, Any], folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        kept = {name: store[name] for name in self.cells if name in store}
        cells = {
            key: entry | {"seconds": round(entry["seconds"], 2)} for key, entry in kept.items()
        }
        text = json.dumps({"machine": describe(), "cells": cells}, indent=1)
        (folder / f"{self.name}.json").write_text(text + "\n", encoding="utf-8")
        (folder / f"{self.name}.md").write_text(self.markdown(kept), encoding="utf-8")


def _arguments(title: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--only", default="", help="cells whose name has this in it")
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of each, earlier ones counted")
    parser.add_argument("--seconds", type=float, default=np.inf, help="stop after so long")
    parser.add_argument("--again", action="store_true", help="forget the earlier runs of these")
    parser.add_argument("--results", type=Path, default=RESULTS)
    return parser.parse_args()


def _wanted(cell: Cell, entry: dict[str, Any], runs: int) -> bool:
    """Whether another run is; rates that are outside are run on to 2,000."""
    if entry["runs"] < runs:
        return True
    if entry["runs"] == runs == RUNS:
        entry["first"] = _rate(entry)
    return entry["runs"] < MORE and not cell.holds(entry.get("first", LEVEL))


def _once(cell: Cell, entry: dict[str, Any]) -> None:
    start = time.process_time()
    entry["rejections"] += int(cell.run(entry["runs"]))
    entry["seconds"] += time.process_time() - start
    entry["runs"] += 1


def _rate(entry: Mapping[str, Any]) -> float:
    return entry["rejections"] / entry["runs"] if entry["runs"] else 0.0
