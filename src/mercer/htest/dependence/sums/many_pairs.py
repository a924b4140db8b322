"""HSIC of many pairs of variables at once: each made ready once, all under the same permutations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isqrt, sqrt

import numpy as np

from mercer.config import settings
from mercer.gram.threads import spans
from mercer.htest.dependence.hsic_statistic import rounding
from mercer.htest.dependence.sums.centered_gram import Side, Spanned
from mercer.htest.dependence.sums.cyclic_permutations import Turns
from mercer.htest.dependence.sums.permuted_trace import banded, product
from mercer.htest.nulls import Permutation, share
from mercer.rkhs.measures import unbiased_hsic

_COPIES = 8  # of the values of a pair: a spectrum, parts of it, and what becomes of it
_HELD = 16  # variables whose diagonals meet those of all others at a time

Places = Sequence[tuple[int, int]]


def permuted_pairs(
    sides: Sequence[Side], pairs: Places, null: Permutation, seed: int
) -> Iterator[tuple[int, np.ndarray]]:
    """The number of a pair, and tr(K~ P L~ P') / n^2 for all permutations, the first the identity: (b,).

    Pair after pair, in an order of its own: those of two factors first, then as many of the others
    at a time as the memory budget has room for.
    """
    n = len(sides[0].own)
    turns = Turns(n, null, seed)
    left = []  # pairs that are not two factors
    for row, (i, j) in enumerate(pairs):
        if isinstance(sides[i], Spanned) and isinstance(sides[j], Spanned):
            yield row, np.maximum(product(sides[i], sides[j]).drawn(turns), 0.0) / n**2
        else:
            left.append(row)
    room = max(settings().memory // (_COPIES * 8 * n * len(turns.others)), 1)  # pairs at a time
    height = min(_HELD, isqrt(room))
    firsts = sorted({pairs[row][0] for row in left})
    for some in spans(len(firsts), height):
        rows = [row for row in left if pairs[row][0] in firsts[some]]
        seconds = sorted({pairs[row][1] for row in rows})
        for others in spans(len(seconds), room // height):
            chosen = firsts[some], seconds[others]
            held = [sides[i] for i in chosen[0]], [sides[j] for j in chosen[1]]
            values = banded(*held, turns)  # (firsts, seconds, b)
            for row in rows:
                i, j = pairs[row]
                if j in chosen[1]:
                    found = values[chosen[0].index(i), chosen[1].index(j)]
                    yield row, np.maximum(found, 0.0) / n**2


def pair_pvalue(first: Side, second: Side, values: np.ndarray) -> float:
    """(1 + #{permuted >= observed}) / (1 + B) of values whose first was observed."""
    return share(values[1:], float(values[0]), rounding(first, second))


def correlations_of(sides: Sequence[Side], pairs: Places, observed: np.ndarray) -> np.ndarray:
    """sqrt(HSIC(x, y) / sqrt(HSIC(x, x) HSIC(y, y))), unbiased, of tr(K~L~) / n^2: (pairs,)."""
    own = [_unbiased(side.squares, side, side) for side in sides]
    n, found = len(sides[0].own), []
    for (i, j), value in zip(pairs, observed, strict=True):
        unit = sqrt(max(own[i], 0.0) * max(own[j], 0.0))
        ratio = _unbiased(value * n**2, sides[i], sides[j]) / unit if unit > 0 else 0.0
        found.append(min(sqrt(max(ratio, 0.0)), 1.0))
    return np.array(found, dtype=np.float64)


def _unbiased(squares: float, first: Side, second: Side) -> float:
    total = float(first.own.sum() * second.own.sum())
    return float(unbiased_hsic(squares, float(first.own @ second.own), total, len(first.own)))
