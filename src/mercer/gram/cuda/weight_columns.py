"""Weight columns of two values that live on the device: permuted labels and random signs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.gram.cuda.device_weights import random_signs, two_valued

_SIDE = 64  # columns of labels that are float64 at a time; they share a generator
_ORDER = 2**32 - 1  # the number of the generator of the order in which sums are made

Seeds = Callable[[int], np.random.SeedSequence]  # of every 64 columns


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

    @property
    def middle(self) -> float:
        """Between the two values."""
        return float(self.table[0] + self.table[1]) / 2

    @property
    def half(self) -> float:
        """From there to the larger one."""
        return float(self.table[1] - self.table[0]) / 2

    def rows(self, rows: slice, /) -> Any:
        """The weights of some points: (rows, k)."""
        start, stop, _ = rows.indices(self.n)
        return self.middle + self.half * self.signs[start:stop, self.window].to(self.like.dtype)

    def signed(self, v: Any) -> Any:
        """v's of the signs s of every column, for numbers v (..., n) in float64: (..., k)."""
        import torch

        parts = [
            v @ self.signs[: self.n, c : min(c + _SIDE, self.window.stop)].double()
            for c in range(self.window.start, self.window.stop, _SIDE)
        ]
        return torch.cat(parts, dim=-1)

    def project(self, v: np.ndarray) -> np.ndarray:
        """v'w of every column w, for numbers v (n,) or several rows of them (r, n): (..., k)."""
        import torch

        held = torch.as_tensor(v, dtype=torch.float64, device=self.signs.device)
        total = held.sum(dim=-1, keepdim=True)
        return (self.middle * total + self.half * self.signed(held)).cpu().numpy()

    def after_ones(self) -> DeviceColumns:
        """The same columns, after one that has the larger value everywhere."""
        import torch

        some = self.signs[:, self.window]
        first = torch.zeros_like(some[:, :1])
        first[: self.n] = 1.0
        wide = torch.nn.functional.pad(torch.cat([first, some], dim=1), (0, -(1 + self.width) % 64))
        return replace(self, signs=wide.contiguous(), window=slice(0, 1 + self.width))


def device_columns(
    codes: np.ndarray, table: np.ndarray, seeds: Seeds, keep_first: bool, chunk: slice, like: Any
) -> DeviceColumns | None:
    """Permutations of codes, made on the device; None where only the host can make them."""
    if len(table) != 2:
        return None
    first, generators = _groups(seeds, chunk)
    signs = two_valued(codes, generators, keep_first and first == 0, like.device)
    return _window(signs, chunk, first, table, like, len(codes), seeds)


def device_signs(
    n: int, block: int, table: np.ndarray, seeds: Seeds, chunk: slice, like: Any
) -> DeviceColumns:
    """Random signs, made on the device."""
    first, generators = _groups(seeds, chunk)
    signs = random_signs(n, block, generators, like.device)
    return _window(signs, chunk, first, table, like, n, seeds)


def _groups(seeds: Seeds, chunk: slice) -> tuple[int, list[np.random.SeedSequence]]:
    """The first of the groups of 64 columns that meet a chunk, and their generators."""
    first, last = chunk.start // _SIDE, (chunk.stop - 1) // _SIDE + 1
    return first, [seeds(number) for number in range(first, last)]


def _window(
    signs: Any, chunk: slice, first: int, table: np.ndarray, like: Any, n: int, seeds: Seeds
) -> DeviceColumns:
    window = slice(chunk.start - _SIDE * first, chunk.stop - _SIDE * first)
    order = int(seeds(_ORDER).generate_state(1)[0])
    return DeviceColumns(signs, window, table, like, n, order)
