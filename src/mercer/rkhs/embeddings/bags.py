"""Bags of points: many samples in one array, with the offset of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import (
    Array,
    EqualByValue,
    device,
    is_array,
    itemsize,
    namespace,
    on_gpu,
    take_rows,
    to_numpy,
)
from mercer.frames import table
from mercer.gram.bag_sums import Segments
from mercer.kernels.column_units import warn_of_units
from mercer.kernels.take import taken
from mercer.rkhs.distributions import Empirical
from mercer.rkhs.embeddings.arrow import bag_lists

_REMEDY_FOR_UNITS = (
    "divide each column by its standard deviation first, here and in frames to come by the same one"
)


@dataclass(frozen=True, eq=False, repr=False)
class Bags(EqualByValue, Sequence[Empirical]):
    """Samples of different sizes in one array: bag i is values[offsets[i]:offsets[i+1]].

    Every bag is a sample from a distribution. ``bags[i]`` is a bag as an `Empirical`; ``bags[a:b]``
    and ``bags[mask]`` are subsets as `Bags`.

    Parameters
    ----------
    values : array or tensor (N, d)
        The points of all bags.
    offsets : array (n + 1,) of integers
        From 0 to N, strictly increasing: no bag is empty.
    weights : array (N,) or None
        Weights of the points, which add up to one in every bag. None: equal weights.
    names : tuple or None
        Names of the bags.

    Examples
    --------
    >>> bags = Bags.of([[[0.0, 1.0], [2.0, 1.0]], [[5.0, 5.0]]])
    >>> bags
    Bags(2 bags of 1 to 2 points, 2 dimensions)
    >>> bags.sizes
    array([2, 1])
    >>> bags[0].points
    array([[0., 1.],
           [2., 1.]])
    >>> bags.means()
    array([[1., 1.],
           [5., 5.]])
    """

    values: Array
    offsets: np.ndarray
    weights: np.ndarray | None = None
    names: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        values = validate.matrix(validate.real(self.values, "values"), "values")
        offsets = np.asarray(self.offsets)
        if offsets.ndim != 1 or offsets.dtype.kind not in "iu" or len(offsets) < 2:
            raise ValueError(
                f"offsets must be integers, one more than there are bags, got {self.offsets!r}"
            )
        empty = np.flatnonzero(np.diff(offsets.astype(np.int64)) < 1)
        if len(empty):
            raise ValueError(f"bag {int(empty[0])} is empty: leave it out")
        if offsets[0] != 0 or offsets[-1] != values.shape[0]:
            raise ValueError(
                f"offsets must go from 0 to the number of points, {values.shape[0]}, got "
                f"{int(offsets[0])} to {int(offsets[-1])}"
            )
        object.__setattr__(self, "values", _finite(values, offsets))
        object.__setattr__(self, "offsets", offsets.astype(np.int64))
        if self.weights is not None:
            object.__setattr__(self, "weights", _shares(self.weights, self.offsets))
        if self.names is not None and len(self.names) != len(self):
            raise ValueError(
                f"names must have one entry per bag, {len(self)}, got {len(self.names)}"
            )

    # ---- construction -----------------------------------------------------------------

    @classmethod
    def of(cls, bags: Iterable[Any]) -> Bags:
        """Bags from a sequence of samples: arrays (n_i, d), nested lists, frames or `Empirical`.

        All samples must have the same number of columns. A vector (n_i,) is a bag of points on the line.
        """
        if isinstance(bags, Bags):
            return bags
        if not isinstance(bags, Iterable) or isinstance(bags, str | bytes):
            raise TypeError(
                f"bags must be a sequence of samples, each an array (n, d), got {bags!r}"
            )
        samples = [_sample(bag, i) for i, bag in enumerate(bags)]
        if not samples:
            raise ValueError("bags must have at least one bag, got none")
        widths = [values.shape[1] for values, _ in samples]
        for i, width in enumerate(widths):
            if width != widths[0]:
                raise ValueError(
                    f"bags must have the same number of columns: bag 0 has {widths[0]}, bag {i} has "
                    f"{width}"
                )
        sizes = [values.shape[0] for values, _ in samples]
        values = namespace(*(v for v, _ in samples)).concat([v for v, _ in samples])
        weights = None
        if any(w is not None for _, w in samples):
            weights = np.concatenate(
                [
                    np.full(n, 1 / n) if w is None else w
                    for (_, w), n in zip(samples, sizes, strict=True)
                ]
            )
        return cls(values, np.concatenate([[0], np.cumsum(sizes)]), weights)

    @classmethod
    def from_frame(cls, frame: Any, group: str) -> Bags:
        """Bags from a data frame whose column `group` names the bag of each row.

        The bags are sorted by name, and their names are stored as `names`. The other columns are the
        coordinates and must be numeric. They are not standardized, and a warning tells where their spreads
        differ much: divide them by the standard deviations of the frame that a learner is fitted to.
        """
        import narwhals as nw

        data = nw.from_native(frame, pass_through=True)
        if not isinstance(data, nw.DataFrame):
            lazy = ": call .collect() first" if isinstance(data, nw.LazyFrame) else ""
            raise TypeError(
                "frame must be a data frame (pandas, polars, Arrow), got "
                f"{type(frame).__name__}{lazy}"
            )
        if group not in data.columns:
            known = ", ".join(str(c) for c in data.columns)
            raise ValueError(f"no column {group!r}: the frame has the columns {known}")
        owner = data.get_column(group)
        if owner.is_null().any():
            raise ValueError(f"column {group!r} has missing values: drop those rows first")
        coordinates = table(data.drop(group).to_native(), "frame")
        assert coordinates is not None
        if any(coordinates.columns.categorical):
            label = coordinates.columns.names[coordinates.columns.categorical.index(True)]
            raise TypeError(
                f"column {label!r} holds categories, but bags need numbers: drop or encode it"
            )
        warn_of_units(coordinates, "columns of bags", _REMEDY_FOR_UNITS, stacklevel=2)
        try:
            names, place, sizes = np.unique(
                owner.to_numpy(), return_inverse=True, return_counts=True
            )
        except TypeError:
            raise TypeError(
                f"column {group!r} must hold names of one type, which can be sorted: convert them to "
                "text first"
            ) from None
        values = coordinates.values[np.argsort(place, kind="stable")]
        return cls(values, np.concatenate([[0], np.cumsum(sizes)]), names=_names(names))

    @classmethod
    def from_arrow(cls, column: Any) -> Bags:
        """Bags from an Arrow array of lists of numbers, or of lists of points of equal length."""
        return cls(*bag_lists(column))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Bags:
        """Read bags written by `save`."""
        with np.load(path) as file:
            names = _names(file["names"]) if "names" in file else None
            weights = file.get("weights")
            return cls(file["values"], file["offsets"], weights, names)

    def save(self, path: str | PathLike[str]) -> None:
        """Write an .npz file of NumPy under exactly this name. Names must be of one type."""
        arrays: dict[str, Any] = {"values": to_numpy(self.values), "offsets": self.offsets}
        if self.weights is not None:
            arrays["weights"] = self.weights
        if self.names is not None:
            arrays["names"] = _saved_names(self.names)
        with Path(path).open("wb") as file:
            np.savez(file, **arrays)

    # ---- a sequence -------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, rows: Any) -> Any:
        """A bag by its position; a subset by a slice, positions or a boolean mask."""
        if isinstance(rows, int | np.integer):
            i = range(len(self))[int(rows)]
            span = slice(int(self.offsets[i]), int(self.offsets[i + 1]))
            weights = None if self.weights is None else self.weights[span]
            return Empirical(take_rows(self.values, span), weights)
        if isinstance(rows, slice) and rows.step in (None, 1):
            first, last, _ = rows.indices(len(self))
            span = slice(int(self.offsets[first]), int(self.offsets[max(first, last)]))
            offsets = self.offsets[first : max(first, last) + 1]
            weights = None if self.weights is None else self.weights[span]
            names = None if self.names is None else self.names[rows]
            return _trusted(take_rows(self.values, span), offsets - offsets[0], weights, names)
        at = np.arange(len(self))[rows]
        if not len(at):
            return self[:0]
        cut, points = self.segments.taken(at)
        names = None if self.names is None else tuple(self.names[i] for i in at)
        return _trusted(taken(self.values, points), cut.offsets, cut.weights, names)

    def __iter__(self) -> Iterator[Empirical]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        sizes, d = self.sizes, self.values.shape[1]
        if not len(sizes):
            return f"Bags(0 bags, {d} dimension{'s' * (d > 1)})"
        size = f"{sizes.min()} to {sizes.max()}" if sizes.min() < sizes.max() else f"{sizes.min()}"
        kind = "" if self.weights is None else ", weighted"
        points = "point" if sizes.max() == 1 else "points"
        return f"Bags({len(self)} bags of {size} {points}, {d} dimension{'s' * (d > 1)}{kind})"

    @property
    def shape(self) -> tuple[int]:
        """Shape (number of bags,), from which scikit-learn reads the number of samples."""
        return (len(self),)

    # ---- numbers ----------------------------------------------------------------------

    @property
    def sizes(self) -> np.ndarray:
        """Number of points in each bag: (n,)."""
        return np.diff(self.offsets)

    @property
    def segments(self) -> Segments:
        """Segments of rows that belong to the bags, for sums over bags."""
        return Segments(self.offsets, self.weights)

    def means(self, values: Any = None) -> Any:
        """Weighted means of every bag: of its points, or of the rows of `values` at its points. (n, k)"""
        rows = to_numpy(self.values if values is None else values)
        weighted = rows * self.segments.shares[:, None]
        return np.add.reduceat(weighted, self.offsets[:-1], axis=0, dtype=np.float64)


def tensor_bags(x: Any) -> Bags | None:
    """Bags from a list of finite tensors (n_i, d) on a GPU; None for anything else.

    They are joined first and checked together: every check of a tensor there waits for the device.
    """
    if not isinstance(x, list | tuple) or not x or not all(map(is_array, x)):
        return None
    if not all(on_gpu(bag) and bag.ndim == 2 and 0 not in bag.shape for bag in x):
        return None
    if len({(bag.shape[1], bag.dtype, device(bag)) for bag in x}) > 1 or itemsize(x[0]) < 4:
        return None
    xp = namespace(x[0])
    values = xp.concat(list(x))
    if not xp.isdtype(values.dtype, "real floating") or not bool(xp.all(xp.isfinite(values))):
        return None
    return _trusted(values, np.cumsum([0, *(int(bag.shape[0]) for bag in x)]), None, None)


def _trusted(values: Array, offsets: np.ndarray, weights: Any, names: Any) -> Bags:
    """Bags without checks, for subsets of bags that were checked."""
    bags = object.__new__(Bags)
    fields = {"values": values, "offsets": offsets, "weights": weights, "names": names}
    for name, value in fields.items():
        object.__setattr__(bags, name, value)
    return bags


def _sample(bag: Any, i: int) -> tuple[Array, np.ndarray | None]:
    """Checked points (n, d) and weights of bag i."""
    weights: Any = None
    if isinstance(bag, Empirical):
        bag, weights = bag.points, bag.weights
    if (is_array(bag) and 0 in bag.shape) or (isinstance(bag, list | tuple) and not bag):
        raise ValueError(f"bag {i} is empty: leave it out")
    try:
        return validate.points(bag, f"bag {i}"), weights
    except TypeError as error:
        raise TypeError(f"{error}; Bags hold samples only: use a list for distributions") from None


def _names(names: np.ndarray) -> tuple[Any, ...]:
    """Names as a tuple of Python strings or numbers; dates stay NumPy dates."""
    return tuple(names if names.dtype.kind in "mM" else names.tolist())


def _saved_names(names: tuple[Any, ...]) -> np.ndarray:
    """Names as an array that `load` restores exactly."""
    array = np.asarray(names)
    if array.dtype.kind not in "biufUSmM" or array.ndim != 1 or _names(array) != tuple(names):
        raise TypeError(
            "names can be saved only if all of them are text, all numbers or all dates, got "
            f"{sorted({type(n).__name__ for n in names})}: convert them first, for example "
            "Bags(bags.values, bags.offsets, bags.weights, names=tuple(map(str, bags.names)))"
        )
    return array


def _finite(values: Array, offsets: np.ndarray) -> Array:
    """Values if all are finite; otherwise raise a ValueError that names the bag."""
    try:
        return validate.finite(values, "values")
    except ValueError:
        bad = np.flatnonzero(~np.isfinite(to_numpy(values)).all(axis=1))
        if len(bad):
            i = int(np.searchsorted(offsets, bad[0], side="right")) - 1
            validate.finite(take_rows(values, slice(*offsets[i : i + 2].tolist())), f"bag {i}")
        raise


def _shares(weights: Any, offsets: np.ndarray) -> np.ndarray:
    """Checked weights, divided by their sum in every bag: (N,)."""
    shares = to_numpy(validate.finite(validate.real(weights, "weights"), "weights"))
    shares = shares.astype(np.float64)
    if shares.shape != (offsets[-1],):
        raise ValueError(f"weights must have shape ({offsets[-1]},), got {shares.shape}")
    if shares.min() < 0:
        raise ValueError(f"weights must not be negative, got {shares.min():g}")
    totals = np.add.reduceat(shares, offsets[:-1])
    wrong = np.flatnonzero(np.abs(totals - 1) > 1e-6)
    if len(wrong):
        i = int(wrong[0])
        raise ValueError(
            f"the weights of every bag must add up to one, but those of bag {i} add up to {totals[i]:g}: "
            "divide them by their sum"
        )
    return shares / np.repeat(totals, np.diff(offsets))
