"""K @ v at a million points, beside other libraries."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.gpu.tools import header, met, normal, row, seconds
from mercer.gram import Gram
from mercer.kernels import RBF

_N, _SMALL, _BLOCK = 1_000_000, 65_536, 8192


def products() -> None:
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
    t = seconds(lambda: wide @ v, 2)
    row("1, float64 (n = 100,000)", f"{t:.3f}", f"{1e10 / t:.2e}", "")
    x, v = x[:_SMALL].contiguous(), normal(_SMALL, 1)
    others: dict[str, Callable[[Any, Any], Callable[[], Any]]] = {
        "torch in blocks": _blocked,
        "GPyTorch in blocks": _gpytorch,
        "KeOps": _keops,
    }
    exact = torch.cat(
        [RBF(3.0).pairwise(x[i : i + 1024].double(), x.double()) @ v.double() for i in (0, 4096)]
    )
    for name, make in others.items():
        try:
            work = make(x, v)
            got = work().double()
            found = torch.cat([got[i : i + 1024] for i in (0, 4096)])
            error = float((found - exact).norm() / exact.norm())
            t = seconds(work, 2)
        except Exception as error:  # what cannot be had there is said, and why
            row(name, "-", type(error).__name__, str(error).splitlines()[0][:90])
            continue
        other = _SMALL**2 / t
        row(f"1, {name} (n = {_SMALL:,}, error {error:.0e})", "", f"{other:.2e}", f"x {rate / other:.1f}")


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
    from gpytorch.kernels import RBFKernel

    kernel = RBFKernel().cuda()
    kernel.lengthscale = 3.0

    @torch.no_grad()
    def work() -> Any:
        return torch.cat([kernel(x[i : i + _BLOCK], x) @ v for i in range(0, _SMALL, _BLOCK)])

    return work


def _keops(x: Any, v: Any) -> Callable[[], Any]:
    os.environ.setdefault("KEOPS_VERBOSE", "0")
    from pykeops.torch import LazyTensor

    a, b = LazyTensor(x[:, None, :]), LazyTensor(x[None, :, :])
    k = (-((a - b) ** 2).sum(-1) / 18).exp()
    return lambda: k @ v
