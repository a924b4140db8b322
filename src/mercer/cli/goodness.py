"""`mercer goodness`: do the rows of a file come from a model, and where do they not?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, ClassVar

import numpy as np
import typer

import mercer
from mercer.cli import options
from mercer.cli.answer import (
    Answer,
    column_kinds,
    display_names,
    file_summary,
    known,
    listed_names,
    write_answer,
    write_report,
)
from mercer.cli.common_options import DataOptions, expanded
from mercer.cli.exits import DIFFER, Refused, guarded
from mercer.cli.goodness_choice import FitName, GoodnessChoice, GoodnessName, numeric_array
from mercer.cli.match import FileSample, matched
from mercer.cli.model_option import ChosenModel, model_maker, source_files
from mercer.cli.scipy_family import FitFamily, parameters
from mercer.cli.table import LabelColumn, quoted, short
from mercer.htest.format_number import figure
from mercer.htest.goodness.goodness_result import GoodnessResult, how_much
from mercer.htest.goodness.misfit import Misfit, MisfitColumn
from mercer.report import goodness_report
from mercer.report.affordable import MAX_ROWS_FOR_ALL_PAIRS
from mercer.rkhs import Gaussian, Mixture

_MAX_ROWS_BY_COLUMN = 2000  # all pairs of rows for each column, of which there may be 40
_MAX_COLUMNS_RANKED = 40
_MIN_ROWS = 8  # --fit half leaves four for the fit and four for the test
_LOCATIONS_SHOWN = 3
_ROWS_SHOWN = 5
_COLUMNS_SHOWN = 5

Model = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="gaussian, gmm:K (mixture of K Gaussians), a family of SciPy for one column (norm, gamma, "
        "lognorm, weibull_min, beta, t, ...), or module:function.",
    ),
]
Fit = Annotated[
    FitName,
    typer.Option(
        help="bootstrap: fit the model to all rows and refit it to every bootstrap sample; "
        "half: fit it to half of the rows and test the other half."
    ),
]
Chain = Annotated[
    bool,
    typer.Option("--chain", help="Rows are consecutive draws of a Markov chain or a time series."),
]
Test = Annotated[GoodnessName, typer.Option(help="Test to run; auto chooses one for the data.")]


@guarded
@expanded
def goodness(
    data: options.Only,
    chosen: DataOptions,
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
    """Test whether the rows of a file come from a model, and show where they do not.

    --model gaussian, gmm:K and families of SciPy are fitted to the rows;
    module:function is a Python function in the working directory that returns
    a score, a model, or a model fitted to the rows.
    Exit codes: 0 done, 1 the model does not fit (with --gate), 2 wrong use,
    3 data refused, 4 over the memory limit, 5 a bug, 130 interrupted.
    """
    options.check_gate(gate, min_effect)
    options.check_outputs(json_to, report, inputs=(data, *source_files(model)))
    options.check_report_packages(report)
    choice = GoodnessChoice(
        chosen.kernel, chosen.bandwidth, chosen.resamples, chosen.seed, False, test, fit, chain
    )
    names = options.column_names(columns)
    with mercer.config(**chosen.settings), model_maker(model, chosen.seed) as make_model:
        started, notes = perf_counter(), []
        files = list(chosen.read(data, columns=names))
        (sample,) = matched(files, chosen.missing, notes, min_rows=_MIN_ROWS, time_option=False)
        _refuse_labels(sample)
        answer = _answer(sample, make_model(numeric_array(sample.points)), choice, level, notes)
        write_answer(json_to, answer.to_dict, answer.text, perf_counter() - started)
        if report is not None:
            named_test = None if test is GoodnessName.AUTO else test
            flags = {"model": model, "fit": answer.fit, "test": named_test, "level": f"{level:g}"}
            command = chosen.line("goodness", [data], {"columns": names}, **flags)
            _write_goodness_report(answer, report, command + (" --chain" if chain else ""))
    if gate and answer.at_least(min_effect):
        raise typer.Exit(DIFFER)


@dataclass(frozen=True)
class GoodnessAnswer(Answer[GoodnessResult]):
    """Result of a goodness-of-fit test, the size of the misfit, and the columns it is in."""

    schema: ClassVar[str] = "mercer/command/goodness/1"
    verdict_key: ClassVar[str] = "misfit"
    caution: ClassVar[str] = (
        "This does not prove the model is right, only that the test found no misfit."
    )

    sample: FileSample
    model: ChosenModel
    fit: FitName | None  # None: the model was not fitted
    thinned: GoodnessResult  # the result on a subset of the rows of large samples
    misfit: Misfit
    misfit_by_column: tuple[MisfitColumn, ...]  # if there are several columns

    @property
    def effect_size(self) -> float | None:
        """How often a classifier tells observations from draws; else the relative discrepancy."""
        return known(self.misfit.unitless)

    def details(self) -> dict[str, Any]:
        """File, model with its fitted parameters, columns and result."""
        return {
            "file": file_summary(self.sample),
            "model": {
                "name": self.model.name,
                "fit": None if self.fit is None else str(self.fit),
                "parameters": _parameters(self.result.model),
            },
            "columns": column_kinds(self.sample),
            "result": {**self.thinned.to_dict(), "size": self.result.size},
            "misfit_by_column": [column.to_dict() for column in self.misfit_by_column] or None,
        }

    def verdict(self) -> str:
        """Whether the model fits, with the p-value."""
        p = f"(p = {self.result.pvalue:.3g}, level {self.level:g})"
        model, name = short(self.model.description, 80), self.sample.name
        if not self.rejected:
            return f"No misfit was found between {name} and {model} {p}."
        family = ", whatever its parameters" if self.fit is FitName.BOOTSTRAP else ""
        return f"{name} does not come from {model}{family} {p}."

    def facts(self) -> list[tuple[str, str]]:
        """Sizes of the data, model, size and places of the misfit, and test."""
        return [
            ("Data", self._data()),
            ("Model", self._model()),
            ("How much", how_much(self.result, self.misfit)),
            *self._where(),
            ("Test", self.test_description()),
        ]

    def test_description(self) -> str:
        """Test, null distribution and seed; a bootstrap that refits names the test inside it."""
        if not self.result.fitted_here:
            return super().test_description()
        test, inner = type(self.result.test).__name__, type(self.result.tested).__name__
        return f"{test} by {inner}, {self.result.null_in_words()}, seed {self.seed}"

    def _data(self) -> str:
        columns, tested = len(self.sample.columns), self.result.size
        subset = "" if tested == self.sample.rows else f", {tested:,} of them tested"
        return f"{self.sample.rows:,} rows, {columns:,} column{'s' * (columns > 1)}{subset}"

    def _model(self) -> str:
        how = {
            None: "not fitted to these rows",
            FitName.BOOTSTRAP: "fitted to these rows; p-value by parametric bootstrap with refitting",
            FitName.HALF: "fitted to half of the rows; the other half tested",
        }[self.fit]
        values = _parameters(self.result.model) if isinstance(self.model.fit, FitFamily) else None
        listed = ", ".join(f"{name} = {figure(v)}" for name, v in (values or {}).items())
        return f"{self.model.description}, {how}{': ' if listed else ''}{listed}"

    def _where(self) -> list[tuple[str, str]]:
        """Locations, columns and rows of a misfit."""
        if not self.rejected:
            return []
        places = []
        if self.result.places is not None:
            shown = self.result.locations()[:_LOCATIONS_SHOWN]
            places.append("; ".join(_location(place.coordinates) for place in shown))
        misfitting = [c for c in self.misfit_by_column if c.misfit.relative_interval.low > 0]
        if misfitting:
            names = listed_names([short(c.name) for c in misfitting], _COLUMNS_SHOWN)
            count = f"{len(misfitting)} of {len(self.misfit_by_column)}"
            places.append(f"{count} columns, given the others: {names}")
        if not self.sample.dropped:
            indices = self.thinned.points(_ROWS_SHOWN).indices
            rows = ", ".join(f"{int(i) + 1:,}" for i in indices)
            places.append(f"rows with the strongest evidence against it: {rows}")
        return [("Where", "; ".join(places))] if places else []


def _answer(
    sample: FileSample, model: ChosenModel, choice: GoodnessChoice, level: float, notes: list[str]
) -> GoodnessAnswer:
    """Test the model, and measure how much and where it does not fit."""
    result = choice.run(model, sample, notes)
    subset = result.thinned(MAX_ROWS_FOR_ALL_PAIRS)
    if subset is not result:
        notes.append(f"the size of the misfit uses {subset.size:,} rows; the test used more")
    by_column: tuple[MisfitColumn, ...] = ()
    if 1 < result.sample.width <= _MAX_COLUMNS_RANKED:
        by_column = result.thinned(_MAX_ROWS_BY_COLUMN).columns()
    fit = choice.fit if model.fit is not None else None
    return GoodnessAnswer(
        result, level, choice.seed, tuple(notes), sample, model, fit, subset, subset.effect(),
        by_column,
    )  # fmt: skip


def _write_goodness_report(answer: GoodnessAnswer, path: Path, command: str) -> None:
    write_report(
        path,
        goodness_report,
        answer,
        command,
        name=display_names([answer.sample.name])[0],
        model=answer.model.description,
        data=answer.sample.points,
        numbered=not answer.sample.dropped,
    )


def _refuse_labels(sample: FileSample) -> None:
    labels = [name for name, c in sample.columns.items() if isinstance(c, LabelColumn)]
    if labels:
        raise Refused(
            f"{sample.name}: models need numeric columns, got labels in {quoted(labels)}: select "
            "others with --columns"
        )


def _parameters(model: Any) -> dict[str, Any] | None:
    """Parameters of a Gaussian, a mixture or a distribution of SciPy; None for other models."""
    if isinstance(model, Gaussian):
        return {"mean": model.mean.tolist(), "covariance": model.cov.tolist()}
    if isinstance(model, Mixture):
        components = [_parameters(component) for component in model.parts]
        return {"weights": np.asarray(model.weights).tolist(), "parts": components}
    return parameters(model) if type(model).__name__ == "rv_continuous_frozen" else None


def _location(coordinates: Any) -> str:
    values = [f"{short(name, 24)} = {figure(v)}" for name, v in coordinates.items()]
    return f"near {', '.join(values[:6])}"
