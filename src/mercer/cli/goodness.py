"""`mercer goodness`: do the rows of a file come from a model, and where do they not?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

import mercer
from mercer.cli import options
from mercer.cli.answer import columns_of, file_of, plain
from mercer.cli.common_options import Data, expanded
from mercer.cli.exits import DIFFER, Refused, guarded, say
from mercer.cli.goodness_choice import FitName, GoodnessChoice, GoodnessName, numbers
from mercer.cli.goodness_terminal import told
from mercer.cli.independence import write_answer
from mercer.cli.match import Sample, matched
from mercer.cli.model_option import AskedModel, asked_model, source_files
from mercer.cli.table import Labels, quoted
from mercer.htest.goodness.goodness_result import GoodnessResult
from mercer.htest.goodness.misfit import Misfit
from mercer.htest.goodness.misfit_by_column import MisfitColumn
from mercer.rkhs import Gaussian, Mixture

SCHEMA = "mercer/command/goodness/1"
_MOST = 10_000  # rows of which all pairs are looked at
_SOME = 2000  # rows of which the columns are looked at one by one
_WIDEST = 40  # columns that are
_LEAST = 8  # rows

Model = Annotated[
    str,
    typer.Option(
        "--model", metavar="MODEL", help="gaussian, gmm:K (K Gaussians), or module:function."
    ),
]
Fit = Annotated[
    FitName,
    typer.Option(
        help="gaussian, gmm: fit all rows and every resample, or one half and test the other."
    ),
]
Chain = Annotated[
    bool,
    typer.Option("--chain", help="Rows are draws of a chain, in its order, or another series."),
]
Test = Annotated[GoodnessName, typer.Option(help="The test; auto chooses by the data.")]


@dataclass(frozen=True)
class Answer:
    """A result, and what it says when it is asked."""

    sample: Sample
    asked: AskedModel
    fit: FitName | None  # None: the model was given
    result: GoodnessResult
    some: GoodnessResult  # the same, on some rows of large samples
    misfit: Misfit
    off: tuple[MisfitColumn, ...]  # where there are several columns
    level: float
    seed: int
    notes: tuple[str, ...]

    @property
    def misfits(self) -> bool:
        """Whether the model does not fit, at the level asked for."""
        return self.result.rejects(self.level)

    def at_least(self, effect: float | None) -> bool:
        """Whether it does not, by at least this relative discrepancy."""
        return self.misfits and (effect is None or self.misfit.relative >= effect)

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only; the same for the same file and the same seed."""
        document = {
            "schema": SCHEMA,
            "mercer": mercer.__version__,
            "misfit": self.misfits,
            "level": self.level,
            "pvalue": self.result.pvalue,
            "relative_discrepancy": self.misfit.relative,
            "seed": self.seed,
            "file": file_of(self.sample),
            "model": {
                "name": self.asked.name,
                "fit": None if self.fit is None else str(self.fit),
                "parameters": _parameters(self.result.model),
            },
            "columns": columns_of(self.sample),
            "result": {**self.some.to_dict(), "size": self.result.size},
            "misfit_by_column": [column.to_dict() for column in self.off] or None,
            "remarks": list(self.notes),
        }
        return plain(document)


@guarded
@expanded
def goodness(
    data: options.Only,
    asked: Data,
    model: Model = "gaussian",
    fit: Fit = FitName.BOOTSTRAP,
    chain: Chain = False,
    test: Test = GoodnessName.AUTO,
    columns: options.Columns = None,
    level: options.Level = 0.05,
    json_to: options.Json = None,
    report: options.Report = None,
    gate: options.Gate = False,
    min_effect: options.MinMisfit = None,
) -> None:
    """Do the rows of a file come from a model, and where do they not?

    --model gaussian and gmm:K are fitted to the rows; module:function is a function of your own in
    the working directory: a score, a fit, or one that makes a model.
    Exit codes: 0 done, 1 the model does not fit (with --gate), 2 wrong use,
    3 data refused, 4 over the memory limit, 5 a bug, 130 interrupted.
    """
    options.gated(gate, min_effect)
    options.writable(json_to, report, inputs=(data, *source_files(model)))
    options.drawable(*(() if report is None else ("matplotlib", "jinja2")))
    choice = GoodnessChoice(
        test, fit, chain, asked.kernel, asked.bandwidth, asked.resamples, asked.seed
    )
    names = options.listed(columns)
    with mercer.config(**asked.settings), asked_model(model, asked.seed) as made:
        started, notes = perf_counter(), []
        (sample,) = matched(
            list(asked.read(data, columns=names)), asked.missing, notes, least=_LEAST
        )
        _refuse_labels(sample)
        answer = _answered(sample, made(_rows(sample)), choice, level, notes)
        write_answer(json_to, answer.to_dict(), told(answer), started)
        if report is not None:
            named = None if test is GoodnessName.AUTO else test
            fitted = fit if answer.fit is not None else None
            again = asked.line(
                "goodness", [data], {"columns": names}, model=model, fit=fitted, test=named,
                level=f"{level:g}",
            )  # fmt: skip
            _draw(answer, report, again + (" --chain" if chain else ""))
    if gate and answer.at_least(min_effect):
        raise typer.Exit(DIFFER)


def _answered(
    sample: Sample, asked: AskedModel, choice: GoodnessChoice, level: float, notes: list[str]
) -> Answer:
    result = choice.run(asked, sample, notes)
    some = result.thinned(_MOST)
    if some is not result:
        notes.append(
            f"the size of the misfit comes from {some.size:,} rows, the verdict from all that were tested"
        )
    fit = choice.fit if asked.fitted else None
    few = result.thinned(_SOME)
    off = few.columns() if 1 < few.sample.width <= _WIDEST else ()
    return Answer(
        sample, asked, fit, result, some, some.effect(), off, level, choice.seed, tuple(notes)
    )


def _rows(sample: Sample) -> np.ndarray:
    return numbers(sample.points)


def _refuse_labels(sample: Sample) -> None:
    labels = [name for name, held in sample.columns.items() if isinstance(held, Labels)]
    if labels:
        raise Refused(
            f"{sample.name}: labels are in {quoted(labels)}, and models are of numbers: choose "
            "others with --columns"
        )


def _parameters(model: Any) -> dict[str, Any] | None:
    """What was fitted, where that is known."""
    if isinstance(model, Gaussian):
        return {"mean": model.mean.tolist(), "covariance": model.cov.tolist()}
    if isinstance(model, Mixture):
        parts = [_parameters(part) for part in model.parts]
        return {"weights": np.asarray(model.weights).tolist(), "parts": parts}
    return None


def _draw(answer: Answer, report: Path, again: str) -> None:
    from mercer.report import goodness_report

    text = goodness_report(
        answer.result,
        model=answer.asked.words,
        level=answer.level,
        data=answer.sample.points,
        facts={"seed": str(answer.seed)},
        notes=answer.notes,
        again=again,
        numbered=not answer.sample.dropped,
    )
    options.write(report, text)
    say(f"The report is in {report}")
