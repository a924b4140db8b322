"""python -m benchmarks.reproductions.effect_coverage: how often intervals of effects hold the truth.

95% intervals of the area under the ROC curve between two samples, of the share of y that x explains, and of the area
between observations and a model. ``--only shares --runs 100 --seconds 300`` does a part; what was done before is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
from scipy.stats import norm

from benchmarks.reproductions.plan import Plan
from benchmarks.reproductions.records import Record, Store, band, heading, table
from mercer.htest.explained_variation import prediction_errors
from mercer.htest.goodness.model_separation import separation_from_model
from mercer.htest.separation_auc import separation
from mercer.kernels import RBF
from mercer.rkhs import Gaussian
from mercer.rkhs.paired_samples import variables

KERNEL, RUNS = RBF(1.0), 200
EFFECTS, COLUMNS = (0.0, 0.5, 0.8), (1, 5)
Estimate = tuple[float, tuple[float, float]]  # with its interval


def area(shift: float, d: int, n: int, rng: np.random.Generator) -> Estimate:
    """Area between two normal samples of n rows, the second with a shifted first column."""
    points = rng.normal(size=(2 * n, d))
    points[n:, 0] += shift
    told = separation(points, (n, n), None, KERNEL)
    return told.auc, told.interval(0.95)


def share(r: float, d: int, n: int, rng: np.random.Generator) -> Estimate:
    """Share of y that x explains, y having correlation r with the first column of x."""
    x = rng.normal(size=(n, d))
    y = r * x[:, :1] + np.sqrt(1 - r * r) * rng.normal(size=(n, 1))
    told = prediction_errors(*variables((KERNEL, KERNEL), (x, y)))[0].explained(0.95)
    return told.share, told.interval


def misfit(shift: float, d: int, n: int, rng: np.random.Generator) -> Estimate:
    """Area between n normal observations with a shifted first column and draws of a standard normal model."""
    points = rng.normal(size=(n, d))
    points[:, 0] += shift
    told = separation_from_model(Gaussian(np.zeros(d), 1.0), points, None)
    if told is None:
        raise TypeError("a Gaussian has draws")
    return told.auc, told.interval(0.95)


MEASURES: dict[str, Callable[[float, int, int, np.random.Generator], Estimate]] = {
    "areas": area,
    "shares": share,
    "misfits": misfit,
}
SIZES = {"areas": (10, 40, 150), "shares": (20, 80, 300), "misfits": (20, 80, 300)}
KEYS = [
    f"{measure}; {effect:g}; {d}; {n}"
    for measure, sizes in SIZES.items()
    for effect, d, n in product(EFFECTS, COLUMNS, sizes)
]


def once(key: str, seed: int) -> dict[str, Any]:
    """An estimate, and the ends of its interval."""
    measure, effect, d, n = key.split("; ")
    rng = np.random.default_rng((seed, int(n), int(d), int(100 * float(effect))))
    estimate, (low, high) = MEASURES[measure](float(effect), int(d), int(n), rng)
    return {"estimates": [round(estimate, 5)], "intervals": [[round(low, 5), round(high, 5)]]}


# ---- the printed page -----------------------------------------------------------------------

TITLES = {
    "areas": "Areas of two samples: normal samples of n rows each, the second with a shifted first column",
    "shares": "Explained shares: y has correlation r with the first column of x",
    "misfits": "Misfits: n normal observations with a shifted first column, and a standard normal model",
}
_NOTE = """Covers: the share of 95% intervals that hold the truth, with its own 95% band (Wilson). The truth is twofold. Mean: the mean of
the estimates, what the classifier or regression attains with so many rows (at least 1/2 for areas, 0 for shares).
Best: the area of the likelihood ratio, or r^2, which small samples cannot reach. Draws of the model are always the
same, so that a model that fits is told from them slightly better than by guessing."""


def markdown(store: Store) -> str:
    """A table for each kind of effect."""
    command = "python -m benchmarks.reproductions.effect_coverage"
    lines = [*heading("Coverage of the intervals of effects", command), "", _NOTE]
    for measure, title in TITLES.items():
        lines += ["", f"## {title}", "", *table(_rows(store["cells"], measure))]
    return "\n".join(lines) + "\n"


def _rows(cells: Mapping[str, Any], measure: str) -> Iterator[dict[str, str]]:
    for effect, d, n in product(EFFECTS, COLUMNS, SIZES[measure]):
        entry = cells.get(f"{measure}; {effect:g}; {d}; {n}", {"runs": 0})
        if not entry["runs"]:
            continue
        best = effect**2 if measure == "shares" else float(norm.cdf(effect / np.sqrt(2)))
        mean = max(float(np.mean(entry["estimates"])), 0.0 if measure == "shares" else 0.5)
        yield {
            "r" if measure == "shares" else "shift": f"{effect:g}",
            "columns": str(d),
            "n": str(n),
            "mean": f"{mean:.3f}",
            "best": f"{best:.3f}",
            "covers mean": _coverage(entry["intervals"], mean),
            "covers best": _coverage(entry["intervals"], best),
            "runs": str(entry["runs"]),
        }


def _coverage(intervals: list[list[float]], truth: float) -> str:
    held = sum(low <= truth <= high for low, high in intervals)
    low, high = band(held, len(intervals))
    return f"{held / len(intervals):.1%} ({low:.0%} to {high:.0%})"


RECORD = Record("effect_coverage", markdown)
PLAN = Plan(RECORD, once, lambda _: dict.fromkeys(KEYS, RUNS))

if __name__ == "__main__":
    raise SystemExit(PLAN.main(__doc__))
