"""Gradients of functions sum_i w_i k(x_i, .) by the derivatives of the kernel."""

from __future__ import annotations

from typing import Any

from mercer.backend import Array, astype, count, namespace, take_rows
from mercer.errors import NoRule
from mercer.kernels.base import Kernel, Points
from mercer.kernels.jets import Pairs, jets

_PAIRS_AT_ONCE = 2**20  # pairs whose derivatives are in memory at a time


def gradients(kernel: Kernel, x: Points, points: Any, weights: Array) -> Array:
    """Gradients of sum_i w_i k(x_i, .) at the rows of x: (n, d)."""
    jet_of = jets(kernel)
    if jet_of is None:
        raise NoRule(
            f"no derivatives of {kernel!r}: gradients need a smooth function of the distance or of the dot "
            "product, such as RBF"
        )
    if weights.ndim != 1:
        raise TypeError("a gradient belongs to one function, got several: use f[j]")
    step = max(1, _PAIRS_AT_ONCE // count(points))
    xp = namespace(x)
    parts = []
    for start in range(0, count(x), step):
        rows = slice(start, min(start + step, count(x)))
        pairs = Pairs(take_rows(x, rows), points, crossed=True)
        jet = jet_of(pairs)
        columns = []
        for c in range(pairs.width):
            partials = jet.at(c)
            if partials is None:
                columns.append(xp.zeros_like(astype(pairs.x[:, c], weights.dtype)))
            else:
                columns.append(astype(partials.x, weights.dtype) @ weights)
        parts.append(xp.stack(columns, axis=1))
    return xp.concat(parts)
