"""Every hypothesis test and learner on the GPU, beside the CPU of the same machine; prints Markdown.

python -m benchmarks.gpu.table                                    # the table of docs/install.md
python -m benchmarks.gpu.table --sizes 1000 10000 --limit 2 --only "SVC|MMD"
"""

from __future__ import annotations

import argparse
import importlib
import re
import signal
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from mercer.errors import MemoryBudgetError
from mercer.htest import FSSD, ME, NFSIC, SCF, UME, Permutation, WildBootstrap
from mercer.rkhs import Gaussian

SIZES = 1_000, 10_000, 50_000
RESAMPLES = 499
_WIDE = 10  # columns of variables that have several
_BAG = 20  # points of a bag
_COMPILATION = 20.0  # seconds of a first run, which compiles
_TOLERANCE = 1e-3  # of support vector machines: their default


@dataclass(frozen=True)
class Cell:
    """What became of one run: seconds, or why there are none."""

    seconds: float | None
    problem: str = ""


@dataclass(frozen=True)
class Row:
    """A test or a learner, and what it is given: n -> run(convert)."""

    name: str
    work: Callable[[int, Callable[[np.ndarray], Any]], Callable[[], Any]]


def table(sizes: Sequence[int] = SIZES, limit: float = 4.0, only: str = "", first: int = 0) -> None:
    """Print a row for each test and learner: seconds on the GPU, and how many times faster than the CPU."""
    signal.signal(signal.SIGALRM, _late)
    print(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {RESAMPLES} resamples, float32"
    )
    print(f"\n| name | {' | '.join(f'n = {n:,}' for n in sizes)} |\n|{'-|' * (1 + len(sizes))}")
    slower, failed = [], []
    for row in rows()[first:]:
        if not re.search(only, row.name):
            continue
        shown = []
        cpu = Cell(0.0)
        for n in sizes:
            gpu = _measured(row, n, _on_gpu, limit, warm=n == min(sizes))
            if cpu.seconds is not None:  # a larger problem takes longer still
                cpu = _measured(row, n, _on_cpu, limit, warm=n == min(sizes))
            shown.append(_shown(gpu, cpu, limit))
            if gpu.seconds is not None and cpu.seconds is not None:
                if n >= 5_000 and gpu.seconds > cpu.seconds:
                    slower.append(
                        f"{row.name} at {n:,}: {gpu.seconds:.3f} s, CPU {cpu.seconds:.3f} s"
                    )
            elif gpu.seconds is None:
                failed.append(f"{row.name} at {n:,}: {gpu.problem}")
                break
        print(
            f"| {row.name} | {' | '.join(shown + [''] * (len(sizes) - len(shown)))} |", flush=True
        )
    for title, lines in (("Slower than the CPU", slower), ("Without a time on the GPU", failed)):
        print(f"\n{title}: {len(lines)}", *lines, sep="\n* ", flush=True)


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


def _on_gpu(x: np.ndarray) -> Any:
    return torch.as_tensor(x.astype(np.float32), device="cuda")


def _on_cpu(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32)


def _late(number: int, frame: object) -> None:
    raise TimeoutError


def _measured(row: Row, n: int, convert: Any, limit: float, *, warm: bool) -> Cell:
    """The seconds of one run, after a first one if it is to be `warm`; it may take `limit` seconds."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = row.work(n, convert)
            for repeat in range(2 if warm else 1):
                compiles = warm and not repeat
                signal.setitimer(signal.ITIMER_REAL, _COMPILATION if compiles else limit)
                torch.cuda.synchronize()
                start = time.perf_counter()
                run()
                torch.cuda.synchronize()
                seconds = time.perf_counter() - start
            return Cell(seconds)
    except TimeoutError:
        return Cell(None, f"more than {limit:g} s")
    except MemoryBudgetError as error:
        return Cell(None, f"memory: {str(error)[:200]}")
    except Exception as error:  # a cell of the table
        return Cell(None, f"{type(error).__name__}: {str(error)[:300]}".replace("\n", " "))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        torch.cuda.empty_cache()


def _shown(gpu: Cell, cpu: Cell, limit: float) -> str:
    if gpu.seconds is None:
        return re.split("[: ]", gpu.problem)[0] if "more" not in gpu.problem else gpu.problem
    if cpu.seconds is not None:
        return f"{gpu.seconds:.3g} s, {cpu.seconds / gpu.seconds:.2g} x"
    return f"{gpu.seconds:.3g} s" + (
        f", > {limit / gpu.seconds:.2g} x" if "more" in cpu.problem else ""
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--limit", type=float, default=4.0, help="seconds of a cell")
    parser.add_argument("--only", default="", help="a regular expression for names")
    parser.add_argument("--first", type=int, default=0, help="rows to leave out")
    options = parser.parse_args()
    table(options.sizes, options.limit, options.only, options.first)


if __name__ == "__main__":
    main()
