"""Timings side by side: every round runs every contender once, so that noise hits all alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.machine import cores

_REST = 0.02  # seconds before each run, for the idle threads of the one before to go to sleep


@dataclass(frozen=True)
class Contender:
    """A call to time, and what share of the work it does."""

    call: Callable[[], Any]
    share: float = 1.0  # 0.1: the call does a tenth, and its time is multiplied by ten


@dataclass(frozen=True)
class Timing:
    """Seconds of the whole work in every round: on the clock, and of all cores together."""

    wall: list[float]
    cpu: list[float]
    shared: bool = False  # others use the machine: count processor time

    @property
    def best(self) -> float:
        return min(self.cpu) / cores() if self.shared else min(self.wall)

    @property
    def waiting(self) -> float:
        """Time on the clock over processor time per core: 1 when all cores worked all the time."""
        return min(self.wall) * cores() / min(self.cpu)


def interleaved(
    contenders: Mapping[str, Contender],
    repeats: int,
    *,
    shared: bool = False,
    between: Callable[[], Any] = lambda: None,
    check: Callable[[str, Any], Any] = lambda name, answer: None,
) -> dict[str, Timing]:
    """Time every contender `repeats` times; each round starts with another one, after `between`.

    What the first round computes goes to `check`, which raises if it is wrong.
    """
    found = {name: Timing([], [], shared) for name in contenders}
    names = list(contenders)
    for turn in range(repeats):
        between()
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            wall, cpu, answer = _once(contenders[name].call)
            if turn == 0:
                check(name, answer)
            found[name].wall.append(wall / contenders[name].share)
            found[name].cpu.append(cpu / contenders[name].share)
    return found


def _once(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds on the clock, seconds of all cores together, and the answer."""
    time.sleep(_REST)
    wall, cpu = time.perf_counter(), time.process_time()
    answer = call()
    return time.perf_counter() - wall, time.process_time() - cpu, answer
