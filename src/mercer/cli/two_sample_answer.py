"""Answer of `mercer two-sample`: verdict, effect size, and the columns that differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any, ClassVar

import numpy as np

from mercer.cli.answer import (
    Answer,
    column_kinds,
    file_summary,
    known,
    line_length,
    listed_names,
    sample_names,
)
from mercer.cli.match import FileSample
from mercer.cli.pair_changes import (
    Change,
    LabelChange,
    changes_in_words,
    changes_within_pairs,
)
from mercer.cli.table import LabelColumn, short
from mercer.frames import Table
from mercer.htest.samples.attribution import Feature, Features, in_words
from mercer.htest.samples.column_descriptions import moments, shares
from mercer.htest.samples.effect import Effect
from mercer.htest.samples.two_sample_result import TwoSampleResult

_COLUMNS_SHOWN = 5  # they fit on a screen with the rest; --json and --report have all


@dataclass(frozen=True)
class TwoSampleAnswer(Answer[TwoSampleResult]):
    """Result of a two-sample test, its effect size and the columns that differ."""

    schema: ClassVar[str] = "mercer/command/two-sample/1"
    verdict_key: ClassVar[str] = "differ"
    caution: ClassVar[str] = (
        "This does not prove they are the same, only that the test found no difference."
    )
    noun: ClassVar[str] = "column"  # what is compared one by one

    samples: tuple[FileSample, FileSample]
    thinned: TwoSampleResult  # the result on a subset of the rows of large samples
    effect: Effect
    features: Features | None  # None: too many columns, or only one
    show_all: bool = False  # in the table

    @property
    def effect_size(self) -> float | None:
        """How often a classifier tells the samples apart; None for too few rows."""
        return known(self.effect.auc)

    @property
    def displayed(self) -> Features | None:
        """Columns or features, under the names that people read."""
        return self.features

    @property
    def names(self) -> tuple[str, str]:
        """Names of the samples: those of their files."""
        first, second = sample_names(self.samples)
        return first, second

    @property
    def numbered(self) -> bool:
        """Whether row i of the result is row i of the files."""
        rows = tuple(sample.rows for sample in self.samples)
        return rows == self.result.sizes and all(sample.original_rows for sample in self.samples)

    @cached_property
    def changes(self) -> tuple[Change | LabelChange, ...]:
        """Changes within pairs, those of the columns that differ most first; none where rows are no pairs."""
        if self.samples[0].paired_by is None:
            return ()
        found = changes_within_pairs(*self.samples)
        rank = {f.name: i for i, f in enumerate(self.features or ())}
        return tuple(sorted(found, key=lambda change: rank.get(change.name, len(rank))))

    def changes_in_words(self) -> str:
        """Changes within pairs in one sentence; empty where rows are no pairs."""
        return changes_in_words(self.changes, self.names) if self.changes else ""

    def details(self) -> dict[str, Any]:
        """Files, columns, result and features; for pairs also the changes within them."""
        key = self.samples[0].paired_by
        pairs = (
            {}
            if key is None
            else {"pairs": {"key": key, "changes": [c.to_dict() for c in self.changes]}}
        )
        return {
            **pairs,
            "files": [file_summary(sample) for sample in self.samples],
            "columns": column_kinds(self.samples[0]),
            "result": {**self.thinned.to_dict(), "sizes": list(self.result.sizes)},
            "features": None if self.features is None else self.features.to_dict(),
        }

    def verdict(self) -> str:
        """Whether the files differ, with the p-value."""
        first, second = self.names
        p = f"p = {self.result.pvalue:.3g}, level {self.level:g}"
        if self.samples[0].differenced:
            p = f"in their changes from row to row; {p}"
        if self.rejected:
            return f"{first} and {second} differ ({p})."
        if differing := self._differing:
            differ = "differs on its own" if len(differing) == 1 else "differ on their own"
            smallest = f"smallest corrected p = {differing[0].adjusted:.3g}"
            return (
                f"No difference was found between {first} and {second} in all {self.noun}s together ({p}), "
                f"but {len(differing):,} of {len(self.features or ()):,} {self.noun}s {differ} ({smallest})."
            )
        return f"No difference was found between {first} and {second} ({p})."

    def cautions(self) -> list[str]:
        """Also those of the columns."""
        columns = [] if self.features is None else self.features.cautions(self.level)
        return [*super().cautions(), *columns]

    def more_found(self) -> bool:
        """Whether columns differ by themselves."""
        return bool(self._differing)

    @property
    def _differing(self) -> tuple[Feature, ...]:
        return () if self.features is None else self.features.differing(self.level)

    def facts(self) -> list[tuple[str, str]]:
        """Sizes of the data, effect size, differing columns and test."""
        features = self.displayed
        where = [] if features is None else [("Where", self._where(features))]
        return [
            ("Data", self._data()),
            ("How much", self._how_much()),
            *self._single_column(),
            *([("In pairs", changes)] if (changes := self.changes_in_words()) else []),
            *where,
            ("Test", self.test_description()),
        ]

    def _single_column(self) -> list[tuple[str, str]]:
        """What the only column is like in both samples; of several the table tells."""
        first, second = (sample.points for sample in self.samples)
        if not (isinstance(first, Table) and isinstance(second, Table)):
            return []
        if len(first.columns.names) > 1:
            return []
        a, b = first.values[:, 0], second.values[:, 0]
        p, q = (np.full(len(values), 1 / len(values)) for values in (a, b))
        categorical = first.columns.categorical[0]
        if categorical:
            described = shares(a, b, p, q, {**first.labels, **second.labels})
        else:
            described = moments(a, p), moments(b, q)
        return [("Values", in_words(categorical, *described))]

    def table(self) -> list[str]:
        """The columns with the largest distances."""
        features = self.displayed
        if features is None:
            return []
        most = len(features) if self.show_all else _COLUMNS_SHOWN
        source = "group" if self.samples[0].grouped else "file"
        lines = _feature_table(features.features[:most], self.level, self.noun, source)
        if some := features.subsample(self.result.sizes):
            lines.insert(0, f"  Columns of {some}:")
        if len(features) > most:
            lines.append(f"  and {len(features) - most:,} more (--all shows them)")
        return lines

    def _data(self) -> str:
        first, second = self.samples
        pairs = first.paired_by is not None
        columns = first.columns.values()
        labels = sum(isinstance(column, LabelColumn) for column in columns)
        kinds = f" ({len(columns) - labels:,} numeric, {labels:,} categorical)"
        noun = "column" if len(columns) == 1 else "columns"
        return (
            f"{f'{first.rows:,} pairs of' if pairs else f'{first.rows:,} and {second.rows:,}'} rows, {len(columns):,} {noun}"
            f"{kinds if 0 < labels < len(columns) else ''}"
        )

    def _how_much(self) -> str:
        effect = self.effect
        if not isfinite(effect.standardized):
            return "each sample is constant, and the two constants differ"
        low, high = effect.standardized_interval
        return (
            f"{effect.sentence()}; kernel distance {effect.standardized:.2g} "
            f"({low:.2g} to {high:.2g}) standard deviations"
        )

    def _where(self, features: Features) -> str:
        differing, some = features.differing(self.level), features.subsample(self.result.sizes)
        among = f" in {some}" if some else ""
        if differing:
            names = listed_names([short(f.name) for f in differing], _COLUMNS_SHOWN)
            differ = "differs on its own" if len(differing) == 1 else "differ on their own"
            return f"{len(differing):,} of {len(features):,} {self.noun}s {differ}{among}: {names}"
        none = f"none of {len(features):,} {self.noun}s differs on its own{among}"
        if some:
            return f"{none}; --columns NAME tests a single one in all rows"
        if self.rejected:
            return f"{none}: the difference is in how they vary together, or too small in each"
        return none


def _feature_table(features: Sequence[Feature], level: float, noun: str, source: str) -> list[str]:
    """Columns or features with their distances; a star marks those that differ."""
    names = [short(f.name, 28) for f in features]
    width = max(len(noun), *map(len, names))
    room = max(20, line_length() - width - 30)
    lines = [f"  {noun:{width}}  distance  corrected p  first {source}, second {source}"]
    for name, f in zip(names, features, strict=True):
        star = "*" if f.adjusted <= level else ""
        description = short(f.describe(), room)
        lines.append(
            f"  {name:{width}}  {f.standardized:<8.2f}  {f.adjusted:<8.3g} {star:2}  {description}"
        )
    return lines
