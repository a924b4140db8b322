"""python -m benchmarks.reproductions.default_power: power of the default tests beside other libraries.

Twelve alternatives and a null for `two_sample` and for `independence` (`default_problems.py`), level
0.05; the peers (`default_peers.py`) see the same observations. ``--door independence --runs 100
--seconds 300`` does a part; what was done before is kept. ``--workers 4`` runs cells in processes.
It needs hyppo, dcor, SciPy and statsmodels.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

import mercer
from benchmarks.reproductions import default_peers as peers
from benchmarks.reproductions import default_problems as problems
from benchmarks.reproductions.plan import Plan
from benchmarks.reproductions.records import (
    Record,
    Store,
    arguments,
    band,
    heading,
    rate,
    rounds,
    table,
    timed,
)

LEVEL, MARGIN = 0.05, 0.03  # a default may be so far behind the best peer
MIN_RUNS = (
    50  # of a peer that is a yardstick; with fewer the standard error of its rate is above 0.07
)
SLOW = ("MGC", "HHG (hyppo)")  # peers
MERCER = "mercer"
NULL_OF = "null of "  # an alternative: two samples of its first law
DOORS = {
    "two_sample": (mercer.two_sample, problems.TWO_SAMPLE, peers.TWO_SAMPLE),
    "independence": (mercer.independence, problems.INDEPENDENCE, peers.INDEPENDENCE),
}


def main() -> int:
    options = _arguments()
    store = RECORD.load(options.results)
    if options.forget:
        store["cells"] = {k: e for k, e in store["cells"].items() if not k.endswith(f"/{MERCER}")}
    keys = list(_cells(options))
    turns = rounds(store, keys, options.runs)
    RECORD.run(store, turns, once, options.seconds, options.results, options.workers)
    print(_markdown(store))
    return 0


def _arguments() -> argparse.Namespace:
    parser = arguments(__doc__, runs=200)
    parser.add_argument("--door", nargs="*", choices=[*DOORS], default=[*DOORS])
    names = [*problems.TWO_SAMPLE]
    parser.add_argument("--problem", nargs="*", default=names, help="or 'null of mixture', ...")
    parser.add_argument("--tests", nargs="*", help="mercer and names of peers; all by default")
    parser.add_argument("--forget", action="store_true", help="run mercer's tests again")
    return parser.parse_args()


def _cells(options: argparse.Namespace) -> Iterable[str]:
    for door in options.door:
        for problem in options.problem:
            for test in (MERCER, *DOORS[door][2]):
                if options.tests is None or test in options.tests:
                    yield f"{door}/{problem}/{test}"


def _wanted(_: Store) -> dict[str, int]:
    """200 runs, 100 of a peer that takes seconds; of the alternatives only those that have a table."""
    return {
        f"{door}/{problem}/{test}": 100 if test in SLOW else 200
        for door in DOORS
        for problem in problems.TWO_SAMPLE
        for test in (MERCER, *DOORS[door][2])
    }


def once(key: str, seed: int) -> dict[str, Any]:
    """One run of a cell; observations depend on door, problem and seed alone."""
    door, problem, test = key.split("/")
    ours, _, theirs = DOORS[door]
    pair = _observations(door, problem, seed)
    start = zlib.crc32(f"{key}/{seed}".encode())
    if test == MERCER:
        pvalue, seconds = timed(lambda: ours(*pair, rng=start).pvalue)
    else:
        pvalue, seconds = timed(lambda: peers.pvalue(theirs[test], pair, start))
    if pvalue is None:
        return {"rejections": 0, "refused": 1, "seconds": seconds}
    return {"rejections": int(pvalue <= LEVEL), "seconds": seconds}


@lru_cache(maxsize=4)
def _observations(door: str, problem: str, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng([seed, zlib.crc32(f"{door}/{problem}".encode())])
    if problem.startswith(NULL_OF):
        alternative = DOORS[door][1][problem.removeprefix(NULL_OF)]
        return alternative(rng)[0], alternative(rng)[0]
    return DOORS[door][1][problem](rng)


# ---- the printed page -----------------------------------------------------------------------


def _rows(cells: dict[str, Any], door: str) -> Iterator[dict[str, str]]:
    for problem in DOORS[door][1]:
        rates = {
            test: rate(entry)
            for test in (MERCER, *DOORS[door][2])
            if (entry := cells.get(f"{door}/{problem}/{test}"))
            and entry["runs"]
            and not entry.get("refused")
        }
        ours = cells.get(f"{door}/{problem}/{MERCER}")
        others = {test: value for test, value in rates.items() if test != MERCER}
        off = [test for test in others if not _holds(cells.get(f"{door}/null/{test}"))]
        few = [t for t in others if cells[f"{door}/{problem}/{t}"]["runs"] < MIN_RUNS]
        if ours is None or not others:
            continue
        fair = {test: value for test, value in others.items() if test not in (*off, *few)}
        yield _row(problem, ours, fair) | {
            test: _told(others[test], test in off, test in few) if test in others else ""
            for test in DOORS[door][2]
        }


def _told(value: float, off: bool, few: bool) -> str:
    """The rate of a peer, and why it is no yardstick."""
    return f"{value:.3f}{' (off)' if off else ''}{' (few runs)' if few else ''}"


def _holds(null: dict[str, Any] | None) -> bool:
    """Whether the level is in the band of the rate under the null, or above it."""
    return not null or not null["runs"] or band(null["rejections"], null["runs"])[0] <= LEVEL


def _row(problem: str, ours: dict[str, Any], others: dict[str, float]) -> dict[str, str]:
    best, verdict = max(others, key=lambda test: others[test], default=""), ""
    if problem == "null":
        low, high = band(ours["rejections"], ours["runs"])
        best, verdict = "", "holds" if low <= LEVEL <= high else "OFF"
    elif best:
        behind = others[best] - rate(ours)
        verdict = "ahead" if behind < 0 else "within 0.03" if behind <= MARGIN + 1e-9 else "BEHIND"
    return {
        "alternative": problem,
        "runs": str(ours["runs"]),
        MERCER: f"{rate(ours):.3f}",
        "best peer": best,
        "its rate": f"{others[best]:.3f}" if best else "",
        "so that mercer is": verdict,
    }


def _runs(cells: dict[str, Any], door: str) -> str:
    """Number of runs of every test, the least over its alternatives."""
    numbers = {
        test: [
            e["runs"]
            for key, e in cells.items()
            if key.startswith(door) and key.endswith(f"/{test}")
        ]
        for test in (MERCER, *DOORS[door][2])
    }
    return ", ".join(f"{test} {min(runs)}" for test, runs in numbers.items() if runs) or "none"


def _markdown(store: Store) -> str:
    lines = heading(
        "Power of the default tests", "python -m benchmarks.reproductions.default_power"
    )
    for door in DOORS:
        lines += ["", f"## {door}", "", *table(_rows(store["cells"], door))]
        lines += ["", f"Runs of a cell: {_runs(store['cells'], door)}."]
    lines += [
        "",
        "Rates of rejection at level 0.05, 100 observations (of each sample, or of both variables), the same",
        "for every test. An empty cell: the test does not take such data. The null is judged by the 95% band",
        "of its rate. No yardstick: a peer whose rate there is above its band (off), and one with few runs.",
        "MGC and HHG of hyppo take seconds a run. Peers have 199 permutations or their own limits, mercer's",
        "defaults 999 permutations. Effects were chosen by theory and a pilot of the peers, and mercer's",
        "weights on other problems (see `SHARES` in mmdagg.py and hsicagg.py). Part of the runs of MGC, HSIC,",
        "MMD, RV and CCA were made on another machine with the same seeds. Standard errors are at most 0.035 with 200",
        "runs and 0.05 with 100, and 0.015 where a rate of 200 runs is 0.05.",
    ]
    margins = _levels_on_margins(store["cells"])
    if margins:
        lines += [
            "",
            "Peers on two samples of the first law of an alternative reject:",
            "",
            *margins,
        ]
    return "\n".join(lines) + "\n"


def _levels_on_margins(cells: dict[str, Any]) -> list[str]:
    keys = (key.split("/") for key in sorted(cells) if key.split("/")[1].startswith(NULL_OF))
    return [
        f"* {test}, {problem.removeprefix(NULL_OF)}: {rate(entry):.3f} of {entry['runs']} runs"
        for door, problem, test in keys
        if (entry := cells[f"{door}/{problem}/{test}"])["runs"]
    ]


RECORD = Record("default_power", _markdown)
PLAN = Plan(RECORD, once, _wanted, needs=("hyppo", "dcor", "statsmodels"))

if __name__ == "__main__":
    raise SystemExit(main())
