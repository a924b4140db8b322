"""python -m benchmarks.reproductions: all published studies, each continued where it stopped.

The study whose poorest cell has the smallest share of its runs is continued, for five minutes at most, and in it
always the cell with the smallest share: all studies advance evenly, however long they are given. ``--hours 12 --workers 2``
is a night on two cores; ``--list`` shows the runs that are missing and how long they will take. Every study writes
NAME.json and NAME.md in benchmarks/results; after a change of what a page says, ``--pages`` writes it anew. Names of
studies continue those only.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Collection, Iterator
from importlib import import_module
from pathlib import Path

from benchmarks.reproductions.plan import Plan
from benchmarks.reproductions.records import RESULTS, table

STUDIES = (
    "two_sample_level",
    "independence_level",
    "conditional_level",
    "goodness_level",
    "small_sample_level",
    "post_selection_level",
    "effect_coverage",
    "information_coverage",
    "information_consistency",
    "information_tests",
    "series_level",
    "object_level",
    "conditional_grid",
    "conditional_peers",
    "conditional_power",
    "default_power",
    "two_sample_power",
    "independence_power",
    "goodness_power",
    "power_curves",
    "causal_direction",
    "structured_accuracy",
    "applied_tables",
    "distribution_regression",
    "measure_table",
    "measure_heatmaps",
    "measure_digits",
    "measure_scenes",
)
TURN = 300.0  # seconds of one study before the poorest one is looked for again


def main() -> int:
    """List the studies, or continue them until the time is over."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reproductions", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=f"of {', '.join(STUDIES)}")
    parser.add_argument("--list", action="store_true", help="show runs and hours, run nothing")
    parser.add_argument("--cells", action="store_true", help="with --list: all unfinished cells")
    parser.add_argument("--pages", action="store_true", help="write pages anew, run nothing")
    parser.add_argument("--hours", type=float, default=12.0, help="stop after so long (12)")
    parser.add_argument("--workers", type=int, default=2, help="processes of one thread each (2)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder of the records")
    told = parser.parse_args()
    if unknown := set(told.studies) - set(STUDIES):
        parser.error(f"no study {', '.join(sorted(unknown))}; there are {', '.join(STUDIES)}")
    plans = {name: plan(name) for name in told.studies or STUDIES}
    if told.list:
        print("\n".join(listing(plans, told.results, told.workers)))
        print("\n".join(unfinished(plans, told.results)) if told.cells else "")
    elif told.pages:
        for each in plans.values():
            each.record.save(each.record.load(told.results), told.results, ran_here=False)
    else:
        run(plans, 3600 * told.hours, told.results, told.workers)
    return 0


def plan(name: str) -> Plan:
    """The plan of a study, by the name of its module."""
    return import_module(f"benchmarks.reproductions.{name}").PLAN


def run(plans: dict[str, Plan], seconds: float, folder: Path, workers: int) -> None:
    """Continue the study with the smallest share of its runs, again and again, until the time is over."""
    end = time.monotonic() + seconds
    for name, each in plans.items():
        if missing := each.missing():
            print(f"{name}: left out, {' and '.join(missing)} not found")
    waiting = {name: each for name, each in plans.items() if not each.missing()}
    while waiting and (left := end - time.monotonic()) > 0:
        shares = {name: each.share(each.record.load(folder)) for name, each in waiting.items()}
        name = min(shares, key=lambda key: shares[key])
        chosen = waiting[name]
        if shares[name] < 1:
            print(f"{time.ctime()} {name}: {shares[name]:.0%} of the runs", flush=True)
            store = chosen.record.load(folder)
            if not chosen.complete(store, min(TURN, left), folder, workers):
                continue
        del waiting[name]


def listing(plans: dict[str, Plan], folder: Path, workers: int) -> list[str]:
    """A table of the studies, and the hours of all of them on so many workers."""
    rows, left, whole = [], 0.0, 0.0
    for name, each in plans.items():
        store = each.record.load(folder)
        ahead, total = each.hours(store)
        left, whole = left + ahead, whole + total
        wanted, done = each.wanted(store), each.done(store)
        rows.append(
            {
                "study": name,
                "cells": str(len(wanted)),
                "unfinished": str(sum(done[key] < runs for key, runs in wanted.items())),
                "runs wanted": _range(wanted.values()),
                "runs done": _range(done.values()),
                "hours left": f"{ahead:.2f}",
                "hours in all": f"{total:.2f}",
                "not found": ", ".join(each.missing()),
            }
        )
    return [
        *table(rows),
        "",
        "Hours of one processor by the seconds on record; a cell that was never run: the mean of those most alike.",
        f"On {workers} workers {left / workers:.1f} hours are left of {whole / workers:.1f}.",
    ]


def unfinished(plans: dict[str, Plan], folder: Path) -> Iterator[str]:
    """The cells whose runs are missing, by study."""
    for name, each in plans.items():
        store = each.record.load(folder)
        done = each.done(store)
        cells = [(key, runs) for key, runs in each.wanted(store).items() if done[key] < runs]
        if cells:
            yield from ("", f"{name}:", "")
            yield from (f"* {key}: {done[key]} of {runs}" for key, runs in cells)


def _range(numbers: Collection[int]) -> str:
    low, high = min(numbers, default=0), max(numbers, default=0)
    return str(low) if low == high else f"{low} to {high}"


if __name__ == "__main__":
    raise SystemExit(main())
