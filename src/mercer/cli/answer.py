"""Answers of the commands: their base class, the JSON document and the text on a terminal."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, isfinite
from pathlib import Path, PurePath
from typing import Any, ClassVar, Generic, TypeVar

import mercer
from mercer.cli import options
from mercer.cli.exits import one_line, say, tell
from mercer.cli.match import FileSample
from mercer.cli.table import LabelColumn, short
from mercer.htest.result import Result

_NOTE_LENGTH = 300  # characters of a note: three lines of a terminal
_LINE_LENGTHS = 60, 110  # shortest and longest line: narrower is torn apart, wider is hard to read

ResultType = TypeVar("ResultType", bound=Result)


@dataclass(frozen=True)
class Answer(ABC, Generic[ResultType]):
    """Result of a test of files, with its level, its seed and the notes of the command."""

    schema: ClassVar[str]
    verdict_key: ClassVar[str]  # of the JSON document: whether the test rejects
    caution: ClassVar[str]  # what a test that does not reject leaves open

    result: ResultType
    level: float
    seed: int
    notes: tuple[str, ...]

    @property
    def rejected(self) -> bool:
        """Whether the test rejects at the chosen level."""
        return self.result.rejects(self.level)

    @property
    @abstractmethod
    def effect_size(self) -> float | None:
        """Effect size that --min-effect is compared with; None if the test has none."""

    @abstractmethod
    def verdict(self) -> str:
        """Verdict in one sentence."""

    @abstractmethod
    def facts(self) -> list[tuple[str, str]]:
        """Titles and texts below the verdict."""

    @abstractmethod
    def details(self) -> dict[str, Any]:
        """Entries of the JSON document that only this command has."""

    def cautions(self) -> list[str]:
        """Reasons not to trust the p-value, which follow the verdict: few resamples, rows in time."""
        draws = len(self.result.null)
        return [
            *([_few_resamples(draws, self.level)] if draws and draws + 1 < 1 / self.level else []),
            *(note for note in (*self.notes, *self.result.notes) if is_caution(note)),
        ]

    def more_found(self) -> bool:
        """Whether columns or pairs by themselves show what the test of all together does not."""
        return False

    def table(self) -> list[str]:
        """Lines of a table of columns or pairs below the facts, if there is one."""
        return []

    def at_least(self, minimum: float | None) -> bool:
        """Whether the test rejects, with an effect size of at least `minimum`."""
        effect = self.effect_size
        return self.rejected and (minimum is None or effect is None or effect >= minimum)

    def test_description(self) -> str:
        """Test, null distribution and seed."""
        return f"{type(self.result.test).__name__}, {self.result.null_in_words()}, seed {self.seed}"

    def to_dict(self) -> dict[str, Any]:
        """JSON document: the same for the same files and the same seed."""
        document = {
            "schema": self.schema,
            "mercer": mercer.__version__,
            self.verdict_key: self.rejected,
            "level": self.level,
            "pvalue": self.result.pvalue,
            "effect": self.effect_size,
            "seed": self.seed,
            **self.details(),
            "cautions": self.cautions(),
            "remarks": [note for note in self.notes if not is_caution(note)],
        }
        return finite_or_null(document)

    def text(self) -> str:
        """Verdict, facts, table and notes for a terminal or a log."""
        lines = [bold(wrapped(self.verdict())), *map(wrapped, self.cautions())]
        if not self.rejected and not self.more_found():
            lines.append(wrapped(self.caution))
        lines += ["", *(wrapped(fact, f"  {title:10}", " " * 12) for title, fact in self.facts())]
        if table := self.table():
            lines += ["", *table]
        notes = [note for note in (*self.notes, *self.result.notes) if not is_caution(note)]
        if notes := note_lines(notes):
            lines += ["", *notes]
        return "\n".join(lines)


def is_caution(note: str) -> bool:
    """Whether a note says when not to trust the p-value."""
    return note.startswith("Caution:")


def cautions_first(notes: Sequence[str]) -> tuple[list[str], list[str]]:
    """The notes that say when not to trust the p-value, and the others."""
    cautions = [note for note in notes if is_caution(note)]
    return cautions, [note for note in notes if not is_caution(note)]


def _few_resamples(draws: int, level: float) -> str:
    return (
        f"Caution: with {draws:,} resamples no p-value can be below {1 / (draws + 1):.2g}: nothing can be "
        f"found at level {level:g}, however clear it is. Use --resamples {ceil(1 / level) - 1} or more."
    )


# ---- output ---------------------------------------------------------------------------------


def write_answer(
    json_to: str | None,
    document: Callable[[], dict[str, Any]],
    text: Callable[[], str],
    seconds: float,
) -> None:
    """Write the text to stdout, and the JSON document to `json_to`; `-` is stdout without the text.

    Neither is computed unless it is written.
    """
    if json_to is not None:
        timed = {**document(), "elapsed_seconds": round(seconds, 3)}
        encoded = json.dumps(timed, indent=2, allow_nan=False)
        tell(encoded) if json_to == "-" else options.write(json_to, encoded + "\n")
    if json_to != "-":
        tell(text())


def write_report(
    path: Path, render: Callable[..., str], answer: Answer[Any], command: str, **more: Any
) -> None:
    """Write an HTML report, and say where it is.

    `render` is a function of `mercer.report`, and `more` are the arguments that only this one
    takes; `command` repeats the run.
    """
    page = render(
        answer.result,
        level=answer.level,
        facts={"seed": str(answer.seed)},
        notes=answer.notes,
        again=command,
        **more,
    )
    write_page(path, page)


def write_page(path: Path, page: str) -> None:
    """Write an HTML page, and say where it is."""
    options.write(path, page)
    say(f"Report written to {path}")


def finite_or_null(value: Any) -> Any:
    """`value` for JSON, which has no infinities and no NaN: None in their place."""
    if isinstance(value, dict):
        return {str(key): finite_or_null(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [finite_or_null(v) for v in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def known(effect: float) -> float | None:
    """An effect size; None where there were too few rows to measure it."""
    return effect if isfinite(effect) else None


def file_summary(sample: FileSample) -> dict[str, Any]:
    """JSON entry of a file: its name, its rows, and what was done about missing values."""
    return {
        "name": sample.name,
        "rows": sample.rows,
        "dropped": sample.dropped,
        "imputed": sample.imputed,
    }


def column_kinds(sample: FileSample) -> list[dict[str, str]]:
    """JSON entry of the columns: names and kinds."""
    return [
        {"name": name, "kind": "categories" if isinstance(column, LabelColumn) else "numbers"}
        for name, column in sample.columns.items()
    ]


# ---- text -----------------------------------------------------------------------------------


def sample_names(samples: Sequence[Any]) -> list[str]:
    """Names of samples: those of their levels, or of their files without folders."""
    names = [sample.name for sample in samples]
    grouped = any(sample.grouped for sample in samples)
    return [one_line(name) for name in names] if grouped else display_names(names)


def display_names(paths: Sequence[str]) -> list[str]:
    """File names without their folders, unless two files would then have the same name."""
    names = [PurePath(path).name or path for path in paths]
    return names if len(set(names)) == len(set(paths)) else list(paths)


def listed_names(names: Sequence[str], most: int) -> str:
    """The first `most` names, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def note_lines(notes: Sequence[str]) -> list[str]:
    """Notes, each a wrapped paragraph."""
    return [wrapped(short(note, _NOTE_LENGTH), "  Note: ", "        ") for note in notes]


def line_length() -> int:
    """Number of characters in a line of the terminal, within limits that read well."""
    shortest, longest = _LINE_LENGTHS
    return max(shortest, min(shutil.get_terminal_size((100, 24)).columns, longest))


def bold(text: str) -> str:
    """Bold text on a terminal; plain text in files, pipes, and where NO_COLOR is set."""
    on_terminal = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return f"\x1b[1m{text}\x1b[0m" if on_terminal else text


def wrapped(text: str, first: str = "", later: str = "") -> str:
    """`text` in lines that fit the terminal; `first` and `later` are their indents."""
    return textwrap.fill(
        text,
        line_length(),
        initial_indent=first,
        subsequent_indent=later,
        break_on_hyphens=False,
    )
