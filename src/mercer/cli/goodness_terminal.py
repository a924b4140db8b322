"""What a goodness-of-fit test of a file found, in plain words for a terminal or a log."""

from __future__ import annotations

from typing import Any

from mercer.cli.goodness_choice import FitName
from mercer.cli.table import short
from mercer.cli.two_sample_terminal import bold, wrapped
from mercer.htest.format_number import figure
from mercer.htest.goodness.goodness_summary import how_much

_MOST = 3  # locations told
_ROWS = 5  # rows told
_COLUMNS = 5  # columns told


def told(answer: Any) -> str:
    """The verdict, how far the model is off, where, and by what test."""
    lines = [bold(wrapped(_verdict(answer)))]
    if not answer.misfits:
        caution = (
            "That does not show that the model is right: a misfit was looked for, and not found."
        )
        lines.append(wrapped(caution))
    rows = [
        ("Data", _data(answer)),
        ("Model", _model(answer)),
        ("How much", how_much(answer.result, answer.misfit)),
        *_where(answer),
        ("Test", _test(answer)),
    ]
    lines += ["", *(wrapped(text, f"  {title:10}", " " * 12) for title, text in rows)]
    notes = [*answer.notes, *answer.result.notes]
    told_notes = [wrapped(short(note, 240), "  Note: ", "        ") for note in notes]
    return "\n".join([*lines, *(["", *told_notes] if notes else [])])


def _verdict(answer: Any) -> str:
    p = f"(p = {answer.result.pvalue:.3g}, level {answer.level:g})"
    model, name = short(answer.asked.words, 80), answer.sample.name
    if answer.misfits and answer.fit is FitName.BOOTSTRAP:
        return f"{name} does not come from {model}, whatever its parameters {p}."
    if answer.misfits:
        return f"{name} does not come from {model} {p}."
    return f"No misfit was found between {name} and {model} {p}."


def _data(answer: Any) -> str:
    columns = len(answer.sample.columns)
    tested = answer.result.size
    some = "" if tested == answer.sample.rows else f", {tested:,} of them tested"
    return f"{answer.sample.rows:,} rows, {columns:,} column{'s' * (columns > 1)}{some}"


def _model(answer: Any) -> str:
    how = {
        None: "given",
        FitName.BOOTSTRAP: "fitted to these rows; p-value by parametric bootstrap with refitting",
        FitName.HALF: "fitted to half of the rows; the other half tested",
    }[answer.fit]
    return f"{answer.asked.words}, {how}"


def _where(answer: Any) -> list[tuple[str, str]]:
    """Of a misfit: locations, columns and rows."""
    if not answer.misfits:
        return []
    parts = []
    if answer.result.places is not None:
        shown = answer.result.locations()[:_MOST]
        parts.append("; ".join(_place(place.coordinates) for place in shown))
    off = [c for c in answer.off if c.misfit.relative_interval.low > 0]
    if off:
        names = ", ".join(short(c.name) for c in off[:_COLUMNS])
        more = f" and {len(off) - _COLUMNS} more" if len(off) > _COLUMNS else ""
        parts.append(f"{len(off)} of {len(answer.off)} columns given the others: {names}{more}")
    if not answer.sample.dropped:
        rows = ", ".join(f"{int(i) + 1:,}" for i in answer.some.points(_ROWS).indices)
        parts.append(f"rows that speak most against it: {rows}")
    return [("Where", "; ".join(parts))] if parts else []


def _place(coordinates: Any) -> str:
    told = [f"{short(name, 24)} = {figure(v)}" for name, v in coordinates.items()]
    return f"near {', '.join(told[:6])}"


def _test(answer: Any) -> str:
    result = answer.result
    name = type(result.test).__name__
    inner = f" by {type(result.tested).__name__}" if result.fitted_here else ""
    return f"{name}{inner}, {result.null_in_words()}, seed {answer.seed}"
