"""Cautions on columns that number the rows, which tell samples apart that are otherwise alike."""

import numpy as np
import pandas as pd

import mercer
from mercer.htest import drift
from mercer.htest.row_order import order_cautions


def frame(n, seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(["u", "v"], n)})


def read_back(sample, path):
    """The frame as pandas reads the file that it wrote: the row index becomes a column."""
    sample.to_csv(path)
    return pd.read_csv(path)


def test_an_index_that_became_a_column_is_named(tmp_path):
    x, y = (read_back(frame(n, n), tmp_path / f"{n}.csv") for n in (120, 40))
    result = mercer.two_sample(x, y, rng=0)
    assert result.rejects()  # row numbers of 120 rows are larger than those of 40
    (caution,) = result.cautions
    assert caution.startswith("Caution: column 'Unnamed: 0' grows with every row")
    assert result.summary().startswith(caution)
    assert (
        mercer.two_sample(
            x.drop(columns="Unnamed: 0"), y.drop(columns="Unnamed: 0"), rng=0
        ).cautions
        == ()
    )


def test_rows_that_were_left_out_change_nothing(tmp_path):
    x, y = (read_back(frame(n, n), tmp_path / f"{n}.csv").drop(index=[3, 7]) for n in (120, 40))
    result = drift(x, {"May": y}, rng=0)
    assert "column 'Unnamed: 0' grows with every row" in result.summary()


def test_columns_that_grow_in_one_sample_only_are_sorted():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 60, 2))
    x[:, 0] = np.sort(x[:, 0])
    assert not any("grow" in c for c in order_cautions([("x", x), ("y", y)], remedy="shuffle them"))


def test_arrays_and_several_columns():
    rng = np.random.default_rng(0)
    x, y = (
        np.column_stack([np.arange(n), rng.normal(size=n), 5.0 * np.arange(n)]) for n in (50, 30)
    )
    (caution,) = order_cautions([("x", x), ("y", y)], remedy="")
    assert "columns 'column 0' and 'column 2' grow with every row" in caution
    assert not any(
        "grow" in c for c in order_cautions([("x", x[:, :1]), ("y", y[:, :1])], remedy="")
    )
    assert not any("grow" in c for c in order_cautions([("x", x[:10]), ("y", y[:10])], remedy=""))
