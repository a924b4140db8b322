"""Batches of distributions: atoms of every kind in one container each, and the inner products of embeddings."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np

from mercer import validate
from mercer.backend import (
    Array,
    array_like,
    double,
    is_array,
    is_numpy,
    namespace,
    take_rows,
    zeros,
)
from mercer.gram import Gram
from mercer.gram.bag_sums import Segments, bag_sums, paired_bag_sums
from mercer.kernels.base import Kernel
from mercer.kernels.take import Rows, taken, widened
from mercer.rkhs.embeddings.atoms import Boxes, Gaussians, is_points, width
from mercer.rkhs.embeddings.expected import expectations


@dataclass(frozen=True, eq=False)
class AtomBlock:
    """Atoms of one kind: segment a holds those of distribution owners[a]."""

    atoms: Any
    owners: np.ndarray  # increasing
    segments: Segments

    @property
    def plain(self) -> bool:
        """Whether every distribution is a single atom."""
        return len(self.segments) == self.segments.rows and self.segments.weights is None

    def between(self, first: int, last: int) -> AtomBlock | None:
        """Atoms of the distributions first ... last - 1, renumbered from 0; None if there are none."""
        a, b = np.searchsorted(self.owners, [first, last])
        if a == b:
            return None
        offsets, weights = self.segments.offsets[a : b + 1], self.segments.weights
        rows = slice(int(offsets[0]), int(offsets[-1]))
        segments = Segments(offsets - offsets[0], None if weights is None else weights[rows])
        return AtomBlock(take_rows(self.atoms, rows), self.owners[a:b] - first, segments)

    def taken(self, rows: np.ndarray) -> AtomBlock | None:
        """Atoms of the distributions at these positions, renumbered in their order."""
        at = np.minimum(np.searchsorted(self.owners, rows), len(self.owners) - 1)
        owners = np.flatnonzero(self.owners[at] == rows)
        if not len(owners):
            return None
        segments, positions = self.segments.taken(at[owners])
        points = is_points(self.atoms)
        atoms = taken(self.atoms, positions) if points else self.atoms[positions]
        return AtomBlock(atoms, owners, segments)

    def shifted(self, number: int) -> AtomBlock:
        """The same atoms, of distributions with numbers larger by `number`."""
        return replace(self, owners=self.owners + number)

    def followed_by(self, other: AtomBlock) -> AtomBlock:
        """These atoms, then others of the same kind, whose owners have larger numbers."""
        first, second = self.segments, other.segments
        unweighted = first.weights is None and second.weights is None
        weights = None if unweighted else np.concatenate([first.shares, second.shares])
        offsets = np.concatenate([first.offsets, first.rows + second.offsets[1:]])
        owners = np.concatenate([self.owners, other.owners])
        return AtomBlock(_joined(self.atoms, other.atoms), owners, Segments(offsets, weights))


def _joined(a: Any, b: Any) -> Any:
    """Atoms of one kind, then more of them."""
    if isinstance(a, Gaussians):
        same = a.covs.ndim == b.covs.ndim
        covs = [a.covs, b.covs] if same else [a.full, b.full]
        return Gaussians(np.concatenate([a.means, b.means]), np.concatenate(covs))
    if isinstance(a, Boxes):
        return Boxes(np.concatenate([a.lower, b.lower]), np.concatenate([a.upper, b.upper]))
    if is_array(a) and is_array(b):
        validate.same_library(a, b)
        a, b = validate.same_float(a, b)
        return namespace(a, b).concat([a, b])
    return [*a, *b]


class DistributionRows(Rows):
    """Distributions as the points of a kernel, such as `MeanMap`."""

    @abstractmethod
    def joined(self, others: DistributionRows) -> DistributionRows:
        """These distributions, then others."""

    @abstractmethod
    def preceded_by(self, first: DistributionBatch) -> DistributionRows:
        """The distributions of `first`, then these."""

    @abstractmethod
    def widened(self) -> Self:
        """The same distributions, with the points of samples in float64."""


@dataclass(frozen=True, eq=False)
class DistributionBatch(DistributionRows):
    """Distributions of any kind, with one block of atoms for each kind: points, Gaussians, boxes."""

    number: int
    parts: tuple[AtomBlock, ...]

    def __len__(self) -> int:
        return self.number

    @property
    def atoms(self) -> np.ndarray:
        """Number of atoms of each distribution: (n,)."""
        sizes = np.zeros(self.number, dtype=np.int64)
        for block in self.parts:
            sizes[block.owners] += np.diff(block.segments.offsets)
        return sizes

    def __getitem__(self, rows: slice) -> DistributionBatch:
        first, last, _ = rows.indices(self.number)
        blocks = (block.between(first, last) for block in self.parts)
        return DistributionBatch(max(last - first, 0), tuple(b for b in blocks if b is not None))

    def taken(self, rows: np.ndarray) -> DistributionBatch:
        """The distributions at these positions, which may repeat."""
        blocks = (block.taken(rows) for block in self.parts)
        return DistributionBatch(len(rows), tuple(b for b in blocks if b is not None))

    def joined(self, others: DistributionRows) -> DistributionRows:
        return others.preceded_by(self)

    def preceded_by(self, first: DistributionBatch) -> DistributionBatch:
        same_width(first, self)
        later = {_kind(block): block.shifted(len(first)) for block in self.parts}
        blocks = []
        for block in first.parts:
            other = later.pop(_kind(block), None)
            blocks.append(block if other is None else block.followed_by(other))
        return DistributionBatch(len(first) + len(self), (*blocks, *later.values()))

    def widened(self) -> Self:
        atoms = [widened(block.atoms) for block in self.parts]
        if all(a is block.atoms for a, block in zip(atoms, self.parts, strict=True)):
            return self
        blocks = (replace(b, atoms=a) for b, a in zip(self.parts, atoms, strict=True))
        return replace(self, parts=tuple(blocks))


def _kind(block: AtomBlock) -> type:
    """Gaussians, Boxes, or object for points."""
    kind = type(block.atoms)
    return kind if kind in (Gaussians, Boxes) else object


def same_width(x: DistributionBatch, y: DistributionBatch) -> None:
    """Raise ValueError if the atoms of two batches are not in the same R^d."""
    widths = [width(batch.parts[0].atoms) for batch in (x, y)]
    if widths[0] != widths[1]:
        raise ValueError(
            f"x and y must have the same number of columns, got {widths[0]} and {widths[1]}"
        )


# ---- inner products -----------------------------------------------------------------------


def inner_products(kernel: Kernel, x: DistributionBatch, y: DistributionBatch) -> Array:
    """Inner products E k(X_i, Y_j) of the mean embeddings of all pairs: (n, m)."""
    same_width(x, y)
    tiles = []
    for i, a in enumerate(x.parts):
        for j, b in enumerate(y.parts):
            if x is y and j < i:
                continue
            tile = _tile(kernel, a, None if a is b else b)
            tiles.append((a, b, tile))
            if x is y and j > i:
                tiles.append((b, a, namespace(tile).permute_dims(tile, (1, 0))))
    if len(tiles) == 1 and tiles[0][2].shape == (len(x), len(y)):
        return tiles[0][2]
    out = zeros((len(x), len(y)), tiles[0][2], double(tiles[0][2]))
    for a, b, tile in tiles:
        if is_numpy(out):
            out[np.ix_(a.owners, b.owners)] += tile
        else:
            rows, columns = (array_like(p.owners, out, namespace(out).int64) for p in (a, b))
            out[rows[:, None], columns] += tile
    return out


def _tile(kernel: Kernel, a: AtomBlock, b: AtomBlock | None) -> Array:
    """Contribution of two blocks, or of one with itself, to the inner products of their owners."""
    matrix = expectations(kernel, a.atoms, None if b is None else b.atoms)
    if isinstance(matrix, Gram) and a.plain and (b is None or b.plain):
        return matrix.dense()
    return bag_sums(matrix, a.segments, None if b is None else b.segments)


def paired_products(kernel: Kernel, x: DistributionBatch, y: DistributionBatch) -> Array:
    """Inner products E k(X_i, Y_i) of the mean embeddings at the same position: (n,)."""
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
                sums = _paired_tile(kernel, a, None if a is b else b, owners)
                pieces.append((owners, 2 * sums if x is y and j > i else sums))
    if len(pieces) == 1 and len(pieces[0][0]) == len(x):
        return pieces[0][1]
    out = zeros((len(x),), pieces[0][1], double(pieces[0][1]))
    for owners, sums in pieces:
        out[owners if is_numpy(out) else array_like(owners, out, namespace(out).int64)] += sums
    return out


def _paired_tile(kernel: Kernel, a: AtomBlock, b: AtomBlock | None, owners: np.ndarray) -> Array:
    """Contribution of two blocks, or of one with itself, to E k(X_i, Y_i) of the owners of both."""
    if b is None:
        return paired_bag_sums(expectations(kernel, a.atoms), a.segments)
    a, b = (
        block if len(block.owners) == len(owners) else cast(AtomBlock, block.taken(owners))
        for block in (a, b)
    )
    return paired_bag_sums(expectations(kernel, a.atoms, b.atoms), a.segments, b.segments)
