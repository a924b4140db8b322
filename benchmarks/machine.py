"""The machine: a description without names, and its limits for kernel work, measured."""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from mercer.gram import fast_exp

DTYPES = ("float64", "float32")
_BUFFER = 2**18  # bytes each thread exponentiates: stays in its own cache
_FINE = time.get_clock_info("thread_time").resolution < 1e-6
_clock = time.thread_time if _FINE else time.perf_counter  # processor time: others do not count
_PEERS = ("numba", "torch", "pykeops", "scikit-learn")


def cores() -> int:
    """The cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@cache
def describe() -> dict[str, str]:
    """CPU, cores, system and versions; no host names, no paths."""
    blas = {
        f"{b['internal_api']} {b['version']}"
        for b in ThreadpoolController().info()
        if b["user_api"] == "blas"
    }
    told = {"CPU": _cpu(), "cores": str(cores()), "system": platform.system()}
    told |= {
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "BLAS": ", ".join(sorted(blas)),
    }
    for name in ("mercer", *_PEERS):
        found = _version(name)
        told |= {name: found} if found else {}
    return told


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            facts = dict(map(str.strip, line.split(":", 1)) for line in lines if ":" in line)
    except OSError:
        return platform.processor() or platform.machine()
    model = facts.get("model name", platform.machine())
    wide = [f for f in ("avx2", "avx512f") if f in facts.get("flags", "").split()]
    return " ".join([model, *wide[-1:]])


def _version(name: str) -> str | None:
    if name == "mercer":
        import mercer

        return mercer.__version__
    try:
        return version(name)
    except PackageNotFoundError:
        return None


class Limits:
    """The best rates seen so far, on all cores or fewer; `measure` again and again as the runs go on.

    `gemm[dtype]` in flop/s, `exp[name, dtype]` in values/s: NumPy's and, with numba, mercer's
    compiled one. Every core works by itself, and their rates are added.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or cores()
        self.gemm: dict[str, float] = {}
        self.exp: dict[tuple[str, str], float] = {}
        self.history: list[dict[str, float]] = []
        self._pool = ThreadPoolExecutor(self.threads)

    def measure(self, repeats: int = 1) -> None:
        """Keep the best of what was seen before and of `repeats` new runs."""
        for _ in range(repeats):
            seen: dict[str, float] = {}
            for dtype in DTYPES:
                gemm = self._on_all_cores(lambda d=dtype: _gemm_rate(d))
                self.gemm[dtype] = max(gemm, self.gemm.get(dtype, 0))
                seen[f"GEMM {dtype}"] = gemm
                for name, exp in _exponentials().items():
                    rate = self._on_all_cores(lambda f=exp, d=dtype: _exp_rate(f, d))
                    self.exp[name, dtype] = max(rate, self.exp.get((name, dtype), 0))
                    seen[f"exp {name} {dtype}"] = rate
            self.history.append({key: float(f"{rate:.4g}") for key, rate in seen.items()})

    def best_exp(self, dtype: str) -> tuple[str, float]:
        """The fastest exponential: its name and its rate."""
        rates = {name: rate for (name, kind), rate in self.exp.items() if kind == dtype}
        return max(rates.items(), key=lambda pair: pair[1])

    def floor(self, n: int, m: int, d: int, v: int, dtype: str) -> float:
        """Seconds that K(X, Y) @ V of a Gaussian kernel takes at least: 2nm(d+v)/GEMM + nm/exp."""
        return 2 * n * m * (d + v) / self.gemm[dtype] + n * m / self.best_exp(dtype)[1]

    def rows(self) -> list[dict[str, Any]]:
        """For a table; `median` tells how steady the machine was."""
        rows = []
        for key in self.history[0]:
            rates = [seen[key] for seen in self.history]
            unit = "GFLOP/s" if key.startswith("GEMM") else "10^9/s"
            best, median = max(rates) / 1e9, float(np.median(rates)) / 1e9
            rows.append({"limit": key, "best": best, "unit": unit, "median / best": median / best})
        return rows

    def _on_all_cores(self, rate: Callable[[], float]) -> float:
        """The sum of the rates of threads that start together, BLAS on one thread each."""
        start = threading.Barrier(self.threads)

        def run(_: int) -> float:
            start.wait()
            return rate()

        with ThreadpoolController().limit(limits=1, user_api="blas"):
            return sum(self._pool.map(run, range(self.threads)))


def _gemm_rate(dtype: str, size: int = 768, times: int = 4) -> float:
    """Flop per second of one thread, the best of a few products."""
    a = np.random.default_rng(0).random((size, size)).astype(dtype)
    out = np.empty_like(a)
    spent = [_seconds(lambda: np.matmul(a, a, out=out)) for _ in range(times)]
    return 2 * size**3 / min(spent)


def _exp_rate(exp: Callable[[np.ndarray], Any], dtype: str, times: int = 100) -> float:
    """Values per second of one thread, in place; three times from (-20, 0) nothing overflows."""
    fresh = np.linspace(-20, 0, _BUFFER // np.dtype(dtype).itemsize, dtype=dtype)
    spent = []
    for _ in range(times):
        x = fresh.copy()
        spent.append(_seconds(lambda x=x: (exp(x), exp(x), exp(x))))
    return 3 * fresh.size / float(np.median(spent))


def _seconds(call: Callable[[], Any]) -> float:
    start = _clock()
    call()
    return _clock() - start


def _exponentials() -> dict[str, Callable[[np.ndarray], Any]]:
    found: dict[str, Callable[[np.ndarray], Any]] = {"NumPy": lambda x: np.exp(x, out=x)}
    if find_spec("numba") is not None:
        found["compiled"] = fast_exp.compiled_exp
    return found
