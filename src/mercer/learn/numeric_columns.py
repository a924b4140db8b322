"""Tables of numbers for estimators that take no categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import is_torch, to_numpy


def numeric(x: Any) -> Any:
    """Tensors as arrays, everything else unchanged; a data frame with a column of categories is refused."""
    for label in getattr(x, "columns", ()):
        if np.asarray(x[label]).dtype.kind in "OUS":
            raise TypeError(
                f"column {label!r} of X holds categories where numbers are needed: drop the column"
            )
    return to_numpy(x) if is_torch(x) else x
