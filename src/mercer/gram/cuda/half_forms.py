"""Quadratic forms of many sign columns, from kernel values of half precision that are written panel by panel.

A panel holds the values of several kernels, which share their distances, on a block of rows and
columns; one product with all sign columns follows for each kernel. A value is computed once however many
columns there are, and products of matrices in memory run at the full rate of the tensor cores.
"""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from mercer.gram.cuda.operands import ROWS_PER_TILE
from mercer.gram.cuda.plan import Plan
from mercer.gram.cuda.tile import operand_arguments
from mercer.gram.cuda.triton_source import values_kernel
from mercer.gram.threads import spans

_PANEL_ROWS = 8192  # of a panel: enough rows and columns for products at full rate
_PANEL_BYTES = 2**30  # of the panels of all kernels of a plan, at most
_PANEL_SHARE = 1 / 8  # of the free memory of the device, at most
_COLUMNS_PER_PROGRAM = 2048  # so that loads of the next tile overlap with the work on the last
_RELEASE_WITH_WIDE_SUMS = (2, 8)  # of torch: products of halves can be returned in float32
_TILES = {
    "light": {"BM": 128, "BN": 64, "num_warps": 4},
    "heavy": {"BM": 128, "BN": 64, "num_warps": 4},
    "plain": {"BM": 128, "BN": 64, "num_warps": 4},
    "double": {"BM": 64, "BN": 32, "num_warps": 4},
}  # tile shapes by `Plan.needs`


def panel_forms(plan: Plan, signs: Any, shifts: np.ndarray) -> Any:
    """sum_{i != j} s_ic s_jc (k(x_i, x_j) - shift) of every kernel k of a plan: (kernels, c), float64.

    Values less `shifts` (kernels,) are rounded to half precision. `signs` (N, c) are of half precision,
    N the number of points rounded up to a multiple of `ROWS_PER_TILE` with zeros below.
    """
    import torch

    tall, number = signs.shape[0], len(plan.formula.values)
    units = plan.unit.reshape(-1)
    shift = torch.as_tensor(shifts).to(units.device, units.dtype)
    scaling = torch.stack([1 / units, -shift / units], dim=1).contiguous()
    width = _panel_columns(signs, number)
    total = torch.zeros((number, signs.shape[1]), dtype=torch.float64, device=signs.device)
    buffer = torch.empty(
        number * min(_PANEL_ROWS, tall) * min(max(width, _PANEL_ROWS), tall),
        dtype=torch.float16,
        device=signs.device,
    )
    for rows in spans(tall, _PANEL_ROWS):
        products: list[Any] = [None] * number
        for columns in [rows, *spans(tall, width, first=rows.stop)]:
            panel = _panel(plan, rows, columns, scaling, buffer)
            for k in range(number):
                products[k] = _added(products[k], panel[k], signs[columns])
                if columns == rows:  # all others count twice
                    products[k] *= 0.5
        left = signs[rows].float()
        for k in range(number):
            total[k] += 2.0 * (products[k] * left).sum(dim=0, dtype=torch.float64)
    return units.double()[:, None] * total


def _panel(plan: Plan, rows: slice, columns: slice, scaling: Any, buffer: Any) -> Any:
    """The values of all kernels at these rows and columns, in their units: (kernels, rows, columns)."""
    shape = len(plan.formula.values), rows.stop - rows.start, columns.stop - columns.start
    tile = _TILES[plan.needs]
    size = shape[1] * shape[2]
    panel = buffer[: shape[0] * size].view(shape)
    values_kernel(plan)[(ceil(shape[2] / _COLUMNS_PER_PROGRAM), shape[1] // tile["BM"])](
        panel,
        scaling,
        size,
        shape[2],
        rows.start,
        columns.start,
        plan.parameters,
        *operand_arguments(plan),
        PER=_COLUMNS_PER_PROGRAM,
        DIAGONAL=rows == columns,
        **tile,
    )
    return panel


def _panel_columns(signs: Any, number: int) -> int:
    """Columns of a panel, a multiple of `ROWS_PER_TILE`, within the memory of the device."""
    import torch

    size = _PANEL_BYTES
    if signs.is_cuda:
        size = min(size, int(_PANEL_SHARE * torch.cuda.mem_get_info(signs.device)[0]))
    columns = size // (2 * number * _PANEL_ROWS)
    return max(columns // ROWS_PER_TILE, 1) * ROWS_PER_TILE


def _added(total: Any, a: Any, b: Any) -> Any:
    """total + ab for matrices of half precision, with sums in float32; the total is overwritten."""
    import torch

    release = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if not (a.is_cuda and release >= _RELEASE_WITH_WIDE_SUMS):
        product = a.float() @ b.float()
        return product if total is None else total.add_(product)
    if total is None:
        return torch.mm(a, b, out_dtype=torch.float32)
    return torch.addmm(total, a, b, out_dtype=torch.float32, out=total)
