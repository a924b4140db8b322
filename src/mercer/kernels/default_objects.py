"""Default kernels for objects: strings, graphs and series, at the scale of the data in feature space."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import count, is_array
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel
from mercer.kernels.graphs.packed_graphs import Graphs
from mercer.kernels.graphs.weisfeiler_lehman import WeisfeilerLehman
from mercer.kernels.radial import RBF
from mercer.kernels.series.alignment_kernels import GlobalAlignment
from mercer.kernels.series.series_data import Series
from mercer.kernels.strings.spectrum import Spectrum
from mercer.kernels.take import Rows, joined_rows, taken

_POINTS = 500  # of which distances in feature space are computed
_KMERS = Spectrum(3, up_to=True)  # letters, pairs and triples: what strings of any alphabet share
_LABELS = WeisfeilerLehman(
    3
)  # neighbourhoods of a radius at which most graphs of a sample still share some


def kind_of_objects(x: Any) -> str | None:
    """What the objects of a list or a container are: strings, graphs or series; None: no such objects."""
    if isinstance(x, Graphs):
        return "graphs"
    if isinstance(x, Series):
        return "series"
    if not isinstance(x, list | tuple) or len(x) == 0:
        return None
    if all(isinstance(item, str) for item in x):
        return "strings"
    if _are_series(x):
        return "series"
    return "graphs" if all(map(_is_graph, x)) else None


def joined_objects(samples: list[Any], names: list[str]) -> Any:
    """The objects of samples of one kind as one sample."""
    kinds = [kind_of_objects(x) for x in samples]
    for name, kind in zip(names, kinds, strict=True):
        if kind != kinds[0]:
            raise TypeError(
                f"{names[0]} holds {kinds[0]} and {name} {kind or 'none'}: give samples of one kind, or a kernel"
            )
    if kinds[0] == "graphs":
        samples = [x if isinstance(x, Graphs) else Graphs.of(list(x)) for x in samples]
    if kinds[0] == "series":
        samples = [Series.of(x, name) for x, name in zip(samples, names, strict=True)]
    first, *others = samples
    for other in others:
        first = joined_rows(first, other) if isinstance(first, Rows) else [*first, *other]
    return first


def features_of_objects(x: Any, name: str = "x") -> Kernel | None:
    """A normalised kernel of the features of strings, graphs or series; None for everything else.

    Series have a global alignment kernel whose bandwidth is the median distance of points times the
    square root of the median length (Cuturi 2011).
    """
    match kind_of_objects(x):
        case "strings":
            return _KMERS.normalized()
        case "graphs":
            return _LABELS.normalized()
        case "series":
            series = Series.of(x, name)
            length = float(np.median(series.lengths))
            spread = median_rbf(series.values, name=f"the values of {name}").bandwidth
            return GlobalAlignment(spread * length**0.5).normalized()
        case _:
            return None


def feature_distances(features: Kernel, x: Any, name: str = "x", rng: Any = None) -> np.ndarray:
    """Distances in feature space of all pairs of at most 500 objects; some are positive."""
    n = count(x)
    if n < 2:
        raise ValueError(
            f"{name} needs at least two points for a bandwidth: give a kernel, or more points"
        )
    rows = np.arange(n)
    if n > _POINTS:
        rows = np.sort(
            validate.generator(0 if rng is None else rng).choice(n, _POINTS, replace=False)
        )
    values = features(taken(x, rows))
    upper = np.triu_indices(len(rows), 1)
    diagonal = np.diagonal(values)
    squares = diagonal[upper[0]] + diagonal[upper[1]] - 2 * values[upper]
    if not np.any(squares > 1e-12):
        raise ValueError(
            f"all points of {name} are equal, so no kernel can be chosen from them: give one"
        )
    return np.sqrt(np.where(squares > 1e-12, squares, 0.0))


def default_of_objects(
    x: Any, *, name: str = "x", rng: int | np.random.Generator | None = None
) -> Kernel | None:
    """Gaussian kernel of normalised features at their median distance; None for what are no objects."""
    features = features_of_objects(x, name)
    if features is None:
        return None
    distances = feature_distances(features, x, name, rng)
    median = float(np.median(distances))
    bandwidth = median if median > 0 else float(np.median(distances[distances > 0]))
    return RBF(bandwidth).on(features)


def _are_series(x: list[Any] | tuple[Any, ...]) -> bool:
    """Whether all items are arrays of numbers (T, d); ragged vectors are more likely a mistake."""
    return all(
        is_array(item) and item.ndim == 2 and getattr(item.dtype, "kind", "f") in "fiu"
        for item in x
    )


def _is_graph(item: Any) -> bool:
    """Whether an object is a graph of networkx, of a data set, or (adjacency, labels, attributes)."""
    if hasattr(item, "nodes") and hasattr(item, "edges"):
        return True
    if not isinstance(item, tuple) or not 1 <= len(item) <= 3:
        return False
    matrix = item[0]
    square = getattr(matrix, "ndim", 0) == 2 and matrix.shape[0] == matrix.shape[1]
    return square and (is_array(matrix) or hasattr(matrix, "tocsr"))
