"""Components and clusters: kernel PCA and spectral clustering against scikit-learn, without the matrix, KCCA."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from typing import Any

import numpy as np
from sklearn.cluster import SpectralClustering as TheirClusters
from sklearn.decomposition import KernelPCA as Theirs
from sklearn.metrics import adjusted_rand_score

from benchmarks.report import Bar, Options, Report, Table
from benchmarks.timing import Contender, Timing, interleaved
from mercer.gram import Gram
from mercer.kernels import RBF
from mercer.learn import KCCA, KernelKMeans, KernelPCA, LocalLinear, SpectralClustering

_NUMBER = 10  # components
_BUDGET = "512MiB"  # of config(memory=...), in the run without the matrix
_MIB = 2**20

Timed = tuple[str, dict[str, Timing]]


def run(options: Options) -> Report:
    timed = [_components(d, options) for d in (10, 100)]
    timed += [_clusters(options), _correlations(options)]
    memory = _memory(options)
    tables = [_compared(*each) for each in timed] + [memory, _others(options)]
    bars = [] if options.quick else _bars(timed, memory)
    raw = {title: {k: asdict(t) for k, t in times.items()} for title, times in timed}
    return Report("Components and clusters", tables, bars, raw)


# ---- what is run ----------------------------------------------------------------------------


def _components(d: int, options: Options) -> Timed:
    n = 600 if options.quick else 5000
    options.console.print(f"[dim]kernel PCA, d = {d}[/]")
    x = np.random.default_rng(0).standard_normal((n, d)) * 0.95 ** np.arange(d)
    kernel = RBF((2.0 * np.sum(x.var(axis=0))) ** 0.5)
    named: dict[str, Any] = {"kernel": "rbf", "gamma": kernel.rate}
    contenders = {
        "mercer": Contender(lambda: KernelPCA(_NUMBER, kernel=kernel).fit(x)),
        "scikit-learn, ARPACK": Contender(
            lambda: Theirs(_NUMBER, eigen_solver="arpack", **named).fit(x)
        ),
        "scikit-learn, randomized": Contender(
            lambda: Theirs(_NUMBER, eigen_solver="randomized", random_state=0, **named).fit(x)
        ),
    }
    found = {}

    def check(name: str, answer: Any) -> None:
        found[name] = answer.eigenvalues_
        if len(found) == 2 and "scikit-learn, randomized" not in found:
            np.testing.assert_allclose(*found.values(), rtol=1e-9)

    times = interleaved(contenders, options.repeats, shared=options.shared, check=check)
    return f"KernelPCA, {_NUMBER} components, n = {n:,}, d = {d}", times


def _clusters(options: Options) -> Timed:
    from sklearn.datasets import make_moons

    n = 300 if options.quick else 3000
    options.console.print("[dim]spectral clustering[/]")
    x, moon = make_moons(n, noise=0.08, random_state=0)
    kernel = RBF(0.1)
    contenders = {
        "mercer": Contender(
            lambda: SpectralClustering(2, kernel=kernel, random_state=0).fit_predict(x)
        ),
        "scikit-learn, ARPACK": Contender(
            lambda: TheirClusters(2, gamma=kernel.rate, random_state=0).fit_predict(x)
        ),
    }

    def check(name: str, answer: Any) -> None:
        if adjusted_rand_score(answer, moon) < 0.9:
            raise AssertionError(f"{name} did not find the moons")

    times = interleaved(contenders, options.repeats, shared=options.shared, check=check)
    return f"SpectralClustering, two moons, n = {n:,}", times


def _correlations(options: Options) -> Timed:
    from scipy.linalg import block_diag, eigh

    n = 150 if options.quick else 600
    options.console.print("[dim]kernel CCA[/]")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 1))
    y = np.cos(2 * x) + 0.3 * rng.standard_normal((n, 1))
    kernel, ridge = RBF(1.0), 0.01

    def dense() -> float:
        a, b = (np.asarray(Gram(kernel, v).centered().dense()) for v in (x, y))
        top = np.block([[np.zeros((n, n)), a @ b], [b @ a, np.zeros((n, n))]])
        bottom = block_diag(*(k @ k + n * ridge * k + 1e-9 * np.eye(n) for k in (a, b)))
        return float(eigh(top, bottom, eigvals_only=True, subset_by_index=(2 * n - 1,) * 2)[0])

    contenders = {
        "mercer": Contender(
            lambda: KCCA(1, kernel=kernel, kernel_y=kernel, ridge=ridge).fit(x, y).correlations_[0]
        ),
        "dense generalised eigenvalues": Contender(dense),
    }
    found: dict[str, float] = {}

    def check(name: str, answer: Any) -> None:
        found[name] = float(answer)
        if len(found) == 2:
            np.testing.assert_allclose(*found.values(), rtol=1e-6)

    times = interleaved(contenders, min(options.repeats, 3), shared=options.shared, check=check)
    return f"KCCA, n = {n:,}, d = 1, one ridge", times


def _memory(options: Options) -> Table:
    """Kernel PCA of many points in a process of its own."""
    n = 2000 if options.quick else 20_000
    options.console.print(f"[dim]kernel PCA, n = {n:,}, without the matrix[/]")
    command = [sys.executable, "-m", "benchmarks.suites.components", str(n), "10", _BUDGET]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    whole = 8 * n**2 / _MIB
    row = {
        "n": n,
        "seconds of all cores": found["cpu"],
        "growth, MiB": found["growth"] / _MIB,
        "the matrix, MiB": whole,
        "growth / matrix": found["growth"] / _MIB / whole,
        "largest residual": found["residual"],
    }
    note = f"Under config(memory={_BUDGET!r}); residuals |K~u - l u| in units of the largest eigenvalue."
    return Table(f"KernelPCA, {_NUMBER} components, without the matrix", [row], note)


def measure(n: int, d: int, memory: str) -> dict[str, float]:
    """Bytes more than before, processor seconds, and the residual of the eigenpairs."""
    import time

    import mercer
    from benchmarks.footprint import load_compiled_loops, peak, resident

    x = np.random.default_rng(0).standard_normal((n, d))
    kernel = RBF((2.0 * d) ** 0.5)
    load_compiled_loops()
    KernelPCA(2, kernel=kernel).fit(x[:50])
    before, start = resident(), time.process_time()
    with mercer.config(memory=memory):
        pca = KernelPCA(_NUMBER, kernel=kernel)
        scores = pca.fit_transform(x)
        cpu, growth = time.process_time() - start, peak() - before
        moved = Gram(kernel, x).centered() @ scores
    off = np.linalg.norm(moved - scores * pca.eigenvalues_, axis=0) / np.linalg.norm(scores, axis=0)
    return {"cpu": cpu, "growth": growth, "residual": float(off.max() / pca.eigenvalues_[0])}


def _others(options: Options) -> Table:
    n = 500 if options.quick else 5000
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 10))
    t = rng.uniform(0, 6, size=(n, 1))
    y = np.sin(t[:, 0]) + 0.3 * rng.standard_normal(n)
    kernel = RBF(4.0)
    calls = {
        "KernelKMeans, 10 clusters, 10 initialisations, 20 iterations": lambda: _hushed(
            lambda: KernelKMeans(10, kernel=kernel, max_iter=20, random_state=0).fit(x)
        ),
        "LocalLinear, 16 bandwidths by leave-one-out": lambda: LocalLinear().fit(t, y),
        "KCCA, d = 1, 13 ridges by 5 folds": lambda: KCCA(2, random_state=0).fit(t, y),
    }
    rows = []
    for name, call in calls.items():
        options.console.print(f"[dim]{name}[/]")
        found = interleaved({"": Contender(call)}, 2, shared=options.shared)[""]
        rows.append({"learner": f"{name}, n = {n:,}", "seconds": found.best})
    return Table("Others", rows, "The better of two runs.")


def _hushed(call: Any) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()


# ---- the printed page -----------------------------------------------------------------------


def _compared(title: str, times: dict[str, Timing]) -> Table:
    best = times["mercer"].best
    rows = [
        {"who": name, "seconds": timing.best, "/ mercer": timing.best / best}
        for name, timing in times.items()
    ]
    return Table(title, rows)


def _bars(timed: list[Timed], memory: Table) -> list[Bar]:
    bars = []
    for title, times in timed[:2]:
        ratio = times["scikit-learn, ARPACK"].best / times["mercer"].best
        bars.append(Bar("scikit-learn's ARPACK / mercer", 1.0, ratio, title, at_least=True))
    row = memory.rows[0]
    where = f"n = {row['n']:,}"
    bars.append(Bar("memory / kernel matrix", 0.2, row["growth / matrix"], where))
    return bars


if __name__ == "__main__":
    points, width, budget = sys.argv[1:]
    print(json.dumps(measure(int(points), int(width), budget)))
