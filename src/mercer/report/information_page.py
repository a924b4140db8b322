"""Report of `mercer information`: heat map and table of the information that columns share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from mercer.plot.information_map import draw_information
from mercer.report.cells import versions
from mercer.report.page import brief, checked_page
from mercer.report.pairwise_page import matrix_size
from mercer.report.report_figure import ReportFigure

_PAIRS_LISTED = 60
_MAX_COLUMNS_DRAWN = 40  # more names do not fit beside the map


class PairInformation(Protocol):
    """What one column tells about another: nats, an interval, and a corrected p-value."""

    @property
    def first(self) -> str: ...
    @property
    def second(self) -> str: ...
    @property
    def nats(self) -> float: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def corrected(self) -> float: ...


def information_page(
    pairs: Sequence[PairInformation],
    *,
    name: str,
    measure: str,
    directed: bool,
    level: float,
    facts: Mapping[str, str],
    notes: Sequence[str],
    again: str,
) -> str:
    """Report of all pairs as a single HTML page that works offline; `directed` where first tells of second."""
    ordered = sorted(pairs, key=lambda p: -p.nats)
    informative = sum(p.corrected <= level for p in pairs)
    return checked_page(
        "information.html",
        {
            "name": name,
            "measure": measure,
            "level": level,
            "number": len(pairs),
            "informative": informative,
            "heat_map": _heat_map(ordered, measure, directed, level)
            if informative and len(pairs) > 1
            else None,
            "pairs": ordered[:_PAIRS_LISTED],
            "facts": {**facts, "level": f"{level:g}", **versions()},
            "again": again,
        },
        notes=notes,
    )


def _heat_map(
    pairs: Sequence[PairInformation], measure: str, directed: bool, level: float
) -> ReportFigure:
    """The matrix of nats, of the columns that occur in the most informative pairs."""
    names = [*dict.fromkeys(name for p in pairs for name in (p.first, p.second))]
    names = names[:_MAX_COLUMNS_DRAWN]
    place = {name: i for i, name in enumerate(names)}
    shown = np.full((len(names), len(names)), np.nan)
    for p in pairs:
        if p.corrected <= level and p.first in place and p.second in place:
            shown[place[p.first], place[p.second]] = p.nats
            if not directed:
                shown[place[p.second], place[p.first]] = p.nats
    strongest = "; ".join(
        f"{brief(p.first, 30)} and {brief(p.second, 30)} {p.nats:.2g} (p = {p.corrected:.2g})"
        for p in pairs[:10]
    )
    rows = " From the column at the left to the one below." if directed else ""
    width, height = matrix_size(names)
    return ReportFigure.drawn(
        lambda ax: draw_information(ax, shown, names, measure),
        name="information",
        alt=f"Matrix of the {measure} of columns. Largest values: {strongest}.",
        caption=f"{measure.capitalize()} in nats.{rows} Pairs whose corrected p-value is above {level:g} are blank.",
        width=width,
        height=height,
    )
