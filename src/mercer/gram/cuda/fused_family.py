"""Sums over pairs of points of several kernels: sums in full precision, forms in half precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.gram.cuda.engine import family_sums
from mercer.gram.cuda.multi_gpu import spread_forms
from mercer.gram.cuda.plan import Plan, plans, sharing
from mercer.gram.cuda.weight_columns import DeviceColumns
from mercer.gram.threads import spans
from mercer.kernels.base import Kernel

_KERNELS_PER_PASS = 6  # more of them need more registers than a program has
_HALF_TOLERANCE = 2e-4  # relative error of entries that are then rounded to half precision (5e-4)
_MAX_POINT_ERROR = 1e-4  # of coordinates rounded to float32, relative to the spread of their column


@dataclass(frozen=True)
class FusedFamily:
    """Sums over pairs i != j of k - shift, for kernels k on points of the device."""

    kernels: tuple[Kernel, ...]
    x: Any
    groups: tuple[Plan, ...]  # of `_KERNELS_PER_PASS` kernels each
    shift: np.ndarray

    def sums(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row sums, sums of squares, and t'Kt of every labelling t, one row per kernel.

        The kernels of a group share intermediates, such as their distances.
        """
        import torch

        n, like = self.x.shape[0], self.groups[0].like
        v = np.concatenate([np.ones((1, n)), labels.T])
        vectors = torch.as_tensor(v, dtype=like.dtype, device=like.device)
        per_plan = [family_sums(group, vectors).cpu().numpy() for group in self.groups]
        sums = np.concatenate(per_plan)  # (kernels, 2 + labels, n)
        diagonals = np.stack([to_numpy(k.diag(self.x)).astype(np.float64) for k in self.kernels])
        totals = sums[:, 0] - diagonals
        rows = totals - (n - 1) * self.shift[:, None]
        squares = np.sum(sums[:, -1] - diagonals**2, axis=1) + n * (n - 1) * self.shift**2
        squares -= 2 * self.shift * np.sum(totals, axis=1)
        forms = np.einsum("il,kli->kl", labels, sums[:, 1:-1]) - diagonals @ labels**2
        pairs = labels.sum(axis=0) ** 2 - np.sum(labels**2, axis=0)
        return rows, squares, forms - self.shift[:, None] * pairs

    def forms(self, columns: DeviceColumns) -> np.ndarray:
        """t'Kt of signs t, of k - shift rounded to half precision: (kernels, columns).

        Points are put in random order. Rounded sums depend on the order of their terms, and in the
        order of the samples the observed labelling would be the only sorted one; in random order it
        is exchangeable with the others, and the test is exact whatever the rounding.
        """
        import torch

        n, device = columns.n, columns.signs.device
        draw = torch.Generator(device).manual_seed(columns.seed)
        order = torch.randperm(n, generator=draw, device=device)
        x = _rounded(self.x[order])
        signs = torch.zeros_like(columns.signs)
        signs[:n] = columns.signs[order]
        forms = [
            spread_forms(self.kernels[run], x, signs, self.shift[run], _HALF_TOLERANCE)
            for run in sharing(self.kernels, x)
        ]
        return torch.cat(forms)[:, columns.window].cpu().numpy()


def fused_family(kernels: Sequence[Kernel], x: Any, shift: np.ndarray) -> FusedFamily | None:
    """The fused sums of kernels; None where a kernel has no fused tiles."""
    groups = []
    for run in sharing(kernels, x):
        number = run.stop - run.start
        passes = ceil(number / _KERNELS_PER_PASS)  # of equal length, so that they share a program
        for part in spans(run.stop, ceil(number / passes), first=run.start):
            group = plans(kernels[part], x)
            if group is None:
                return None
            groups.append(group)
    return FusedFamily(tuple(kernels), x, tuple(groups), shift)


def _rounded(x: Any) -> Any:
    """Points in float32 where the rounding is negligible: forms in half precision show three digits of k."""
    if x.itemsize <= 4 or x.ndim != 2:
        return x
    spread, size = x.std(dim=0), x.abs().amax(dim=0)
    single = x.float()
    off = (x - single).abs().amax(dim=0)
    return single if bool(((off <= _MAX_POINT_ERROR * spread) | (size == 0)).all()) else x
