"""What an independence test of a file found, in plain words for a terminal or a log."""

from __future__ import annotations

from typing import Any

from mercer.cli.table import quoted, short
from mercer.cli.two_sample_terminal import bold, wrapped
from mercer.htest.dependence.all_pairs import Pair, PairwiseResult
from mercer.htest.dependence.dependence_summary import strength_word

_MOST = 8  # pairs told


def told(answer: Any) -> str:
    """The verdict, how strong, which columns, and by what test."""
    lines = [bold(wrapped(_verdict(answer)))]
    if not answer.dependent:
        caution = "That does not show that they are independent: it was looked for, and not found."
        lines.append(wrapped(caution))
    rows = [("Data", _data(answer)), *_how_much(answer), ("Test", _test(answer))]
    lines += ["", *(wrapped(text, f"  {title:10}", " " * 12) for title, text in rows)]
    if answer.pairs is not None:
        lines += ["", *_table(answer.pairs, answer.level)]
    notes = [*answer.notes, *answer.result.notes]
    told_notes = [wrapped(short(note, 200), "  Note: ", "        ") for note in notes]
    return "\n".join([*lines, *(["", *told_notes] if notes else [])])


def told_pairs(found: PairwiseResult, level: float) -> str:
    """Every two columns: which depend on each other."""
    number = len(found.dependent(level))
    verdict = f"{number} of {len(found.pairs)} pairs of columns depend on each other"
    return "\n".join(
        [
            bold(wrapped(f"{verdict} (level {level:g}, p-values corrected for all pairs).")),
            "",
            *_table(found, level),
            *(wrapped(short(note, 200), "  Note: ", "        ") for note in found.notes),
        ]
    )


def _verdict(answer: Any) -> str:
    question = answer.question
    one, other = quoted(question.x), quoted(question.y)
    given = f" given {quoted(question.given)}" if question.given else ""
    p = f"(p = {answer.result.pvalue:.3g}, level {answer.level:g})"
    if answer.dependent:
        return f"{one} and {other} depend on each other{given} {p}."
    return f"No dependence was found between {one} and {other}{given} {p}."


def _data(answer: Any) -> str:
    parts = [len(answer.question.x), len(answer.question.y), len(answer.question.given)]
    counts = f"{parts[0]} and {parts[1]} columns"
    return f"{answer.result.size:,} rows, {counts}" + (f", given {parts[2]}" if parts[2] else "")


def _how_much(answer: Any) -> list[tuple[str, str]]:
    strength = answer.strength
    if strength is None:
        return []
    low, high = strength.correlation_interval
    word = strength_word(strength.correlation)
    said = (
        f"kernel correlation {strength.correlation:.2g}, {word} "
        f"({strength.confidence:.0%} interval {low:.2g} to {high:.2g})"
    )
    return [("How much", said)]


def _test(answer: Any) -> str:
    result = answer.result
    return f"{type(result.test).__name__}, {result.null_in_words()}, seed {answer.seed}"


def _table(found: PairwiseResult, level: float) -> list[str]:
    """Pairs with their strengths; those that depend on each other have a star."""
    pairs = sorted(found.pairs, key=lambda pair: (-pair.effect, pair.pvalue))
    shown = pairs[:_MOST]
    width = max(4, *(len(_named(pair)) for pair in shown))
    lines = [f"  {'pair':{width}}  correlation  corrected p"]
    for pair in shown:
        star = " *" if pair.pvalue <= level else ""
        lines.append(f"  {_named(pair):{width}}  {pair.effect:<11.2f}  {pair.pvalue:.3g}{star}")
    if len(pairs) > _MOST:
        lines.append(f"  and {len(pairs) - _MOST:,} more")
    return lines


def _named(pair: Pair) -> str:
    return f"{short(pair.first, 24)} and {short(pair.second, 24)}"
