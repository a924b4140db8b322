"""python -m benchmarks.reproductions.conditional_peers: power of causal-learn's KCI on the alternatives of the conditional grid.

KCI of causal-learn with its defaults (Gaussian kernels of a fixed rule, gamma approximation) beside `KernelGCM`, and the
level of both on the null of the same z and effects, since power counts only where the level is held. It needs
causal-learn. ``--runs 100 --workers 16 --seconds 500`` runs until the time is over, and prints a table.
"""

from __future__ import annotations

import argparse
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

from mercer.htest import KernelGCM
from tests.support.htest_conditional_grid import ALTERNATIVES, Problem, additive

LEVEL = 0.05


def null_of(alternative: Problem) -> Problem:
    """The same effects and law of z, with independent noise."""
    effect, law, d = alternative.name.split(": ")[1].split(", ")
    return additive(effect, law, int(d))


def once(name: str, null: bool, n: int, seed: int) -> tuple[bool, bool]:
    """Whether causal-learn's KCI and `KernelGCM` reject."""
    from causallearn.utils.cit import CIT

    problem = next(p for p in ALTERNATIVES if p.name == name)
    problem = null_of(problem) if null else problem
    x, y, z = problem.draw(np.random.default_rng([seed, n, sum(map(ord, name)), int(null)]), n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = CIT(np.column_stack([x, y, z]), "kci")(0, 1, list(range(2, 2 + z.shape[1])))
        ours = KernelGCM().test(x, y, z).pvalue
    return bool(theirs <= LEVEL), bool(ours <= LEVEL)


def main() -> int:
    """Run, and print the rates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=500.0)
    parser.add_argument("--n", type=int, default=300)
    asked = parser.parse_args()
    end = time.monotonic() + asked.seconds
    cells = [(p.name, null) for p in ALTERNATIVES for null in (True, False)]
    counts: dict[tuple[str, bool], list[Any]] = {cell: [] for cell in cells}
    with ProcessPoolExecutor(asked.workers) as pool:
        for seed in range(asked.runs):
            if time.monotonic() > end:
                break
            runs = zip(*((*cell, asked.n, seed) for cell in cells), strict=True)
            for cell, outcome in zip(cells, pool.map(once, *runs), strict=True):
                counts[cell].append(outcome)
    print(f"n = {asked.n}, {len(counts[cells[0]])} runs, level {LEVEL:g}")
    print(
        "| alternative | KCI level | KernelGCM level | KCI power | KernelGCM power |\n|---|---|---|---|---|"
    )
    for problem in ALTERNATIVES:
        rates = [np.mean(counts[problem.name, null], axis=0) for null in (True, False)]
        print(f"| {problem.name} | {' | '.join(f'{r:.2f}' for pair in rates for r in pair)} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
