"""Bandwidths at the scale of neighbours, below that of `median_bandwidth`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, is_array, to_numpy
from mercer.gram.threads import spans
from mercer.kernels.bandwidth import usable
from mercer.kernels.metric import squared_distances
from mercer.kernels.prepare import as_table

_NEIGHBOUR = 7  # whose distance is the bandwidth (Zelnik-Manor and Perona 2004)
_LOOKED = 500  # points whose neighbours are looked for


def numbers(x: Any, name: str = "X") -> Array | None:
    """The points of arrays and lists of numbers, and of data frames without categories; else None."""
    frame = None if is_array(x) else as_table(x, name)
    if frame is not None:
        return None if any(frame.columns.categorical) else validate.points(frame.values, name)
    return None if validate.holds_objects(x) else validate.points(x, name)


def neighbour_bandwidth(x: Any, name: str = "X") -> float:
    """The median distance of a point to its 7th neighbour, of distinct points."""
    points = validate.points(x, name)
    distinct = np.unique(to_numpy(points).astype(np.float64), axis=0)
    n = len(distinct)
    if n == 1:
        raise ValueError(
            f"all points of {name} are equal, so that their distances say nothing about a "
            "bandwidth: give a kernel, such as RBF(1.0)"
        )
    looked = distinct[np.linspace(0, n - 1, min(n, _LOOKED)).astype(np.int64)]
    rank = min(_NEIGHBOUR, n - 1)
    far = [
        np.partition(squared_distances(looked[some], distinct), rank, axis=1)[:, rank]
        for some in spans(len(looked), 64)
    ]
    return usable(float(np.sqrt(np.median(np.concatenate(far)))), points, name)
