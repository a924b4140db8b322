"""Signatures of series up to a level as explicit features, by Chen's relation."""

from __future__ import annotations

import numpy as np

from mercer.kernels.series.series_data import Series

_NUMBERS_AT_ONCE = 2**22  # features computed together: 32 MiB


def count_features(channels: int, level: int) -> int:
    """1 + d + ... + d^level; stops where the number is beyond all use."""
    total = power = 1
    for _ in range(level):
        power *= channels
        total += power
        if total > 2**40:
            break
    return total


def signature_features(series: Series, level: int) -> np.ndarray:
    """The signature of each series, all levels one after the other: (n, 1 + d + ... + d^level)."""
    size = count_features(series.channels, level)
    out = np.empty((len(series), size), dtype=np.float64)
    many = max(_NUMBERS_AT_ONCE // size, 1)
    for start in range(0, len(series), many):
        rows = slice(start, start + many)
        out[rows] = np.concatenate(_levels(series[rows], level), axis=1)
    return out


def _levels(series: Series, level: int) -> list[np.ndarray]:
    """Levels 0 to `level`, each (n, d^m): S is multiplied by exp(dx) for one increment after the other."""
    n, d, steps = len(series), series.channels, _increments(series)
    levels = [np.ones((n, 1))] + [np.zeros((n, d**m)) for m in range(1, level + 1)]
    for t in range(steps.shape[1]):
        dx = steps[:, t]
        for m in range(level, 0, -1):
            # Horner: S_m + (S_(m-1) + (S_(m-2) + ...) (x) dx / 2) (x) dx
            term = levels[0]
            for k in range(m, 0, -1):
                term = (term[:, :, None] * (dx / k)[:, None, :]).reshape(n, -1)
                if k > 1:
                    term += levels[m - k + 1]
            levels[m] += term
    return levels


def _increments(series: Series) -> np.ndarray:
    """Increments of all series, zeros behind the end of shorter ones: (n, T - 1, d)."""
    longest = int(series.lengths.max())
    out = np.zeros((len(series), max(longest - 1, 0), series.channels), dtype=np.float64)
    for i, points in enumerate(series):
        out[i, : len(points) - 1] = np.diff(points, axis=0)
    return out
