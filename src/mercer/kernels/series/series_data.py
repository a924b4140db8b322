"""Series of different lengths in one array, with the offset of each, and the base of kernels on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import EqualByValue, is_array, to_numpy
from mercer.frames import table
from mercer.kernels.objects import ObjectKernel, Objects
from mercer.kernels.take import Rows

_LAYOUTS = "a list of arrays (T, d), an array (n, T, d), an array (n, T) of series with one channel, or Series"


@dataclass(frozen=True, eq=False, repr=False)
class Series(EqualByValue, Rows):
    """Series of different lengths: series i is values[offsets[i]:offsets[i+1]], an array (T_i, d).

    ``series[i]`` is a series, ``series[a:b]`` and ``series[positions]`` are subsets. Time comes first: arrays of
    three dimensions are (series, time, channels), as tslearn has them. Arrays of aeon and sktime are (series,
    channels, time), which the numbers do not show: read them with `from_channels_first`.

    Parameters
    ----------
    values : array (N, d)
        The points of all series, one series after the other.
    offsets : array (n + 1,) of integers
        From 0 to N, strictly increasing: no series is empty. Series of length 1 are allowed.

    Examples
    --------
    >>> series = Series.of([[1.0, 2.0, 1.5], [0.5]])
    >>> series
    Series(2 series of 1 to 3 points, 1 channel)
    >>> series[1]
    array([[0.5]])
    >>> Series.from_channels_first(np.zeros((4, 2, 50)))
    Series(4 series of 50 points, 2 channels)
    """

    values: np.ndarray
    offsets: np.ndarray

    def __post_init__(self) -> None:
        values = to_numpy(validate.matrix(validate.real(self.values, "values"), "values"))
        offsets = np.asarray(self.offsets)
        if offsets.ndim != 1 or offsets.dtype.kind not in "iu" or len(offsets) < 2:
            raise ValueError(
                f"offsets must be integers, one more than there are series, got {self.offsets!r}"
            )
        empty = np.flatnonzero(np.diff(offsets.astype(np.int64)) < 1)
        if len(empty):
            raise ValueError(f"series {int(empty[0])} is empty: leave it out")
        if offsets[0] != 0 or offsets[-1] != len(values):
            raise ValueError(
                f"offsets must go from 0 to the number of points, {len(values)}, got "
                f"{int(offsets[0])} to {int(offsets[-1])}"
            )
        object.__setattr__(self, "values", _finite(values.astype(np.float64), offsets, "values"))
        object.__setattr__(self, "offsets", offsets.astype(np.int64))

    # ---- construction -----------------------------------------------------------------

    @classmethod
    def of(cls, x: Any, name: str = "x") -> Series:
        """Series from arrays (T, d) in a list, or from an array (n, T, d) or (n, T)."""
        if isinstance(x, Series):
            return x
        if isinstance(x, Objects):
            return cls.of(x.items, name)
        if is_array(x):
            return cls._from_array(x, name)
        if not isinstance(x, list | tuple):
            raise TypeError(f"{name} must be {_LAYOUTS}, got {validate.shown(x)}")
        parts = [_one(item, f"series {i} of {name}") for i, item in enumerate(x)]
        if not parts:
            raise ValueError(f"{name} must have at least one series, got none")
        for i, part in enumerate(parts):
            if part.shape[1] != parts[0].shape[1]:
                raise ValueError(
                    f"all series of {name} must have the same number of channels: series 0 has "
                    f"{parts[0].shape[1]}, series {i} has {part.shape[1]}"
                )
        return _trusted(np.concatenate(parts), np.cumsum([0, *map(len, parts)]))

    @classmethod
    def from_channels_first(cls, x: Any) -> Series:
        """Series from an array (n, d, T), or from a list of arrays (d, T): the layout of aeon and sktime."""
        if is_array(x) and x.ndim != 3:
            raise ValueError(f"x must be an array (series, channels, time), got shape {x.shape}")
        return cls.of([np.asarray(validate.matrix(to_numpy(item), "series")).T for item in x])

    @classmethod
    def from_padded(cls, x: Any) -> Series:
        """Series from an array (n, T, d) in which shorter series end with NaN: the layout of tslearn."""
        padded = to_numpy(validate.real(x, "x"))
        if padded.ndim != 3:
            raise ValueError(
                f"x must be an array (series, time, channels), got shape {padded.shape}"
            )
        known = ~np.isnan(padded).all(axis=2)
        lengths = padded.shape[1] - np.argmax(np.asarray(known)[:, ::-1], axis=1)
        return cls.of([item[:length] for item, length in zip(padded, lengths, strict=True)])

    @classmethod
    def from_frame(cls, frame: Any, group: str | None = None, time: str | None = None) -> Series:
        """Series from a data frame in long form: `group` names the series of each row.

        Series are in the order in which their names first occur. Rows of a series are sorted by the column
        `time`, or stay in their order without one. All other columns are channels and must be numeric. Without
        `group` the frame is one of sktime: of pandas, with an index of two levels (series and time), or with
        a column for each channel whose cells are series.
        """
        return _trusted(*named_series(frame, group, time)[1:])

    # ---- a container of points --------------------------------------------------------

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, rows: Any, /) -> Any:
        """A series by its position; a subset by a slice, positions or a boolean mask."""
        if isinstance(rows, int | np.integer):
            i = range(len(self))[int(rows)]
            return self.values[self.offsets[i] : self.offsets[i + 1]]
        if isinstance(rows, slice) and rows.step in (None, 1):
            first, last, _ = rows.indices(len(self))
            offsets = self.offsets[first : max(first, last) + 1]
            return _trusted(self.values[offsets[0] : offsets[-1]], offsets - offsets[0])
        return self.taken(np.arange(len(self))[rows])

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[i] for i in range(len(self)))

    def taken(self, rows: np.ndarray, /) -> Series:
        sizes = self.lengths[rows]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], sizes)
        return _trusted(self.values[places], offsets)

    def joined(self, others: Series, /) -> Series:
        same_channels(self, others)
        offsets = np.concatenate([self.offsets, self.offsets[-1] + others.offsets[1:]])
        return _trusted(np.concatenate([self.values, others.values]), offsets)

    def aligned(self, others: Any, /) -> tuple[Any, Any]:
        if isinstance(others, Series):
            same_channels(self, others)
        return self, others

    def widened(self) -> Series:
        return self  # values are float64

    def __repr__(self) -> str:
        low, high, d = self.lengths.min(), self.lengths.max(), self.channels
        size = f"{low} to {high}" if low < high else f"{high}"
        points, channels = "point" + "s" * int(high > 1), "channel" + "s" * int(d > 1)
        return f"Series({len(self)} series of {size} {points}, {d} {channels})"

    @property
    def shape(self) -> tuple[int]:
        """Shape (number of series,), from which scikit-learn reads the number of samples."""
        return (len(self),)

    @property
    def lengths(self) -> np.ndarray:
        """Number of points of each series: (n,)."""
        return np.diff(self.offsets)

    @property
    def channels(self) -> int:
        """Number of channels d."""
        return self.values.shape[1]

    @classmethod
    def _from_array(cls, x: Any, name: str) -> Series:
        if x.ndim == 1 and getattr(x.dtype, "kind", "") == "O":
            return cls.of(list(x), name)
        values = to_numpy(validate.real(x, name))
        if values.ndim == 2:
            values = values[:, :, None]
        if values.ndim != 3 or 0 in values.shape:
            raise ValueError(f"{name} must be {_LAYOUTS}, got an array of shape {x.shape}")
        n, t, d = values.shape
        offsets = np.arange(n + 1, dtype=np.int64) * t
        return _trusted(
            _finite(values.reshape(n * t, d).astype(np.float64), offsets, name), offsets
        )


class SeriesKernel(ObjectKernel):
    """A kernel whose points are series."""

    domain = "series"
    expensive = True

    def items(self, x: Any, name: str, /) -> Series:
        return Series.of(x, name)

    def view(self, items: Series, /) -> Any:
        return items


def same_channels(x: Series, y: Series) -> None:
    """Require two containers of series with the same number of channels."""
    if x.channels != y.channels:
        raise ValueError(
            f"x and y must have series with the same number of channels, got {x.channels} and {y.channels}"
        )


def _trusted(values: np.ndarray, offsets: Any) -> Series:
    """Series without checks, for values that were checked."""
    series = object.__new__(Series)
    object.__setattr__(series, "values", values)
    object.__setattr__(series, "offsets", np.asarray(offsets, dtype=np.int64))
    return series


def _one(item: Any, name: str) -> np.ndarray:
    """One checked series (T, d); a vector (T,) has one channel."""
    if isinstance(item, str | bytes | dict) or not (is_array(item) or isinstance(item, Iterable)):
        raise TypeError(f"{name} must be an array (T, d), got {validate.shown(item)}")
    if 0 in getattr(item, "shape", ()) or (isinstance(item, list | tuple) and not item):
        raise ValueError(f"{name} is empty: leave it out")
    try:
        points = to_numpy(validate.points(item, name))
    except ValueError as error:
        raise ValueError(f"{error}{_PADDED}" if "NaN" in str(error) else str(error)) from None
    return points.astype(np.float64)


_PADDED = " (series that end with NaN because they are shorter: Series.from_padded)"


def _finite(values: np.ndarray, offsets: np.ndarray, name: str) -> np.ndarray:
    """Values if all are finite; otherwise raise a ValueError that names the series."""
    try:
        return validate.finite(values, name)
    except ValueError:
        bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if len(bad):
            i = int(np.searchsorted(offsets, bad[0], side="right")) - 1
            _one(values[offsets[i] : offsets[i + 1]], f"series {i} of {name}")
        raise


def named_series(
    frame: Any, group: str | None, time: str | None
) -> tuple[list[Any], np.ndarray, Any]:
    """Names, values and offsets of the series of a data frame, in one of the layouts of `Series.from_frame`."""
    if group is not None:
        return _long_table(frame, group, time)
    index: Any = getattr(frame, "index", None)
    if getattr(index, "nlevels", 1) == 2:
        names = index.get_level_values(0).tolist()
        return _sorted_series(names, index.get_level_values(1), frame.reset_index(drop=True))
    columns: Any = getattr(frame, "columns", ())
    if index is None or not len(columns) or not hasattr(frame[columns[0]].iloc[0], "__len__"):
        raise ValueError(
            "group must name the column that tells series apart, unless the frame has an index of two levels, "
            "or cells that are series"
        )
    nested = [[frame[c].iloc[i] for c in columns] for i in range(len(frame))]
    for i, channels in enumerate(nested):
        if len({len(c) for c in channels}) > 1:
            raise ValueError(f"the channels of series {i} of the frame have different lengths")
    series = Series.of([np.stack([np.asarray(c) for c in row], axis=1) for row in nested], "frame")
    return list(index), series.values, series.offsets


def _long_table(frame: Any, group: str, time: str | None) -> tuple[list[Any], np.ndarray, Any]:
    """Names, values and offsets of series in a long table."""
    import narwhals.stable.v1 as nw

    data = nw.from_native(frame, eager_only=True)
    missing = [c for c in (group, time) if c is not None and c not in data.columns]
    if missing:
        raise ValueError(f"no column {missing[0]!r}: the frame has the columns {data.columns}")
    times = None if time is None else data.get_column(time).to_numpy()
    channels = data.drop([c for c in (group, time) if c is not None]).to_native()
    return _sorted_series(data.get_column(group).to_list(), times, channels)


def _sorted_series(names: list[Any], times: Any, frame: Any) -> tuple[list[Any], np.ndarray, Any]:
    """Names, values and offsets of series whose rows have these names and times."""
    codes = {name: i for i, name in enumerate(dict.fromkeys(names))}
    owners = np.asarray([codes[name] for name in names], dtype=np.int64)
    order = np.lexsort((owners,) if times is None else (np.asarray(times), owners))
    channels = table(frame, "frame")
    if channels is None or any(channels.columns.categorical):
        raise TypeError(
            "all columns beside those of the name and the time must be numeric channels"
        )
    sizes = np.bincount(owners, minlength=len(codes))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    values = np.asarray(channels.values, dtype=np.float64)[order]
    return list(codes), _finite(values, offsets, "frame"), offsets
