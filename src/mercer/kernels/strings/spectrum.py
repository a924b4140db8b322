"""Spectrum kernel: counts of substrings of a length."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import validate
from mercer.kernels.feature_counts import FeatureTable, counted_table, feature_table
from mercer.kernels.feature_loops import counts_compiled, numbered
from mercer.kernels.strings.packed_text import PackedText, StringFeatures, spelled_kmers


@dataclass(frozen=True)
class Spectrum(StringFeatures):
    """Number of common substrings of a length: sum over k-mers u of count_u(x) count_u(y).

    Strings shorter than `length` have no k-mers, and the kernel is 0 there.

    Parameters
    ----------
    length : int
        Length k of the substrings.
    up_to : bool
        Whether substrings of lengths 1, ..., k are added.
    binary : bool
        Whether a k-mer counts once for a string that contains it.

    References
    ----------
    C. Leslie, E. Eskin, W. S. Noble (2002). The spectrum kernel: a string kernel for SVM protein
    classification. PSB, 564-575.

    Examples
    --------
    >>> Spectrum(2)(["abab", "ab", "ba"])
    array([[5., 2., 1.],
           [2., 1., 0.],
           [1., 0., 1.]])
    """

    length: int
    up_to: bool = field(default=False, kw_only=True)
    binary: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        validate.whole("length", self.length)
        validate.truth("up_to", self.up_to)
        validate.truth("binary", self.binary)

    def view(self, items: list[str], /) -> FeatureTable:
        text = PackedText.of(items)
        if not self.up_to and counts_compiled():
            table = _counted_kmers(text, self.length)
        else:
            table = self._table(text, len(items))
        if self.binary:
            table.counts.data[:] = 1.0
        return table

    def _table(self, text: PackedText, n: int) -> FeatureTable:
        kmers = [text.windows(length) for length in self._lengths()]
        codes = [
            text.codes(starts, length)
            for length, (starts, _) in zip(self._lengths(), kmers, strict=True)
        ]
        owners = np.concatenate([owners for _, owners in kmers])
        return feature_table(owners, np.concatenate(codes), None, n)

    def describe(self, items: Any, codes: np.ndarray, /) -> list[str]:
        return spelled_kmers(items, self._lengths(), codes)

    def _lengths(self) -> range:
        return range(1 if self.up_to else self.length, self.length + 1)


def _counted_kmers(text: PackedText, length: int) -> FeatureTable:
    """Counts of all substrings of one length, which are sorted by their strings already."""
    edges = np.concatenate([[0], np.cumsum(np.maximum(text.lengths - length + 1, 0))])
    codes, numbers = numbered(text.codes(text.windows(length)[0], length))
    return counted_table(numbers, edges, None, codes)
