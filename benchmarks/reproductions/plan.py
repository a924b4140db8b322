"""What a study plans: its record, one run of a cell, and the runs that are wanted of every cell."""

from __future__ import annotations

import heapq
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from operator import eq
from pathlib import Path

import numpy as np

from benchmarks.reproductions.records import RESULTS, Once, Record, Store, arguments, rounds

DATA = "MERCER_DATA"


@dataclass(frozen=True)
class Plan:
    """The cells of a record, with the runs that are wanted of each.

    Parameters
    ----------
    record : Record
    once : callable
        ``once(key, seed)`` makes run number `seed` of a cell; a function of a module, which worker processes import.
    wanted : callable
        Runs by the name of the cell, given what the record holds.
    needs : tuple of str
        Packages without which no cell can be run, or "MERCER_DATA" for the folder of data sets.
    """

    record: Record
    once: Once
    wanted: Callable[[Store], Mapping[str, int]]
    needs: tuple[str, ...] = ()

    def main(self, title: str | None) -> int:
        """The command of a study: make the runs that are missing, keep them, and print the page."""
        parser = arguments(title, 0)
        parser.set_defaults(runs=None)  # those of the plan
        parser.add_argument("--only", default="", help="cells whose name has this in it")
        told = parser.parse_args()
        store = self.record.load(told.results)
        chosen = {key: runs for key, runs in self.wanted(store).items() if told.only in key}
        part = replace(self, wanted=lambda _: chosen)
        turns = part.turns(store) if told.runs is None else rounds(store, [*chosen], told.runs)
        self.record.run(store, turns, self.once, told.seconds, told.results, told.workers)
        print(self.record.markdown(store))
        return 0

    def missing(self) -> list[str]:
        """Needed packages that are not installed, and the variable of the folder of data sets where it is not set."""
        return [
            name
            for name in self.needs
            if not (os.environ.get(DATA) if name == DATA else find_spec(name))
        ]

    def done(self, store: Store) -> dict[str, int]:
        """Runs on record of every cell."""
        cells = store["cells"]
        return {key: cells[key]["runs"] if key in cells else 0 for key in self.wanted(store)}

    def share(self, store: Store) -> float:
        """Share of its wanted runs that the poorest cell has, at most 1."""
        done = self.done(store)
        shares = (done[key] / runs for key, runs in self.wanted(store).items() if runs)
        return min(1.0, *shares, 1.0)

    def turns(self, store: Store) -> Iterator[str]:
        """Cells whose runs are missing, always the one with the smallest share of its runs."""
        wanted, done = self.wanted(store), self.done(store)
        waiting = [
            (done[key] / runs, place, key)
            for place, (key, runs) in enumerate(wanted.items())
            if done[key] < runs
        ]
        heapq.heapify(waiting)
        while waiting:
            _, place, key = heapq.heappop(waiting)
            yield key
            done[key] += 1
            if done[key] < wanted[key]:
                heapq.heappush(waiting, (done[key] / wanted[key], place, key))

    def hours(self, store: Store) -> tuple[float, float]:
        """Predicted hours of one processor for the missing runs, and for all runs from the start.

        A cell that was never run is expected to take the mean time of those whose names have most parts in common.
        """
        wanted, done = self.wanted(store), self.done(store)
        known = {key: store["cells"][key]["seconds"] / runs for key, runs in done.items() if runs}
        whole = {key: _seconds(key, known) * runs for key, runs in wanted.items()}
        left = sum(
            seconds * max(1 - done[key] / wanted[key], 0.0)
            for key, seconds in whole.items()
            if wanted[key]
        )
        return left / 3600, sum(whole.values()) / 3600

    def complete(
        self, store: Store, seconds: float = np.inf, folder: Path = RESULTS, workers: int = 1
    ) -> bool:
        """Make the missing runs until so many seconds are over; whether none is missing afterwards."""
        end = time.monotonic() + seconds
        while True:  # a cell may want more runs once it has the first
            left = max(end - time.monotonic(), 0.0)
            self.record.run(store, self.turns(store), self.once, left, folder, workers)
            if self.share(store) >= 1 or time.monotonic() >= end:
                return self.share(store) >= 1


def _seconds(key: str, known: Mapping[str, float]) -> float:
    """Seconds of a run of a cell, or the mean of the cells whose names are most alike; 0 where none was run."""
    if key in known or not known:
        return known.get(key, 0.0)
    parts = _parts(key)
    alike = {other: sum(map(eq, parts, _parts(other))) for other in known}
    most = max(alike.values())
    return float(np.mean([known[other] for other, shared in alike.items() if shared == most]))


@cache
def _parts(key: str) -> tuple[str, ...]:
    """Parts of the name of a cell, between strokes, bars and semicolons."""
    return tuple(re.split(r"/|\||; ", key))
