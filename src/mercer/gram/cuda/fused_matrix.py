"""A lazy matrix whose tiles are fused: its products and quadratic forms on the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer.backend import for_gpu
from mercer.gram.cuda import engine
from mercer.gram.cuda.devices import devices
from mercer.gram.cuda.fused_bag_sums import bag_sums
from mercer.gram.cuda.multi_gpu import LARGE, SpreadMatrix, spread_matrix
from mercer.gram.cuda.plan import Plan, plan_of
from mercer.gram.cuda.weight_columns import DeviceColumns


@dataclass(frozen=True)
class FusedMatrix:
    """What `LazyMatrix` asks of fused tiles."""

    plan: Plan
    spread: SpreadMatrix | None = None  # over several devices

    def times(self, v: Any) -> Any:
        """K @ v in float64: (n, k)."""
        return engine.times(self.plan, v) if self.spread is None else self.spread.times(v)

    def takes(self, w: object) -> bool:
        """Whether these weights have forms of half precision."""
        return isinstance(w, DeviceColumns)

    def quad(self, w: DeviceColumns, own: Any, diagonal: bool) -> Any:
        """w'Kw of a symmetric K, rounded to half precision, whose diagonal is `own`: (k,).

        With w = m + h s for signs s it is m^2 1'K1 + 2 m h s'K1 + h^2 s'Ks.
        """
        import torch

        middle, half, own = w.middle, w.half, own.double()
        forms = half**2 * engine.quadratic(self.plan, w.signs, 0.0)[w.window]
        if middle:
            ones = torch.ones((self.plan.shape[0], 1), dtype=own.dtype, device=own.device)
            rows = engine.times(self.plan, ones)[:, 0] - own
            forms = forms + middle**2 * rows.sum() + 2 * middle * half * w.signed(rows)
        if not diagonal:
            return forms
        return forms + (middle**2 + half**2) * own.sum() + 2 * middle * half * w.signed(own)

    def bag_sums(self, rows: Any, columns: Any, half: bool) -> Any:
        """sum_ij w_i v_j K_ij over bags of rows and of columns: (a, b)."""
        return bag_sums(self.plan, rows, columns, half)


def fused_matrix(matrix: Any) -> FusedMatrix | SpreadMatrix | None:
    """The fused tiles of a matrix; None where it has none."""
    from mercer.gram.gram import Gram

    gram = isinstance(matrix, Gram)
    if gram and (for_gpu(matrix.x) or for_gpu(matrix.y)):
        return spread_matrix(matrix.kernel, matrix.x, matrix.y)
    found = plan_of(matrix)
    if found is None:
        return None
    many = gram and len(devices(matrix.x)) > 1 and found.shape[0] * found.shape[1] >= LARGE
    return FusedMatrix(found, SpreadMatrix(matrix.kernel, matrix.x, matrix.y) if many else None)
