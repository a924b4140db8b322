"""Distances between points, accurate for near-equal and for far-off-centre data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from mercer.backend import (
    Array,
    ArrayT,
    array_like,
    astype,
    double,
    eps,
    is_numpy,
    is_single,
    is_symbolic,
    namespace,
    scalar,
)

Profile = Callable[[Array], Array]

_PAIRS_PER_CHUNK = 8192  # pairs whose differences are in memory at a time
_MIN_ROUNDING_ERRORS = 1e9  # a squared distance of so many rounding errors has nine correct digits


def conditioned(x: ArrayT, y: ArrayT, profile: Profile | None) -> tuple[ArrayT, ArrayT, bool]:
    """Both samples centred by the mean of x, and whether near-equal pairs must be refined.

    The expansion |x|^2 + |y|^2 - 2 x'y has an error of about eps |x|^2; after centring, the squared
    norms are not much larger than the distances. Where `profile` (None: the square root) is still
    sensitive to the error, float32 points become float64; where that is not enough either, the last
    value is True and `refine` has to recompute the distances of near-equal points.
    """
    wide = astype(x, double(x))
    middle = namespace(x).mean(wide, axis=0)
    centred = wide - middle
    centred_y = centred if y is x else astype(y, double(y)) - middle
    if is_single(x) and not sensitive(profile, centred, centred_y, eps(x), 1e-5):
        single = astype(centred, x.dtype)
        return single, single if y is x else astype(centred_y, x.dtype), False
    tolerance = 1e-5 if is_single(x) else 1e-9
    return centred, centred_y, sensitive(profile, centred, centred_y, eps(centred), tolerance)


def squared_norms(x: Array) -> Array:
    """|x_i|^2: (n,)."""
    return np.vecdot(x, x) if is_numpy(x) else namespace(x).linalg.vecdot(x, x)


def squared_distances(x: ArrayT, y: ArrayT, profile: Profile | None = None) -> ArrayT:
    """|x_i - y_j|^2, never negative, as accurate as `profile` needs them: (n, m)."""
    if is_symbolic(x):
        return x.squared_distances_to(y, profile)  # pyright: ignore[reportAttributeAccessIssue]
    xp, dtype = namespace(x, y), x.dtype
    if x.shape[1] == 1:
        return (x - xp.permute_dims(y, (1, 0))) ** 2
    x, y, care = conditioned(x, y, profile)
    nx = squared_norms(x)
    ny = nx if y is x else squared_norms(y)
    r2 = nx[:, None] + ny[None, :]
    if is_numpy(r2):  # in place
        product = x @ y.T
        product *= 2
        r2 -= product
        np.maximum(r2, 0, out=r2)
        if y is x:
            np.fill_diagonal(r2, 0)
    else:
        r2 = xp.clip(r2 - 2 * (x @ xp.permute_dims(y, (1, 0))), 0, None)
        if y is x:
            r2 = r2 * (1 - xp.eye(r2.shape[0], dtype=r2.dtype, device=r2.device))
    if care:
        r2 = refine(r2, x, y)
    return astype(r2, dtype)


def sensitive(profile: Profile | None, x: Array, y: Array, unit: float, tolerance: float) -> bool:
    """Whether `profile` at a distance of one rounding error differs from its value at 0 by `tolerance`."""
    return sensitive_to(rounding(x, y, unit), profile, x, tolerance)


def sensitive_to(error: float, profile: Profile | None, x: Array, tolerance: float) -> bool:
    """Whether `profile` at a squared distance of `error`, in the dtype of x, differs so from its value at 0."""
    if profile is None:
        return error > 0
    ends = profile(
        np.array([0.0, error], dtype=x.dtype) if is_numpy(x) else array_like([0.0, error], x)
    )
    gap, size = abs(scalar(ends[1] - ends[0])), abs(scalar(ends[0]))
    return not gap <= tolerance * max(size, float(namespace(x).finfo(x.dtype).smallest_normal))


def rounding(x: Array, y: Array, unit: float) -> float:
    """An estimate of the error of an expanded squared distance."""
    xp = namespace(x, y)
    largest = xp.max(squared_norms(x))
    return 4 * unit * scalar(largest + (largest if y is x else xp.max(squared_norms(y))))


def refine(r2: ArrayT, x: ArrayT, y: ArrayT) -> ArrayT:
    """The squared distances, with those of nearly equal points recomputed from differences."""
    xp = namespace(r2)
    limit = 4 * eps(x) * _MIN_ROUNDING_ERRORS
    x_limits = limit * squared_norms(x)
    y_limits = x_limits if y is x else limit * squared_norms(y)
    near = r2 <= x_limits[:, None] + y_limits[None, :]
    rows, others = _positions(near)
    count = int(rows.shape[0])
    if count == 0:
        return r2
    if 4 * count > r2.shape[0] * r2.shape[1]:  # clusters far apart: nearly all pairs are near
        return total(lambda a, b: (a - b) ** 2, x, y)
    exact = []
    for start in range(0, count, _PAIRS_PER_CHUNK):
        chunk = slice(start, min(start + _PAIRS_PER_CHUNK, count))
        difference = xp.take(x, rows[chunk], axis=0) - xp.take(y, others[chunk], axis=0)
        exact.append(squared_norms(difference))
    r2[(rows, others) if is_numpy(r2) else near] = exact[0] if len(exact) == 1 else xp.concat(exact)
    return r2


def _positions(marked: Array) -> tuple[Array, Array]:
    """Rows and columns of the True entries of a matrix, in the order of its rows."""
    if not is_numpy(marked):
        return namespace(marked).nonzero(marked)
    # a tenth of the time of nonzero() with two axes
    return np.divmod(np.flatnonzero(marked), marked.shape[1])


def l1_distances(x: Array, y: Array) -> Array:
    """sum_k |x_ik - y_jk|: (n, m)."""
    return total(lambda a, b: abs(a - b), x, y)


def total(term: Callable[[Array, Array], Array], x: Array, y: Array) -> Any:
    """sum_k term(x_ik, y_jk), column by column and never as (n, m, d): (n, m)."""
    return reduce(add, (term(a, b) for a, b in columns(x, y)))


def columns(x: Array, y: Array) -> Iterator[tuple[Array, Array]]:
    """For each column, its numbers in x as (n, 1) and in y as (1, m)."""
    return ((x[:, k][:, None], y[:, k][None, :]) for k in range(x.shape[1]))
