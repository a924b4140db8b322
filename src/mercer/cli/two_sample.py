"""`mercer two-sample`: do two files hold samples of the same distribution, and where do they differ?"""

from __future__ import annotations

import json
from pathlib import Path
from time import perf_counter

import typer

import mercer
from mercer.cli import options
from mercer.cli.answer import Findings, found
from mercer.cli.common_options import Asked, expanded
from mercer.cli.exits import DIFFER, guarded, say, tell
from mercer.cli.match import matched
from mercer.cli.two_sample_terminal import told


@guarded
@expanded
def two_sample(
    a: options.First,
    b: options.Second,
    asked: Asked,
    level: options.Level = 0.05,
    json_to: options.Json = None,
    report: options.Report = None,
    gate: options.Gate = False,
    min_effect: options.MinEffect = None,
) -> None:
    """Do two files hold samples of the same distribution, and where do they differ?

    Exit codes: 0 done, 1 the samples differ (with --gate), 2 wrong use,
    3 data refused, 4 over the memory limit, 5 a bug, 130 interrupted.
    """
    options.gated(gate, min_effect)
    options.one_pipe([a, b])
    options.writable(json_to, report, inputs=(a, b))
    options.drawable(*(() if report is None else ("matplotlib", "jinja2")))
    with mercer.config(**asked.settings):
        started = perf_counter()
        findings = compared(a, b, asked, level)
        elapsed = perf_counter() - started
        again = asked.again("two-sample", (a, b), level=f"{level:g}")
        write_results(findings, elapsed, json_to, report, again)
    if gate and findings.at_least(min_effect):
        raise typer.Exit(DIFFER)


def compared(a: str, b: str, asked: Asked, level: float) -> Findings:
    """Read both files, test them, and ask where they differ."""
    notes: list[str] = []
    first, second = matched(list(asked.samples(a, b)), asked.missing, notes)
    result = asked.choice.run(first, second, notes)
    return found((first, second), result, level, asked.seed, notes)


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
