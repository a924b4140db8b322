"""`mercer two-sample`: do two files hold samples of the same distribution, and where do they differ?"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from time import perf_counter

import typer

import mercer
from mercer.cli import options
from mercer.cli.chosen import Choice
from mercer.cli.exits import DIFFER, WrongUse, guarded, say, tell
from mercer.cli.findings import Findings, found
from mercer.cli.match import Missing, matched
from mercer.cli.options import TestName
from mercer.cli.read import read
from mercer.cli.table import Wanted
from mercer.cli.words import told


@guarded
def two_sample(
    a: options.First,
    b: options.Second,
    test: options.Test = TestName.AUTO,
    kernel: options.Kernel_ = None,
    bandwidth: options.Bandwidth = None,
    level: options.Level = 0.05,
    resamples: options.Resamples = None,
    seed: options.Seed = 0,
    columns: options.Columns = None,
    categories: options.Categories = None,
    missing: options.MissingValues = None,
    json_to: options.Json = None,
    report: options.Report = None,
    memory: options.Memory = None,
    gate: options.Gate = False,
    min_effect: options.MinEffect = None,
) -> None:
    """Do two files hold samples of the same distribution, and where do they differ?

    Exit codes: 0 done, 1 the samples differ (with --gate), 2 wrong use, 3 data refused, 4 over the
    memory limit, 5 a bug, 130 interrupted.
    """
    if min_effect is not None and not gate:
        raise WrongUse("--min-effect says when --gate closes: give --gate too")
    chosen = Choice(test, kernel, bandwidth, resamples, seed)
    wanted = options.wanted(columns, categories)
    options.writable(json_to, report)
    options.drawable(*(() if report is None else ("matplotlib", "jinja2")))
    with mercer.config(**options.settings(memory)):
        started = perf_counter()
        findings = compared(a, b, chosen, wanted, missing, level)
        elapsed = perf_counter() - started
        again = _again(a, b, chosen, wanted, missing, level, memory)
        write_results(findings, elapsed, json_to, report, again)
    if gate and findings.at_least(min_effect):
        raise typer.Exit(DIFFER)


def compared(
    a: str,
    b: str,
    chosen: Choice,
    wanted: Wanted,
    missing: Missing | None,
    level: float,
) -> Findings:
    """Read both files, test them, and ask where they differ."""
    options.one_pipe([a, b])
    notes: list[str] = []
    files = [read(path, wanted, progress=options.on_terminal()) for path in (a, b)]
    first, second = matched(files, missing, notes)
    result = chosen.run(first, second, notes)
    return found((first, second), result, level, chosen.seed, notes)


def write_results(
    found: Findings, elapsed: float, json_to: str | None, report: Path | None, again: str
) -> None:
    """Words on stdout, or JSON; a report where one is wanted."""
    if json_to is not None:
        document = {**found.to_dict(), "elapsed_seconds": round(elapsed, 3)}
        text = json.dumps(document, indent=2, allow_nan=False)
        tell(text) if json_to == "-" else options.write(json_to, text + "\n")
    if json_to != "-":
        tell(told(found))
    if report is not None:
        from mercer.report import two_sample_report

        text = two_sample_report(
            found.result,
            names=found.names,
            level=found.level,
            features=found.features,
            facts={"seed": str(found.seed)},
            notes=found.notes,
            again=again,
            numbered=found.numbered,
        )
        options.write(report, text)
        say(f"The report is in {report}")


def _again(
    a: str,
    b: str,
    chosen: Choice,
    wanted: Wanted,
    missing: Missing | None,
    level: float,
    memory: str | None,
) -> str:
    """The line that runs it again."""
    given = {
        "--test": None if chosen.test is TestName.AUTO else str(chosen.test),
        "--kernel": chosen.kernel,
        "--bandwidth": chosen.bandwidth,
        "--level": f"{level:g}",
        "--resamples": chosen.resamples,
        "--seed": chosen.seed,
        "--missing": missing,
        "--memory": memory,
    }
    words = ["mercer", "two-sample", a, b]
    for option, names in (
        ("--columns", wanted.columns),
        ("--categories", sorted(wanted.categories)),
    ):
        words += [word for name in names for word in (option, name)]
    words += [
        str(w) for option, value in given.items() if value is not None for w in (option, value)
    ]
    return shlex.join(words)
