"""NPY files and missing values beyond the memory limit: the command reads them part by part, as it reads them at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.support.cli_runs import refused, run

_ROWS, _LIMIT = 40_000, "16MiB"  # 2 x 40,000 x 5 float64 are 3.1 MiB, more than an eighth


@pytest.fixture
def samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, np.ndarray]:
    """Two samples that differ in a column; the command runs in the folder of their files."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, _ROWS, 5))
    y[:, 3] += 0.1
    return {"a": x, "b": y}


def compared(*arguments: str, limit: str = _LIMIT) -> Any:
    done = run("two-sample", *arguments, "--memory", limit, "--json", "-")
    return json.loads(done.stdout)


def part_by_part(answer: Any) -> bool:
    return any("read part by part" in note for note in answer["result"]["notes"])


_LAYOUTS = {
    "rows": lambda x: x,
    "columns": np.asfortranarray,
    "float32": lambda x: x.astype(np.float32),
    "big endian": lambda x: x.astype(">f8"),
    "integers": lambda x: np.round(20 * x).astype(np.int32),
    "fields": lambda x: np.ascontiguousarray(x).view([(n, "f8") for n in "vwxyz"])[:, 0],
    "one column": lambda x: x[:, 3].repeat(4),
}


@pytest.mark.parametrize("layout", _LAYOUTS)
def test_arrays_are_compared_as_in_memory(samples: dict[str, np.ndarray], layout: str):
    for name, values in samples.items():
        np.save(f"{name}.npy", _LAYOUTS[layout](values))
    parts, whole = (
        compared("a.npy", "b.npy", "--test", "linear", limit=limit) for limit in (_LIMIT, "1GiB")
    )
    assert part_by_part(parts)
    assert not part_by_part(whole)
    assert parts["columns"] == whole["columns"]
    assert [f["rows"] for f in parts["files"]] == [f["rows"] for f in whole["files"]]
    assert parts["pvalue"] == pytest.approx(whole["pvalue"], rel=1e-4)  # float32 has 7 digits


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_columns_are_selected_by_their_numbers(samples: dict[str, np.ndarray], layout: str):
    for name, values in samples.items():
        np.save(f"{name}.npy", _LAYOUTS[layout](np.tile(values, (2, 1))))
    some = compared(
        "a.npy", "b.npy", "--test", "linear", "--exclude", "x1", "--columns", "x1,x3,x4"
    )
    assert part_by_part(some)
    for name, values in samples.items():
        np.save(f"{name}.npy", np.tile(values[:, 2:4], (2, 1)))
    alone = compared("a.npy", "b.npy", "--test", "linear")
    assert some["pvalue"] == pytest.approx(alone["pvalue"], rel=1e-9)
    assert "no column 'x9'" in refused("two-sample", "a.npy", "b.npy", "--columns", "x9", code=3)


def test_parts_of_arrays_match_a_pattern(samples: dict[str, np.ndarray]):
    for name, values in samples.items():
        np.save(f"{name}.npy", values)
        for number, rows in enumerate(np.array_split(values, 3)):
            np.save(f"{name}_{number}.npy", rows)
    one, several = (
        compared(*paths, "--test", "linear")
        for paths in (("a.npy", "b.npy"), ("a_*.npy", "b_*.npy"))
    )
    assert several["pvalue"] == pytest.approx(one["pvalue"], rel=1e-9)


def test_large_arrays_that_cannot_be_read_in_parts_are_refused(samples: dict[str, np.ndarray]):
    for name, values in samples.items():
        np.save(f"{name}.npy", np.tile(values, (8, 1)))
    line = refused("two-sample", "a.npy", "b.npy", "--test", "cross", "--memory", _LIMIT, code=4)
    assert "or --test me" in line
    words = np.array(["one", "two"] * 500_000)
    np.save("words.npy", words)
    line = refused("two-sample", "words.npy", "words.npy", "--memory", _LIMIT, code=4)
    assert "no numbers" in line
    large = np.full((_ROWS, 5), 2**53 + 1)
    np.save("a.npy", large)
    line = refused("two-sample", "a.npy", "a.npy", "--memory", _LIMIT, code=3)
    assert "row 1: 9007199254740993 is beyond 2^53" in line


# ---- missing values -----------------------------------------------------------------------------


