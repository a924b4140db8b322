"""Random calls for as long as you like, and whether they leak: ``python -m tests.soak --minutes 60``.

Public names on random valid data, with random numbers of threads, sometimes from several Python threads,
in a forked process, or with Ctrl-C at a random moment. After each block of calls the number of threads, the BLAS
threads, the settings and the open files must be as before; over the whole run, memory must not grow.
Prints a page of Markdown.
"""

from __future__ import annotations

import argparse
import ctypes
import faulthandler
import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController, threadpool_limits

import mercer
from tests.support.soak_calls import Call, Thunk, calls

_BLAS = 2  # threads at the start: a number that the guard has to give back
_PATIENCE = 20.0  # seconds in which threads that are no longer needed end
_HANG = 600.0  # seconds after which a call counts as hanging, and the run stops with all stacks
_GROWTH = 1.15, 100.0  # memory may grow by this factor, or by so many MiB, from first to last third
_SLOW = 60.0  # seconds from Ctrl-C to the end of the call that are too long
_MOST = 6  # tile threads of a call at most
_SHARES = {"one by one": 0.5, "together": 0.25, "interrupted": 0.22, "forked": 0.03}


@dataclass
class Record:
    """What happened."""

    made: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)  # the longest call of each name
    interrupts: Counter[str] = field(default_factory=Counter)
    latency: dict[str, float] = field(default_factory=dict)  # longest, from Ctrl-C to the end
    blocks: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    memory: list[tuple[float, float]] = field(default_factory=list)  # minutes, MiB

    def fail(self, what: str) -> None:
        self.failures.append(what)
        print(what, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class State:
    """What calls must leave as it was."""

    blas: tuple[int, ...]
    settings: Any
    threads: frozenset[str]  # that are not tile threads
    files: int

    @classmethod
    def now(cls) -> State:
        pools = ThreadpoolController().info()
        blas = tuple(sorted(p["num_threads"] for p in pools if p["user_api"] == "blas"))
        threads = frozenset(t.name for t in threading.enumerate() if not _of_tiles(t))
        folder = Path("/proc/self/fd")
        files = len(list(folder.iterdir())) if folder.is_dir() else 0
        return cls(blas, mercer.settings(), threads, files)


def _of_tiles(thread: threading.Thread) -> bool:
    return thread.name.startswith("mercer")


def leaks(before: State) -> list[str]:
    """What is not as before, after some patience with threads on their way out."""
    end = time.monotonic() + _PATIENCE
    while found := _differences(before):
        if time.monotonic() > end:
            break
        time.sleep(0.05)
        gc.collect()
    return found


def _differences(before: State) -> list[str]:
    now, found = State.now(), []
    if now.blas != before.blas:
        found.append(f"BLAS has {now.blas} threads, {before.blas} before")
    if now.settings != before.settings:
        found.append(f"settings are {now.settings}, {before.settings} before")
    if more := now.threads - before.threads:
        found.append(f"threads left: {sorted(more)}")
    most = max(_MOST, os.cpu_count() or 1)  # threads outside of a context use every core
    if (tiles := sum(map(_of_tiles, threading.enumerate()))) > most:
        found.append(f"{tiles} tile threads, {most} at most were asked for")
    if now.files > before.files + 8:
        found.append(f"{now.files} open files, {before.files} before")
    return found


class Soak:
    """Blocks of random calls, checked one after the other."""

    def __init__(self, known: Sequence[Call], seed: int) -> None:
        self.known, self.rng, self.record = known, np.random.default_rng(seed), Record()
        self.lock = threading.Lock()

    def run(self, minutes: float) -> Record:
        """Every name once, then random ones until the time is over."""
        try:
            return self._run(minutes)
        finally:
            faulthandler.cancel_dump_traceback_later()

    def _run(self, minutes: float) -> Record:
        for call in self.known:
            self.make(call, self.rng)
        began, before = time.monotonic(), State.now()
        kinds, shares = list(_SHARES), list(_SHARES.values())
        while (spent := (time.monotonic() - began) / 60) < minutes:
            kind = str(self.rng.choice(kinds, p=shares))
            threads = int(self.rng.integers(1, _MOST + 1))
            with mercer.config(threads=threads, memory=int(self.rng.choice([2**28, 2**31]))):
                self.block(kind)
            self.record.blocks[kind] += 1
            gc.collect()
            for leak in leaks(before):
                self.record.fail(f"after a block {kind!r} with {threads} threads: {leak}")
                before = State.now()
            self.record.memory.append((spent, _resident()))
        self.judge_memory()
        return self.record

    def block(self, kind: str) -> None:
        some = [self.known[i] for i in self.rng.integers(len(self.known), size=6)]
        if kind == "together":
            seeds = self.rng.spawn(len(some))
            with ThreadPoolExecutor(int(self.rng.integers(2, 5))) as pool:
                list(pool.map(self.make, some, seeds))
        elif kind == "forked":
            self.forked(some[0])
        else:
            for call in some:
                self.make(call, self.rng, interrupted=kind == "interrupted")

    def make(self, call: Call, rng: np.random.Generator, *, interrupted: bool = False) -> None:
        """A call, and after an interrupt the same once more."""
        seed = rng.bit_generator.state
        try:
            thunk = call.prepare(rng)
            if interrupted and self.interrupt(call, thunk, rng):
                thunk()
            else:
                self.timed(call.name, thunk)
        except Exception:
            lines = traceback.format_exc().strip().splitlines()
            with self.lock:
                self.record.fail(f"{call.name}: {lines[-1]} ({lines[-3].strip()}) from {seed}")
        with self.lock:
            self.record.made[call.name] += 1

    def timed(self, name: str, thunk: Thunk) -> None:
        faulthandler.dump_traceback_later(_HANG, exit=True)
        began = time.monotonic()
        thunk()
        spent = time.monotonic() - began
        with self.lock:
            self.record.seconds[name] = max(spent, self.record.seconds.get(name, 0.0))

    def interrupt(self, call: Call, thunk: Thunk, rng: np.random.Generator) -> bool:
        """Ctrl-C at a random moment of a call; whether it came in time."""
        try:
            return self._interrupted(call, thunk, rng)
        except KeyboardInterrupt:  # struck between the end of the call and that of the alarm
            return True

    def _interrupted(self, call: Call, thunk: Thunk, rng: np.random.Generator) -> bool:
        delay = rng.uniform(1e-3, max(self.record.seconds.get(call.name, 0.1), 2e-3))
        due = time.monotonic() + delay
        former = signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            self.timed(call.name, thunk)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            late = time.monotonic() - due
            self.record.interrupts[call.name] += 1
            self.record.latency[call.name] = max(late, self.record.latency.get(call.name, 0.0))
            if late > _SLOW:
                self.record.fail(f"{call.name} went on for {late:.0f} s after an interrupt")
            return True
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, former)
        return False

    def forked(self, call: Call) -> None:
        """A call in a forked process, which must end."""
        thunk = call.prepare(self.rng)
        process = multiprocessing.get_context("fork").Process(target=thunk)
        process.start()
        process.join(_HANG / 2)
        if process.is_alive():
            process.kill()
            process.join()
            self.record.fail(f"{call.name} hangs in a forked process")
        elif process.exitcode:
            self.record.fail(f"{call.name} ends with {process.exitcode} in a forked process")
        process.close()
        self.record.made[call.name] += 1

    def judge_memory(self) -> None:
        sizes = [size for _, size in self.record.memory]
        if len(sizes) >= 9:
            third = len(sizes) // 3
            first, last = np.median(sizes[:third]), np.median(sizes[-third:])
            factor, mib = _GROWTH
            if last > max(factor * first, first + mib):
                self.record.fail(f"memory grew from {first:.0f} to {last:.0f} MiB")


