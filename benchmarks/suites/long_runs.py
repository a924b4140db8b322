"""What takes long: processor seconds and growth of measures, tests and learners from 500 to 20,000 points."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import log
from typing import Any

import numpy as np

from benchmarks.report import Options, Report, Table
from mercer import htest, learn, rkhs
from mercer.config import config

Call = Callable[[np.ndarray, np.ndarray, np.ndarray], Any]

_FEW = (500, 2000, 5000, 20_000)  # points, where kernel matrices have factors of few columns
_FULL = (500, 2000, 5000)  # points, where kernel matrices have full rank

CALLS: dict[str, Call] = {
    "rkhs.coco": lambda x, y, z: rkhs.coco(None, None, x, y),
    "rkhs.kcca": lambda x, y, z: rkhs.kcca(None, None, x, y, ridge=0.01),
    "rkhs.nocco": lambda x, y, z: rkhs.nocco(None, None, x, y, ridge=0.01),
    "learn.KCCA": lambda x, y, z: learn.KCCA(random_state=0).fit(x, y),
    "KCI": lambda x, y, z: htest.KCI().test(x, y, z, rng=0),
    "DHSIC": lambda x, y, z: htest.DHSIC().test(x, y, z, rng=0),
    "SVR, C = 100": lambda x, y, z: learn.SVR(C=100.0).fit(x, z[:, 0]),
}
_MOST = {"learn.KCCA": 2000, "DHSIC": 2000, "SVR, C = 100": 2000}  # points at most, at full rank


def run(options: Options) -> Report:
    with config(threads=1):
        few = _table(1, (300, 600) if options.quick else _FEW, options)
        full = _table(10, (300, 600) if options.quick else _FULL, options)
    raw = {table.title: table.rows for table in (few, full)}
    return Report("Long runs", [few, full, _support_vectors(options)], [], raw)


def _table(d: int, sizes: tuple[int, ...], options: Options) -> Table:
    """Every call at every size, once, in seconds of processor time."""
    rows = []
    for name, call in CALLS.items():
        most = sizes[-1] if d == 1 and "SVR" not in name else _MOST.get(name, sizes[-1])
        row: dict[str, Any] = {"": name}
        times: list[tuple[int, float]] = []
        for n in sizes:
            if n > most:
                row[f"n = {n:,}"] = None
                continue
            options.console.print(f"[dim]{name}, n = {n:,}, d = {d}[/]")
            seconds = _seconds(call, n, d)
            times.append((n, seconds))
            row[f"n = {n:,}"] = seconds
        (m, before), (n, after) = times[-2:]
        row["exponent"] = log(after / before) / log(n / m)
        rows.append(row)
    note = (
        "Seconds of processor time, one call each, one thread of mercer; the exponent is between the two "
        f"largest sizes. Normal x, y = x / 3 + noise and z of {d} columns; SVR learns noise."
    )
    return Table(f"d = {d}", rows, note)


def _seconds(call: Call, n: int, d: int) -> float:
    x, y, z = np.random.default_rng(0).standard_normal((3, n, d))
    start = time.process_time()
    call(x, x / 3 + y, z)
    return time.process_time() - start


def _support_vectors(options: Options) -> Table:
    """SVR on noise against LIBSVM, in steps and seconds."""
    from sklearn.svm import SVR as Theirs

    rng, rows = np.random.default_rng(0), []
    n = 100 if options.quick else 300
    for C in (1.0, 100.0, 1000.0):
        x, y = rng.standard_normal((n, 3)), rng.standard_normal(n)
        start = time.process_time()
        ours = learn.SVR(C=C).fit(x, y)
        middle = time.process_time()
        theirs = Theirs(C=C, gamma=ours.kernel_.rate).fit(x, y)
        seconds = middle - start, time.process_time() - middle
        row = {"C": C, "mercer, s": seconds[0], "LIBSVM, s": seconds[1]}
        row |= {"mercer, steps": int(ours.n_iter_[0]), "LIBSVM, steps": int(theirs.n_iter_)}
        rows.append(row)
    return Table(f"SVR on noise, n = {n}, d = 3", rows, "Seconds of processor time.")
