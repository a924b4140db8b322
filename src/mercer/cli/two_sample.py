"""`mercer two-sample`: do two files come from the same distribution, and where do they differ?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar

import typer

import mercer
from mercer.cli import options
from mercer.cli.answer import (
    Answer,
    column_kinds,
    display_names,
    file_summary,
    known,
    line_length,
    listed_names,
    write_answer,
    write_report,
)
from mercer.cli.common_options import ComparisonOptions, TwoSampleOptions, expanded
from mercer.cli.exits import DIFFER, guarded
from mercer.cli.match import FileSample, matched
from mercer.cli.table import LabelColumn, short
from mercer.htest.samples.attribution import Feature, Features
from mercer.htest.samples.effect import Effect
from mercer.htest.samples.two_sample_result import TwoSampleResult
from mercer.htest.serial_hsic import serial_cautions
from mercer.report import two_sample_report
from mercer.report.affordable import MAX_ROWS_FOR_ALL_PAIRS, ranked

_COLUMNS_SHOWN = 5  # they fit on a screen with the rest; --json and --report have all


@guarded
@expanded
def two_sample(
    a: options.First,
    b: options.Second,
    chosen: ComparisonOptions,
    level: options.Level = 0.05,
    json_to: options.Json = None,
    report: options.Report = None,
    gate: options.Gate = False,
    min_effect: options.MinEffect = None,
    show_all: options.All = False,
) -> None:
    """Test whether two files come from the same distribution, and show where they differ.

    Exit codes: 0 done, 1 the samples differ (with --gate), 2 wrong use,
    3 data refused, 4 over the memory limit, 5 a bug, 130 interrupted.
    """
    options.check_gate(gate, min_effect)
    options.check_one_pipe([a, b])
    options.check_outputs(json_to, report, inputs=(a, b))
    options.check_report_packages(report)
    with mercer.config(**chosen.settings):
        started = perf_counter()
        answer = replace(compare(a, b, chosen, level), show_all=show_all)
        seconds = perf_counter() - started
        command = chosen.command_line("two-sample", (a, b), level=f"{level:g}")
        write_two_sample(answer, seconds, json_to, report, command)
    if gate and answer.at_least(min_effect):
        raise typer.Exit(DIFFER)


@dataclass(frozen=True)
class TwoSampleAnswer(Answer[TwoSampleResult]):
    """Result of a two-sample test, its effect size and the columns that differ."""

    schema: ClassVar[str] = "mercer/command/two-sample/1"
    verdict_key: ClassVar[str] = "differ"
    caution: ClassVar[str] = (
        "This does not prove they are the same, only that the test found no difference."
    )

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
    def names(self) -> tuple[str, str]:
        """Names of the samples: those of their files."""
        first, second = display_names([sample.name for sample in self.samples])
        return first, second

    @property
    def numbered(self) -> bool:
        """Whether row i of the result is row i of the files."""
        rows = tuple(sample.rows for sample in self.samples)
        return rows == self.result.sizes and all(sample.original_rows for sample in self.samples)

    def details(self) -> dict[str, Any]:
        """Files, columns, result and features."""
        return {
            "files": [file_summary(sample) for sample in self.samples],
            "columns": column_kinds(self.samples[0]),
            "result": {**self.thinned.to_dict(), "sizes": list(self.result.sizes)},
            "features": None if self.features is None else self.features.to_dict(),
        }

    def verdict(self) -> str:
        """Whether the files differ, with the p-value."""
        first, second = self.names
        p = f"p = {self.result.pvalue:.3g}, level {self.level:g}"
        if self.rejected:
            return f"{first} and {second} differ ({p})."
        if differing := self._differing:
            differ = "differs on its own" if len(differing) == 1 else "differ on their own"
            smallest = f"smallest corrected p = {differing[0].adjusted:.3g}"
            return (
                f"No difference was found between {first} and {second} in all columns together ({p}), "
                f"but {len(differing):,} of {len(self.features or ()):,} columns {differ} ({smallest})."
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
        where = [] if self.features is None else [("Where", self._where(self.features))]
        return [
            ("Data", self._data()),
            ("How much", self._how_much()),
            *where,
            ("Test", self.test_description()),
        ]

    def table(self) -> list[str]:
        """The columns with the largest distances."""
        if self.features is None:
            return []
        most = len(self.features) if self.show_all else _COLUMNS_SHOWN
        lines = _feature_table(self.features.features[:most], self.level)
        if len(self.features) > most:
            lines.append(f"  and {len(self.features) - most:,} more (--all shows them)")
        return lines

    def _data(self) -> str:
        first, second = self.samples
        columns = first.columns.values()
        labels = sum(isinstance(column, LabelColumn) for column in columns)
        kinds = f" ({len(columns) - labels:,} numeric, {labels:,} categorical)"
        noun = "column" if len(columns) == 1 else "columns"
        return (
            f"{first.rows:,} and {second.rows:,} rows, {len(columns):,} {noun}"
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
        differing = features.differing(self.level)
        if differing:
            names = listed_names([short(f.name) for f in differing], _COLUMNS_SHOWN)
            differ = "differs on its own" if len(differing) == 1 else "differ on their own"
            return f"{len(differing)} of {len(features)} columns {differ}: {names}"
        none = f"none of {len(features)} columns differs on its own"
        if self.rejected:
            return f"{none}: the difference is in how they vary together, or too small in each"
        return none


def compare(a: str, b: str, chosen: TwoSampleOptions, level: float) -> TwoSampleAnswer:
    """Read two files, test them, and measure how much and where they differ."""
    notes: list[str] = []
    first, second = matched(list(chosen.samples(a, b)), chosen.missing, notes)
    result = chosen.choice.run(first, second, notes)
    notes += in_time((first, second), result)
    return two_sample_answer((first, second), result, level, chosen.seed, notes)


def in_time(samples: Sequence[FileSample], result: TwoSampleResult) -> tuple[str, ...]:
    """A caution, where the rows of a file depend on those before them and the test ignores that."""
    if result.test.for_series:
        return ()
    names = display_names([sample.name for sample in samples])
    named = [(name, sample.points) for name, sample in zip(names, samples, strict=True)]
    known = all(sample.sorted_by is not None for sample in samples)
    return serial_cautions(named, remedy="use --series", ordered=known)


def two_sample_answer(
    samples: tuple[FileSample, FileSample],
    result: TwoSampleResult,
    level: float,
    seed: int,
    notes: Sequence[str],
) -> TwoSampleAnswer:
    """The result with its effect size and its differing columns."""
    series = result.test.for_series
    features = None if series else ranked(result, seed)
    subset = result.thinned(MAX_ROWS_FOR_ALL_PAIRS)
    remarks = list(notes)
    if series:
        remarks.append(
            "columns are not tested one by one with --series: select some with --columns"
        )
    elif features is not None:
        features = _with_file_names(features, samples[0])
    elif len(samples[0].columns) > 1:
        remarks.append("too many columns to rank one by one: select some with --columns")
    if subset is not result:
        rows = f"{subset.sizes[0]:,} and {subset.sizes[1]:,}"
        remarks.append(f"the effect size uses {rows} rows; the test used all")
    return TwoSampleAnswer(
        result, level, seed, tuple(remarks), samples, subset, subset.effect(), features
    )


def write_two_sample(
    answer: TwoSampleAnswer, seconds: float, json_to: str | None, report: Path | None, command: str
) -> None:
    """Write the text, the JSON document and the report."""
    write_answer(json_to, answer.to_dict, answer.text, seconds)
    if report is not None:
        write_report(
            report,
            two_sample_report,
            answer,
            command,
            names=answer.names,
            features=answer.features,
            numbered=answer.numbered,
        )


def _with_file_names(features: Features, sample: FileSample) -> Features:
    """Features under the column names of the command, where the file had none (x1, x2, ...)."""
    names = list(sample.columns)
    known = {f"column {j}": name for j, name in enumerate(names)} if sample.array else {}
    renamed = tuple(replace(f, name=known.get(f.name, f.name)) for f in features)
    return replace(features, features=renamed)


def _feature_table(features: Sequence[Feature], level: float) -> list[str]:
    """Columns with their distances; a star marks those that differ."""
    names = [short(f.name, 28) for f in features]
    width = max(6, *map(len, names))
    room = max(20, line_length() - width - 30)
    lines = [f"  {'column':{width}}  distance  corrected p  first file, second file"]
    for name, f in zip(names, features, strict=True):
        star = "*" if f.adjusted <= level else ""
        description = short(f.describe(), room)
        lines.append(
            f"  {name:{width}}  {f.standardized:<8.2f}  {f.adjusted:<8.3g} {star:2}  {description}"
        )
    return lines
