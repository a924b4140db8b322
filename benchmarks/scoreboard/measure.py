"""Seconds and memory of calls side by side: many short rounds of quick calls, a single round of slow ones."""

from __future__ import annotations

import ctypes
import gc
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

Clock = Callable[[], float]

_REST = 0.01  # seconds between contenders, for idle BLAS threads of the one before to go to sleep
_BATCH = 0.004  # seconds that a quick call is repeated in a round: a thousand ticks of the clock
_CELL = 0.35  # seconds that the rounds of a comparison take together
_ROUNDS = 8  # at most: the best of eight is steady to a few per cent
_SLOW = 1.0  # seconds of a round, from which on the first call of each counts, too
_FEWEST = 5  # resamples from which the time of all is extrapolated, where each of them is slow
_SAMPLE = 0.25  # seconds of the resamples from which the time of a slow peer is extrapolated


def clock(shared: bool) -> Clock:
    """Time on the clock, or processor time where others use the machine."""
    return time.process_time if shared else time.perf_counter


@dataclass(frozen=True)
class Repeated:
    """A call as it is, `batch` times in a row."""

    call: Callable[[], Any]
    batch: int = 1

    def seconds(self, now: Clock) -> float:
        start = now()
        for _ in range(self.batch):
            self.call()
        return (now() - start) / self.batch


@dataclass(frozen=True)
class Extrapolated:
    """A call with 1 and with `few` resamples: every further resample costs as much as those between."""

    call: Callable[[int], Any]
    few: int
    resamples: int

    def seconds(self, now: Clock) -> float:
        single = Repeated(lambda: self.call(1)).seconds(now)
        several = Repeated(lambda: self.call(self.few)).seconds(now)
        each = max(several - single, 0.0) / (self.few - 1)
        return single + (self.resamples - 1) * each


@dataclass(frozen=True)
class Warm:
    """The first call of a contender: its answer, what it cost, and how it is timed from now on."""

    answer: Any
    cost: float  # seconds of a round
    least: float  # seconds of a call with as few resamples as are needed
    seconds: float  # of the whole work
    memory: int | None
    timed: Repeated | Extrapolated
    scaled: bool = False


def warm(call: Callable[..., Any], resamples: int, now: Clock, *, patience: float = _SLOW) -> Warm:
    """Call once, and again if that took less than `patience` seconds; decide how the call is timed.

    The first call imports and compiles, and shows the memory.
    """
    if resamples:
        return _warm_resampling(call, resamples, now)
    answer, seconds, memory = watched(call, now)
    if seconds < patience:
        answer, again, memory = watched(call, now)
        seconds = min(seconds, again)
    batch = max(1, int(_BATCH / max(seconds, 1e-7)))
    return Warm(answer, seconds * batch, seconds, seconds, memory, Repeated(call, batch))


def _warm_resampling(call: Callable[[int], Any], resamples: int, now: Clock) -> Warm:
    """Whole where that is quick, else with as many resamples as take `_SAMPLE` seconds."""
    _, single, _ = watched(partial(call, 1), now)
    if single < _SLOW:  # the first call may have compiled
        single = Repeated(partial(call, 1)).seconds(now)
    few = _FEWEST
    answer, several, memory = watched(partial(call, few), now)
    while several - single < _SAMPLE and several < _SLOW and _FEWEST * few < resamples:
        few *= _FEWEST
        answer, several, memory = watched(partial(call, few), now)
    each = max(several - single, 0.0) / (few - 1)
    seconds, least = single + (resamples - 1) * each, single + _FEWEST * each
    if seconds < 2 * _SAMPLE:
        return replace(warm(partial(call, resamples), 0, now), least=least)
    timed = Extrapolated(call, few, resamples)
    return Warm(answer, single + several, least, seconds, memory, timed, scaled=True)


def best(contenders: Mapping[str, Warm], now: Clock) -> tuple[dict[str, float], int]:
    """The least seconds of each contender, and the number of rounds, each beginning with another one."""
    whole = sum(each.cost for each in contenders.values())
    rounds = _rounds(whole)
    seconds: dict[str, list[float]] = {
        name: [each.seconds] if whole > _SLOW else [] for name, each in contenders.items()
    }
    names = list(contenders)
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            time.sleep(_REST)
            seconds[name].append(contenders[name].timed.seconds(now))
    return {name: min(each) for name, each in seconds.items()}, rounds


def _rounds(seconds: float) -> int:
    """How often calls are repeated that take so many seconds together."""
    if seconds > 2 * _SLOW:
        return 0
    least = 1 if seconds > _SLOW else 2
    return min(_ROUNDS, max(least, int(_CELL / max(seconds, 1e-9))))


# ---- memory ---------------------------------------------------------------------------------


def watched(call: Callable[[], Any], now: Clock) -> tuple[Any, float, int | None]:
    """Answer and seconds of a call, and the bytes that the process had at most beyond those before (Linux)."""
    gc.collect()
    before = _resident("VmRSS") if _peak_begins_anew() else None
    start = now()
    answer = call()
    seconds = now() - start
    return answer, seconds, None if before is None else max(_resident("VmHWM") - before, 0)


def _peak_begins_anew() -> bool:
    """Give free memory back and forget the peak so far; false where that cannot be done."""
    if not sys.platform.startswith("linux"):
        return False
    _return_free_memory()
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _return_free_memory() -> None:
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc only
    if trim is not None:
        trim(0)


def _resident(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith(field)))
