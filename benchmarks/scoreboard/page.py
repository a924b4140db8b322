"""The scoreboard as a page of the site, written from the records of all processors."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.report import RESULTS, Bar, Report, Table, markdown_table
from benchmarks.scoreboard.board import Board

DOCS = Path(__file__).resolve().parents[2] / "docs"
STATIC = DOCS / "_static"
PROCESSORS = {"avx512": "With AVX-512", "avx2": "With AVX2"}
_SHOWN = (
    "Where a peer is faster",
    "First call of a fresh process",
    "Memory at the largest size of both",
)
_ALONE = "The picture scrolls sideways; a click shows all of it."
_SHARED = (
    "Times are processor times of one thread, because other programs used the machine. The picture scrolls\n"
    "sideways; a click shows all of it."
)
_INTRODUCTION = """# Scoreboard

How fast is mercer, against the libraries that compute the same? Every test and every learner that has a peer is
timed call against call, at 50 to 20,000 points in 2 and in 20 dimensions: the same kernel, the same number of
permutations, components and candidates, the same tolerance. Answers that are the same number are compared, too.

* A **ratio** is the peer's time over mercer's: above 1 mercer is faster. It is the best of several rounds in which the
  calls take turns, after a first call.
* A peer **stops** where a call would take more than a few seconds. Permutation tests of libraries that need minutes do
  some of the permutations, and the time of all of them is extrapolated from that.
* **Memory** is the most that a call takes beyond what the process had before.
* The **first call** is timed in a fresh process, where caches on disk are warm.

`python -m benchmarks scoreboard` measures all of it again, writes this page, and takes less than half an hour;
`--only svc,hsic` measures some of it. The extra `peers` installs the other libraries; those that are missing are skipped
and named. All figures are in `benchmarks/results`.
"""


def write(report: Report, board: Board) -> None:
    """Write the page, with this report and those on record of other processors."""
    lines = [_INTRODUCTION]
    for processor, heading in PROCESSORS.items():
        shown = report if processor == board.processor else _recorded(processor)
        if shown is not None:
            lines += _section(processor, heading, shown)
    (DOCS / "scoreboard.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def _recorded(processor: str) -> Report | None:
    path = RESULTS / f"scoreboard_{processor}.json"
    if not path.exists():
        return None
    record = json.loads(path.read_text(encoding="utf-8"))
    bars = [Bar(**{k: v for k, v in bar.items() if k != "holds"}) for bar in record["bars"]]
    return Report(record["title"], [Table(**table) for table in record["tables"]], bars)


def _section(processor: str, heading: str, report: Report) -> list[str]:
    """Picture, promises, losses and the other tables of one processor."""
    lines = [f"## {heading}", "", _SHARED if "others used" in report.title else _ALONE, ""]
    lines += [f"```{{image}} _static/scoreboard_{processor}.svg", ":alt: Ratios at all sizes"]
    lines += [":width: 100%", ":class: wide", "```", ""]
    by_title = {table.title: table for table in report.shown()}
    growth = [title for title in by_title if title.startswith("Growth")]
    for title in ("Promises", *_SHOWN, *growth):
        if title in by_title:
            table = by_title[title]
            lines += [f"### {title}", "", *markdown_table(table), ""]
            lines += [table.note, ""] if table.note else []
    return lines
