"""Parquet and NPY files that are too large for the memory limit: the command reads them part by part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.support.cli_runs import run

_ROWS, _MEMORY = 30_000, "16MiB"  # 2 x 30,000 x 5 float64 are 2.3 MiB, more than an eighth


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rng = tmp_path_factory.mktemp("large"), np.random.default_rng(0)
    for sample, shift in (("a", 0.0), ("b", 0.1)):
        for month in range(2):
            values = rng.normal(size=(_ROWS // 2, 5))
            values[:, 3] += shift
            frame = pd.DataFrame(values, columns=list("vwxyz"))
            frame.to_parquet(folder / f"{sample}{month}.parquet", row_group_size=4000)
    return folder


def compared(folder: Path, first: str, second: str, *more: str, code: int = 0) -> Any:
    paths = [str(folder / f"{name}*.parquet") for name in (first, second)]
    done = run("two-sample", *paths, "--memory", _MEMORY, "--json", "-", *more, code=code)
    return json.loads(done.stdout) if code == 0 else done.stderr


def test_the_automatic_test_is_that_of_samples_in_memory(large: Path):
    answer = compared(large, "a", "b", "--resamples", "99", "--report", str(large / "page.html"))
    assert "MMDAgg with" in (large / "page.html").read_text()
    assert answer["differ"]
    assert answer["result"]["sizes"] == [_ROWS, _ROWS]
    assert [file["rows"] for file in answer["files"]] == [_ROWS, _ROWS]
    assert any("MMDAgg with" in note for note in answer["result"]["notes"])
    assert any("random rows" in note for note in answer["result"]["notes"])
    assert len(answer["features"]["features"]) == 5


@pytest.mark.parametrize("test", ["linear", "scf"])
def test_the_pvalue_is_that_of_the_rows_in_memory(large: Path, test: str):
    from mercer.htest import SCF, LinearMMD

    x, y = (
        pd.concat(
            [pd.read_parquet(large / f"{name}{k}.parquet") for k in range(2)], ignore_index=True
        )
        for name in "ab"
    )
    kind = {"linear": LinearMMD, "scf": SCF}[test]
    answer = compared(large, "a", "b", "--test", test)
    assert answer["pvalue"] == pytest.approx(kind().test(x, y, rng=0).pvalue, rel=1e-6)


def test_tests_that_need_all_rows_are_refused_at_the_door(large: Path):
    assert compared(large, "a", "b", "--test", "hotelling")["differ"]  # they fit
    frame = pd.concat([pd.read_parquet(large / "a0.parquet")] * 8, ignore_index=True)
    frame.to_parquet(large / "d0.parquet")
    line = compared(large, "d", "d", "--test", "hotelling", code=4)
    assert "or --test me" in line
    assert "the limit is 16 MiB" in line
    pd.concat([frame] * 2, ignore_index=True).to_parquet(large / "twice.parquet")
    both = run("two-sample", str(large / "twice.parquet"), "--by", "v", "--memory", _MEMORY, code=4)
    assert "twice.parquet needs at least" in both.stderr  # one file, and no other test takes --by
    assert "compare two files of numbers" in " ".join(both.stderr.split())


def test_columns_without_numbers_are_named_where_files_do_not_fit(large: Path):
    frame = pd.concat([pd.read_parquet(large / "a0.parquet")] * 8, ignore_index=True)
    frame.assign(kind="a").to_parquet(large / "labels0.parquet")
    line = " ".join(compared(large, "labels", "labels", code=4).split())
    assert "--series; 'kind' holds no numbers)" in line
    assert compared(large, "labels", "labels", "--exclude", "kind")["differ"] is False


def test_missing_and_infinite_values_are_refused_with_their_place(large: Path):
    frame = pd.concat([pd.read_parquet(large / f"a{k}.parquet") for k in range(2)])
    for name, value, word in (("e", np.nan, "a missing value"), ("f", np.inf, "an infinite value")):
        values = frame.to_numpy().copy()
        values[12_344, 2] = value
        pd.DataFrame(values, columns=list("vwxyz")).to_parquet(
            large / f"{name}0.parquet", row_group_size=4000
        )
        line = compared(large, name, "b", code=3)
        assert "column 'x', row 12,345" in line
        assert word in line


def test_rows_that_depend_on_those_before_them_are_noticed(large: Path):
    walk = np.cumsum(np.random.default_rng(1).normal(size=(_ROWS, 5)), axis=0)
    pd.DataFrame(walk, columns=list("vwxyz")).to_parquet(large / "g0.parquet")
    assert any("depend on those before them" in c for c in compared(large, "g", "b")["cautions"])


def test_columns_are_compared_in_more_rows_which_are_named(large: Path, tmp_path: Path):
    page = tmp_path / "page.html"
    told = compared(large, "a", "b", "--resamples", "99", "--report", str(page))
    sizes = told["features"]["sizes"]
    assert 2000 < sizes[0] < _ROWS  # of 2,000 rows a shift by 0.1 is not found surely, as here
    assert told["features"]["features"][0]["name"] == "y"
    assert told["features"]["features"][0]["adjusted"] <= 0.01
    rows = f"{sizes[0]:,} and {sizes[1]:,} random rows"
    text = page.read_text()
    assert f"Columns by how much they differ, in {rows}" in text
    assert "figures are computed from 2,000 and 2,000 rows" in text


def test_a_page_of_a_subsample_says_nothing_about_all_rows(large: Path):
    pytest.importorskip("jinja2")
    from dataclasses import replace

    from mercer.htest import MMD
    from mercer.report import two_sample_report

    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    y = rng.normal(size=(200, 2)) @ np.linalg.cholesky([[1, 0.9], [0.9, 1]]).T
    result = replace(MMD().test(x, y, rng=0), rows=(20_000, 20_000))
    assert result.rejects(0.05)
    text = two_sample_report(result)
    assert "No column differs on its own" not in text
    assert "No difference of a column on its own was found in 200 and 200 random rows" in text
    assert "none of 2 differs by itself among 200 and 200 random rows" in result.summary()
