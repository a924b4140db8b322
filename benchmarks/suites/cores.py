"""Products, forms, MMD and learners on 1 to 16 threads, against the floor of as many threads.

The floor is that of the engine suite, 2nm(d+v)/GEMM + nm/exp seconds, with rates measured on the same number of
threads; of forms, and of MMD, half of it, because a symmetric matrix needs half of its tiles. Every time is printed
as soon as it is measured. About a minute and a half on 16 cores; after `_SECONDS` what is left is not measured.
"""

from __future__ import annotations

import time
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

_COUNTS = (1, 16, 4, 2)  # the bars need the first two, which come first
_SECONDS = 150.0  # after which no other time is measured
_SECONDS_OF_AN_OPERATION = 1.5  # after which it is not repeated
_D, _PERMUTATIONS, _LANDMARKS = 10, 500, 1000
_KERNEL = RBF(3.0)


@dataclass(frozen=True)
class Operation:
    """A call, and the seconds it takes at least; None for learners, whose speedup is shown."""

    call: Callable[[], Any]
    floor: Callable[[Limits], float] | None = None


@dataclass(frozen=True)
class Measured:
    """The operations, and their times and the limits by the number of threads, as far as they were measured."""

    operations: dict[str, Operation]
    times: dict[int, dict[str, Timing]]
    limits: dict[int, Limits]

    def to_floor(self, threads: int) -> Iterator[tuple[str, float]]:
        """The ratio to its floor of each operation that has one."""
        for name, timing in self.times[threads].items():
            floor = self.operations[name].floor
            if floor is not None:
                yield name, timing.best / floor(self.limits[threads])

    def speedups(self, threads: int) -> Iterator[tuple[str, float]]:
        """How many times faster than on one thread each operation is."""
        alone = self.times[1]
        for name, timing in self.times[threads].items():
            if name in alone:
                yield name, alone[name].best / timing.best

    def busy(self, threads: int) -> Iterator[tuple[str, float]]:
        """Processor time over time on the clock."""
        for name, timing in self.times[threads].items():
            yield name, min(timing.cpu) / min(timing.wall)


def run(options: Options) -> Report:
    """Time every operation on every number of threads, as far as the seconds go."""
    measured = Measured(_operations(1_200 if options.quick else 20_000), {}, {})
    try:
        _measure(measured, options)
    except KeyboardInterrupt:
        options.console.print("interrupted: what was measured follows")
    tables = [_limits(measured.limits), _ratios(measured), _speedups(measured), _used(measured)]
    raw = {c: {name: t.wall for name, t in each.items()} for c, each in measured.times.items()}
    bars = [] if options.quick else _bars(measured)
    return Report("Many cores", tables, bars, raw, name="many_cores")


def _measure(measured: Measured, options: Options) -> None:
    """Fill in times and limits, a line for each time."""
    end = time.monotonic() + _SECONDS
    for name, operation in measured.operations.items():  # compiles, and starts the threads
        start = time.perf_counter()
        operation.call()
        options.console.print(f"first call: {name}: {time.perf_counter() - start:.2f} s")
    for threads in [count for count in _COUNTS if count <= cores()]:
        limits = measured.limits[threads] = Limits(threads)
        limits.measure(2 if options.quick else 5)
        rates = {**limits.gemm, **{f"exp {kind}": limits.best_exp(kind)[1] for kind in limits.gemm}}
        shown = ", ".join(f"{key} {rate / 1e9:.4g}" for key, rate in rates.items())
        options.console.print(f"{threads} threads: 10^9 operations a second: {shown}")
        times = measured.times[threads] = {}
        with mercer.config(threads=threads):
            for name, operation in measured.operations.items():
                if time.monotonic() > end:
                    options.console.print(f"{threads} threads: {name}: no time left")
                    continue
                times[name] = _timed(operation, options.repeats)
                options.console.print(_line(measured, threads, name))


def _timed(operation: Operation, repeats: int) -> Timing:
    """Times of an operation, which is repeated while that takes no longer than a second or two."""
    timing = Timing([], [])
    while len(timing.wall) < repeats and sum(timing.wall) < _SECONDS_OF_AN_OPERATION:
        again = interleaved({"": Contender(operation.call)}, 1)[""]
        timing.wall.extend(again.wall)
        timing.cpu.extend(again.cpu)
    return timing


def _line(measured: Measured, threads: int, name: str) -> str:
    """What was measured of an operation on so many threads."""
    parts = [f"{threads:2} threads: {name}: {1000 * measured.times[threads][name].best:,.1f} ms"]
    for text, figures in (
        ("{:.2f} x floor", measured.to_floor(threads)),
        ("{:.2f} x faster than one", measured.speedups(threads)),
        ("{:.1f} cores busy", measured.busy(threads)),
    ):
        parts += [text.format(figure) for other, figure in figures if other == name]
    return ", ".join(parts)


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
    for threads, each in sorted(limits.items()):
        row: dict[str, Any] = {"threads": threads}
        row |= {f"GEMM {dtype}, GFLOP/s": rate / 1e9 for dtype, rate in each.gemm.items()}
        row |= {
            f"exp {name} {dtype}, 10^9/s": rate / 1e9 for (name, dtype), rate in each.exp.items()
        }
        rows.append(row)
    return Table("Limits", rows, "Rates of processor time, added over the threads.")


def _ratios(measured: Measured) -> Table:
    rows: dict[str, dict[str, Any]] = {}
    for threads in sorted(measured.times):
        for name, ratio in measured.to_floor(threads):
            best = measured.times[threads][name].best
            row = rows.setdefault(name, {"operation": name})
            row |= {f"{threads}: ms": 1000 * best, f"{threads}: / floor": ratio}
    title = "Time on so many threads, and its ratio to the floor of as many"
    return Table(title, list(rows.values()))


def _speedups(measured: Measured) -> Table:
    rows = {
        name: {"operation": name, "1 thread, s": timing.best}
        for name, timing in measured.times.get(1, {}).items()
    }
    for threads in sorted(set(measured.times) - {1}):
        for name, speedup in measured.speedups(threads):
            rows[name][f"{threads} threads"] = speedup
    return Table("Speedup over one thread", list(rows.values()))


def _used(measured: Measured) -> Table:
    rows: dict[str, dict[str, Any]] = {}
    for threads in sorted(measured.times):
        for name, busy in measured.busy(threads):
            rows.setdefault(name, {"operation": name})[f"{threads} threads"] = busy
    note = "Processor time over time on the clock: more than the number of threads would be too many of them."
    return Table("Cores in use", list(rows.values()), note)


def _bars(measured: Measured) -> list[Bar]:
    bars = []
    for threads in (c for c in (2, 16) if c in measured.times):
        for name, ratio in measured.to_floor(threads):
            bars.append(Bar(f"time / floor on {threads} threads: {name}", 1.5, ratio))
        used = ((name, busy / threads) for name, busy in measured.busy(threads))
        bars += worst(f"cores in use / threads, {threads} threads", 1.1, used)
    for name, speedup in measured.speedups(16) if 16 in measured.times else ():
        if measured.operations[name].floor is None:
            bars.append(Bar(f"speedup on 16 threads: {name}", 6.0, speedup, at_least=True))
    return bars
