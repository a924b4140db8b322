"""Sums over pairs of points of several kernels: exact ones in one pass, forms of half precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.gram.cuda.engine import family_sums
from mercer.gram.cuda.multi_gpu import spread_forms
from mercer.gram.cuda.plan import Plan, plans
from mercer.gram.cuda.weight_columns import DeviceColumns
from mercer.kernels.base import Kernel

_TOGETHER = 6  # kernels whose sums one pass takes
_ROUGH = 2e-4  # of an entry that is rounded to half precision, less than that
_CLOSE = 1e-4  # of the spread of a column, by which rounded coordinates may be off


@dataclass(frozen=True)
class FusedFamily:
    """Sums over pairs i != j of kernels k on points of the device, of k - shift."""

    kernels: tuple[Kernel, ...]
    x: Any
    parts: tuple[Plan, ...]  # of `_TOGETHER` kernels each
    shift: np.ndarray

    def sums(self, held: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row sums, sums of squares, and t'Kt of every held labelling, a row for each kernel.

        What kernels share, their distances above all, is made once for several of them.
        """
        import torch

        n, like = self.x.shape[0], self.parts[0].like
        v = np.concatenate([np.ones((1, n)), held.T])
        vectors = torch.as_tensor(v, dtype=like.dtype, device=like.device)
        found = [family_sums(part, vectors).cpu().numpy() for part in self.parts]
        sums = np.concatenate(found)  # (kernels, 2 + labels, n)
        own = np.stack([k.diag(self.x).double().cpu().numpy() for k in self.kernels])
        totals = sums[:, 0] - own
        rows = totals - (n - 1) * self.shift[:, None]
        squares = np.sum(sums[:, -1] - own**2, axis=1) + n * (n - 1) * self.shift**2
        squares -= 2 * self.shift * np.sum(totals, axis=1)
        forms = np.einsum("il,kli->kl", held, sums[:, 1:-1]) - own @ held**2
        pairs = held.sum(axis=0) ** 2 - np.sum(held**2, axis=0)
        return rows, squares, forms - self.shift[:, None] * pairs

    def forms(self, columns: DeviceColumns) -> np.ndarray:
        """t'Kt of signs t, of k - shift rounded to half precision: (kernels, columns).

        Points are taken in a random order. Sums of rounded numbers depend on their order, and in
        that of the samples the observed labels would be the only ones that come sorted; in a random
        order they are labels like all others, and the test is exact whatever the rounding.
        """
        import torch

        n, device = columns.n, columns.signs.device
        draw = torch.Generator(device).manual_seed(columns.seed)
        order = torch.randperm(n, generator=draw, device=device)
        x = _rounded(self.x[order])
        signs = torch.zeros_like(columns.signs)
        signs[:n] = columns.signs[order]
        forms = []
        for kernel, shift in zip(self.kernels, self.shift, strict=True):
            found = spread_forms(kernel, x, signs, float(shift), _ROUGH)
            forms.append(found[columns.window].cpu().numpy())
        return np.stack(forms)


def fused_family(kernels: Sequence[Kernel], x: Any, shift: np.ndarray) -> FusedFamily | None:
    """The fused sums of kernels; None where one has no fused tiles."""
    parts = []
    for start in range(0, len(kernels), _TOGETHER):
        part = plans(kernels[start : start + _TOGETHER], x)
        if part is None:
            return None
        parts.append(part)
    return FusedFamily(tuple(kernels), x, tuple(parts), shift)


def _rounded(x: Any) -> Any:
    """Points in float32, where that moves none visibly: half precision shows three digits of k."""
    if x.itemsize <= 4 or x.ndim != 2:
        return x
    spread, size = x.std(dim=0), x.abs().amax(dim=0)
    single = x.float()
    off = (x - single).abs().amax(dim=0)
    return single if bool(((off <= _CLOSE * spread) | (size == 0)).all()) else x
