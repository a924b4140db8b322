"""Ridge regression: exact and on landmarks, against scikit-learn, Falkon and the floor of the machine."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from benchmarks import peers
from benchmarks.footprint import load_compiled_loops, peak, resident
from benchmarks.machine import Limits
from benchmarks.report import Bar, Options, Report, Table
from benchmarks.timing import Contender, Timing, interleaved
from mercer.kernels import RBF
from mercer.learn import KernelRidge, NystromRidge

BUDGET, MIB = "512MiB", 2**20
_D, _LANDMARKS, _RIDGE = 10, 1000, 1.0
_KERNEL = RBF(float(_D) ** 0.5)
_LARGEST = 100_000  # points at which the others run; their times are scaled to more

Times = dict[str, Timing]


def run(options: Options) -> Report:
    limits = Limits()
    limits.measure(1 if options.quick else 5)
    sizes = [2000] if options.quick else [100_000, 1_000_000]
    exact = _exact(options)
    m = 100 if options.quick else _LANDMARKS
    landmarks = {n: _landmarks(n, m, limits, options) for n in sizes}
    memory = _memory(options)
    tables = [
        _exact_table(exact, options),
        *(_landmark_table(n, m, times, limits) for n, times in landmarks.items()),
        memory,
    ]
    bars = [] if options.quick else _bars(exact, landmarks, limits, memory)
    raw = {"exact": _plain(exact)} | {str(n): _plain(times) for n, times in landmarks.items()}
    return Report("Ridge regression", tables, bars, raw)


def problem(n: int, dtype: str = "float64") -> tuple[np.ndarray, np.ndarray]:
    """Points, and a smooth function of them with noise."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, _D))
    y = np.sin(x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * rng.standard_normal(n)
    return x.astype(dtype), y.astype(dtype)


# ---- what is run ----------------------------------------------------------------------------


def _exact(options: Options) -> Times:
    from sklearn.kernel_ridge import KernelRidge as Theirs

    n = 500 if options.quick else 10_000
    options.console.print(f"[dim]exact, n = {n:,}[/]")
    data = {dtype: problem(n, dtype) for dtype in ("float64", "float32")}
    found: dict[str, Any] = {}

    def ours(dtype: str) -> Any:
        learner = KernelRidge(_KERNEL, _RIDGE, intercept=False)  # as scikit-learn's
        found[dtype] = learner.fit(*data[dtype])

    def theirs() -> Any:
        found["theirs"] = Theirs(_RIDGE, kernel="rbf", gamma=_KERNEL.rate).fit(*data["float64"])

    def check(name: str, _: Any) -> None:
        if len(found) == 3:
            x = data["float64"][0][:100]
            wanted = found["theirs"].predict(x)
            np.testing.assert_allclose(found["float64"].predict(x), wanted, atol=1e-6)
            single = found["float32"].predict(x.astype("float32"))
            np.testing.assert_allclose(single, wanted, atol=0.02)

    contenders = {
        "mercer": Contender(lambda: ours("float64")),
        "mercer, float32": Contender(lambda: ours("float32")),
        "scikit-learn": Contender(theirs),
    }
    repeats = max(1, options.repeats // 2)
    return interleaved(contenders, repeats, shared=options.shared, check=check)


def _landmarks(n: int, m: int, limits: Limits, options: Options) -> Times:
    options.console.print(f"[dim]{m:,} landmarks, n = {n:,}[/]")
    data = {dtype: problem(n, dtype) for dtype in ("float64", "float32")}
    part = min(n, _LARGEST)
    errors: dict[str, float] = {}

    def score(predicted: np.ndarray, y: np.ndarray) -> float:
        return float(np.mean((np.asarray(predicted) - y) ** 2))

    def ours(dtype: str) -> Any:
        x, y = data[dtype]
        fitted = NystromRidge(_KERNEL, _RIDGE, landmarks=m, random_state=0).fit(x, y)
        return score(fitted.predict(x[:1000]), y[:1000])

    contenders = {
        "mercer": Contender(lambda: ours("float64")),
        "mercer, float32": Contender(lambda: ours("float32")),
        "scikit-learn": Contender(lambda: _theirs(*data["float64"], part, m, score), part / n),
        "scikit-learn, float32": Contender(
            lambda: _theirs(*data["float32"], part, m, score), part / n
        ),
    }
    if peers.installed("falkon"):
        contenders["Falkon"] = Contender(
            lambda: _falkon(*data["float32"], part, m, score), part / n
        )

    def check(name: str, error: float) -> None:
        errors[name] = error
        ours = name.startswith("mercer")  # peers learn from a part of very many points
        if ours and error > 1.2 * min(errors.values()):
            raise AssertionError(f"{name} has a mean squared error of {error:.3g}: {errors}")

    repeats = max(1, options.repeats // (2 if n <= _LARGEST else 4))
    return interleaved(
        contenders, repeats, shared=options.shared, between=limits.measure, check=check
    )


def _theirs(x: np.ndarray, y: np.ndarray, part: int, m: int, score: Any) -> float:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    features = Nystroem(gamma=_KERNEL.rate, n_components=m, random_state=0)
    line = make_pipeline(features, Ridge(_RIDGE, fit_intercept=False)).fit(x[:part], y[:part])
    return score(line.predict(x[:1000]), y[:1000])


def _falkon(x: np.ndarray, y: np.ndarray, part: int, m: int, score: Any) -> float:
    import falkon
    import torch

    kernel = falkon.kernels.GaussianKernel(_KERNEL.bandwidth)
    options = falkon.FalkonOptions(use_cpu=True, keops_active="no")
    learner = falkon.Falkon(kernel, _RIDGE / part, m, seed=0, maxiter=20, options=options)
    tensors = torch.from_numpy(x[:part]), torch.from_numpy(y[:part, None])
    found = learner.fit(*tensors).predict(tensors[0][:1000])
    return score(found[:, 0].numpy(), y[:1000])


def _memory(options: Options) -> Table:
    n, many = (500, 3000) if options.quick else (10_000, 1_000_000)
    rows = []
    for what, points in (("exact", n), ("exact-peer", n), ("streamed", many)):
        options.console.print(f"[dim]memory, {what}[/]")
        command = [sys.executable, "-m", __name__, what, str(points)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found = json.loads(done.stdout)
        row: dict[str, Any] = {"learner": _NAMES[what], "points": points}
        row |= {f"{key}, MiB": found[key] / MIB for key in ("before", "growth")}
        rows.append(row | {"processor seconds": found["cpu"]})
    note = (
        "Before: after imports and with the data. Growth: what fit added at most. Streamed: 1,000 "
        f"landmarks, from a memory map of float64, under a budget of {BUDGET}. Each in a fresh process."
    )
    return Table("Memory", rows, note)


_NAMES = {
    "exact": "KernelRidge",
    "exact-peer": "scikit-learn KernelRidge",
    "streamed": "NystromRidge",
}


# ---- the printed page -----------------------------------------------------------------------


def floor(n: int, m: int, limits: Limits, dtype: str) -> float:
    """Seconds that K'K of a Gaussian K (n, m) takes at least: half a product of n m^2, n m kernel values."""
    products = n * m * (m + 2 * _D) / limits.gemm[dtype]
    return products + n * m / limits.best_exp(dtype)[1]


def _exact_table(times: Times, options: Options) -> Table:
    n = 500 if options.quick else 10_000
    base = times["scikit-learn"].best
    rows = [
        {"learner": name, "seconds": t.best, "scikit-learn /": base / t.best}
        for name, t in times.items()
    ]
    return Table(f"KernelRidge, n = {n:,}, d = {_D}", rows)


def _landmark_table(n: int, m: int, times: Times, limits: Limits) -> Table:
    rows = []
    for name, t in times.items():
        dtype = "float32" if "32" in name or name == "Falkon" else "float64"
        row = {"learner": name, "seconds": t.best}
        row["/ floor"] = t.best / floor(n, m, limits, dtype)
        rows.append(row | {"/ mercer, same dtype": t.best / _same(times, dtype).best})
    note = (
        "Floor: n m^2 operations of products (half of Z'Z), 2 n m d of distances, n m exponentials, at "
        f"the best rates seen. Peers ran on at most {_LARGEST:,} points, and their times were scaled."
    )
    missing = "" if "Falkon" in times else " Falkon is not installed."
    return Table(f"{m:,} landmarks, n = {n:,}, d = {_D}", rows, note + missing)


def _same(times: Times, dtype: str) -> Timing:
    return times["mercer" if dtype == "float64" else "mercer, float32"]


def _bars(exact: Times, landmarks: dict[int, Times], limits: Limits, memory: Table) -> list[Bar]:
    theirs = exact["scikit-learn"].best
    bars = [
        Bar(
            "KernelRidge: scikit-learn / mercer", 1.7, theirs / exact["mercer"].best, at_least=True
        ),
        Bar(
            "KernelRidge: scikit-learn / mercer in float32",
            3.2,
            theirs / exact["mercer, float32"].best,
            at_least=True,
        ),
    ]
    ours, other, streamed = (row["growth, MiB"] for row in memory.rows)
    bars.append(Bar("KernelRidge: memory / scikit-learn's", 0.5, ours / other))
    for n, times in landmarks.items():
        for dtype, wanted in (("float64", 2.5), ("float32", 4.0)):
            mine = _same(times, dtype).best
            where = f"n = {n:,}"
            ratio = mine / floor(n, _LANDMARKS, limits, dtype)
            bars.append(Bar(f"NystromRidge {dtype} / floor", 1.5, ratio, where))
            speed = times["scikit-learn"].best / mine
            bars.append(
                Bar(f"scikit-learn / NystromRidge {dtype}", wanted, speed, where, at_least=True)
            )
        if "Falkon" in times:
            speed = times["Falkon"].best / times["mercer, float32"].best
            bars.append(Bar("Falkon / NystromRidge float32", 3.0, speed, where, at_least=True))
    bars.append(Bar("NystromRidge: growth, MiB", 512.0, streamed, "n = 1,000,000"))
    return bars


def _plain(times: Times) -> dict[str, Any]:
    return {name: asdict(timing) for name, timing in times.items()}


# ---- memory, each in its own process ---------------------------------------------------------


def measure(what: str, n: int) -> dict[str, float]:
    """Bytes before, and how many more at most, of one fit."""
    load_compiled_loops()
    x, y = problem(n)
    with tempfile.TemporaryDirectory() as folder:
        if what == "streamed":
            held = np.memmap(Path(folder) / "x", dtype=np.float64, mode="w+", shape=x.shape)
            held[:] = x
            held.flush()
            del x, held
            x = np.memmap(Path(folder) / "x", dtype=np.float64, mode="r", shape=(n, _D))
        learner = _learner(what)
        learner.fit(*problem(50))  # imports
        before, spent = resident(), time.process_time()
        with mercer.config(memory=BUDGET if what == "streamed" else "2GiB"):
            learner.fit(x, y)
        found = {"before": before, "peak": peak(), "cpu": time.process_time() - spent}
        del x
    return found | {"growth": found["peak"] - before}


def _learner(what: str) -> Any:
    if what == "streamed":
        return NystromRidge(_KERNEL, _RIDGE, landmarks=_LANDMARKS, random_state=0)
    if what == "exact":
        return KernelRidge(_KERNEL, _RIDGE)
    from sklearn.kernel_ridge import KernelRidge as Theirs

    return Theirs(_RIDGE, kernel="rbf", gamma=_KERNEL.rate)


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
