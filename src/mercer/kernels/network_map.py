"""Neural networks as maps of points: kernels on what a network makes of them."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import (
    Array,
    array_like,
    count,
    from_numpy,
    is_array,
    is_torch,
    is_torch_module,
    namespace,
    same_values,
    take_rows,
    to_numpy,
    torch_threads,
)
from mercer.config import settings
from mercer.kernels.base import Points

_ROWS_AT_ONCE = 512  # whose activations are in memory together


@dataclass(frozen=True, eq=False)
class NetworkMap:
    """x -> phi(x) for a network phi, any `torch.nn.Module` that takes a batch of rows.

    ``kernel.transformed(module)`` makes one by itself. The module is copied and set to evaluation mode (no dropout,
    stored means in batch normalisation), and its weights do not change any more: training the original goes on
    elsewhere. Rows are NumPy arrays or tensors (n, d), and are handed to the module in its own dtype and on its own
    device, some hundreds at once; what it returns is flattened to (n, p) and comes back in the library, dtype and device of the
    rows, with gradients where the rows are tensors that record them. For pictures and sequences let the module begin with
    ``torch.nn.Unflatten(1, (1, 28, 28))``, or the like.

    Parameters
    ----------
    module : torch.nn.Module

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from mercer.kernels import RBF
    >>> phi = NetworkMap(torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU()))
    >>> x = np.random.default_rng(0).normal(size=(5, 3))
    >>> phi(x).shape
    (5, 8)
    >>> deep = (0.9 * RBF(1.0).transformed(phi) + 0.1) * RBF(2.0)  # Liu et al. 2020, equation 1
    >>> bool(np.allclose(deep(x), (0.9 * RBF(1.0)(phi(x)) + 0.1) * RBF(2.0)(x)))
    True
    """

    module: Any

    def __post_init__(self) -> None:
        if not is_torch_module(self.module):
            raise TypeError(
                f"module must be a torch.nn.Module, such as torch.nn.Linear(3, 8), got {validate.shown(self.module)}: "
                "functions of arrays go to kernel.transformed(function) as they are"
            )
        frozen = deepcopy(self.module).eval()
        object.__setattr__(self, "module", frozen.requires_grad_(False))

    def __call__(self, x: Points) -> Array:
        """Features of the rows: (n, p)."""
        if not is_array(x):
            raise TypeError(
                f"a network takes rows of numbers, got {validate.shown(x)}: turn the points into vectors first"
            )
        like = self._like(x)
        rows = range(0, max(count(x), 1), _ROWS_AT_ONCE)
        with torch_threads(self.module, settings().workers):
            parts = [self._features(take_rows(x, slice(i, i + _ROWS_AT_ONCE)), like) for i in rows]
        return parts[0] if len(parts) == 1 else namespace(parts[0]).concat(parts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NetworkMap):
            return NotImplemented
        return _same(self.module, other.module)

    def __hash__(self) -> int:
        return hash(repr(self.module))

    def __repr__(self) -> str:
        weights = sum(p.numel() for p in self.module.parameters())
        return f"NetworkMap({type(self.module).__name__} of {weights:,} weights)"

    def _like(self, x: Any) -> Any:
        """A tensor of the dtype and on the device in which the module computes."""
        for tensor in (*self.module.parameters(), *self.module.buffers()):
            if tensor.is_floating_point():
                return tensor
        return x if is_torch(x) else from_numpy(np.empty(0, dtype=to_numpy(x).dtype), "torch")

    def _features(self, x: Any, like: Any) -> Array:
        n, values = count(x), self.module(array_like(x, like))
        if not is_torch(values) or values.ndim == 0 or len(values) != n:
            shape = tuple(values.shape) if is_torch(values) else validate.shown(values)
            raise ValueError(
                f"the network must return a tensor with one row for each of {n} points, got {shape}"
            )
        flat = values.reshape(n, -1)
        return array_like(flat, x)


def _same(a: Any, b: Any) -> bool:
    """Whether two networks, or values of their attributes, are equal: layers, weights and all else they consist of."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if is_torch_module(a):
        return _same(vars(a), vars(b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(_same(a[name], b[name]) for name in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    return same_values(a, b)
