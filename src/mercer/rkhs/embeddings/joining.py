"""Two sets of distributions, one after the other: what tests that pool their samples need."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import is_array, namespace
from mercer.gram.bag_sums import Segments
from mercer.rkhs.embeddings.atoms import Boxes, Gaussians, width
from mercer.rkhs.embeddings.batch import Batch, Part
from mercer.rkhs.embeddings.deduplicated import Histograms, Linked, Repeated

Distributions = Batch | Linked


def join(x: Distributions, y: Distributions) -> Distributions:
    """The distributions of x, then those of y; what they share is still computed once."""
    if isinstance(x, Histograms) and isinstance(y, Histograms) and _same_words(x, y):
        return Histograms(x.base, np.concatenate([x.table, y.table]))
    x, y = _without_tables(x), _without_tables(y)
    if isinstance(x, Batch) and isinstance(y, Batch):
        return joined_batches(x, y)
    (base, index), (others, more) = _places(x), _places(y)
    return Repeated(joined_batches(base, others), np.concatenate([index, more + len(base)]))


def joined_batches(x: Batch, y: Batch) -> Batch:
    """The same of batches, kind by kind."""
    widths = [width(batch.parts[0].atoms) for batch in (x, y)]
    if widths[0] != widths[1]:
        raise ValueError(
            f"x and y must have the same number of columns, got {widths[0]} and {widths[1]}"
        )
    others = {_kind(part): part for part in y.parts}
    parts = [_joined(part, others.pop(_kind(part), None), len(x)) for part in x.parts]
    parts += [Part(p.atoms, p.owners + len(x), p.segments) for p in others.values()]
    return Batch(len(x) + len(y), tuple(parts))


def _joined(a: Part, b: Part | None, shift: int) -> Part:
    if b is None:
        return a
    left, right = a.segments, b.segments
    plain = left.weights is None and right.weights is None
    weights = None if plain else np.concatenate([left.shares, right.shares])
    offsets = np.concatenate([left.offsets, left.rows + right.offsets[1:]])
    owners = np.concatenate([a.owners, b.owners + shift])
    return Part(_atoms(a.atoms, b.atoms), owners, Segments(offsets, weights))


def _atoms(a: Any, b: Any) -> Any:
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


def _kind(part: Part) -> type:
    kind = type(part.atoms)
    return kind if kind in (Gaussians, Boxes) else object


def _same_words(x: Histograms, y: Histograms) -> bool:
    words, others = (h.base.parts[0].atoms for h in (x, y))
    if words is others:
        return True
    both = isinstance(words, np.ndarray) and isinstance(others, np.ndarray)
    return both and np.array_equal(words, others)


def _without_tables(x: Distributions) -> Distributions:
    """Histograms as samples of the words that have a probability."""
    if not isinstance(x, Histograms):
        return x
    owners, words = np.nonzero(x.table)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=len(x)))])
    atoms = x.base.taken(words).parts[0].atoms
    part = Part(atoms, np.arange(len(x)), Segments(offsets, x.table[owners, words]))
    return Batch(len(x), (part,))


def _places(x: Distributions) -> tuple[Batch, np.ndarray]:
    if isinstance(x, Repeated):
        return x.base, x.index
    assert isinstance(x, Batch)
    return x, np.arange(len(x))
