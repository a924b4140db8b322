"""`mercer information`: how much do columns of a file tell about each other, in nats?"""

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
    column_kinds,
    display_names,
    file_summary,
    finite_or_null,
    note_lines,
    wrapped,
    write_answer,
    write_page,
)
from mercer.cli.common_options import DataOptions, expanded
from mercer.cli.exits import DIFFER, Refused, WrongUse, guarded
from mercer.cli.independence import Given, X, Y
from mercer.cli.match import FileSample, matched
from mercer.cli.table import quoted, short
from mercer.cli.variables import Question, select
from mercer.htest.conditional.conditional_information import (
    ConditionalMutualInformation,
    TransferEntropy,
)
from mercer.htest.corrections import Holm, resolution_caution
from mercer.htest.dependence.mutual_information_test import MutualInformation
from mercer.htest.nulls import Permutation
from mercer.info import estimate, mutual_information, transfer_entropy
from mercer.kernels.take import taken
from mercer.report.information_page import information_page

_SCHEMA = "mercer/command/information/1"
_MIN_ROWS = 12
_MIN_ROWS_FOR_INTERVAL = 150  # ten subsamples of fifteen
_MAX_ROWS_OF_TEST = 2000  # a permutation of them takes ten milliseconds
_FEWEST_RESAMPLES = 199  # of every pair
_PROMISING = 0.05  # p-values up to this are found again with all resamples
_PAIRS_SHOWN = 12

Lags = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Rows are in the order of time: the transfer entropy of this many earlier rows.",
    ),
]


@guarded
@expanded
def information(
    data: options.Only,
    chosen: DataOptions,
    x: X = None,
    y: Y = None,
    given: Given = None,
    lags: Lags = None,
    level: options.Level = 0.05,
    json_to: options.Json = None,
    report: options.Report = None,
    gate: options.Gate = False,
) -> None:
    """Estimate the mutual information of columns, with p-values and 95% intervals.

    With --x and --y: of these (given --given). Without: of every pair of columns. With --lags: the transfer entropy
    from the first to the second, of every ordered pair. Values are in nats; p-values are corrected for all pairs.
    Exit codes: 0 done, 1 some tell about each other (with --gate), 2 wrong use, 3 data refused, 4 over the
    memory limit, 5 a bug, 130 interrupted.
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
    with mercer.config(**chosen.settings):
        rejected = _answer(data, chosen, Question(*names), lags, level, json_to, report)
    if gate and rejected:
        raise typer.Exit(DIFFER)


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

    @property
    def name(self) -> str:
        """The pair, for a line of a table."""
        return f"{short(self.first, 24)} and {short(self.second, 24)}"


def _answer(
    data: str,
    chosen: DataOptions,
    question: Question,
    lags: int | None,
    level: float,
    json_to: Any,
    report: Path | None,
) -> bool:
    """Estimate, test and write; whether any pair is informative."""
    started, notes = perf_counter(), []
    files = list(chosen.read(data, columns=question.columns))
    (sample,) = matched(files, chosen.missing, notes, _MIN_ROWS)
    pairs = [*_pairs(sample, question, lags)]
    resamples = chosen.resamples or max(_FEWEST_RESAMPLES, 2 * ceil(len(pairs) / level) - 1)
    cautions = resolution_caution(Holm(), len(pairs), resamples, level, "pairs")
    told = _corrected([_told(pair, lags, resamples, chosen.seed) for pair in pairs])
    if len(sample.points) > _MAX_ROWS_OF_TEST and not lags:
        notes.append(f"p-values use {_MAX_ROWS_OF_TEST:,} rows; the estimates use all")
    document = {
        **_measured(question, lags),
        "level": level,
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
        lambda: "\n".join([*cautions, _text(told, question, lags, level, notes)]),
        perf_counter() - started,
    )
    if report is not None:
        lists = {"x": question.x, "y": question.y, "given": question.given}
        command = chosen.line("information", [data], lists, lags=lags, level=f"{level:g}")
        _write_report(report, told, document, command)
    return any(t.corrected <= level for t in told)


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


def _told(pair: tuple[str, str, list[Any]], lags: int | None, resamples: int, seed: int) -> Told:
    """Estimate with its interval, and p-value, of one pair."""
    first, second, variables = pair
    function: Any = transfer_entropy if lags else mutual_information
    more = {"lags": lags} if lags else {}
    if len(variables) == 3:
        more = {"given": variables[2]}
    n, low, high = len(variables[0]), None, None
    if n >= _MIN_ROWS_FOR_INTERVAL * (lags + 1 if lags else 1):
        result = estimate(function, *variables[:2], **more)
        nats, (low, high) = result.value, result.interval
    else:
        nats = function(*variables[:2], **more)
    if n > _MAX_ROWS_OF_TEST and not lags:
        rows = np.random.default_rng(seed).permutation(n)[:_MAX_ROWS_OF_TEST]
        variables = [taken(v, np.sort(rows)) for v in variables]
    return Told(first, second, nats, low, high, _pvalue(variables, lags, resamples, seed))


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


def _text(
    told: Sequence[Told], question: Question, lags: int | None, level: float, notes: Sequence[str]
) -> str:
    """A sentence, and a table of the pairs with the most information."""
    many = sum(t.corrected <= level for t in told)
    what = "Transfer entropy" if lags else "Mutual information"
    given = f" given {quoted(question.given)}" if question.given else ""
    verdict = f"{what}{given}: {many} of {len(told)} pairs tell about each other (level {level:g})."
    shown = sorted(told, key=lambda t: -t.nats)[:_PAIRS_SHOWN]
    width = max(4, *(len(t.name) for t in shown))
    lines = [f"  {'pair':{width}}  nats     95% interval      corrected p"]
    for t in shown:
        between = "-" if t.low is None or t.high is None else f"{t.low:.3f} to {t.high:.3f}"
        star = " *" if t.corrected <= level else ""
        lines.append(f"  {t.name:{width}}  {t.nats:<7.3f}  {between:16}  {t.corrected:.3g}{star}")
    if len(told) > _PAIRS_SHOWN:
        lines.append(f"  and {len(told) - _PAIRS_SHOWN:,} more")
    return "\n".join([bold(wrapped(verdict)), "", *lines, *note_lines(notes)])
