"""The scoreboard in words: tables of ratios, losses, first calls, memory and growth, and the bars."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from benchmarks.report import Bar, Table, worst
from benchmarks.scoreboard.board import EXCESS, Board
from benchmarks.scoreboard.contest import OURS, RIVALS, SIZES

MIB = 2**20


def tables(board: Board) -> list[Table]:
    return [
        _losses(board),
        _failures(board),
        _ratios(board),
        _seconds(board),
        _memory(board),
        _first_calls(board),
        *(_growth(kind, entries) for kind, entries in board.growth.items()),
        _ends(board),
        Table("Versions of the peers", [board.peers]),
    ]


def bars(board: Board) -> list[Bar]:
    """The promises of the scoreboard; those without a cell are left out."""
    return [
        *_at_least("no peer is faster: " + ", ".join(RIVALS), 1.0, board, peers=RIVALS),
        *_at_least("SVC fit, 2,000 to 5,000 points", 1.5, board, "SVC fit", sizes=(2000, 5000)),
        *_at_least("SVC fit, 20,000 points", 3.0, board, "SVC fit", sizes=(20_000,)),
        *_at_least("SVC on iris", 1.0, board, "SVC iris"),
        *_at_least("SVC on digits", 1.0, board, "SVC digits"),
        *_at_least("KernelPCA fit", 1.3, board, "KernelPCA fit"),
        *worst("first call less second call, seconds", EXCESS, _excesses(board)),
    ]


def _at_least(
    promise: str,
    wanted: float,
    board: Board,
    name: str | None = None,
    *,
    sizes: tuple[int, ...] = (),
    peers: tuple[str, ...] = ("scikit-learn",),
) -> list[Bar]:
    figures = (
        (f"{contest}, {peer}, n = {cell['n']:,}, d = {cell['d']}", ratio)
        for contest, cell, peer, ratio in board.cells
        if peer in peers and name in (None, contest) and (not sizes or cell["n"] in sizes)
    )
    return worst(promise, wanted, figures, at_least=True)


def _excesses(board: Board) -> Iterable[tuple[str, float]]:
    for name, record in board.contests.items():
        if first := record.get("first_call"):
            yield name, first["first"] - first["second"]


# ---- tables ---------------------------------------------------------------------------------


def _losses(board: Board) -> Table:
    rows = [
        {
            "method": name,
            "peer": peer,
            "n": cell["n"],
            "d": cell["d"],
            "ratio": ratio,
            "mercer, ms": 1000 * cell["seconds"][OURS],
            "peer, ms": 1000 * cell["seconds"][peer],
        }
        for name, cell, peer, ratio in sorted(board.cells, key=lambda each: each[3])
        if ratio < 1
    ]
    number = sum(1 for _ in board.cells)
    note = f"All cells with a ratio below 1, worst first: {len(rows)} of {number}."
    return Table("Where a peer is faster", rows or [{"method": "nowhere"}], note)


def _failures(board: Board) -> Table:
    """Answers that differ, and calls that ended in an error."""
    rows = []
    for name, record in board.contests.items():
        if "failed" in record:
            rows.append({"method": name, "what": f"did not run: {record['failed']}"})
        for cell in record["cells"]:
            place = {"method": name, "n": cell["n"], "d": cell["d"]}
            for peer, answer in cell["agreement"].items():
                if answer != "yes":
                    rows.append(place | {"what": f"differs from {peer}: {answer}"})
            if OURS in cell["errors"]:
                rows.append(place | {"what": f"mercer: {cell['errors'][OURS]}"})
    return Table("Answers that differ, and errors", rows)


def _pivoted(board: Board, value: Any) -> list[dict[str, Any]]:
    """A row for each method, peer and dimension, a column for each size."""
    rows: dict[tuple[str, str, int], dict[str, Any]] = {}
    for name, cell, peer, ratio in board.cells:
        row = rows.setdefault(
            (name, peer, cell["d"]), {"method": name, "peer": peer, "d": str(cell["d"])}
        )
        row[f"{column(cell['n']):,}"] = value(cell, peer, ratio)
    sizes = [f"{n:,}" for n in SIZES]
    return [
        {key: row.get(key) for key in ("method", "peer", "d", *sizes)}
        for key_, row in sorted(rows.items(), key=lambda item: _order(board, item[0]))
    ]


def _order(board: Board, key: tuple[str, str, int]) -> tuple[int, int, str]:
    return list(board.contests).index(key[0]), key[2], key[1]


def column(n: int) -> int:
    """The size of the scoreboard next to n: data sets have sizes of their own."""
    return min(SIZES, key=lambda size: abs(size - n))


def _ratios(board: Board) -> Table:
    clock = "processor time of one thread" if board.shared else "time on the clock, all cores"
    note = (
        f"The peer's seconds over mercer's, by {clock}; above 1 mercer is faster. n is the number of points, in "
        "each sample where there are several. Empty: the peer was stopped (see below). "
        f"Measured in {board.minutes:g} minutes."
    )
    return Table("Ratios", _pivoted(board, lambda cell, peer, ratio: ratio), note)


def _seconds(board: Board) -> Table:
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    for name, record in board.contests.items():
        for cell in record["cells"]:
            if OURS in cell["seconds"]:
                start = {"method": name, "d": str(cell["d"])} | dict.fromkeys(map(_size, SIZES))
                row = rows.setdefault((name, cell["d"]), start)
                row[_size(column(cell["n"]))] = 1000 * cell["seconds"][OURS]
    return Table("Milliseconds of mercer", list(rows.values()), "Times of a second or later call.")


def _size(n: int) -> str:
    return f"{n:,}"


def _memory(board: Board) -> Table:
    """At the largest size of each contest that ours and the peer have in common."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for name, cell, peer, _ in board.cells:
        ours, theirs = cell["memory"].get(OURS), cell["memory"].get(peer)
        if ours is not None and theirs is not None:
            rows[name, peer] = {
                "method": name,
                "peer": peer,
                "n": cell["n"],
                "d": cell["d"],
                "mercer, MiB": ours / MIB,
                "peer, MiB": theirs / MIB,
            }
    note = "The most that a call took in addition to its inputs."
    return Table("Memory at the largest size of both", list(rows.values()), note)


