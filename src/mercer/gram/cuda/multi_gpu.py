"""Gram matrices distributed over several GPUs, or of points in pinned memory of the host.

Rows are distributed over the devices, and columns are streamed in slices, so that points need not fit
on a device: the next slice is copied while the last is in use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from mercer.gram.bag_sums import Segments
from mercer.gram.cuda import engine
from mercer.gram.cuda.devices import arriving, devices, on_each, room
from mercer.gram.cuda.fused_bag_sums import bag_sums
from mercer.gram.cuda.half_forms import panel_forms
from mercer.gram.cuda.plan import plan, plans
from mercer.gram.threads import spans
from mercer.kernels.base import Kernel

MIN_PAIRS_FOR_SEVERAL_GPUS = 20_000_000_000  # with fewer pairs of points one device is faster
_MIN_COLUMNS_PER_DEVICE = 256  # weight columns: each device computes all kernel values


@dataclass(frozen=True)
class SpreadMatrix:
    """K_ij = kernel(x_i, y_j) on all devices; results are on the device of x."""

    kernel: Kernel
    x: Any
    y: Any

    def times(self, v: Any) -> Any:
        """K @ v in float64: (n, k)."""
        import torch

        n, targets = self.x.shape[0], devices(self.x)
        tall = min(ceil(n / len(targets)), room(self.x, targets[0]))

        def product(device: Any, rows: slice) -> Any:
            x_rows = self.x[rows].to(device)
            total = torch.zeros((x_rows.shape[0], v.shape[1]), dtype=torch.float64, device=device)
            for columns, y_columns in arriving(self.y, room(self.y, device), device):
                tile_plan: Any = plan(self.kernel, x_rows, y_columns)
                total += engine.times(tile_plan, v[columns].to(device))
            return total.to(self.x.device)

        return torch.cat(on_each(product, spans(n, tall), targets))

    def takes(self, w: object) -> bool:
        """False: forms in half precision are computed by `spread_forms`."""
        return False

    def bag_sums(self, rows: Segments, columns: Segments, half: bool) -> Any:
        """sum_ij w_i v_j K_ij over bags of rows and of columns: (a, b)."""
        import torch

        targets = devices(self.x)

        def sums(device: Any, bags: slice) -> Any:
            start, stop = (int(rows.offsets[i]) for i in (bags.start, bags.stop))
            offsets = rows.offsets[bags.start : bags.stop + 1] - start
            tile_plan: Any = plan(self.kernel, self.x[start:stop].to(device), self.y.to(device))
            row_bags = Segments(offsets, np.asarray(rows.shares[start:stop]))
            return bag_sums(tile_plan, row_bags, columns, False).to(self.x.device)

        parts = spans(len(rows), ceil(len(rows) / len(targets)))
        return torch.cat(on_each(sums, parts, targets))


def spread_matrix(kernel: Kernel, x: Any, y: Any) -> SpreadMatrix | None:
    """The distributed matrix; None where the kernel has no fused tiles."""
    target = devices(x)[0]
    trial = plan(kernel, x[:1].to(target), y[:1].to(target))
    return None if trial is None else SpreadMatrix(kernel, x, y)


def spread_forms(
    kernels: Sequence[Kernel], x: Any, signs: Any, shifts: np.ndarray, tolerance: float
) -> Any:
    """sum_{i != j} s_ic s_jc (k(x_i, x_j) - shift), the columns distributed over the devices: (kernels, c)."""
    import torch

    targets = devices(x) if x.shape[0] ** 2 >= MIN_PAIRS_FOR_SEVERAL_GPUS else [x.device]
    wide = max(ceil(signs.shape[1] / len(targets) / 64) * 64, _MIN_COLUMNS_PER_DEVICE)

    def forms(device: Any, columns: slice) -> Any:
        shared_plan: Any = plans(kernels, x.to(device), tolerance)
        device_signs = signs[:, columns].to(device).contiguous()
        return panel_forms(shared_plan, device_signs, shifts).to(x.device)

    return torch.cat(on_each(forms, spans(signs.shape[1], wide), targets), dim=1)
