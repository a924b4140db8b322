"""Columns of the samples of a test, compared one by one by the null distribution of the test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.gram.resampling_weights import resampling_seed
from mercer.htest.corrections import Correction
from mercer.htest.nulls import Null, Permutation, WildBootstrap
from mercer.htest.samples.attribution import (
    Features,
    embedded_columns,
    feature_differences,
    number_of_resamples,
    ranked_columns,
    statistics_of_columns,
    tables,
)
from mercer.htest.samples.column_features import Embedded
from mercer.htest.samples.mmd_series import block_weights
from mercer.htest.samples.pooled_sample import Pooled, labellings
from mercer.htest.slow_contrasts import (
    SlowContrasts,
    SlowForms,
    contrasted_features,
    rotated_together,
    untested,
    wanders,
)
from mercer.rkhs.distributions import Empirical


def features_of(
    pooled: Pooled, null: Null | None, correction: Correction, resamples: int | None, rng: Any
) -> Features:
    """Differences of the columns by the null of a test: its permutations, within blocks or pairs, or that of series."""
    if pooled.samples is None:
        raise TypeError("this result does not know its samples: use feature_differences(x, y)")
    x, y = pooled.samples
    if isinstance(null, WildBootstrap):
        return series_differences(x, y, null, correction, resamples, rng)
    if pooled.weights is not None:
        x, y = Empirical(x, pooled.weights[: pooled.n]), Empirical(y, pooled.weights[pooled.n :])
    restricted = pooled.null_of_rows(null) if isinstance(null, Permutation) else None
    return feature_differences(
        x, y, correction=correction, resamples=resamples, null=restricted, rng=rng
    )


def series_differences(
    x: Any,
    y: Any,
    null: WildBootstrap,
    correction: Correction,
    resamples: int | None,
    rng: Any,
) -> Features:
    """`feature_differences` of two series, whose rows depend on those before them.

    The statistic of a column is the MMD^2 of `MMD` with this null. All columns share its signs of blocks or its mixtures of
    slow cosines, so that their p-values may be corrected together. A column that wanders like a random walk is not tested:
    its p-value is 1, and a caution names it.
    """
    first, second, weights = tables(x, y)
    number = number_of_resamples(correction, len(first.columns.names), resamples)
    null, seed = replace(null, resamples=number), resampling_seed(rng)
    labels = labellings(len(first), len(second), Permutation(1), seed)
    exact, _ = statistics_of_columns(embedded_columns(first, second), labels, weights, 1)
    sizes, columns = (len(first), len(second)), embedded_columns(first, second)
    if null.block is not None:
        values = np.stack([_block_statistics(column, sizes, null, seed) for column in columns])
        return ranked_columns(first, second, weights, exact, values, correction)
    forms = [_slow_forms(column, sizes) for column in columns]
    values = np.column_stack(
        [[form.matrix[0, 0] for form in forms], rotated_together(forms, number, seed)]
    )
    walks = np.array([any(map(wanders, form.wandering)) for form in forms], dtype=bool)
    values[walks], values[walks, 0] = 0.0, -1.0  # below every draw
    tolerances = np.array([form.tolerance for form in forms], dtype=np.float64)
    notes = untested([first.columns.names[j] for j in np.flatnonzero(walks)])
    return ranked_columns(first, second, weights, exact, values, correction, tolerances, notes)


# ---- private ------------------------------------------------------------------------------


def _contrast(sizes: tuple[int, int]) -> np.ndarray:
    """1 / n and -1 / m: (n + m,)."""
    return np.repeat([1 / sizes[0], -1 / sizes[1]], sizes)


def _block_statistics(
    column: Embedded, sizes: tuple[int, int], null: WildBootstrap, seed: int
) -> np.ndarray:
    """MMD^2 of a column, and with blocks of rows that change their samples: (1 + B,)."""
    z, weights = column.features, block_weights(sizes, null, seed)
    means = [z.T @ _contrast(sizes)[:, None], *(z.T @ w for w in weights)]
    return np.concatenate([np.einsum("rb,rb->b", m, m) for m in means])


def _slow_forms(column: Embedded, sizes: tuple[int, int]) -> SlowForms:
    """MMD^2 of a column, and the same at the slowest cosines of both series."""
    contrast = _contrast(sizes)
    forms = contrasted_features(column.features, SlowContrasts.of(contrast, sizes))
    return forms.scaled(float(contrast @ contrast))
