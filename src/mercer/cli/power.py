"""`mercer power`: how likely a study is to find a difference like that of two files, by its size."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

import mercer
from mercer.cli import options
from mercer.cli.answer import called, plain
from mercer.cli.common_options import Asked, expanded
from mercer.cli.exits import Refused, WrongUse, guarded, say, tell
from mercer.cli.match import matched
from mercer.cli.options import TestName
from mercer.cli.test_registry import Choice
from mercer.cli.two_sample_terminal import wrapped

SCHEMA = "mercer/command/power/1"
_WIDTH = 40  # letters of the longest bar

Sizes = Annotated[
    str | None,
    typer.Option(
        "--sizes", metavar="N,N,...", help="Rows in the first file; around the answer if left out."
    ),
]
Target = Annotated[float, typer.Option(callback=options.probability, help="The power wanted.")]
Runs = Annotated[
    int | None,
    typer.Option(min=10, help="Simulated studies for each size; a formula if left out (mmd only)."),
]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Draw the curve: .png, .svg or .pdf.")
]


@guarded
@expanded
def power(
    a: options.First,
    b: options.Second,
    asked: Asked,
    level: options.Level = 0.05,
    target: Target = 0.8,
    sizes: Sizes = None,
    runs: Runs = None,
    json_to: options.Json = None,
    plot: Plot = None,
) -> None:
    """How many rows does it take to find a difference like that of these two files?

    The files are a pilot: studies of other sizes are imagined that differ as they do.
    """
    if target <= level:
        raise WrongUse(f"--target {target:g} must be above --level {level:g}")
    wanted_sizes = _sizes(sizes)
    options.one_pipe([a, b])
    options.writable(json_to, plot, inputs=(a, b))
    options.drawable(*(() if plot is None else ("matplotlib",)))
    with mercer.config(**asked.settings):
        started, notes = perf_counter(), []
        first, second = matched(list(asked.samples(a, b)), asked.missing, notes)
        answer = _answer(asked.choice, first, second, level, target, wanted_sizes, runs, notes)
        elapsed = perf_counter() - started
    for note in notes:
        say(f"note: {note}")
    _write(answer, (first.name, second.name), level, asked.seed, elapsed, json_to, plot)


def _sizes(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        found = sorted({int(part) for part in text.split(",")})
    except ValueError:
        raise WrongUse(f"--sizes must be whole numbers such as 50,100,200, got {text!r}") from None
    if found[0] < 2:
        raise WrongUse(f"--sizes must be at least 2, got {found[0]}")
    return found


def _answer(
    chosen: Choice,
    first: Any,
    second: Any,
    level: float,
    target: float,
    sizes: list[int] | None,
    runs: int | None,
    notes: list[str],
) -> Any:
    """A `SampleSize`, or a `PowerCurve` where the sizes are given."""
    from mercer.htest.samples.mmd import MMD
    from mercer.htest.samples.power import power as curve_of
    from mercer.htest.samples.power import sample_size

    if chosen.name is TestName.AUTO:
        x, y, test = first.points, second.points, chosen.quadratic(first, second)
        notes.append(
            "the kernel is the one that sees the difference of these files best; chosen on the "
            "same files, it makes the answer a little optimistic"
        )
    else:
        x, y, test = chosen.plain(first, second)
    runs = 200 if runs is None and not isinstance(test, MMD) else runs
    how = {"level": level, "rng": chosen.seed, "asymptotic": runs is None}
    how |= {} if runs is None else {"runs": runs}
    if sizes is not None:
        return curve_of(test, x, y, n=sizes, **how)
    try:
        return sample_size(test, x, y, power=target, **how)
    except ValueError as problem:
        raise Refused(str(problem)) from None


def _write(
    answer: Any,
    names: tuple[str, str],
    level: float,
    seed: int,
    elapsed: float,
    json_to: str | None,
    plot: Path | None,
) -> None:
    if json_to is not None:
        document = {
            "schema": SCHEMA,
            "mercer": mercer.__version__,
            "files": list(names),
            "level": level,
            "seed": seed,
            **answer.to_dict(),
            "elapsed_seconds": round(elapsed, 3),
        }
        text = json.dumps(plain(document), indent=2, allow_nan=False)
        tell(text) if json_to == "-" else options.write(json_to, text + "\n")
    if json_to != "-":
        tell(_words(answer, called(names)))
    if plot is not None:
        from mercer.plot.svg import save_figure

        try:
            save_figure(lambda ax: answer.plot(ax), plot)
        except ValueError:
            raise WrongUse(f"{plot}: a picture is called .png, .svg or .pdf") from None
        say(f"The picture is in {plot}")


def _words(answer: Any, names: Sequence[str]) -> str:
    """How many rows are needed, and the curve in bars."""
    curve = getattr(answer, "curve", answer)
    lines = []
    if curve is not answer:
        low, high = answer.interval
        open_ = f"{low:,.0f} to {high:,.0f}" if high < 1e15 else f"{low:,.0f} or more"
        lines.append(
            wrapped(
                f"To find a difference like that of {names[0]} and {names[1]} with probability "
                f"{answer.power:.0%}, about {answer.n:,} rows of each are needed ({open_}, as far "
                "as the files tell)."
            )
        )
    else:
        lines.append(f"The power of studies that differ as {names[0]} and {names[1]} do:")
    rows = zip(curve.sizes, curve.power, curve.low, curve.high, strict=True)
    lines += ["", "  rows       power"]
    for (n, _), share, low, high in rows:
        full = "█" * round(_WIDTH * share)
        lines.append(f"  {n:<9,}  {share:4.0%}  {full:{_WIDTH}}  {low:.0%} to {high:.0%}")
    test = type(curve.test).__name__
    lines += ["", f"  {test} at level {curve.level:g}; on the right what the files leave open."]
    return "\n".join(lines)
