"""`mercer independence`: do columns of a file depend on each other, and how strongly?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, ClassVar

import typer

import mercer
from mercer.cli import options
from mercer.cli.answer import (
    Answer,
    column_kinds,
    file_summary,
    known,
    write_answer,
    write_report,
)
from mercer.cli.column_pairs import MIN_ROWS, PairsAsked, answer_pairs, pair_name, pair_table
from mercer.cli.common_options import SeriesOptions, expanded
from mercer.cli.exits import DIFFER, WrongUse, guarded
from mercer.cli.match import FileSample, matched
from mercer.cli.table import quoted
from mercer.cli.time_series import as_series, differenced
from mercer.cli.variables import IndependenceChoice, IndependenceName, Question, select
from mercer.htest.dependence.all_pairs import pairwise_independence
from mercer.htest.dependence.dependence_result import IndependenceResult
from mercer.htest.dependence.hsic import HSIC
from mercer.htest.dependence.pairwise_result import Pair, PairwiseResult
from mercer.htest.dependence.strength import Strength
from mercer.htest.explained_variation import VariationExplained
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.serial_hsic import serial_cautions
from mercer.report import independence_report
from mercer.report.affordable import MAX_ROWS_FOR_ALL_PAIRS

_MAX_COLUMNS_FOR_PAIRS = 60  # 1770 tests in addition to the main one

X = Annotated[
    list[str] | None,
    typer.Option(help="Columns of the first variable: a,b,c, or repeat the option for each."),
]
Y = Annotated[
    list[str] | None,
    typer.Option(help="Columns of the second variable, in the same way."),
]
Given = Annotated[
    list[str] | None,
    typer.Option(help="Columns to condition on: are x and y independent given these?"),
]
Test = Annotated[IndependenceName, typer.Option(help="Test to run; auto chooses one for the data.")]


@guarded
@expanded
def independence(
    data: options.Only,
    chosen: SeriesOptions,
    x: X = None,
    y: Y = None,
    given: Given = None,
    columns: options.Columns = None,
    test: Test = IndependenceName.AUTO,
    level: options.Level = 0.05,
    json_to: options.Json = None,
    report: options.Report = None,
    gate: options.Gate = False,
    min_effect: options.MinShare = None,
    show_all: options.All = False,
) -> None:
    """Test whether columns of a file depend on each other, perhaps given other columns.

    With --x and --y: are these independent (given --given)? With --y alone, one column: which of the other
    columns depend on it? Without: test every pair of columns.
    Exit codes: 0 done, 1 they depend on each other (with --gate), 2 wrong use,
    3 data refused, 4 over the memory limit, 5 a bug, 130 interrupted.
    """
    options.check_gate(gate, min_effect)
    options.check_outputs(json_to, report, inputs=(data,))
    options.check_report_packages(report)
    names = [options.column_names(x), options.column_names(y), options.column_names(given)]
    with mercer.config(**chosen.settings):
        if names[0] and names[1]:
            if columns:
                raise WrongUse("--columns is for pairs of columns: leave it out with --x and --y")
            choice = _choice(chosen, test)
            answer = _answer_question(
                data, chosen, choice, Question(*names), level, json_to, report, show_all
            )
            rejected = answer.at_least(min_effect)
        elif names[2] or min_effect or test is not IndependenceName.AUTO:
            raise WrongUse(
                "give both --x and --y, --y alone to test one column against all others, or neither to test every pair of "
                "columns; --test, --given, --kernel and --min-effect need both"
            )
        else:
            asked = PairsAsked(options.column_names(columns), names[0], names[1])
            rejected = answer_pairs(data, chosen, level, json_to, report, asked, show_all)
    if gate and rejected:
        raise typer.Exit(DIFFER)


def _choice(chosen: SeriesOptions, test: IndependenceName) -> IndependenceChoice:
    """The test that the options choose."""
    return IndependenceChoice(
        chosen.kernel,
        chosen.bandwidth,
        chosen.resamples,
        chosen.seed,
        series=bool(chosen.series),
        test=test,
    )


@dataclass(frozen=True)
class IndependenceAnswer(Answer[IndependenceResult]):
    """Result of an independence test, the strength of the dependence, and pairs of columns."""

    schema: ClassVar[str] = "mercer/command/independence/1"
    verdict_key: ClassVar[str] = "dependent"
    caution: ClassVar[str] = (
        "This does not prove they are independent, only that the test found no dependence."
    )

    sample: FileSample
    question: Question
    strength: VariationExplained | None
    pairs: PairwiseResult | None
    show_all: bool = False  # in the table of pairs

    @property
    def effect_size(self) -> float | None:
        """Share of variation explained; None for tests of more than two variables."""
        return None if self.strength is None else known(self.strength.unitless)

    def details(self) -> dict[str, Any]:
        """File, variables, result and pairs."""
        thinned = self.result.thinned(MAX_ROWS_FOR_ALL_PAIRS)
        return {
            "file": file_summary(self.sample),
            "x": list(self.question.x),
            "y": list(self.question.y),
            "given": list(self.question.given),
            "columns": column_kinds(self.sample),
            "result": {**thinned.to_dict(), "size": self.result.size},
            "pairs": None if self.pairs is None else self.pairs.to_dict(),
        }

    def verdict(self) -> str:
        """Whether the variables depend on each other, with the p-value."""
        x, y = quoted(self.question.x), quoted(self.question.y)
        given = f" given {quoted(self.question.given)}" if self.question.given else ""
        p = f"(p = {self.result.pvalue:.3g}, level {self.level:g})"
        if self.sample.differenced:
            p = f"in their changes from row to row {p}"
        if self.rejected:
            return f"{x} and {y} depend on each other{given} {p}."
        if crossed := self._crossed():
            names = "; ".join(pair_name(pair) for pair in crossed[:3])
            are = "is" if len(crossed) == 1 else "are"
            return (
                f"No dependence was found between {x} and {y}, all columns together {p}, but "
                f"{len(crossed):,} of their pairs {are} dependent: {names}."
            )
        return f"No dependence was found between {x} and {y}{given} {p}."

    def cautions(self) -> list[str]:
        """Those of the test, and those of pairs that could not be tested."""
        return [*super().cautions(), *(() if self.pairs is None else self.pairs.notes)]

    def facts(self) -> list[tuple[str, str]]:
        """Sizes of the data, strength of the dependence, and test."""
        x, y, given = (len(names) for names in vars(self.question).values())
        conditioned = f", given {given}" if given else ""
        return [
            ("Data", f"{self.result.size:,} rows, {x} and {y} columns{conditioned}"),
            *self._how_much(),
            ("Test", self.test_description()),
        ]

    def _crossed(self) -> tuple[Pair, ...]:
        """Dependent pairs of a column of x and one of y; none with given columns, which pairs ignore."""
        if self.pairs is None or self.question.given:
            return ()
        return self.pairs.dependent_across(self.question.x, self.level)

    def more_found(self) -> bool:
        """Whether pairs of columns depend on each other by themselves."""
        return bool(self._crossed())

    def table(self) -> list[str]:
        """The pairs of columns with the strongest dependence."""
        return [] if self.pairs is None else pair_table(self.pairs, self.level, self.show_all)

    def _how_much(self) -> list[tuple[str, str]]:
        strength = self.strength
        if strength is None:
            return []
        if not isinstance(strength, Strength):
            return [("How much", self._by_columns(strength).sentence())]
        low, high = strength.correlation_interval
        limits = f"{low:.2g} to {high:.2g}" if strength.bounded else "too few rows for an interval"
        text = (
            f"{self._by_columns(strength).sentence()}; kernel correlation {strength.correlation:.2g} "
            f"({limits})"
        )
        return [("How much", text)]

    def _by_columns(self, strength: VariationExplained) -> VariationExplained:
        """The strength in terms of columns of the file."""
        columns = zip("xyz", vars(self.question).values(), strict=True)
        return strength.named({name: quoted(names, 3) for name, names in columns})


def _answer_question(
    data: str,
    chosen: SeriesOptions,
    choice: IndependenceChoice,
    question: Question,
    level: float,
    json_to: str | None,
    report: Path | None,
    show_all: bool,
) -> IndependenceAnswer:
    """Test one question, and write its answer."""
    started, notes = perf_counter(), []
    files = list(chosen.read(data, columns=question.columns))
    (sample,) = matched(files, chosen.missing, notes, MIN_ROWS, against=question.x)
    sample = differenced(sample, chosen, notes)
    variables, result = _tested(question, sample, chosen, choice, notes)
    subset = result.thinned(MAX_ROWS_FOR_ALL_PAIRS)
    if subset is not result:
        notes.append(f"the strength uses {subset.size:,} rows; the test used all")
    strength = subset.effect() if result.has_effect else None
    notes += _in_time(question, variables, result, chosen.time is not None)
    pairs = _pairs_of(sample, question, result.test, choice.seed)
    answer = IndependenceAnswer(
        result, level, choice.seed, tuple(notes), sample, question, strength, pairs, show_all
    )
    write_answer(json_to, answer.to_dict, answer.text, perf_counter() - started)
    if report is not None:
        lists = {"x": question.x, "y": question.y, "given": question.given}
        named_test = None if choice.test is IndependenceName.AUTO else choice.test
        command = chosen.line("independence", [data], lists, test=named_test, level=f"{level:g}")
        write_report(
            report,
            independence_report,
            answer,
            command,
            pairs=pairs,
            samples=variables,
            numbered=sample.original_rows,
        )
    return answer


def _tested(
    question: Question,
    sample: FileSample,
    chosen: SeriesOptions,
    choice: IndependenceChoice,
    notes: list[str],
) -> tuple[list[Any], IndependenceResult]:
    """The variables of the question and the result of the test, which is one for series where rows are in time."""
    question.refuse_constant(sample)
    variables = question.variables(sample)
    if not question.given:
        choice = as_series(choice, chosen, _named(question, variables), notes, least=2)
    return variables, choice.run(variables)


def _in_time(
    question: Question, variables: Sequence[Any], result: IndependenceResult, ordered: bool
) -> tuple[str, ...]:
    """A caution, where rows of x and y depend on those before them and the test ignores that."""
    if result.test.for_series:
        return ()
    earlier = "add columns of earlier rows to --given"
    remedy = earlier if question.given else "use --series"
    named = _named(question, variables)
    return serial_cautions(named, least=2, remedy=remedy, ordered=ordered)


def _named(question: Question, variables: Sequence[Any]) -> list[tuple[str, Any]]:
    """The variables x and y under the names of their columns."""
    return [(quoted(q), v) for q, v in zip((question.x, question.y), variables, strict=False)]


def _pairs_of(
    sample: FileSample, question: Question, test: HypothesisTest, seed: int
) -> PairwiseResult | None:
    """Every pair of columns of x and y, if there are more than two columns; of series by the null of their test."""
    names = (*question.x, *question.y)
    if not 2 < len(names) <= _MAX_COLUMNS_FOR_PAIRS or sample.array:
        return None
    by_null = HSIC(null=test.null) if isinstance(test, HSIC) and test.for_series else None
    return pairwise_independence(select(sample, names), test=by_null, rng=seed)
