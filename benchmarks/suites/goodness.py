"""Goodness-of-fit tests: KSD against the machine's floor and plain NumPy, tests in linear time, memory."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks import ksd_peers
from benchmarks.machine import Limits
from benchmarks.report import Bar, Options, Report, Table
from benchmarks.timing import Contender, Timing, interleaved
from mercer import htest
from mercer.kernels import InverseMultiquadric, median_bandwidth
from mercer.rkhs import Gaussian, Mixture

_BUDGET, _ALLOWED = "512MiB", 768.0  # of config(memory=...), and of the whole process, MiB
_MIB = 2**20


def run(options: Options) -> Report:
    limits = Limits()
    times, floors, title = _all_pairs(limits, options)
    linear = _linear(options)
    memory = _memory(options)
    tables = [_compared(title, times, floors), _limits(limits), linear, _others(options), memory]
    bars = [] if options.quick else _bars(times, floors, linear, memory)
    raw = {name: asdict(timing) for name, timing in times.items()}
    return Report("Goodness-of-fit tests", tables, bars, raw)


# ---- what is run ----------------------------------------------------------------------------


def _all_pairs(limits: Limits, options: Options) -> tuple[dict[str, Timing], dict[str, float], str]:
    """KSD with its resamples; plain NumPy does fewer points, and its time is scaled by their square."""
    n, part, resamples = (1000, 300, 100) if options.quick else (10_000, 2000, 1000)
    d = 10
    model = Gaussian(np.zeros(d), 1.0)
    x = np.random.default_rng(0).standard_normal((n, d))
    kernel = InverseMultiquadric(median_bandwidth(x))
    ours = htest.KSD(model, kernel, null=htest.WildBootstrap(resamples))
    few, scores = x[:part], model.score(x[:part])
    contenders = {
        "mercer KSD": Contender(lambda: ours.test(x, rng=0)),
        "plain NumPy": Contender(
            lambda: ksd_peers.dense_ksd(few, scores, kernel.offset, resamples), (part / n) ** 2
        ),
    }

    def check(name: str, answer: Any) -> None:
        if name == "plain NumPy":
            np.testing.assert_allclose(answer[0], ours.statistic(few), rtol=1e-9)

    ours.test(x[:1000], rng=0)  # compiles
    times = interleaved(
        contenders, options.repeats, shared=options.shared, between=limits.measure, check=check
    )
    floors = {
        "in float64, every pair twice": _floor(limits, n, d, resamples, 1.0, "float64"),
        "in float64, every pair once": _floor(limits, n, d, resamples, 0.5, "float64"),
        "signs in float32, every pair once": _floor(limits, n, d, resamples, 0.5, "float32"),
    }
    return times, floors, f"KSD, n = {n:,}, d = {d}, {resamples:,} resamples"


def _floor(limits: Limits, n: int, d: int, v: int, share: float, signs: str) -> float:
    """Seconds at least: 2 n^2 4d / GEMM for the tiles, 2 n^2 v / GEMM for the signs, n^2 / exp.

    In 4d, d are for distances, d for products of scores and 2d for the steps between them;
    the power of the inverse multiquadric counts as an exponential.
    """
    tiles = 2 * n**2 * 4 * d / limits.gemm["float64"] + n**2 / limits.best_exp("float64")[1]
    return share * (tiles + 2 * n**2 * v / limits.gemm[signs])


def _linear(options: Options) -> Table:
    """FSSD and LinearKSD at growing sizes."""
    sizes = (2000, 20_000) if options.quick else (10_000, 100_000, 1_000_000)
    d, rows = 10, []
    model = Gaussian(np.zeros(d), 1.0)
    for n in sizes:
        options.console.print(f"[dim]{n:,} observations[/]")
        x = np.random.default_rng(0).standard_normal((n, d))
        row: dict[str, Any] = {"observations": n}
        for test in (htest.FSSD(model), htest.LinearKSD(model)):
            name = type(test).__name__
            call = Contender(lambda t=test, x=x: t.test(x, rng=0))
            seconds = interleaved({"": call}, 3, shared=options.shared)[""].best
            row |= {f"{name}, s": seconds, f"{name}, ns / observation": 1e9 * seconds / n}
        rows.append(row)
    return Table(f"Linear time, d = {d}", rows, "FSSD has 5 locations. The best of three runs.")


def _others(options: Options) -> Table:
    """What else there is."""
    n = 60 if options.quick else 1000
    d = 5
    normal = Gaussian(np.zeros(d), 1.0)
    other = Mixture([normal, Gaussian(np.ones(d), 2.0)], [0.8, 0.2])
    x = np.random.default_rng(0).standard_normal((n, d))
    chain = htest.WildBootstrap(999, block=None)
    calls = {
        "KSD": lambda: htest.KSD(normal).test(x, rng=0),
        "KSD, signs of blocks": lambda: htest.KSD(normal, null=chain).test(x, rng=0),
        "KSDAgg, ten kernels": lambda: htest.KSDAgg(normal).test(x, rng=0),
        "RelativeKSD": lambda: htest.RelativeKSD(normal, other).test(x),
        "AgainstDraws, MMD": lambda: htest.AgainstDraws(normal, htest.MMD()).test(x, rng=0),
        "Composite, KSD, 199 fits": lambda: htest.Composite(Gaussian.fit, htest.KSD).test(x, rng=0),
    }
    rows = []
    for name, call in calls.items():
        options.console.print(f"[dim]{name}[/]")
        found = interleaved({"": Contender(call)}, 2, shared=options.shared)[""]
        rows.append({"test": name, "seconds": found.best})
    return Table(f"Others, n = {n:,}, d = {d}", rows, "999 resamples. The better of two runs.")


def _memory(options: Options) -> Table:
    cases = (
        [("KSD", 2000), ("FSSD", 20_000)]
        if options.quick
        else [("KSD", 10_000), ("KSD", 30_000), ("FSSD", 1_000_000), ("LinearKSD", 1_000_000)]
    )
    rows = []
    for name, n in cases:
        options.console.print(f"[dim]memory of {name}, {n:,} observations[/]")
        command = [sys.executable, "-m", "benchmarks.goodness_footprint"]
        command += [name, str(n), "10", _BUDGET]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found = json.loads(done.stdout)
        row: dict[str, Any] = {"test": name, "observations": n, "data, MiB": 80 * n / _MIB}
        row |= {f"{key}, MiB": found[key] / _MIB for key in ("before", "peak", "growth")}
        row["d arrays of n x n would take, MiB"] = 80.0 * n * n / _MIB
        rows.append(row)
    note = (
        f"Under a budget of {_BUDGET}, 999 resamples. Before: after imports and with the data. Peak: the "
        "whole process. Growth: what the call added at most."
    )
    return Table("Memory, d = 10", rows, note)


# ---- the printed page -----------------------------------------------------------------------


def _compared(title: str, times: dict[str, Timing], floors: dict[str, float]) -> Table:
    best = times["mercer KSD"].best
    rows = [
        {"": name, "seconds": timing.best, "/ mercer": timing.best / best}
        for name, timing in times.items()
    ]
    rows += [
        {"": f"floor {name}", "seconds": seconds, "/ mercer": seconds / best}
        for name, seconds in floors.items()
    ]
    note = (
        "The floor is that of K @ V, 2nm(d + v) / GEMM + nm / exp, with 4d instead of d: distances, "
        "products of scores, and two products for the steps between scores. KSD looks at every pair "
        "once, and at signs in float32. Plain NumPy held d arrays of n x n for fewer points, and its "
        "time was multiplied by the square of the ratio."
    )
    return Table(title, rows, note)


def _limits(limits: Limits) -> Table:
    return Table("Limits on all cores", limits.rows())


def _bars(
    times: dict[str, Timing], floors: dict[str, float], linear: Table, memory: Table
) -> list[Bar]:
    best, floor = times["mercer KSD"].best, floors["signs in float32, every pair once"]
    largest, before = linear.rows[-1], linear.rows[-2]
    each = "FSSD, ns / observation"
    growth = max(memory.rows, key=lambda row: row["growth, MiB"])
    where = f"{growth['test']}, n = {growth['observations']:,}"
    return [
        Bar("KSD / floor, the lowest one", 1.5, best / floor),
        Bar("plain NumPy / KSD", 3.0, times["plain NumPy"].best / best, at_least=True),
        Bar("FSSD: time for an observation, 10^6 / 10^5", 1.5, largest[each] / before[each]),
        Bar("growth of memory, MiB", _ALLOWED, growth["growth, MiB"], where),
    ]
