"""Random permutations of observations: cosets of circular shifts, or drawn one by one.

All n circular shifts of one random order together cost one Fourier transform, hardly more than a single
permutation does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mercer.config import settings
from mercer.gram import PermutedWeights
from mercer.htest.nulls import Permutation

# Observations from which several variables are shifted instead of permuted at will: 1,000 permutations
# of three matrices of full rank by gathered entries take seconds there, and shifts a tenth of that.
_MIN_ROWS_FOR_SHIFTS = 1000


class CyclicPermutations:
    """The permutations of n observations that a null without blocks draws; number 0 is the identity.

    With u a random order of the observations and v_0 = u, v_1, v_2, ... other random orders,
    permutation (j, k) sends u_i to v_j(i + k mod n). These are cosets of a cyclic group: under
    independence the orders (u, v_j) are exchangeable, and each coset is invariant under circular
    shifts of its order. So the statistic of the identity is equally likely to have any rank among
    those of all (j, k), or of a random choice of them, and the p-value is exact (compare Hemerik
    and Goeman 2018).

    With a `period` b, shifts are inside of blocks of b places, the same k in every block: again a
    cyclic group, of b elements, and everything above holds. Rows after the last whole block stay.

    Examples
    --------
    >>> permutations = CyclicPermutations(5, Permutation(9), seed=1)
    >>> permutations.orders(slice(0, 2))[0].tolist()
    [0, 1, 2, 3, 4]
    >>> len(permutations.coset_orders)
    2
    """

    def __init__(self, n: int, null: Permutation, seed: int, period: int | None = None) -> None:
        refuse_paired(null)
        rng = np.random.default_rng(seed)
        self.period = period or n
        number, cosets = null.resamples + 1, -(-(null.resamples + 1) // self.period)
        self.base = rng.permutation(n)  # u
        self.coset_orders = [self.base, *(rng.permutation(n) for _ in range(cosets - 1))]  # v_j
        resampled = 1 + rng.permutation(self.period * cosets - 1)[: number - 1]
        self.positions = np.concatenate([[0], resampled])  # j b + k of every permutation

    def orders(self, columns: slice) -> np.ndarray:
        """The permutations p with numbers in `columns`; p(i) takes the place of i: (b, n)."""
        n = len(self.base)
        orders = np.empty((columns.stop - columns.start, n), dtype=np.int64)
        for order, position in zip(orders, self.positions[columns], strict=True):
            coset, shift = divmod(int(position), self.period)
            blocks, rest = self._blocks(self.coset_orders[coset])
            order[self.base] = np.concatenate([np.roll(blocks, -shift, axis=-1).ravel(), rest])
        return orders

    def cross_correlations(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """sum_i a_i b_p(i) of every row of a (k, n) and of b (l, n), for all permutations p: (k, l, b)."""
        blocks_a, rest_a = self._blocks(a[:, self.base])
        blocks_b, rest_b = self._blocks(np.stack([b[:, o] for o in self.coset_orders], axis=1))
        spectra = np.conj(np.fft.rfft(blocks_a)), np.fft.rfft(blocks_b)
        spectrum = np.einsum("kmf,lcmf->klcf", *spectra)
        values = np.fft.irfft(spectrum, self.period)  # (k, l, cosets, b)
        values += np.einsum("ki,lci->klc", rest_a, rest_b)[..., None]
        return values.reshape(len(a), len(b), -1)[:, :, self.positions]

    def _blocks(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values at all places, (..., n), as those of whole blocks, (..., blocks, b), and of the rows that stay."""
        whole = places.shape[-1] // self.period * self.period
        return places[..., :whole].reshape(*places.shape[:-1], -1, self.period), places[..., whole:]


class CircularShifts(CyclicPermutations):
    """The n circular shifts of a series, as permutations; number 0 is the identity."""

    def __init__(self, n: int) -> None:
        self.base, self.period = np.arange(n), n
        self.coset_orders = [self.base]
        self.positions = np.arange(n)


@dataclass(frozen=True)
class IndependentShifts:
    """Circular shifts of several variables in one random order; row 0 is the identity.

    With u a random order of the observations, permutation b puts observation u_(i + s_k) of variable k, and
    u_i of the first variable, which stays, together. The shifts of all variables form a group, and a
    translation by one of the drawn elements leaves the distribution of the drawn set as it is: so the p-value
    is exact (Hemerik and Goeman 2018, theorem 2). No shift of a variable is drawn twice.

    Examples
    --------
    >>> shifts = IndependentShifts.drawn(5, Permutation(3), slice(0, 4), variables=2, seed=1)
    >>> shifts.values.shape, shifts.values[0].tolist()
    ((4, 2), [0, 0])
    """

    base: np.ndarray  # u, (n,)
    values: np.ndarray  # s, (b, variables)

    @classmethod
    def drawn(
        cls, n: int, null: Permutation, columns: slice, variables: int, seed: int
    ) -> IndependentShifts:
        """The shifts with numbers in `columns` of a null with fewer resamples than the n observations."""
        refuse_paired(null)
        rng = np.random.default_rng(seed)
        base = rng.permutation(n)
        drawn = [1 + rng.permutation(n - 1)[: null.resamples] for _ in range(variables)]
        shifts = np.stack([np.append(0, values) for values in drawn], axis=1)
        return cls(base, shifts[columns])

    def orders(self) -> list[np.ndarray]:
        """The permutations p of every variable; p(i) takes the place of i: (b, n) each."""
        n, (number, variables) = len(self.base), self.values.shape
        orders = [np.empty((number, n), dtype=np.int64) for _ in range(variables)]
        for k, order in enumerate(orders):
            for row, shift in zip(order, self.values[:, k], strict=True):
                row[self.base] = np.roll(self.base, -shift)
        return orders


def draws_shifts(n: int, null: Permutation) -> bool:
    """Whether a null without blocks draws distinct shifts of n observations."""
    return null.blocks is None and n >= max(_MIN_ROWS_FOR_SHIFTS, null.resamples + 1)


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
