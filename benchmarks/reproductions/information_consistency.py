"""python -m benchmarks.reproductions.information_consistency: does the error of estimated information vanish as n grows?

Entropies, Kullback-Leibler divergences and mutual information by the estimators of `mercer.info`, on samples whose true
value is known: mean absolute errors at n = 200, 800 and 3,200, and the exponent of n that fits them. ``--workers 16``
runs cells side by side; ``--only "entropy, Gaussian"`` does a part. It goes on where it stopped.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.reproductions.information_problems import PROBLEMS
from benchmarks.reproductions.plan import Plan
from benchmarks.reproductions.records import Record, Store, heading, table
from mercer.info import Estimator, Parametric

SIZES, RUNS = (200, 800, 3200), 100
SLOWEST = -0.1  # the exponent above which an error that shrinks does so slowly


def label(estimator: Estimator | None) -> str:
    """An estimator as a reader would write it, without what is the default."""
    if isinstance(estimator, Parametric):
        return "Parametric()"
    return "default" if estimator is None else re.sub(r"\w+=None", "", repr(estimator))


def estimators(problem: str) -> dict[str, Estimator | None]:
    """The estimators of a problem by their names on the page."""
    return {label(estimator): estimator for estimator in PROBLEMS[problem].estimators}


ROWS = [(problem, name) for problem in PROBLEMS for name in estimators(problem)]
KEYS = [f"{problem}; {name}; {n}" for n in SIZES for problem, name in ROWS]


def once(key: str, seed: int) -> dict[str, Any]:
    """Run number `seed` of a cell: the error, its absolute value and its square; estimators share the samples."""
    problem, name, size = key.split("; ")
    rng = np.random.default_rng([seed, int(size), zlib.crc32(problem.encode())])
    error = PROBLEMS[problem].error(estimators(problem)[name], int(size), rng)
    return {"signed": error, "absolute": abs(error), "squared": error**2}


def markdown(store: Store) -> str:
    """A summary, and one row for each problem and estimator."""
    rows = list(_rows(store["cells"]))
    command = "python -m benchmarks.reproductions.information_consistency"
    lines = heading("Consistency of entropies, divergences and mutual information", command)
    lines += ["", *_summary(rows), "", *table(rows), ""]
    lines += [
        "Errors: mean absolute errors in nats. Exponent: that of n in the line fitted to their logarithms; -0.5 is the rate",
        "of a mean. Shrinks: the error falls from the smallest n to the largest by more than two standard errors of the",
        f"difference; slowly, with an exponent above {SLOWEST}. Stalls: so it does, but not from the second n to the largest. NO:",
        "it does not fall by that much. Not meant to: an approximation that is right near a Gaussian, on data that are not.",
        "Bias: mean error at the largest n. Milliseconds of processor time, at the largest n. Estimators of a problem see the",
        "same samples. Consistency is a limit: a case that stalls here may go on at larger n.",
    ]
    return "\n".join(lines) + "\n"


def _summary(rows: list[dict[str, str]]) -> list[str]:
    meant = [row for row in rows if row["shrinks"] != "not meant to"]
    yes = sum(row["shrinks"] == "yes" for row in meant)
    lines = [f"The error shrinks in {yes} of {len(meant)} cases where it should; the others:", ""]
    return lines + [
        f"* {verdict}: {row['problem']}, by {row['estimator']}"
        for verdict in ("slowly", "stalls", "NO")
        for row in meant
        if row["shrinks"] == verdict
    ]


def _rows(cells: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for problem, name in ROWS:
        entries = [cells.get(f"{problem}; {name}; {n}", {"runs": 0}) for n in SIZES]
        if not all(entry["runs"] for entry in entries):
            continue
        errors = [entry["absolute"] / entry["runs"] for entry in entries]
        last = entries[-1]
        yield {
            "problem": problem,
            "estimator": name,
            "true value": f"{PROBLEMS[problem].truth:.4f}",
            **{f"n = {n:,}": f"{error:.4f}" for n, error in zip(SIZES, errors, strict=True)},
            "exponent": f"{exponent(errors):.2f}",
            "shrinks": _verdict(problem, name, entries),
            "bias": f"{last['signed'] / last['runs']:+.4f}",
            "runs": str(min(entry["runs"] for entry in entries)),
            "ms": f"{1000 * last['seconds'] / last['runs']:.0f}",
        }


def exponent(errors: list[float]) -> float:
    """The slope of the logarithms of the errors in those of the sample sizes."""
    return float(np.polyfit(np.log(SIZES), np.log(np.maximum(errors, 1e-300)), 1)[0])


def _verdict(problem: str, name: str, entries: list[Mapping[str, Any]]) -> str:
    if estimators(problem)[name] in PROBLEMS[problem].approximations:
        return "not meant to"
    errors = [entry["absolute"] / entry["runs"] for entry in entries]
    noise = sum(_variance(entry) for entry in (entries[0], entries[-1])) ** 0.5
    if errors[0] - errors[-1] <= 2 * noise:
        return "NO"
    if errors[-1] >= errors[-2]:
        return "stalls"
    return "yes" if exponent(errors) <= SLOWEST else "slowly"


def _variance(entry: Mapping[str, Any]) -> float:
    """The squared standard error of a mean absolute error; infinite for a single run."""
    runs = entry["runs"]
    if runs < 2:
        return np.inf
    return max(entry["squared"] / runs - (entry["absolute"] / runs) ** 2, 0.0) / (runs - 1)


RECORD = Record("information_consistency", markdown)
PLAN = Plan(RECORD, once, lambda _: dict.fromkeys(KEYS, RUNS))

if __name__ == "__main__":
    raise SystemExit(PLAN.main(__doc__))
