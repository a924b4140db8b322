"""python -m benchmarks.reproductions.two_sample_power: rejection rates of published problems, again.

Jitkrittum et al. 2016, Figures 2 and 3: level 0.01, J = 5, half of the sample to learn from, the
other half (the size named) for the test. Schrab et al. 2023, perturbed uniforms: level 0.05.

``--problem gvd50 --runs 100 --seconds 300`` does a part; what was done before is kept, so that a
long run can be made of short ones. Rates are compared with those of the published procedure on the
same samples (`procedures.py`), or with the printed ones where there are any.
"""

from __future__ import annotations

import argparse
import json
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import describe
from benchmarks.reproductions import ours, procedures
from benchmarks.reproductions.ours import Pair
from mercer.datasets import (
    Blobs,
    MeanShift,
    PerturbedUniform,
    Problem,
    SameGaussian,
    VarianceShift,
)

RESULTS = Path(__file__).parents[1] / "results"
NAME = "two_sample_power"
FIGURE_2 = (1000, 2000, 3000, 4000, 5000)
Run = Callable[[Pair, Pair, np.random.Generator], float]


@dataclass(frozen=True)
class Study:
    """A problem, the sizes of the test sample, and whether half of the data is for learning."""

    problem: Problem
    sizes: tuple[int, ...]
    level: float = 0.01
    halved: bool = True


STUDIES = {
    "sg50": Study(SameGaussian(50), FIGURE_2),
    "gmd100": Study(MeanShift(100, 1.0), FIGURE_2),
    "gvd50": Study(VarianceShift(50, 2.0), FIGURE_2),
    "blobs": Study(Blobs(4, 5.0, 2.0, angle=0.0), FIGURE_2),  # see Blobs for the angle
}
STUDIES |= {f"gmd{d}": Study(MeanShift(d, 1.0), (10_000,)) for d in (5, 300, 600, 900, 1200, 1500)}
STUDIES |= {
    f"gvd{d}": Study(VarianceShift(d, 2.0), (10_000,)) for d in (5, 100, 200, 300, 400, 500)
}
for d, n, most in ((1, 500, 4), (2, 2000, 3)):
    for p in range(1, most + 1):
        STUDIES[f"uniform{d}-{p}"] = Study(PerturbedUniform(d, p), (n,), 0.05, halved=False)
MAIN = ["gmd100", "gvd50", "blobs", *(name for name in STUDIES if name.startswith("uniform"))]

# Rates of 500 runs each that Schrab et al. printed: Gaussian kernels at 2^-4 ... 2^0 times the
# median, equal weights, permutations (the table of results beside their paper's program).
PRINTED = {
    "uniform1-1": 1.0, "uniform1-2": 0.976, "uniform1-3": 0.348, "uniform1-4": 0.032,
    "uniform2-1": 1.0, "uniform2-2": 0.772, "uniform2-3": 0.002,
}  # fmt: skip
PAIRS: dict[str, tuple[Run, Run]] = {
    "ME optimised": (ours.me_optimised, procedures.me_optimised),
    "SCF optimised": (ours.scf_optimised, procedures.scf_optimised),
    "ME random": (ours.me_random, procedures.me_grid),
    "SCF random": (ours.scf_random, procedures.scf_grid),
    "MMD quadratic": (ours.mmd_quadratic, procedures.quadratic_mmd),
    "MMD linear": (ours.mmd_linear, procedures.linear_mmd),
}
AGGREGATED: dict[str, Run] = {
    "MMDAgg, their kernels": ours.mmdagg_published,
    "MMDAgg, default": ours.mmdagg_default,
}
MERCER, PUBLISHED = "mercer", "published"


def main() -> int:
    told = _arguments()
    cells = list(_cells(told))
    store = _load(told.results)
    started, saved = time.monotonic(), time.monotonic()
    for seed in range(told.runs):
        for study, test, size, by in cells:
            key = f"{study}/{size}/{test}/{by}"
            entry = store.setdefault(key, {"runs": 0, "rejections": 0, "seconds": 0.0})
            if entry["runs"] != seed:
                continue
            _once(entry, study, test, size, by, seed)
            if time.monotonic() - saved > 10:
                _save(store, told.results)
                saved = time.monotonic()
            if time.monotonic() - started > told.seconds:
                break
        if time.monotonic() - started > told.seconds:
            break
    _save(store, told.results)
    print(_markdown(store))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problem", nargs="*", choices=[*STUDIES, []], default=MAIN)
    parser.add_argument(
        "--tests", nargs="*", choices=[*PAIRS, *AGGREGATED, []], default=[*PAIRS, *AGGREGATED]
    )
    parser.add_argument("--sizes", nargs="*", type=int, help="some of the sizes only")
    parser.add_argument("--runs", type=int, default=100, help="runs of each, earlier ones counted")
    parser.add_argument("--seconds", type=float, default=np.inf, help="stop after so long")
    parser.add_argument(
        "--only-mercer", action="store_true", help="without the published procedures"
    )
    parser.add_argument("--results", type=Path, default=RESULTS)
    return parser.parse_args()


