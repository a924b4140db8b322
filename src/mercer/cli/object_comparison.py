"""`mercer two-sample` on texts and series: which substrings or words and which observations tell the files apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from mercer.cli import options
from mercer.cli.common_options import SampleOptions
from mercer.cli.exits import Refused, WrongUse
from mercer.cli.object_files import (
    ObjectSample,
    files_sample,
    grouped_text_samples,
    is_json_lines,
    is_plain_text,
    json_lines_sample,
    long_table_sample,
    plain_lines_sample,
    text_sample,
)
from mercer.cli.table import Selection, short
from mercer.cli.test_names import TestName
from mercer.cli.two_sample_answer import TwoSampleAnswer
from mercer.cli.word_comparison import JaccardOfWords, as_words, comparable_words
from mercer.htest.format_number import figure
from mercer.htest.samples.attribution import Features
from mercer.htest.samples.mmd import MMD
from mercer.htest.samples.mmdagg import MMDAgg
from mercer.htest.samples.two_sample_result import TwoSampleResult
from mercer.kernels import Kernel, Spectrum, Subsequence
from mercer.report.affordable import MAX_ROWS_FOR_ALL_PAIRS, ranked

_TELLING = 3  # observations of each file that are shown
_TEXT_SHOWN = 50  # characters
_VALUES_SHOWN = 4  # of a series
_DECAY = 0.5  # of subsequences: a gap of one character halves a match
_WORDS = "words"  # of --text-kernel
FILES = "files"  # with --series-of: each file is a series
LINES = "lines"  # with --text and .txt files: each line is a text


@dataclass(frozen=True)
class ObjectAnswer(TwoSampleAnswer):
    """Result of a two-sample test of texts or series, with the features and observations that differ most."""

    noun: ClassVar[str] = "feature"

    samples: tuple[Any, Any]

    @property
    def numbered(self) -> bool:
        """Never: observations have the names that the files give them."""
        return False

    @property
    def displayed(self) -> Features | None:
        """Substrings in quotes, which show spaces."""
        if self.features is None:
            return None
        quoted = tuple(replace(f, name=repr(f.name)) for f in self.features)
        return replace(self.features, features=quoted)

    def details(self) -> dict[str, Any]:
        """Files, kind of observations, result, features and the most telling observations."""
        first, second = self.telling()
        return {
            "files": [{"name": s.name, "rows": s.rows, "dropped": s.dropped} for s in self.samples],
            "objects": self.samples[0].kind,
            "result": {**self.thinned.to_dict(), "sizes": list(self.result.sizes)},
            "features": None if self.features is None else self.features.to_dict(),
            "telling": {"first": first, "second": second},
        }

    def facts(self) -> list[tuple[str, str]]:
        """Also the observations around which its file outweighs the other one most."""
        facts = super().facts()
        lines = [
            (
                "Telling" if i == 0 else "",
                f"{name}: " + "; ".join(f"{t['name']} ({t['value']})" for t in telling),
            )
            for i, (name, telling) in enumerate(zip(self.names, self.telling(), strict=True))
        ]
        return [*facts[:-1], *(lines if self.rejected else []), facts[-1]]

    def telling(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Observations of each file around which it outweighs the other one most."""
        n = self.result.sizes
        if (self.samples[0].rows, self.samples[1].rows) != n:
            return [], []  # the test used a part of the rows
        points = self.result.points(min(_TELLING, *n))
        first, second = (
            [
                {
                    "name": sample.labels[int(i)],
                    "witness": float(w),
                    "value": _shown(sample.points[int(i)]),
                }
                for i, w in zip(side.indices, side.witness, strict=True)
            ]
            for sample, side in zip(self.samples, (points.first, points.second), strict=True)
        )
        return first, second

    def _data(self) -> str:
        first, second = self.samples
        if first.kind == "texts":
            characters = np.mean([len(text) for s in self.samples for text in s.points])
            return f"{first.rows:,} and {second.rows:,} texts of {characters:.0f} characters on average"
        lengths = np.concatenate([s.points.lengths for s in self.samples])
        channels = first.points.channels
        plural = "channel" if channels == 1 else "channels"
        return (
            f"{first.rows:,} and {second.rows:,} series of {lengths.min():,} to {lengths.max():,} points, "
            f"{channels} {plural}"
        )


