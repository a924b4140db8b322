"""HSIC of many pairs of series at the same slowest cosines, so that their p-values may be corrected together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.backend import to_numpy
from mercer.gram import LazyMatrix
from mercer.gram.combine import LowRank
from mercer.htest.dependence.series_forms import slow_share, wander_together
from mercer.htest.seasons import deseasonalised
from mercer.htest.slow_contrasts import (
    SlowContrasts,
    SlowForms,
    contrasted,
    contrasted_pair,
    rotated_together,
)


class SeriesPairs:
    """Statistics of pairs of series without their seasons: mean_ij of K~ o L~, as `HSIC` with `WildBootstrap(block=None)`."""

    def __init__(self, matrices: Sequence[LazyMatrix]) -> None:
        n = matrices[0].shape[0]
        self.contrasts = SlowContrasts.of(np.ones(n, dtype=np.float64), (n,))
        self.shares = [slow_share(matrix) for matrix in matrices]
        self.matrices = [deseasonalised(matrix)[0] for matrix in matrices]

    def statistics(
        self, pairs: Sequence[tuple[int, int]], resamples: int, seed: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Statistics of pairs and their draws (pairs, 1 + B), and the rounding of each.

        A pair that wanders together is below every one of its draws: it is not tested.
        """
        forms = [self._forms(i, j) for i, j in pairs]
        values = np.empty((len(pairs), resamples + 1), dtype=np.float64)
        values[:, 0] = [form.matrix[0, 0] for form in forms]
        values[:, 1:] = rotated_together(forms, resamples, seed)
        for row in self.wandering(pairs):
            values[row], values[row, 0] = 0.0, -1.0
        return values, np.array([form.tolerance for form in forms], dtype=np.float64)

    def wandering(self, pairs: Sequence[tuple[int, int]]) -> list[int]:
        """Pairs of which one is a random walk and the other wanders, too, by their places."""
        shares = self.shares
        return [p for p, (i, j) in enumerate(pairs) if wander_together([shares[i], shares[j]])]

    def _forms(self, i: int, j: int) -> SlowForms:
        n, first, second = len(self.contrasts.weights), self.matrices[i], self.matrices[j]
        if isinstance(first, LowRank) and isinstance(second, LowRank):
            a, b = (to_numpy(m.features).astype(np.float64) for m in (first, second))
            return contrasted_pair(a, b, self.contrasts).scaled(1 / n)
        return contrasted(first * second, self.contrasts).scaled(1 / n)
