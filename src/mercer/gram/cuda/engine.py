"""Products and sums of fused tiles, on the device of the points."""

from __future__ import annotations

from math import ceil
from typing import Any

from mercer.gram.cuda.operands import ROWS_PER_TILE, halves
from mercer.gram.cuda.plan import Plan
from mercer.gram.cuda.tile import operand_arguments
from mercer.gram.cuda.triton_source import product_kernel, sums_kernel

_MAX_VECTORS_OF_SUMS = 4  # of a pass of `sums`; products with more columns use tensor cores
_MAX_FLOAT32_TERMS = 250_000  # of a sum in float32; sums of splits are in float64
_MIN_PROGRAMS = 1056  # eight for each of 132 multiprocessors keep the device busy
_SUMS = {
    "light": {"BM": 128, "BN": 128, "num_warps": 4, "num_stages": 3},
    "heavy": {"BM": 64, "BN": 64, "num_warps": 4, "num_stages": 3},
    "plain": {"BM": 64, "BN": 16, "num_warps": 4, "num_stages": 2},
    "double": {"BM": 64, "BN": 8, "num_warps": 4, "num_stages": 2},
}  # tile shapes by `Plan.needs`
_PRODUCT = {
    "light": {"BN": 64, "num_warps": 8, "num_stages": 3},
    "heavy": {"BN": 32, "num_warps": 8, "num_stages": 2},
    "plain": {"BN": 32, "num_warps": 8, "num_stages": 2},
}


def times(plan: Plan, v: Any) -> Any:
    """K @ v in float64: (n, k)."""
    import torch

    if v.shape[1] > _MAX_VECTORS_OF_SUMS and plan.like.dtype == torch.float32:
        return _product(plan, v)
    parts = [
        row_sums(plan, v[:, c : c + _MAX_VECTORS_OF_SUMS].T.contiguous())
        for c in range(0, v.shape[1], _MAX_VECTORS_OF_SUMS)
    ]
    return torch.cat(parts).T


def _product(plan: Plan, v: Any) -> Any:
    """K @ v for many columns of float32, by products of half-precision parts: (n, k)."""
    import torch

    (n, m), k = plan.shape, v.shape[1]
    wide = 16 if k <= 16 else 32 if k <= 32 else 64 if k <= 64 else 128
    sizes = torch.clamp(v.abs().amax(dim=0), min=1e-30)
    tall = torch.nn.functional.pad(v / sizes, (0, -k % wide, 0, -m % ROWS_PER_TILE))
    high, low = halves(tall)
    splits, per = _splits(n, m)
    out = torch.empty((splits, n, tall.shape[1]), dtype=torch.float32, device=v.device)
    product_kernel(plan)[(ceil(n / ROWS_PER_TILE), tall.shape[1] // wide, splits)](
        out,
        high,
        low,
        torch.stack([1 / plan.unit, torch.ones_like(plan.unit)]),
        n,
        m,
        per,
        plan.parameters,
        *operand_arguments(plan),
        WIDTH=tall.shape[1],
        BM=ROWS_PER_TILE,
        BC=wide,
        **_PRODUCT[plan.needs],
    )
    total = out.sum(dim=0, dtype=torch.float64)[:, :k]
    return total * (sizes * plan.unit)


def _splits(n: int, m: int) -> tuple[int, int]:
    """The number of splits of the columns, and the number of columns of each."""
    target = max(ceil(m / _MAX_FLOAT32_TERMS), ceil(_MIN_PROGRAMS * ROWS_PER_TILE / n))
    per = ceil(m / target / ROWS_PER_TILE) * ROWS_PER_TILE
    return ceil(m / per), per


def family_sums(plan: Plan, v: Any) -> Any:
    """sum_j k(x_i, y_j) v_cj for vectors v (c, m), then sum_j k(x_i, y_j)^2, for all kernels: (k, c + 1, n)."""
    sums = row_sums(plan, v, squares=True)
    return sums.view(len(plan.formula.values), v.shape[0] + 1, -1)


def row_sums(plan: Plan, v: Any, squares: bool = False) -> Any:
    """sum_j k(x_i, y_j) v_cj for vectors v (c, m), then, with `squares`, sum_j k(x_i, y_j)^2: (c [+ 1], n).

    The rows of several kernels follow each other.
    """
    import torch

    n, m = plan.shape
    count = len(plan.formula.values) * (v.shape[0] + squares)
    splits, per = _splits(n, m)
    out = torch.empty((splits, count, n), dtype=plan.like.dtype, device=plan.like.device)
    tall = torch.nn.functional.pad(v.to(plan.like.dtype), (0, -m % ROWS_PER_TILE))
    kernel = sums_kernel(plan, v.shape[0], squares)
    shape = _SUMS[plan.needs]
    kernel[(ceil(n / shape["BM"]), splits)](
        out,
        tall,
        n,
        m,
        tall.shape[1],
        per,
        plan.parameters,
        *operand_arguments(plan),
        **shape,
    )
    return out.sum(dim=0, dtype=torch.float64)
