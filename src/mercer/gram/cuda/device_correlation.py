"""Circular cross-correlations on a GPU: the device implementation of `gram.circular_correlation`."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np

from mercer.gram.cuda.tile import operand_arguments
from mercer.gram.cuda.triton_source import diagonals_kernel
from mercer.gram.threads import spans

_ROWS_PER_TILE = 2048  # of a tile that torch computes and that is read along its diagonals
_TILE_ROWS, _TILE_DIAGONALS = 128, 8  # of a fused tile: one program's registers hold it
_MAX_DIAGONALS_IN_MEMORY = 4096  # of each matrix; more do not make the transforms faster
_MEMORY_SHARE = 1 / 3  # of the free device memory, for the transforms of the diagonals of one pass
_BYTES_PER_ENTRY = 48  # the entry, its transform, and the workspace of the FFT library


def circular_correlations(lefts: Sequence[Any], rights: Sequence[Any]) -> Any:
    """sum_ij A_ij B_(i+k)(j+k), indices modulo n, of every A with every B: (a, b, n) for all k.

    The matrices must be symmetric: diagonals d and n - d then hold the same entries.
    """
    import torch

    n, like = lefts[0].shape[0], lefts[0].like
    shape = len(lefts), len(rights), n // 2 + 1
    spectrum = torch.zeros(shape, dtype=torch.complex128, device=like.device)
    number = len(lefts) + len(rights)
    for offsets in spans(n // 2 + 1, _items_per_pass(like, _BYTES_PER_ENTRY * n * number)):
        numbers = torch.arange(offsets.start, offsets.stop, device=like.device)
        weights = torch.where((numbers == 0) | (2 * numbers == n), 1.0, 2.0).double()
        transformed = [torch.fft.rfft(diagonals(matrix, offsets)) for matrix in rights]
        for j, matrix in enumerate(lefts):
            weighted = torch.fft.rfft(weights[:, None] * diagonals(matrix, offsets)).conj()
            for k, right in enumerate(transformed):
                spectrum[j, k] += (weighted * right).sum(dim=0)
    return torch.fft.irfft(spectrum, n)


def diagonals(matrix: Any, offsets: slice) -> Any:
    """A_i(i+d), indices modulo n, for the offsets d, float64: (d, n).

    Computed by fused tiles that follow the diagonals, or read from tiles beside the diagonal.
    """
    import torch

    n, width = matrix.shape[0], offsets.stop - offsets.start
    out = torch.empty((width, n), dtype=torch.float64, device=matrix.like.device)
    plan = getattr(matrix._fused, "plan", None)
    if plan is not None and plan.needs == "double":
        diagonals_kernel(plan)[(ceil(n / _TILE_ROWS), ceil(width / _TILE_DIAGONALS))](
            out,
            n,
            offsets.start,
            width,
            plan.parameters,
            *operand_arguments(plan),
            BM=_TILE_ROWS,
            BN=_TILE_DIAGONALS,
            num_warps=4,
        )
        return out
    for rows in spans(n, _ROWS_PER_TILE):
        height = rows.stop - rows.start
        pieces = _wrapped_spans(n, rows.start + offsets.start, height + width - 1)
        tile = torch.cat([matrix.block(rows, piece) for piece in pieces], dim=1).contiguous()
        down, right = tile.stride()
        out[:, rows] = torch.as_strided(tile, (width, height), (right, down + right))
    return out


def squared_correlations(a: np.ndarray, b: np.ndarray, device: Any) -> np.ndarray:
    """sum_rs (sum_i A_ir B_(i+k)s)^2, indices modulo n, of columns (n, r) and (n, s): (n,) for all k."""
    import torch

    n = len(a)
    on_device = (torch.as_tensor(columns, dtype=torch.float64).to(device) for columns in (a, b))
    spectrum_a, spectrum_b = (torch.fft.rfft(columns.T) for columns in on_device)
    total = torch.zeros(n, dtype=torch.float64, device=device)
    for rows in spans(
        spectrum_a.shape[0], _items_per_pass(total, _BYTES_PER_ENTRY * n * spectrum_b.shape[0])
    ):
        crossed = torch.fft.irfft(spectrum_a[rows, None].conj() * spectrum_b[None], n)  # (r, s, n)
        total += (crossed * crossed).sum(dim=(0, 1))
    return total.cpu().numpy()


def _wrapped_spans(n: int, start: int, length: int) -> list[slice]:
    """Slices that cover `length` positions from `start` on, modulo n."""
    pieces = []
    while length > 0:
        start %= n
        piece = slice(start, min(start + length, n))
        pieces.append(piece)
        length -= piece.stop - piece.start
        start = piece.stop
    return pieces


def _items_per_pass(like: Any, need: int) -> int:
    """Number of items of `need` bytes each that fit into the share of free memory, at least 1."""
    import torch

    if not like.is_cuda:
        return _MAX_DIAGONALS_IN_MEMORY
    free = torch.cuda.mem_get_info(like.device)[0]
    return max(min(int(_MEMORY_SHARE * free) // need, _MAX_DIAGONALS_IN_MEMORY), 1)