def _cells(told: argparse.Namespace) -> Iterable[tuple[str, str, int, str]]:
    for study in told.problem:
        for size in STUDIES[study].sizes:
            if told.sizes and size not in told.sizes:
                continue
            for test in told.tests:
                if (test in PAIRS) == STUDIES[study].halved:
                    yield study, test, size, MERCER
                    if test in PAIRS and not told.only_mercer:
                        yield study, test, size, PUBLISHED


def _once(entry: dict[str, Any], study: str, test: str, size: int, by: str, seed: int) -> None:
    train, sample = _data(study, size, seed)
    run = AGGREGATED[test] if test in AGGREGATED else PAIRS[test][by == PUBLISHED]
    rng = np.random.default_rng([seed, zlib.crc32(f"{test}/{by}".encode())])
    start = time.process_time()
    entry["rejections"] += int(run(train, sample, rng) <= STUDIES[study].level)
    entry["seconds"] += time.process_time() - start
    entry["runs"] += 1


@lru_cache(maxsize=4)
def _data(study: str, size: int, seed: int) -> tuple[Pair, Pair]:
    """Samples to learn from and to test, the same for every test."""
    told = STUDIES[study]
    rng = np.random.default_rng([seed, size, zlib.crc32(study.encode())])
    train = told.problem.sample(size, rng=rng) if told.halved else (np.empty(0), np.empty(0))
    return train, told.problem.sample(size, rng=rng)


# ---- what is told ---------------------------------------------------------------------------


def reaches(rate: float, runs: int, wanted: float, wanted_runs: int) -> bool:
    """Whether a rate is not below another by more than its 99% band (Agresti and Caffo 2000)."""
    p, q = ((r * n + 1) / (n + 2) for r, n in ((rate, runs), (wanted, wanted_runs)))
    error = (p * (1 - p) / (runs + 2) + q * (1 - q) / (wanted_runs + 2)) ** 0.5
    return p + 2.576 * error >= q


def _rows(store: dict[str, Any]) -> Iterable[dict[str, str]]:
    for key, entry in sorted(store.items(), key=lambda item: _order(item[0])):
        study, size, test, by = key.split("/")
        if by != MERCER or not entry["runs"]:
            continue
        other = store.get(f"{study}/{size}/{test}/{PUBLISHED}", {"runs": 0})
        rate, runs = entry["rejections"] / entry["runs"], entry["runs"]
        wanted, wanted_runs = PRINTED.get(study), 500
        if other["runs"]:
            wanted, wanted_runs = other["rejections"] / other["runs"], other["runs"]
        verdict = (
            "" if wanted is None else "yes" if reaches(rate, runs, wanted, wanted_runs) else "NO"
        )
        yield {
            "problem": study,
            "n = m": f"{int(size):,}",
            "test": test,
            "rate": f"{rate:.3f}",
            "runs": str(runs),
            "to reach": "" if wanted is None else f"{wanted:.3f}",
            "of runs": "" if wanted is None else str(wanted_runs),
            "reached": verdict,
            "seconds a run": f"{entry['seconds'] / runs:.2f}",
        }


def _order(key: str) -> tuple[int, int, str]:
    study, size, test, _ = key.split("/")
    return list(STUDIES).index(study), int(size), f"{[*PAIRS, *AGGREGATED].index(test):02d}"


def _markdown(store: dict[str, Any]) -> str:
    rows = list(_rows(store))
    if not rows:
        return "Nothing was run yet.\n"
    head = list(rows[0])
    lines = ["# Power of two-sample tests on published problems", ""]
    lines += [f"* {key}: {value}" for key, value in describe().items()]
    lines += ["", "| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(row.values()) + " |" for row in rows]
    lines += [
        "",
        "Rate: of rejections, at level 0.01 (uniform: 0.05). To reach: the rate of the published procedure,",
        "run here on the same samples (Jitkrittum et al. 2016 print curves only), or the printed rate (Schrab",
        "et al. 2023, of 500 runs). Reached: not below by more than the 99% band of the difference.",
        "Seconds: of one processor.",
    ]
    return "\n".join(lines) + "\n"


def _load(folder: Path) -> dict[str, Any]:
    file = folder / f"{NAME}.json"
    return json.loads(file.read_text(encoding="utf-8"))["cells"] if file.is_file() else {}


def _save(store: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    cells = {key: entry | {"seconds": round(entry["seconds"], 2)} for key, entry in store.items()}
    text = json.dumps({"machine": describe(), "cells": dict(sorted(cells.items()))}, indent=1)
    (folder / f"{NAME}.json").write_text(text + "\n", encoding="utf-8")
    (folder / f"{NAME}.md").write_text(_markdown(store), encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
