"""`mercer drift` on folders and patterns: every file is a batch, and what is not read is named."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest

from tests.support import cli_runs

pd = pytest.importorskip("pandas")
run = partial(cli_runs.run, "drift")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A reference, ten months of which the last is shifted, and other files beside them."""
    rng = np.random.default_rng(0)
    months = tmp_path / "months"
    (months / "old").mkdir(parents=True)
    for i in (10, 9, 1, 2):
        values = rng.normal(3.0 * (i == 10), 1.0, size=60)
        name = f"month{i}.csv" + (".gz" if i == 2 else "")
        pd.DataFrame({"v": values}).to_csv(months / name, index=False)
    pd.DataFrame({"v": rng.normal(size=60)}).to_csv(months / "ref.csv", index=False)
    (months / "README.md").write_text("months")
    (months / ".hidden.csv").write_text("v\n1\n")
    monkeypatch.chdir(tmp_path)
    return months


def test_a_folder_is_read_in_natural_order_and_the_rest_is_named():
    done = run("months/ref.csv", "months", "--json", "-")
    document = json.loads(done.stdout)
    names = [batch["files"][1]["name"] for batch in document["batches"]]
    assert [n.split("/")[-1] for n in names] == [
        "month1.csv", "month2.csv.gz", "month9.csv", "month10.csv",
    ]  # fmt: skip
    assert [n.split("/")[-1] for n in document["drifted"]] == ["month10.csv"]
    left_out = {d["file"].split("/")[-1]: d["reason"] for d in document["not_read"]}
    assert left_out == {
        "ref.csv": "the reference",
        "old": "a folder",
        "README.md": "not a table by its name",
        ".hidden.csv": "not a table by its name",
    }
    assert "4 files read as batches, in this order: month1.csv, month2.csv.gz" in done.stderr
    assert "README.md (not a table by its name)" in done.stderr


def test_each_file_of_a_pattern_is_a_batch():
    document = json.loads(run("months/ref.csv", "months/month1*.csv", "--json", "-").stdout)
    assert len(document["batches"]) == 2
    assert "no file matches" in run("months/ref.csv", "months/*.arrow", code=3).stderr


def test_no_file_of_the_reference_is_a_batch(folder):
    """A pattern may name the reference: its files in the folder were tested against themselves."""
    document = json.loads(run("months/month[19]*.csv", "months", "--json", "-").stdout)
    names = [batch["files"][1]["name"] for batch in document["batches"]]
    assert names == ["months/month2.csv.gz", "months/ref.csv"]
    reasons = {d["file"]: d["reason"] for d in document["not_read"]}
    assert sum(reason == "the reference" for reason in reasons.values()) == 3


def test_links_to_no_file_are_left_out_and_other_spellings_are_one_file(folder):
    (folder / "gone.csv").symlink_to(folder / "never.csv")
    done = run("months/ref.csv", "months")
    assert "gone.csv (a link to no file)" in " ".join(done.stderr.split())
    twice = run("months/ref.csv", "months", "./months/../months/month1.csv", code=3)
    assert "named twice" in twice.stderr


def test_files_of_one_name_in_several_folders_are_in_the_order_of_the_folders(folder):
    for month in ("m10", "m9", "m1"):
        (folder / month).mkdir()
        (folder / "ref.csv").rename(folder / month / "data.csv")
        (folder / "ref.csv").write_text((folder / month / "data.csv").read_text())
    done = run("months/ref.csv", "months/m*/data.csv", "--json", "-")
    names = [batch["files"][1]["name"] for batch in json.loads(done.stdout)["batches"]]
    assert names == [f"months/{month}/data.csv" for month in ("m1", "m9", "m10")]
    assert "months/m1/data.csv, months/m9/data.csv, months/m10/data.csv" in done.stderr


def test_what_holds_no_batch_is_refused(folder):
    assert "no table in this folder" in run("months/ref.csv", "months/old", code=3).stderr
    twice = run("months/ref.csv", "months", "months/month1.csv", code=3)
    assert "month1.csv" in twice.stderr
    assert "named twice" in twice.stderr
    assert "by a pattern in quotes" in run("months", "months/month1.csv", code=3).stderr
