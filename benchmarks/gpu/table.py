"""Every hypothesis test and learner on the GPU, beside the CPU of the same machine; prints Markdown.

python -m benchmarks.gpu.table                                    # the table of docs/guide/gpu.md
python -m benchmarks.gpu.table --sizes 1000 10000 --limit 2 --only "SVC|MMD"
python -m benchmarks.gpu.table --on gpu > gpu.jsonl               # on one side only, a line for each row,
python -m benchmarks.gpu.table --on cpu > cpu.jsonl               # and both sides together:
python -m benchmarks.gpu.table --merge gpu.jsonl cpu.jsonl
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import signal
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mercer.htest import FSSD, ME, NFSIC, SCF, UME, Permutation, WildBootstrap
from mercer.rkhs import Gaussian

SIZES = 1_000, 10_000, 50_000
RESAMPLES = 499
_WIDE = 10  # columns of variables that have several
_BAG = 20  # points of a bag
_COMPILATION = 20.0  # seconds of a first run, which compiles
_TOLERANCE = 1e-3  # of support vector machines: their default


@dataclass(frozen=True)
class Row:
    """A test or a learner, and what it is given: n -> run(convert)."""

    name: str
    work: Callable[[int, Callable[[np.ndarray], Any]], Callable[[], Any]]


def table(sizes: Sequence[int] = SIZES, limit: float = 4.0, only: str = "", first: int = 0) -> None:
    """Print a row for each test and learner: seconds on the GPU, and how many times faster than the CPU."""
    chosen = [row for row in rows()[first:] if re.search(only, row.name)]
    print(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {RESAMPLES} resamples, float32"
    )
    sides = [[measure(row, sizes, limit) for row in chosen] for measure in (on_gpu, on_cpu)]
    merged(*sides)


def merged(gpu: Sequence[dict[str, Any]], cpu: Sequence[dict[str, Any]]) -> None:
    """Print the table of what was measured on both sides."""
    host, sizes = (
        {line["name"]: line for line in cpu},
        max((line["sizes"] for line in gpu), key=len),
    )
    print(f"\n| name | {' | '.join(f'n = {n:,}' for n in sizes)} |\n|{'-|' * (1 + len(sizes))}")
    slower, failed = [], []
    for line in gpu:
        other_side = host.get(line["name"], {"seconds": [], "problem": "", "limit": 0.0})
        beside, late = other_side["seconds"], other_side["problem"].startswith("more than")
        cells = []
        for n, seconds, other in zip_longest(sizes, line["seconds"], beside):
            known = seconds is not None and other is not None
            ratio = f", {other / seconds:.2g} x" if known else ""
            if late and seconds is not None and other is None and seconds < other_side["limit"]:
                ratio = f", > {other_side['limit'] / seconds:.2g} x"
            cells.append("" if seconds is None else f"{seconds:.2g} s{ratio}")
            if known and n >= 5_000 and seconds > other:
                slower.append(f"{line['name']} at {n:,}: {seconds:.3f} s, CPU {other:.3f} s")
        print(f"| {line['name']} | {' | '.join(cells)} |", flush=True)
        if line["problem"]:
            failed.append(f"{line['name']} at {sizes[len(line['seconds'])]:,}: {line['problem']}")
    for title, lines in (("Slower than the CPU", slower), ("Without a time on the GPU", failed)):
        print(f"\n{title}: {len(lines)}", *lines, sep="\n* ", flush=True)


def on_gpu(row: Row, sizes: Sequence[int], limit: float) -> dict[str, Any]:
    """Seconds at each size on the GPU, up to the first that fails or takes longer than the limit."""
    seconds: list[float] = []
    problem = _timed_sizes(row, sizes, _to_gpu, limit, torch.cuda.synchronize, seconds.append)
    torch.cuda.empty_cache()
    return _record(row, sizes, limit, seconds, problem)


def on_cpu(row: Row, sizes: Sequence[int], limit: float) -> dict[str, Any]:
    """The same on the CPU, in a process of its own, which can be ended within a factorization."""
    fork = get_context("fork")
    here, there = fork.Pipe(duplex=False)
    work = fork.Process(target=_send_times, args=(there, row, sizes, limit))
    work.start()
    there.close()
    seconds: list[float] = []
    problem, end = f"more than {limit:g} s", time.monotonic() + _COMPILATION
    try:
        while here.poll(max(end - time.monotonic(), 0)):
            message = here.recv()
            if isinstance(message, str):
                problem = message
                break
            seconds.append(message)
            end = time.monotonic() + 2 * limit
    except EOFError:
        problem = "the process ended"
    work.kill()
    work.join()
    return _record(row, sizes, limit, seconds, problem)


def _record(
    row: Row, sizes: Sequence[int], limit: float, seconds: list[float], problem: str
) -> dict[str, Any]:
    """A line of the table as JSON: seconds at the sizes that were reached, and what stopped it."""
    return {
        "name": row.name,
        "sizes": list(sizes),
        "limit": limit,
        "seconds": seconds,
        "problem": problem,
    }


def _send_times(pipe: Any, row: Row, sizes: Sequence[int], limit: float) -> None:
    """Send the seconds at each size on the CPU, and at the end what stopped it."""
    pipe.send(_timed_sizes(row, sizes, _to_cpu, limit, lambda: None, pipe.send))


def _timed_sizes(
    row: Row,
    sizes: Sequence[int],
    convert: Callable[[np.ndarray], Any],
    limit: float,
    synchronize: Callable[[], None],
    report: Callable[[float], None],
) -> str:
    """Report the seconds of one run at each size, after a first one that compiles; returns what stopped it."""
    signal.signal(signal.SIGALRM, _late)
    warnings.simplefilter("ignore")
    try:
        for i, n in enumerate(sizes):
            run = row.work(n, convert)
            for compiles in (True, False) if i == 0 else (False,):
                synchronize()
                signal.setitimer(signal.ITIMER_REAL, _COMPILATION if compiles else limit)
                start = time.perf_counter()
                run()
                synchronize()
                seconds = time.perf_counter() - start
                signal.setitimer(signal.ITIMER_REAL, 0)
            report(seconds)
    except TimeoutError:
        return f"more than {limit:g} s"
    except Exception as error:  # what a row of the table shows
        return f"{type(error).__name__}: {str(error)[:300]}".replace("\n", " ")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return ""


def rows() -> list[Row]:
    """Every test and learner of the conformance cases, once for each name."""
    cases: Any = importlib.import_module("tests.conformance.backend_cases")
    cases.PERMUTATIONS, cases.SIGNS = Permutation(RESAMPLES), WildBootstrap(RESAMPLES)
    tests = [Row(case.name, _test_of(case)) for case in cases.htest_cases()]
    learners = [Row(case.name, _learner_of(case)) for case in cases.learner_cases()]
    every = [*tests, *_searches(), *learners]
    return list({row.name: row for row in reversed(every)}.values())[::-1]


def _searches() -> list[Row]:
    """Tests that learn their locations."""

    def row(kind: Any, dependent: bool) -> Row:
        def work(n: int, convert: Callable[[np.ndarray], Any]) -> Callable[[], Any]:
            rng = np.random.default_rng(0)
            x, y = rng.normal(size=(2, n, _WIDE))
            samples = convert(x), convert(y + 0.2 * x if dependent else y + 0.1)
            return lambda: kind.optimized(*samples, rng=0)

        return Row(f"{kind.__name__}.optimized", work)

    def fssd(n: int, convert: Callable[[np.ndarray], Any]) -> Callable[[], Any]:
        x = convert(np.random.default_rng(0).normal(size=(n, _WIDE)))
        return lambda: FSSD.optimized(Gaussian(np.full(_WIDE, 0.1), 1.0), x, rng=0)

    kinds = [(ME, False), (SCF, False), (UME, False), (NFSIC, True)]
    return [*(row(*kind) for kind in kinds), Row("FSSD.optimized", fssd)]


def _test_of(case: Any) -> Any:
    """Samples in the proportions of the case, of variables that depend on each other a little."""

    def work(n: int, convert: Callable[[np.ndarray], Any]) -> Callable[[], Any]:
        rng, longest = np.random.default_rng(0), max(len(s) for s in case.samples)
        common = rng.normal(size=(n, 1))
        samples = []
        for sample in case.samples:
            m, d = n * len(sample) // longest, sample.shape[1]
            model = len(case.samples) == 1  # which has as many dimensions as the sample
            noise = rng.normal(size=(m, _WIDE if d == 3 and not model else d))
            samples.append(convert(0.05 * common[:m] + noise))
        return lambda: case.test.test(*samples, rng=0)

    return work


def _learner_of(case: Any) -> Any:
    """Points with a smooth function of them, or two classes that overlap; bags of two scales."""
    from sklearn.base import clone

    def work(n: int, convert: Callable[[np.ndarray], Any]) -> Callable[[], Any]:
        rng = np.random.default_rng(0)
        if isinstance(case.x, list):
            y = np.arange(n // _BAG) % 2
            x: Any = [convert(rng.normal(0.0, 1.0 + w, (_BAG, 2))) for w in y]
            target: Any = y if case.y is None or case.y.dtype.kind != "f" else y.astype(np.float64)
        else:
            d = case.x.shape[1]
            points = rng.normal(size=(n, d if d == 1 else _WIDE))
            truth = np.sin(points[:, 0]) + 0.5 * points[:, -1] + 0.3 * rng.normal(size=n)
            floats = case.y is not None and case.y.dtype.kind == "f"
            x, target = convert(points), convert(truth) if floats else (truth > 0).astype(np.int64)
        given = (x,) if case.y is None else (x, target)
        learner = clone(case.learner)
        if "tol" in learner.get_params(deep=False):
            learner.set_params(tol=_TOLERANCE)
        return lambda: learner.fit(*given)

    return work


def _to_gpu(x: np.ndarray) -> Any:
    return torch.as_tensor(x.astype(np.float32), device="cuda")


def _to_cpu(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32)


def _late(number: int, frame: object) -> None:
    raise TimeoutError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--limit", type=float, default=4.0, help="seconds of a cell")
    parser.add_argument("--only", default="", help="a regular expression for names")
    parser.add_argument("--first", type=int, default=0, help="rows to leave out")
    parser.add_argument("--on", choices=("gpu", "cpu"), help="measure one side, as JSON lines")
    parser.add_argument("--merge", nargs=2, help="files of both sides, of the GPU first")
    options = parser.parse_args()
    if options.merge:
        sides = (Path(f).read_text().splitlines() for f in options.merge)
        merged(*([json.loads(line) for line in lines] for lines in sides))
    elif options.on:
        measure = {"gpu": on_gpu, "cpu": on_cpu}[options.on]
        for row in rows()[options.first :]:
            if re.search(options.only, row.name):
                print(json.dumps(measure(row, options.sizes, options.limit)), flush=True)
    else:
        table(options.sizes, options.limit, options.only, options.first)


if __name__ == "__main__":
    main()
