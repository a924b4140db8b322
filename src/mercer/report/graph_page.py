"""Report of `mercer graph`: picture and table of the edges of a causal graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mercer.report.cells import versions
from mercer.report.page import brief, checked_page
from mercer.report.report_figure import PHONE_WIDTH, ReportFigure

_MAX_COLUMNS_DRAWN = 30  # more names do not fit on the circle
_COLUMNS_OF_PHONE = 10  # they fit at the width of a telephone


def graph_report(
    graph: Any,
    *,
    name: str = "the table",
    facts: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    again: str = "",
) -> str:
    """Report of a `CausalGraph` as a single HTML page that works offline.

    It shows the picture of the graph and a table of its edges.

    Parameters
    ----------
    graph : CausalGraph
    name : str
        Name of the data, such as that of a file.
    facts : mapping of str to str, optional
        Additional entries of the table of settings.
    notes : sequence of str
        Additional notes.
    again : str
        Command or code that reproduces the result.
    """
    edges = graph.edges
    return checked_page(
        "graph.html",
        {
            "name": name,
            "level": graph.method.level,
            "edges": edges,
            "directed": sum(edge.directed for edge in edges),
            "columns": len(graph.names),
            "halves": graph.frequencies is not None,
            "picture": _picture(graph) if edges else None,
            "facts": {
                **(facts or {}),
                "level": f"{graph.method.level:g}",
                "tests": f"{graph.tests:,}",
                "rows": f"{graph.size:,}",
                **versions(),
            },
            "again": again,
        },
        notes=notes,
    )


def _picture(graph: Any) -> ReportFigure | None:
    """The columns on a circle with their edges; None for too many columns."""
    number = len(graph.names)
    if number > _MAX_COLUMNS_DRAWN:
        return None
    edges = "; ".join(
        f"{brief(e.first, 30)} {'causes' if e.directed else 'and'} {brief(e.second, 30)}"
        for e in graph.edges
    )
    size = PHONE_WIDTH * max(1.0, number / _COLUMNS_OF_PHONE)
    return ReportFigure.drawn(
        graph.plot,
        name="graph",
        alt=f"Graph of columns. Edges: {edges}.",
        caption="Arrows point from causes to effects; the direction of lines without a head is open.",
        width=size,
        height=size,
    )
