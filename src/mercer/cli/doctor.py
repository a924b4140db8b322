"""`mercer doctor`: installed packages, hardware, and a self-test of mercer on this machine."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

import mercer
from mercer.backend import to_numpy
from mercer.gram import Gram
from mercer.kernels import RBF
from mercer.rkhs import mmd2

# Use of each optional package, and the extra that installs it.
_OPTIONAL = {
    "torch": ("tensors and GPUs", "torch"),
    "numba": ("compiled loops", "compiled"),
    "scikit-learn": ("learners and feature maps", "learn"),
    "matplotlib": ("plots", "plot"),
    "pandas": ("data frames", "frames"),
    "polars": ("data frames", "frames"),
    "pyarrow": ("Parquet and Arrow files", "frames"),
    "jinja2": ("reports", "report"),
    "h5py": ("data sets in HDF5 files", "data"),
    "pillow": ("data sets of images", "data"),
    "POT": ("exact transport in several dimensions", "transport"),
    "dask": ("work on several machines", "cluster"),
    "onnx": ("learners as ONNX models", "onnx"),
}


@dataclass(frozen=True)
class Check:
    """Outcome of one comparison of the self-test."""

    name: str
    passed: bool
    detail: str


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show versions and hardware, and run a self-test of a few seconds."""
    checks = _checks()
    healthy = all(check.passed for check in checks)
    findings = {
        "versions": _versions(),
        "machine": _machine(),
        "blas": _blas(),
        "gpu": _gpu(),
        "checks": [asdict(check) for check in checks],
        "rates": _rates() if healthy else {},
    }
    if as_json:
        typer.echo(json.dumps(findings, indent=2))
    else:
        _show(findings)
    if not healthy:
        raise typer.Exit(1)


# ---- versions and hardware --------------------------------------------------------------------


def _versions() -> dict[str, str | None]:
    packages = ["numpy", "scipy", "array-api-compat", "narwhals", "threadpoolctl", *_OPTIONAL]
    core = {"mercer": mercer.__version__, "python": platform.python_version()}
    return core | {name: _installed(name) for name in packages}


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _machine() -> dict[str, Any]:
    total, available = _memory()
    now = mercer.settings()
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "memory_total": total,
        "memory_available": available,
        "budget": now.memory,
        "threads": now.workers,
    }


