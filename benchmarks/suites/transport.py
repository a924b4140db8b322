"""Distances of distributions by transport: sliced Wasserstein against POT, and W_1 on the line against sorting."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from benchmarks.report import Bar, Options, Report, Table
from benchmarks.timing import Contender, Timing, interleaved
from mercer.info import sliced_wasserstein, wasserstein


def run(options: Options) -> Report:
    timed = {"sliced Wasserstein": _sliced(options), "W_1 on the line": _line(options)}
    tables = [_compared(title, times) for title, times in timed.items()]
    raw = {title: {k: asdict(t) for k, t in times.items()} for title, times in timed.items()}
    bars = [] if options.quick else _bars(timed)
    return Report("Distances by transport", tables, bars, raw)


def _sliced(options: Options) -> dict[str, Timing]:
    """50 lines in 50 dimensions, the same for both."""
    import ot

    rng, n = np.random.default_rng(0), 2000 if options.quick else 100_000
    x, y = rng.standard_normal((n, 50)), rng.normal(0.1, 1.0, (n, 50))
    lines = rng.standard_normal((50, 50))
    lines /= np.linalg.norm(lines, axis=1, keepdims=True)
    expected = float(sliced_wasserstein(x, y, projections=lines))
    contenders = {
        "mercer": Contender(lambda: sliced_wasserstein(x, y, projections=lines)),
        "POT": Contender(lambda: ot.sliced_wasserstein_distance(x, y, projections=lines.T)),
    }
    return interleaved(
        contenders,
        options.repeats,
        shared=options.shared,
        check=lambda _, v: np.testing.assert_allclose(v, expected),
    )


def _line(options: Options) -> dict[str, Timing]:
    """Ten million numbers in each sample, and nine fewer in the third."""
    rng, n = np.random.default_rng(0), 10_000 if options.quick else 10**7
    x, y = rng.standard_normal((2, n))
    contenders = {
        "mercer": Contender(lambda: wasserstein(x, y)),
        "mercer, unequal sizes": Contender(lambda: wasserstein(x, y[:-9])),
        "two sorts by NumPy": Contender(lambda: (np.sort(x), np.sort(y))),
    }
    return interleaved(contenders, options.repeats, shared=options.shared)


def _compared(title: str, times: dict[str, Timing]) -> Table:
    best = times["mercer"].best
    rows = [
        {"who": name, "seconds": t.best, "processor, s": min(t.cpu), "/ mercer": t.best / best}
        for name, t in times.items()
    ]
    return Table(title, rows)


def _bars(timed: dict[str, dict[str, Timing]]) -> list[Bar]:
    sliced, line = timed["sliced Wasserstein"], timed["W_1 on the line"]
    faster = sliced["POT"].best / sliced["mercer"].best
    slower = line["mercer"].best / line["two sorts by NumPy"].best
    return [
        Bar("POT / mercer", 15.0, faster, "100,000 x 50, 50 lines", at_least=True),
        Bar("mercer / two sorts", 1.5, slower, "10 million numbers"),
    ]
