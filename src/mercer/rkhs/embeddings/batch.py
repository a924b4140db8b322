"""Many distributions of any kinds as one object: their atoms kind by kind, and whose they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import (
    array_like,
    count,
    double,
    is_array,
    is_numpy,
    namespace,
    take_rows,
    zeros,
)
from mercer.gram import Gram
from mercer.gram.bags import Segments, bag_sums
from mercer.kernels.base import Kernel
from mercer.kernels.rows import Rows, taken
from mercer.rkhs.distributions import Empirical
from mercer.rkhs.embeddings.atoms import Boxes, Gaussians, is_points, width
from mercer.rkhs.embeddings.bags import Bags
from mercer.rkhs.embeddings.expected import expectations
from mercer.rkhs.gaussian import Gaussian
from mercer.rkhs.mixture import Mixture
from mercer.rkhs.uniform import Dirac, Uniform

_NEEDED = (
    "bags of points (arrays, Empirical, Bags), distributions (Gaussian, Mixture, Uniform, Dirac) "
    "or vectors"
)

DISTRIBUTIONS = Empirical, Gaussian, Mixture, Uniform, Dirac
_ATOMS, _AT_ONCE = 256, 32  # atoms and distributions of a matrix of which the diagonal is wanted


@dataclass(frozen=True, eq=False)
class Part:
    """Atoms of one kind: those of distribution owners[a] are segment a."""

    atoms: Any
    owners: np.ndarray  # rising
    segments: Segments

    @property
    def plain(self) -> bool:
        """Whether every distribution is one atom."""
        return len(self.segments) == self.segments.rows and self.segments.weights is None

    def some(self, first: int, last: int) -> Part | None:
        """The part that belongs to the distributions from `first` to `last`, counted from there."""
        a, b = np.searchsorted(self.owners, [first, last])
        if a == b:
            return None
        offsets, weights = self.segments.offsets[a : b + 1], self.segments.weights
        rows = slice(int(offsets[0]), int(offsets[-1]))
        cut = Segments(offsets - offsets[0], None if weights is None else weights[rows])
        return Part(take_rows(self.atoms, rows), self.owners[a:b] - first, cut)

    def taken(self, rows: np.ndarray) -> Part | None:
        """The part that belongs to the distributions at these positions."""
        at = np.minimum(np.searchsorted(self.owners, rows), len(self.owners) - 1)
        here = np.flatnonzero(self.owners[at] == rows)
        if not len(here):
            return None
        cut, atoms = self.segments.taken(at[here])
        return Part(_some(self.atoms, atoms), here, cut)


def _some(atoms: Any, rows: np.ndarray) -> Any:
    return taken(atoms, rows) if is_points(atoms) else atoms[rows]


@dataclass(frozen=True, eq=False)
class Batch(Rows):
    """Distributions as points of `MeanMap`: a sequence that slices."""

    number: int
    parts: tuple[Part, ...]

    def __len__(self) -> int:
        return self.number

    @property
    def atoms(self) -> np.ndarray:
        """How many atoms each distribution has: (n,)."""
        sizes = np.zeros(self.number, dtype=np.int64)
        for part in self.parts:
            sizes[part.owners] += np.diff(part.segments.offsets)
        return sizes

    def __getitem__(self, rows: slice) -> Batch:
        first, last, _ = rows.indices(self.number)
        parts = (part.some(first, last) for part in self.parts)
        return Batch(max(last - first, 0), tuple(part for part in parts if part is not None))

    def taken(self, rows: np.ndarray) -> Batch:
        """The distributions at these positions, repeats included."""
        parts = (part.taken(rows) for part in self.parts)
        return Batch(len(rows), tuple(part for part in parts if part is not None))


def batch_of(kernel: Kernel, x: Any, name: str = "x") -> Batch:
    """Whatever stands for distributions, with its points checked by the kernel."""
    if isinstance(x, Batch):
        return x
    if is_array(x):  # every row a vector
        return diracs(kernel, x, name)
    if isinstance(x, Bags):
        return _points(kernel.accept(x.values, name), x.offsets, x.weights)
    if not isinstance(x, Sequence) or isinstance(x, str) or not len(x):
        raise TypeError(f"{name} must be a sequence of {_NEEDED}, got {type(x).__name__}")
    if isinstance(x[0], Real):  # points on the line
        return diracs(kernel, x, name)
    return _collected(kernel, x, name)


def diracs(kernel: Kernel, x: Any, name: str) -> Batch:
    """Points as distributions."""
    points = kernel.accept(x, name)
    return _points(points, np.arange(count(points) + 1), None)


def _points(points: Any, offsets: np.ndarray, weights: np.ndarray | None) -> Batch:
    n = len(offsets) - 1
    return Batch(n, (Part(points, np.arange(n), Segments(offsets, weights)),))


def _collected(kernel: Kernel, x: Sequence[Any], name: str) -> Batch:
    """Distributions of different kinds, sorted into parts."""
    samples, gaussians, boxes = _Kind(), _Kind(), _Kind()
    for i, one in enumerate(x):
        for atoms, weights in _atoms(one, f"{name}[{i}]"):
            one_of_them = None if is_array(atoms) else atoms[0]
            kind = {Gaussian: gaussians, Uniform: boxes}.get(type(one_of_them), samples)
            kind.add(i, atoms, weights)
    parts = []
    if samples.held:
        points = kernel.accept(_joined(samples.held, name), name)
        parts.append(samples.part(points))
    for kind, made in ((gaussians, Gaussians), (boxes, Boxes)):
        if kind.held:
            parts.append(kind.part(made.of([atom for atoms in kind.held for atom in atoms])))
    widths = {width(part.atoms) for part in parts}
    if len(widths) > 1:
        raise ValueError(f"the distributions of {name} must have one dimension, got {widths}")
    return Batch(len(x), tuple(parts))


class _Kind:
    """Atoms of one kind on their way into a part."""

    def __init__(self) -> None:
        self.held: list[Any] = []
        self.owners: list[int] = []
        self.sizes: list[int] = []
        self.weights: list[np.ndarray] = []

    def add(self, i: int, atoms: Any, weights: np.ndarray | None) -> None:
        n = count(atoms)
        self.held.append(atoms)
        self.weights.append(np.full(n, 1 / n) if weights is None else weights)
        if self.owners and self.owners[-1] == i:
            self.sizes[-1] += n
        else:
            self.owners.append(i)
            self.sizes.append(n)

    def part(self, atoms: Any) -> Part:
        offsets = np.concatenate([[0], np.cumsum(self.sizes)])
        weights = np.concatenate(self.weights)
        alike = np.allclose(weights, np.repeat(1.0 / np.array(self.sizes), self.sizes), rtol=1e-15)
        return Part(atoms, np.array(self.owners), Segments(offsets, None if alike else weights))


def _atoms(one: Any, name: str) -> list[tuple[Any, np.ndarray | None]]:
    """What a distribution is made of: points, Gaussians or boxes, with weights."""
    if isinstance(one, Gaussian | Uniform):
        return [([one], None)]
    if isinstance(one, Dirac):
        return [(one.point[None, :], None)]
    if isinstance(one, Mixture):
        parts = zip(one.parts, one.weights.tolist(), strict=True)
        return [
            (atoms, w * (np.full(count(atoms), 1 / count(atoms)) if own is None else own))
            for part, w in parts
            if w > 0
            for atoms, own in _atoms(part, name)
        ]
    if isinstance(one, Empirical):
        return [(one.points, one.weights)]
    if is_array(one) and one.ndim == 1:  # a vector
        return [(one[None, :], None)]
    if is_array(one) or isinstance(one, list | tuple):
        if 0 in getattr(one, "shape", (len(one),)):
            raise ValueError(f"{name} is empty: leave it out")
        if not is_array(one) and all(isinstance(v, Real) for v in one):  # a vector as a list
            return [(validate.points([one], name), None)]
        return [(validate.points_or_objects(one, name), None)]
    raise TypeError(f"{name} must be one of {_NEEDED}, got {type(one).__name__}")


def _joined(samples: list[Any], name: str) -> Any:
    """All points in one array, or in one list where they are objects."""
    if not all(is_array(s) for s in samples):
        return [point for sample in samples for point in sample]
    shapes = [s.shape[1] if s.ndim == 2 else 1 for s in samples]
    for i, columns in enumerate(shapes):
        if columns != shapes[0]:
            raise ValueError(
                f"the bags of {name} must have the same number of columns: one has {shapes[0]}, "
                f"another (the {i + 1}th of them) {columns}"
            )
    points = [validate.points(s, name) for s in samples]
    return namespace(*points).concat(points)


# ---- inner products -----------------------------------------------------------------------


def inner_products(kernel: Kernel, x: Batch, y: Batch) -> Any:
    """E k(X_i, Y_j) of all pairs: (n, m)."""
    widths = [width(batch.parts[0].atoms) for batch in (x, y)]
    if widths[0] != widths[1]:
        raise ValueError(
            f"x and y must have the same number of columns, got {widths[0]} and {widths[1]}"
        )
    blocks = []
    for i, a in enumerate(x.parts):
        for j, b in enumerate(y.parts):
            if x is y and j < i:
                continue
            block = _block(kernel, a, None if a is b else b)
            blocks.append((a, b, block))
            if x is y and j > i:
                blocks.append((b, a, namespace(block).permute_dims(block, (1, 0))))
    if len(blocks) == 1 and blocks[0][2].shape == (len(x), len(y)):
        return blocks[0][2]
    out = zeros((len(x), len(y)), blocks[0][2], double(blocks[0][2]))
    for a, b, block in blocks:
        if is_numpy(out):
            out[np.ix_(a.owners, b.owners)] += block
        else:
            rows, columns = (array_like(p.owners, out, namespace(out).int64) for p in (a, b))
            out[rows[:, None], columns] += block
    return out


def _block(kernel: Kernel, a: Part, b: Part | None) -> Any:
    matrix = expectations(kernel, a.atoms, None if b is None else b.atoms)
    if isinstance(matrix, Gram) and a.plain and (b is None or b.plain):
        return matrix.dense()
    return bag_sums(matrix, a.segments, None if b is None else b.segments)


def paired_products(kernel: Kernel, x: Batch, y: Batch) -> Any:
    """E k(X_i, Y_i): (n,). From small matrices down the diagonal: few calls rather than few terms."""
    if len(x.parts) == len(y.parts) == 1 and x.parts[0].plain and y.parts[0].plain:
        a, b = x.parts[0].atoms, y.parts[0].atoms
        if is_points(a) and is_points(b):
            return kernel.paired(a, b)
    values = []
    for some in _runs(np.maximum(x.atoms, y.atoms)):
        one = x[some]
        block = inner_products(kernel, one, one if x is y else y[some])
        values.append(namespace(block).linalg.diagonal(block))
    return namespace(values[0]).concat(values)


def _runs(sizes: np.ndarray) -> list[slice]:
    """Consecutive distributions of so many atoms together that a call is worth it."""
    ends = np.cumsum(sizes)
    runs, first = [], 0
    while first < len(sizes):
        before = ends[first - 1] if first else 0
        last = max(int(np.searchsorted(ends, before + _ATOMS, side="right")), first + 1)
        last = min(last, first + _AT_ONCE)
        runs.append(slice(first, last))
        first = last
    return runs
