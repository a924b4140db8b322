"""python -m benchmarks.scoreboard.run_contest NAME [--shared] [--largest N]: one contest in a process of its own, as JSON."""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from contextlib import redirect_stdout
from typing import Any

from benchmarks.scoreboard.contest import OURS, SIZES, Call, Contest, Peer
from benchmarks.scoreboard.contests import CONTESTS
from benchmarks.scoreboard.measure import Clock, Repeated, Warm, best, clock, warm

_COMPILING = 6.0  # seconds of a first call of ours that may be compilation
_PATIENCE = 60.0  # seconds of a call of ours, beyond which a size is given up


def run(contest: Contest, now: Clock, largest: int) -> dict[str, Any]:
    """First call, every cell, and how far each peer went."""
    record: dict[str, Any] = {"name": contest.name, "work": contest.work}
    record["first_call"] = _first_call(contest, now)
    record["missing"] = [peer.library for peer in contest.peers if not peer.installed]
    record["cells"], record["stopped"] = [], []
    for d in contest.dims:
        _one_dimension(contest, d, now, largest, record)
    return record


def _first_call(contest: Contest, now: Clock) -> dict[str, Any]:
    n, d = contest.first_call
    call = Repeated(contest.ours(contest.data(n, d)))
    first, second = call.seconds(now), min(call.seconds(now) for _ in range(2))
    return {"n": n, "d": d, "first": first, "second": second}


def _one_dimension(
    contest: Contest, d: int, now: Clock, largest: int, record: dict[str, Any]
) -> None:
    """Ascend through the sizes until no peer is left."""
    playing = [peer for peer in contest.peers if peer.installed]
    costs: dict[str, list[tuple[int, float]]] = {}
    for n in (size for size in contest.sizes if size <= largest):
        for name in [peer.library for peer in playing]:
            expected = _expected(costs.get(name, []), n)
            if expected > contest.limit:
                playing = [peer for peer in playing if peer.library != name]
                why = f"a call at {n:,} would take about {expected:.0f} s"
                record["stopped"].append({"library": name, "d": d, "before": n, "why": why})
        expected = _expected(costs.get(OURS, []), n)
        if not playing or expected > _PATIENCE:
            if playing:
                why = f"a call at {n:,} would take about {expected:.0f} s"
                record["stopped"].append({"library": OURS, "d": d, "before": n, "why": why})
            return
        cell, spent = _cell(contest, playing, n, d, now)
        record["cells"].append(cell)
        for name, seconds in spent.items():
            costs.setdefault(name, []).append((n, seconds))
        for name, error in cell["errors"].items():
            playing = [peer for peer in playing if peer.library != name]
            record["stopped"].append({"library": name, "d": d, "before": n, "why": error})


def _expected(costs: list[tuple[int, float]], n: int) -> float:
    """Seconds of a call at the next size, from the growth between the two before (at most cubic)."""
    if not costs:
        return 0.0
    power = 2.0
    if len(costs) > 1:
        (a, quick), (b, slow) = costs[-2:]
        power = min(max(math.log(slow / quick) / math.log(b / a), 1.0), 3.0)
    size, seconds = costs[-1]
    return seconds * (n / size) ** power


def _cell(
    contest: Contest, playing: list[Peer], n: int, d: int, now: Clock
) -> tuple[dict[str, Any], dict[str, float]]:
    """All contenders at one size, and seconds that each needs at least."""
    data = contest.data(n, d)
    calls: dict[str, tuple[Any, int]] = {OURS: (contest.ours, 0)}
    calls |= {peer.library: (peer.prepare, peer.resamples) for peer in playing}
    ready: dict[str, Warm] = {}
    errors: dict[str, str] = {}
    for name, (prepare, resamples) in calls.items():
        try:
            call: Call = prepare(data)
            patience = _COMPILING if name == OURS else 1.0
            ready[name] = warm(call, resamples, now, patience=patience)
        except Exception as error:  # a peer may fail in any way, and the others go on
            errors[name] = f"{type(error).__name__}: {error}"[:200]
    agreement = _agreement(playing, ready)
    seconds, rounds = best(ready, now)
    cell = {
        "n": n,
        "d": d,
        "seconds": {name: float(f"{each:.4g}") for name, each in seconds.items()},
        "memory": {name: each.memory for name, each in ready.items()},
        "rounds": rounds,
        "scaled": [name for name, each in ready.items() if each.scaled],
        "agreement": agreement,
        "errors": errors,
    }
    return cell, {name: each.least for name, each in ready.items()}


def _agreement(playing: list[Peer], ready: dict[str, Warm]) -> dict[str, str]:
    """By peer, "yes" or how the answers differ; nothing where they are not comparable."""
    outcome = {}
    for peer in playing:
        if peer.agrees is None or peer.library not in ready or OURS not in ready:
            continue
        try:
            peer.agrees(ready[OURS].answer, ready[peer.library].answer)
            outcome[peer.library] = "yes"
        except AssertionError as error:
            outcome[peer.library] = " ".join(str(error).split())[:300]
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=sorted(CONTESTS))
    parser.add_argument("--shared", action="store_true")
    parser.add_argument("--largest", type=int, default=SIZES[-1])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with redirect_stdout(sys.stderr):  # peers print, too
        record = run(CONTESTS[options.name], clock(options.shared), options.largest)
    print(json.dumps(record))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
