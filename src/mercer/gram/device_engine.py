"""Access to the engine for GPUs, which is loaded when the first tensor on a GPU arrives.

The modules of `mercer.gram` call the engine through this registry and never import it: the engine is
built on top of them. `mercer.gram` registers `mercer.gram.cuda`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mercer.backend import Array, on_gpu
from mercer.config import settings


@dataclass(frozen=True)
class DeviceEngine:
    """Entry points of an engine that computes on GPUs; each returns None where it has no fused code.

    Attributes
    ----------
    fused_matrix : callable
        LazyMatrix -> products, quadratic forms and bag sums of its fused tiles.
    fused_family : callable
        (kernels, points, shift) -> sums over pairs and forms of several kernels.
    permuted_columns : callable
        (codes, table, seeds, keep_first, chunk, like) -> permuted weight columns on the device.
    sign_columns : callable
        (n, block, table, seeds, chunk, like) -> columns of random signs on the device.
    uploaded_columns : callable
        (codes, table, seeds, like) -> weight columns of the host, copied to the device.
    code_bytes : callable
        like -> bytes of codes of weight columns that the device takes at once.
    circular_correlations : callable
        (matrices, matrices) -> their circular cross-correlations, as in `gram.circular_correlation`.
    squared_correlations : callable
        (a, b, device) -> squared circular cross-correlations of columns, summed.
    shifted_sums : callable
        (matrix, matrices, shifts) -> sums of products of shifted matrices, as in `gram.shifted_sums`.
    tensor_norms : callable
        (factors, orders, device) -> squared norms of sums of products of permuted rows of factors.
    pivoted_cholesky : callable
        (dense, threshold, most) -> a pivoted Cholesky factor, its pivots and the remaining trace.
    """

    fused_matrix: Callable[..., Any]
    fused_family: Callable[..., Any]
    permuted_columns: Callable[..., Any]
    sign_columns: Callable[..., Any]
    uploaded_columns: Callable[..., Any]
    code_bytes: Callable[..., int]
    circular_correlations: Callable[..., Any]
    squared_correlations: Callable[..., Any]
    shifted_sums: Callable[..., Any]
    tensor_norms: Callable[..., Any]
    pivoted_cholesky: Callable[..., Any]


_loaders: list[Callable[[], DeviceEngine]] = []


def register_engine(load: Callable[[], DeviceEngine]) -> None:
    """Register the function that imports the engine and returns it."""
    _loaders[:] = [load]


def device_engine() -> DeviceEngine:
    """The registered engine; its modules are imported by the first call."""
    return _loaders[0]()


def codes_at_once(like: Array) -> int:
    """Bytes of codes to generate at once: a quarter of the memory budget; on a GPU, what its memory takes."""
    return device_engine().code_bytes(like) if on_gpu(like) else settings().memory // 4
