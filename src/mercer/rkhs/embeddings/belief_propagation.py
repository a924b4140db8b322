"""Belief propagation with messages in RKHSs, learnt from samples."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import count, to_numpy
from mercer.gram import Gram
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel, Points
from mercer.kernels.prepare import prepare
from mercer.kernels.radial import VECTOR_KERNEL
from mercer.rkhs.distributions import Empirical

_TOLERANCE = 1e-10  # change of the messages, which are one on average, at which the rounds end
_MAX_ROUNDS = (
    500  # on a tree as many as it is long are enough; on graphs with loops messages may not settle
)

Node = Hashable
Messages = dict[tuple[Node, Node], np.ndarray]


@dataclass(frozen=True)
class KernelBeliefPropagation:
    """Marginals of a pairwise graphical model given evidence, with conditional distributions learnt from samples.

    The message from t to s is the function m(x_s) = E[prod_u m_ut(X_t) | x_s] of the messages that t gets from its other
    neighbours u, estimated by kernel ridge regression on x_s (Song et al. 2011). What is observed of t enters as
    the function n (K_t + n ridge)^-1 k(., x_t), an estimate of a point mass at x_t over the density. The belief of s
    is the sample of s, weighted by the product of all messages to s. No densities are assumed. On a tree this is exact
    up to the estimates; with loops the messages are passed until they settle. Each node needs a matrix n x n.

    Parameters
    ----------
    edges : sequence of pairs of nodes
    kernels : mapping from nodes to kernels, or None
        None, also for single nodes: RBF at the median distance of the sample of the node. `Delta` for categories.
    ridge : float
        Ridge of the regressions, times n.

    References
    ----------
    L. Song, A. Gretton, D. Bickson, Y. Low, C. Guestrin (2011). Kernel belief propagation. AISTATS.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a = rng.normal(size=400)
    >>> b = 0.8 * a + 0.6 * rng.normal(size=400)
    >>> c = 0.8 * b + 0.6 * rng.normal(size=400)
    >>> tree = KernelBeliefPropagation((("a", "b"), ("b", "c")))
    >>> beliefs = tree.beliefs({"a": a, "b": b, "c": c}, {"c": 1.0})
    >>> p = beliefs["a"]
    >>> float(np.sum(p.weights * p.points[:, 0]).round(1))  # 0.8^2
    0.6
    """

    edges: Sequence[tuple[Node, Node]]
    kernels: Mapping[Node, Kernel] | None = None
    ridge: float = 1e-3

    def __post_init__(self) -> None:
        validate.positive("ridge", self.ridge)
        pairs = tuple((a, b) for a, b in self.edges)
        if not pairs or any(a == b for a, b in pairs):
            raise ValueError("edges must be at least one pair of different nodes")
        if len({frozenset(pair) for pair in pairs}) < len(pairs):
            raise ValueError("edges must not repeat: give each pair of neighbours once")
        object.__setattr__(self, "edges", pairs)

    def beliefs(
        self, samples: Mapping[Node, Any], evidence: Mapping[Node, Any] | None = None
    ) -> dict[Node, Empirical]:
        """Distribution of every node that is not observed, given the observed ones, as weighted samples.

        Parameters
        ----------
        samples : mapping from nodes to samples
            n joint observations: one sample for each node, in the same order.
        evidence : mapping from nodes to points, or None
        """
        evidence = {} if evidence is None else dict(evidence)
        nodes = list(dict.fromkeys(node for pair in self.edges for node in pair))
        _check_nodes(nodes, samples, evidence)
        smoothers, local, points = {}, {}, {}
        for node in nodes:
            smoothers[node], local[node], points[node] = self._node(node, samples[node], evidence)
        sizes = {node: len(values) for node, values in local.items()}
        if len(set(sizes.values())) > 1:
            raise ValueError(f"samples must have the same number of observations, got {sizes}")
        messages = self._passed(smoothers, local)
        return {
            node: Empirical(points[node], _normalized(self._product(node, None, local, messages)))
            for node in nodes
            if node not in evidence
        }

    def _node(
        self, node: Node, sample: Any, evidence: Mapping[Node, Any]
    ) -> tuple[np.ndarray, np.ndarray, Points]:
        """The smoothing matrix of a node, the values of its evidence at its sample, and the sample."""
        chosen = None if self.kernels is None else self.kernels.get(node)
        kernel, points, _ = prepare(VECTOR_KERNEL if chosen is None else chosen, sample)
        kernel = median_rbf(points, name=f"samples[{node!r}]") if chosen is None else kernel
        n = count(points)
        values = to_numpy(Gram(kernel, points).dense()).astype(np.float64)
        shifted = values + n * self.ridge * np.eye(n)
        local = np.ones(n)
        if node in evidence:
            at = prepare(kernel, points, [evidence[node]])[2]
            column = to_numpy(Gram(kernel, points, at).dense()).astype(np.float64)[:, 0]
            local = n * linalg.solve(shifted, column)
        return linalg.solve(shifted, values).T, local, points

    def _passed(self, smoothers: dict[Node, Any], local: dict[Node, np.ndarray]) -> Messages:
        """Messages at the samples of their receivers, after they have settled."""
        ways = [pair for a, b in self.edges for pair in ((a, b), (b, a))]
        messages = {way: np.ones(len(local[way[1]])) for way in ways}
        for _ in range(_MAX_ROUNDS):
            after = {
                (t, s): _positive(smoothers[s] @ self._product(t, s, local, messages))
                for t, s in ways
            }
            change = max(float(np.max(np.abs(after[way] - messages[way]))) for way in ways)
            messages = after
            if change <= _TOLERANCE:
                break
        return messages

    def _product(
        self, node: Node, receiver: Node, local: dict[Node, np.ndarray], messages: Messages
    ) -> np.ndarray:
        """Evidence of a node times all messages to it but that of the receiver."""
        value = local[node]
        for (sender, to), message in messages.items():
            if to == node and sender != receiver:
                value = value * message
        return value


def _check_nodes(
    nodes: list[Node], samples: Mapping[Node, Any], evidence: Mapping[Node, Any]
) -> None:
    """Raise a ValueError for nodes without a sample, and for samples and evidence without a node."""
    for what, mapping in (("samples", samples), ("evidence", evidence)):
        unknown = [node for node in mapping if node not in nodes]
        if unknown:
            raise ValueError(f"{what} has {unknown[0]!r}, which no edge has: nodes are {nodes}")
    missing = [node for node in nodes if node not in samples]
    if missing:
        raise ValueError(f"samples must have all nodes, but {missing[0]!r} is missing")


def _positive(values: np.ndarray) -> np.ndarray:
    """A message without negative values, which are errors of the regression, and with mean one."""
    values = np.maximum(values, 0.0)
    mean = float(values.mean())
    if mean == 0:
        raise ValueError(
            "the evidence has no support in the samples, all messages of it are zero: use observations nearer to "
            "the samples, or a larger ridge"
        )
    return values / mean


def _normalized(values: np.ndarray) -> np.ndarray:
    weights = _positive(values)
    return weights / weights.sum()
