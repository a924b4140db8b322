"""What work costs at the least, from rates that are measured: operations, powers, bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl

from benchmarks.gpu.tools import normal, seconds

_PROGRAMS, _WIDE, _TIMES = 132 * 64, 1024, 400


@triton.jit
def _fused_products(out, start, times, WIDE: tl.constexpr):
    at = tl.program_id(0) * WIDE + tl.arange(0, WIDE)
    x = tl.load(start + at)
    y = x + 0.5
    for _ in range(times):
        x = tl.fma(x, y, y)
        y = tl.fma(y, x, x)
    tl.store(out + at, x + y)


@triton.jit
def _powers(out, start, times, WIDE: tl.constexpr):
    at = tl.program_id(0) * WIDE + tl.arange(0, WIDE)
    x = tl.load(start + at)
    for _ in range(times):
        x = tl.exp2(x - 1.0)
    tl.store(out + at, x)


@dataclass(frozen=True)
class Rates:
    """What the device does in a second."""

    halves: float  # operations of products of half precision
    copied: float  # bytes read and bytes written
    single: float  # operations of float32, a product and its sum being one
    double: float
    powers: float  # 2^x in float64

    def distance(self, d: int) -> float:
        """Seconds for a pair in float64: 2 d operations, one 2^x, and one product with v."""
        return (2 * d + 1) / self.double + 1 / self.powers

    def stein(self, d: int) -> float:
        """Seconds for a pair in float32: 5 d operations, and about a dozen for the profile."""
        return (5 * d + 12) / self.single


def rates() -> Rates:
    """Measured."""
    a = normal(8192, 8192).half()
    halves = 2 * 8192**3 / seconds(lambda: a @ a)
    b = torch.empty(2**30, dtype=torch.float32, device="cuda")
    c = torch.empty_like(b)
    copied = 2 * 4 * 2**30 / seconds(lambda: c.copy_(b))
    single, double = (2 * _rate(_fused_products, t) for t in (torch.float32, torch.float64))
    return Rates(halves, copied, single, double, _rate(_powers, torch.float64))


def _rate(kernel: Any, dtype: torch.dtype) -> float:
    """Rounds of a loop a second."""
    start = torch.rand(_PROGRAMS * _WIDE, dtype=dtype, device="cuda") * 0.1
    out = torch.empty_like(start)
    t = seconds(lambda: kernel[(_PROGRAMS,)](out, start, _TIMES, WIDE=_WIDE), 2)
    return _PROGRAMS * _WIDE * _TIMES / t