def _resident() -> float:
    """MiB of the process that are in memory; 0 where the system does not tell.

    What the C library keeps for later is handed back first, so that holes are not taken for leaks.
    """
    path = Path("/proc/self/statm")
    if not path.is_file():
        return 0.0
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    return int(path.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def page(record: Record, minutes: float, seed: int) -> str:
    """The record in Markdown."""
    total, struck = record.made.total(), record.interrupts.total()
    blocks = ", ".join(f"{number:,} {kind}" for kind, number in record.blocks.most_common())
    lines = [
        "# Random calls, and whether they leak",
        "",
        f"`python -m tests.soak --minutes {minutes:g} --seed {seed}`: {total:,} calls of "
        f"{len(record.made)} names in {record.blocks.total():,} blocks ({blocks}), {struck:,} interrupts. "
        "After each block the threads, the BLAS threads, the settings and the open files were "
        "compared with those before; memory was measured with one arena of malloc, after malloc_trim.",
        "",
        f"**{len(record.failures)} failures.**" if record.failures else "**No failure.**",
        *(f"* {failure}" for failure in record.failures[:50]),
        "",
        "## Memory",
        "",
        "| minute | resident, MiB |",
        "| ---: | ---: |",
    ]
    chosen = record.memory[:: max(len(record.memory) // 20, 1)]
    lines += [f"| {minute:.1f} | {size:.0f} |" for minute, size in chosen]
    lines += ["", "## Calls", "", "| name | calls | longest, s | interrupts | answered within, s |"]
    lines += ["| :--- | ---: | ---: | ---: | ---: |"]
    lines += [
        f"| {name} | {number} | {record.seconds.get(name, 0):.2f} | {record.interrupts[name]} | "
        + (f"{record.latency[name]:.3f} |" if name in record.latency else "|")
        for name, number in sorted(record.made.items())
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Random calls, and whether they leak.")
    parser.add_argument("--minutes", type=float, default=60.0, help="after every name once (60)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="write the page here as well")
    told = parser.parse_args()
    if "MALLOC_ARENA_MAX" not in os.environ:  # else the C library holds memory for each thread
        os.execve(
            sys.executable, [sys.executable, *sys.argv], os.environ | {"MALLOC_ARENA_MAX": "1"}
        )
    warnings.simplefilter("ignore")
    with threadpool_limits(_BLAS, user_api="blas"):
        record = Soak(calls(), told.seed).run(told.minutes)
    text = page(record, told.minutes, told.seed)
    print(text)
    if told.output:
        told.output.write_text(text)
    return 1 if record.failures else 0


if __name__ == "__main__":
    sys.exit(main())
