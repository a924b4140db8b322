"""Statistic of conditional independence tests, from residuals, with its moments and limit for null distributions.

With E_x and E_y the residuals of the features of x and y after regression on z, and M a kernel on z,

    T = mean_ij M_ij <e_x(i), e_x(j)> <e_y(i), e_y(j)>

is the squared norm of the mean of e_x(i) (x) e_y(i) (x) m(z_i): zero in the limit only if x and y are
independent given z, where the kernels are characteristic (Daudin 1980; Pogodin et al. 2022).

The residuals are E_x = R f_x with the residual operator R = I - S of the regression. So, for fixed y and z,
T is a quadratic form in the noise e of x with the matrix R (M o E_y E_y') R. Its null distribution is
approximated by giving the noise random signs before the regression. Random signs of the residuals, in the
form E_x E_x' o E_y E_y' o M, would be wrong: after a regression with p degrees of freedom the mean of that
form is too small by a factor of about 1 - p / n, and the test rejects too often.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from math import sqrt

import numpy as np

from mercer import linalg
from mercer.backend import Array, namespace, scalar, to_numpy, transposed
from mercer.gram import Dense, LazyMatrix, LowRank, SignWeights, cholesky
from mercer.gram.threads import side, spans
from mercer.htest.conditional_memory import need_matrices
from mercer.htest.dependence.null_spectrum import cube_sum, limit_weights, trace_of_cube
from mercer.htest.dependence.regression_targets import FeatureResiduals, Residuals
from mercer.htest.nulls import WildBootstrap

MATRIX_COPIES = 2  # of an n x n matrix in memory at the same time
_FACTOR_TOLERANCE = 1e-8  # share of the trace that a factor may miss
_ROWS_PER_COLUMN = 8  # observations for each column of a factor, from which on factors are faster
_MAX_ROWS_FOR_CUBE = 1500  # observations up to which tr H^3 takes less time than eigenvalues
_EIGENVALUES_FOR_SKEWNESS = 50  # the rest add little to a sum of cubes
_MIN_SKEWNESS = 0.01  # nearly normal: a gamma distribution needs a positive skewness


class ConditionalEvidence(ABC):
    """T of the residuals of two variables, and its null distribution."""

    def __init__(self, x: Residuals, y: Residuals) -> None:
        self.x, self.y, self.n = x, y, x.smoother.basis.n

    @property
    def observed(self) -> float:
        """T."""
        return self._forms[0]

    @property
    def matrix(self) -> LazyMatrix:
        """H = E E' o R (M o E_y E_y') R with the noise E of x: the form with random signs."""
        return self._forms[1]

    @cached_property
    @abstractmethod
    def _forms(self) -> tuple[float, LazyMatrix]:
        """T and H."""

    # ---- protocols of nulls -------------------------------------------------------------

    def moments(self) -> tuple[float, float, float]:
        """T, and mean and variance of the form with random signs, tr H / n^2 and 2 |H_0|^2 / n^4.

        H_0 is H without its diagonal: signs do not change the diagonal, and in T it varies together with
        the estimated mean tr H / n^2. With the diagonal (Zhang et al. 2011) the test rejects too rarely.
        """
        diagonal, squared_diagonal, _ = self._sums
        squares = max(float(np.sum(squared_diagonal) - diagonal @ diagonal), 0.0)
        return self.observed, float(np.sum(diagonal)) / self.n**2, 2 * squares / self.n**4

    def skewness(self) -> float:
        """sqrt(8) tr H_0^3 / |H_0|^3."""
        diagonal, squared_diagonal, cubed = self._sums
        third = cubed - 3 * float(diagonal @ squared_diagonal) + 2 * float(np.sum(diagonal**3))
        squares = float(np.sum(squared_diagonal) - diagonal @ diagonal)
        return max(sqrt(8) * third / squares**1.5, _MIN_SKEWNESS)

    @cached_property
    def _sums(self) -> tuple[np.ndarray, np.ndarray, float]:
        """The diagonals of H and of H^2, (n,) each, and the trace of H^3."""
        matrix = self.matrix
        diagonal = to_numpy(matrix.diagonal()).astype(np.float64)
        squared_diagonal = to_numpy((matrix * matrix).row_sums()).astype(np.float64)
        if self.n <= _MAX_ROWS_FOR_CUBE:
            return diagonal, squared_diagonal, trace_of_cube(matrix)
        top = self.n**2 * self._limit(_EIGENVALUES_FOR_SKEWNESS)[0]
        traces = float(np.sum(diagonal)), float(np.sum(squared_diagonal))
        return diagonal, squared_diagonal, cube_sum(top, *traces)

    def spectrum(self, rank: int) -> tuple[float, np.ndarray, float]:
        """T, the largest weights of its limit and the sum of the others, rescaled to `moments`."""
        diagonal, squared_diagonal, _ = self._sums
        weights, remainder = self._limit(rank)
        shrink = sqrt(max(1 - float(diagonal @ diagonal) / float(np.sum(squared_diagonal)), 0.0))
        total = float(np.sum(diagonal)) / self.n**2
        return self.observed, shrink * weights, shrink * remainder + (1 - shrink) * total

    def _limit(self, rank: int) -> tuple[np.ndarray, float]:
        """The largest eigenvalues of H / n^2, and the sum of the others."""
        return limit_weights(self.matrix, rank)

    def signed(self, null: WildBootstrap, seed: int) -> tuple[float, np.ndarray]:
        """T, and the form with random signs."""
        signs = SignWeights(
            self.n, null.resamples, scale=1 / self.n, block=null.block or 1, rng=seed
        )
        return self.observed, to_numpy(self.matrix.quad(signs)).astype(np.float64)

    def tolerance(self) -> float:
        """0: ties need no tolerance beyond that for rounding in float64, which every null has."""
        return 0.0


class KernelEvidence(ConditionalEvidence):
    """Evidence weighted by the Gram matrix M of a kernel on z."""

    def __init__(self, x: Residuals, y: Residuals, gram_z: LazyMatrix) -> None:
        super().__init__(x, y)
        self.gram_z = gram_z

    @cached_property
    def _forms(self) -> tuple[float, LazyMatrix]:
        """T and H, by low-rank factors where these are short, otherwise by n x n matrices."""
        x, columns = self.x, self._factor()
        if columns is None or not isinstance(x, FeatureResiduals):
            return self._dense_forms()
        xp = namespace(columns)
        observed = scalar(xp.sum((transposed(x.values) @ columns) ** 2)) / self.n**2
        residual_columns = LowRank(x.smoother.residuals(columns))
        return observed, LowRank(x.noise) * residual_columns

    def _factor(self) -> Array | None:
        """A factor of M o E_y E_y', (n, c), if it is short enough to be faster than matrices."""
        if not isinstance(self.y, FeatureResiduals):
            return None
        y = self.y.values
        max_rank = self.n // _ROWS_PER_COLUMN // y.shape[1]
        if max_rank < 1:
            return None
        factor = cholesky(self.gram_z, tolerance=_FACTOR_TOLERANCE, most=max_rank + 1).columns
        if factor.shape[1] > max_rank:
            return None
        return namespace(y).reshape(factor[:, :, None] * y[:, None, :], (self.n, -1))

    def _dense_forms(self) -> tuple[float, LazyMatrix]:
        n, x = self.n, self.x
        need_matrices("KCI", n, MATRIX_COPIES)
        dense = self.gram_z.dense()  # (n, n)
        tiles, everything = spans(n, side(dense)), slice(0, n)
        for rows in tiles:
            dense[rows, :] *= self.y.inner(rows, everything)
        a, b = x.smoother.two_sided(dense)
        scale, total = x.noise_scale, 0.0
        for rows in tiles:
            for columns in spans(n, side(dense), first=rows.start):
                tile, inner = dense[rows, columns], x.inner(rows, columns)
                total += (1 if rows == columns else 2) * scalar(namespace(tile).sum(tile * inner))
                tile -= a[rows, :] @ transposed(b[columns, :])
                tile -= b[rows, :] @ transposed(a[columns, :])
                tile *= inner * scale[rows, None] * scale[None, columns]
                mirrored = transposed(tile)
                dense[columns, rows] = (mirrored + tile) / 2 if rows == columns else mirrored
        return total / n**2, Dense(dense)


