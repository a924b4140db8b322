"""Run contests and the growth of the zoos, each in a fresh process, and keep what they tell."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.report import Options
from benchmarks.scoreboard.contest import OURS, Contest, versions
from benchmarks.scoreboard.contests import CONTESTS, chosen
from benchmarks.scoreboard.growth import KINDS

ROOT = Path(__file__).resolve().parents[2]
EXCESS = 0.3  # seconds that a first call may take more than the second
_LONGEST = 900  # seconds of a process, after which it is given up
_THREADS = ("OMP", "OPENBLAS", "MKL", "NUMBA")
# processor time of threads that wait for each other says nothing
_ONE_THREAD = dict.fromkeys((f"{library}_NUM_THREADS" for library in _THREADS), "1")
_WIDE = ("SkylakeX", "Cooperlake", "Sapphirerapids")  # OpenBLAS's names of processors with AVX-512


@dataclass(frozen=True)
class Board:
    """What was measured: contests by name, growth by zoo and entry."""

    shared: bool
    processor: str
    minutes: float
    peers: dict[str, str]
    contests: dict[str, dict[str, Any]]
    growth: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def cells(self) -> Iterable[tuple[str, dict[str, Any], str, float]]:
        """Name of the contest, cell, peer, and the peer's seconds over ours."""
        for name, record in self.contests.items():
            for cell in record["cells"]:
                ours = cell["seconds"].get(OURS)
                for peer, seconds in cell["seconds"].items():
                    if peer != OURS and ours:
                        yield name, cell, peer, seconds / ours


def instruction_set() -> str:
    """avx512, avx2 or another architecture: what the processor is, or what libraries are told it is."""
    if name := os.environ.get("OPENBLAS_CORETYPE"):
        return "avx512" if name in _WIDE else "avx2"
    from numpy._core._multiarray_umath import __cpu_features__ as features

    if features.get("AVX512F"):
        return "avx512"
    return "avx2" if features.get("AVX2") else platform.machine().lower()


def measured(options: Options) -> Board:
    """Run everything, or what was chosen; the rest comes from the record, if it has the same clock."""
    start = time.perf_counter()
    known = _recorded(options)
    contests = known.contests if known else {}
    for contest in chosen(options.only):
        contests[contest.name] = _contest(contest, options)
    contests = {name: contests[name] for name in CONTESTS if name in contests}
    growth = known.growth if known else {}
    for kind in KINDS:
        options.console.print(f"[dim]growth of {kind}[/]")
        command = ["growth", kind, *_flags(options), "--only", *options.only]
        growth[kind] = growth.get(kind, {}) | _json(command, options)
    minutes = round((time.perf_counter() - start) / 60, 1)
    if known:
        minutes = known.minutes
    return Board(options.shared, instruction_set(), minutes, versions(), contests, growth)


def file_name() -> str:
    return f"scoreboard_{instruction_set()}"


def _recorded(options: Options) -> Board | None:
    """What is on record, where only some contests are run."""
    path = options.results / f"{file_name()}{'-quick' * options.quick}.json"
    if not options.only or not path.exists():
        return None
    raw = json.loads(path.read_text(encoding="utf-8"))["raw"]
    return Board(**raw) if raw["shared"] == options.shared else None


def _contest(contest: Contest, options: Options) -> dict[str, Any]:
    start = time.perf_counter()
    command = ["run_contest", contest.name, *_flags(options)]
    record = _json(command, options)
    if "cells" not in record:
        return {"name": contest.name, "work": contest.work, "cells": [], "stopped": [], **record}
    first = record["first_call"]
    if (
        first["first"] - first["second"] > EXCESS
    ):  # an installation's first use fills caches on disk
        again = _json(["run_contest", contest.name, *_flags(options), "--largest", "0"], options)
        record["first_call"] = again.get("first_call", first)
    _tell(contest.name, record, time.perf_counter() - start, options)
    return record


def _flags(options: Options) -> list[str]:
    return ["--shared"] * options.shared + ["--largest", "200"] * options.quick


def _json(command: list[str], options: Options) -> dict[str, Any]:
    """What a module of this package prints in a fresh process; where it fails, why."""
    module, *arguments = command
    try:
        done = subprocess.run(
            [sys.executable, "-m", f"benchmarks.scoreboard.{module}", *arguments],
            cwd=ROOT,
            env=os.environ | (_ONE_THREAD if options.shared else {}),
            capture_output=True,
            text=True,
            timeout=_LONGEST,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"no answer after {_LONGEST} s"}
    except subprocess.CalledProcessError as error:
        return {"failed": (error.stderr.strip().splitlines() or ["no message"])[-1][:200]}
    return json.loads(done.stdout)


def _tell(name: str, record: dict[str, Any], seconds: float, options: Options) -> None:
    ratios = [
        (other / cell["seconds"][OURS], peer, cell)
        for cell in record["cells"]
        if OURS in cell["seconds"]
        for peer, other in cell["seconds"].items()
        if peer != OURS
    ]
    least = min(ratios, key=lambda each: each[0], default=None)
    text = "no peer" if least is None else f"{least[0]:.2f} ({least[1]}, n = {least[2]['n']:,})"
    options.console.print(f"[dim]{name}: least ratio {text}, {seconds:.0f} s[/]")
