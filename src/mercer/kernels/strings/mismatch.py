"""Mismatch kernel: substrings that agree up to a few characters."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np

from mercer import validate
from mercer.kernels.feature_counts import FeatureTable, feature_table
from mercer.kernels.feature_loops import (
    counts_compiled,
    numbered,
    products_compiled,
    sparse_products,
)
from mercer.kernels.strings.packed_text import PackedText, StringFeatures

_MAX_DENSE_COUNTS = 2**22  # of a table that is filled densely first: 32 MiB


@dataclass(frozen=True)
class Mismatch(StringFeatures):
    """Common substrings up to mismatches: each k-mer counts for all k-mers within a Hamming distance.

    k(x, y) = sum over k-mers u of c_u(x) c_u(y), where c_u(x) is the number of k-mers of x that differ
    from u in at most `mismatches` characters.

    Parameters
    ----------
    length : int
        Length k of the substrings.
    mismatches : int
        Largest number of differing characters, less than `length`.
    alphabet : str or None
        Characters of the k-mers u. None: all characters of the strings that are compared, so that values
        change with the sample; give the alphabet where they must not, such as ``"ACGT"`` for DNA.

    References
    ----------
    C. Leslie, E. Eskin, A. Cohen, J. Weston, W. S. Noble (2004). Mismatch string kernels for
    discriminative protein classification. Bioinformatics 20, 467-476.

    Examples
    --------
    >>> Mismatch(2, 1, alphabet="ab")(["ab", "bb", "aa"])
    array([[3., 2., 2.],
           [2., 3., 2.],
           [2., 2., 3.]])
    """

    length: int
    mismatches: int
    alphabet: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        validate.whole("length", self.length)
        validate.whole("mismatches", self.mismatches, 0)
        if self.mismatches >= self.length:
            raise ValueError(
                f"mismatches must be less than length = {self.length}, got {self.mismatches}"
            )
        if self.alphabet is not None:
            validate.instance("alphabet", self.alphabet, str, "a string of characters, or None")
            if not self.alphabet or len(set(self.alphabet)) < len(self.alphabet):
                raise ValueError(f"alphabet must have different characters, got {self.alphabet!r}")

    @property
    def reads_together(self) -> bool:
        return self.alphabet is None

    def items(self, x: Any, name: str, /) -> list[str]:
        texts = super().items(x, name)
        if self.alphabet is not None:
            known = frozenset(self.alphabet)
            for i, text in enumerate(texts):
                if not known.issuperset(text):
                    unknown = next(c for c in text if c not in known)
                    raise ValueError(
                        f"{name} has the character {unknown!r} at position {i}, which is not in the "
                        f"alphabet {self.alphabet!r}: give an alphabet with all characters"
                    )
        return texts

    def view(self, items: list[str], /) -> FeatureTable:
        return _Expanded(self, items).table

    def describe(self, items: Any, codes: np.ndarray, /) -> list[str]:
        expanded = _Expanded(self, items)
        distinct, first = np.unique(expanded.codes, return_index=True)
        rows = expanded.neighbours[first[np.searchsorted(distinct, codes)]]
        return ["".join(map(chr, row)) for row in rows.tolist()]


@dataclass(frozen=True)
class _Expanded:
    """The different k-mers of strings, and all k-mers close to each."""

    kernel: Mismatch
    items: list[str]

    @cached_property
    def text(self) -> PackedText:
        return PackedText.of(self.items)

    @cached_property
    def windows(self) -> tuple[np.ndarray, np.ndarray]:
        return self.text.windows(self.kernel.length)

    @cached_property
    def distinct(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The first occurrence of each different k-mer, and which k-mer each occurrence is."""
        codes = self.text.codes(self.windows[0], self.kernel.length)
        if counts_compiled():
            distinct, which = numbered(codes)
            first = np.empty(len(distinct), dtype=np.int64)
            first[which[::-1]] = np.arange(len(which) - 1, -1, -1)  # the last to be written stays
            return self.windows[0][first], first, which
        _, first, which = np.unique(codes, return_index=True, return_inverse=True)
        return self.windows[0][first], first, which

    @cached_property
    def neighbours(self) -> np.ndarray:
        """Characters of all neighbours of the different k-mers, those of each together: (U B, k)."""
        k = self.kernel.length
        kmers = self.text.characters[self.distinct[0][:, None] + np.arange(k)]  # (U, k)
        if self.kernel.alphabet is None:
            letters = self.text.alphabet[0]
        else:
            letters = np.array(sorted(map(ord, self.kernel.alphabet)), dtype=np.uint32)
        blocks = [kmers]
        for number in range(1, self.kernel.mismatches + 1):
            for places in combinations(range(k), number):
                # letter i of the alphabet, counted from the k-mer's own, is another for i = 1, 2, ...
                for steps in product(range(1, len(letters)), repeat=number):
                    changed = kmers.copy()
                    for place, step in zip(places, steps, strict=True):
                        own = np.searchsorted(letters, kmers[:, place])
                        changed[:, place] = letters[(own + step) % len(letters)]
                    blocks.append(changed)
        return np.concatenate(blocks)

    @cached_property
    def codes(self) -> np.ndarray:
        """Code of each neighbour."""
        flat = PackedText(self.neighbours.ravel(), np.array([0, self.neighbours.size]))
        starts = np.arange(len(self.neighbours), dtype=np.int64) * self.kernel.length
        return flat.codes(starts, self.kernel.length)

    @property
    def table(self) -> FeatureTable:
        from scipy import sparse

        starts, _, which = self.distinct
        count = len(starts)
        rows = np.tile(np.arange(count), len(self.neighbours) // max(count, 1))
        close = feature_table(rows, self.codes, None, count)
        occurrences = sparse.csr_array(
            (np.ones(len(which), dtype=np.float64), (self.windows[1], which)),
            shape=(len(self.items), count),
        )
        if products_compiled() and len(self.items) * len(close.vocabulary) <= _MAX_DENSE_COUNTS:
            counts = sparse_products(occurrences, sparse.csr_array(close.counts.T))
        else:
            counts = occurrences @ close.counts
        return FeatureTable(sparse.csr_array(counts), close.vocabulary)
