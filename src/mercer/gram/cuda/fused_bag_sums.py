"""Sums of a matrix over bags of rows and bags of columns, by fused tiles: one program per pair of bags."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram.cuda.plan import Plan
from mercer.gram.cuda.tile import operand_arguments
from mercer.gram.cuda.triton_source import bags_kernel

_MAX_BAGS_PER_LAUNCH = 65_535  # bags of rows: the limit of the second dimension of a grid
_TILE_SHAPES = {"light": (64, 64), "heavy": (64, 64), "plain": (64, 16), "double": (64, 8)}


def bag_sums(plan: Plan, rows: Any, columns: Any, half: bool) -> Any:
    """sum_ij w_i v_j K_ij over the rows i of bag a and the columns j of bag b: (a, b), float64.

    `rows` and `columns` have `offsets` and `shares`; with `half` both are the same, K is symmetric,
    and only b >= a is computed.
    """
    import torch

    device = plan.like.device
    out = torch.zeros((len(rows), len(columns)), dtype=torch.float64, device=device)

    def put(values: np.ndarray, dtype: Any) -> Any:
        return torch.as_tensor(values).to(device, dtype)

    tall, wide = _TILE_SHAPES[plan.needs]
    first, second = put(rows.offsets, torch.int64), put(columns.offsets, torch.int64)
    u, v = put(rows.shares, plan.like.dtype), put(columns.shares, plan.like.dtype)
    for start in range(0, len(rows), _MAX_BAGS_PER_LAUNCH):
        bags_kernel(plan)[(len(columns), min(_MAX_BAGS_PER_LAUNCH, len(rows) - start))](
            out,
            first,
            second,
            u,
            v,
            start,
            len(columns),
            *plan.shape,
            plan.parameters,
            *operand_arguments(plan),
            HALF=half,
            BM=tall,
            BN=wide,
            num_warps=4,
            num_stages=2,
        )
    return out + torch.triu(out, 1).T if half else out
