"""Propagation kernel: labels or attributes that spread along edges, compared by random bins."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import validate
from mercer.kernels.feature_counts import FeatureTable, chained, feature_table, mixed
from mercer.kernels.graphs.packed_graphs import GraphFeatures, Graphs


@dataclass(frozen=True)
class Propagation(GraphFeatures):
    """Nodes with similar distributions of labels around them, in each step of a random walk.

    In step t = 0, ..., `iterations` each node has the distribution of the labels after t steps of a random
    walk from it (of its mean attributes, where graphs have attributes). Its projection p onto a random
    direction falls into the bin floor((p + b) / w), and k(x, y) is the sum over steps and bins of the
    number of nodes of x times that of y. A node without edges stays where it is.

    Parameters
    ----------
    iterations : int
        Number of steps.
    width : float
        Width w of the bins.
    seed : int
        Seed of directions and of shifts b.

    References
    ----------
    M. Neumann, R. Garnett, C. Bauckhage, K. Kersting (2016). Propagation kernels: efficient graph kernels
    from propagated information. Machine Learning 102, 209-245.

    Examples
    --------
    >>> path, triangle = [[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> Propagation(1)([(path, "CCO"), (triangle, "CCO")]).shape
    (2, 2)
    """

    iterations: int
    width: float = field(default=0.1, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        validate.whole("iterations", self.iterations, 0)
        validate.positive("width", self.width)
        validate.whole("seed", self.seed, 0)

    def view(self, items: Graphs, /) -> FeatureTable:
        codes = np.concatenate([self._bins(items, step) for step in range(self.iterations + 1)])
        return feature_table(np.tile(items.owners, self.iterations + 1), codes, None, len(items))

    def _bins(self, graphs: Graphs, step: int) -> np.ndarray:
        """Code of the bin of each node in a step."""
        rng = np.random.default_rng([self.seed, step])
        shift = rng.uniform(0, self.width)
        if graphs.attributes is not None:
            values = graphs.attributes @ rng.standard_normal(graphs.attributes.shape[1])
        else:  # a number for each label, drawn by its code, so that labels seen later have theirs too
            salt = np.uint64(rng.integers(2**63))
            uniform = mixed(graphs.labels ^ salt).astype(np.float64) / 2.0**64
            values = np.tan(
                np.pi * (uniform - 0.5)
            )  # Cauchy: bins for the total variation distance
        totals = np.asarray(graphs.adjacency.sum(axis=1)).ravel()
        for _ in range(step):
            mean = (graphs.adjacency @ values) / np.where(totals > 0, totals, 1.0)
            values = np.where(totals > 0, mean, values)
        bins = np.floor((values + shift) / self.width)
        return chained(bins.view(np.uint64), np.full(len(bins), step, dtype=np.uint64))

    def describe(self, items: Any, codes: np.ndarray, /) -> list[str]:
        names: dict[int, str] = {}
        for step in range(self.iterations + 1):
            bins = self._bins(items, step)
            for node in np.flatnonzero(np.isin(bins, codes)).tolist():
                graph = int(items.owners[node])
                place = node - int(items.edges[graph])
                names.setdefault(int(bins[node]), f"step {step}, as node {place} of graph {graph}")
        return [names[int(code)] for code in codes]
