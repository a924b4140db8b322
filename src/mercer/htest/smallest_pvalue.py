"""The smallest p-value that resampling can attain where there are few observations.

A permutation test compares the observed statistic with those of other labellings. Where only ten
labellings have different statistics, no p-value is below 1/10, whatever the data and however many
resamples are drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import exp, lgamma, log
from typing import Any

from mercer.htest.nulls import Gamma, Judgement, Null, Permutation, Spectrum

_LEVEL = 0.05  # the level that people mean unless they name another


def attainable_note(distinct: float, resamples: int, what: str) -> tuple[str, ...]:
    """A note, where `exp(distinct)` rearrangements rather than the resamples limit the p-value."""
    if resamples == 0 or distinct >= log(resamples + 1):
        return ()
    number = round(exp(distinct))
    note = f"With so few observations there are {number} different {what}, so no p-value below about {1 / number:.2g} can be attained"
    if 1 / number > _LEVEL:
        note += f": no result is significant at level {_LEVEL:g}, however clear it is"
    return (f"{note}.",)


def raised_to_attainable(judgement: Judgement, null: Null | None, distinct: float) -> Judgement:
    """A p-value of `Gamma` or `Spectrum`, not below the smallest one of the permutations they replace."""
    if not isinstance(null, Gamma | Spectrum):
        return judgement
    return judgement._replace(pvalue=max(judgement.pvalue, exp(-distinct)))


def log_labellings(sizes: Sequence[int], null: Null | None) -> float:
    """log of the number of labellings of pooled samples whose statistics can differ.

    Where two samples are of equal size, exchanging them does not change a statistic.
    """
    if isinstance(null, Permutation) and null.paired:
        return (sizes[0] - 1) * log(2)
    if isinstance(null, Permutation) and null.blocks is not None:
        return _within_blocks(sizes, null.blocks)
    total = lgamma(sum(sizes) + 1) - sum(lgamma(n + 1) for n in sizes)
    return total - sum(lgamma(copies + 1) for copies in Counter(sizes).values())


def log_pairings(size: int, variables: int, null: Null | None) -> float:
    """log of the number of ways to pair the observations of one variable with those of the others."""
    if isinstance(null, Permutation) and null.blocks is not None:
        one = sum(lgamma(n + 1) for n in Counter(null.blocks).values())
    else:
        one = lgamma(size + 1)
    return (variables - 1) * one


def log_signs(blocks: int) -> float:
    """log of the number of sign vectors whose forms s'Ks can differ: s and -s give the same."""
    return (blocks - 1) * log(2)


def _within_blocks(sizes: Sequence[int], blocks: Sequence[Any]) -> float:
    """log of the number of labellings that permute within blocks."""
    total, start = 0.0, 0
    parts = []
    for n in sizes:
        parts.append(Counter(blocks[start : start + n]))
        start += n
    for label in set(blocks):
        counts = [part[label] for part in parts]
        total += lgamma(sum(counts) + 1) - sum(lgamma(n + 1) for n in counts)
    return total
