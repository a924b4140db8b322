"""Texts as sets of words, and the shares of texts in which words occur."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from mercer.htest.samples.attribution import Feature, Features
from mercer.kernels import Jaccard
from mercer.kernels.objects import listed

_APOSTROPHES = "'’"
_WHOLE_PERCENT = 9.5  # from here on two digits are whole numbers
_MIN_TEXTS = 2  # that have a word: one alone shows no difference


@dataclass(frozen=True)
class JaccardOfWords(Jaccard):
    """Jaccard index of the words of two texts: of those in either, the share that is in both."""

    domain = "texts"

    def items(self, x: Any, name: str, /) -> list[frozenset[Any]]:
        points = listed(x, name, "texts")
        texts = [point for point in points if isinstance(point, str)]
        return words_of(texts) if len(texts) == len(points) else super().items(points, name)


def words_of(texts: Sequence[str]) -> list[frozenset[str]]:
    """The different words of each text: runs of letters, digits and apostrophes between them, in small letters.

    Letters of other scripts count with the marks on them; punctuation, signs and emoji separate words.
    """
    plain = [unicodedata.normalize("NFC", text.casefold()) for text in texts]
    characters: set[str] = set().union(*plain)
    table = {ord(c): " " for c in characters if not _of_words(c)} | {ord("’"): "'"}
    words = (text.translate(table).split() for text in plain)
    return [frozenset(w for word in ws if (w := word.strip("'"))) for ws in words]


def _of_words(character: str) -> bool:
    """Whether a character may be in a word: a letter, a mark on one, a digit or an apostrophe."""
    return character in _APOSTROPHES or unicodedata.category(character)[0] in "LMN"


@dataclass(frozen=True)
class Word(Feature):
    """A word, and in how many texts of each sample it is."""

    texts: tuple[int, int]

    def describe(self) -> str:
        """Numbers of texts, and their shares."""
        first, second = self.texts
        shares = (_percent(side["mean"]) for side in (self.first, self.second))
        return f"in {first:,} and {second:,} texts ({' and '.join(shares)})"

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        return {**super().to_dict(), "texts": list(self.texts)}


def as_words(features: Features, samples: Sequence[Sequence[str]]) -> Features:
    """Elements of sets as words, with the numbers of texts that have them."""
    first, second = (Counter(chain.from_iterable(words_of(texts))) for texts in samples)
    words = (
        Word(**vars(feature), texts=(first[feature.name], second[feature.name]))
        for feature in features
    )
    return replace(features, features=tuple(words), noun="word")


def comparable_words(samples: Sequence[Sequence[str]]) -> int:
    """The number of different words that are in at least two texts, and not in all."""
    counts = Counter(chain.from_iterable(chain.from_iterable(map(words_of, samples))))
    texts = sum(map(len, samples))
    return sum(_MIN_TEXTS <= number < texts for number in counts.values())


def _percent(share: float) -> str:
    """A share in percent, with two digits or as a whole number."""
    percent = 100 * share
    return f"{percent:.2g}%" if percent < _WHOLE_PERCENT else f"{percent:.0f}%"
