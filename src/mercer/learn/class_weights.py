"""Weights of classes: factors of the loss at the points of each class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def class_factors(class_weight: Any, classes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Factor of each class (k,), of which there are so many points: 1 for None, n / (k count) for "balanced"."""
    if class_weight is None:
        return np.ones(len(classes), dtype=np.float64)
    if isinstance(class_weight, str) and class_weight == "balanced":
        return counts.sum() / (len(classes) * counts)
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f'class_weight must be a dictionary, "balanced" or None, got {class_weight!r}'
        )
    unknown = [label for label in class_weight if label not in classes]
    if unknown:
        raise ValueError(f"class_weight has classes that are not in y: {unknown}")
    values = [class_weight.get(label, 1.0) for label in classes.tolist()]
    factors = np.asarray(values, dtype=np.float64)
    if not np.all((factors > 0) & np.isfinite(factors)):
        raise ValueError(f"class_weight must be positive for every class, got {factors.tolist()}")
    return factors
