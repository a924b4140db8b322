"""Rows of samples of any kind: some of them, and two samples one after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer import frames
from mercer.backend import array_like, is_array, namespace
from mercer.frames import Table, table
from mercer.kernels.door import aligned
from mercer.rkhs.points import joined


def taken(x: Any, rows: np.ndarray) -> Any:
    """The rows at these positions, repeats included: of an array, a data frame, a sequence."""
    if is_array(x):
        xp = namespace(x)
        return xp.take(x, array_like(rows, x, dtype=xp.int64), axis=0)
    if isinstance(x, Table):
        return replace(x, values=x.values[rows])
    positions = [int(i) for i in rows]
    found = None if isinstance(x, list | tuple) else frames.rows(x, positions)
    return [x[i] for i in positions] if found is None else found


def settled(x: Any, name: str = "x") -> Any:
    """`x` with data frames read once, into a `Table`; rows of what is returned are cheap."""
    return x if is_array(x) or isinstance(x, list | tuple) else table(x, name) or x


def stacked(x: Any, y: Any) -> Any:
    """The rows of x, then those of y, both `settled`; columns of tables are matched by name."""
    if isinstance(x, Table) and isinstance(y, Table):
        both = np.concatenate([x.values, aligned(y, x.columns)])
        return replace(x, values=both, labels={**x.labels, **y.labels})
    return joined(x, y)
