"""`mercer two-sample`: do two files come from the same distribution, and where do they differ?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import typer

import mercer
from mercer.cli import options
from mercer.cli.answer import (
    sample_names,
    write_answer,
    write_report,
)
from mercer.cli.common_options import SampleOptions, SeriesOptions, TwoSampleOptions, expanded
from mercer.cli.exits import DIFFER, guarded
from mercer.cli.match import FileSample, matched
from mercer.cli.object_comparison import compare_objects, compares_objects
from mercer.cli.paired_rows import pair_cautions
from mercer.cli.streamed_files import StreamedSample, streamed_features
from mercer.cli.test_registry import TwoSampleChoice
from mercer.cli.time_series import as_series, differenced
from mercer.cli.two_sample_answer import TwoSampleAnswer
from mercer.htest.row_order import order_cautions
from mercer.htest.samples.attribution import Features
from mercer.htest.samples.two_sample_result import TwoSampleResult
from mercer.report import two_sample_report
from mercer.report.affordable import MAX_ROWS_FOR_ALL_PAIRS, ranked


@guarded
@expanded
def two_sample(
    a: options.First,
    chosen: SampleOptions,
    b: options.SecondOrNone = None,
    level: options.Level = 0.05,
    json_to: options.Json = None,
    report: options.Report = None,
    gate: options.Gate = False,
    min_effect: options.MinEffect = None,
    show_all: options.All = False,
) -> None:
    """Test whether two files come from the same distribution, and show where they differ.

    With --by, A alone: two groups of its rows are compared.

    Exit codes: 0 done, 1 the samples differ (with --gate), 2 wrong use,
    3 data refused, 4 over the memory limit, 5 a bug, 130 interrupted.
    """
    options.check_gate(gate, min_effect)
    paths = chosen.paths(a, b)
    options.check_one_pipe(paths)
    options.check_outputs(json_to, report, inputs=paths)
    options.check_report_packages(report)
    with mercer.config(**chosen.settings):
        started = perf_counter()
        compared = compare_objects if compares_objects(chosen, paths) else compare
        answer = replace(compared(paths, chosen, level), show_all=show_all)
        seconds = perf_counter() - started
        command = chosen.command_line("two-sample", paths, level=f"{level:g}")
        write_two_sample(answer, seconds, json_to, report, command)
    if gate and answer.at_least(min_effect):
        raise typer.Exit(DIFFER)


def compare(paths: Sequence[str], chosen: TwoSampleOptions, level: float) -> TwoSampleAnswer:
    """Read two files, or two groups of one, test them, and measure how much and where they differ."""
    notes: list[str] = []
    large = chosen.streams(*paths, notes=notes)
    first, second = read_samples(paths, chosen, notes) if large is None else large
    if isinstance(first, StreamedSample) and isinstance(second, StreamedSample):
        result = chosen.choice.streamed(first, second, notes)
    else:
        first, second, result = tested(first, second, chosen, chosen.choice, notes)
    if not result.test.for_series:
        pairs = () if isinstance(first, StreamedSample) else pair_cautions(first, second)
        notes += pairs or in_time((first, second))  # keys in order grow, too
    return two_sample_answer((first, second), result, level, chosen.seed, notes)


def read_samples(
    paths: Sequence[str], chosen: TwoSampleOptions, notes: list[str]
) -> tuple[FileSample, FileSample]:
    """Both samples with the same columns, perhaps as pairs of rows."""
    first, second = chosen.samples(*paths)
    rows = first.rows, second.rows
    pairing = chosen.pairing if isinstance(chosen, SampleOptions) else None
    cautioned = not chosen.choice.series  # by `in_time`
    if pairing is None:
        first, second = matched([first, second], chosen.missing, notes, cautioned=cautioned)
        return first, second
    pairs = pairing.pairs(first, second, chosen.missing, notes)
    one, other = (
        replace(sample, dropped=number - sample.rows)
        for sample, number in zip(
            matched(pairs, chosen.missing, notes, cautioned=cautioned), rows, strict=True
        )
    )
    return one, other


def tested(
    first: FileSample,
    second: FileSample,
    chosen: TwoSampleOptions,
    choice: TwoSampleChoice,
    notes: list[str],
) -> tuple[FileSample, FileSample, TwoSampleResult]:
    """The samples as they are compared, perhaps by their differences, and the result of the test."""
    if isinstance(chosen, SeriesOptions):
        first, second = (differenced(sample, chosen, notes) for sample in (first, second))
        choice = as_series(choice, chosen, _named((first, second)), notes)
    return first, second, choice.run(first, second, notes)


def in_time(samples: Sequence[FileSample]) -> tuple[str, ...]:
    """A caution, where a column numbers the rows, or rows that are taken for independent depend on those before them."""
    known = all(sample.sorted_by is not None for sample in samples)
    columns = () if not samples or samples[0].array else (*samples[0].columns,)
    return order_cautions(
        _named(samples), remedy="use --series", ordered=known, columns=columns, options=True
    )


def _named(samples: Sequence[FileSample]) -> list[tuple[str, Any]]:
    """Points of samples with the names of their files."""
    names = sample_names(samples)
    return [(name, sample.points) for name, sample in zip(names, samples, strict=True)]


def two_sample_answer(
    samples: tuple[FileSample, FileSample],
    result: TwoSampleResult,
    level: float,
    seed: int,
    notes: Sequence[str],
) -> TwoSampleAnswer:
    """The result with its effect size and its differing columns."""
    first, second = samples
    if isinstance(first, StreamedSample) and isinstance(second, StreamedSample):
        features = streamed_features(first, second, seed)
    else:
        features = ranked(result, seed)
    subset = result.thinned(MAX_ROWS_FOR_ALL_PAIRS)
    remarks = list(notes)
    if features is not None:
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
        if changes := answer.changes_in_words():
            answer = replace(answer, notes=(f"Changes within pairs, {changes}", *answer.notes))
        write_report(
            report,
            two_sample_report,
            answer,
            command,
            names=answer.names,
            features=answer.displayed,
            numbered=answer.numbered,
        )


def _with_file_names(features: Features, sample: FileSample) -> Features:
    """Features under the column names of the command, where the file had none (x1, x2, ...)."""
    names = list(sample.columns)
    known = {f"column {j}": name for j, name in enumerate(names)} if sample.array else {}
    renamed = tuple(replace(f, name=known.get(f.name, f.name)) for f in features)
    return replace(features, features=renamed)
