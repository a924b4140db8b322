"""python -m benchmarks.reproductions.calibration_page: the levels of all tests as a page of the site, from the records.

Writes docs/calibration.md, and docs/_static/calibration_NAME.svg for each family of tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks.reproductions import (
    conditional_level,
    goodness_level,
    independence_level,
    small_sample_level,
    two_sample_level,
)
from benchmarks.reproductions.records import Record, rate, table

from tests.support.htest_levels import LEAST, LEVEL, MORE, MOST, RUNS, Cell  # isort: skip

DOCS = Path(__file__).parents[2] / "docs"
_INK, _BAND, _DOT, _OUTSIDE = "#1d2733", "#e3eef0", "#0d6e86", "#c0392b"
_INTRODUCTION = f"""# Calibration

A test at level {LEVEL} may reject a true null hypothesis in 5% of all cases, and a test that does so more often finds what is not
there. Here is how often the tests on record reject hypotheses that are true: on numbers in few and in many dimensions,
counts, categories and heavy tails, for small and large samples.

* A **cell** is a test, a problem and a sample size, with {RUNS} runs unless a section says otherwise. By chance alone, the
  rate of an exact test is outside {LEAST:.2%} to {MOST:.0%} in about one of 5,000 cells. That is the shaded band of the pictures; a cell that is outside after
  {RUNS} runs is run on to {MORE:,}, and the rate of all of them counts. A cell with fewer runs has a wider band of its own, which the
  pictures do not show.
* **Hollow** dots are tests whose level is an upper bound: some nulls are conservative and say so. Only the upper end
  of the band counts for them. A **red** dot is a cell outside of what it has to keep.
* Rows are tests with all of their nulls and options; the records in `benchmarks/results` name each of them.

`python -m benchmarks.reproductions.calibration_page` writes this page from the records. Levels of tests on rows that depend
on those before them are in the guide to [time series](guide/time_series.md), and those of the default conditional test on
a grid of problems that it was not tuned on in the guide to [conditional independence](guide/conditional.md).
"""


@dataclass(frozen=True)
class Level:
    """The rate of a cell, whether its level is an upper bound, and whether chance explains the rate."""

    share: float
    bound: bool
    holds: bool


@dataclass(frozen=True)
class Family:
    """Tests whose levels are in one record."""

    title: str
    record: str
    cells: Mapping[str, Cell]

    @property
    def picture(self) -> Path:
        return DOCS / "_static" / f"{self.record}.svg"

    @property
    def fewer(self) -> int:
        """Cells on record with fewer runs than the band is made for."""
        entries = Record(self.record, str).load()["cells"]
        return sum(0 < entries.get(name, {"runs": 0})["runs"] < RUNS for name in self.cells)

    def levels(self) -> dict[str, list[Level]]:
        """What is on record of every cell, by the class of the test."""
        entries = Record(self.record, str).load()["cells"]
        by_class: dict[str, list[Level]] = {}
        for name, cell in self.cells.items():
            if runs := entries.get(name, {"runs": 0})["runs"]:
                share = rate(entries[name])
                level = Level(share, cell.conservative, cell.holds(share, runs))
                by_class.setdefault(cell.test.split("(")[0], []).append(level)
        return by_class


FAMILIES = (
    Family("Two samples", "two_sample_calibration", two_sample_level.CELLS),
    Family("Independence", "independence_calibration", independence_level.CELLS),
    Family("Conditional independence", "conditional_calibration", conditional_level.CELLS),
    Family("Goodness of fit", "goodness_calibration", goodness_level.CELLS),
    Family(
        "Few observations",
        "small_sample_calibration",
        {c.name: c for c in small_sample_level.CELLS},
    ),
)


def draw(family: Family) -> Figure:
    """Rates of all cells, a row for each class of tests, over the band in which they belong."""
    levels = family.levels()
    figure = Figure(figsize=(8, 1.0 + 0.3 * len(levels)), layout="constrained")
    axes = figure.subplots()
    axes.axvspan(100 * LEAST, 100 * MOST, color=_BAND, lw=0)
    axes.axvline(100 * LEVEL, color=_INK, lw=0.8, ls="--")
    for y, cells in enumerate(levels.values()):
        for i, level in enumerate(cells):
            colour = _DOT if level.holds else _OUTSIDE
            face = "none" if level.bound else colour
            height = y + 0.3 * ((0.618 * i) % 1 - 0.5)  # spread evenly, the same in every picture
            axes.plot(100 * level.share, height, "o", ms=4, mec=colour, mfc=face, alpha=0.8)
    axes.set(yticks=range(len(levels)), xlabel="true hypotheses rejected at level 0.05, %")
    axes.set_yticklabels(levels, color=_INK)
    highest = max(level.share for cells in levels.values() for level in cells)
    axes.set_xlim(0, 100 * max(0.1, highest) + 0.3)
    axes.set_ylim(len(levels) - 0.5, -0.5)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return figure


def section(family: Family) -> list[str]:
    """Picture and table of one family."""
    levels = family.levels()
    total = sum(map(len, levels.values()))
    outside = sum(not level.holds for cells in levels.values() for level in cells)
    fewer = f" Cells with fewer than {RUNS} runs: {family.fewer}." if family.fewer else ""
    lines = [f"## {family.title}", "", f"{total} cells, {outside} outside.{fewer}", ""]
    lines += [f"```{{image}} _static/{family.picture.name}"]
    lines += [f":alt: Rates of rejection of {total} cells, {outside} of them outside the band"]
    lines += [":width: 100%", "```", ""]
    return [*lines, *table([_row(name, cells) for name, cells in levels.items()]), ""]


def _row(name: str, cells: list[Level]) -> dict[str, str]:
    shares = [level.share for level in cells]
    bounds = sum(level.bound for level in cells)
    return {
        "test": f"`{name}`",
        "cells": str(len(cells)),
        "level is a bound": str(bounds) if bounds else "",
        "lowest": f"{min(shares):.2%}",
        "median": f"{median(shares):.2%}",
        "highest": f"{max(shares):.2%}",
        "outside": str(sum(not level.holds for level in cells)),
    }


def page() -> str:
    """The text of the page."""
    lines = [line for family in FAMILIES for line in section(family)]
    return "\n".join([_INTRODUCTION, *lines]).rstrip() + "\n"


def main() -> int:
    """Write the page and its pictures."""
    style = {"font.family": "sans-serif", "svg.fonttype": "none", "svg.hashsalt": "mercer"}
    with mpl.rc_context(style):
        for family in FAMILIES:
            draw(family).savefig(family.picture, facecolor="white", metadata={"Date": None})
    (DOCS / "calibration.md").write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