def _memory() -> tuple[int | None, int | None]:
    """Total and available bytes, within the limit of a container; None where unknown."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        sizes = {line.split(":")[0]: 1024 * int(line.split()[1]) for line in lines}
        total, available = sizes["MemTotal"], sizes["MemAvailable"]
    except (OSError, KeyError):
        try:
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), None
        except (AttributeError, OSError, ValueError):
            return None, None
    limit = _number("/sys/fs/cgroup/memory.max")
    if limit is None or limit >= total:
        return total, available
    used = _number("/sys/fs/cgroup/memory.current") or 0
    return limit, min(available, limit - used)


def _number(path: str) -> int | None:
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):
        return None


def _blas() -> list[dict[str, Any]]:
    from threadpoolctl import threadpool_info

    keys = ("internal_api", "version", "architecture", "num_threads")
    return [
        {k: pool.get(k) for k in keys} for pool in threadpool_info() if pool["user_api"] == "blas"
    ]


def _gpu() -> dict[str, Any]:
    """CUDA devices that torch can use, or advice on how to get one."""
    if find_spec("torch") is not None:
        cuda = import_module("torch").cuda
        if cuda.is_available():
            names = [cuda.get_device_name(i) for i in range(cuda.device_count())]
            return {"devices": names, "advice": "pass CUDA tensors to compute there"}
    cards = _nvidia_cards()
    if not cards:
        return {"devices": [], "advice": "no NVIDIA GPU was found"}
    state = "is not installed" if find_spec("torch") is None else "cannot use it"
    advice = f"found {', '.join(cards)}, but torch {state}: install a CUDA build of torch"
    return {"devices": [], "advice": advice}


def _nvidia_cards() -> list[str]:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    command = [tool, "--query-gpu=name", "--format=csv,noheader"]
    try:
        listing = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return listing.stdout.split("\n")[:-1]


# ---- self-test --------------------------------------------------------------------------------


def _checks() -> list[Check]:
    """Comparisons of the self-test; any exception is a failed check, not a crash."""
    try:
        return _comparisons()
    except Exception as problem:
        return [Check("mercer runs", False, f"{type(problem).__name__}: {problem}")]


def _comparisons() -> list[Check]:
    """Two ways to compute the same numbers, on fixed data."""
    rng = np.random.default_rng(0)
    n = 1500  # enough for several tiles
    x, w = rng.standard_normal((n, 5)), rng.choice([-1.0, 1.0], size=(n, 20))
    kernel = RBF(2.0)
    dense, gram = kernel(x), Gram(kernel, x)
    halves = np.where(np.arange(n) < n // 2, 2 / n, -2 / n)
    checks = [
        _same("tiled product = dense product", lambda: (gram @ w, dense @ w)),
        _same("quad = naive sum", lambda: (gram.quad(w), np.sum(w * (dense @ w), axis=0))),
        _same("one thread = all threads", lambda: (_on_one_thread(gram, w), gram.quad(w))),
        _same(
            "MMD = quadratic form",
            lambda: (
                mmd2(kernel, x[: n // 2], x[n // 2 :], unbiased=False),
                halves @ dense @ halves,
            ),
        ),
        _same(
            "float32 near float64", lambda: (Gram(kernel, x.astype("f4")).sum(), dense.sum()), 1e-5
        ),
    ]
    if find_spec("torch") is not None:
        checks.append(_same("torch = NumPy", lambda: (_on_torch(kernel, x, w), gram.quad(w))))
    return checks


def _same(name: str, compute: Callable[[], tuple[Any, Any]], tolerance: float = 1e-9) -> Check:
    """Compare two computations of one number or array."""
    try:
        ours, other = (np.asarray(value, dtype=np.float64) for value in compute())
        error = float(np.max(np.abs(ours - other)) / np.max(np.abs(other)))
    except Exception as problem:
        return Check(name, False, f"{type(problem).__name__}: {problem}")
    return Check(name, error <= tolerance, f"relative difference {error:.1e}")


def _on_one_thread(gram: Any, w: np.ndarray) -> Any:
    with mercer.config(threads=1):
        return gram.quad(w)


def _on_torch(kernel: Any, x: np.ndarray, w: np.ndarray) -> Any:

    tensor = import_module("torch").asarray
    return to_numpy(Gram(kernel, tensor(x)).quad(tensor(w)))


def _rates() -> dict[str, float]:
    """Rough speed of matrix products, exponentials and quadratic forms."""
    a = np.random.default_rng(0).standard_normal((1000, 1000))
    n = 4000
    gram, w = Gram(RBF(2.0), np.resize(a, (n, 5))), np.ones(n)
    return {
        "GEMM_GFLOP_per_s": 2e-9 * 1000**3 / _seconds(lambda: a @ a),
        "exp_per_ns": 1e-9 * a.size / _seconds(lambda: np.exp(a)),
        "Gram_entries_per_ns": 1e-9 * n**2 / _seconds(lambda: gram.quad(w)),
    }


def _seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Shortest of a few runs, after one to warm up."""
    work()
    times = []
    for _ in range(repeats):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)


# ---- output -----------------------------------------------------------------------------------


def _show(findings: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    for title, rows in _tables(findings).items():
        if not rows:
            continue
        table = Table(title=title, title_justify="left", show_header=False)
        table.add_column(no_wrap=True)
        table.add_column()
        for row in rows:
            table.add_row(*map(Text, row))  # Text: rich would take [torch] for markup
        console.print(table)
    failed = sum(not check["passed"] for check in findings["checks"])
    verdict = (
        "All checks passed."
        if not failed
        else f"{failed} of {len(findings['checks'])} checks failed; please report this."
    )
    console.print(verdict, style="bold red" if failed else "bold green")


def _tables(findings: dict[str, Any]) -> dict[str, list[tuple[str, str]]]:
    machine = findings["machine"]
    blas = [
        f"{b['internal_api']} {b['version'] or ''}, {b['num_threads']} threads"
        for b in findings["blas"]
    ]
    return {
        "Versions": [(k, v or _missing(k)) for k, v in findings["versions"].items()],
        "Machine": [
            ("system", machine["system"]),
            ("cores", str(machine["cores"])),
            (
                "memory",
                f"{_gib(machine['memory_total'])}, {_gib(machine['memory_available'])} free",
            ),
            ("BLAS", "\n".join(blas) or "not recognised"),
            ("GPU", ", ".join(findings["gpu"]["devices"]) or findings["gpu"]["advice"]),
            ("memory budget", _gib(machine["budget"])),
            ("tile threads", str(machine["threads"])),
        ],
        "Self-test": [
            ("passed" if check["passed"] else "FAILED", f"{check['name']}: {check['detail']}")
            for check in findings["checks"]
        ],
        "Speed, roughly": [
            (unit.replace("_", " "), f"{rate:.3g}") for unit, rate in findings["rates"].items()
        ],
    }


def _missing(package: str) -> str:
    use, extra = _OPTIONAL.get(package, ("", ""))
    return f"not installed ({use}: pip install 'mercer[{extra}]')" if use else "not installed"


def _gib(size: int | None) -> str:
    return "unknown" if size is None else f"{size / 2**30:.1f} GiB"
