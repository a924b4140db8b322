"""A record of many runs can be interrupted at any time, and goes on where it stopped."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support.studies import said

ROOT = Path(__file__).parents[2]

RECORD = """
from pathlib import Path
from benchmarks.reproductions.records import Record, cell, compared, rounds, table
def shown(store): return str({k: e["runs"] for k, e in sorted(store["cells"].items())})
record = Record("study", shown)
def once(key, seed): return {"rejections": int(seed == 1), "errors": [seed / 2]}
"""


def kept(folder) -> dict:
    return json.loads((folder / "study.json").read_text(encoding="utf-8"))


def with_record(folder, code: str) -> str:
    return said(f"{RECORD}folder = Path({str(folder)!r})\n{code}")


def test_numbers_are_added_and_lists_strung_together(tmp_path):
    code = """
for runs in (2, 3):
    store = record.load(folder)
    record.run(store, rounds(store, ["b", "a"], runs), once, folder=folder)
"""
    with_record(tmp_path, code)
    cells = kept(tmp_path)["cells"]
    assert list(cells) == ["a", "b"]
    assert cells["a"]["errors"] == [0.0, 0.5, 1.0]  # seeds 0, 1 and 2, each once
    assert (cells["a"]["runs"], cells["a"]["rejections"]) == (3, 1)
    assert (tmp_path / "study.md").read_text(encoding="utf-8") == "{'a': 3, 'b': 3}"
    assert {file.name for file in tmp_path.iterdir()} == {"study.json", "study.md"}


def test_what_is_beside_the_cells_stays(tmp_path):
    (tmp_path / "study.json").write_text('{"cells": {}, "times": [1]}', encoding="utf-8")
    with_record(tmp_path, 'record.run(store := record.load(folder), ["a"], once, folder=folder)')
    assert kept(tmp_path)["times"] == [1]


def test_time_ends_a_run_and_a_run_may_tell_its_own_seconds(tmp_path):
    code = """
store = record.load(folder)
record.run(store, rounds(store, ["a"], 9), lambda key, seed: {"seconds": 1.5}, 0.0, folder)
"""
    with_record(tmp_path, code)
    assert kept(tmp_path)["cells"] == {"a": {"runs": 1, "seconds": 1.5}}


def test_a_failing_page_leaves_the_earlier_record(tmp_path):
    """The old file stays whole until the new one is."""
    code = """
store = record.load(folder)
record.run(store, ["a"], once, folder=folder)
before = (folder / "study.json").read_text()
try:
    record.run(store, ["a"], lambda key, seed: {"errors": [{1, 2}]}, folder=folder)  # no JSON
except TypeError:
    print((folder / "study.json").read_text() == before)
"""
    assert with_record(tmp_path, code) == "True"


def test_rates_are_compared():
    code = """
ours, theirs = ({"runs": 100, "rejections": r, "seconds": 2.0} for r in (50, 80))
print(*(compared(*case)["reached"] or "-" for case in (
    (ours, theirs), (theirs, ours), (ours,), (ours, theirs, 0.5), (theirs, ours, 0.5))))
print(*table([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]), *table([]), sep="/")
"""
    assert said(RECORD + code).splitlines() == [
        "NO yes - yes NO",
        "| a | b |/| --- | --- |/| 1 | x |/| 2 | y |/Nothing was run yet.",
    ]


def test_processes_give_what_one_process_gives(tmp_path):
    """The same seeds, in the same order, whatever the number of workers."""
    study = tmp_path / "squares.py"
    study.write_text(
        RECORD
        + """
def squares(key, seed):
    return {"values": [int(key) ** seed]}
if __name__ == "__main__":
    for workers in (1, 2):
        store = {"cells": {}}
        record.run(store, rounds(store, ["2", "3"], 4), squares, folder=Path.cwd(), workers=workers)
        print({k: e["values"] for k, e in store["cells"].items()})
""",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, str(study)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["{'2': [1, 2, 4, 8], '3': [1, 3, 9, 27]}"] * 2
