"""Squared distances of symbolic points: expanded around the learnt points, or added column by column."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.kernels.metric import Profile, rounding, sensitive_to, squared_norms, total
from mercer.learn.onnx_export.symbolic_array import SymbolicArray, cast

# Columns up to which differences are squared and added column by column, which loses no digits: always, as for so few
# it costs as much as the expansion; and where the expansion is too inaccurate for the kernel.
_COLUMNS_FOR_DIFFERENCES = 4
_MAX_COLUMNS_FOR_DIFFERENCES = 64
_TOLERANCES = {"float32": 1e-5, "float64": 1e-9}  # of the profile, as in `mercer.kernels.metric`


def squared_distances(
    x: SymbolicArray, y: SymbolicArray, profile: Profile | None = None
) -> SymbolicArray:
    """|x_i - y_j|^2, never negative: (n, m).

    The expansion |x|^2 + |y|^2 - 2 x'y is centred by the mean of the learnt points y. Where `profile` is sensitive
    to its rounding near 0, as the square root is, it is computed in float64 or replaced by sums of squared differences, an array (n, m) for each column.
    """
    dtype, width = x.dtype, x.shape[1]
    if width <= _COLUMNS_FOR_DIFFERENCES:
        return _by_columns(x, y)
    if y.value is not None:
        middle = SymbolicArray.constant(x.graph, y.value.mean(axis=0), dtype)
        x, y = x - middle, y - middle
    if _is_sensitive(profile, y, dtype):
        x, y = cast(x, np.float64), cast(y, np.float64)
        if width <= _MAX_COLUMNS_FOR_DIFFERENCES and _is_sensitive(profile, y, x.dtype):
            return cast(_by_columns(x, y), dtype)
    xp, norms_x, norms_y = x.functions, squared_norms(x)[:, None], squared_norms(y)[:, None]
    left = xp.concat([-2 * x, norms_x, xp.ones_like(norms_x)], axis=1)
    right = xp.concat([y, xp.ones_like(norms_y), norms_y], axis=1)
    return cast(xp.clip(left @ right.T, 0.0), dtype)  # one product instead of three passes


def _by_columns(x: Any, y: Any) -> Any:
    return total(lambda a, b: (a - b) * (a - b), x, y)


def _is_sensitive(profile: Profile | None, y: SymbolicArray, dtype: np.dtype) -> bool:
    """Whether the profile near 0 shows the rounding of an expansion in this dtype, for points like the learnt ones."""
    if y.value is None:  # computed from the input, such as unit vectors
        points = np.ones((1, 1), dtype=dtype)
    else:
        points = y.value.astype(dtype)
    error = rounding(points, points, float(np.finfo(dtype).eps))
    return sensitive_to(error, profile, points, _TOLERANCES[dtype.name])
