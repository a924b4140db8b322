"""Products, quadratic forms and bag sums of a lazy matrix by fused tiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import for_gpu
from mercer.gram.cuda import engine
from mercer.gram.cuda.devices import devices
from mercer.gram.cuda.fused_bag_sums import bag_sums
from mercer.gram.cuda.half_forms import panel_forms
from mercer.gram.cuda.multi_gpu import MIN_PAIRS_FOR_SEVERAL_GPUS, SpreadMatrix, spread_matrix
from mercer.gram.cuda.plan import Plan, plan_of
from mercer.gram.cuda.weight_columns import DeviceColumns
from mercer.gram.gram import Gram


@dataclass(frozen=True)
class FusedMatrix:
    """The operations of a `LazyMatrix` by fused tiles."""

    plan: Plan
    spread: SpreadMatrix | None = None  # the same matrix on several devices

    def times(self, v: Any) -> Any:
        """K @ v in float64: (n, k)."""
        return engine.times(self.plan, v) if self.spread is None else self.spread.times(v)

    def takes(self, w: object) -> bool:
        """Whether `quad` takes these weights."""
        return isinstance(w, DeviceColumns)

    def quad(self, w: DeviceColumns, entries: Any, diagonal: bool) -> Any:
        """w'Kw of a symmetric K, rounded to half precision, whose diagonal is `entries`: (k,).

        With w = m + h s for signs s: m^2 1'K1 + 2 m h s'K1 + h^2 s'Ks.
        """
        import torch

        middle, half, entries = w.middle, w.half, entries.double()
        forms = half**2 * panel_forms(self.plan, w.signs, np.zeros(1))[0, w.window]
        if middle:
            constant = torch.ones(
                (self.plan.shape[0], 1), dtype=entries.dtype, device=entries.device
            )
            rows = engine.times(self.plan, constant)[:, 0] - entries
            forms = forms + middle**2 * rows.sum() + 2 * middle * half * w.signed(rows)
        if not diagonal:
            return forms
        return forms + (middle**2 + half**2) * entries.sum() + 2 * middle * half * w.signed(entries)

    def bag_sums(self, rows: Any, columns: Any, half: bool) -> Any:
        """sum_ij w_i v_j K_ij over bags of rows and of columns: (a, b)."""
        return bag_sums(self.plan, rows, columns, half)


def fused_matrix(matrix: Any) -> FusedMatrix | SpreadMatrix | None:
    """The fused tiles of a matrix; None where its formula cannot be fused."""
    gram = isinstance(matrix, Gram)
    if gram and (for_gpu(matrix.x) or for_gpu(matrix.y)):
        return spread_matrix(matrix.kernel, matrix.x, matrix.y)
    matrix_plan = plan_of(matrix)
    if matrix_plan is None:
        return None
    large = matrix_plan.shape[0] * matrix_plan.shape[1] >= MIN_PAIRS_FOR_SEVERAL_GPUS
    if not (gram and large and len(devices(matrix.x)) > 1):
        return FusedMatrix(matrix_plan)
    return FusedMatrix(matrix_plan, SpreadMatrix(matrix.kernel, matrix.x, matrix.y))
