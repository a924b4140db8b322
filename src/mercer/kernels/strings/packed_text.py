"""Lists of strings: checks, and all characters in one array."""

from __future__ import annotations

from dataclasses import dataclass
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

    def windows(self, length: int) -> tuple[np.ndarray, np.ndarray]:
        """Starts of all substrings of a length, and the string of each."""
        counts = np.maximum(self.lengths - length + 1, 0)
        owners = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
        shift = np.concatenate([[0], np.cumsum(counts)[:-1]])
        starts = np.arange(len(owners), dtype=np.int64) + (self.edges[:-1] - shift)[owners]
        return starts, owners

    def codes(self, starts: np.ndarray, length: int) -> np.ndarray:
        """64-bit codes of the substrings of a length at these starts."""
        letters = self.characters.astype(np.uint64)
        code = np.full(len(starts), length, dtype=np.uint64)
        for i in range(length):
            code = code * _MULTIPLIER + letters[starts + i]
            if i % _STEPS_BETWEEN_MIXING == _STEPS_BETWEEN_MIXING - 1:
                code = mixed(code)
        return mixed(code)
