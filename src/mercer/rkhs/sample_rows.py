"""Rows of samples of any kind: some of them, and two samples one after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import is_array
from mercer.frames import Table, table
from mercer.kernels.prepare import aligned
from mercer.kernels.take import taken
from mercer.rkhs.points import joined

__all__ = ["one_sample", "settled", "stacked", "taken"]


def settled(x: Any, name: str = "x") -> Any:
    """`x` with data frames read once, into a `Table`; rows of what is returned are cheap."""
    return x if is_array(x) or isinstance(x, list | tuple) else table(x, name) or x


def one_sample(x: Any, name: str) -> Any:
    """A checked sample whose rows can be taken: a `Table`, an array, or a sequence of objects.

    Data frames are read once, here; missing and infinite numbers in them are refused.
    """
    x = settled(x, name)
    if isinstance(x, Table):
        validate.finite(x.values, name)
        return x
    return validate.points_or_objects(x, name)


def stacked(x: Any, y: Any) -> Any:
    """The rows of x, then those of y, both `settled`; columns of tables are matched by name."""
    if isinstance(x, Table) and isinstance(y, Table):
        both = np.concatenate([x.values, aligned(y, x.columns)])
        return replace(x, values=both, labels={**x.labels, **y.labels})
    return joined(x, y)
