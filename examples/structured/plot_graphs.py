"""
Molecules and cuneiform signs
=============================

Graphs are compared by counts of their parts: of the neighbourhoods of nodes (Weisfeiler-Lehman)
and of labels at the ends of shortest paths. A support vector machine on these kernels recognises
molecules that are mutagenic, and signs of a script drawn as graphs.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold

from mercer.datasets import fetch_cuneiform, fetch_mutag
from mercer.kernels import Precomputed, ShortestPath, WeisfeilerLehman
from mercer.learn import SVC

# %%
# With ``MERCER_DATA``, the graphs are MUTAG and Cuneiform; without it, rings with short tails, whose
# two labels alternate or not.


def ring(rng: np.random.Generator, alternating: bool) -> tuple[np.ndarray, list[str]]:
    """A ring of 6, 8 or 10 nodes with tails of one node."""
    size = int(rng.choice([6, 8, 10]))
    tails = rng.choice(size, 2, replace=False)
    adjacency = np.zeros((size + 2, size + 2))
    for a, b in [
        *((i, (i + 1) % size) for i in range(size)),
        *zip(tails, (size, size + 1), strict=True),
    ]:
        adjacency[a, b] = adjacency[b, a] = 1.0
    labels = (
        list("ab" * (size // 2)) if alternating else list(rng.permutation(list("ab" * (size // 2))))
    )
    return adjacency, [*map(str, labels), "a", "b"]


def problems() -> dict[str, tuple[list, np.ndarray]]:
    """Graphs and their classes by name."""
    if os.environ.get("MERCER_DATA"):
        sets = {"MUTAG": fetch_mutag(), "Cuneiform": fetch_cuneiform()}
        return {name: (list(data.graphs), data.labels) for name, data in sets.items()}
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 2, 100)
    return {"rings": ([ring(rng, bool(c)) for c in classes], classes)}


KERNELS = {f"{h} rounds": WeisfeilerLehman(h) for h in range(5)} | {"paths": ShortestPath()}


def accuracies(graphs: list, classes: np.ndarray) -> dict[str, float]:
    """Share of right answers in five folds, for each kernel."""
    splits = list(StratifiedKFold(5, shuffle=True, random_state=0).split(classes, classes))
    rates = {}
    for name, kernel in KERNELS.items():
        machine = SVC(Precomputed(kernel.normalized()(graphs)), C=10.0)
        right = [
            machine.fit(train, classes[train]).predict(test) == classes[test]
            for train, test in splits
        ]
        rates[name] = float(np.mean(np.concatenate(right)))
    return rates


# %%
# Beside the accuracies stands the share of the most frequent class, which needs no graph.

sets = problems()
figure, panels = plt.subplots(1, len(sets), figsize=(4.5 * len(sets), 3.5), layout="constrained")
for panel, (name, (graphs, classes)) in zip(np.atleast_1d(panels), sets.items(), strict=True):
    rates = accuracies(graphs, classes)
    guess = np.unique(classes, return_counts=True)[1].max() / len(classes)
    print(f"{name}: {len(graphs)} graphs, {len(np.unique(classes))} classes, guess {guess:.3f}")
    for kernel, rate in rates.items():
        print(f"  {kernel}: accuracy {rate:.3f}")
    panel.bar(list(rates), list(rates.values()), color=["C0"] * 5 + ["C1"])
    panel.axhline(guess, color="black", linestyle="--", label="most frequent class")
    panel.set(title=name, ylabel="accuracy in five folds", ylim=(0, 1))
    panel.tick_params(axis="x", rotation=45)
    panel.legend(loc="lower right")
plt.show()
