"""Mean and variance of sum_ij prod_k K^k_(p_k(i) p_k(j)) over all permutations p_k, exactly.

The permutations of different variables are independent, so that the expectation of a product over
the variables is the product of their expectations, and each of these is the mean of entries of one
matrix over all pairs, triples or quadruples of different rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from mercer.backend import to_numpy
from mercer.gram import LazyMatrix


@dataclass(frozen=True)
class Sums:
    """What one symmetric matrix tells: its diagonal, its row sums, the sum of its squared entries."""

    own: np.ndarray  # (n,)
    rows: np.ndarray  # (n,)
    squares: float

    @classmethod
    def of(cls, matrix: LazyMatrix) -> Sums:
        """Two passes over the tiles."""
        own = to_numpy(matrix.diagonal()).astype(np.float64)
        return cls(own, to_numpy(matrix.row_sums()).astype(np.float64), matrix.inner(matrix))

    @property
    def single(self) -> tuple[float, float]:
        """The means of K_ii, and of K_ij over i != j."""
        n, own = len(self.own), float(self.own.sum())
        return own / n, (float(self.rows.sum()) - own) / (n * (n - 1))

    @property
    def double(self) -> tuple[float, ...]:
        """The means of K_ij K_kl over different rows, for the seven ways in which some coincide."""
        n, own, beside = len(self.own), self.own, self.rows - self.own
        total, off = float(own.sum()), float(beside.sum())
        tips = float(own @ own)
        rest = self.squares - tips
        met = float(own @ beside)
        shared = float(beside @ beside) - rest
        pairs, triples = n * (n - 1), n * (n - 1) * (n - 2)
        return (
            tips / n,  # K_ii K_ii
            (total**2 - tips) / pairs,  # K_ii K_kk
            rest / pairs,  # K_ij K_ij
            met / pairs,  # K_ii K_il
            (total * off - 2 * met) / triples,  # K_ii K_kl
            shared / triples,  # K_ij K_il
            (off**2 - 4 * shared - 2 * rest) / (triples * (n - 3)),  # K_ij K_kl
        )

    @property
    def mixed(self) -> tuple[float, ...]:
        """The means of K_ij r_k, r the row means: i = j = k; i = j; k = i or k = j; all different."""
        n, own, beside, r = len(self.own), self.own, self.rows - self.own, self.rows / len(self.own)
        total, met, near = float(r.sum()), float(own @ r), float(beside @ r)
        pairs = n * (n - 1)
        return (
            met / n,
            (float(own.sum()) * total - met) / pairs,
            near / pairs,
            (float(beside.sum()) * total - 2 * near) / (pairs * (n - 2)),
        )

    @property
    def means(self) -> tuple[float, float, float]:
        """The mean of the row means r; of r_i^2; of r_i r_k over i != k."""
        n, r = len(self.own), self.rows / len(self.own)
        total, squares = float(r.sum()), float(r @ r)
        return total / n, squares / n, (total**2 - squares) / (n * (n - 1))


def product_moments(parts: Sequence[Sums]) -> tuple[float, float]:
    """Mean and variance of t = mean_ij prod_k K^k_ij over all permutations."""
    n = len(parts[0].own)
    own, off = (prod(c) for c in zip(*(p.single for p in parts), strict=True))
    mean = (own + (n - 1) * off) / n
    p, q = n - 1, (n - 1) * (n - 2)
    ways = (1, p, 2 * p, 4 * p, 2 * q, 4 * q, q * (n - 3))  # how many quadruples, over n
    terms = (prod(c) for c in zip(*(p.double for p in parts), strict=True))
    square = sum(w * t for w, t in zip(ways, terms, strict=True)) / n**3
    return mean, square - mean**2


def distance_moments(parts: Sequence[Sums]) -> tuple[float, float]:
    """Mean and variance of dHSIC = t + prod_k mean_ij K^k_ij - 2 u, u = mean_i prod_k r^k_i."""
    n = len(parts[0].own)
    mean, variance = product_moments(parts)
    middle, squares, apart = (prod(c) for c in zip(*(p.means for p in parts), strict=True))
    spread = (squares + (n - 1) * apart) / n - middle**2  # of u
    ways = (1, n - 1, 2 * (n - 1), (n - 1) * (n - 2))
    terms = (prod(c) for c in zip(*(p.mixed for p in parts), strict=True))
    joint = sum(w * t for w, t in zip(ways, terms, strict=True)) / n**2 - mean * middle
    return mean - middle, variance + 4 * spread - 4 * joint
