"""HSIC of many pairs of variables at once: each made ready once, all under the same permutations."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from mercer.gram.run import spans
from mercer.htest.dependence.evidence import rounding
from mercer.htest.dependence.sums.products import banded, product
from mercer.htest.dependence.sums.sides import Side, Spanned
from mercer.htest.dependence.sums.turns import Turns
from mercer.htest.nulls import Permutation, share
from mercer.rkhs.measures import unbiased_hsic

_HELD = 16  # variables whose diagonals meet those of all others at a time

Places = Sequence[tuple[int, int]]


def permuted_pairs(
    sides: Sequence[Side], pairs: Places, null: Permutation, seed: int
) -> np.ndarray:
    """tr(K~ P L~ P') / n^2 of every pair for all permutations, the first the identity: (pairs, b)."""
    n = len(sides[0].own)
    turns = Turns(n, null, seed)
    out = np.empty((len(pairs), null.resamples + 1), dtype=np.float64)
    left = []  # pairs that are not two factors
    for row, (i, j) in enumerate(pairs):
        if isinstance(sides[i], Spanned) and isinstance(sides[j], Spanned):
            out[row] = product(sides[i], sides[j]).drawn(turns)
        else:
            left.append(row)
    firsts = sorted({pairs[row][0] for row in left})
    for some in spans(len(firsts), _HELD):
        rows = [row for row in left if pairs[row][0] in firsts[some]]
        seconds = sorted({pairs[row][1] for row in rows})
        held = [sides[i] for i in firsts[some]], [sides[j] for j in seconds]
        values = banded(*held, turns)  # (firsts, seconds, b)
        for row in rows:
            i, j = pairs[row]
            out[row] = values[firsts[some].index(i), seconds.index(j)]
    return np.maximum(out, 0.0) / n**2


def pair_pvalues(sides: Sequence[Side], pairs: Places, values: np.ndarray) -> np.ndarray:
    """(1 + #{permuted >= observed}) / (1 + B) of every pair: (pairs,)."""
    ties = [rounding(sides[i], sides[j]) for i, j in pairs]
    found = (share(row[1:], float(row[0]), tie) for row, tie in zip(values, ties, strict=True))
    return np.array(list(found), dtype=np.float64)


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
