"""Products, forms, MMD and learners on 1 to 16 threads, against the floor of as many threads.

The floor is that of the engine suite, 2nm(d+v)/GEMM + nm/exp seconds, with rates measured on the same number of
threads; of forms, and of MMD, half of it, because a symmetric matrix needs half of its tiles. About two minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import mercer
from benchmarks.machine import Limits, cores
from benchmarks.report import Bar, Options, Report, Table, worst
from benchmarks.timing import Contender, Timing, interleaved
from mercer.gram import Gram
from mercer.htest import MMD, Permutation
from mercer.kernels import RBF
from mercer.learn import SVC, KernelRidge, NystromRidge

_COUNTS = (1, 2, 4, 8, 16)
_D, _PERMUTATIONS, _LANDMARKS = 10, 500, 1000
_KERNEL = RBF(3.0)


@dataclass(frozen=True)
class Operation:
    """A call, and the seconds it takes at least; None for learners, whose speedup is shown."""

    call: Callable[[], Any]
    floor: Callable[[Limits], float] | None = None


def run(options: Options) -> Report:
    """Time every operation on every number of threads."""
    operations = _operations(1_200 if options.quick else 20_000)
    times: dict[int, dict[str, Timing]] = {}
    limits: dict[int, Limits] = {}
    for threads in [count for count in _COUNTS if count <= cores()]:
        options.console.print(f"[dim]{threads} threads[/]")
        limits[threads] = Limits(threads)
        limits[threads].measure(2 if options.quick else 5)
        with mercer.config(threads=threads):
            contenders = {name: Contender(each.call) for name, each in operations.items()}
            times[threads] = interleaved(contenders, options.repeats)
    tables = [_limits(limits), _ratios(operations, times, limits), _speedups(times), _used(times)]
    raw = {c: {name: t.wall for name, t in each.items()} for c, each in times.items()}
    bars = [] if options.quick else _bars(operations, times, limits)
    return Report("Many cores", tables, bars, raw)


def _operations(n: int) -> dict[str, Operation]:
    rng, half = np.random.default_rng(0), n // 2
    x, y = rng.standard_normal((2, n, _D))
    v, few, many = (
        rng.standard_normal((rows, k)) for rows, k in ((n, 1), (half, 100), (half, 1000))
    )
    test = MMD(_KERNEL, null=Permutation(_PERMUTATIONS))
    found = {}
    for vectors in (v, few, many):
        m, k = vectors.shape
        floor = _floor(m, k)
        name = f"{m:,} points, {k:,} columns"
        found[f"K(x,y) @ v, {name}"] = Operation(
            lambda m=m, u=vectors: Gram(_KERNEL, x[:m], y[:m]) @ u, floor
        )
        if k < 1000:
            found[f"K(x,x) @ v, {name}"] = Operation(
                lambda m=m, u=vectors: Gram(_KERNEL, x[:m]) @ u, floor
            )
    found[f"v'Kv, {half:,} points, 100 columns"] = Operation(
        lambda: Gram(_KERNEL, x[:half]).quad(few), _half(_floor(half, 100))
    )
    found[f"MMD, {n:,} points, {_PERMUTATIONS} permutations"] = Operation(
        lambda: test.test(x[:half], x[half:], rng=0), _half(_mmd_floor(n))
    )
    return found | _learners(n, rng)


def _learners(n: int, rng: np.random.Generator) -> dict[str, Operation]:
    x, wide = rng.standard_normal((n, 20)), rng.standard_normal((3 * n, _D))
    target = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.3 * rng.standard_normal(n)
    m, landmarks = 2 * n // 5, min(_LANDMARKS, n // 4)
    nystrom = NystromRidge(_KERNEL, landmarks=landmarks, random_state=0)
    return {
        f"SVC, {n:,} points": Operation(lambda: SVC(RBF(4.0)).fit(x, target > 0)),
        f"KernelRidge, {m:,} points": Operation(
            lambda: KernelRidge(RBF(4.0)).fit(x[:m], target[:m])
        ),
        f"NystromRidge, {3 * n:,} points, {landmarks:,} landmarks": Operation(
            lambda: nystrom.fit(wide, np.sin(wide[:, 0]))
        ),
    }


# ---- floors ---------------------------------------------------------------------------------


def _floor(n: int, k: int) -> Callable[[Limits], float]:
    return lambda limits: limits.floor(n, n, _D, k, "float64")


def _half(floor: Callable[[Limits], float]) -> Callable[[Limits], float]:
    return lambda limits: floor(limits) / 2


def _mmd_floor(n: int) -> Callable[[Limits], float]:
    """Kernel values in float64, products with labels in float32."""
    labels = 2 * n * n * _PERMUTATIONS
    return lambda limits: limits.floor(n, n, _D, 0, "float64") + labels / limits.gemm["float32"]


# ---- tables ---------------------------------------------------------------------------------


def _limits(limits: dict[int, Limits]) -> Table:
    rows = []
    for threads, each in limits.items():
        row: dict[str, Any] = {"threads": threads}
        row |= {f"GEMM {dtype}, GFLOP/s": rate / 1e9 for dtype, rate in each.gemm.items()}
        row |= {
            f"exp {name} {dtype}, 10^9/s": rate / 1e9 for (name, dtype), rate in each.exp.items()
        }
        rows.append(row)
    return Table("Limits", rows, "Rates of processor time, added over the threads.")


def _ratios(
    operations: dict[str, Operation], times: dict[int, dict[str, Timing]], limits: dict[int, Limits]
) -> Table:
    rows = []
    for name, operation in operations.items():
        if operation.floor is not None:
            row: dict[str, Any] = {"operation": name}
            for threads, each in times.items():
                floor = operation.floor(limits[threads])
                row |= {
                    f"{threads}: ms": 1000 * each[name].best,
                    f"{threads}: / floor": each[name].best / floor,
                }
            rows.append(row)
    return Table("Time on so many threads, and its ratio to the floor of as many", rows)


def _speedups(times: dict[int, dict[str, Timing]]) -> Table:
    first = times[1]
    rows = []
    for name, alone in first.items():
        row: dict[str, Any] = {"operation": name, "1 thread, s": alone.best}
        row |= {f"{c} threads": alone.best / each[name].best for c, each in times.items() if c > 1}
        rows.append(row)
    return Table("Speedup over one thread", rows)


def _used(times: dict[int, dict[str, Timing]]) -> Table:
    rows = []
    for name in times[1]:
        row: dict[str, Any] = {"operation": name}
        row |= {f"{c} threads": min(t[name].cpu) / min(t[name].wall) for c, t in times.items()}
        rows.append(row)
    note = "Processor time over time on the clock: more than the number of threads would be too many of them."
    return Table("Cores in use", rows, note)


def _bars(
    operations: dict[str, Operation], times: dict[int, dict[str, Timing]], limits: dict[int, Limits]
) -> list[Bar]:
    def to_floor(threads: int) -> Iterator[tuple[str, float]]:
        for name, operation in operations.items():
            if operation.floor is not None:
                yield name, times[threads][name].best / operation.floor(limits[threads])

    bars = []
    for threads in (c for c in (2, 16) if c in times):
        bars += worst(f"time / floor on {threads} threads", 1.5, to_floor(threads))
        used = ((name, min(t.cpu) / min(t.wall) / threads) for name, t in times[threads].items())
        bars += worst(f"cores in use / threads, {threads} threads", 1.1, used)
    if 16 in times:
        for name, operation in operations.items():
            if operation.floor is None:
                speedup = times[1][name].best / times[16][name].best
                bars.append(Bar(f"speedup on 16 threads: {name}", 6.0, speedup, at_least=True))
    return bars
