"""What is known of the bias of entropies and divergences that are estimated from distances to neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.info.entropies import cross_entropy, default_entropy_estimator, divergence
from mercer.info.plug_in import PlugIn
from mercer.info.sample import Sample, read_sample, read_two

NEIGHBOURS = "Estimates from neighbours are biased in many dimensions; the interval ignores it."
_FEW = (
    0.01  # share of the rows of the smaller sample, below which copies in the other matter little
)


def neighbour_notes(
    function: Callable[..., float], samples: Sequence[Any], estimator: Any
) -> list[str]:
    """Notes on an estimate by `function`; none where the data are categories, which have no neighbours."""
    two = function in (divergence, cross_entropy)
    first, *others = read_two(*samples) if two else [read_sample(x, "x") for x in samples]
    if isinstance(default_entropy_estimator(estimator, first), PlugIn):
        return []
    several = first.dimension + sum(s.dimension for s in others) * (not two) > 1
    copies = [_copies(first, others[0])] if two else []
    return [*filter(None, copies), *([NEIGHBOURS] if several else [])]


def _copies(x: Sample, y: Sample) -> str:
    """A note on rows that are in both samples, or nothing."""
    first, second = (np.ascontiguousarray(to_numpy(s.values) + 0.0) for s in (x, y))
    rows = [np.unique(values, axis=0, return_counts=True) for values in (first, second)]
    both = np.concatenate([values for values, _ in rows])
    repeated, times = np.unique(both, axis=0, return_counts=True)
    shared = {row.tobytes() for row in repeated[times > 1]}
    number = sum(int(n) for row, n in zip(*rows[0], strict=True) if row.tobytes() in shared)
    if number < max(2, _FEW * min(len(x), len(y))):
        return ""
    return (
        f"{number:,} of the {len(x):,} rows of x are in y as well, value for value. Such a row is its own neighbour at "
        "distance zero, so that the estimate is too small, perhaps below zero: keep each row in one sample."
    )
