"""Sums of products of several permuted matrices on a GPU: the device implementation of `gram.shifted_sums`."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod
from typing import Any

import numpy as np

from mercer.gram.cuda.device_correlation import diagonals
from mercer.gram.cuda.triton_source import shifted_kernel
from mercer.gram.threads import spans

_SHIFTS_PER_PROGRAM, _PLACES_PER_PROGRAM = 8, 256  # one program's registers hold their products
_MAX_DIAGONALS_IN_MEMORY = 4096  # of each matrix; more do not make the sums faster
_MEMORY_SHARE = 1 / 3  # of the free device memory, for the diagonals or products of one pass


def shifted_sums(first: Any, others: Sequence[Any], shifts: np.ndarray) -> Any:
    """sum_ij A_ij prod_k B^k_(i+s_k)(j+s_k), indices modulo n, for shifts s (b, k): (b,).

    The matrices must be symmetric: diagonals d and n - d then hold the same entries.
    """
    import torch

    n, like = first.shape[0], first.like
    offsets_of_matrices = torch.as_tensor(shifts.T.astype(np.int32)).contiguous().to(like.device)
    total = torch.zeros(len(shifts), dtype=torch.float64, device=like.device)
    entry_bytes = 8 * n * (2 * len(others) + 1) + 8 * len(shifts)
    for span in spans(n // 2 + 1, _items_per_pass(like, entry_bytes)):
        numbers = torch.arange(span.start, span.stop, device=like.device)
        weights = torch.where((numbers == 0) | (2 * numbers == n), 1.0, 2.0).double()
        left = diagonals(first, span)
        rights = torch.stack([diagonals(matrix, span) for matrix in others])  # (k, d, n)
        total += weights @ _fused_sums(left, rights, offsets_of_matrices)
    return total


def tensor_norms(
    factors: Sequence[np.ndarray], orders: Sequence[np.ndarray | None], device: Any
) -> np.ndarray:
    """|sum_i a_1(p_1(i)) x ... x a_M(p_M(i))|^2 of factors (n, r_k) and orders p_k (b, n): (b,)."""
    import torch

    on_device = [torch.as_tensor(a, dtype=torch.float64).to(device) for a in factors]
    number = next(len(order) for order in orders if order is not None)
    n, widths = len(factors[0]), [a.shape[1] for a in factors]
    last = int(np.argmax(widths))  # the widest stays outside of the products of rows
    row_bytes = 8 * (sum(widths) + 2 * prod(widths) // widths[last])
    out = torch.empty(number, dtype=torch.float64, device=device)
    for span in spans(number, _items_per_pass(out, n * row_bytes + 8 * prod(widths))):
        rows = [
            a[None]
            if order is None
            else a[torch.as_tensor(order[span].astype(np.int64)).to(device)]
            for a, order in zip(on_device, orders, strict=True)
        ]  # (b or 1, n, r)
        widest, product = rows.pop(last), None
        for a in rows:
            product = a if product is None else (product[..., None] * a[..., None, :]).flatten(2)
        tensor = (product if product is not None else torch.ones_like(widest[..., :1])).mT @ widest
        out[span] = (tensor * tensor).sum(dim=(1, 2))
    return out.cpu().numpy()


# ---- private ------------------------------------------------------------------------------------


def _fused_sums(left: Any, rights: Any, shifts: Any) -> Any:
    """sum_i A_di prod_k B^k_d(i+s_k) of diagonals (d, n) and (k, d, n) for shifts (k, b): (d, b)."""
    import torch

    (matrices, number), (count, n) = shifts.shape, left.shape
    out = torch.empty((count, number), dtype=torch.float64, device=left.device)
    shifted_kernel()[(ceil(number / _SHIFTS_PER_PROGRAM), count)](
        out,
        left,
        rights,
        shifts,
        n,
        count,
        number,
        MATRICES=matrices,
        BB=_SHIFTS_PER_PROGRAM,
        BN=_PLACES_PER_PROGRAM,
        num_warps=4,
    )
    return out


def _items_per_pass(like: Any, need: int) -> int:
    """Number of items of `need` bytes each that fit into the share of free memory, at least 1."""
    import torch

    if not like.is_cuda:
        return _MAX_DIAGONALS_IN_MEMORY
    free = torch.cuda.mem_get_info(like.device)[0]
    return max(min(int(_MEMORY_SHARE * free) // need, _MAX_DIAGONALS_IN_MEMORY), 1)
