"""Gram matrices of points that several GPUs share, or that wait in pinned memory of the host.

Rows are dealt to the devices, and columns come by in slices: of points that do not fit on a device,
some at a time, the next on their way while one is worked on.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from mercer.gram.bag_sums import Segments
from mercer.gram.cuda import engine
from mercer.gram.cuda.devices import arriving, devices, on_each, room
from mercer.gram.cuda.fused_bag_sums import bag_sums
from mercer.gram.cuda.plan import plan
from mercer.gram.threads import spans
from mercer.kernels.base import Kernel

LARGE = 20_000_000_000  # pairs from which several devices are faster than one
_LEAST = 256  # weight columns of a device


@dataclass(frozen=True)
class SpreadMatrix:
    """K_ij = kernel(x_i, y_j); answers are where x is."""

    kernel: Kernel
    x: Any
    y: Any

    def times(self, v: Any) -> Any:
        """K @ v in float64: (n, k)."""
        import torch

        n, on = self.x.shape[0], devices(self.x)
        tall = min(ceil(n / len(on)), room(self.x, on[0]))

        def product(device: Any, rows: slice) -> Any:
            left = self.x[rows].to(device)
            total = torch.zeros((left.shape[0], v.shape[1]), dtype=torch.float64, device=device)
            for columns, right in arriving(self.y, room(self.y, device), device):
                here: Any = plan(self.kernel, left, right)
                total += engine.times(here, v[columns].to(device))
            return total.to(self.x.device)

        return torch.cat(on_each(product, spans(n, tall), on))

    def takes(self, w: object) -> bool:
        """No forms of half precision: see `spread_forms`."""
        return False

    def bag_sums(self, rows: Segments, columns: Segments, half: bool) -> Any:
        """sum_ij w_i v_j K_ij over bags of rows and of columns: (a, b)."""
        import torch

        on = devices(self.x)

        def sums(device: Any, bags: slice) -> Any:
            start, stop = (int(rows.offsets[i]) for i in (bags.start, bags.stop))
            offsets = rows.offsets[bags.start : bags.stop + 1] - start
            here: Any = plan(self.kernel, self.x[start:stop].to(device), self.y.to(device))
            own = Segments(offsets, np.asarray(rows.shares[start:stop]))
            return bag_sums(here, own, columns, False).to(self.x.device)

        parts = spans(len(rows), ceil(len(rows) / len(on)))
        return torch.cat(on_each(sums, parts, on))


def spread_matrix(kernel: Kernel, x: Any, y: Any) -> SpreadMatrix | None:
    """The matrix, if the kernel has fused tiles."""
    first = devices(x)[0]
    found = plan(kernel, x[:1].to(first), y[:1].to(first))
    return None if found is None else SpreadMatrix(kernel, x, y)


def spread_forms(kernel: Kernel, x: Any, signs: Any, shift: float, tolerance: float) -> Any:
    """sum_{i != j} s_ic s_jc (k(x_i, x_j) - shift), the columns dealt to the devices: (c,)."""
    import torch

    on = devices(x) if x.shape[0] ** 2 >= LARGE else [x.device]
    wide = max(ceil(signs.shape[1] / len(on) / 64) * 64, _LEAST)

    def forms(device: Any, columns: slice) -> Any:
        points = x.to(device)
        here: Any = plan(kernel, points, points, tolerance)
        some = signs[:, columns].to(device).contiguous()
        return engine.quadratic(here, some, shift).to(x.device)

    return torch.cat(on_each(forms, spans(signs.shape[1], wide), on))
