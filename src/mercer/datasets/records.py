"""Records that the fetchers return: arrays, names and a description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Images:
    """Grayscale images (n, height, width), one label each."""

    images: np.ndarray = field(repr=False)
    labels: np.ndarray = field(repr=False)
    description: str

    def __len__(self) -> int:
        return len(self.images)

    @property
    def pixels(self) -> np.ndarray:
        """Images as points: (n, height * width), float64."""
        return self.images.reshape(len(self), -1).astype(np.float64)

    def of(self, label: object) -> np.ndarray:
        """Images of one label, as points."""
        return _non_empty(self.pixels[self.labels == label], label, self.labels)


@dataclass(frozen=True, eq=False)
class Tabular:
    """Columns by name: numbers (float64) or text."""

    columns: Mapping[str, np.ndarray] = field(repr=False)
    description: str

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self.columns)

    def numbers(self, names: Sequence[str] | None = None) -> np.ndarray:
        """Columns as points (n, d), float64; without names, all numeric columns."""
        if names is None:
            names = [name for name, column in self.columns.items() if column.dtype.kind == "f"]
        absent = [name for name in names if name not in self.columns]
        if absent:
            raise ValueError(f"no column {absent[0]!r}: use {', '.join(self.columns)}")
        return np.stack([self.columns[name].astype(np.float64) for name in names], axis=1)

    def frame(self) -> Any:
        """Data frame of pandas, or of polars or pyarrow if pandas is not installed."""
        return as_frame(self.columns)


@dataclass(frozen=True, eq=False)
class Network(Tabular):
    """Table of numbers, and the accepted causal edges between its columns."""

    edges: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Bags:
    """Bags of points: a tuple of arrays (size, d), with one label per bag.

    `repeats` are the indices of bags that show the same object as an earlier bag: drop them before
    the data are split.
    """

    bags: tuple[np.ndarray, ...] = field(repr=False)
    labels: np.ndarray = field(repr=False)
    description: str
    repeats: tuple[int, ...] = field(default=(), repr=False)

    def __len__(self) -> int:
        return len(self.bags)


@dataclass(frozen=True, eq=False)
class Papers:
    """Word counts of documents (a sparse matrix, documents x words), with titles and fields."""

    counts: Any = field(repr=False)
    words: tuple[str, ...] = field(repr=False)
    titles: tuple[str, ...] = field(repr=False)
    fields: np.ndarray = field(repr=False)
    volumes: np.ndarray = field(repr=False)
    description: str

    def __len__(self) -> int:
        return len(self.titles)

    def of(self, *fields: str) -> np.ndarray:
        """Indices of the papers of these fields."""
        rows = np.flatnonzero(np.isin(self.fields, fields))
        return _non_empty(rows, " or ".join(fields), self.fields)


@dataclass(frozen=True, eq=False)
class Texts:
    """Sentences, one label each."""

    texts: tuple[str, ...] = field(repr=False)
    labels: tuple[str, ...] = field(repr=False)
    description: str

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, eq=False)
class Translations:
    """The same sentences in several languages."""

    english: tuple[str, ...] = field(repr=False)
    french: tuple[str, ...] = field(repr=False)
    german: tuple[str, ...] = field(repr=False)
    description: str

    def __len__(self) -> int:
        return len(self.english)


@dataclass(frozen=True, eq=False)
class Graph:
    """Graph with labelled nodes 0 .. n-1, undirected edges (each in both directions) and attributes."""

    nodes: np.ndarray = field(repr=False)  # (n, k) labels
    edges: np.ndarray = field(repr=False)  # (m, 2)
    edge_labels: np.ndarray = field(repr=False)  # (m,)
    node_attributes: np.ndarray = field(repr=False)  # (n, a), a may be 0
    edge_attributes: np.ndarray = field(repr=False)  # (m, b), b may be 0

    def __len__(self) -> int:
        return len(self.nodes)


@dataclass(frozen=True, eq=False)
class Graphs:
    """Graphs, one label each."""

    graphs: tuple[Graph, ...] = field(repr=False)
    labels: np.ndarray = field(repr=False)
    description: str

    def __len__(self) -> int:
        return len(self.graphs)


def as_frame(columns: Mapping[str, np.ndarray]) -> Any:
    """Data frame of the first of pandas, polars and pyarrow that is installed."""
    makers = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}
    for library, maker in makers.items():
        if find_spec(library) is not None:
            return getattr(import_module(library), maker)(dict(columns))
    raise ImportError("data frames need pandas, polars or pyarrow: pip install 'mercer[frames]'")


def _non_empty(rows: np.ndarray, label: object, labels: np.ndarray) -> np.ndarray:
    if len(rows) == 0:
        known = ", ".join(map(str, np.unique(labels)))
        raise ValueError(f"nothing is labelled {label!r}: the labels are {known}")
    return rows
