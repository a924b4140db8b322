"""Statistics of independence at the slowest cosines of several series, without their seasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.backend import array_like, to_numpy
from mercer.gram import LazyMatrix
from mercer.htest.seasons import Residual, deseasonalised, harmonics, season
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


@dataclass(frozen=True)
class Deseasonalised:
    """Kernel matrices of series less their seasons, and what was done to each series."""

    matrices: tuple[LazyMatrix, ...]
    remarks: tuple[str, ...]

    @classmethod
    def of(cls, matrices: Sequence[LazyMatrix], names: Sequence[str]) -> Deseasonalised:
        """Centred kernel matrices, without seasons; an error for random walks."""
        refuse_walks(matrices, names)
        residuals, periods = zip(*(deseasonalised(matrix) for matrix in matrices), strict=True)
        return cls(residuals, _remarks(periods, names))

    @classmethod
    def uncentred(cls, matrices: Sequence[LazyMatrix], names: Sequence[str]) -> Deseasonalised:
        """Kernel matrices whose features keep their means; a season is orthogonal to the mean."""
        refuse_walks([matrix.centered() for matrix in matrices], names)
        residuals, periods = zip(*(_without_season(matrix) for matrix in matrices), strict=True)
        return cls(residuals, _remarks(periods, names))

    def slow_forms(self, matrix: LazyMatrix) -> SlowForms:
        """mean_ij H_ij of a matrix made of these, and its values at the slowest cosines."""
        n = matrix.shape[0]
        contrasts = SlowContrasts.of(np.ones(n, dtype=np.float64), (n,))
        return contrasted(matrix, contrasts).scaled(1 / n, *self.remarks)


def refuse_walks(matrices: Sequence[LazyMatrix], names: Sequence[str]) -> None:
    """An error where the series of one matrix is a random walk and that of another wanders, too."""
    shares = [slow_share(matrix) for matrix in matrices]
    if wander_together(shares):
        raise refusal(names[int(np.argmax(shares))], max(shares))


def wander_together(shares: Sequence[float]) -> bool:
    """Whether one series is a random walk and another wanders, too, by their shares of variance in slow cosines."""
    return wanders(max(shares)) and sorted(shares)[-2] > _HARMLESS


def _without_season(matrix: LazyMatrix) -> tuple[LazyMatrix, float | None]:
    """A kernel matrix less the season of its centred features, and the period."""
    frequency = season(matrix.centered())
    if frequency is None:
        return matrix, None
    return Residual.of(matrix, harmonics(matrix.shape[0], frequency)), 1 / frequency


def slow_share(matrix: LazyMatrix) -> float:
    """Share of the variance of the slowest direction of a series in its three slowest cosines."""
    n = matrix.shape[0]
    weights = SlowContrasts.of(np.ones(n, dtype=np.float64), (n,)).weights[:, 1 : 1 + _COSINES]
    products = to_numpy(matrix @ array_like(weights, matrix.like)).astype(np.float64)
    leading = products @ slowest_mixture(weights.T @ products, weights.shape[1])
    return slow_shares([leading - leading.mean()])[0]


def _remarks(periods: Sequence[float | None], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        f"A season of {period:.3g} steps was taken out of {name}."
        for name, period in zip(names, periods, strict=True)
        if period is not None
    )
