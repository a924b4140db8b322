"""Pairs of columns for `mercer independence`: every pair, or one column and each of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import mercer
from mercer.cli.answer import (
    bold,
    cautions_first,
    column_kinds,
    display_names,
    file_summary,
    finite_or_null,
    note_lines,
    wrapped,
    write_answer,
    write_page,
)
from mercer.cli.common_options import SeriesOptions
from mercer.cli.exits import Refused, WrongUse
from mercer.cli.match import FileSample, matched, refuse_constant
from mercer.cli.table import quoted, short
from mercer.cli.time_series import as_series, differenced
from mercer.cli.variables import IndependenceChoice
from mercer.frames import Columns, Table
from mercer.htest.dependence.all_pairs import pairwise_independence
from mercer.htest.dependence.hsic import HSIC
from mercer.htest.dependence.pairwise_result import (
    MAX_COLUMNS_CHECKED,
    Pair,
    PairwiseResult,
    single_columns,
)
from mercer.htest.nulls import Permutation, WildBootstrap
from mercer.report import pairwise_report

MIN_ROWS = 4  # the unbiased estimate of HSIC needs four observations
_PAIRS_SCHEMA = "mercer/command/pairs/1"
_DEFAULT_RESAMPLES = 999  # of pairs of series
_PAIRS_SHOWN = 8  # they fit on a screen with the rest; --json and --report have all


@dataclass(frozen=True)
class PairsAsked:
    """Which pairs to test: of all columns or of some of them, or those of one column (of --x or --y) with the others."""

    columns: tuple[str, ...]
    x: tuple[str, ...]
    y: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.alone) > 1:
            raise WrongUse(
                f"one column is tested against all others, and --{'y' if self.y else 'x'} names {quoted(self.alone)}: name "
                "one of them, or test them together with --x and --y"
            )

    @property
    def alone(self) -> tuple[str, ...]:
        """The column that is tested against all others, if there is one."""
        return self.x or self.y

    @property
    def against(self) -> str | None:
        """The column that is tested against all others; None: every pair is tested."""
        return self.alone[0] if self.alone else None

    @property
    def selected(self) -> tuple[str, ...]:
        """Columns to read; none means all."""
        return (*self.columns, *self.alone) if self.columns else ()

    def check(self, sample: FileSample) -> None:
        """Refuse a file without the column, or with no other."""
        names = tuple(sample.columns)
        if self.against is not None and self.against not in names:
            raise Refused(f"{sample.name}: no column {quoted(self.alone)}; it has {quoted(names)}")
        if len(names) < 2:
            raise Refused(f"{sample.name}: only one column; at least two are needed")


def answer_pairs(
    data: str,
    chosen: SeriesOptions,
    level: float,
    json_to: str | None,
    report: Path | None,
    asked: PairsAsked,
    show_all: bool,
) -> bool:
    """Test pairs of columns of the file, and write the result; whether any pair is dependent."""
    if chosen.kernel is not None or chosen.bandwidth is not None:
        raise WrongUse("--kernel and --bandwidth need --x and --y")
    started, notes = perf_counter(), []
    files = list(chosen.read(data, columns=asked.selected))
    (sample,) = matched(files, chosen.missing, notes, MIN_ROWS, against=asked.alone)
    sample = differenced(sample, chosen, notes)
    asked.check(sample)
    refuse_constant(sample)
    table = _named_columns(sample)
    test = _test_of_pairs(table, chosen, notes)
    pairs = pairwise_independence(table, against=asked.against, test=test, rng=chosen.seed)
    of_columns, remarks = cautions_first(notes)
    cautions = [*of_columns, *pairs.cautions(level)]
    measured = {"level": level, "seed": chosen.seed, **_pairs_document(pairs, sample, cautions)}
    write_answer(
        json_to,
        lambda: finite_or_null({**measured, "remarks": remarks}),
        lambda: _pairs_text(pairs, level, cautions, remarks, show_all),
        perf_counter() - started,
    )
    if report is not None:
        lists = {"columns": asked.columns, "x": asked.x, "y": asked.y}
        again = chosen.line("independence", [data], lists, level=f"{level:g}")
        facts, (name,) = {"seed": str(chosen.seed)}, display_names([sample.name])
        told = {"name": name, "level": level, "facts": facts, "notes": notes, "again": again}
        write_page(report, pairwise_report(pairs, **told))
    return bool(pairs.dependent(level))


def _test_of_pairs(table: Table, chosen: SeriesOptions, notes: list[str]) -> HSIC | None:
    """The test of two columns, one for series where rows are in time and depend on those before them; None: the default."""
    choice = IndependenceChoice(resamples=chosen.resamples, series=bool(chosen.series))
    named = [*zip(table.columns.names, single_columns(table), strict=True)][:MAX_COLUMNS_CHECKED]
    choice = as_series(choice, chosen, named, notes, least=2)
    if choice.series:
        return HSIC(null=WildBootstrap(chosen.resamples or _DEFAULT_RESAMPLES, block=None))
    return None if chosen.resamples is None else HSIC(null=Permutation(chosen.resamples))


def _named_columns(sample: FileSample) -> Table:
    """The points with the names of their columns, which those of an array have from their places."""
    if isinstance(sample.points, Table):
        return sample.points
    names = tuple(sample.columns)
    return Table(sample.points, Columns(names, (False,) * len(names)))


def _pairs_document(
    pairs: PairwiseResult, sample: FileSample, cautions: list[str]
) -> dict[str, Any]:
    """What the file holds and what was found, for the JSON document."""
    return {
        "schema": _PAIRS_SCHEMA,
        "mercer": mercer.__version__,
        "file": file_summary(sample),
        "columns": column_kinds(sample),
        "result": pairs.to_dict(),
        "cautions": cautions,
    }


def _pairs_text(
    pairs: PairwiseResult,
    level: float,
    cautions: Sequence[str],
    notes: Sequence[str],
    show_all: bool,
) -> str:
    """How many pairs are dependent, and a table of the strongest."""
    dependent, number = len(pairs.dependent(level)), len(pairs.pairs)
    plural = "s" * (number > 1)
    corrected = f"level {level:g}, p-values corrected for "
    corrected += "all pairs" if pairs.against is None else f"these {number:,} pairs"
    if number == 1:
        corrected = f"level {level:g}"
    if pairs.against is None:
        found = f"pair{plural} of columns {'is' if 1 in (dependent, number) else 'are'} dependent"
    else:
        depend = "depends" if 1 in (dependent, number) else "depend"
        found = f"column{plural} {depend} on {quoted([pairs.against])}"
    verdict = f"{dependent:,} of {number:,} {found} ({corrected})."
    return "\n".join(
        [
            bold(wrapped(verdict)),
            *map(wrapped, cautions),
            "",
            *pair_table(pairs, level, show_all),
            *note_lines(notes),
        ]
    )


def pair_table(result: PairwiseResult, level: float, show_all: bool) -> list[str]:
    """Pairs of columns by strength; a star marks those that are dependent."""
    pairs = sorted(result.pairs, key=lambda pair: (-pair.effect, pair.pvalue))
    shown = pairs if show_all else pairs[:_PAIRS_SHOWN]
    head = "pair" if result.against is None else "column"
    names = [pair_name(pair) if result.against is None else short(pair.first) for pair in shown]
    width = max(len(head), *map(len, names))
    lines = [f"  {head:{width}}  correlation  corrected p"]
    for name, pair in zip(names, shown, strict=True):
        star = " *" if pair.pvalue <= level else ""
        lines.append(f"  {name:{width}}  {pair.effect:<11.2f}  {pair.pvalue:.3g}{star}")
    if len(pairs) > len(shown):
        lines.append(f"  and {len(pairs) - len(shown):,} more (--all shows them)")
    return lines


def pair_name(pair: Pair) -> str:
    """Both columns of a pair, shortened."""
    return f"{short(pair.first, 24)} and {short(pair.second, 24)}"
