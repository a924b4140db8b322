"""Circular cross-correlations on the device: sums over one matrix and another that is moved on.

What `htest.dependence.sums.diagonals` does on the host, and for the same permutations: along the
diagonals of two symmetric matrices, taken round the corner, a move of rows and columns is a shift.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np

from mercer.gram.cuda.tile import operand_arguments
from mercer.gram.cuda.triton_source import diagonals_kernel
from mercer.gram.threads import spans

_ROWS = 2048  # of a tile that is cut into diagonals
_TALL, _WIDE = 128, 8  # rows and diagonals of a fused tile
_MOST = 4096  # diagonals that are held at a time
_SHARE = 1 / 3  # of the free memory that the transforms of some diagonals take
_BYTES = 48  # for an entry: itself, its transform, and what the library needs for that


def correlations(lefts: Sequence[Any], rights: Sequence[Any]) -> Any:
    """sum_ij A_ij B_(i+k)(j+k), indices modulo n, of every A with every B: (a, b, n) for all k.

    Of symmetric matrices: diagonals d and n - d hold the same pairs, so half of them do.
    """
    import torch

    n, like = lefts[0].shape[0], lefts[0].like
    shape = len(lefts), len(rights), n // 2 + 1
    spectrum = torch.zeros(shape, dtype=torch.complex128, device=like.device)
    number = len(lefts) + len(rights)
    for some in spans(n // 2 + 1, _room(like, _BYTES * n * number)):
        places = torch.arange(some.start, some.stop, device=like.device)
        weights = torch.where((places == 0) | (2 * places == n), 1.0, 2.0).double()
        transformed = [torch.fft.rfft(diagonals(matrix, some)) for matrix in rights]
        for j, matrix in enumerate(lefts):
            left = torch.fft.rfft(weights[:, None] * diagonals(matrix, some)).conj()
            for k, right in enumerate(transformed):
                spectrum[j, k] += (left * right).sum(dim=0)
    return torch.fft.irfft(spectrum, n)


def diagonals(matrix: Any, some: slice) -> Any:
    """A_i(i+d), indices modulo n, for d in `some`, float64: (d, n).

    By fused tiles that follow the diagonals, or from tiles beside the diagonal.
    """
    import torch

    n, width = matrix.shape[0], some.stop - some.start
    out = torch.empty((width, n), dtype=torch.float64, device=matrix.like.device)
    plan = getattr(matrix._fused, "plan", None)
    if plan is not None and plan.needs == "double":
        diagonals_kernel(plan)[(ceil(n / _TALL), ceil(width / _WIDE))](
            out,
            n,
            some.start,
            width,
            plan.parameters,
            *operand_arguments(plan),
            BM=_TALL,
            BN=_WIDE,
            num_warps=4,
        )
        return out
    for rows in spans(n, _ROWS):
        height = rows.stop - rows.start
        pieces = _round(n, rows.start + some.start, height + width - 1)
        tile = torch.cat([matrix.block(rows, piece) for piece in pieces], dim=1).contiguous()
        down, right = tile.stride()
        out[:, rows] = torch.as_strided(tile, (width, height), (right, down + right))
    return out


def squared_correlations(a: np.ndarray, b: np.ndarray, device: Any) -> np.ndarray:
    """sum_rs (sum_i A_ir B_(i+k)s)^2, indices modulo n, of columns (n, r) and (n, s): (n,) for all k."""
    import torch

    n = len(a)
    held = (torch.as_tensor(columns, dtype=torch.float64).to(device) for columns in (a, b))
    left, right = (torch.fft.rfft(columns.T) for columns in held)
    total = torch.zeros(n, dtype=torch.float64, device=device)
    for some in spans(left.shape[0], _room(total, _BYTES * n * right.shape[0])):
        crossed = torch.fft.irfft(left[some, None].conj() * right[None], n)  # (r, s, n)
        total += (crossed * crossed).sum(dim=(0, 1))
    return total.cpu().numpy()


def _round(n: int, start: int, length: int) -> list[slice]:
    """So many places from `start` on, modulo n, in pieces."""
    pieces = []
    while length > 0:
        start %= n
        piece = slice(start, min(start + length, n))
        pieces.append(piece)
        length -= piece.stop - piece.start
        start = piece.stop
    return pieces


def _room(like: Any, need: int) -> int:
    """How many things that need so many bytes are held at a time."""
    import torch

    if not like.is_cuda:
        return _MOST
    free = torch.cuda.mem_get_info(like.device)[0]
    return max(min(int(_SHARE * free) // need, _MOST), 1)