@dataclass(frozen=True)
class WordAnswer(ObjectAnswer):
    """Result of a two-sample test of texts by their words, with the words that differ most."""

    noun: ClassVar[str] = "word"

    @property
    def displayed(self) -> Features | None:
        """Words as they are: none has a space."""
        return self.features

    def _data(self) -> str:
        first, second = self.samples
        words = float(np.mean([len(text.split()) for s in self.samples for text in s.points]))
        noun = "word" if words == 1 else "words"
        return f"{first.rows:,} and {second.rows:,} texts of {figure(words, 2)} {noun} on average"


def compares_objects(chosen: SampleOptions, paths: Sequence[str]) -> bool:
    """Whether the observations are texts or series."""
    objects = bool(chosen.text or chosen.series_of) or all(map(is_json_lines, paths))
    if chosen.text_kernel and not objects:
        raise WrongUse(
            f"--text-kernel {chosen.text_kernel} compares texts: name their column with --text, or --text lines for files "
            "with a text in each line"
        )
    return objects


def compare_objects(paths: Sequence[str], chosen: SampleOptions, level: float) -> ObjectAnswer:
    """Read two files of texts or series, test them, and find what tells them apart."""
    _check_options(chosen, paths)
    first, second = _samples(paths, chosen)
    _check_kinds(first, second)
    by_words = chosen.text_kernel == _WORDS and first.kind == "texts"
    words = _words_to_compare(first, second) if by_words else 0
    result = _tested(first, second, chosen)
    thinned = result.thinned(MAX_ROWS_FOR_ALL_PAIRS)
    features = ranked(result, chosen.seed) if result.has_features else None
    notes = [*first.notes, *second.notes]
    if by_words and features is not None:
        features = _as_words(features, first, second, words, notes)
    elif chosen.text_kernel is None and first.kind == "texts" and _have_words(first, second):
        notes.append(
            "texts are compared by their substrings; --text-kernel words compares them by their words"
        )
    answer = WordAnswer if by_words else ObjectAnswer
    samples, effect = (first, second), thinned.effect()
    return answer(result, level, chosen.seed, tuple(notes), samples, thinned, effect, features)


def _check_kinds(first: ObjectSample, second: ObjectSample) -> None:
    """Refuse texts beside series, and series of different numbers of channels."""
    if first.kind != second.kind:
        raise Refused(f"{first.name} holds {first.kind} and {second.name} {second.kind}")
    if first.kind == "series" and first.points.channels != second.points.channels:
        counts = first.points.channels, second.points.channels
        raise Refused(
            f"{first.name} has series of {counts[0]} channels and {second.name} of {counts[1]}"
        )


def _words_to_compare(first: ObjectSample, second: ObjectSample) -> int:
    """How many words could tell texts apart; refused where all are in a single text or in every one."""
    number = comparable_words((first.points, second.points))
    if not number:
        raise Refused(
            "no word is in some texts, two at least, and not in others: words tell nothing apart; leave out --text-kernel "
            "words to compare substrings"
        )
    return number


def _as_words(
    features: Features, first: ObjectSample, second: ObjectSample, number: int, notes: list[str]
) -> Features:
    """Features as words, with a note where fewer are compared than the number that could be."""
    if number > len(features):
        notes.append(
            f"{len(features):,} of {number:,} words are compared one by one, those whose shares of texts vary most"
        )
    return as_words(features, (first.points, second.points))


def _have_words(first: ObjectSample, second: ObjectSample) -> bool:
    """Whether most texts have several words."""
    several = [len(text.split()) > 1 for sample in (first, second) for text in sample.points]
    return bool(np.mean(several) > 0.5)


