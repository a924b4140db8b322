"""Conversion of bags, vectors and distributions into a `DistributionBatch`, with all checks of what users pass."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import count, is_array, is_numpy, namespace
from mercer.frames import table
from mercer.gram.bag_sums import Segments
from mercer.kernels.base import Kernel, Points
from mercer.rkhs.distributions import Empirical
from mercer.rkhs.embeddings.atoms import Boxes, Gaussians, width
from mercer.rkhs.embeddings.bags import Bags, tensor_bags
from mercer.rkhs.embeddings.batch import AtomBlock, DistributionBatch
from mercer.rkhs.gaussian import Gaussian
from mercer.rkhs.mixture import Mixture
from mercer.rkhs.uniform import Dirac, Uniform

_NEEDED = (
    "bags of points (arrays, Empirical, Bags), distributions (Gaussian, Mixture, Uniform, Dirac) "
    "or vectors"
)

DISTRIBUTIONS = Empirical, Gaussian, Mixture, Uniform, Dirac


def batch_of(
    kernel: Kernel, x: Any, name: str = "x", *, places: Sequence[int] | None = None
) -> DistributionBatch:
    """DistributionBatch of everything that represents distributions; the kernel checks the points.

    `places` are the numbers by which messages name the distributions, by default 0, 1, ...
    """
    if isinstance(x, DistributionBatch):
        return x
    if isinstance(x, np.ndarray) and x.ndim == 1 and x.dtype.kind == "O":
        x = x.tolist()  # an array of objects, as scikit-learn passes it
    x = tensor_bags(x) or x
    if is_array(x):  # every row a vector, or a bag of as many points as the others
        return diracs(kernel, x, name) if x.ndim < 3 else _equal_bags(kernel, x, name)
    if isinstance(x, Bags):
        return _samples(kernel.accept(x.values, name), x.offsets, x.weights)
    if not isinstance(x, Sequence) or isinstance(x, str):
        raise TypeError(f"{name} must be a sequence of {_NEEDED}, got {type(x).__name__}")
    if not len(x):
        raise ValueError(f"{name} must have at least one distribution, got none")
    if all(isinstance(v, Real) for v in x):  # points on the line
        return diracs(kernel, x, name)
    return _collected(kernel, x, name, range(len(x)) if places is None else places)


def diracs(kernel: Kernel, x: Any, name: str) -> DistributionBatch:
    """DistributionBatch of point masses at the points x."""
    points = kernel.accept(x, name)
    return _samples(points, np.arange(count(points) + 1), None)


def _equal_bags(kernel: Kernel, x: Any, name: str) -> DistributionBatch:
    """DistributionBatch of bags of equal size, from an array (bags, points, dimensions)."""
    if x.ndim > 3 or 0 in x.shape:
        raise ValueError(
            f"{name} must be an array (bags, points, dimensions) with none of them 0, got shape "
            f"{tuple(x.shape)}"
        )
    bags, size, d = x.shape
    values = namespace(x).reshape(x, (bags * size, d))
    return batch_of(kernel, Bags(values, np.arange(0, bags * size + 1, size)), name)


def _samples(points: Points, offsets: np.ndarray, weights: np.ndarray | None) -> DistributionBatch:
    """DistributionBatch of weighted samples, side by side."""
    n = len(offsets) - 1
    return DistributionBatch(n, (AtomBlock(points, np.arange(n), Segments(offsets, weights)),))


def _collected(
    kernel: Kernel, x: Sequence[Any], name: str, places: Sequence[int]
) -> DistributionBatch:
    """DistributionBatch of distributions of several kinds, sorted into blocks."""
    samples, gaussians, boxes = _BlockBuilder(), _BlockBuilder(), _BlockBuilder()
    first: tuple[int, int] | None = None  # the first distribution with a dimension, and which
    for i, item in enumerate(x):
        for atoms, weights in _atoms(item, f"{name}[{places[i]}]"):
            atom = None if is_array(atoms) else atoms[0]
            builder = {Gaussian: gaussians, Uniform: boxes}.get(type(atom), samples)
            builder.add(i, atoms, weights)
            d = _dimension(atoms)
            first = (i, d) if first is None and d is not None else first
            if first is not None and d is not None and d != first[1]:
                earlier, later = (places[first[0]], first[1]), (places[i], d)
                raise ValueError(_different_dimensions(name, earlier, later, item))
    blocks = []
    if samples.atoms:
        blocks.append(samples.block(kernel.accept(_concatenated(samples.atoms), name)))
    for builder, container in ((gaussians, Gaussians), (boxes, Boxes)):
        if builder.atoms:
            blocks.append(
                builder.block(container.of([a for atoms in builder.atoms for a in atoms]))
            )
    if len(blocks) > 1 and len({width(block.atoms) for block in blocks}) > 1:
        raise TypeError(f"{name} must not mix distributions of numbers and of other objects")
    return DistributionBatch(len(x), tuple(blocks))


def _dimension(atoms: Any) -> int | None:
    """The d of R^d; None where the atoms are other objects."""
    if is_array(atoms):
        return int(atoms.shape[1]) if atoms.ndim == 2 else None
    return getattr(atoms[0], "dimension", None)


def _different_dimensions(
    name: str, earlier: tuple[int, int], later: tuple[int, int], item: Any
) -> str:
    """Message for distributions of different dimensions, each given as (place, dimension)."""
    hint = ""
    if (is_array(item) or isinstance(item, list | tuple)) and _is_vector(item):
        hint = "; numbers in a row are one point, and a bag of numbers is an array (n, 1)"
    return (
        f"the distributions of {name} must have the same number of columns: {name}[{earlier[0]}] "
        f"has {earlier[1]}, {name}[{later[0]}] has {later[1]}{hint}"
    )


class _BlockBuilder:
    """Atoms of one kind, collected distribution by distribution into an `AtomBlock`."""

    def __init__(self) -> None:
        self.atoms: list[Any] = []
        self.owners: list[int] = []
        self.sizes: list[int] = []
        self.weights: list[np.ndarray] = []

    def add(self, owner: int, atoms: Any, weights: np.ndarray | None) -> None:
        n = count(atoms)
        self.atoms.append(atoms)
        self.weights.append(np.full(n, 1 / n) if weights is None else weights)
        if self.owners and self.owners[-1] == owner:
            self.sizes[-1] += n
        else:
            self.owners.append(owner)
            self.sizes.append(n)

    def block(self, atoms: Any) -> AtomBlock:
        offsets = np.concatenate([[0], np.cumsum(self.sizes)])
        weights = np.concatenate(self.weights)
        equal = np.allclose(weights, np.repeat(1.0 / np.array(self.sizes), self.sizes), rtol=1e-15)
        segments = Segments(offsets, None if equal else weights)
        return AtomBlock(atoms, np.array(self.owners), segments)


def _atoms(item: Any, name: str) -> list[tuple[Any, np.ndarray | None]]:
    """Atoms of a distribution (points, Gaussians or boxes), each group with its weights."""
    if isinstance(item, Gaussian | Uniform):
        return [([item], None)]
    if isinstance(item, Dirac):
        return [(item.point[None, :], None)]
    if isinstance(item, Mixture):
        return _mixture_atoms(item, name)
    if isinstance(item, Empirical):
        points = item.points
        accepted = is_array(points) or isinstance(points, Sequence)
        return [(points if accepted else validate.points(points, name), item.weights)]
    if isinstance(item, Real):  # a point on the line
        return [(validate.points([item], name), None)]
    if is_array(item) or isinstance(item, list | tuple):
        if 0 in getattr(item, "shape", (len(item),)):
            raise ValueError(f"{name} is empty: leave it out")
        if _is_vector(item):
            row: Any = item
            return [(validate.points(row[None, :] if is_array(item) else [item], name), None)]
        return [(validate.points_or_objects(item, name), None)]
    if table(item, name) is not None:  # a data frame
        return [(validate.points(item, name), None)]
    raise TypeError(f"{name} must be one of {_NEEDED}, got {type(item).__name__}")


def _mixture_atoms(mixture: Mixture, name: str) -> list[tuple[Any, np.ndarray | None]]:
    """Atoms of the components that have a weight, with the weights multiplied."""
    components = zip(mixture.parts, mixture.weights.tolist(), strict=True)
    return [
        (atoms, w * (np.full(count(atoms), 1 / count(atoms)) if weights is None else weights))
        for component, w in components
        if w > 0
        for atoms, weights in _atoms(component, name)
    ]


def _is_vector(item: Any) -> bool:
    """Whether an array or a list holds the coordinates of one point."""
    if not is_array(item):
        return all(isinstance(v, Real) for v in item)
    return item.ndim == 1 and not (is_numpy(item) and item.dtype.kind not in "fiubc")


def _concatenated(samples: list[Any]) -> Any:
    """All points in one array, or in one list where they are objects."""
    if not all(is_array(s) and s.ndim == 2 for s in samples):
        return [point for sample in samples for point in sample]
    return namespace(*samples).concat(samples)
