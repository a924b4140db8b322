"""`mercer power`: how likely a study is to find a difference like that of two files, by its size."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import filterfalse
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

import mercer
from mercer.cli import options
from mercer.cli.answer import (
    display_names,
    finite_or_null,
    is_caution,
    wrapped,
    write_answer,
    write_page,
)
from mercer.cli.common_options import TwoSampleOptions, expanded
from mercer.cli.exits import Refused, WrongUse, guarded, say
from mercer.cli.match import FileSample, matched
from mercer.cli.test_names import TestName
from mercer.cli.test_registry import TwoSampleChoice
from mercer.htest.samples.mmd import MMD
from mercer.htest.samples.power import power as power_curve
from mercer.htest.samples.power import sample_size
from mercer.plot.svg import save_figure
from mercer.report import power_report

SCHEMA = "mercer/command/power/1"
_BAR_LENGTH = 40  # characters of a bar of power 1
_DEFAULT_RUNS = 200  # simulated studies: a power of 0.8 is known to within 0.06

Sizes = Annotated[
    str | None,
    typer.Option(
        "--sizes",
        metavar="N,N,...",
        help="Numbers of rows in the first file (default: sizes around the answer).",
    ),
]
Target = Annotated[
    float, typer.Option(callback=options.probability, help="Power the study should have.")
]
Runs = Annotated[
    int | None,
    typer.Option(
        min=10,
        help="Number of simulated studies per size (default: an asymptotic formula for mmd, "
        f"{_DEFAULT_RUNS} for other tests).",
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Draw the power curve: .png, .svg or .pdf."),
]


@guarded
@expanded
def power(
    a: options.First,
    b: options.Second,
    chosen: TwoSampleOptions,
    level: options.Level = 0.05,
    target: Target = 0.8,
    sizes: Sizes = None,
    runs: Runs = None,
    json_to: options.Json = None,
    plot: Plot = None,
    report: options.Report = None,
) -> None:
    """Estimate how many rows it takes to find a difference like that between two files.

    The files are a pilot study: larger and smaller studies are assumed to differ in the same way.
    """
    if target <= level:
        raise WrongUse(f"--target {target:g} must be above --level {level:g}")
    study_sizes = _parse_sizes(sizes)
    options.check_one_pipe([a, b])
    options.check_outputs(json_to, plot, report, inputs=(a, b))
    options.check_report_packages(report)
    options.check_packages(*(() if plot is None else ("matplotlib",)))
    with mercer.config(**chosen.settings):
        started, notes = perf_counter(), []
        first, second = matched([*chosen.samples(a, b)], chosen.missing, notes, time_option=False)
        answer = _estimate(chosen.choice, first, second, level, target, study_sizes, runs, notes)
        pilot = _pilot_cautions(chosen.choice, first, second, level, notes)
        seconds = perf_counter() - started
    for note in filterfalse(is_caution, notes):
        say(f"note: {note}")
    names = [first.name, second.name]
    write_answer(
        json_to,
        lambda: {**_document(answer, names, level, chosen.seed), "cautions": pilot},
        lambda: "\n".join([*map(wrapped, pilot), _text(answer, display_names(names))]),
        seconds,
    )
    if plot is not None:
        _draw(answer, plot)
    if report is not None:
        flags = {"level": f"{level:g}", "target": f"{target:g}", "sizes": sizes, "runs": runs}
        again = chosen.command_line("power", (a, b), **flags)
        _write_power_report(report, answer, (first, second), [*pilot, *notes], again)


def _write_power_report(
    path: Path,
    answer: Any,
    samples: tuple[FileSample, FileSample],
    notes: Sequence[str],
    again: str,
) -> None:
    """Write the power curve and the size that is needed as an HTML page."""
    first, second = samples
    page = power_report(
        answer,
        names=display_names([first.name, second.name]),
        facts={"pilot": f"{first.rows:,} and {second.rows:,} rows"},
        notes=[*dict.fromkeys(notes)],
        again=again,
    )
    write_page(path, page)


def _pilot_cautions(
    choice: TwoSampleChoice,
    first: FileSample,
    second: FileSample,
    level: float,
    notes: Sequence[str],
) -> list[str]:
    """Those of the notes, and one where the pilot itself shows no difference whose size could be trusted."""
    cautions = [*filter(is_caution, notes)]
    pvalue = choice.run(first, second, []).pvalue
    if pvalue <= level:
        return cautions
    return [
        f"Caution: the pilot shows no difference (p = {pvalue:.3g}, level {level:g}): the sizes below are "
        "for a difference that may be chance. See the intervals; they may have no upper end.",
        *cautions,
    ]


def _document(answer: Any, names: list[str], level: float, seed: int) -> dict[str, Any]:
    return finite_or_null(
        {
            "schema": SCHEMA,
            "mercer": mercer.__version__,
            "files": names,
            "level": level,
            "seed": seed,
            **answer.to_dict(),
        }
    )


def _parse_sizes(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        sizes = sorted({int(number) for number in text.split(",")})
    except ValueError:
        raise WrongUse(f"--sizes must be whole numbers such as 50,100,200, got {text!r}") from None
    if sizes[0] < 2:
        raise WrongUse(f"--sizes must be at least 2, got {sizes[0]}")
    return sizes


def _estimate(
    choice: TwoSampleChoice,
    first: FileSample,
    second: FileSample,
    level: float,
    target: float,
    sizes: list[int] | None,
    runs: int | None,
    notes: list[str],
) -> Any:
    """A `SampleSize`, or a `PowerCurve` where the sizes are given."""
    if choice.test_name is TestName.AUTO:
        x, y, test = first.points, second.points, choice.quadratic(first, second)
        notes.append(
            "The kernel is the one that separates these files best; it was selected on the same "
            "files, so the estimate is slightly optimistic"
        )
    else:
        x, y, test = choice.without_learning(first, second)
    runs = _DEFAULT_RUNS if runs is None and not isinstance(test, MMD) else runs
    how = {"level": level, "rng": choice.seed, "asymptotic": runs is None}
    how |= {} if runs is None else {"runs": runs}
    if sizes is not None:
        return power_curve(test, x, y, n=sizes, **how)
    try:
        return sample_size(test, x, y, power=target, **how)
    except ValueError as problem:
        names = " and ".join(display_names([first.name, second.name]))
        raise Refused(str(problem).replace("x and y, the pilot,", f"{names}, the pilot,")) from None


def _draw(answer: Any, path: Path) -> None:
    try:
        save_figure(lambda ax: answer.plot(ax), path)
    except ValueError:
        raise WrongUse(f"{path}: the name of a plot must end in .png, .svg or .pdf") from None
    say(f"Plot written to {path}")


def _text(answer: Any, names: Sequence[str]) -> str:
    """How many rows are needed, and the power curve in bars."""
    curve = getattr(answer, "curve", answer)
    lines = []
    if curve is not answer:
        low, high = answer.interval
        interval = f"{low:,.0f} to {high:,.0f}" if high < 1e15 else f"{low:,.0f} or more"
        lines.append(
            wrapped(
                f"To find a difference like that between {names[0]} and {names[1]} with probability "
                f"{answer.power:.0%}, about {answer.n:,} rows of each are needed (95% interval given "
                f"the size of the pilot: {interval})."
            )
        )
    else:
        lines.append(f"Power of studies that differ as {names[0]} and {names[1]} do:")
    rows = zip(curve.sizes, curve.power, curve.low, curve.high, strict=True)
    lines += ["", "  rows       power"]
    for (n, _), share, low, high in rows:
        bar = "█" * round(_BAR_LENGTH * share)
        lines.append(f"  {n:<9,}  {share:4.0%}  {bar:{_BAR_LENGTH}}  {low:.0%} to {high:.0%}")
    test = type(curve.test).__name__
    right = "Right: 95% interval given the size of the pilot."
    return "\n".join([*lines, "", f"  {test} at level {curve.level:g}. {right}"])
