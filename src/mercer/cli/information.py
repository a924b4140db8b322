"""`mercer information`: how much information do columns of a file share, in nats?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations, permutations
from math import ceil
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

import mercer
from mercer.cli import options
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
from mercer.cli.common_options import TimedOptions, expanded
from mercer.cli.exits import DIFFER, Refused, WrongUse, guarded
from mercer.cli.independence import Given, X, Y
from mercer.cli.match import FileSample, matched, refuse_constant
from mercer.cli.table import quoted, short
from mercer.cli.variables import Question, select
from mercer.frames import Table
from mercer.htest.conditional.conditional_information import (
    ConditionalMutualInformation,
    TransferEntropy,
)
from mercer.htest.corrections import Holm, resolution_caution
from mercer.htest.dependence.information_pvalues import information_pvalues
from mercer.htest.dependence.mutual_information_test import MutualInformation
from mercer.htest.dependence.pairwise_result import MAX_COLUMNS_CHECKED
from mercer.htest.nulls import Permutation
from mercer.htest.serial_hsic import serial_cautions
from mercer.info import mutual_information, transfer_entropy
from mercer.info.boundary import at_boundary
from mercer.info.estimate import estimate_with_error
from mercer.info.neighbour_notes import NEIGHBOURS
from mercer.kernels.take import taken
from mercer.report.information_page import information_page

_SCHEMA = "mercer/command/information/1"
_MIN_ROWS = 12
_MIN_ROWS_FOR_INTERVAL = 150  # ten subsamples of fifteen
_ERROR_BELOW = 0.025  # of an interval of 95%: it starts at zero where the p-value is larger
_MAX_ROWS_OF_TEST = 2000  # a permutation of them takes ten milliseconds
_FEWEST_RESAMPLES = 199  # of every pair
_PROMISING = 0.05  # p-values up to this are found again with all resamples
_PAIRS_SHOWN = 12
_JUST_ABOVE_ONE = 1.5  # number of draws that are as large, the observed one among them

Lags = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Transfer entropy from this many earlier rows; the rows must be in the order of time.",
    ),
]


@guarded
@expanded
def information(
    data: options.Only,
    chosen: TimedOptions,
    x: X = None,
    y: Y = None,
    given: Given = None,
    lags: Lags = None,
    columns: options.Columns = None,
    level: options.Level = 0.05,
    json_to: options.Json = None,
    report: options.Report = None,
    gate: options.Gate = False,
    show_all: options.All = False,
) -> None:
    """Estimate the mutual information of columns, with p-values and 95% intervals.

    With --x and --y: the information between these (given --given). Without:
    between all pairs of columns. With --lags: the transfer entropy from the
    first to the second, for every ordered pair. Values are in nats; p-values
    are corrected for all pairs. Intervals contain zero unless the p-value
    before the correction is at most 0.025.
    Exit codes: 0 done, 1 some pair shares information (with --gate),
    2 wrong use, 3 data refused, 4 over the memory limit, 5 a bug,
    130 interrupted.
    """
    options.check_outputs(json_to, report, inputs=(data,))
    options.check_report_packages(report)
    names = [options.column_names(x), options.column_names(y), options.column_names(given)]
    if chosen.kernel is not None or chosen.bandwidth is not None:
        raise WrongUse("--kernel and --bandwidth do not go with information, which has no kernel")
    if bool(names[0]) != bool(names[1]) or (names[2] and not names[0]):
        raise WrongUse("give both --x and --y; --given needs them")
    if names[2] and lags:
        raise WrongUse("--given does not go with --lags")
    if columns and any(names):
        raise WrongUse("--columns is for all pairs: leave it out with --x and --y")
    task = Task(Question(*names), options.column_names(columns), lags, level, show_all)
    with mercer.config(**chosen.settings):
        rejected = _answer(data, chosen, task, json_to, report)
    if gate and rejected:
        raise typer.Exit(DIFFER)


@dataclass(frozen=True)
class Task:
    """What is asked: two variables or all pairs of columns, at once or with lags, and at which level."""

    question: Question
    columns: tuple[str, ...]
    lags: int | None
    level: float
    show_all: bool = False


@dataclass(frozen=True)
class Told:
    """What one variable tells about another: nats, an interval, and p-values."""

    first: str
    second: str
    nats: float
    low: float | None
    high: float | None
    pvalue: float
    corrected: float = 1.0

    def name(self, between: str) -> str:
        """The pair, for a line of a table."""
        return f"{short(self.first, 24)} {between} {short(self.second, 24)}"


def _answer(data: str, chosen: TimedOptions, task: Task, json_to: Any, report: Path | None) -> bool:
    """Estimate, test and write; whether any pair is informative."""
    started, notes = perf_counter(), []
    files = list(chosen.read(data, columns=(*task.question.columns, *task.columns)))
    (sample,) = matched(files, chosen.missing, notes, _MIN_ROWS)
    if any(task.question.columns):
        task.question.refuse_constant(sample)
    else:
        refuse_constant(sample)
    pairs = [*_pairs(sample, task.question, task.lags)]
    resamples = chosen.resamples or max(_FEWEST_RESAMPLES, 2 * ceil(len(pairs) / task.level) - 1)
    of_columns, notes = cautions_first(notes)
    few = resolution_caution(Holm(), len(pairs), resamples, task.level, "pairs", option=True)
    cautions = [*of_columns, *few, *_in_time(pairs, task.lags)]
    pvalues = _pvalues(pairs, task.lags, resamples, chosen.seed)
    told = _corrected([_told(pair, task.lags, p) for pair, p in zip(pairs, pvalues, strict=True)])
    notes += _at_floor(told, resamples, chosen.resamples)
    notes += _remarks(sample, task.lags, chosen.time)
    document = {
        **_measured(task.question, task.lags),
        "level": task.level,
        "seed": chosen.seed,
        "resamples": resamples,
        "file": file_summary(sample),
        "columns": column_kinds(sample),
        "pairs": [asdict(t) for t in told],
        "remarks": [*cautions, *notes],
    }
    write_answer(
        json_to,
        lambda: finite_or_null(document),
        lambda: "\n".join([*map(wrapped, cautions), _text(told, task, notes)]),
        perf_counter() - started,
    )
    if report is not None:
        question = task.question
        lists = {"x": question.x, "y": question.y, "given": question.given}
        lists["columns"] = task.columns
        command = chosen.line("information", [data], lists, lags=task.lags, level=f"{task.level:g}")
        _write_report(report, told, document, command)
    return any(t.corrected <= task.level for t in told)


def _in_time(pairs: Sequence[tuple[str, str, list[Any]]], lags: int | None) -> tuple[str, ...]:
    """A caution, where rows of two variables depend on those before them, which permutations ignore."""
    if lags:
        return ()
    named: dict[str, Any] = {}
    for first, second, variables in pairs:
        named |= {first: variables[0], second: variables[1]}
    remedy = "test them by mercer independence with --series"
    if len(pairs[0][2]) == 3:
        remedy = "add columns of earlier rows to --given"
    return serial_cautions([*named.items()][:MAX_COLUMNS_CHECKED], least=2, remedy=remedy)


def _at_floor(told: Sequence[Told], resamples: int, asked: int | None) -> list[str]:
    """A note on p-values that are as small as the number of resamples allows."""
    at_floor = [t for t in told if t.pvalue * (resamples + 1) < _JUST_ABOVE_ONE]
    if not at_floor:
        return []
    corrected = max(t.corrected for t in at_floor)
    number = f"{resamples:,} resamples"
    if asked is None:
        number += ", the number that --level and the number of pairs ask for,"
    pairs = "1 pair" if len(at_floor) == 1 else f"{len(at_floor):,} pairs"
    return [
        f"no resample reached the information of {pairs}: {corrected:.2g} is the smallest corrected p-value that {number} can "
        "give, not a measure of how clear the dependence is; more --resamples can make it smaller"
    ]


def _remarks(sample: FileSample, lags: int | None, time: str | None) -> list[str]:
    """Notes on the order of rows, on rows that the test leaves out, and on intervals that there are too few rows for."""
    remarks, needed = [], _MIN_ROWS_FOR_INTERVAL * (lags + 1 if lags else 1)
    if lags:
        remarks.append(NEIGHBOURS)
        if time is None:
            remarks.append(
                "lags count rows in the order of the file, oldest first; --time sorts them"
            )
    if sample.rows > _MAX_ROWS_OF_TEST and not lags:
        remarks.append(f"p-values use {_MAX_ROWS_OF_TEST:,} rows; the estimates use all")
    if sample.rows < needed:
        with_lags = f" with --lags {lags}" if lags else ""
        remarks.append(
            f"no intervals: they need {needed:,} rows or more{with_lags} (ten subsamples), and there are "
            f"{sample.rows:,}"
        )
    return remarks


def _measured(question: Question, lags: int | None) -> dict[str, Any]:
    """What was measured, for the document."""
    measure = "transfer entropy" if lags else "mutual information"
    schema = {"schema": _SCHEMA, "mercer": mercer.__version__}
    return {**schema, "measure": measure, "lags": lags, "given": list(question.given)}


def _write_report(
    report: Path, told: Sequence[Told], document: dict[str, Any], command: str
) -> None:
    """Write the heat map and the table as an HTML page, and say where it is."""
    facts = {"resamples": f"{document['resamples']:,}", "seed": str(document["seed"])}
    if document["given"]:
        facts["given"] = quoted(document["given"])
    page = information_page(
        told,
        name=display_names([document["file"]["name"]])[0],
        measure=document["measure"],
        directed=bool(document["lags"]),
        level=document["level"],
        facts=facts,
        notes=document["remarks"],
        again=command,
    )
    write_page(report, page)


def _pairs(sample: FileSample, question: Question, lags: int | None) -> Iterator[Any]:
    """Names and variables of every pair: (first, second, variables)."""
    if question.x:
        yield quoted(question.x), quoted(question.y), question.variables(sample)
        return
    if len(sample.columns) < 2:
        raise Refused(f"{sample.name}: only one column; at least two are needed")
    every = permutations if lags else combinations
    for a, b in every(sample.columns, 2):
        yield a, b, [select(sample, (a,)), select(sample, (b,))]


def _told(pair: tuple[str, str, list[Any]], lags: int | None, pvalue: float) -> Told:
    """The estimate of one pair, with an interval where there are enough rows."""
    first, second, variables = pair
    function: Any = transfer_entropy if lags else mutual_information
    more = {"lags": lags} if lags else {}
    if len(variables) == 3:
        more = {"given": variables[2]}
    if len(variables[0]) < _MIN_ROWS_FOR_INTERVAL * (lags + 1 if lags else 1):
        return Told(first, second, function(*variables[:2], **more), None, None, pvalue)
    result = estimate_with_error(function, *variables[:2], **more)
    low, high = at_boundary(result.interval, result.value, pvalue <= _ERROR_BELOW)
    return Told(first, second, result.value, low, high, pvalue)


def _pvalues(
    pairs: Sequence[tuple[str, str, list[Any]]], lags: int | None, resamples: int, seed: int
) -> list[float]:
    """The p-value of every pair; single columns share their null distributions."""
    n = len(pairs[0][2][0])
    rows = np.arange(n)
    if n > _MAX_ROWS_OF_TEST and not lags:
        rows = np.sort(np.random.default_rng(seed).permutation(n)[:_MAX_ROWS_OF_TEST])
    if lags or len(pairs[0][2]) == 3 or any(_width(v) > 1 for v in pairs[0][2]):
        return [
            _pvalue([taken(v, rows) for v in variables], lags, resamples, seed)
            for _, _, variables in pairs
        ]
    columns: dict[str, Any] = {}
    for first, second, (x, y) in pairs:
        columns.setdefault(first, x)
        columns.setdefault(second, y)
    names = list(columns)
    places = [(names.index(first), names.index(second)) for first, second, _ in pairs]
    return information_pvalues(
        [taken(c, rows) for c in columns.values()],
        places,
        resamples=resamples,
        rng=np.random.default_rng(seed),
    ).tolist()


def _width(variable: Any) -> int:
    return len(variable.columns.names) if isinstance(variable, Table) else int(variable.shape[1])


def _pvalue(variables: list[Any], lags: int | None, resamples: int, seed: int) -> float:
    """P-value by few resamples, and by all of them where it is small.

    Either is valid, and the second is asked only below a threshold that the first passed: p <= a has at most the
    probability a, on either side of the threshold.
    """
    few = _test(len(variables), lags, min(resamples, _FEWEST_RESAMPLES))
    pvalue = few.test(*variables, rng=seed).pvalue
    if resamples <= _FEWEST_RESAMPLES or pvalue > _PROMISING:
        return pvalue
    return _test(len(variables), lags, resamples).test(*variables, rng=seed).pvalue


def _corrected(told: Sequence[Told]) -> list[Told]:
    """The same with p-values corrected for all pairs."""
    pvalues = Holm().adjusted([t.pvalue for t in told])
    return [replace(t, corrected=float(p)) for t, p in zip(told, pvalues, strict=True)]


def _test(variables: int, lags: int | None, resamples: int) -> Any:
    if lags:
        return TransferEntropy(lags=lags, resamples=resamples)
    if variables == 3:
        return ConditionalMutualInformation(resamples=resamples)
    return MutualInformation(null=Permutation(resamples))


def _text(told: Sequence[Told], task: Task, notes: Sequence[str]) -> str:
    """A sentence, and a table of the pairs with the most information."""
    many, level = sum(t.corrected <= task.level for t in told), task.level
    given = f" given {quoted(task.question.given)}" if task.question.given else ""
    share = f"pair{'s' * (len(told) > 1)} {'shares' if 1 in (many, len(told)) else 'share'}"
    verdict = (
        f"Mutual information{given}: {many} of {len(told)} {share} information (level {level:g})."
    )
    if task.lags:
        tells = "earlier values of the first column tell about the second"
        verdict = (
            f"Transfer entropy: in {many} of {len(told)} ordered pairs {tells} (level {level:g})."
        )
    ordered, between = sorted(told, key=lambda t: -t.nats), "->" if task.lags else "and"
    shown = ordered if task.show_all else ordered[:_PAIRS_SHOWN]
    width = max(4, *(len(t.name(between)) for t in shown))
    lines = [f"  {'pair':{width}}  nats     95% interval      corrected p"]
    for t in shown:
        interval = "-" if t.low is None or t.high is None else f"{t.low:.3f} to {t.high:.3f}"
        star = " *" if t.corrected <= level else ""
        name = t.name(between)
        lines.append(f"  {name:{width}}  {t.nats:<7.3f}  {interval:16}  {t.corrected:.3g}{star}")
    if len(told) > len(shown):
        lines.append(f"  and {len(told) - len(shown):,} more (--all shows them)")
    return "\n".join([bold(wrapped(verdict)), "", *lines, *note_lines(notes)])
