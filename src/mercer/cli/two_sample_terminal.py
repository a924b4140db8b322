"""A verdict in plain words, for a terminal or a log."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from math import isfinite

from mercer.cli.answer import Findings
from mercer.cli.table import Labels, short
from mercer.htest.samples.attribution import Feature

_MOST = 5  # columns told
_SIZES = ((0.2, "very small"), (0.5, "small"), (0.8, "middling"), (float("inf"), "large"))


def verdict(found: Findings) -> str:
    """One sentence."""
    first, second = found.names
    p = f"p = {found.result.pvalue:.3g}, level {found.level:g}"
    if found.differ:
        return f"{first} and {second} differ ({p})."
    return f"No difference was found between {first} and {second} ({p})."


def told(found: Findings) -> str:
    """The verdict, how much, where, and by what test."""
    rows = [("Data", _data(found)), ("How much", how_much(found))]
    if found.features is not None:
        rows.append(("Where", where(found)))
    rows.append(("Test", _test(found)))
    lines = [bold(wrapped(verdict(found)))]
    if not found.differ:
        caution = "That does not show that they are the same: it was looked for, and not found."
        lines.append(wrapped(caution))
    lines.append("")
    lines += [wrapped(text, f"  {title:10}", " " * 12) for title, text in rows]
    if found.features is not None:
        lines += ["", *_table(found.features.features[:_MOST], found.level)]
        if len(found.features) > _MOST:
            lines.append(f"  and {len(found.features) - _MOST:,} more")
    notes = [*found.notes, *found.result.notes]
    told_notes = [wrapped(short(note, 200), "  Note: ", "        ") for note in notes]
    lines += ["", *told_notes] if notes else []
    return "\n".join(lines)


def how_much(found: Findings) -> str:
    """The standardized distance, its interval and a word for it."""
    effect = found.effect
    if not isfinite(effect.standardized):
        return "each sample is constant, and not the same"
    low, high = effect.standardized_interval
    word = next(word for limit, word in _SIZES if effect.standardized < limit)
    return (
        f"standardized distance {effect.standardized:.2g}, {word} "
        f"({effect.confidence:.0%} interval {low:.2g} to {high:.2g})"
    )


def where(found: Findings) -> str:
    """Which columns differ by themselves."""
    assert found.features is not None
    differing = found.features.differing(found.level)
    number = len(found.features)
    if differing:
        names = ", ".join(short(f.name) for f in differing[:_MOST])
        more = f" and {len(differing) - _MOST} more" if len(differing) > _MOST else ""
        alone = "by itself" if len(differing) == 1 else "by themselves"
        return f"{len(differing)} of {number} columns {alone}: {names}{more}"
    if found.differ:
        return (
            f"none of {number} columns by itself: in how they go together, or too thinly spread "
            "to be placed"
        )
    return f"none of {number} columns by itself"


def _data(found: Findings) -> str:
    first, second = found.samples
    columns = first.columns.values()
    labels = sum(isinstance(held, Labels) for held in columns)
    parts = [f"{len(columns) - labels:,} of numbers", f"{labels:,} of labels"]
    kinds = f" ({', '.join(parts)})" if 0 < labels < len(columns) else ""
    noun = "column" if len(columns) == 1 else "columns"
    return f"{first.rows:,} and {second.rows:,} rows, {len(columns):,} {noun}{kinds}"


def _test(found: Findings) -> str:
    result = found.result
    return f"{type(result.test).__name__}, {result.null_in_words()}, seed {found.seed}"


def _table(features: Sequence[Feature], level: float) -> list[str]:
    """Columns with their distances; those that differ have a star."""
    names = [short(f.name, 28) for f in features]
    width = max(6, *map(len, names))
    room = max(20, _room() - width - 30)
    lines = [f"  {'column':{width}}  distance  corrected p  in the first file and the second"]
    for name, f in zip(names, features, strict=True):
        star = "*" if f.adjusted <= level else ""
        told = short(f.describe(), room)
        lines.append(
            f"  {name:{width}}  {f.standardized:<8.2f}  {f.adjusted:<8.3g} {star:2}  {told}"
        )
    return lines


def _room() -> int:
    return max(60, min(shutil.get_terminal_size((100, 24)).columns, 110))


def bold(text: str) -> str:
    """Bold on a terminal that shows it."""
    shown = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return f"\x1b[1m{text}\x1b[0m" if shown else text


def wrapped(text: str, first: str = "", later: str = "") -> str:
    """The text in lines that fit the terminal."""
    return textwrap.fill(
        text, _room(), initial_indent=first, subsequent_indent=later, break_on_hyphens=False
    )
