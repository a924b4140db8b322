"""`mercer graph`: which columns of a file may cause which? A causal graph by the PC algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

import mercer
from mercer.causal import PC
from mercer.causal.graph_result import CausalGraph, GraphEdge
from mercer.cli import options
from mercer.cli.answer import (
    bold,
    cautions_first,
    column_kinds,
    display_names,
    file_summary,
    finite_or_null,
    note_lines,
    wrapped,
    write_answer,
    write_page,
)
from mercer.cli.common_options import DataOptions, expanded
from mercer.cli.exits import DIFFER, Refused, WrongUse, guarded
from mercer.cli.match import FileSample, matched, refuse_constant
from mercer.cli.table import quoted, short
from mercer.cli.variables import select
from mercer.htest import KCI, HypothesisTest, KernelGCM, PartialCorrelation, RCoT
from mercer.htest.serial_hsic import serial_cautions
from mercer.report.graph_page import graph_report

_SCHEMA = "mercer/command/graph/1"
_MIN_ROWS = 20  # of PC
_EDGES_SHOWN = 15  # they fit on a screen with the rest
_ASSUMED = "Arrows are causes only if no common cause is hidden, nothing causes itself, and independences are those of the graph"


class GraphTest(StrEnum):
    """Names of the conditional independence tests of a graph on the command line."""

    KERNELGCM = "kernelgcm"
    KCI = "kci"
    RCOT = "rcot"
    PARTIAL = "partial"


_TESTS: dict[GraphTest, type[HypothesisTest]] = {
    GraphTest.KERNELGCM: KernelGCM,
    GraphTest.KCI: KCI,
    GraphTest.RCOT: RCoT,
    GraphTest.PARTIAL: PartialCorrelation,
}
Test = Annotated[
    GraphTest,
    typer.Option(
        help="Conditional independence test; partial: correlations, for linear relations."
    ),
]
MostGiven = Annotated[
    int | None,
    typer.Option(min=0, help="Largest number of columns to condition on (default: no limit)."),
]
HalfSamples = Annotated[
    int,
    typer.Option(min=0, help="Learn again on so many random halves: how often is an edge there?"),
]


@guarded
@expanded
def graph(
    data: options.Only,
    chosen: DataOptions,
    columns: options.Columns = None,
    test: Test = GraphTest.KERNELGCM,
    most_given: MostGiven = None,
    half_samples: HalfSamples = 0,
    level: options.Level = 0.01,
    json_to: options.Json = None,
    report: options.Report = None,
    gate: options.Gate = False,
    show_all: options.All = False,
) -> None:
    """Learn which columns may cause which, from tests of conditional independence (PC algorithm).

    An edge remains where no test separates two columns: its p-value is the
    largest of theirs. Arrows are directions that all graphs with these
    independences share; the direction of other edges is open.
    Exit codes: 0 done, 1 there are edges (with --gate), 2 wrong use,
    3 data refused, 4 over the memory limit, 5 a bug, 130 interrupted.
    """
    options.check_outputs(json_to, report, inputs=(data,))
    options.check_report_packages(report)
    if any(v is not None for v in (chosen.kernel, chosen.bandwidth, chosen.resamples)):
        raise WrongUse(
            "--kernel, --bandwidth and --resamples do not go with graph: choose a --test"
        )
    method = PC(_TESTS[test](), level=level, most_given=most_given)
    names, started = options.column_names(columns), perf_counter()
    with mercer.config(**chosen.settings):
        learnt, document = _learnt(data, chosen, names, method, half_samples)
    write_answer(
        json_to,
        lambda: finite_or_null(document),
        lambda: _text(learnt, document, show_all),
        perf_counter() - started,
    )
    if report is not None:
        settings = {"test": test, "most-given": most_given, "half-samples": half_samples or None}
        command = chosen.line("graph", [data], {"columns": names}, **settings, level=f"{level:g}")
        _write_report(report, learnt, document, command)
    if gate and learnt.edges:
        raise typer.Exit(DIFFER)


def _learnt(
    data: str, chosen: DataOptions, names: Sequence[str], method: PC, half_samples: int
) -> tuple[CausalGraph, dict[str, Any]]:
    """The graph of the file, and the JSON document."""
    notes: list[str] = []
    (sample,) = matched(
        list(chosen.read(data, columns=names)), chosen.missing, notes, _MIN_ROWS, time_option=False
    )
    if len(sample.columns) < 2:
        raise Refused(f"{sample.name}: only one column; at least two are needed")
    refuse_constant(sample)
    cautions, remarks = cautions_first(notes)
    learnt = method.fit(sample.points, half_samples=half_samples, rng=chosen.seed)
    return learnt, {
        "schema": _SCHEMA,
        "mercer": mercer.__version__,
        "level": method.level,
        "seed": chosen.seed,
        "file": file_summary(sample),
        "columns": column_kinds(sample),
        "result": learnt.to_dict(),
        "cautions": [*cautions, *_in_time(sample)],
        "remarks": remarks,
    }


def _in_time(sample: FileSample) -> list[str]:
    """A caution, where rows of two or more columns depend on those before them."""
    if sample.array:
        return []
    named = [(quoted([name]), select(sample, (name,))) for name in sample.columns]
    return [*serial_cautions(named, least=2, remedy="add columns of earlier rows to the file")]


def _write_report(
    report: Path, learnt: CausalGraph, document: dict[str, Any], command: str
) -> None:
    """Write the picture and the table as an HTML page, and say where it is."""
    notes = [*document["cautions"], *learnt.notes, *document["remarks"], f"{_ASSUMED}."]
    facts = {"test": type(learnt.method.test).__name__, "seed": str(document["seed"])}
    (name,) = display_names([document["file"]["name"]])
    write_page(report, graph_report(learnt, name=name, facts=facts, notes=notes, again=command))


def _text(learnt: CausalGraph, document: dict[str, Any], show_all: bool) -> str:
    """How many edges there are, a table of them, and what they rest on."""
    directed = sum(edge.directed for edge in learnt.edges)
    verdict = (
        f"{len(learnt)} edge{'' if len(learnt) == 1 else 's'} between {len(learnt.names)} columns, {directed} of them directed "
        f"(level {document['level']:g}, {learnt.tests:,} test{'' if learnt.tests == 1 else 's'}, {learnt.size:,} rows)."
    )
    table = _edge_table(learnt.edges, show_all) if learnt.edges else []
    remarks = [*learnt.notes, *document["remarks"], *([_ASSUMED] if directed else [])]
    return "\n".join(
        [
            bold(wrapped(verdict)),
            *map(wrapped, document["cautions"]),
            "",
            *table,
            *note_lines(remarks),
        ]
    )


def _edge_table(edges: Sequence[GraphEdge], show_all: bool) -> list[str]:
    """Edges with their largest p-values; how many halves have them, where that is known."""
    shown = edges if show_all else edges[:_EDGES_SHOWN]
    names = [_edge_name(edge) for edge in shown]
    width, halves = max(4, *map(len, names)), edges[0].frequency == edges[0].frequency
    lines = [f"  {'edge':{width}}  largest p  corrected p{'  halves' if halves else ''}"]
    for name, edge in zip(names, shown, strict=True):
        share = f"  {edge.frequency:.0%}" if halves else ""
        lines.append(
            f"  {name:{width}}  {edge.pvalue:<9.3g}  {edge.corrected:<11.3g}{share}".rstrip()
        )
    if len(edges) > len(shown):
        lines.append(f"  and {len(edges) - len(shown):,} more (--all shows them)")
    return lines


def _edge_name(edge: GraphEdge) -> str:
    return f"{short(edge.first, 24)} {'->' if edge.directed else '--'} {short(edge.second, 24)}"
