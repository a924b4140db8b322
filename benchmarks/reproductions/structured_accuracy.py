"""python -m benchmarks.reproductions.structured_accuracy: molecules and series classified by their kernels.

Nested cross-validation: ten folds to test, and in each of them five folds of the others to choose the kernel and C of a
support vector machine, repeated with other folds (``--runs``). Series have the split of the archive too, where kernel and
C are chosen by five folds of the training half, beside the nearest neighbour by dynamic time warping without a window,
computed here. ``--only MUTAG`` does a part. Needs ``MERCER_DATA``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.reproductions.plan import DATA, Plan
from benchmarks.reproductions.records import Record, Store, arguments, heading, rounds, table
from mercer.datasets import fetch_mutag
from mercer.kernels import (
    DynamicTimeWarping,
    GlobalAlignment,
    Precomputed,
    Series,
    WeisfeilerLehman,
    median_bandwidth,
)
from mercer.learn import SVC

PRICES = (1.0, 10.0, 100.0, 1000.0)
WIDTHS = (0.05, 0.1, 0.2, 0.5, 1.0)  # times the median distance and the root of the length
OUTER, INNER = 10, 5
SERIES = ("gunpoint", "arrowhead", "italypowerdemand", "basicmotions", "pickup_gesture")
Problem = tuple[dict[str, np.ndarray], np.ndarray]  # kernel matrices by name, and the classes


def main() -> int:
    parser = arguments(__doc__, runs=3)
    parser.add_argument("--only", default="", help="names that contain this")
    told = parser.parse_args()
    nested = [key for key in NESTED if told.only in key]
    fixed = [key for key in FIXED if told.only in key]
    store = RECORD.load(told.results)
    turns = [*rounds(store, nested, told.runs), *rounds(store, fixed, 1)]
    RECORD.run(store, turns, once, told.seconds, told.results, told.workers)
    print(markdown(store))
    return 0


def once(key: str, seed: int) -> dict[str, Any]:
    """Accuracy of one repetition."""
    if key in NESTED:
        return {"accuracies": [round(nested_accuracy(*NESTED[key](), seed), 4)]}
    return FIXED[key]()


# ---- cross-validation -----------------------------------------------------------------------


def nested_accuracy(matrices: dict[str, np.ndarray], classes: np.ndarray, seed: int) -> float:
    """Mean accuracy over the outer folds, each with its own choice of kernel and C."""
    folds = StratifiedKFold(OUTER, shuffle=True, random_state=seed)
    right = 0
    for train, test in folds.split(classes, classes):
        matrix, price = chosen(matrices, classes, train, seed)
        right += correct(matrix, price, classes, train, test)
    return right / len(classes)


def chosen(
    matrices: dict[str, np.ndarray], classes: np.ndarray, train: np.ndarray, seed: int
) -> tuple[np.ndarray, float]:
    """Kernel matrix and C with the most right answers in the inner folds; the first of several."""
    folds = StratifiedKFold(INNER, shuffle=True, random_state=seed + 1000)
    splits = [(train[a], train[b]) for a, b in folds.split(train, classes[train])]
    scores = {
        (name, price): sum(correct(matrix, price, classes, a, b) for a, b in splits)
        for name, matrix in matrices.items()
        for price in PRICES
    }
    name, price = max(scores, key=lambda pair: scores[pair])
    return matrices[name], price


def correct(
    matrix: np.ndarray, price: float, classes: np.ndarray, train: np.ndarray, test: np.ndarray
) -> int:
    """Number of test points that a machine on the training points gets right."""
    machine = SVC(Precomputed(matrix), price).fit(train, classes[train])
    return int(np.sum(machine.predict(test) == classes[test]))


# ---- problems -------------------------------------------------------------------------------


@cache
def mutag() -> Problem:
    data = fetch_mutag()
    kernels = {f"{h} rounds": WeisfeilerLehman(h).normalized() for h in range(1, 6)}
    return {name: k(list(data.graphs)) for name, k in kernels.items()}, data.labels


@cache
def gunpoint() -> Problem:
    series, classes, _ = archive("gunpoint")
    return alignments(series, series), classes


def alignments(series: Series, training: Series) -> dict[str, np.ndarray]:
    """Alignment kernels of several bandwidths, in units of Cuturi's rule on the training series."""
    unit = median_bandwidth(training.values) * float(np.median(training.lengths)) ** 0.5
    return {
        f"{width} of the median": GlobalAlignment(width * unit).normalized()(series)
        for width in WIDTHS
    }


def archive(name: str) -> tuple[Series, np.ndarray, np.ndarray]:
    """Series, their classes, and which of them are in the test half."""
    file = np.load(Path(os.environ["MERCER_DATA"]) / "series" / f"{name}.npz")
    if "X" in file:
        series = Series.of(file["X"].astype(np.float64))
    else:
        series = Series(file["values"].astype(np.float64), file["offsets"])
    return series, file["y"].astype(np.int64), file["test"]


def split_of_archive(name: str) -> dict[str, Any]:
    """Accuracy on the test half: the alignment kernel, and the nearest neighbour by dynamic time warping."""
    series, classes, held_out = archive(name)
    train, test = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    matrices = alignments(series, series[train])
    matrix, price = chosen(matrices, classes, train, 0)
    warping = DynamicTimeWarping()
    costs = warping.squared_distances(warping.accept(series[test]), warping.accept(series[train]))
    nearest = classes[train][np.argmin(costs, axis=1)]
    return {
        "alignment": [correct(matrix, price, classes, train, test) / len(test)],
        "nearest": [float(np.mean(nearest == classes[test]))],
    }


NESTED: dict[str, Callable[[], Problem]] = {
    "MUTAG": mutag, "GunPoint": gunpoint,
}  # fmt: skip
FIXED: dict[str, Callable[[], dict[str, Any]]] = {
    **{f"archive {name}": (lambda name=name: split_of_archive(name)) for name in SERIES},
}


# ---- the printed page -----------------------------------------------------------------------


def markdown(store: Store) -> str:
    cells = store["cells"]
    lines = heading(
        "Structured objects classified by their kernels",
        "python -m benchmarks.reproductions.structured_accuracy",
    )
    lines += ["", "## Nested cross-validation (ten folds, five inside)", ""]
    lines += table(_nested_rows(cells))
    lines += ["", "## The split of the archive", ""]
    lines += table(_archive_rows(cells))
    return "\n".join([*lines, ""])


def _nested_rows(cells: dict[str, Any]) -> Iterable[dict[str, Any]]:
    for key in NESTED:
        values: Sequence[float] = cells.get(key, {}).get("accuracies", [])
        if values:
            each = ", ".join(f"{v:.3f}" for v in values)
            yield {"data": key, "mean accuracy": f"{np.mean(values):.3f}", "repetitions": each}


def _archive_rows(cells: dict[str, Any]) -> Iterable[dict[str, Any]]:
    for name in SERIES:
        entry = cells.get(f"archive {name}", {})
        if entry.get("runs"):
            yield {
                "series": name,
                "alignment kernel": f"{entry['alignment'][0]:.3f}",
                "nearest by warping": f"{entry['nearest'][0]:.3f}",
            }


RECORD = Record("structured_accuracy", markdown)
PLAN = Plan(
    RECORD,
    once,
    lambda _: dict.fromkeys(NESTED, 10) | dict.fromkeys(FIXED, 1),
    needs=(DATA,),
)

if __name__ == "__main__":
    raise SystemExit(main())
