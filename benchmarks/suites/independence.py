"""Independence tests: exact permutations against hyppo and the dense NumPy loop; many kernels, many columns."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks import hsic_peers, peers
from benchmarks.report import Bar, Options, Report, Table, worst
from benchmarks.timing import Contender, Timing, interleaved
from mercer import htest
from mercer.kernels import RBF, Energy

_HYPPO, _DENSE = 5, 100  # resamples that the others do; their times are scaled to all of them

Timed = tuple[str, dict[str, Timing]]


def run(options: Options) -> Report:
    permuted = [_permuted(d, options) for d in (1, 10)]
    tables = [*(_compared(*timed) for timed in permuted), _alone(options)]
    bars = [] if options.quick else _bars(permuted)
    raw = {title: {k: asdict(t) for k, t in times.items()} for title, times in permuted}
    return Report("Independence tests", tables, bars, raw)


# ---- what is run ----------------------------------------------------------------------------


def variables(n: int, dx: int, dy: int) -> tuple[np.ndarray, np.ndarray]:
    """Variables that depend on each other a little."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((n, dx)), rng.standard_normal((n, dy))
    y[:, 0] += 0.1 * x[:, 0] ** 2
    return x, y


def _permuted(d: int, options: Options) -> Timed:
    """Exact permutation HSIC; ours and hyppo's choose their bandwidths, the loop is given them."""
    n, resamples = (200, 100) if options.quick else (2000, 1000)
    options.console.print(f"[dim]n = {n:,}, d = {d}[/]")
    x, y = variables(n, d, d)
    ours = htest.HSIC(null=htest.Permutation(resamples))
    kernels = [v.kernel for v in ours.test(x, y, rng=0).variables]
    rates = [k.rate for k in kernels if isinstance(k, RBF)]
    dense = (_DENSE + 1) / (resamples + 1)  # the statistic itself counts as one
    contenders = {
        "mercer": Contender(lambda: ours.test(x, y, rng=0)),
        "dense NumPy loop": Contender(
            lambda: hsic_peers.dense_hsic(x, y, rates[0], rates[1], _DENSE), dense
        ),
    }
    if peers.installed("hyppo"):
        theirs, share = hsic_peers.hyppo_hsic(), (_HYPPO + 1) / (resamples + 1)
        contenders["hyppo"] = Contender(lambda: theirs(x, y, _HYPPO), share)
        theirs(x[:20], y[:20], 1)  # compiles

    def check(name: str, answer: Any) -> None:
        if name == "dense NumPy loop":
            np.testing.assert_allclose(answer[0], ours.statistic(x, y), rtol=1e-9)

    times = interleaved(contenders, options.repeats, shared=options.shared, check=check)
    return f"HSIC, n = {n:,}, d = {d}, {resamples:,} permutations", times


def _alone(options: Options) -> Table:
    """What else there is, with 999 permutations."""
    n, many = (150, 2000) if options.quick else (2000, 100_000)
    x, y = variables(n, 10, 10)
    table = np.concatenate([x, y], axis=1)
    numbers = variables(many, 1, 1)
    energy, null = Energy(), htest.Permutation(999)
    calls = {
        f"HSICAgg, 100 pairs of kernels, n = {n:,}": lambda: htest.HSICAgg().test(x, y, rng=0),
        f"pairwise_independence, 20 columns, n = {n:,}": lambda: htest.pairwise_independence(
            table, rng=0
        ),
        f"HSIC(RBF, RBF), numbers, n = {many:,}": lambda: htest.HSIC(RBF(1.0), RBF(1.0)).test(
            *numbers, rng=0
        ),
        f"distance covariance, numbers, n = {many:,}": lambda: htest.HSIC(
            energy, energy, null=null
        ).test(*numbers, rng=0),
    }
    rows = []
    for name, call in calls.items():
        options.console.print(f"[dim]{name}[/]")
        found = interleaved({"": Contender(call)}, 2, shared=options.shared)[""]
        rows.append({"test": name, "seconds": found.best})
    return Table("Others, 999 permutations", rows, "The better of two runs.")


# ---- the printed page -----------------------------------------------------------------------


def _compared(title: str, times: dict[str, Timing]) -> Table:
    best = times["mercer"].best
    rows = [
        {"test": name, "seconds": timing.best, "/ mercer": timing.best / best}
        for name, timing in times.items()
    ]
    note = f"The loop did {_DENSE} permutations and hyppo {_HYPPO} on one core; times are scaled to all."
    return Table(title, rows, note)


def _bars(permuted: list[Timed]) -> list[Bar]:
    bars: list[Bar] = []
    for name, wanted in (("hyppo", 50.0), ("dense NumPy loop", 5.0)):
        ratios = [
            (title, times[name].best / times["mercer"].best)
            for title, times in permuted
            if name in times
        ]
        bars += worst(f"{name} / mercer", wanted, ratios, at_least=True)
    return bars