def _tested(first: ObjectSample, second: ObjectSample, chosen: SampleOptions) -> TwoSampleResult:
    choice, kernel = chosen.choice, text_kernel(chosen.text_kernel)
    if kernel is not None and first.kind != "texts":
        raise WrongUse("--text-kernel is for texts; these files hold series")
    if kernel is None and chosen.test is TestName.AUTO:
        return choice.run(first, second, [])
    kind = MMDAgg if chosen.test is TestName.MMDAGG else MMD
    argument = {} if kernel is None else choice.kernel_argument(kind, kernel)
    return choice.resampled(kind(**argument)).test(first.points, second.points, rng=chosen.seed)


def text_kernel(name: str | None) -> Kernel | None:
    """Kernel of texts by its name: words, spectrum, subsequence, or one of the latter two with a length, as in spectrum:5."""
    if name is None:
        return None
    if name == _WORDS:
        return JaccardOfWords()
    word, _, length = name.partition(":")
    size = int(length) if length else 3
    return {"spectrum": Spectrum(size), "subsequence": Subsequence(size, _DECAY)}[word].normalized()


def _samples(paths: Sequence[str], chosen: SampleOptions) -> tuple[ObjectSample, ObjectSample]:
    """The observations of two files, or of two groups of rows of one."""
    if chosen.grouping is None or chosen.text is None:
        first, second = (_sample(path, chosen) for path in paths)
        return first, second
    selection = Selection(text=chosen.text_format)
    return grouped_text_samples(paths[0], chosen.text, selection, chosen.grouping, chosen.missing)


def _sample(path: str, chosen: SampleOptions) -> ObjectSample:
    form = chosen.text_format
    selection = Selection(
        options.column_names(chosen.columns),
        exclude=frozenset(options.column_names(chosen.exclude)),
        text=form,
    )
    if chosen.series_of == FILES:
        return files_sample(path, selection)
    if is_json_lines(path):
        return json_lines_sample(path, chosen.text, form.encoding, chosen.missing)
    if chosen.text == LINES and is_plain_text(path):
        return plain_lines_sample(path, form.encoding)
    if chosen.series_of:
        return long_table_sample(path, chosen.series_of.split(","), Selection(text=form))
    if not chosen.text:
        raise WrongUse(f"{path} holds no JSON lines: name its column of text with --text")
    return text_sample(path, chosen.text, Selection(text=form), chosen.missing)


def _check_options(chosen: SampleOptions, paths: Sequence[str]) -> None:
    """Refuse options that only tables of numbers have."""
    table = chosen.text and chosen.text != LINES and not any(map(is_json_lines, paths))
    if chosen.by is not None and not table:
        raise WrongUse(
            "--by is for tables: write a file for each group of series, or of JSON lines"
        )
    if chosen.text and chosen.series_of:
        raise WrongUse("give --text or --series-of, not both")
    if chosen.series_of and any(map(is_json_lines, paths)):
        raise WrongUse("--series-of is for tables; in JSON lines each line is a series")
    names = (chosen.series_of or "").split(",")
    if chosen.series_of and chosen.series_of != FILES and (len(names) < 2 or not all(names)):
        raise WrongUse(
            "--series-of needs the columns that name the series and the time, as in --series-of id,time,value, or "
            "the word files, where each file of a folder or a pattern is a series"
        )
    columns = chosen.series_of == FILES
    refused = {
        "kernel": chosen.kernel, "bandwidth": chosen.bandwidth, "categories": chosen.categories,
        "series": chosen.series, "time": chosen.time, "difference": chosen.difference,
        "paired": chosen.paired,
        "columns": None if columns else chosen.columns, "exclude": None if columns else chosen.exclude,
    }  # fmt: skip
    for name, value in refused.items():
        if value:
            raise WrongUse(f"--{name} is for tables of numbers: leave it out with texts and series")
    if chosen.test not in (TestName.AUTO, TestName.MMD, TestName.MMDAGG):
        raise WrongUse(
            f"--test {chosen.test} takes vectors; texts and series have auto, mmd, mmdagg"
        )


def _shown(point: Any) -> str:
    """A text, or the first values of a series, in one line."""
    if isinstance(point, str):
        return repr(short(point, _TEXT_SHOWN))
    values = ", ".join(figure(float(v), 3) for v in point[:_VALUES_SHOWN].ravel()[:_VALUES_SHOWN])
    return f"{values}, ..." if point.size > _VALUES_SHOWN else values
