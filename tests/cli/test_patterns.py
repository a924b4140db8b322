"""Several files named by a pattern: one sample, as if they were one file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mercer.cli.byte_source import natural
from mercer.cli.exits import Refused
from mercer.cli.read import read
from mercer.cli.table import Selection
from tests.support.cli_runs import run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    for month in range(3):
        frame = pd.DataFrame(
            {"a": rng.normal(size=40), "b": rng.choice(["x", "y"] if month else ["y", "z"], 40)}
        )
        frame.to_parquet(tmp_path / f"before{month}.parquet")
        frame.assign(a=frame["a"] + 1).to_parquet(tmp_path / f"after{month}.parquet")
    return tmp_path


def test_files_of_a_pattern_are_one_sample(folder: Path):
    file = read(str(folder / "before*.parquet"), Selection())
    whole = pd.concat([pd.read_parquet(folder / f"before{k}.parquet") for k in range(3)])
    np.testing.assert_array_equal(file.columns["a"].values, whole["a"])
    labels = file.columns["b"]
    assert [labels.levels[code] for code in labels.codes] == list(whole["b"])


def test_rows_are_in_the_order_of_the_months_and_not_of_the_alphabet(folder: Path):
    for month in (10, 9, 1):
        np.savetxt(folder / f"m{month}.csv", [month, month], header="a", comments="")
    values = read(str(folder / "m*.csv"), Selection()).columns["a"].values
    assert list(values) == [1, 1, 9, 9, 10, 10]


def test_names_that_differ_by_case_or_zeros_alone_have_one_order():
    """File systems list them in any order, and rows and batches followed it."""
    names = ["A1.csv", "a01.csv", "a1.csv", "a2.csv"]
    for seed in range(5):
        shuffled = np.random.default_rng(seed).permutation(names).tolist()
        assert sorted(shuffled, key=natural) == names


def test_the_command_takes_patterns(folder: Path):
    done = run(
        "two-sample", str(folder / "before*.parquet"), str(folder / "after*.parquet"), "--json", "-"
    )
    assert json.loads(done.stdout)["pvalue"] < 0.01


def test_what_does_not_go_together_is_refused(folder: Path):
    with pytest.raises(Refused, match="no file matches"):
        read(str(folder / "never*.parquet"), Selection())
    pd.DataFrame({"a": [1.0], "c": [2.0]}).to_parquet(folder / "before9.parquet")
    with pytest.raises(Refused, match="have different columns"):
        read(str(folder / "before*.parquet"), Selection())
