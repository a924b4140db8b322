"""Many distributions of any kinds as one object: their atoms kind by kind, and whose they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, cast

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
from mercer.frames import table
from mercer.gram import Gram
from mercer.gram.bag_sums import Segments, bag_sums, paired_bag_sums
from mercer.kernels.base import Kernel
from mercer.kernels.take import Rows, taken, widened
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

    def joined(self, others: Any) -> Any:
        """These distributions, then others."""
        from mercer.rkhs.embeddings.joining import join

        return join(self, others)

    def widened(self) -> Batch:
        """The same distributions, the points of samples in float64."""
        atoms = [widened(part.atoms) for part in self.parts]
        if all(a is part.atoms for a, part in zip(atoms, self.parts, strict=True)):
            return self
        parts = (replace(p, atoms=a) for p, a in zip(self.parts, atoms, strict=True))
        return Batch(self.number, tuple(parts))


def batch_of(
    kernel: Kernel, x: Any, name: str = "x", *, places: Sequence[int] | None = None
) -> Batch:
    """Whatever stands for distributions, with its points checked by the kernel.

    `places` are the numbers by which messages name the distributions, if not 0, 1, ...
    """
    if isinstance(x, Batch):
        return x
    if isinstance(x, np.ndarray) and x.ndim == 1 and x.dtype.kind == "O":
        x = x.tolist()  # objects, as scikit-learn hands them over
    if is_array(x):  # every row a vector, or a bag of as many points as the others
        return diracs(kernel, x, name) if x.ndim < 3 else _stack(kernel, x, name)
    if isinstance(x, Bags):
        return _points(kernel.accept(x.values, name), x.offsets, x.weights)
    if not isinstance(x, Sequence) or isinstance(x, str):
        raise TypeError(f"{name} must be a sequence of {_NEEDED}, got {type(x).__name__}")
    if not len(x):
        raise ValueError(f"{name} must have at least one distribution, got none")
    if all(isinstance(v, Real) for v in x):  # points on the line
        return diracs(kernel, x, name)
    return _collected(kernel, x, name, range(len(x)) if places is None else places)


def diracs(kernel: Kernel, x: Any, name: str) -> Batch:
    """Points as distributions."""
    points = kernel.accept(x, name)
    return _points(points, np.arange(count(points) + 1), None)


def _stack(kernel: Kernel, x: Any, name: str) -> Batch:
    """Bags of the same size, (bags, points, dimensions)."""
    if x.ndim > 3 or 0 in x.shape:
        raise ValueError(
            f"{name} must be an array (bags, points, dimensions) with none of them 0, got shape "
            f"{tuple(x.shape)}"
        )
    bags, size, d = x.shape
    values = namespace(x).reshape(x, (bags * size, d))
    return batch_of(kernel, Bags(values, np.arange(0, bags * size + 1, size)), name)


def _points(points: Any, offsets: np.ndarray, weights: np.ndarray | None) -> Batch:
    n = len(offsets) - 1
    return Batch(n, (Part(points, np.arange(n), Segments(offsets, weights)),))


def _collected(kernel: Kernel, x: Sequence[Any], name: str, places: Sequence[int]) -> Batch:
    """Distributions of different kinds, sorted into parts."""
    samples, gaussians, boxes = _Kind(), _Kind(), _Kind()
    first: tuple[int, int] | None = None  # a distribution that has a dimension, and which
    for i, one in enumerate(x):
        for atoms, weights in _atoms(one, f"{name}[{places[i]}]"):
            one_of_them = None if is_array(atoms) else atoms[0]
            kind = {Gaussian: gaussians, Uniform: boxes}.get(type(one_of_them), samples)
            kind.add(i, atoms, weights)
            d = _dimension(atoms)
            first = (i, d) if first is None and d is not None else first
            if first is not None and d is not None and d != first[1]:
                raise ValueError(_unlike(name, (places[first[0]], first[1]), (places[i], d), one))
    parts = []
    if samples.held:
        points = kernel.accept(_joined(samples.held), name)
        parts.append(samples.part(points))
    for kind, made in ((gaussians, Gaussians), (boxes, Boxes)):
        if kind.held:
            parts.append(kind.part(made.of([atom for atoms in kind.held for atom in atoms])))
    if len(parts) > 1 and len({width(part.atoms) for part in parts}) > 1:
        raise TypeError(f"{name} must not mix distributions of numbers and of other objects")
    return Batch(len(x), tuple(parts))


def _dimension(atoms: Any) -> int | None:
    """The d of R^d, if the atoms of a distribution are there."""
    if is_array(atoms):
        return int(atoms.shape[1]) if atoms.ndim == 2 else None
    return getattr(atoms[0], "dimension", None)


def _unlike(name: str, first: tuple[int, int], other: tuple[int, int], one: Any) -> str:
    """What is wrong with distributions of different dimensions."""
    hint = ""
    if (is_array(one) or isinstance(one, list | tuple)) and _is_vector(one):
        hint = "; numbers in a row are one point, and a bag of numbers is an array (n, 1)"
    return (
        f"the distributions of {name} must have the same number of columns: {name}[{first[0]}] has "
        f"{first[1]}, {name}[{other[0]}] has {other[1]}{hint}"
    )


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
        points = one.points
        known = is_array(points) or isinstance(points, Sequence)
        return [(points if known else validate.points(points, name), one.weights)]
    if isinstance(one, Real):  # a point on the line
        return [(validate.points([one], name), None)]
    if is_array(one) or isinstance(one, list | tuple):
        if 0 in getattr(one, "shape", (len(one),)):
            raise ValueError(f"{name} is empty: leave it out")
        if _is_vector(one):
            row: Any = one
            return [(validate.points(row[None, :] if is_array(one) else [one], name), None)]
        return [(validate.points_or_objects(one, name), None)]
    if table(one, name) is not None:  # a data frame
        return [(validate.points(one, name), None)]
    raise TypeError(f"{name} must be one of {_NEEDED}, got {type(one).__name__}")


def _is_vector(one: Any) -> bool:
    """Whether an array or a list holds the coordinates of one point."""
    if not is_array(one):
        return all(isinstance(v, Real) for v in one)
    return one.ndim == 1 and not (is_numpy(one) and one.dtype.kind not in "fiubc")


def _joined(samples: list[Any]) -> Any:
    """All points in one array, or in one list where they are objects."""
    if not all(is_array(s) and s.ndim == 2 for s in samples):
        return [point for sample in samples for point in sample]
    return namespace(*samples).concat(samples)


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
    """E k(X_i, Y_i): (n,)."""
    if len(x.parts) == len(y.parts) == 1 and x.parts[0].plain and y.parts[0].plain:
        a, b = x.parts[0].atoms, y.parts[0].atoms
        if is_points(a) and is_points(b):
            return kernel.paired(a, b)
    pieces = []
    for i, a in enumerate(x.parts):
        for j, b in enumerate(y.parts):
            if x is y and j < i:
                continue
            owners = a.owners if a is b else np.intersect1d(a.owners, b.owners)
            if len(owners):
                sums = _beside(kernel, a, None if a is b else b, owners)
                pieces.append((owners, 2 * sums if x is y and j > i else sums))
    if len(pieces) == 1 and len(pieces[0][0]) == len(x):
        return pieces[0][1]
    out = zeros((len(x),), pieces[0][1], double(pieces[0][1]))
    for owners, sums in pieces:
        out[owners if is_numpy(out) else array_like(owners, out, namespace(out).int64)] += sums
    return out


def _beside(kernel: Kernel, a: Part, b: Part | None, owners: np.ndarray) -> Any:
    """What two parts, or one with itself, add to E k(X_i, Y_i) for the distributions in both."""
    if b is None:
        return paired_bag_sums(expectations(kernel, a.atoms), a.segments)
    a, b = (p if len(p.owners) == len(owners) else cast(Part, p.taken(owners)) for p in (a, b))
    return paired_bag_sums(expectations(kernel, a.atoms, b.atoms), a.segments, b.segments)
