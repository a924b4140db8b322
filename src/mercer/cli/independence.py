"""`mercer independence`: do columns of a file depend on each other, and where?"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

import mercer
from mercer.cli import options
from mercer.cli.answer import columns_of, file_of, plain
from mercer.cli.common_options import Data, expanded
from mercer.cli.exits import DIFFER, Refused, WrongUse, guarded, say, tell
from mercer.cli.independence_terminal import told, told_pairs
from mercer.cli.match import Sample, matched
from mercer.cli.variables import IndependenceChoice, IndependenceName, Question, part
from mercer.htest.dependence.all_pairs import PairwiseResult, pairwise_independence
from mercer.htest.dependence.dependence_result import IndependenceResult
from mercer.htest.dependence.hsic import HSIC
from mercer.htest.dependence.strength import Strength
from mercer.htest.nulls import Permutation

SCHEMA, PAIRS = "mercer/command/independence/1", "mercer/command/pairs/1"
_MOST = 10_000  # rows of which all pairs are looked at
_WIDE = 60  # columns of which all pairs are tested beside the question itself

Variables = Annotated[
    list[str] | None, typer.Option(help="Columns: a,b,c, or the option several times.")
]
Test = Annotated[IndependenceName, typer.Option(help="The test; auto chooses by the data.")]


@dataclass(frozen=True)
class Answer:
    """A result, and what it says when it is asked."""

    sample: Sample
    question: Question
    result: IndependenceResult
    strength: Strength | None
    pairs: PairwiseResult | None
    level: float
    seed: int
    notes: tuple[str, ...]

    @property
    def dependent(self) -> bool:
        """Whether the variables depend on each other, at the level asked for."""
        return self.result.rejects(self.level)

    def at_least(self, effect: float | None) -> bool:
        """Whether they do, with at least this kernel correlation."""
        strong = effect is None or self.strength is None or self.strength.correlation >= effect
        return self.dependent and strong

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only; the same for the same file and the same seed."""
        document = {
            "schema": SCHEMA,
            "mercer": mercer.__version__,
            "dependent": self.dependent,
            "level": self.level,
            "pvalue": self.result.pvalue,
            "correlation": None if self.strength is None else self.strength.correlation,
            "seed": self.seed,
            "file": file_of(self.sample),
            "x": list(self.question.x),
            "y": list(self.question.y),
            "given": list(self.question.given),
            "columns": columns_of(self.sample),
            "result": {**self.result.thinned(_MOST).to_dict(), "size": self.result.size},
            "pairs": None if self.pairs is None else self.pairs.to_dict(),
            "remarks": list(self.notes),
        }
        return plain(document)


@guarded
@expanded
def independence(
    data: options.Only,
    asked: Data,
    x: Variables = None,
    y: Variables = None,
    given: Variables = None,
    test: Test = IndependenceName.AUTO,
    level: options.Level = 0.05,
    json_to: options.Json = None,
    report: options.Report = None,
    gate: options.Gate = False,
    min_effect: options.MinCorrelation = None,
) -> None:
    """Do columns of a file depend on each other, perhaps given others, and where?

    With --x and --y: are these independent (given --given)? Without: every two columns.
    Exit codes: 0 done, 1 they depend on each other (with --gate), 2 wrong use,
    3 data refused, 4 over the memory limit, 5 a bug, 130 interrupted.
    """
    options.gated(gate, min_effect)
    options.writable(json_to, report, inputs=(data,))
    options.drawable(*(() if report is None else ("matplotlib", "jinja2")))
    names = [options.listed(x), options.listed(y), options.listed(given)]
    with mercer.config(**asked.settings):
        if names[0] and names[1]:
            choice = IndependenceChoice(
                test, asked.kernel, asked.bandwidth, asked.resamples, asked.seed
            )
            found = _asked(data, asked, choice, Question(*names), level, json_to, report)
            rejected = found.at_least(min_effect)
        elif any(names) or report or min_effect or test is not IndependenceName.AUTO:
            raise WrongUse("--x and --y go together; other options than --level need them")
        else:
            rejected = _pairs(data, asked, level, json_to)
    if gate and rejected:
        raise typer.Exit(DIFFER)


def _asked(
    data: str,
    asked: Data,
    choice: IndependenceChoice,
    question: Question,
    level: float,
    json_to: str | None,
    report: Path | None,
) -> Answer:
    """One question, answered and written."""
    started, notes = perf_counter(), []
    (sample,) = matched(list(asked.read(data, columns=question.columns)), asked.missing, notes, 4)
    variables = question.variables(sample)
    result = choice.run(variables)
    some = result.thinned(_MOST)
    if some is not result:
        notes.append(f"the strength comes from {some.size:,} rows, the verdict from all")
    answer = Answer(
        sample, question, result, some.effect() if result.two else None,
        _columns(sample, question, choice.seed), level, choice.seed, tuple(notes),
    )  # fmt: skip
    write_answer(json_to, answer.to_dict(), told(answer), started)
    if report is not None:
        lists = {"x": question.x, "y": question.y, "given": question.given}
        named = None if choice.test is IndependenceName.AUTO else choice.test
        again = asked.line("independence", [data], lists, test=named, level=f"{level:g}")
        _draw(answer, variables, report, again)
    return answer


def _columns(sample: Sample, question: Question, seed: int) -> PairwiseResult | None:
    """Every two columns of the variables, where there are more than two of them."""
    names = (*question.x, *question.y)
    if not 2 < len(names) <= _WIDE or sample.array:
        return None
    return pairwise_independence(part(sample, names), rng=seed)


def _pairs(data: str, asked: Data, level: float, json_to: str | None) -> bool:
    """Every two columns of the file, tested and written."""
    if asked.kernel is not None or asked.bandwidth is not None:
        raise WrongUse("--kernel and --bandwidth need --x and --y")
    started, notes = perf_counter(), []
    (sample,) = matched(list(asked.read(data)), asked.missing, notes, 4)
    if len(sample.columns) < 2:
        raise Refused(f"{sample.name}: one column; at least two are needed")
    test = None if asked.resamples is None else HSIC(null=Permutation(asked.resamples))
    found = pairwise_independence(sample.points, test=test, rng=asked.seed)
    document = {
        "schema": PAIRS,
        "mercer": mercer.__version__,
        "level": level,
        "seed": asked.seed,
        "file": file_of(sample),
        "columns": columns_of(sample),
        "result": found.to_dict(),
        "remarks": notes,
    }
    write_answer(json_to, plain(document), told_pairs(found, level), started)
    return bool(found.dependent(level))


def write_answer(json_to: str | None, document: dict[str, Any], words: str, started: float) -> None:
    """Words on stdout, or JSON."""
    if json_to is not None:
        document = {**document, "elapsed_seconds": round(perf_counter() - started, 3)}
        text = json.dumps(document, indent=2, allow_nan=False)
        tell(text) if json_to == "-" else options.write(json_to, text + "\n")
    if json_to != "-":
        tell(words)


def _draw(answer: Answer, variables: list[Any], report: Path, again: str) -> None:
    from mercer.report import independence_report

    text = independence_report(
        answer.result,
        level=answer.level,
        pairs=answer.pairs,
        samples=variables,
        facts={"seed": str(answer.seed)},
        notes=answer.notes,
        again=again,
        numbered=not answer.sample.dropped,
    )
    options.write(report, text)
    say(f"The report is in {report}")
