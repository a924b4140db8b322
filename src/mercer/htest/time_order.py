"""Times as numbers of days, and samples with their rows in the order of time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import numpy as np

from mercer import frames
from mercer.backend import count, is_array, to_numpy
from mercer.rkhs.sample_rows import one_sample, taken

_SECONDS_PER_DAY = 86_400.0
_EPOCH = datetime(1970, 1, 1)
_MONTH = re.compile(r"\d{4}-\d{2}")
_YEAR_FIRST = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:[T ](.*))?")
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})(?:[T ](.*))?")


class Timed(NamedTuple):
    """A sample with its rows in the order of time, and the times themselves: (n,) days or numbers."""

    sample: Any
    times: np.ndarray


SORTED_NOTE = "Rows are in the order of time."
DIFFERENCES_NOTE = (
    "Changes from each row to the next were tested: the verdict is on these, not on the levels."
)


def ordering_notes(time: Any, difference: bool) -> tuple[str, ...]:
    """Notes of a result on the order of the rows, and on differences between them."""
    return (
        *([SORTED_NOTE] if time is not None else []),
        *([DIFFERENCES_NOTE] if difference else []),
    )


def samples_in_time_order(x: Any, y: Any, time: Any) -> tuple[Any, Any]:
    """Two samples, each with its rows in the order of time.

    `time` is the name of a column of both data frames, or a pair: the times of the rows of x and of y.
    """
    if not isinstance(time, str) and not (isinstance(time, list | tuple) and len(time) == 2):
        raise TypeError(
            "time must be the name of a column of both data frames, or a pair (times of x, times of y), got "
            f"{type(time).__name__}"
        )
    each = (time, time) if isinstance(time, str) else time
    return tuple(in_time_order(*args).sample for args in zip((x, y), each, ("x", "y"), strict=True))


def variables_in_time_order(samples: Sequence[Any], time: Any) -> list[Any]:
    """Variables observed together, their rows in the order of time.

    `time` is the name of a column of one of the data frames, or one time for each row. A column of that name is left
    out of every variable that has it.
    """
    samples = list(samples)
    if isinstance(time, str):
        having = [i for i, s in enumerate(samples) if time in frames.column_names(s)]
        if not having:
            raise ValueError(
                f"no variable is a data frame with a column {time!r}: pass the times themselves"
            )
        label, time = time, None
        for i in having:
            values, samples[i] = frames.split_column(samples[i], label, "xyz"[i])
            time = values if time is None else time
    return [in_time_order(s, time, n).sample for s, n in zip(samples, "xyz", strict=False)]


def in_time_order(sample: Any, time: Any, name: str) -> Timed:
    """The rows of a sample sorted by time, rows of equal times in their order.

    `time` is the name of a column of a data frame, which is then left out of the sample, or one time for each row.
    """
    if isinstance(time, str):
        values, sample = frames.split_column(sample, time, name)
        what = f"column {time!r} of {name}"
    else:
        values, what = time, f"the times of {name}"
    times = as_days(values, what)
    rows = count(sample) if is_array(sample) or not hasattr(sample, "shape") else sample.shape[0]
    if len(times) != rows:
        raise ValueError(f"{what} must be one for each of the {rows} rows, got {len(times)}")
    order = np.argsort(times, kind="stable")
    return Timed(_rows(sample, order), times[order])


def differences(sample: Any, name: str) -> Any:
    """Changes from each row of a sample of numbers to the next, as an array or a `Table` with one row less."""
    sample = one_sample(sample, name)
    if isinstance(sample, frames.Table):
        named = zip(sample.columns.names, sample.columns.categorical, strict=True)
        labels = [column for column, categorical in named if categorical]
        if labels:
            raise ValueError(
                f"difference needs columns of numbers, but {name} has categories in {labels[0]!r}: leave that column out"
            )
        return replace(sample, values=np.diff(sample.values, axis=0))
    if not is_array(sample):
        raise TypeError(
            f"difference needs an array or a data frame of numbers, got {type(sample).__name__} for {name}"
        )
    points: Any = sample
    return points[1:] - points[:-1]


def _rows(sample: Any, order: np.ndarray) -> Any:
    if np.array_equal(order, np.arange(len(order))):
        return sample
    if is_array(sample):
        return taken(sample, order)
    framed = frames.rows(sample, order.tolist())
    return [sample[i] for i in order] if framed is None else framed


def as_days(values: Any, what: str = "time") -> np.ndarray:
    """Times as numbers that increase with time: dates in days since 1970, numbers as they are.

    Dates are datetime64, datetime or date objects, or texts: 2024-01-31, 2024-01-31 15:00, 31.01.2024, and 31/01/2024
    where days beyond 12 show which number is the month. Times with a zone are taken in UTC.

    Examples
    --------
    >>> as_days(["1970-01-02", "1970-01-01 12:00"]).tolist()
    [1.0, 0.5]
    """
    array = _one_dimensional(values, what)
    if array.dtype.kind == "M":
        if np.isnat(array).any():
            raise ValueError(f"{what} has missing times: leave those rows out")
        return array.astype("datetime64[us]").astype(np.int64) / (1e6 * _SECONDS_PER_DAY)
    if array.dtype.kind in "iuf":
        numbers = array.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise ValueError(f"{what} has missing or infinite times: leave those rows out")
        return numbers
    return _parsed(array.tolist(), what)


def _one_dimensional(values: Any, what: str) -> np.ndarray:
    listed = None if is_array(values) or isinstance(values, list | tuple) else values
    listed = None if listed is None else frames.values(listed, what)
    if is_array(values):
        values = to_numpy(values)
    if listed is not None and not hasattr(values, "to_numpy"):
        values = listed
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(
            f"{what} must be one-dimensional, a time for each row, got shape {array.shape}"
        )
    return array


def _parsed(values: Sequence[Any], what: str) -> np.ndarray:
    """Days of dates as objects or texts; each distinct one is read once."""
    levels = dict.fromkeys(values)
    texts = [value for value in levels if isinstance(value, str)]
    others = [value for value in levels if isinstance(value, date)]
    unknown = next((v for v in levels if not isinstance(v, str | date)), None)
    if unknown is not None or len(texts) + len(others) < len(levels):
        raise ValueError(f"{what} must hold dates or numbers, got {unknown!r} among them")
    moments = {**dict(zip(texts, _read_dates(texts, what), strict=True)), **_objects(others)}
    zoned = {moment.tzinfo is not None for moment in moments.values()}
    if len(zoned) == 2:
        raise ValueError(f"{what} has times with and without a time zone: write them alike")
    days = {value: _days(moment) for value, moment in moments.items()}
    return np.array([days[value] for value in values], dtype=np.float64)


def _objects(values: Iterable[date]) -> dict[Any, datetime]:
    return {v: v if isinstance(v, datetime) else datetime(v.year, v.month, v.day) for v in values}


def _days(moment: datetime) -> float:
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return (moment - _EPOCH).total_seconds() / _SECONDS_PER_DAY


def _read_dates(words: Sequence[str], what: str) -> list[datetime]:
    """Moments of texts, all written in one order of day and month."""
    day_first = _day_first([m for w in words if (m := _YEAR_LAST.fullmatch(w.strip()))], what)
    moments = []
    for word in words:
        try:
            moments.append(_moment(word.strip(), day_first))
        except ValueError:
            raise ValueError(
                f"{what}: {word!r} is neither a date, such as 2024-01-31 or 31.01.2024, nor a number"
            ) from None
    return moments


def _moment(word: str, day_first: bool) -> datetime:
    if _MONTH.fullmatch(word):
        return datetime.fromisoformat(f"{word}-01")
    if match := _YEAR_FIRST.fullmatch(word):
        year, _, month, day, clock = match.groups()
    elif match := _YEAR_LAST.fullmatch(word):
        first, _, second, year, clock = match.groups()
        day, month = (first, second) if day_first else (second, first)
    else:
        raise ValueError
    day_of_year = f"{year}-{int(month):02}-{int(day):02}"
    return datetime.fromisoformat(f"{day_of_year} {_two_digits(clock)}" if clock else day_of_year)


def _two_digits(clock: str) -> str:
    """The clock time with two digits of the hour, as ISO 8601 writes it."""
    clock = clock.strip()
    return f"0{clock}" if re.match(r"\d:", clock) else clock


def _day_first(matches: Sequence[re.Match[str]], what: str) -> bool:
    """Whether dates such as 5/7/2024 have the day first; refused where nothing shows it."""
    if not matches or any(m[2] == "." or int(m[1]) > 12 for m in matches):
        return True
    if any(int(m[3]) > 12 for m in matches):
        return False
    raise ValueError(
        f"{what}: {matches[0][0]!r} can be read in two ways, day or month first: write dates as 2024-01-31"
    )
