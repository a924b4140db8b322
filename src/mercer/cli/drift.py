"""`mercer drift`: batches against a reference, one by one, with the false-discovery rate controlled."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from time import perf_counter
from typing import Annotated, Any

import typer

import mercer
from mercer.cli import options
from mercer.cli.answer import Findings, called, found
from mercer.cli.common_options import Asked, expanded
from mercer.cli.exits import DIFFER, guarded, say, tell
from mercer.cli.match import Missing, matched
from mercer.cli.table import File, short
from mercer.cli.test_registry import Choice

SCHEMA = "mercer/command/drift/1"

Reference = Annotated[str, typer.Argument(metavar="REF", help="The file to compare with.")]
Batches = Annotated[list[str], typer.Argument(metavar="CUR", help="One or more batches.")]
Rate = Annotated[
    float,
    typer.Option(
        "--level",
        callback=options.probability,
        help="False-discovery rate: the expected share of false alarms among the alarms.",
    ),
]


@dataclass(frozen=True)
class Batch:
    """What was found about one batch, its p-value corrected for the number of batches."""

    found: Findings
    corrected: float

    def drifted(self, level: float, effect: float | None = None) -> bool:
        """Whether it differs from the reference, by at least this standardized distance."""
        return self.corrected <= level and self.found.effect.standardized >= (effect or 0.0)

    def columns(self, level: float) -> str:
        """The columns that differ, those that differ most first."""
        if self.found.features is None:
            return ""
        names = [short(f.name, 24) for f in self.found.features.differing(level)]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return ", ".join(names[:3]) + more


@guarded
@expanded
def drift(
    reference: Reference,
    batches: Batches,
    asked: Asked,
    level: Rate = 0.05,
    json_to: options.Json = None,
    gate: options.Gate = False,
    min_effect: options.MinEffect = None,
) -> None:
    """Test batches against a reference, one by one; false alarms are kept few among the alarms.

    P-values are corrected by the method of Benjamini and Hochberg.
    Exit codes: those of two-sample; with --gate 1 when a batch differs.
    """
    options.gated(gate, min_effect)
    options.one_pipe([reference, *batches])
    options.writable(json_to, inputs=(reference, *batches))
    with mercer.config(**asked.settings):
        started, notes = perf_counter(), []
        chosen = asked.choice.with_at_least(ceil(4 * len(batches) / level) - 1)
        base, *_ = asked.samples(reference)
        results = [
            _compared(base, batch, chosen, asked.missing, level, notes)
            for batch in asked.samples(*batches)
        ]
        judged = _corrected(results)
        elapsed = perf_counter() - started
    for note in dict.fromkeys(notes):
        say(f"note: {note}")
    _write(reference, judged, level, asked.seed, elapsed, json_to)
    if gate and any(batch.drifted(level, min_effect) for batch in judged):
        raise typer.Exit(DIFFER)


def _compared(
    base: File,
    batch: File,
    chosen: Choice,
    missing: Missing | None,
    level: float,
    notes: list[str],
) -> Findings:
    own: list[str] = []
    first, second = matched([base, batch], missing, own)
    result = chosen.run(first, second, own)
    notes += own
    return found((first, second), result, level, chosen.seed, own)


def _corrected(results: Sequence[Findings]) -> list[Batch]:
    from mercer.htest.corrections import BenjaminiHochberg

    corrected = BenjaminiHochberg().adjusted([found.result.pvalue for found in results])
    return [Batch(found, float(p)) for found, p in zip(results, corrected, strict=True)]


def _write(
    reference: str,
    judged: Sequence[Batch],
    level: float,
    seed: int,
    elapsed: float,
    json_to: str | None,
) -> None:
    if json_to is not None:
        document = {
            "schema": SCHEMA,
            "mercer": mercer.__version__,
            "reference": reference,
            "level": level,
            "correction": "Benjamini-Hochberg",
            "seed": seed,
            "drifted": [b.found.samples[1].name for b in judged if b.drifted(level)],
            "batches": [_told(batch, level) for batch in judged],
            "elapsed_seconds": round(elapsed, 3),
        }
        text = json.dumps(document, indent=2, allow_nan=False)
        tell(text) if json_to == "-" else options.write(json_to, text + "\n")
    if json_to != "-":
        tell(_words(judged, level))


def _told(batch: Batch, level: float) -> dict[str, Any]:
    return {
        "drifted": batch.drifted(level),
        "corrected_pvalue": batch.corrected,
        **batch.found.to_dict(),
    }


def _words(judged: Sequence[Batch], level: float) -> str:
    """How many batches differ, and a line for each."""
    number = sum(batch.drifted(level) for batch in judged)
    reference, *names = called(
        [judged[0].found.samples[0].name, *(batch.found.samples[1].name for batch in judged)]
    )
    differ = "differs" if number == 1 else "differ"
    head = f"{number} of {len(judged)} batches {differ} from {reference}"
    names = [short(name, 36) for name in names]
    width = max(5, *map(len, names))
    lines = [
        f"{head} (false-discovery rate {level:g}).",
        "",
        f"  {'batch':{width}}  rows      p        corrected  distance  differs  in",
    ]
    for name, batch in zip(names, judged, strict=True):
        found, drifted = batch.found, batch.drifted(level)
        lines.append(
            f"  {name:{width}}  {found.samples[1].rows:<8,}  {found.result.pvalue:<7.3g}  "
            f"{batch.corrected:<9.3g}  {found.effect.standardized:<8.2g}  "
            f"{'yes' if drifted else 'no':7}  {batch.columns(level) if drifted else ''}".rstrip()
        )
    return "\n".join(lines)
