"""Spectrum kernel: counts of substrings of a length."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import validate
from mercer.kernels.feature_counts import FeatureTable, feature_table
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
        kmers = [text.windows(length) for length in self._lengths()]
        codes = [
            text.codes(starts, length)
            for length, (starts, _) in zip(self._lengths(), kmers, strict=True)
        ]
        owners = np.concatenate([owners for _, owners in kmers])
        table = feature_table(owners, np.concatenate(codes), None, len(items))
        if self.binary:
            table.counts.data[:] = 1.0
        return table

    def describe(self, items: Any, codes: np.ndarray, /) -> list[str]:
        return spelled_kmers(items, self._lengths(), codes)

    def _lengths(self) -> range:
        return range(1 if self.up_to else self.length, self.length + 1)
