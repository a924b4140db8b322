"""Weight columns of two values on the device: permuted labels and random signs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.gram.cuda.device_weights import random_signs, two_valued
from mercer.gram.cuda.operands import ROWS_PER_TILE

_GROUP = 64  # columns that share a generator, as on the host; also converted to float64 at a time
_BYTES_PER_CODE = 4  # a sign of half precision, and its copy in random order
_FREE_ON_HOST = 2**32  # for Triton's interpreter
_ORDER_STREAM = 2**32 - 1  # the number of the generator that draws the order of summation

Seeds = Callable[[int], np.random.SeedSequence]  # number of a group of 64 columns -> its seed


@dataclass(frozen=True)
class DeviceColumns:
    """Weight columns of two values, as signs of half precision on the device."""

    signs: Any  # (N, groups of 64), -1 and 1, zeros below the last point
    window: slice  # the columns of `signs` in use
    table: np.ndarray  # the values of -1 and 1
    like: Any
    n: int
    seed: int  # of the random order of summation

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.window.stop - self.window.start

    @property
    def middle(self) -> float:
        """The midpoint of the two values."""
        return float(self.table[0] + self.table[1]) / 2

    @property
    def half(self) -> float:
        """Half the difference of the two values."""
        return float(self.table[1] - self.table[0]) / 2

    def rows(self, rows: slice, /) -> Any:
        """The weights of these points: (rows, k)."""
        start, stop, _ = rows.indices(self.n)
        return self.middle + self.half * self.signs[start:stop, self.window].to(self.like.dtype)

    def signed(self, v: Any) -> Any:
        """v's for the signs s of every column, for v (..., n) in float64: (..., k)."""
        import torch

        parts = [
            v @ self.signs[: self.n, c : min(c + _GROUP, self.window.stop)].double()
            for c in range(self.window.start, self.window.stop, _GROUP)
        ]
        return torch.cat(parts, dim=-1)

    def project(self, v: np.ndarray) -> np.ndarray:
        """v'w of every column w, for v (n,) or several rows (r, n): (..., k)."""
        import torch

        values = torch.as_tensor(v, dtype=torch.float64, device=self.signs.device)
        total = values.sum(dim=-1, keepdim=True)
        return (self.middle * total + self.half * self.signed(values)).cpu().numpy()

    def after_ones(self) -> DeviceColumns:
        """These columns, preceded by one with the larger value everywhere."""
        import torch

        signs = self.signs[:, self.window]
        first = torch.zeros_like(signs[:, :1])
        first[: self.n] = 1.0
        wide = torch.nn.functional.pad(
            torch.cat([first, signs], dim=1), (0, -(1 + self.width) % 64)
        )
        return replace(self, signs=wide.contiguous(), window=slice(0, 1 + self.width))


def device_columns(
    codes: np.ndarray, table: np.ndarray, seeds: Seeds, keep_first: bool, chunk: slice, like: Any
) -> DeviceColumns | None:
    """Permutations of codes, generated on the device; None where codes are not two-valued."""
    if len(table) != 2:
        return None
    first, generators = _groups(seeds, chunk)
    signs = two_valued(codes, generators, keep_first and first == 0, like.device)
    return _window(signs, chunk, first, table, like, len(codes), seeds)


def device_signs(
    n: int, block: int, table: np.ndarray, seeds: Seeds, chunk: slice, like: Any
) -> DeviceColumns:
    """Random signs, generated on the device."""
    first, generators = _groups(seeds, chunk)
    signs = random_signs(n, block, generators, like.device)
    return _window(signs, chunk, first, table, like, n, seeds)


def uploaded_columns(
    codes: np.ndarray, table: np.ndarray, seeds: Seeds, like: Any
) -> DeviceColumns | None:
    """Columns of codes (k, n) generated on the host, as signs; None where codes are not two-valued."""
    import torch

    if len(table) != 2:
        return None
    k, n = codes.shape
    shape = n + -n % ROWS_PER_TILE, k + -k % _GROUP
    signs = torch.zeros(shape, dtype=torch.float16, device=like.device)
    for c in range(0, k, _GROUP):
        group = torch.as_tensor(codes[c : c + _GROUP]).to(like.device)
        signs[:n, c : c + len(group)] = (2 * group.half() - 1).T
    return _window(signs, slice(0, k), 0, table, like, n, seeds)


def code_bytes(like: Any) -> int:
    """Bytes of codes to be signs on the device at once: with their copies they take a quarter of its memory."""
    import torch

    free = torch.cuda.mem_get_info(like.device)[0] if like.is_cuda else _FREE_ON_HOST
    return int(free) // (4 * _BYTES_PER_CODE)


def _groups(seeds: Seeds, chunk: slice) -> tuple[int, list[np.random.SeedSequence]]:
    """The number of the first group of 64 columns that overlaps a chunk, and the seeds of all such groups."""
    first, last = chunk.start // _GROUP, (chunk.stop - 1) // _GROUP + 1
    return first, [seeds(number) for number in range(first, last)]


def _window(
    signs: Any, chunk: slice, first: int, table: np.ndarray, like: Any, n: int, seeds: Seeds
) -> DeviceColumns:
    window = slice(chunk.start - _GROUP * first, chunk.stop - _GROUP * first)
    order = int(seeds(_ORDER_STREAM).generate_state(1)[0])
    return DeviceColumns(signs, window, table, like, n, order)
