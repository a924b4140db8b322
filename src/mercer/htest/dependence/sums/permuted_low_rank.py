"""|A'PB|^2 of two low-rank factors for many permutations P.

With K ~ AA' and L ~ BB', A centred, tr(K P L P') = |A'PB|^2 for every permutation matrix P: the
resampled statistics of HSIC, in time linear in the number of observations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer.gram.threads import in_order, spans

Reduction = Callable[[np.ndarray], np.ndarray]

_TILE_COLUMNS = 256  # of gathered rows, side by side: the tile stays in cache
_MIN_PRODUCTS_FOR_THREADS = 20_000_000  # with fewer, one thread is as fast as two


def permuted_norms(a: np.ndarray, b: np.ndarray, order: np.ndarray) -> np.ndarray:
    """|sum_i a_i b_p(i)'|^2 (Frobenius) for every permutation p, the rows of `order`.

    O(n r s) products a permutation, in the dtype of the factors. Centre one of them first.

    Parameters
    ----------
    a : array (n, r)
    b : array (n, s)
    order : array (B, n) of positions
        Each row is a permutation.

    Returns
    -------
    array (B,), float64

    Examples
    --------
    >>> a, b = np.array([[1.0], [0.0], [-1.0]]), np.array([[2.0], [5.0], [1.0]])
    >>> permuted_norms(a, b, np.array([[0, 1, 2], [1, 0, 2]]))
    array([ 1., 16.])
    """
    return permuted_products(a, b, order, _squared_norms)


def permuted_products(
    a: np.ndarray, b: np.ndarray, order: np.ndarray, reduction: Reduction
) -> np.ndarray:
    """reduction(sum_i a_i b_p(i)') for every row p of `order`: (B,).

    `reduction` maps several products at once, (r, b, s) or (s, b, r), to numbers (b,), and must not
    depend on transposition. The rows of the narrower factor are gathered for several permutations
    side by side, and multiplied by the other factor.
    """
    swapped = a.shape[1] < b.shape[1]  # sum_i a_i b_p(i)' = sum_j a_q(j) b_j', q the inverse of p
    fixed, gathered = (b, a) if swapped else (a, b)
    transposed = np.ascontiguousarray(fixed.T)  # (r, n)
    gathered = np.ascontiguousarray(gathered)
    r, (n, s) = len(transposed), gathered.shape
    if r == 0 or s == 0:
        return np.zeros(len(order), dtype=np.float64)
    work = _ReducedProducts(transposed, gathered, order, swapped, reduction)
    batches = spans(len(order), max(_TILE_COLUMNS // s, 1))
    parallel = len(order) * n * r * s > _MIN_PRODUCTS_FOR_THREADS
    return np.concatenate([*in_order(work, batches, parallel=parallel, shown=False)])


@dataclass(frozen=True, eq=False)
class _ReducedProducts:
    """Some permutations -> their reduced products: (b,)."""

    transposed: np.ndarray  # (r, n), the factor whose rows stay
    gathered: np.ndarray  # (n, s)
    order: np.ndarray  # (B, n)
    inverse: bool  # whether rows are gathered by the inverse permutations
    reduction: Reduction

    def __call__(self, batch: slice) -> np.ndarray:
        r, (n, s) = len(self.transposed), self.gathered.shape
        rows = _inverse(self.order[batch]) if self.inverse else self.order[batch]
        product = np.zeros((r, len(rows) * s), dtype=self.transposed.dtype)
        for span in spans(n):
            tile = self.gathered.take(rows[:, span].T, axis=0)  # (span, b, s)
            product += self.transposed[:, span] @ tile.reshape(len(tile), -1)
        return self.reduction(product.reshape(r, -1, s))


def _inverse(order: np.ndarray) -> np.ndarray:
    """The inverse of every permutation."""
    out = np.empty_like(order)
    np.put_along_axis(out, order.astype(np.intp), np.arange(order.shape[1], dtype=order.dtype), 1)
    return out


def _squared_norms(product: np.ndarray) -> np.ndarray:
    """Squared Frobenius norms over the first and the last axis, in float64: (r, b, s) -> (b,)."""
    return np.einsum("rbs,rbs->b", product, product, dtype=np.float64, casting="safe")
