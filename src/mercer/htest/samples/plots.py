"""Plots of a two-sample result: the numbers are computed here and drawn by `mercer.plot`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.htest.samples.attribution import feature_differences, tables
from mercer.htest.samples.column_features import embedded
from mercer.plot import plot_embeddings, plot_shares, plot_witness
from mercer.rkhs.function import Function


def plot_result_witness(result: Any, column: str | int | None, ax: Any) -> Any:
    """Plot the witness of one or two columns of numbers, or both samples along one column."""
    columns = result.pooled.columns
    numbers = columns is None or not any(columns.categorical)
    if column is None and result.width is not None and result.width <= 2 and numbers:
        return plot_witness(result.witness(), ax=ax)
    return _column(result, column, ax)


def _column(result: Any, column: str | int | None, ax: Any) -> Any:
    """Plot mean embeddings along a column of numbers, or shares of categories."""
    first, second, weights = tables(*result.pooled.samples)
    if column is None:
        features = feature_differences(*result.pooled.samples, resamples=99, rng=0)
        column = max(features, key=lambda f: f.standardized).name
    j = first.columns.index(column)
    a, b = first.values[:, j], second.values[:, j]
    if result.pooled.weights is not None:
        weights = result.pooled.weights
    p, q = (w / w.sum() for w in (weights[: len(a)], weights[len(a) :]))
    name, pooled = first.columns.names[j], np.concatenate([a, b])
    if first.columns.categorical[j]:
        codes, place = np.unique(pooled, return_inverse=True)
        known = {**first.labels, **second.labels}
        before = np.bincount(place[: len(a)], p, len(codes))
        after = np.bincount(place[len(a) :], q, len(codes))
        labels = [known.get(float(c), f"{c:g}") for c in codes]
        return plot_shares(labels, before, after, ax=ax, label=name)
    kernel = embedded(pooled, False).kernel
    functions = (Function(kernel, v[:, None], w) for v, w in ((a, p), (b, q)))
    return plot_embeddings(*functions, ax=ax, label=name)
