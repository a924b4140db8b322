"""exp(-g |x_i - y_j|^2) @ v by others: blocked NumPy, blocked torch, KeOps on the CPU."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

_ROWS = 256  # of a block: the fastest of 64, 128, ..., 2048 for 10,000 points


def blocked_numpy(x: np.ndarray, y: np.ndarray, v: np.ndarray, g: float) -> np.ndarray:
    """One block of rows after the other, BLAS on all its threads; the exponent is one product."""
    left, right = _widened(x, y, g)
    out = np.empty((len(x), v.shape[1]), dtype=x.dtype)
    for i in range(0, len(x), _ROWS):
        block = left[i : i + _ROWS] @ right
        np.exp(block, out=block)
        np.matmul(block, v, out=out[i : i + _ROWS])
    return out


def blocked_torch(x: np.ndarray, y: np.ndarray, v: np.ndarray, g: float) -> Any:
    """The same loop in torch, which also runs the exponential on all its threads."""
    import torch

    left, right = map(torch.from_numpy, _widened(x, y, g))
    weights = torch.from_numpy(v)
    out = torch.empty((len(x), v.shape[1]), dtype=left.dtype)
    for i in range(0, len(x), _ROWS):
        block = left[i : i + _ROWS] @ right
        torch.matmul(block.exp_(), weights, out=out[i : i + _ROWS])
    return out


def keops(d: int, v: int) -> Callable[[np.ndarray, np.ndarray, np.ndarray, float], np.ndarray]:
    """KeOps' reduction for so many coordinates and columns; compiled when it is first called."""
    with contextlib.redirect_stdout(io.StringIO()):  # it tells that there is no GPU
        import pykeops
        from pykeops.numpy import Genred
    pykeops.set_verbose(False)
    names = ["g = Pm(1)", f"x = Vi({d})", f"y = Vj({d})", f"v = Vj({v})"]
    product = Genred("Exp(-g * SqDist(x, y)) * v", names, reduction_op="Sum", axis=1)
    return lambda x, y, v, g: product(np.full(1, g, dtype=x.dtype), x, y, v, backend="CPU")


def installed(package: str) -> bool:
    return find_spec(package) is not None


def _widened(x: np.ndarray, y: np.ndarray, g: float) -> tuple[np.ndarray, np.ndarray]:
    nx, ny = (x * x).sum(axis=1, keepdims=True), (y * y).sum(axis=1, keepdims=True)
    left = np.concatenate([2 * g * x, -g * nx, np.ones_like(nx)], axis=1)
    right = np.concatenate([y, np.ones_like(ny), -g * ny], axis=1)
    return left, np.ascontiguousarray(right.T)
