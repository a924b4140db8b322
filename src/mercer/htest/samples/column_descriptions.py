"""What a column of numbers or categories looks like in a sample."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import numpy as np

_CATEGORIES_SHOWN = 3  # those whose shares changed most


def moments(values: np.ndarray, weights: np.ndarray) -> dict[str, float]:
    """Weighted mean and standard deviation of a column."""
    values = values.astype(np.float64)
    mean = float(weights @ values)
    spread = float(weights @ (values - mean) ** 2) / max(1 - float(weights @ weights), 1e-300)
    return {"mean": mean, "sd": sqrt(spread)}


def shares(
    a: np.ndarray, b: np.ndarray, p: np.ndarray, q: np.ndarray, labels: Mapping[float, str]
) -> tuple[dict[str, float], dict[str, float]]:
    """The shares of the categories that changed most, in each sample."""
    levels, place = np.unique(np.concatenate([a, b]), return_inverse=True)
    before = np.bincount(place[: len(a)], p, len(levels))
    after = np.bincount(place[len(a) :], q, len(levels))
    most = np.argsort(-np.abs(after - before), kind="stable")[:_CATEGORIES_SHOWN]
    names = {i: labels.get(float(levels[i]), f"{levels[i]:g}") for i in most}
    return (
        {names[i]: float(before[i]) for i in most},
        {names[i]: float(after[i]) for i in most},
    )
