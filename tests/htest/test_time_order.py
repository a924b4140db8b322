"""Rows in the order of a column of times: dates mean the same in every kind of frame, and tests use that order."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

import mercer
from mercer.htest.time_order import as_days, in_time_order

pd = pytest.importorskip("pandas")
DAYS = pd.date_range("2024-01-28", periods=10)


def ways_to_write_dates():
    moments = [day.to_pydatetime() for day in DAYS]
    return {
        "datetime64": DAYS.to_numpy(),
        "index": DAYS,
        "series": pd.Series(DAYS),
        "datetimes": moments,
        "dates": [m.date() for m in moments],
        "ISO": [m.date().isoformat() for m in moments],
        "ISO with time": [f"{m.date()}T00:00:00" for m in moments],
        "UTC": [f"{m.date()} 00:00:00+00:00" for m in moments],
        "zone": [f"{m.date()} 02:00+02:00" for m in moments],
        "slashes": [m.strftime("%Y/%m/%d") for m in moments],
        "points": [m.strftime("%d.%m.%Y") for m in moments],
        "day first": [m.strftime("%d/%m/%Y") for m in moments],
        "month first": [m.strftime("%m/%d/%Y 0:00") for m in moments],
    }


@pytest.mark.parametrize("way", ways_to_write_dates())
def test_dates_are_days_however_they_are_written(way):
    since_1970 = [(day.date() - dt.date(1970, 1, 1)).days for day in DAYS]
    assert as_days(ways_to_write_dates()[way]).tolist() == since_1970


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (["01/02/2024", "03/04/2024"], "two ways"),
        (["2024-01-01", "soon"], "'soon' is neither a date"),
        (["2024-13-01"], "neither a date"),
        (["2024-01-01", None], "None"),
        ([1.0, float("nan")], "missing"),
        (np.array(["2024-01-01", "NaT"], "M8[D]"), "missing"),
        (["2024-01-01 00:00+00:00", "2024-01-01 00:00"], "zone"),
        ([[1, 2], [3, 4]], "one-dimensional"),
    ],
)
def test_what_is_no_time_is_refused(times, message):
    with pytest.raises(ValueError, match=message):
        as_days(times)


def wandering(rows, rng):
    """An autoregressive series of coefficient 0.7."""
    values = np.zeros(rows)
    for i, step in enumerate(rng.normal(size=rows - 1)):
        values[i + 1] = 0.7 * values[i] + step
    return values


def shuffled_frame(rows, rng):
    days = pd.date_range("2024-01-01", periods=rows)
    return pd.DataFrame({"day": days, "value": wandering(rows, rng)}).sample(frac=1, random_state=1)


def test_rows_of_samples_are_sorted_and_the_column_is_not_compared():
    rng = np.random.default_rng(0)
    x, y = shuffled_frame(80, rng), shuffled_frame(60, rng)
    by_column = mercer.two_sample(x, y, time="day", rng=0)
    by_array = mercer.two_sample(x[["value"]], y[["value"]], time=(x.day, y.day), rng=0)
    by_hand = [f.sort_values("day")[["value"]] for f in (x, y)]
    assert by_column.pvalue == by_array.pvalue == mercer.two_sample(*by_hand, rng=0).pvalue
    assert by_column.pooled.columns.names == ("value",)
    assert by_column.cautions
    assert not mercer.two_sample(x[["value"]], y[["value"]], rng=0).cautions  # the order hides it


def test_rows_of_variables_are_sorted_together():
    rng = np.random.default_rng(1)
    x, other = shuffled_frame(80, rng), wandering(80, rng)
    order = np.argsort(x.day.to_numpy())
    y = np.empty(80)
    y[order] = other  # in the rows of x
    for time, first in (("day", x), (x.day.to_numpy(), x[["value"]])):
        result = mercer.independence(first, y, time=time, series=True, rng=0)
        by_hand = mercer.independence(x.value.to_numpy()[order], other, series=True, rng=0)
        assert result.pvalue == by_hand.pvalue
        assert "Rows are in the order of time." in result.notes


def test_wrong_times_are_refused():
    x = pd.DataFrame({"day": [1, 2], "value": [1.0, 2.0]})
    values = np.zeros((4, 1))
    with pytest.raises(ValueError, match="no column 'week' in x"):
        mercer.two_sample(x, x, time="week")
    with pytest.raises(TypeError, match="pair"):
        mercer.two_sample(values, values, time=np.arange(4))
    with pytest.raises(TypeError, match="x must be a data frame"):
        mercer.two_sample(values, values, time="day")
    with pytest.raises(ValueError, match="one for each of the 4 rows, got 3"):
        mercer.independence(values, values, time=np.arange(3))
    with pytest.raises(ValueError, match="data frame with a column 'day'"):
        mercer.independence(values, values, time="day")
    dates = pd.DataFrame({"day": DAYS, "value": np.arange(10.0)})
    with pytest.raises(TypeError, match="time='day'"):
        mercer.two_sample(dates, dates)


def test_objects_and_frames_of_other_libraries():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"t": [3, 1, 2], "a": [30.0, 10.0, 20.0]})
    timed = in_time_order(frame, "t", "x")
    assert timed.sample["a"].to_list() == [10.0, 20.0, 30.0]
    assert timed.times.tolist() == [1.0, 2.0, 3.0]
    assert in_time_order(["c", "a", "b"], [3, 1, 2], "x").sample == ["a", "b", "c"]
