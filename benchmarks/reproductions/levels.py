"""How often tests reject what is true: runs that can be interrupted, and the table of their rates."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

from benchmarks.reproductions.plan import Plan
from benchmarks.reproductions.records import (
    Record,
    Store,
    arguments,
    cell,
    heading,
    rate,
    table,
)
from tests.support.htest_levels import LEAST, LEVEL, MORE, MOST, RUNS, Cell


@dataclass(frozen=True)
class Levels:
    """Cells whose rates make one table; `name` is that of its files."""

    cells: Mapping[str, Cell]
    name: str
    title: str
    module: str

    @property
    def plan(self) -> Plan:
        """All cells, with the runs that are wanted of them."""
        wanted = partial(wanted_runs, list(self.cells.values()))
        return Plan(Record(self.name, self.markdown), partial(_once, self.module), wanted)

    def main(self) -> int:
        """Run what is asked for, keep it, and print the table; 1 where a rate is outside."""
        told = asked(self.title)
        chosen = [each for each in self.cells.values() if told.only in each.name]
        plan = replace(self.plan, wanted=partial(wanted_runs, chosen, runs=told.runs))
        store = plan.record.load(told.results)
        keep(store, [name for name in self.cells if not (told.again and told.only in name)])
        plan.complete(store, told.seconds, told.results, told.workers)
        part = {each.name: cell(store, each.name) for each in chosen}
        print(self.markdown({"cells": part}))
        return (
            0
            if all(each.holds(rate(found := part[each.name]), found["runs"]) for each in chosen)
            else 1
        )

    def markdown(self, store: Store) -> str:
        """The table."""
        rows = list(self._rows(store["cells"]))
        if not rows:
            return "Nothing was run yet.\n"
        outside = sum(row["inside"].startswith("NO") for row in rows)
        lines = heading(self.title, f"python -m {self.module} --runs {RUNS}")
        lines += ["", f"{len(rows)} cells, {outside} outside.", "", *table(rows)]
        lines += [
            "",
            f"Rejected: null hypotheses that are true, at level {LEVEL}. Inside: {LEAST:.2%} to "
            f'{MOST:.0%}; "at most": the level is an upper bound (the largest of several p-values, a '
            "null that is conservative there and says so), and only the upper end counts. With fewer "
            f"than {RUNS} runs the band is as wide as theirs. "
            f"One rate in some thousands is outside by chance: what is after {RUNS} runs "
            f"is run on to {MORE:,}. The standard error of a rate of 5% is 1.1% after {RUNS} runs and 0.5% after {MORE:,}. "
            "Milliseconds of processor time.",
        ]
        return "\n".join(lines) + "\n"

    def _rows(self, cells: Mapping[str, Any]) -> Iterable[dict[str, str]]:
        for each in self.cells.values():
            if cells.get(each.name, {"runs": 0})["runs"]:
                yield row(each, cells[each.name])


def row(cell: Cell, entry: Mapping[str, Any]) -> dict[str, str]:
    """A level: its rate, and whether it is inside."""
    first = entry.get("first", 0.0)
    more = f" (first {RUNS}: {first:.2%})" if entry["runs"] > RUNS else ""
    bound = ", at most" if cell.conservative else ""
    return {
        "test": cell.test,
        "null problem": cell.problem,
        "sizes": "/".join(map(str, cell.sizes)),
        "rejected": f"{rate(entry):.2%}{more}",
        "runs": str(entry["runs"]),
        "inside": ("yes" if cell.holds(rate(entry), entry["runs"]) else "NO") + bound,
        "ms a run": f"{1000 * entry['seconds'] / entry['runs']:.1f}",
    }


def asked(title: str | None) -> argparse.Namespace:
    """What the command line asks for."""
    parser = arguments(title, runs=RUNS)
    parser.add_argument("--only", default="", help="cells whose name has this in it")
    parser.add_argument("--again", action="store_true", help="forget the earlier runs of these")
    return parser.parse_args()


def keep(store: Store, names: Iterable[str]) -> None:
    """The cells of these names, and no others."""
    store["cells"] = {name: store["cells"][name] for name in names if name in store["cells"]}


def wanted_runs(cells: Sequence[Cell], store: Store, runs: int = RUNS) -> dict[str, int]:
    """So many runs of every cell; of one whose rate was outside after 400, which is noted as `first`, 2,000."""
    wanted = {}
    for each in cells:
        entry = cell(store, each.name)
        if entry["runs"] == RUNS:
            entry["first"] = rate(entry)
        outside = not each.holds(entry.get("first", LEVEL))
        wanted[each.name] = MORE if outside and runs >= RUNS else runs
    return wanted


def _once(module: str, name: str, seed: int) -> dict[str, Any]:
    """One run of a cell of the `LEVELS` of a module."""
    return {"rejections": int(import_module(module).LEVELS.cells[name].run(seed))}
