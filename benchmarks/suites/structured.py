"""Kernels on strings, rankings, graphs, diagrams and series against the packages that have them, on one thread."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import mercer
from benchmarks.report import Bar, Options, Report, Table
from benchmarks.structured_peers import (
    Contest,
    contests,
    diagrams,
    random_graphs,
    rankings,
    texts,
    walks,
)
from benchmarks.timing import Contender, Timing, interleaved
from mercer import kernels as K

_SUBSEQUENCE_BAR = 5e-3  # seconds of Subsequence(3) on 200 strings of length 200


def run(options: Options) -> Report:
    with mercer.config(threads=1), threadpool_limits(1):
        rows, bars, raw = _compared(options)
        tables = [
            Table("Contests", rows, _NOTE),
            Table("First call in a process", _first_calls(options), _FIRST),
            Table(
                "Growth with the number of objects", _growth(options), "Seconds of processor time."
            ),
        ]
    return Report("Kernels on objects", tables, [] if options.quick else bars, raw)


_NOTE = (
    "Processor seconds and wall-clock seconds, the best of several rounds in turns, one thread each; the ratio is that of "
    "processor times. `off` is the largest difference of the matrices: of signature kernels over |S(x)| |S(y)|, of the others "
    "over the largest value, up to a factor where conventions differ. Packed: mercer's `Graphs`, read beforehand."
)
_FIRST = "Seconds on the clock of the first and the second call in a new process, compiled code being stored on disk."


# ---- contests -------------------------------------------------------------------------------


def _compared(options: Options) -> tuple[list[dict[str, Any]], list[Bar], Any]:
    rows, bars, raw = [], [], {}
    for contest in contests(options.quick):
        if not any(word in contest.name for word in options.only or ("",)):
            continue
        if find_spec(contest.package) is None:
            rows.append({"contest": f"{contest.name}: {contest.package} is not installed, skipped"})
            continue
        options.console.print(f"[dim]{contest.name}[/]")
        times, difference = _timed(contest, options)
        mine, theirs = times["mercer"], times["peer"]
        ratio = min(theirs.cpu) / min(mine.cpu)
        rows.append(
            {
                "contest": contest.name,
                "mercer, s": min(mine.cpu),
                "peer, s": min(theirs.cpu),
                "ratio": ratio,
                "wall, s": min(mine.wall),
                "peer's wall, s": min(theirs.wall),
                "off": difference,
            }
        )
        raw[contest.name] = {name: {"wall": t.wall, "cpu": t.cpu} for name, t in times.items()}
        if contest.bar is not None:
            bars.append(Bar("peer / mercer", contest.bar, ratio, contest.name, at_least=True))
    rows.append(_subsequence(options, bars))
    return rows, bars, raw


def _timed(contest: Contest, options: Options) -> tuple[dict[str, Timing], float]:
    """Times of both, and how far the matrices are apart."""
    answers: dict[str, np.ndarray] = {}
    contenders = {
        "mercer": Contender(contest.mercer),
        "peer": Contender(contest.peer(), contest.share),
    }
    contest.mercer()  # loads compiled loops

    def keep(name: str, answer: Any) -> None:
        answers[name] = np.asarray(answer, dtype=np.float64)

    times = interleaved(contenders, min(contest.rounds, options.repeats), check=keep)
    difference = _difference(contest, answers["mercer"], answers["peer"])
    if contest.tolerance is not None and difference > contest.tolerance:
        raise AssertionError(f"{contest.name}: matrices differ by {difference:.2g}")
    return times, difference


def _difference(contest: Contest, mine: np.ndarray, theirs: np.ndarray) -> float:
    part = mine[: theirs.shape[0], : theirs.shape[1]]
    if contest.package == "pysiglib":
        sizes = np.sqrt(np.diag(mine))
        return float((np.abs(part - theirs) / np.outer(sizes[: len(part)], sizes)).max())
    factor = part[0, 0] / theirs[0, 0] if contest.scaled else 1.0
    return float(np.abs(part - factor * theirs).max() / np.abs(part).max())


def _subsequence(options: Options, bars: list[Bar]) -> dict[str, Any]:
    strings = texts(20 if options.quick else 200, 200)
    call = Contender(lambda: K.Subsequence(3, 0.5)(strings))
    call.call()
    timing = interleaved({"": call}, 10)[""]
    name = f"Subsequence(3, 0.5), {len(strings)} strings of 200 DNA, the whole matrix"
    bars.append(Bar("seconds", _SUBSEQUENCE_BAR, min(timing.cpu), name))
    return {"contest": name, "mercer, s": min(timing.cpu), "wall, s": min(timing.wall)}


# ---- first calls and growth -----------------------------------------------------------------

_KERNELS: dict[str, tuple[Callable[[int], Any], K.Kernel, int]] = {
    "Spectrum": (lambda n: texts(n, 200), K.Spectrum(5), 5000),
    "Mismatch": (lambda n: texts(n, 200), K.Mismatch(5, 1, alphabet="ACGT"), 5000),
    "Subsequence": (lambda n: texts(n, 200), K.Subsequence(3, 0.5), 5000),
    "Kendall": (rankings, K.Kendall(), 5000),
    "WeisfeilerLehman": (random_graphs, K.WeisfeilerLehman(5), 5000),
    "ShortestPath": (random_graphs, K.ShortestPath(), 5000),
    "PersistenceScaleSpace": (diagrams, K.PersistenceScaleSpace(0.5), 500),
    "PersistenceFisher": (diagrams, K.PersistenceFisher(1.0), 500),
    "GlobalAlignment": (walks, K.GlobalAlignment(1.5).normalized(), 500),
    "Signature": (walks, K.Signature(None), 50),
}


def _first_calls(options: Options) -> list[dict[str, Any]]:
    rows = []
    for name in _KERNELS:
        command = [sys.executable, "-m", "benchmarks.suites.structured", name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        rows.append({"kernel": f"{name}, 50 objects"} | json.loads(done.stdout))
    return rows


def _growth(options: Options) -> list[dict[str, Any]]:
    rows = []
    for name, (data, kernel, most) in _KERNELS.items():
        options.console.print(f"[dim]growth of {name}[/]")
        row: dict[str, Any] = {"kernel": name}
        for n in (50, 500, 5000):
            if n <= (50 if options.quick else most):
                call = partial(kernel, data(n))
                timing = interleaved({"": Contender(call)}, 3 if n < 500 else 1)
                row[f"n = {n:,}"] = min(timing[""].cpu)
        rows.append(row)
    return rows


def first_calls(name: str) -> dict[str, float]:
    """Seconds of the first and second call for 50 objects."""
    data, kernel, _ = _KERNELS[name]
    objects, times = data(50), []
    for _ in range(2):
        start = time.perf_counter()
        kernel(objects)
        times.append(time.perf_counter() - start)
    return {"first, s": times[0], "second, s": times[1]}


if __name__ == "__main__":
    print(json.dumps(first_calls(sys.argv[1])))
