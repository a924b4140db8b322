"""What the parts of the GPU benchmark share: clocks, random numbers, tables."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

_AWAKE = 0.5  # seconds of work after which a device that was idle is at full speed


def seconds(work: Callable[[], Any], repeats: int = 3) -> float:
    """The best of some runs, after a first one that compiles and as many as wake the device."""
    work()
    start = time.perf_counter()
    while timed(work) < _AWAKE and time.perf_counter() - start < _AWAKE:
        pass
    return min(timed(work) for _ in range(repeats))


def timed(work: Callable[[], Any]) -> float:
    """One run, until the device is done."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def judged(test: Any, *samples: Any) -> tuple[float, Any]:
    """A test's best time of two, and its result."""
    found: list[Any] = []
    t = seconds(lambda: found.append(test.test(*samples, rng=0)), 2)
    return t, found[-1]


def normal(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Standard normal numbers on the device."""
    return torch.randn(*shape, dtype=dtype, device="cuda")


def header(title: str, *columns: str) -> None:
    """The beginning of a table."""
    print(f"\n## {title}\n")
    print(f"| {' | '.join(columns)} |\n|{'-|' * len(columns)}")


def row(*cells: Any) -> None:
    """One of its rows."""
    shown = (f"{c:.4g}" if isinstance(c, float) else str(c) for c in cells)
    print(f"| {' | '.join(shown)} |", flush=True)


def met(value: float, bar: float, *, least: bool = False) -> str:
    """Whether a figure is within its bar."""
    good = value >= bar if least else value <= bar
    return f"{'>=' if least else '<='} {bar:g}: {'yes' if good else 'NO'}"
