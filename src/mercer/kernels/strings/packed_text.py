"""Lists of strings: checks, and all characters in one array."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer import validate
from mercer.kernels.feature_counts import FeatureCounts, mixed
from mercer.kernels.objects import listed

# An odd number without structure in its bits, so that sums of c_i M^i differ for different characters.
_MULTIPLIER = np.uint64(0xD1342543DE82EF95)
_STEPS_BETWEEN_MIXING = 16  # sums of c_i M^i collide for long strings of a certain kind


class StringFeatures(FeatureCounts):
    """A kernel <c(x), c(y)> of explicit features of strings."""

    domain = "strings"

    def items(self, x: Any, name: str, /) -> list[str]:
        return strings(x, name)


def strings(x: Any, name: str) -> list[str]:
    """The strings of a list or of a column of a data frame."""
    texts = listed(x, name, "strings")
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            missing = text is None or (isinstance(text, float) and text != text)
            remedy = "drop missing values" if missing else "convert the others with str"
            raise TypeError(
                f"{name} must hold strings only, got {validate.shown(text)} at position {i}: {remedy}"
            )
    return texts


@dataclass(frozen=True)
class PackedText:
    """Characters of all strings, one after the other, and where each string ends."""

    characters: np.ndarray  # (total,) uint32 code points
    edges: np.ndarray  # (n + 1,)

    @classmethod
    def of(cls, texts: list[str]) -> PackedText:
        """All characters of a list of strings."""
        joined = "".join(texts).encode("utf-32-le", "surrogatepass")
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        edges = np.concatenate([[0], np.cumsum(lengths)])
        return cls(np.frombuffer(joined, dtype="<u4").astype(np.uint32, copy=False), edges)

    @property
    def lengths(self) -> np.ndarray:
        """Number of characters of each string: (n,)."""
        return np.diff(self.edges)

    @cached_property
    def alphabet(self) -> tuple[np.ndarray, np.ndarray]:
        """The different characters, sorted, and which of them each character of the text is."""
        if len(self.characters) == 0:
            return self.characters, np.empty(0, dtype=np.int64)
        present = np.zeros(int(self.characters.max()) + 1, dtype=bool)
        present[self.characters] = True
        places = np.cumsum(present) - 1
        return np.flatnonzero(present).astype(np.uint32), places[self.characters]

    def windows(self, length: int) -> tuple[np.ndarray, np.ndarray]:
        """Starts of all substrings of a length, and the string of each."""
        counts = np.maximum(self.lengths - length + 1, 0)
        owners = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
        shift = np.concatenate([[0], np.cumsum(counts)[:-1]])
        starts = np.arange(len(owners), dtype=np.int64) + (self.edges[:-1] - shift)[owners]
        return starts, owners

    def codes(self, starts: np.ndarray, length: int) -> np.ndarray:
        """64-bit codes of the substrings of a length at these starts."""
        return self.codes_at(starts, np.arange(length))

    def codes_at(self, starts: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """64-bit codes of the characters at these offsets from each start."""
        letters = self.characters.astype(np.uint64)
        room = len(letters) - int(np.max(offsets, initial=0))
        everywhere = (
            2 * len(starts) >= room > 0
        )  # slices of all places take less time than a choice
        code = np.full(room if everywhere else len(starts), len(offsets), dtype=np.uint64)
        for i, offset in enumerate(offsets):
            code *= _MULTIPLIER
            code += letters[offset : offset + room] if everywhere else letters[starts + offset]
            if i % _STEPS_BETWEEN_MIXING == _STEPS_BETWEEN_MIXING - 1:
                code = mixed(code)
        return mixed(code[starts] if everywhere else code)

    def spelled(self, found: Occurrences, codes: np.ndarray) -> list[list[int]]:
        """Characters of the features with these codes."""
        return self.characters[found.places(codes)].tolist()


@dataclass(frozen=True)
class Occurrences:
    """Occurrences of features in a text: the string, the code, and the places of the characters of each."""

    owners: np.ndarray
    codes: np.ndarray
    positions: np.ndarray  # (occurrences, characters)

    def places(self, codes: np.ndarray) -> np.ndarray:
        """Places of the characters at the first occurrence of each of these codes."""
        distinct, first = np.unique(self.codes, return_index=True)
        return self.positions[first[np.searchsorted(distinct, codes)]]


def spelled_kmers(items: list[str], lengths: Iterable[int], codes: np.ndarray) -> list[str]:
    """The substrings with these codes, of these lengths, found in the strings."""
    text, names = PackedText.of(items), dict.fromkeys(codes.tolist(), "")
    for length in lengths:
        starts, owners = text.windows(length)
        places = starts[:, None] + np.arange(length)
        found = Occurrences(owners, text.codes(starts, length), places)
        here = np.intersect1d(found.codes, codes)
        for code, row in zip(here.tolist(), text.spelled(found, here), strict=True):
            names[code] = "".join(map(chr, row))
    return [names[int(code)] for code in codes]
