"""The scoreboard as a picture: methods by sizes, coloured by the logarithm of the ratio."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from benchmarks.scoreboard import (
    dependence_contests,
    learner_contests,
    machine_contests,
    sample_contests,
)
from benchmarks.scoreboard.board import Board
from benchmarks.scoreboard.contest import DIMENSIONS, SIZES
from benchmarks.scoreboard.tables import column

PANELS = {
    "Learners": {
        "Support vector machines": machine_contests.CONTESTS,
        "Regression, components, smoothers": learner_contests.CONTESTS,
    },
    "Tests and measures": {
        "Samples and models": sample_contests.CONTESTS,
        "Dependence": dependence_contests.CONTESTS,
    },
}
_STRONGEST = 2.0  # decades at which colours end: 100 times faster, or slower
_INK, _PALE, _LOSS = "#1d2733", "#8793a0", "#c0392b"
_COLOURS = LinearSegmentedColormap.from_list(
    "ratio", ["#8e1b12", "#d9503f", "#f6b7a6", "#f7f6f2", "#a9d3d6", "#3c93a8", "#0d4f6e"]
)
_GAP = 0.35  # columns between the two dimensions


@dataclass(frozen=True)
class Row:
    """A method against a peer: ratios by dimension and size."""

    label: str
    peer: str
    ratios: dict[tuple[int, int], float] = field(default_factory=dict)


def save(board: Board, path: Path) -> None:
    """Draw the board and write it to a file."""
    style = {"font.family": "sans-serif", "svg.fonttype": "none", "svg.hashsalt": "mercer"}
    with mpl.rc_context(style):
        figure = draw(board)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def draw(board: Board) -> Figure:
    panels = {title: _sections(board, groups) for title, groups in PANELS.items()}
    heights = [sum(len(rows) + 1 for _, rows in sections) for sections in panels.values()]
    tall = max(*heights, 4)
    figure = Figure(figsize=(17.5, 1.75 + 0.245 * tall), facecolor="white")
    figure.text(0.012, 1 - 0.32 / figure.get_figheight(), _title(board), color=_INK, fontsize=15)
    figure.text(
        0.012, 1 - 0.60 / figure.get_figheight(), _subtitle(board), color=_PALE, fontsize=10
    )
    top, bottom = 1 - 1.15 / figure.get_figheight(), 0.5 / figure.get_figheight()
    for k, sections in enumerate(panels.values()):
        axes = figure.add_axes((0.172 + 0.5 * k, bottom, 0.318, top - bottom))
        _panel(axes, sections, tall)
    _legend(figure)
    return figure


def _sections(board: Board, groups: dict[str, Any]) -> list[tuple[str, list[Row]]]:
    sections = []
    for heading, contests in groups.items():
        rows: dict[tuple[str, str, bool], Row] = {}
        names = {contest.name: contest for contest in contests}
        for name, cell, peer, ratio in board.cells:
            if name not in names:
                continue
            line = cell["d"] == 1 and len(names[name].dims) > 1  # has a row of its own
            label = f"{name}, d = 1" if line else name
            row = rows.setdefault((name, peer, line), Row(label, peer))
            block = 1 if cell["d"] == DIMENSIONS[-1] else 0
            row.ratios[block, column(cell["n"])] = ratio
        sections.append((heading, list(rows.values())))
    return sections


def _panel(axes: Axes, sections: list[tuple[str, list[Row]]], tall: int) -> None:
    axes.set_xlim(0, 2 * len(SIZES) + _GAP)
    axes.set_ylim(tall, 0)
    axes.axis("off")
    for block, d in enumerate(DIMENSIONS):
        left = block * (len(SIZES) + _GAP)
        middle = left + len(SIZES) / 2
        axes.text(middle, -1.15, f"d = {d}", ha="center", va="center", color=_INK, fontsize=10)
        for j, n in enumerate(SIZES):
            axes.text(
                left + j + 0.5, -0.35, _short(n), ha="center", va="center", color=_PALE, fontsize=8
            )
    y = 0
    for heading, rows in sections:
        axes.text(-7.15, y + 0.62, heading, color=_INK, fontsize=10, fontweight="bold", va="center")
        y += 1
        above = ""
        for row in rows:
            _line(axes, y, row, "" if row.label == above else row.label)
            above = row.label
            y += 1


def _line(axes: Axes, y: float, row: Row, label: str) -> None:
    axes.text(-7.15, y + 0.5, label, va="center", color=_INK, fontsize=8.5)
    axes.text(-0.15, y + 0.5, row.peer, ha="right", va="center", color=_PALE, fontsize=8.5)
    for block in range(len(DIMENSIONS)):
        for j, n in enumerate(SIZES):
            x = block * (len(SIZES) + _GAP) + j
            ratio = row.ratios.get((block, n))
            if ratio is None:
                axes.plot(x + 0.5, y + 0.5, ".", color="#d8dde2", markersize=2.5)
            else:
                _cell(axes, x, y, ratio)


def _cell(axes: Axes, x: float, y: float, ratio: float) -> None:
    strength = float(np.clip(np.log10(ratio) / _STRONGEST, -1, 1))
    lost = ratio < 1
    # a root makes small differences visible: 0.9 and 1.1 have different colours
    colour = _COLOURS(0.5 + 0.5 * np.sign(strength) * abs(strength) ** 0.6)
    edge = _LOSS if lost else "white"
    box = Rectangle((x + 0.04, y + 0.05), 0.92, 0.9, facecolor=colour, edgecolor=edge)
    box.set_linewidth(1.1 if lost else 0.5)
    axes.add_patch(box)
    dark = sum(w * c for w, c in zip((0.3, 0.59, 0.11), colour[:3], strict=True)) < 0.55
    weight = "bold" if lost else "normal"
    axes.text(
        x + 0.5,
        y + 0.52,
        number(ratio),
        ha="center",
        va="center",
        color="white" if dark else _INK,
        fontsize=7.5,
        fontweight=weight,
    )


def _legend(figure: Figure) -> None:
    """Colours from ten times slower to a hundred times faster."""
    axes = figure.add_axes(
        (0.70, 1 - 0.72 / figure.get_figheight(), 0.28, 0.46 / figure.get_figheight())
    )
    marks = (0.1, 0.3, 0.9, 1.2, 3.0, 10.0, 30.0, 100.0)
    axes.set_xlim(0, len(marks))
    axes.set_ylim(2, 0)
    axes.axis("off")
    for x, mark in enumerate(marks):
        _cell(axes, x, 0, mark)
    axes.text(1.5, 1.55, "peer is faster", ha="center", va="center", color=_LOSS, fontsize=9)
    axes.text(5.5, 1.55, "mercer is faster", ha="center", va="center", color="#0d4f6e", fontsize=9)


def _title(board: Board) -> str:
    ratios = [ratio for *_, ratio in board.cells]
    wins = sum(ratio >= 1 for ratio in ratios)
    middle = f"{np.median(ratios):.1f}" if ratios else "no"
    return f"mercer is at least as fast in {wins:,} of {len(ratios):,} cells; the median ratio is {middle}"


def _subtitle(board: Board) -> str:
    clock = "processor time of one thread" if board.shared else "time on the clock, all cores"
    names = {"avx2": "a processor with AVX2", "avx512": "a processor with AVX-512"}
    where = names.get(board.processor, board.processor)
    return (
        f"The peer's time over mercer's at n = 50 to 20,000, on {where}, by {clock}. "
        "Dots: the peer was stopped, or does not go there."
    )


def number(ratio: float) -> str:
    """A ratio in at most four characters."""
    if ratio >= 9950:
        return f"{ratio / 1000:.0f}k"
    if ratio >= 995:
        return f"{ratio / 1000:.1f}k"
    if ratio >= 9.95:
        return f"{ratio:.0f}"
    if ratio >= 1.95:
        return f"{ratio:.1f}"
    return f"{ratio:.2f}" if ratio >= 0.0095 else f"{ratio:.3f}".lstrip("0")


def _short(n: int) -> str:
    return f"{n // 1000}k" if n >= 1000 else str(n)
