"""What a pair of points costs in float64 at the least, measured: differences, products, one 2^x."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from benchmarks.gpu.tools import seconds

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


def pair_seconds(d: int) -> float:
    """2 d operations for a squared distance, one 2^x, and one product with v."""
    products = _rate(_fused_products) * 2
    return (2 * d + 1) / products + 1 / _rate(_powers)


def _rate(kernel: Any) -> float:
    """Rounds of a loop a second."""
    start = torch.rand(_PROGRAMS * _WIDE, dtype=torch.float64, device="cuda") * 0.1
    out = torch.empty_like(start)
    t = seconds(lambda: kernel[(_PROGRAMS,)](out, start, _TIMES, WIDE=_WIDE), 2)
    return _PROGRAMS * _WIDE * _TIMES / t
