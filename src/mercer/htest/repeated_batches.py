"""Refusal of a monitored batch that came before: a reference sample that is used again is no stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import is_array, to_numpy
from mercer.frames import Table

# Two batches of one stream have the same rows in the same order by chance if these are few, or nearly all equal.
_MIN_ROWS = 10
_MIN_DIFFERENT_ROWS = 5


def refuse_repeated(before: tuple[Any, Any] | None, batch: tuple[Any, Any]) -> None:
    """Raise if a batch of either stream has the rows of the one before it."""
    for name, old, new in zip(("x", "y"), before or (), batch, strict=False):
        if _same_rows(_values(old), _values(new)):
            raise ValueError(
                f"{name} must have new observations, got the rows of the batch before: a stream has every row once, and a "
                "reference sample that is used again makes false alarms. Give a part of it to each batch, or compare "
                "batches with all of it by drift(reference, batches)"
            )


def _values(sample: Any) -> np.ndarray | None:
    """Numbers of a batch, and codes of its categories; None of other objects."""
    values = sample.values if isinstance(sample, Table) else sample
    return to_numpy(values) if is_array(values) else None


def _same_rows(old: np.ndarray | None, new: np.ndarray | None) -> bool:
    if old is None or new is None or len(new) < _MIN_ROWS or not np.array_equal(old, new):
        return False
    return len(np.unique(new, axis=0)) >= _MIN_DIFFERENT_ROWS
