"""Kernels of k-mers with gaps, and of k-mers at the same positions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from mercer import validate
from mercer.kernels.feature_counts import FeatureTable, chained, feature_table
from mercer.kernels.strings.packed_text import Occurrences, PackedText, StringFeatures

_GAP = "."  # for a character that does not matter, in names of features


@dataclass(frozen=True)
class GappyKmers(StringFeatures):
    """Common k-mers with gaps: a window of g characters has each k-mer that is a subsequence of it once.

    k(x, y) = sum over k-mers u of c_u(x) c_u(y), where c_u(x) is the number of windows of x, of length g,
    that contain u as a subsequence.

    Parameters
    ----------
    window : int
        Length g of the windows.
    length : int
        Length k <= g of the subsequences.

    References
    ----------
    C. Leslie, R. Kuang (2004). Fast string kernels using inexact matching for protein sequences. JMLR 5,
    1435-1455. Section 3.1.

    Examples
    --------
    >>> GappyKmers(3, 2)(["abc", "ac"])
    array([[3., 0.],
           [0., 0.]])
    """

    window: int
    length: int

    def __post_init__(self) -> None:
        validate.whole("window", self.window)
        validate.whole("length", self.length)
        if self.length > self.window:
            raise ValueError(
                f"length must be at most window = {self.window}, got {self.length}: "
                "give a longer window"
            )

    def occurrences(self, text: PackedText, /) -> Occurrences:
        starts, owners = text.windows(self.window)
        patterns = [np.array(p) for p in combinations(range(self.window), self.length)]
        codes = np.stack(
            [text.codes_at(starts, p) for p in patterns], axis=1
        )  # (windows, patterns)
        order = np.argsort(codes, axis=1, kind="stable")
        codes = np.take_along_axis(codes, order, axis=1)
        first = np.ones(codes.shape, dtype=bool)
        first[:, 1:] = codes[:, 1:] != codes[:, :-1]  # a k-mer counts once for a window
        windows, _ = np.nonzero(first)
        offsets = np.array(patterns)[order[first]]
        return Occurrences(owners[windows], codes[first], starts[windows][:, None] + offsets)

    def view(self, items: list[str], /) -> FeatureTable:
        found = self.occurrences(PackedText.of(items))
        return feature_table(found.owners, found.codes, None, len(items))

    def describe(self, items: Any, codes: np.ndarray, /) -> list[str]:
        text = PackedText.of(items)
        return ["".join(map(chr, row)) for row in text.spelled(self.occurrences(text), codes)]


@dataclass(frozen=True)
class GappyPairs(StringFeatures):
    """Common pairs of k-mers, with 0 to `gap` characters between them that do not matter.

    A feature is a k-mer, a number of characters between, and a second k-mer; k(x, y) is the sum over
    features of their counts in x times those in y.

    References
    ----------
    J. Palme, S. Hochreiter, U. Bodenhofer (2015). KeBABS: an R package for kernel-based analysis of
    biological sequences. Bioinformatics 31, 2574-2576.

    Examples
    --------
    >>> GappyPairs(1, 1)(["abc", "acc"])
    array([[3., 1.],
           [1., 3.]])
    """

    length: int
    gap: int

    def __post_init__(self) -> None:
        validate.whole("length", self.length)
        validate.whole("gap", self.gap, 0)

    def occurrences(self, text: PackedText, gap: int, /) -> Occurrences:
        """All pairs of k-mers with so many characters between them."""
        starts, owners = text.windows(2 * self.length + gap)
        kmer = np.arange(self.length)
        offsets = np.concatenate([kmer, self.length + gap + kmer])
        codes = chained(text.codes_at(starts, offsets), np.full(len(starts), gap, dtype=np.uint64))
        return Occurrences(owners, codes, starts[:, None] + offsets)

    def view(self, items: list[str], /) -> FeatureTable:
        text = PackedText.of(items)
        found = [self.occurrences(text, gap) for gap in range(self.gap + 1)]
        owners, codes = (
            np.concatenate(v) for v in zip(*((f.owners, f.codes) for f in found), strict=True)
        )
        return feature_table(owners, codes, None, len(items))

    def describe(self, items: Any, codes: np.ndarray, /) -> list[str]:
        text, names = PackedText.of(items), dict.fromkeys(codes.tolist(), "")
        for gap in range(self.gap + 1):
            found = self.occurrences(text, gap)
            here = np.intersect1d(found.codes, codes)
            for code, row in zip(here.tolist(), text.spelled(found, here), strict=True):
                letters = "".join(map(chr, row))
                names[code] = letters[: self.length] + _GAP * gap + letters[self.length :]
        return [names[int(code)] for code in codes]


@dataclass(frozen=True)
class WeightedDegree(StringFeatures):
    """Substrings at the same positions: sum_d b_d (number of i with x[i:i+d] = y[i:i+d]), d = 1, ..., D.

    The weights are b_d = 2 (D - d + 1) / (D (D + 1)). For strings of one length that are aligned, such as
    DNA around sites of one kind; of longer strings only the common positions count.

    References
    ----------
    G. Rätsch, S. Sonnenburg (2004). Accurate splice site detection for Caenorhabditis elegans. In: Kernel
    Methods in Computational Biology, MIT Press, 277-298.

    Examples
    --------
    >>> WeightedDegree(2)(["abc", "abd"]).round(3)
    array([[2.667, 1.667],
           [1.667, 2.667]])
    """

    degree: int

    def __post_init__(self) -> None:
        validate.whole("degree", self.degree)

    def view(self, items: list[str], /) -> FeatureTable:
        text = PackedText.of(items)
        parts = [self._at_positions(text, length) for length in range(1, self.degree + 1)]
        owners, codes, values = (np.concatenate(column) for column in zip(*parts, strict=True))
        return feature_table(owners, codes, values, len(items))

    def _at_positions(self, text: PackedText, length: int) -> tuple[np.ndarray, ...]:
        starts, owners = text.windows(length)
        places = (starts - text.edges[owners]).astype(np.uint64)
        weight = 2 * (self.degree - length + 1) / (self.degree * (self.degree + 1))
        values = np.full(len(starts), weight**0.5, dtype=np.float64)
        return owners, chained(text.codes(starts, length), places), values

    def describe(self, items: Any, codes: np.ndarray, /) -> list[str]:
        text, names = PackedText.of(items), dict.fromkeys(codes.tolist(), "")
        for length in range(1, self.degree + 1):
            starts, owners = text.windows(length)
            found = Occurrences(owners, self._at_positions(text, length)[1], starts[:, None])
            here = np.intersect1d(found.codes, codes)
            for code, start in zip(here.tolist(), found.places(here)[:, 0].tolist(), strict=True):
                letters = text.characters[start : start + length].tolist()
                place = start - int(text.edges[np.searchsorted(text.edges, start, "right") - 1])
                names[code] = f"{''.join(map(chr, letters))} at {place}"
        return [names[int(code)] for code in codes]
