"""python -m benchmarks.memory_promise [--slow | NAME ...]: memory of public calls under a budget, as JSON.

Run in a fresh process. Each case of `tests/memory` is called under `mercer.config(memory=...)`, at a
size whose matrices are far beyond the budget, after a small run that loads libraries. A line tells how
much the resident memory grew at its peak, or that the call was refused with a `MemoryBudgetError`.

numba is left out: its compiler takes some 130 MiB once in a process, whatever the budget is.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

THREADS = 2  # each has tiles of its own; a fixed number makes figures of two machines comparable
MMAP = {"MALLOC_MMAP_THRESHOLD_": str(2**22)}  # else glibc keeps freed arrays of up to 32 MiB


def main(arguments: list[str]) -> None:
    """Measure some cases, or all of them."""
    import mercer
    from tests.memory.cases import CASES

    slow, names = "--slow" in arguments, [name for name in arguments if name != "--slow"]
    chosen = names or [name for name, case in CASES.items() if slow or not case.slow]
    with mercer.config(threads=THREADS):
        prime()
    for name in chosen:
        case = CASES[name]
        with mercer.config(threads=THREADS):
            case.prepare(case.small)()
        found = measured(case.prepare(case.n), case.budget)
        told = {"name": name, "n": case.n, "budget": case.bytes, **found}
        print(json.dumps(told), flush=True)


def measured(call: Callable[[], Any], budget: str) -> dict[str, Any]:
    """The peak growth of resident memory during a call under a budget, and how the call ended."""
    import mercer

    released()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before, start, refusal = _status("VmRSS"), time.process_time(), ""
    with mercer.config(memory=budget, threads=THREADS):
        try:
            call()
        except mercer.MemoryBudgetError as error:
            refusal = str(error)
    seconds = time.process_time() - start
    return {"growth": _status("VmHWM") - before, "refusal": refusal, "seconds": seconds}


def prime() -> None:
    """Let every thread take the buffers that BLAS keeps for it."""
    import numpy as np

    from mercer.gram import Gram
    from mercer.kernels import RBF

    x = np.random.default_rng(0).standard_normal((2000, 5))
    for points in (x, x.astype(np.float32)):
        for columns in (1, 20, 600):
            _ = Gram(RBF(1.0), points) @ np.ones((len(x), columns), dtype=points.dtype)
        square = points @ points.T
        _ = square @ square


def released() -> None:
    """Give freed memory back to the system: growth into memory that is kept would not be seen."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith(field)))


if __name__ == "__main__":
    if not MMAP.items() <= os.environ.items():  # read when a process starts
        os.execve(
            sys.executable, [sys.executable, "-m", __spec__.name, *sys.argv[1:]], os.environ | MMAP
        )
    sys.modules["numba"] = None  # type: ignore[assignment]
    main(sys.argv[1:])
