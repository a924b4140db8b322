"""Default kernels for objects: strings and graphs, at the scale of the data in feature space."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import count, is_array
from mercer.kernels.base import Kernel
from mercer.kernels.graphs.packed_graphs import Graphs
from mercer.kernels.graphs.weisfeiler_lehman import WeisfeilerLehman
from mercer.kernels.radial import RBF
from mercer.kernels.strings.spectrum import Spectrum
from mercer.kernels.take import taken

_POINTS = 500  # of which distances in feature space are computed
_KMERS = Spectrum(3, up_to=True)  # letters, pairs and triples: what strings of any alphabet share
_LABELS = WeisfeilerLehman(
    3
)  # neighbourhoods of a radius at which most graphs of a sample still share some


def features_of_objects(x: Any) -> Kernel | None:
    """A kernel of explicit features for a list of strings or of graphs; None for everything else."""
    if isinstance(x, Graphs):
        return _LABELS
    if not isinstance(x, list | tuple) or len(x) == 0:
        return None
    if all(isinstance(item, str) for item in x):
        return _KMERS
    return _LABELS if all(map(_is_graph, x)) else None


def default_of_objects(x: Any, *, rng: int | np.random.Generator | None = None) -> Kernel | None:
    """Gaussian kernel of normalised features at their median distance; None for what are no objects."""
    features = features_of_objects(x)
    if features is None:
        return None
    normalized, n = features.normalized(), count(x)
    if n < 2:
        raise ValueError(
            "x needs at least two points for a bandwidth: give a kernel, or more points"
        )
    rows = np.arange(n)
    if n > _POINTS:
        rows = np.sort(
            validate.generator(0 if rng is None else rng).choice(n, _POINTS, replace=False)
        )
    values = normalized(taken(x, rows))
    upper = np.triu_indices(len(rows), 1)
    diagonal = np.diagonal(values)
    squares = diagonal[upper[0]] + diagonal[upper[1]] - 2 * values[upper]
    positive = squares[squares > 1e-12]
    if len(positive) == 0:
        raise ValueError(
            "all points of x are equal, so no kernel can be chosen from them: give one"
        )
    median = float(np.median(np.maximum(squares, 0.0)))
    return RBF(float(np.sqrt(median if median > 1e-12 else np.median(positive)))).on(normalized)


def _is_graph(item: Any) -> bool:
    """Whether an object is a graph of networkx, of a data set, or (adjacency, labels, attributes)."""
    if hasattr(item, "nodes") and hasattr(item, "edges"):
        return True
    if not isinstance(item, tuple) or not 1 <= len(item) <= 3:
        return False
    matrix = item[0]
    square = getattr(matrix, "ndim", 0) == 2 and matrix.shape[0] == matrix.shape[1]
    return square and (is_array(matrix) or hasattr(matrix, "tocsr"))
