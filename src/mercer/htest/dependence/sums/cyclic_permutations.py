"""Random permutations of observations: cosets of circular shifts, or drawn one by one.

All n circular shifts of one random order together cost one Fourier transform, hardly more than a single
permutation does.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mercer.config import settings
from mercer.gram import PermutedWeights
from mercer.htest.nulls import Permutation


class CyclicPermutations:
    """The permutations of n observations that a null without blocks draws; number 0 is the identity.

    With u a random order of the observations and v_0 = u, v_1, v_2, ... other random orders,
    permutation (j, k) sends u_i to v_j(i + k mod n). These are cosets of a cyclic group: under
    independence the orders (u, v_j) are exchangeable, and each coset is invariant under circular
    shifts of its order. So the statistic of the identity is equally likely to have any rank among
    those of all (j, k), or of a random choice of them, and the p-value is exact (compare Hemerik
    and Goeman 2018).

    Examples
    --------
    >>> permutations = CyclicPermutations(5, Permutation(9), seed=1)
    >>> permutations.orders(slice(0, 2))[0].tolist()
    [0, 1, 2, 3, 4]
    >>> len(permutations.coset_orders)
    2
    """

    def __init__(self, n: int, null: Permutation, seed: int) -> None:
        refuse_paired(null)
        rng = np.random.default_rng(seed)
        number, cosets = null.resamples + 1, -(-(null.resamples + 1) // n)
        self.base = rng.permutation(n)  # u
        self.coset_orders = [self.base, *(rng.permutation(n) for _ in range(cosets - 1))]  # v_j
        resampled = 1 + rng.permutation(n * cosets - 1)[: number - 1]
        self.positions = np.concatenate([[0], resampled])  # j n + k of every permutation

    def orders(self, columns: slice) -> np.ndarray:
        """The permutations p with numbers in `columns`; p(i) takes the place of i: (b, n)."""
        n = len(self.base)
        orders = np.empty((columns.stop - columns.start, n), dtype=np.int64)
        for order, position in zip(orders, self.positions[columns], strict=True):
            coset, shift = divmod(int(position), n)
            order[self.base] = np.roll(self.coset_orders[coset], -shift)
        return orders

    def cross_correlations(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """sum_i a_i b_p(i) of every row of a (k, n) and of b (l, n), for all permutations p: (k, l, b)."""
        spectrum_a = np.conj(np.fft.rfft(a[:, self.base]))[:, None, None]
        spectrum_b = np.fft.rfft(np.stack([b[:, order] for order in self.coset_orders], axis=1))
        values = np.fft.irfft(spectrum_a * spectrum_b, a.shape[1])  # (k, l, cosets, n)
        return values.reshape(len(a), len(b), -1)[:, :, self.positions]


def permutations(n: int, null: Permutation, columns: slice, seed: int) -> Iterator[np.ndarray]:
    """Permutations of n observations, one by one, in chunks (b, n) within the memory budget.

    Column 0 is the identity, so that the observed statistic goes through the same arithmetic. A
    column depends on the seed and its number, not on the chunks.

    Examples
    --------
    >>> (order,) = permutations(5, Permutation(3), slice(0, 4), seed=1)
    >>> order.shape, order[0].tolist(), sorted(order[3].tolist())
    ((4, 5), [0, 1, 2, 3, 4], [0, 1, 2, 3, 4])
    """
    refuse_paired(null)
    weights = PermutedWeights(
        np.arange(n), null.resamples + 1, rng=seed, blocks=null.blocks, keep_first=True
    )
    for chunk in weights.chunks(settings().memory // 8):
        start, stop = max(chunk.start, columns.start), min(chunk.stop, columns.stop)
        if start < stop:
            yield weights.columns(slice(start, stop), np.empty(0, dtype=np.float64)).codes


def refuse_paired(null: Permutation) -> None:
    """Raise for paired permutations, which are for two samples."""
    if null.paired:
        raise ValueError(
            "paired permutations swap the members of pairs in two samples; the observations of "
            "variables are permuted as a whole, or within blocks: leave paired=False"
        )
