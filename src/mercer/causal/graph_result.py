"""Causal graphs that were learnt: edges with directions, p-values and frequencies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer.htest.reportable import Reportable
from mercer.htest.result_rows import ResultRows
from mercer.plot import plot_graph

SCHEMA = "mercer/graph/1"
_MAX_EDGES_LISTED = 30  # in a summary


class GraphEdge(NamedTuple):
    """An edge of a causal graph: from `first` to `second` if directed."""

    first: str
    second: str
    directed: bool
    pvalue: float
    corrected: float  # for the number of pairs
    frequency: (
        float  # share of half-samples with this edge, in any direction; NaN without half-samples
    )
    direction: float  # share of the half-samples with this edge that point the same way

    def __str__(self) -> str:
        return f"{self.first} {'->' if self.directed else '--'} {self.second}"


@dataclass(frozen=True)
class CausalGraph(ResultRows, Reportable):
    """A causal graph, with edges whose direction is known and edges whose direction is not.

    Attributes
    ----------
    names : tuple of str
    marks : array (d, d) of bool
        `marks[i, j]` and not `marks[j, i]`: i causes j. Both: an edge whose direction is open.
    pvalues : array (d, d)
        For every pair the largest p-value of its tests; an edge remains where it is small.
    corrected : array (d, d)
        The same, corrected for the number of pairs.
    frequencies : array (2, d, d) or None
        Share of half-samples whose graph has the arrow i -> j, and the edge i -- j without a direction.
    tests : int
        Number of independence tests made.
    """

    _report: ClassVar[str] = "graph_report"

    names: tuple[str, ...]
    marks: np.ndarray = field(repr=False, compare=False)
    pvalues: np.ndarray = field(repr=False, compare=False)
    corrected: np.ndarray = field(repr=False, compare=False)
    method: Any
    size: int
    tests: int
    notes: tuple[str, ...] = ()
    frequencies: np.ndarray | None = field(default=None, repr=False, compare=False)

    @property
    def edges(self) -> tuple[GraphEdge, ...]:
        """All edges, directed ones first, then by p-value."""
        marks, names, edges = self.marks, self.names, []
        for i, j in zip(*np.nonzero(np.triu(marks | marks.T)), strict=True):
            a, b = (i, j) if marks[i, j] else (j, i)
            directed = bool(marks[a, b] and not marks[b, a])
            share, same = self._shares(int(a), int(b), directed)
            values = float(self.pvalues[a, b]), float(self.corrected[a, b])
            edges.append(GraphEdge(names[a], names[b], directed, *values, share, same))
        return tuple(sorted(edges, key=lambda e: (not e.directed, e.pvalue, e.first, e.second)))

    def _shares(self, a: int, b: int, directed: bool) -> tuple[float, float]:
        """Share of half-samples with this edge, and of these the share with the same direction."""
        if self.frequencies is None:
            return float("nan"), float("nan")
        arrows, lines = self.frequencies
        share = float(arrows[a, b] + arrows[b, a] + lines[a, b])
        same = float(arrows[a, b] if directed else lines[a, b])
        return share, same / share if share else float("nan")

    def __iter__(self) -> Iterator[GraphEdge]:
        return iter(self.edges)

    def __len__(self) -> int:
        return len(self.edges)

    def summary(self) -> str:
        """Edges and what they rest on, in plain words."""
        edges = self.edges
        directed = sum(edge.directed for edge in edges)
        lines = [
            f"{len(edges)} edges between {len(self.names)} variables, {directed} of them directed "
            f"({type(self.method).__name__}, {self.size:,} observations, {self.tests:,} tests).",
            *(_edge_line(edge) for edge in edges[:_MAX_EDGES_LISTED]),
        ]
        if len(edges) > _MAX_EDGES_LISTED:
            lines.append(f"and {len(edges) - _MAX_EDGES_LISTED} more")
        return "\n".join([*lines, *self.notes])

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON; NaN becomes None."""
        rows = [
            {k: None if isinstance(v, float) and np.isnan(v) else v for k, v in e._asdict().items()}
            for e in self.edges
        ]
        return {
            "schema": SCHEMA,
            "names": list(self.names),
            "edges": rows,
            "method": repr(self.method),
            "size": self.size,
            "tests": self.tests,
            "notes": list(self.notes),
        }

    def plot(self, ax: Any = None) -> Any:
        """Variables on a circle, arrows and lines between them; returns the Axes."""
        return plot_graph(self, ax=ax)


def _edge_line(edge: GraphEdge) -> str:
    line = f"{edge}, p = {edge.pvalue:.3g} (corrected {edge.corrected:.3g})"
    if np.isnan(edge.frequency):
        return line
    return f"{line}, in {edge.frequency:.0%} of half-samples"
