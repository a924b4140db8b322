"""Permuted labels that live on the device, and the forms and sums of a family with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.gram.cuda.engine import quadratic, row_sums
from mercer.gram.cuda.plan import Plan, plan
from mercer.gram.cuda.weights import two_valued
from mercer.kernels.base import Kernel

_SIDE = 64  # rows of a projection that are float64 at a time, in columns of labels


@dataclass(frozen=True)
class DeviceColumns:
    """Some weight columns of two values, as signs of half precision on the device."""

    signs: Any  # (N, groups of 64), -1 and 1, zeros below the last point
    window: slice  # the columns that count
    table: np.ndarray  # what -1 and 1 stand for
    like: Any
    n: int
    seed: int  # of the order in which sums are made

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.window.stop - self.window.start

    def rows(self, rows: slice, /) -> Any:
        """The weights of some points: (rows, k)."""
        start, stop, _ = rows.indices(self.n)
        signs = self.signs[start:stop, self.window].to(self.like.dtype)
        low, high = (float(v) for v in self.table)
        return (low + high) / 2 + (high - low) / 2 * signs

    def project(self, v: np.ndarray) -> np.ndarray:
        """v'w of every column w, for numbers v (n,) or several rows of them (r, n): (..., k)."""
        import torch

        held = torch.as_tensor(v, dtype=torch.float64, device=self.signs.device)
        low, high = (float(t) for t in self.table)
        parts = [
            held @ self.signs[: self.n, c : min(c + _SIDE, self.window.stop)].double()
            for c in range(self.window.start, self.window.stop, _SIDE)
        ]
        signed = torch.cat(parts, dim=-1)
        total = held.sum(dim=-1, keepdim=True)
        return ((low + high) / 2 * total + (high - low) / 2 * signed).cpu().numpy()


def device_columns(
    codes: np.ndarray, table: np.ndarray, seeds: Any, keep_first: bool, chunk: slice, like: Any
) -> DeviceColumns | None:
    """The columns of a chunk, made on the device; None where only the host can make them."""
    if len(table) != 2:
        return None
    first, last = chunk.start // 64, (chunk.stop - 1) // 64 + 1
    generators = [seeds(number) for number in range(first, last)]
    signs = two_valued(codes, generators, keep_first and first == 0, like.device)
    window = slice(chunk.start - 64 * first, chunk.stop - 64 * first)
    order = int(seeds(2**32 - 1).generate_state(1)[0])
    return DeviceColumns(signs, window, table, like, len(codes), order)


@dataclass(frozen=True)
class Fused:
    """Sums over pairs i != j of one kernel on points of the device."""

    kernel: Kernel
    x: Any
    plan: Plan
    own: np.ndarray  # k(x_i, x_i)
    shift: float

    def sums(self, held: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
        """Row sums, the sum of squares, and t'Kt of every held labelling, of k - shift."""
        import torch

        n = len(self.own)
        v = np.concatenate([np.ones((1, n)), held.T])
        like = self.plan.like
        vectors = torch.as_tensor(v, dtype=like.dtype, device=like.device)
        found = row_sums(self.plan, vectors, squares=True).cpu().numpy()  # (2 + labels, n)
        rows = found[0] - self.own - (n - 1) * self.shift
        total = float(np.sum(found[0] - self.own))
        squares = float(np.sum(found[-1] - self.own**2))
        squares += n * (n - 1) * self.shift**2 - 2 * self.shift * total
        inner = np.einsum("il,li->l", held, found[1:-1]) - self.own @ held**2
        forms = inner - self.shift * (held.sum(axis=0) ** 2 - np.sum(held**2, axis=0))
        return rows, squares, forms

    def forms(self, columns: DeviceColumns) -> np.ndarray:
        """t'Kt of signs t, of k - shift rounded to half precision: (columns,).

        Points are taken in a random order. Sums of rounded numbers depend on their order, and in
        that of the samples the observed labels would be the only ones that come sorted; in a random
        order they are labels like all others, and the test is exact whatever the rounding.
        """
        import torch

        n, device = columns.n, columns.signs.device
        order = torch.randperm(
            n, generator=torch.Generator(device).manual_seed(columns.seed), device=device
        )
        x = self.x[order]
        shuffled: Any = plan(self.kernel, x, x)  # there is one: `self.plan` is of the same kernel
        signs = torch.zeros_like(columns.signs)
        signs[:n] = columns.signs[order]
        forms = quadratic(shuffled, signs, self.shift)
        return forms[columns.window].cpu().numpy()


def fused(kernel: Kernel, x: Any, shift: float) -> Fused | None:
    """The fused sums of a kernel; None where it has no fused tiles."""
    found = plan(kernel, x, x)
    if found is None:
        return None
    own = kernel.diag(x).double().cpu().numpy()
    return Fused(kernel, x, found, own, shift)