class FeatureEvidence(ConditionalEvidence):
    """Evidence of a few features without weights, in time linear in the number of observations."""

    x: FeatureResiduals
    y: FeatureResiduals

    def __init__(self, x: FeatureResiduals, y: FeatureResiduals) -> None:
        super().__init__(x, y)

    @cached_property
    def products(self) -> np.ndarray:
        """P of H = PP': products of the noise of x and the residuals R E_y of E_y: (n, c)."""
        residual_again = self.x.smoother.residuals(self.y.values)
        return (self.x.noise[:, :, None] * residual_again[:, None, :]).reshape(self.n, -1)

    @cached_property
    def _forms(self) -> tuple[float, LazyMatrix]:
        observed = float(np.sum((self.x.values.T @ self.y.values) ** 2)) / self.n**2
        return observed, LowRank(self.products)

    @cached_property
    def _eigenvalues(self) -> np.ndarray:
        """Nonzero eigenvalues of H / n^2, in decreasing order."""
        values = linalg.eigvalsh(self.products.T @ self.products)[::-1]
        return np.maximum(values, 0.0) / self.n**2

    def _limit(self, rank: int) -> tuple[np.ndarray, float]:
        return self._eigenvalues[:rank], float(np.sum(self._eigenvalues[rank:]))

    @cached_property
    def _sums(self) -> tuple[np.ndarray, np.ndarray, float]:
        p = self.products
        squared_diagonal = np.einsum("ic,ic->i", p @ (p.T @ p), p)
        cubed = float(np.sum((self.n**2 * self._eigenvalues) ** 3))
        return np.sum(p**2, axis=1), squared_diagonal, cubed
