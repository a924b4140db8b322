"""Random permutations that come in turns: one random order, moved on by 0, 1, ..., n - 1 places.

All moves of one order together cost a Fourier transform, hardly more than one of them alone.
"""

from __future__ import annotations

import numpy as np

from mercer.htest.dependence.sums.permuted_low_rank import refuse_paired
from mercer.htest.nulls import Permutation


class Turns:
    """The permutations of n observations that a null without blocks draws; number 0 is the identity.

    With u a random order of the observations and v_0 = u, v_1, v_2, ... others, permutation (j, k)
    sends u_i to v_j(i + k mod n). These are cosets of a cyclic group: under independence the
    orders (u, v_j) are exchangeable, and each coset stays what it is when its order is moved on.
    So the statistic of the identity is equally likely to have any rank among those of all (j, k),
    or of a random choice of them, and the p-value is exact (compare Hemerik and Goeman 2018).

    Examples
    --------
    >>> turns = Turns(5, Permutation(9), seed=1)
    >>> turns.orders(slice(0, 2))[0].tolist()
    [0, 1, 2, 3, 4]
    >>> len(turns.others)
    2
    """

    def __init__(self, n: int, null: Permutation, seed: int) -> None:
        refuse_paired(null)
        rng = np.random.default_rng(seed)
        number, cosets = null.resamples + 1, -(-(null.resamples + 1) // n)
        self.base = rng.permutation(n)  # u
        self.others = [self.base, *(rng.permutation(n) for _ in range(cosets - 1))]  # v_0, v_1, ...
        drawn = 1 + rng.permutation(n * cosets - 1)[: number - 1]
        self.places = np.concatenate([[0], drawn])  # j n + k of every permutation

    def orders(self, columns: slice) -> np.ndarray:
        """Some of the permutations p, of which p(i) takes the place of i: (b, n)."""
        n = len(self.base)
        orders = np.empty((columns.stop - columns.start, n), dtype=np.int64)
        for order, place in zip(orders, self.places[columns], strict=True):
            coset, step = divmod(int(place), n)
            order[self.base] = np.roll(self.others[coset], -step)
        return orders

    def crossed(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """sum_i a_i b_p(i) of the permutations p that were drawn, of every row of a and of b: (k, l, b)."""
        left = np.conj(np.fft.rfft(a[:, self.base]))[:, None, None]
        right = np.fft.rfft(np.stack([b[:, other] for other in self.others], axis=1))
        values = np.fft.irfft(left * right, a.shape[1])  # (k, l, cosets, n)
        return values.reshape(len(a), len(b), -1)[:, :, self.places]

    def empty(self) -> np.ndarray:
        """Room for one number of every permutation (j, k), drawn or not: (cosets, n)."""
        return np.empty((len(self.others), len(self.base)), dtype=np.float64)
