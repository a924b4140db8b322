"""Statistics of independence at the slowest cosines of two series, without their seasons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.backend import array_like, to_numpy
from mercer.gram import LazyMatrix
from mercer.htest.seasons import deseasonalised
from mercer.htest.slow_contrasts import (
    SlowContrasts,
    SlowForms,
    contrasted,
    refusal,
    slow_shares,
    slowest_mixture,
    wanders,
)

# Where one series is a random walk, the other must wander less than this: independent values have a share of 3 / n, and
# products of both are then stationary enough.
_HARMLESS = 0.1
_COSINES = 8  # among which the slowest direction of a series is looked for
_NAMES = ("x", "y")


def slow_forms_of_product(matrices: Sequence[LazyMatrix]) -> SlowForms:
    """mean_ij K~_ij L~_ij for two centred kernel matrices, and its values at the slowest cosines."""
    n = matrices[0].shape[0]
    refuse_walks(matrices)
    residuals, periods = zip(*(deseasonalised(matrix) for matrix in matrices), strict=True)
    contrasts = SlowContrasts.of(np.ones(n, dtype=np.float64), (n,))
    return contrasted(residuals[0] * residuals[1], contrasts).scaled(1 / n, *_remarks(periods))


def refuse_walks(matrices: Sequence[LazyMatrix]) -> None:
    """An error where the series of one matrix is a random walk and that of the other wanders, too."""
    shares = [_share(matrix) for matrix in matrices]
    if wanders(max(shares)) and min(shares) > _HARMLESS:
        raise refusal(_NAMES[int(np.argmax(shares))], max(shares))


def _share(matrix: LazyMatrix) -> float:
    """Share of the variance of the slowest direction of a series in its three slowest cosines."""
    n = matrix.shape[0]
    weights = SlowContrasts.of(np.ones(n, dtype=np.float64), (n,)).weights[:, 1 : 1 + _COSINES]
    products = to_numpy(matrix @ array_like(weights, matrix.like)).astype(np.float64)
    leading = products @ slowest_mixture(weights.T @ products, weights.shape[1])
    return slow_shares([leading - leading.mean()])[0]


def _remarks(periods: Sequence[float | None]) -> tuple[str, ...]:
    return tuple(
        f"A season of {period:.3g} steps was taken out of {name}."
        for name, period in zip(_NAMES, periods, strict=True)
        if period is not None
    )
