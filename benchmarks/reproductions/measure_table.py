"""python -m benchmarks.reproductions.measure_table: Table 2 of support measure machines, again.

Muandet, Fukumizu, Dinuzzo and Schölkopf 2012, section 6.1: Gaussians in R^10 of two classes are told apart by
machines with five embedding kernels and three level-2 kernels on top of them. 500 + 500 to learn from, 200 to
predict, ten folds to choose all parameters by, 30 repetitions.

What is drawn for a Gaussian of one class and of the other: its mean from N((1, ..., 1), 0.5 I) and
N((2, ..., 2), 0.5 I), its covariance from a Wishart distribution of 10 degrees of freedom with 0.6 I and 1.2 I.
"printed" is that. It cannot give the printed 85.2 of LIN-LIN, which sees the means only: these are told apart in
98.7 of 100 cases. "widened" has means from N(., v I) instead, with the v at which LIN-LIN reaches 85.2 (``--widen``).

``--setting printed --runs 5 --seconds 600`` does a part, ``--workers 2`` two repetitions at a time; what was done
before is kept.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import mercer
from benchmarks.reproductions.measure_pairs import (
    CELLS,
    DIMENSION,
    EMBEDDINGS,
    LEVELS,
    PRICES,
    SPREADS,
    STEPS,
    Pair,
    Study,
    repetition,
)
from benchmarks.reproductions.plan import Plan
from benchmarks.reproductions.records import (
    Record,
    Store,
    arguments,
    heading,
    rounds,
    table,
)

TARGET = 85.2  # the paper's LIN-LIN

# Means and standard deviations as printed in Table 2 (whose header says URBF where section 6.1 says NRBF).
PAPER: dict[Pair, tuple[float, float]] = {
    ("LIN", "LIN"): (85.20, 2.20),
    ("LIN", "POLY"): (83.95, 2.11),
    ("LIN", "RBF"): (87.80, 1.96),
    ("POLY2", "LIN"): (81.04, 3.11),
    ("POLY2", "POLY"): (81.34, 1.21),
    ("POLY2", "RBF"): (73.12, 3.29),
    ("POLY3", "LIN"): (81.10, 2.76),
    ("POLY3", "POLY"): (82.66, 1.75),
    ("POLY3", "RBF"): (78.28, 2.19),
    ("RBF", "LIN"): (87.74, 2.19),
    ("RBF", "POLY"): (88.06, 1.73),
    ("RBF", "RBF"): (89.65, 1.37),
    ("NRBF", "LIN"): (85.39, 2.56),
    ("NRBF", "POLY"): (86.84, 1.51),
    ("NRBF", "RBF"): (86.86, 1.88),
}


# ---- runs -----------------------------------------------------------------------------------


def main() -> int:
    told = _arguments()
    store = RECORD.load(told.results)
    if told.widen:
        store["widening"] = list(
            widening(Study("widened", told.train, told.test, told.folds), told.runs)
        )
        RECORD.save(store, told.results)
    else:
        keys = [Study(s, told.train, told.test, told.folds).key for s in told.setting]
        turns = rounds(store, keys, told.runs)
        RECORD.run(store, turns, once, told.seconds, told.results, told.workers)
    print(markdown(store))
    return 0


def _arguments() -> argparse.Namespace:
    parser = arguments(__doc__, runs=30)
    parser.add_argument("--setting", nargs="*", choices=[*SPREADS], default=[*SPREADS])
    parser.add_argument("--widen", action="store_true", help="find the spread of LIN-LIN")
    for name, value in (("train", 500), ("test", 100), ("folds", 10)):
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser.parse_args()


def once(key: str, seed: int) -> dict[str, Any]:
    """A repetition as it is kept: accuracies and choices in the order of `CELLS`, and its time."""
    clock, spent = time.monotonic(), time.process_time()
    with mercer.config(threads=1):
        found = repetition(Study.named(key), seed)
    return {
        "accuracies": [[round(found.accuracies[pair], 2) for pair in CELLS]],
        "chosen": [" ".join(found.chosen[pair] for pair in CELLS)],
        "unfinished": found.unfinished,
        "seconds": time.process_time() - spent,
        "clock": time.monotonic() - clock,
    }


def widening(study: Study, runs: int) -> Iterator[dict[str, float]]:
    """Spreads and their accuracies of LIN-LIN, on the draws of the table, until it is the paper's.

    Half the distance of the centres is a multiple of 1 / sqrt(v) in standard deviations, which gives the next v.
    """
    from scipy.stats import norm

    wanted = float(norm.ppf(TARGET / 100))
    spread = round(DIMENSION / 4 / wanted**2, 2)  # of the best rule on the means
    tried: set[float] = set()
    while spread not in tried:
        tried.add(spread)
        with mercer.config(threads=1):
            found = [repetition(study, seed, [("LIN", "LIN")], spread) for seed in range(runs)]
        accuracy = float(np.mean([f.accuracies["LIN", "LIN"] for f in found]))
        yield {"spread": spread, "accuracy": round(accuracy, 2), "runs": runs}
        spread = round(float(spread * (norm.ppf(accuracy / 100) / wanted) ** 2), 2)


# ---- the printed page -----------------------------------------------------------------------


@dataclass(frozen=True)
class Effects:
    """A table of accuracies (embedding, level-2): what each kind of kernel is worth, and the best pair."""

    means: np.ndarray  # (5, 3)

    @classmethod
    def of(cls, accuracies: Any) -> Effects:
        return cls(np.asarray(accuracies, dtype=np.float64).reshape(len(EMBEDDINGS), len(LEVELS)))

    @property
    def shares(self) -> tuple[float, float]:
        """Shares of the variance of the table: by the embedding kernel, and by the level-2 kernel."""
        total = self.means.var()
        return tuple(float(self.means.mean(axis=a).var() / total) for a in (1, 0))  # type: ignore[return-value]

    @property
    def ranges(self) -> tuple[float, float]:
        """How far embeddings are apart (by level LIN and POLY), and level-2 kernels (by all but POLY3): no POLY3-RBF."""
        third, top = list(EMBEDDINGS).index("POLY3"), list(LEVELS).index("RBF")
        embeddings = np.delete(self.means, top, axis=1).mean(axis=1)
        levels = np.delete(self.means, third, axis=0).mean(axis=0)
        return float(np.ptp(embeddings)), float(np.ptp(levels))

    @property
    def best(self) -> Pair:
        """The pair of the largest accuracy."""
        return CELLS[int(np.argmax(self.means))]


def markdown(store: Store) -> str:
    """The tables side by side, and what follows of them."""
    done = {key: e for key, e in store["cells"].items() if e["runs"]}
    lines = heading(
        "Table 2 of support measure machines", "python -m benchmarks.reproductions.measure_table"
    )
    lines += ["", *_widening(store)]
    for key, entry in done.items():
        lines += _table(Study.named(key), entry)
    return "\n".join([*lines, "", NOTE]) + "\n"


def _table(study: Study, entry: Mapping[str, Any]) -> Iterator[str]:
    """The accuracies of one setting beside those of the paper, and their conclusions."""
    runs = entry["runs"]
    found = np.array(entry["accuracies"])  # (runs, 15)
    means, deviations = found.mean(axis=0), found.std(axis=0, ddof=1) if runs > 1 else 0 * found[0]
    yield f"## Means with covariance {SPREADS[study.setting]:g} I ({study.setting})"
    yield ""
    yield (
        f"{runs} repetitions, {study.train} Gaussians of each class for training and {study.test} for testing, "
        f"{study.folds} folds. Accuracy in percent ± standard deviation; in brackets the paper."
    )
    yield ""
    yield from table(_rows(means, deviations))
    yield ""
    yield from _conclusions(found)
    yield (
        f"* time: {entry['seconds'] / runs:.1f} s of processor time and {entry['clock'] / runs:.1f} s of wall time per "
        f"repetition, {entry['seconds'] / 60:.1f} minutes of processor time in all: {entry['seconds'] / 120:.1f} "
        "minutes on two cores"
    )
    yield (
        f"* of {runs * len(CELLS) * len(PRICES):,} machines with the chosen kernels, for all C, "
        f"{entry['unfinished']} had not converged after {STEPS:,} steps"
    )
    yield ""


def _rows(means: np.ndarray, deviations: np.ndarray) -> Iterator[dict[str, str]]:
    for level in LEVELS:
        row = {"level-2": level}
        for embedding in EMBEDDINGS:
            i = CELLS.index((embedding, level))
            paper = PAPER[embedding, level]
            row[embedding] = (
                f"{means[i]:.1f} ± {deviations[i]:.1f} ({paper[0]:.1f} ± {paper[1]:.1f})"
            )
        yield row


def _conclusions(found: np.ndarray) -> Iterator[str]:
    ours, paper = Effects.of(found.mean(axis=0)), Effects.of([PAPER[cell][0] for cell in CELLS])
    for name, effects in (("here", ours), ("in the paper", paper)):
        (embedding, level), (apart, other) = effects.shares, effects.ranges
        yield (
            f"* {name}: the embedding kernel explains {embedding:.0%} of the variance of the table, the level-2 kernel "
            f"{level:.0%}; without POLY3-RBF embeddings are up to {apart:.1f} apart, level-2 kernels up to {other:.1f}; "
            f"best is {'-'.join(effects.best)} with {effects.means.max():.1f}"
        )
    apart, other = ours.ranges
    yield f"* the embedding kernel matters more than the level-2 kernel: {'yes' if apart > other else 'no'}"
    yield f"* RBF-RBF is best: {_best(found)}"


def _best(found: np.ndarray) -> str:
    """Whether RBF-RBF has the largest mean, and by how much it differs from the best of the others."""
    own = CELLS.index(("RBF", "RBF"))
    means = found.mean(axis=0)
    rival = int(np.argmax(np.where(np.arange(len(CELLS)) == own, -np.inf, means)))
    more = found[:, own] - found[:, rival]
    error = more.std(ddof=1) / len(more) ** 0.5 if len(more) > 1 else np.inf
    word = "tied" if abs(more.mean()) <= 2 * error else "yes" if more.mean() > 0 else "no"
    name = "-".join(CELLS[rival])
    return f"{word}, {more.mean():+.2f} ± {error:.2f} (standard error) against {name}"


def _widening(store: Store) -> Iterator[str]:
    tried = store.get("widening", [])
    if tried:
        text = ", ".join(f"{t['accuracy']:.1f} at {t['spread']:g}" for t in tried)
        yield f"LIN-LIN on {tried[0]['runs']} repetitions, by the spread of the means: {text}."
        yield ""


NOTE = """Numbers in brackets are those that Table 2 of the paper prints, and the Gaussians, the grids, the folds and the
repetitions are those of its section 6.1. The fifth column is called URBF in the table and NRBF (normalised) in the text;
it is read here as the expected RBF kernel over the norms of both embeddings. RBF: exp(-gamma |.|^2 / 2), gamma 0.001 to 100
at both levels; POLY at level 2: (K + 1)^d, d from 2 to 6; C from 1/8 to 128. No kernel is scaled.

LIN sees the means only. All other embeddings see the covariances as well, whose traces alone tell the classes apart
in 99.2 of 100 cases, however far the means spread: the accuracies of 73 to 90 that the paper has for them do not come
from such Gaussians, with any spread. POLY3-RBF fails since squared distances of these embeddings are 10^4 and more, and
gamma is 0.001 at least: the level-2 matrix is nearly the identity. Shares of the variance are of the 15 means: what remains is
the interaction. Machines that did not converge are of LIN-POLY, with unscaled polynomials of the means (seen in the first
repetition, where six times as many steps left every accuracy of LIN as it was)."""

RECORD = Record("measure_table", markdown)
PLAN = Plan(RECORD, once, lambda _: {Study(spread).key: 30 for spread in SPREADS})

if __name__ == "__main__":
    raise SystemExit(main())
