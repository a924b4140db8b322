"""Low-rank factors of two kernel matrices, one of them permuted: many norms |A'PB|^2 at once.

With K ~ AA' and L ~ BB', A centred, tr(K P L P') = |A'PB|^2 for every permutation matrix P: the
resampled statistics of HSIC, in time linear in the number of observations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from mercer.config import settings
from mercer.gram import PermutedWeights
from mercer.gram.threads import in_order, spans
from mercer.htest.nulls import Permutation

Fold = Callable[[np.ndarray], np.ndarray]

_COLUMNS = 256  # of a gathered tile, which then stays in cache
_MANY = 20_000_000  # products below which one thread is as fast as two


def permutations(n: int, null: Permutation, columns: slice, seed: int) -> Iterator[np.ndarray]:
    """Permutations of n observations as the null draws them, in chunks (b, n) within the budget.

    Column 0 is the identity, so that what was observed goes through the same arithmetic. What a
    column holds depends on the seed and its number, not on the chunks.

    Examples
    --------
    >>> (order,) = permutations(5, Permutation(3), slice(0, 4), seed=1)
    >>> order.shape, order[0].tolist(), sorted(order[3].tolist())
    ((4, 5), [0, 1, 2, 3, 4], [0, 1, 2, 3, 4])
    """
    refuse_paired(null)
    drawn = PermutedWeights(
        np.arange(n), null.resamples + 1, rng=seed, blocks=null.blocks, keep_first=True
    )
    for chunk in drawn.chunks(settings().memory // 8):
        start, stop = max(chunk.start, columns.start), min(chunk.stop, columns.stop)
        if start < stop:
            yield drawn.columns(slice(start, stop), np.empty(0, dtype=np.float64)).codes


def refuse_paired(null: Permutation) -> None:
    """Swaps within pairs are for two samples."""
    if null.paired:
        raise ValueError(
            "paired permutations swap the members of pairs in two samples; the observations of "
            "variables are permuted as a whole, or within blocks: leave paired=False"
        )


def permuted_norms(a: np.ndarray, b: np.ndarray, order: np.ndarray) -> np.ndarray:
    """|sum_i a_i b_p(i)'|^2 (Frobenius) for every permutation p, the rows of `order`.

    O(n r s) products a permutation, in the dtype of the factors. Centre one of them first.

    Parameters
    ----------
    a : array (n, r)
    b : array (n, s)
    order : array (B, n) of positions
        Each row a permutation.

    Returns
    -------
    array (B,), float64

    Examples
    --------
    >>> a, b = np.array([[1.0], [0.0], [-1.0]]), np.array([[2.0], [5.0], [1.0]])
    >>> permuted_norms(a, b, np.array([[0, 1, 2], [1, 0, 2]]))
    array([ 1., 16.])
    """
    return permuted_products(a, b, order, _sums_of_squares)


def permuted_products(a: np.ndarray, b: np.ndarray, order: np.ndarray, fold: Fold) -> np.ndarray:
    """A number of sum_i a_i b_p(i)', the same as of its transpose, for every row p of `order`.

    `fold` makes it of a few products at a time, (r, b, s) or (s, b, r) -> (b,). The rows of the
    narrower factor are gathered, some permutations side by side, and multiplied by the other one.
    """
    swapped = a.shape[1] < b.shape[1]  # sum_i a_i b_p(i)' = sum_j a_q(j) b_j', q the inverse of p
    fixed, gathered = (b, a) if swapped else (a, b)
    across = np.ascontiguousarray(fixed.T)  # (r, n)
    gathered = np.ascontiguousarray(gathered)
    r, (n, s) = len(across), gathered.shape
    if r == 0 or s == 0:
        return np.zeros(len(order), dtype=np.float64)

    def values(some: slice) -> np.ndarray:
        rows = _inverse(order[some]) if swapped else order[some]
        product = np.zeros((r, len(rows) * s), dtype=across.dtype)
        for part in spans(n):
            tile = gathered.take(rows[:, part].T, axis=0)  # (part, b, s)
            product += across[:, part] @ tile.reshape(len(tile), -1)
        return fold(product.reshape(r, -1, s))

    tasks = spans(len(order), max(_COLUMNS // s, 1))
    many = len(order) * n * r * s > _MANY
    return np.concatenate([*in_order(values, tasks, parallel=many, shown=False)])


def _inverse(order: np.ndarray) -> np.ndarray:
    """The inverse of every permutation."""
    out = np.empty_like(order)
    np.put_along_axis(out, order.astype(np.intp), np.arange(order.shape[1], dtype=order.dtype), 1)
    return out


def _sums_of_squares(product: np.ndarray) -> np.ndarray:
    """Over the first axis and the last, in float64: (r, b, s) -> (b,)."""
    return np.einsum("rbs,rbs->b", product, product, dtype=np.float64, casting="safe")
