"""Mean and variance of sum_ij prod_k K^k_(p_k(i) p_k(j)) over all permutations p_k, exactly.

The permutations of different variables are independent, so that the expectation of a product over
the variables is the product of their expectations, and each of these is the mean of entries of one
matrix over all pairs, triples or quadruples of distinct rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from mercer.backend import to_numpy
from mercer.gram import LazyMatrix


@dataclass(frozen=True)
class MatrixSums:
    """Diagonal, row sums and squared Frobenius norm of a symmetric matrix, and means derived from them."""

    diagonal: np.ndarray  # (n,)
    rows: np.ndarray  # (n,)
    squared_norm: float

    @classmethod
    def of(cls, matrix: LazyMatrix) -> MatrixSums:
        """The sums of a matrix, by two passes over its tiles."""
        diagonal = to_numpy(matrix.diagonal()).astype(np.float64)
        rows = to_numpy(matrix.row_sums()).astype(np.float64)
        return cls(diagonal, rows, matrix.inner(matrix))

    @property
    def single(self) -> tuple[float, float]:
        """The means of K_ii, and of K_ij over i != j."""
        n, trace = len(self.diagonal), float(self.diagonal.sum())
        return trace / n, (float(self.rows.sum()) - trace) / (n * (n - 1))

    @property
    def double(self) -> tuple[float, ...]:
        """The means of K_ij K_kl over distinct rows, for the seven ways in which indices coincide."""
        n, diagonal, off_rows = len(self.diagonal), self.diagonal, self.rows - self.diagonal
        trace, off_sum = float(diagonal.sum()), float(off_rows.sum())
        diagonal_squares = float(diagonal @ diagonal)
        off_squares = self.squared_norm - diagonal_squares
        mixed = float(diagonal @ off_rows)
        shared = float(off_rows @ off_rows) - off_squares
        pairs, triples = n * (n - 1), n * (n - 1) * (n - 2)
        return (
            diagonal_squares / n,  # K_ii K_ii
            (trace**2 - diagonal_squares) / pairs,  # K_ii K_kk
            off_squares / pairs,  # K_ij K_ij
            mixed / pairs,  # K_ii K_il
            (trace * off_sum - 2 * mixed) / triples,  # K_ii K_kl
            shared / triples,  # K_ij K_il
            (off_sum**2 - 4 * shared - 2 * off_squares) / (triples * (n - 3)),  # K_ij K_kl
        )

    @property
    def with_row_mean(self) -> tuple[float, ...]:
        """The means of K_ij r_k, r the row means: i = j = k; i = j; k = i or k = j; all distinct."""
        n, diagonal = len(self.diagonal), self.diagonal
        off_rows, r = self.rows - diagonal, self.rows / n
        total, on_diagonal, beside = float(r.sum()), float(diagonal @ r), float(off_rows @ r)
        pairs = n * (n - 1)
        return (
            on_diagonal / n,
            (float(diagonal.sum()) * total - on_diagonal) / pairs,
            beside / pairs,
            (float(off_rows.sum()) * total - 2 * beside) / (pairs * (n - 2)),
        )

    @property
    def row_means(self) -> tuple[float, float, float]:
        """The mean of the row means r; of r_i^2; of r_i r_k over i != k."""
        n, r = len(self.diagonal), self.rows / len(self.diagonal)
        total, squares = float(r.sum()), float(r @ r)
        return total / n, squares / n, (total**2 - squares) / (n * (n - 1))


def product_moments(matrices: Sequence[MatrixSums]) -> tuple[float, float]:
    """Mean and variance of t = mean_ij prod_k K^k_ij over all permutations."""
    n = len(matrices[0].diagonal)
    diagonal, off_diagonal = (prod(c) for c in zip(*(m.single for m in matrices), strict=True))
    mean = (diagonal + (n - 1) * off_diagonal) / n
    p, q = n - 1, (n - 1) * (n - 2)
    multiplicities = (1, p, 2 * p, 4 * p, 2 * q, 4 * q, q * (n - 3))  # of quadruples, over n
    terms = (prod(c) for c in zip(*(m.double for m in matrices), strict=True))
    square = sum(w * t for w, t in zip(multiplicities, terms, strict=True)) / n**3
    return mean, square - mean**2


def dhsic_moments(matrices: Sequence[MatrixSums]) -> tuple[float, float]:
    """Mean and variance of dHSIC = t + prod_k mean_ij K^k_ij - 2 u, u = mean_i prod_k r^k_i."""
    n = len(matrices[0].diagonal)
    mean, variance = product_moments(matrices)
    middle, squares, products = (
        prod(c) for c in zip(*(m.row_means for m in matrices), strict=True)
    )
    variance_u = (squares + (n - 1) * products) / n - middle**2
    multiplicities = (1, n - 1, 2 * (n - 1), (n - 1) * (n - 2))
    terms = (prod(c) for c in zip(*(m.with_row_mean for m in matrices), strict=True))
    joint = sum(w * t for w, t in zip(multiplicities, terms, strict=True)) / n**2
    covariance = joint - mean * middle
    return mean - middle, variance + 4 * variance_u - 4 * covariance