def with_gaps(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values with some missing ones, many of them side by side, and which rows are complete."""
    gaps = values.copy()
    gaps[::50, 1] = np.nan
    gaps[10_000:19_000, 4] = np.nan  # whole row groups
    return gaps, np.isfinite(gaps.sum(axis=1))


def saved(name: str, values: np.ndarray, form: str) -> str:
    if form == "npy":
        np.save(f"{name}.npy", values)
    else:
        frame = pd.DataFrame(values, columns=list("vwxyz"))
        frame.to_parquet(f"{name}.parquet", row_group_size=1000)
    return f"{name}.{form}"


@pytest.mark.parametrize("form", ["npy", "parquet"])
@pytest.mark.parametrize("test", [("linear",), ("me",), ("auto", "--resamples", "99")])
def test_rows_with_missing_values_are_left_out(
    samples: dict[str, np.ndarray], form: str, test: tuple[str, ...]
):
    """The answer is that of the files without these rows."""
    dropped, complete, gapped = [], [], []
    for name, values in samples.items():
        gaps, kept = with_gaps(values)
        gapped.append(saved(name, gaps, form))
        complete.append(saved(f"{name}_complete", gaps[kept], form))
        dropped.append(int(np.sum(~kept)))
    answer = compared(*gapped, "--missing", "drop", "--test", *test)
    alone = compared(*complete, "--test", *test)
    assert part_by_part(answer)
    # features of landmarks are divided by small eigenvalues: other parts of the same rows move the statistic by 1e-6
    rel = 1e-5 if test[0] == "auto" else 1e-9
    assert answer["result"]["statistic"] == pytest.approx(alone["result"]["statistic"], rel=rel)
    assert answer["pvalue"] == pytest.approx(alone["pvalue"], rel=1e-9)
    assert [f["rows"] for f in answer["files"]] == [_ROWS - n for n in dropped]
    assert [f["dropped"] for f in answer["files"]] == dropped
    told = run("two-sample", *gapped, "--missing", "drop", "--test", "linear", "--memory", _LIMIT)
    for path, number in zip(gapped, dropped, strict=True):
        assert f"{path}: {number:,} rows with missing values were left out" in told.stdout


def test_few_complete_rows_are_compared_in_memory(samples: dict[str, np.ndarray]):
    for name, values in samples.items():
        gaps = values.copy()
        gaps[np.arange(_ROWS) % 80 > 0, 2] = np.nan
        np.save(f"{name}.npy", gaps)
        np.save(f"{name}_complete.npy", values[::80])
    answer = compared("a.npy", "b.npy", "--missing", "drop", "--test", "hotelling", limit="1GiB")
    few = compared("a.npy", "b.npy", "--missing", "drop")
    alone = compared("a_complete.npy", "b_complete.npy")
    assert not part_by_part(few)
    assert few["pvalue"] == alone["pvalue"]
    assert [f["dropped"] for f in few["files"]] == [39_500, 39_500]
    assert [f["rows"] for f in few["files"]] == [f["rows"] for f in answer["files"]] == [500, 500]
    assert few["result"]["sizes"] == [500, 500]


def test_numbers_that_stand_for_missing_values_are_left_out_too(samples: dict[str, np.ndarray]):
    paths = []
    for name, values in samples.items():
        gaps, _ = with_gaps(values)
        paths.append(saved(name, np.where(np.isnan(gaps), -999, gaps), "parquet"))
    answer = compared(*paths, "--missing", "drop", "--na", "-999", "--test", "linear")
    assert part_by_part(answer)
    assert [f["dropped"] for f in answer["files"]] == [9_620, 9_620]
    line = refused("two-sample", *paths, "--na", "-999", "--memory", _LIMIT, code=3)
    assert "column 'w', row 1: a missing value: --missing drop leaves such rows out" in line


def test_what_dropping_cannot_mend(samples: dict[str, np.ndarray]):
    for name, values in samples.items():
        gaps = values.copy()
        gaps[:, 2] = np.nan
        saved(name, gaps, "npy")
    asked = ("two-sample", "a.npy", "b.npy", "--memory", _LIMIT, "--missing")
    line = refused(*asked, "drop", code=3)
    assert "a.npy: 0 rows without missing values; at least 2 are needed" in line
    assert run(*asked, "drop", "--exclude", "x3", "--test", "linear").stdout
    gaps = samples["a"].copy()
    gaps[17, 1], gaps[12_344, 2] = np.nan, np.inf
    saved("a", gaps, "npy")
    line = refused(*asked, "drop", code=3)
    assert "column 'x3', row 12,345: an infinite value" in line
