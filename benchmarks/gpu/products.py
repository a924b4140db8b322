"""K @ v at a million points, beside other libraries."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import torch

from benchmarks.gpu.floor import Rates
from benchmarks.gpu.tools import header, met, normal, row, seconds
from mercer.gram import Gram
from mercer.kernels import RBF

_N, _SMALL, _BLOCK = 1_000_000, 65_536, 8192


def products(rates: Rates) -> None:
    """Rates of mercer, and of others on the same points."""
    x = normal(_N, 10)
    gram = Gram(RBF(3.0), x)
    header("K @ v, n = 1,000,000, d = 10, float32", "columns", "seconds", "pairs a second", "bar")
    rate = 0.0
    for k in (1, 4, 16, 100):
        v = normal(_N, k)
        t = seconds(lambda v=v: gram @ v, 2)
        rate = max(rate, _N**2 / t)
        row(k, f"{t:.3f}", f"{_N**2 / t:.2e}", met(_N**2 / t, 1.5e12, least=True) if k == 1 else "")
    wide = Gram(RBF(3.0), x[:100_000].double())
    v = normal(100_000, 1, dtype=torch.float64)
    t, floor = seconds(lambda: wide @ v, 2), 1e10 * rates.distance(10)
    row(
        "1, float64, n = 100,000",
        f"{t:.3f}",
        f"{1e10 / t:.2e}",
        f"floor {floor:.3f} s, ratio {met(t / floor, 1.5)} ({t / floor:.2f})",
    )
    x, v = x[:_SMALL].contiguous(), normal(_SMALL, 1)
    places = (0, 4096)
    exact = torch.cat(
        [RBF(3.0).pairwise(x[i : i + 1024].double(), x.double()) @ v.double() for i in places]
    )

    def measured(work: Callable[[], Any]) -> tuple[float, float]:
        got = work().double()
        found = torch.cat([got[i : i + 1024] for i in places])
        return _SMALL**2 / seconds(work, 2), float((found - exact).norm() / exact.norm())

    for name, other in (
        (f"torch in blocks, n = {_SMALL:,}", lambda: measured(_blocked(x, v))),
        (f"GPyTorch in blocks, n = {_SMALL:,}", lambda: measured(_gpytorch(x, v))),
        ("KeOps, n = 200,000", _keops),
    ):
        try:
            pairs, error = other()
        except Exception as why:  # what cannot be had is said, and why
            row(name, "-", type(why).__name__, str(why).splitlines()[0][:120])
            continue
        row(f"1, {name}, error {error:.0e}", "", f"{pairs:.2e}", f"mercer is {rate / pairs:.1f} x")


def _blocked(x: Any, v: Any) -> Callable[[], Any]:
    def work() -> Any:
        norms = (x * x).sum(1)
        parts = []
        for i in range(0, _SMALL, _BLOCK):
            r2 = norms[i : i + _BLOCK, None] + norms[None, :] - 2 * x[i : i + _BLOCK] @ x.T
            parts.append(torch.exp(r2.clamp_(min=0).mul_(-1 / 18)) @ v)
        return torch.cat(parts)

    return work


def _gpytorch(x: Any, v: Any) -> Callable[[], Any]:
    with redirect_stdout(sys.stderr):  # it loads KeOps where that is installed, which talks
        from gpytorch.kernels import RBFKernel

    kernel = RBFKernel().cuda()
    kernel.lengthscale = 3.0

    @torch.no_grad()
    def work() -> Any:
        return torch.cat([kernel(x[i : i + _BLOCK], x) @ v for i in range(0, _SMALL, _BLOCK)])

    return work


def _keops() -> tuple[float, float]:
    """Pairs a second and the relative error, from a process of its own, which may fail by itself."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu.keops"],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"ended with {done.returncode}: {done.stderr.strip()[:80]}")
    rate, error = json.loads(done.stdout.strip().splitlines()[-1])
    return rate, error
