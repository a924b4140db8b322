"""Bandwidths from distances to near neighbours, smaller than `median_bandwidth`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, is_array, to_numpy
from mercer.gram.threads import spans
from mercer.kernels.bandwidth import usable
from mercer.kernels.metric import squared_distances
from mercer.kernels.prepare import as_table

_NEIGHBOUR_RANK = 7  # neighbour whose distance is the bandwidth (Zelnik-Manor and Perona 2004)
_MAX_QUERY_POINTS = 500  # evenly spaced, whose neighbours are searched


def numbers(x: Any, name: str = "X") -> Array | None:
    """Points of numeric arrays, lists and data frames without categories; None for other data."""
    frame = None if is_array(x) else as_table(x, name)
    if frame is not None:
        return None if any(frame.columns.categorical) else validate.points(frame.values, name)
    return None if validate.holds_objects(x) else validate.points(x, name)


def neighbour_bandwidth(x: Any, name: str = "X") -> float:
    """Median distance of distinct points to their 7th nearest neighbour."""
    points = validate.points(x, name)
    distinct = np.unique(to_numpy(points).astype(np.float64), axis=0)
    n = len(distinct)
    if n == 1:
        raise ValueError(
            f"all points of {name} are equal, so their distances do not determine a bandwidth: "
            "give a kernel, such as RBF(1.0)"
        )
    sample = distinct[np.linspace(0, n - 1, min(n, _MAX_QUERY_POINTS)).astype(np.int64)]
    rank = min(_NEIGHBOUR_RANK, n - 1)
    distances2 = [
        np.partition(squared_distances(sample[rows], distinct), rank, axis=1)[:, rank]
        for rows in spans(len(sample), 64)
    ]
    return usable(float(np.sqrt(np.median(np.concatenate(distances2)))), points, name)
