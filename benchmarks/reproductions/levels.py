"""How often tests reject what is true: runs that can be interrupted, and the table of their rates."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

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

    def main(self) -> int:
        """Run what is asked for, keep it, and print the table; 1 where a rate is outside."""
        told = asked(self.title)
        chosen = [each for each in self.cells.values() if told.only in each.name]
        record = Record(self.name, self.markdown)
        store = record.load(told.results)
        keep(store, [name for name in self.cells if not (told.again and told.only in name)])
        turns = outside_twice(store, chosen, told.runs)
        record.run(store, turns, partial(_once, self.cells), told.seconds, told.results)
        part = {each.name: cell(store, each.name) for each in chosen}
        print(self.markdown({"cells": part}))
        return 0 if all(each.holds(rate(part[each.name])) for each in chosen) else 1

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
            "null that is conservative there and says so), and only the upper end counts. "
            f"One rate in some thousands is outside by chance: what is after {RUNS} runs "
            f"is run on to {MORE:,}. Milliseconds: of one processor.",
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
        "inside": ("yes" if cell.holds(rate(entry)) else "NO") + bound,
        "ms a run": f"{1000 * entry['seconds'] / entry['runs']:.1f}",
    }


def asked(title: str | None) -> argparse.Namespace:
    """What the command line asks for."""
    parser = arguments(title, runs=RUNS, processes=False)
    parser.add_argument("--only", default="", help="cells whose name has this in it")
    parser.add_argument("--again", action="store_true", help="forget the earlier runs of these")
    return parser.parse_args()


def keep(store: Store, names: Iterable[str]) -> None:
    """The cells of these names, and no others."""
    store["cells"] = {name: store["cells"][name] for name in names if name in store["cells"]}


def outside_twice(store: Store, chosen: Sequence[Cell], runs: int) -> Iterator[str]:
    """The cells one after the other; rates that are outside after 400 runs are run on to 2,000."""
    for each in chosen:
        entry = cell(store, each.name)
        while entry["runs"] < runs:
            yield each.name
        if entry["runs"] == runs == RUNS:
            entry["first"] = rate(entry)
        while entry["runs"] < MORE and not each.holds(entry.get("first", LEVEL)):
            yield each.name


def _once(cells: Mapping[str, Cell], name: str, seed: int) -> dict[str, Any]:
    return {"rejections": int(cells[name].run(seed))}
