"""python -m benchmarks.reproductions.conditional_grid: level and power of the default conditional test.

Null runs of `KernelGCM` at level 0.05 on the grid of tests/support/htest_conditional_grid.py, and its power beside
that of `KCI`, `RCoT` and `GCM`. ``--runs 400 --workers 16 --seconds 500 --sizes 100 300`` adds runs until the time
is over; what was done before is kept, and the record is written every minute. Set ``OMP_NUM_THREADS=1``. A round of
ten runs of every cell takes 1, 5 and 30 core minutes at n = 100, 300 and 1,000.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from mercer.htest import GCM, KCI, KernelGCM, RCoT
from tests.support.htest_conditional_grid import ALTERNATIVES, PROBLEMS, SIZES

RESULTS = Path(__file__).parents[1] / "results" / "conditional_grid.json"
BATCH = 10  # runs of one task
SAVE_EVERY = 60.0  # seconds
RIVALS = {"KCI": KCI(), "RCoT": RCoT(), "GCM": GCM()}
NULLS = {problem.name: problem for problem in PROBLEMS}
POWER = {problem.name: problem for problem in ALTERNATIVES}


def batch(kind: str, name: str, n: int, test: str, first: int) -> dict[str, float]:
    """Ten runs from a seed on: rejections, conservative p-values, and seconds of processor."""
    problem = (NULLS if kind == "null" else POWER)[name]
    chosen = RIVALS.get(test, KernelGCM())
    rejected = conservative = 0
    start = time.process_time()
    for seed in range(first, first + BATCH):
        rng = np.random.default_rng([seed, n, sum(map(ord, name))])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = chosen.test(*problem.draw(rng, n), rng=seed)
        rejected += result.rejects(0.05)
        diagnosis = getattr(result, "diagnosis", None)
        conservative += diagnosis is not None and not diagnosis.trusted
    seconds = time.process_time() - start
    return {"runs": BATCH, "rejected": rejected, "conservative": conservative, "seconds": seconds}


def tasks(store: dict[str, Any], runs: int, sizes: list[int], only: str) -> list[tuple]:
    """What is left to do, a round of ten runs of every cell after the other."""
    cells = [("null", name, n, "KernelGCM") for n in sizes for name in NULLS]
    cells += [
        ("power", name, n, test) for n in sizes for name in POWER for test in ("KernelGCM", *RIVALS)
    ]
    cells = [cell for cell in cells if only in "|".join(map(str, cell))]
    left = []
    for done in range(0, runs, BATCH):
        left += [(*c, done) for c in cells if store.get(key(*c), {"runs": 0})["runs"] <= done]
    return left


def key(kind: str, name: str, n: int, test: str) -> str:
    return f"{kind}|{name}|{n}|{test}"


def main() -> int:
    """Run, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--only", default="", help="cells whose name has this in it")
    parser.add_argument("--results", type=Path, default=RESULTS)
    asked = parser.parse_args()
    store = json.loads(asked.results.read_text()) if asked.results.exists() else {}
    run(store, tasks(store, asked.runs, asked.sizes, asked.only), asked)
    save(store, asked.results)
    print(markdown(store))
    return 0


def run(store: dict[str, Any], left: list[tuple], asked: argparse.Namespace) -> None:
    """Do what is left until the time is over; batches that have begun by then are finished."""
    queue = iter(left)
    end, saved = time.monotonic() + asked.seconds, time.monotonic()
    with ProcessPoolExecutor(asked.workers) as pool:
        running: dict[Any, str] = {}
        while True:
            while len(running) <= asked.workers and time.monotonic() < end:
                task = next(queue, None)
                if task is None:
                    break
                running[pool.submit(batch, *task)] = key(*task[:4])
            if not running:
                break
            done = next(as_completed(running))
            entry = store.setdefault(running.pop(done), dict.fromkeys(done.result(), 0))
            for field, value in done.result().items():
                entry[field] += value
            if time.monotonic() - saved > SAVE_EVERY:
                save(store, asked.results)
                saved = time.monotonic()


def save(store: dict[str, Any], results: Path) -> None:
    """Write the record and its tables."""
    results.write_text(json.dumps(store, indent=0, sort_keys=True) + "\n")
    results.with_suffix(".md").write_text(markdown(store))


def markdown(store: dict[str, Any]) -> str:
    """Tables of levels and of power."""
    from scipy.stats import binom

    lines = ["# Level and power of conditional independence tests on a grid not tuned on", ""]
    for n in sorted({int(k.split("|")[2]) for k in store}):
        nulls = {
            k.split("|")[1]: v for k, v in store.items() if k.startswith("null|") and f"|{n}|" in k
        }
        rates = {name: v["rejected"] / v["runs"] for name, v in nulls.items()}
        over = {
            name: rate
            for name, rate in rates.items()
            if nulls[name]["rejected"] > binom.ppf(0.9995, nulls[name]["runs"], 0.05)
        }
        wary = [name for name, v in nulls.items() if v["conservative"] / v["runs"] > 0.5]
        runs = sorted({v["runs"] for v in nulls.values()}) or [0]
        lines += [
            f"## {n:,} observations",
            "",
            f"{len(nulls)} nulls of {runs[0]} to {runs[-1]} runs: {len(over)} above the 99.9% band of "
            f"level 0.05, mean rate {np.mean(list(rates.values()) or [0]):.3f}; in {len(wary)} the "
            "p-value of most runs is conservative (a bias bound above one standard error).",
            "",
            *[
                f"* above: {name}: {rate:.3f} of {nulls[name]['runs']}"
                for name, rate in over.items()
            ],
            f"Conservative: {'; '.join(sorted(wary)) or 'none'}.",
            "",
        ]
        names = [name for name in POWER if f"power|{name}|{n}|KernelGCM" in store]
        if names:
            tests = ("KernelGCM", *RIVALS)
            lines += [f"| power | {' | '.join(tests)} |", "|---" * (len(tests) + 1) + "|"]
        for name in names:
            entries = [store.get(f"power|{name}|{n}|{test}") for test in ("KernelGCM", *RIVALS)]
            cells = ["" if e is None else f"{e['rejected'] / e['runs']:.2f}" for e in entries]
            lines.append(f"| {name} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
