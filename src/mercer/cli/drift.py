"""`mercer drift`: test batches against a reference, with the false-discovery rate controlled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from time import perf_counter
from typing import Annotated, Any

import typer

import mercer
from mercer.cli import options
from mercer.cli.answer import (
    cautions_first,
    display_names,
    is_caution,
    listed_names,
    wrapped,
    write_answer,
    write_page,
)
from mercer.cli.batch_files import batch_files
from mercer.cli.common_options import ComparisonOptions, expanded
from mercer.cli.exits import DIFFER, guarded, say
from mercer.cli.match import matched
from mercer.cli.table import File, short
from mercer.cli.test_registry import TwoSampleChoice
from mercer.cli.two_sample import in_time, tested, two_sample_answer
from mercer.cli.two_sample_answer import TwoSampleAnswer
from mercer.htest.corrections import BenjaminiHochberg, resolution_caution
from mercer.htest.samples.batch_drift import DriftResult, drift_result
from mercer.report import drift_report

SCHEMA = "mercer/command/drift/2"  # 2: a batch has one verdict, and its p-values say which they are
_COLUMNS_SHOWN = 3  # names at the end of a line of the table

Reference = Annotated[str, typer.Argument(metavar="REF", help="Reference file.")]
Batches = Annotated[
    list[str],
    typer.Argument(
        metavar="CUR",
        help="Files to test against it, folders of them, or patterns in quotes: each file is a batch.",
    ),
]
Rate = Annotated[
    float,
    typer.Option(
        "--level",
        callback=options.probability,
        help="False-discovery rate: the expected share of false alarms among the alarms.",
    ),
]


@dataclass(frozen=True)
class BatchAnswer:
    """Comparison of one batch with the reference, its p-value corrected for all batches."""

    answer: TwoSampleAnswer
    corrected: float

    @property
    def name(self) -> str:
        """Name of the file of the batch."""
        return self.answer.samples[1].name

    def drifted(self, level: float, minimum: float | None = None) -> bool:
        """Whether the batch differs, and a classifier tells it from the reference that often."""
        size = self.answer.effect_size
        return self.corrected <= level and (minimum is None or size is None or size >= minimum)

    def columns(self, level: float) -> str:
        """Names of the columns that differ, the largest difference first."""
        if self.answer.features is None:
            return ""
        names = [short(f.name, 24) for f in self.answer.features.differing(level)]
        return listed_names(names, _COLUMNS_SHOWN)

    def to_dict(self, level: float) -> dict[str, Any]:
        """JSON entry of the batch: one verdict, after the correction, and what two-sample tells of it besides."""
        alone = self.answer.to_dict()
        uncorrected = alone.pop("pvalue")
        for key in ("schema", "mercer", "level", self.answer.verdict_key):  # those of a single test
            del alone[key]
        return {
            "drifted": self.drifted(level),
            "corrected_pvalue": self.corrected,
            "uncorrected_pvalue": uncorrected,
            **alone,
        }


@guarded
@expanded
def drift(
    reference: Reference,
    batches: Batches,
    chosen: ComparisonOptions,
    level: Rate = 0.05,
    json_to: options.Json = None,
    report: options.Report = None,
    gate: options.Gate = False,
    min_effect: options.MinEffect = None,
) -> None:
    """Test each batch against a reference; controls the false-discovery rate.

    A folder stands for the tables in it, and a pattern in quotes, such as
    'months/*.csv', for the files that match it: each file is a batch, in the
    order of the names, in which numbers count as numbers. P-values are
    corrected by the method of Benjamini and Hochberg.
    Exit codes: those of two-sample; with --gate 1 if a batch differs.
    """
    options.check_gate(gate, min_effect)
    files = batch_files(batches, reference)
    paths = [reference, *files.read]
    options.check_one_pipe(paths)
    options.check_outputs(json_to, report, inputs=paths)
    options.check_report_packages(report)
    with mercer.config(**chosen.settings):
        started, notes = perf_counter(), [*files.notes()]
        choice = chosen.choice.with_at_least(_needed_resamples(len(files.read), level))
        tables = chosen.samples(*paths)
        base = next(tables)
        answers = [_compare(base, batch, choice, chosen, level, notes) for batch in tables]
        corrected = _corrected(answers)
        others = _cautions(corrected)
        cautions = [*_few_resamples(corrected, level), *others]
        seconds = perf_counter() - started
    for note in dict.fromkeys(cautions_first(notes)[1]):
        say(f"note: {note}")
    write_answer(
        json_to,
        lambda: _document(reference, corrected, cautions, level, chosen.seed) | files.to_dict(),
        lambda: _text(corrected, cautions, level),
        seconds,
    )
    if report is not None:
        command = chosen.command_line("drift", paths, level=f"{level:g}")
        result, facts = _result(corrected, level, [*others, *notes]), {"seed": str(chosen.seed)}
        write_page(report, drift_report(result, level=level, facts=facts, again=command))
    if gate and any(batch.drifted(level, min_effect) for batch in corrected):
        raise typer.Exit(DIFFER)


def _needed_resamples(batches: int, level: float) -> int:
    """Number of resamples with which the smallest corrected p-value can fall well below the level."""
    return ceil(4 * batches / level) - 1


def _compare(
    base: File,
    batch: File,
    choice: TwoSampleChoice,
    chosen: ComparisonOptions,
    level: float,
    notes: list[str],
) -> TwoSampleAnswer:
    """Test one batch; what was done to its data is added to `notes`."""
    remarks: list[str] = []
    first, second = matched([base, batch], chosen.missing, remarks)
    first, second, result = tested(first, second, chosen, choice, remarks)
    answer = two_sample_answer((first, second), result, level, choice.seed, remarks)
    notes += answer.notes  # also why no columns are named
    return answer


def _few_resamples(batches: Sequence[BatchAnswer], level: float) -> tuple[str, ...]:
    """A caution, where there are too few resamples to find anything; the report adds its own."""
    fewest = min(len(batch.answer.result.null) for batch in batches)
    return resolution_caution(
        BenjaminiHochberg(), len(batches), fewest, level, "batches", option=True
    )


def _cautions(batches: Sequence[BatchAnswer]) -> list[str]:
    """Other reasons not to trust p-values: rows in time, short series; those of all batches once."""
    independent = [b.answer for b in batches if not b.answer.result.test.for_series]
    samples = [answer.samples[1] for answer in independent]
    if samples:
        samples.insert(0, independent[0].samples[0])
    of_columns = dict.fromkeys(note for b in batches for note in b.answer.notes if is_caution(note))
    of_tests = [note for b in batches for note in b.answer.result.notes if is_caution(note)]
    distinct = list(dict.fromkeys(of_tests))
    more = [f"{len(distinct) - 1:,} other batches have such a caution."] if distinct[1:] else []
    return [*of_columns, *in_time(samples), *distinct[:1], *more]


def _result(batches: Sequence[BatchAnswer], level: float, notes: Sequence[str]) -> DriftResult:
    """The batches under the names of their files, with the notes of all of them."""
    answers = [batch.answer for batch in batches]
    reference, *names = display_names(
        [answers[0].samples[0].name, *(batch.name for batch in batches)]
    )
    compared = [
        (name, answer.result, answer.effect, answer.features)
        for name, answer in zip(names, answers, strict=True)
    ]
    return drift_result(reference, compared, level, [*dict.fromkeys(notes)])


def _corrected(answers: Sequence[TwoSampleAnswer]) -> list[BatchAnswer]:
    pvalues = BenjaminiHochberg().adjusted([answer.result.pvalue for answer in answers])
    return [BatchAnswer(answer, float(p)) for answer, p in zip(answers, pvalues, strict=True)]


def _document(
    reference: str, batches: Sequence[BatchAnswer], cautions: list[str], level: float, seed: int
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "mercer": mercer.__version__,
        "reference": reference,
        "level": level,
        "correction": "Benjamini-Hochberg",
        "seed": seed,
        "cautions": cautions,
        "drifted": [batch.name for batch in batches if batch.drifted(level)],
        "batches": [batch.to_dict(level) for batch in batches],
    }


def _text(batches: Sequence[BatchAnswer], cautions: list[str], level: float) -> str:
    """How many batches differ, and a line for each."""
    number = sum(batch.drifted(level) for batch in batches)
    reference, *names = display_names(
        [batches[0].answer.samples[0].name, *(batch.name for batch in batches)]
    )
    differ = "differs" if 1 in (number, len(batches)) else "differ"
    noun = "batch" if len(batches) == 1 else "batches"
    head = f"{number} of {len(batches)} {noun} {differ} from {reference}"
    if batches[0].answer.samples[0].differenced:
        head += " in their changes from row to row"
    names = [short(name, 36) for name in names]
    width = max(5, *map(len, names))
    lines = [
        f"{head} (false-discovery rate {level:g}).",
        *map(wrapped, cautions),
        "",
        f"  {'batch':{width}}  rows      p        corrected  told apart  differs  columns",
    ]
    for name, batch in zip(names, batches, strict=True):
        answer, drifted = batch.answer, batch.drifted(level)
        size = answer.effect_size
        lines.append(
            f"  {name:{width}}  {answer.samples[1].rows:<8,}  {answer.result.pvalue:<7.3g}  "
            f"{batch.corrected:<9.3g}  {'?' if size is None else f'{max(size, 0.5):.0%}':<10}  "
            f"{'yes' if drifted else 'no':7}  {batch.columns(level) if drifted else ''}".rstrip()
        )
    return "\n".join(lines)