def _first_calls(board: Board) -> Table:
    rows = []
    for name, record in board.contests.items():
        if first := record.get("first_call"):
            more = first["first"] - first["second"]
            row = {"method": name, "n": first["n"], "d": first["d"]}
            row |= {"first, s": first["first"], "second, s": first["second"], "more, s": more}
            rows.append(row | {"holds": "yes" if more <= EXCESS else "NO"})
    rows.sort(key=lambda row: -row["more, s"])
    return Table("First call of a fresh process", rows, "Caches on disk are warm.")


def _growth(kind: str, entries: dict[str, Any]) -> Table:
    rows = []
    for name, entry in entries.items():
        if not isinstance(entry, dict):
            rows.append({"entry": str(entry)})
            continue
        sizes = {int(n): t for n, t in entry["seconds"].items()}
        row: dict[str, Any] = {"entry": f"`{name}`", "exponent": entry["exponent"]}
        if sizes:
            largest = max(sizes)
            row |= {"largest n": largest, "seconds": sizes[largest]}
        rows.append(row | {"ended": entry["ended"].replace("\n", " ")})
    rows.sort(key=lambda row: -(row.get("exponent") or 0.0))
    note = "Seconds grow as n to this power, fitted at the three largest sizes."
    return Table(f"Growth of all {kind}", rows, note)


def _ends(board: Board) -> Table:
    """How far every peer went, and peers that are not installed."""
    rows = []
    for name, record in board.contests.items():
        for stop in record["stopped"]:
            row = {"method": name, "library": stop["library"], "d": stop["d"]}
            rows.append(row | {"not at": stop["before"], "why": stop["why"]})
        rows += [
            {"method": name, "library": peer, "why": "not installed"}
            for peer in record.get("missing", [])
        ]
    return Table("How far the peers went", rows)
