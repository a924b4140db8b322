"""Level of `drift`: how often batches of the law of the reference are called drifted, with one reference for all of them.

    python -m benchmarks.reproductions.drift_level [--references 200] [--batches 6] [--kept 12] [--more 60]

Writes benchmarks/results/drift_level.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.stats import binom

from mercer import config
from mercer.htest import BenjaminiHochberg, two_sample

RESULT = Path(__file__).parents[1] / "results" / "drift_level.md"
LEVEL, REFERENCE, BATCH = 0.05, 120, 80  # rows
LAWS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "3 normal columns": lambda rng, n: rng.normal(size=(n, 3)),
    "2 columns with heavy tails, rounded": lambda rng, n: rng.standard_t(2, (n, 2)).round(1),
}


def pvalues(law: str, batches: int, seed: int) -> np.ndarray:
    """P-values of batches of the law of the reference, which all share it: (batches,)."""
    rng = np.random.default_rng((seed, batches))
    reference = LAWS[law](rng, REFERENCE)
    return np.array(
        [
            two_sample(reference, LAWS[law](rng, BATCH), rng=rng, resamples=999).pvalue
            for _ in range(batches)
        ]
    )


def rates(law: str, references: int, batches: int) -> str:
    """A row of the first table: rates over all batches, and over references."""
    p = np.array([pvalues(law, batches, seed) for seed in range(references)])
    corrected = np.array([BenjaminiHochberg().adjusted(row) for row in p])
    called = corrected <= LEVEL
    low, high = binom.interval(0.99, references, LEVEL)
    text = (
        f"| {law} | {batches} | {np.mean(p <= LEVEL):.1%} | {called.mean():.1%} | {called.any(axis=1).mean():.1%} "
        f"({low / references:.1%} to {high / references:.1%}) | {np.mean(called.sum(axis=1) >= 2):.1%} |"
    )
    print(text, flush=True)
    return text


def by_reference(law: str, kept: int, more: int) -> str:
    """A row of the second table: how much the rate differs from one reference to another."""
    rates = np.array([np.mean(pvalues(law, more, 10_000 + s) <= LEVEL) for s in range(kept)])
    chance = np.sqrt(LEVEL * (1 - LEVEL) / more)
    text = (
        f"| {law} | {kept} | {more} | {rates.mean():.1%} | {rates.min():.1%} to {rates.max():.1%} | {rates.std(ddof=1):.1%} | "
        f"{chance:.1%} |"
    )
    print(text, flush=True)
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--references", type=int, default=200)
    parser.add_argument("--batches", type=int, nargs="+", default=[3, 6])
    parser.add_argument("--kept", type=int, default=12)
    parser.add_argument("--more", type=int, default=60)
    options = parser.parse_args()
    config(threads=1)
    lines = [
        "# Level of drift",
        "",
        f"Reference of {REFERENCE} rows, batches of {BATCH} rows of the same law, `two_sample` with 999 permutations, {options.references} "
        "references, each with batches of its own. Called drifted: p-values corrected by the method of Benjamini and Hochberg at 0.05. "
        "In brackets the binomial band of 99% around 5%.",
        "",
        "| Law | batches | p at most 0.05 | batches called drifted | references with any called | references with two or more |",
        "|---|---|---|---|---|---|",
        *(rates(law, options.references, b) for law in LAWS for b in options.batches),
        "",
        "Where all batches have the law of the reference, the false-discovery rate is the share of references with any batch called.",
        "",
        "## One reference, many batches",
        "",
        "P-values of batches that share a reference are valid one by one, but depend on each other: an unusual reference is unusual "
        "for all of them. The last column is what chance alone would make.",
        "",
        "| Law | references | batches of each | p at most 0.05 | from one reference to another | standard deviation | by chance |",
        "|---|---|---|---|---|---|---|",
        *(by_reference(law, options.kept, options.more) for law in LAWS),
    ]
    RESULT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
