"""What a suite hands back, and how it is shown: a table in the terminal, JSON, Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from benchmarks.machine import describe

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Options:
    """What was asked for."""

    quick: bool
    repeats: int
    shared: bool
    console: Console
    only: tuple[str, ...] = ()  # words that the names of what is run contain
    results: Path = RESULTS


@dataclass(frozen=True)
class Table:
    """Rows of named figures; floats are shown with three digits."""

    title: str
    rows: list[dict[str, Any]]
    note: str = ""


@dataclass(frozen=True)
class Bar:
    """A promise and what was seen: the worst figure, and where."""

    promise: str
    wanted: float
    seen: float
    where: str = ""
    at_least: bool = False  # else: at most

    @property
    def holds(self) -> bool:
        return self.seen >= self.wanted if self.at_least else self.seen <= self.wanted

    def row(self) -> dict[str, Any]:
        sign = "≥" if self.at_least else "≤"
        return {
            "promise": self.promise,
            "wanted": f"{sign} {self.wanted:g}",
            "worst seen": self.seen,
            "where": self.where,
            "holds": "yes" if self.holds else "NO",
        }


@dataclass(frozen=True)
class Report:
    """The outcome of a suite: its tables and bars, and every single timing in `raw`."""

    title: str
    tables: list[Table]
    bars: list[Bar] = field(default_factory=list)
    raw: Any = None
    name: str = ""  # of its files; the name of the suite by default

    def shown(self) -> list[Table]:
        summary = Table("Promises", [bar.row() for bar in self.bars])
        return [table for table in [*self.tables, summary] if table.rows]


def worst(
    promise: str, wanted: float, figures: Iterable[tuple[str, float]], *, at_least: bool = False
) -> list[Bar]:
    """The bar for the worst of some (where, figure); none if there are no figures."""
    pick = min if at_least else max
    found = pick(figures, key=lambda pair: pair[1], default=None)
    return [] if found is None else [Bar(promise, wanted, found[1], found[0], at_least)]


def show(report: Report, console: Console) -> None:
    """Print the tables."""
    console.print(f"[bold]{escape(report.title)}[/]")
    console.print(", ".join(f"{k} {v}" for k, v in describe().items()), style="dim")
    for table in report.shown():
        grid = RichTable(
            title=escape(table.title), caption=escape(table.note), title_justify="left"
        )
        for name in _columns(table):
            grid.add_column(
                name, justify="left" if _wordy(table, name) else "right", overflow="fold"
            )
        for row in table.rows:
            cells = [escape(_cell(row.get(name))) for name in _columns(table)]
            grid.add_row(*cells, style="red" if row.get("holds") == "NO" else None)
        console.print(grid)


def save(report: Report, folder: Path, name: str) -> list[Path]:
    """Write NAME.json and NAME.md, the machine described but not named."""
    folder.mkdir(parents=True, exist_ok=True)
    data = {"title": report.title, "machine": describe(), "raw": report.raw}
    data["tables"] = [asdict(table) for table in report.tables]
    data["bars"] = [asdict(bar) | {"holds": bar.holds} for bar in report.bars]
    texts = {"json": json.dumps(data, indent=1, ensure_ascii=False) + "\n", "md": markdown(report)}
    paths = [folder / f"{name}.{kind}" for kind in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def markdown(report: Report) -> str:
    """The same tables as Markdown."""
    lines = [f"# {report.title}", ""]
    lines += [f"* {key}: {value}" for key, value in describe().items()]
    for table in report.shown():
        lines += ["", f"## {table.title}", "", *markdown_table(table)]
        lines += ["", table.note] if table.note else []
    return "\n".join(lines) + "\n"


def markdown_table(table: Table) -> list[str]:
    """The lines of a table."""
    names = _columns(table)
    marks = [":---" if _wordy(table, name) else "---:" for name in names]
    rows = [_line(_cell(row.get(name)) for name in names) for row in table.rows]
    return [_line(names), _line(marks), *rows]


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _columns(table: Table) -> list[str]:
    return list(dict.fromkeys(name for row in table.rows for name in row))


def _wordy(table: Table, name: str) -> bool:
    return any(isinstance(row.get(name), str) for row in table.rows)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)
