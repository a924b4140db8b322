"""The study of levels can be run in parts, goes on where it stopped, and tells what is outside."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = "two_sample_calibration"


def study(folder: Path, *arguments: str) -> tuple[int, str, dict]:
    command = [sys.executable, "-m", "benchmarks.reproductions.two_sample_level"]
    done = subprocess.run(
        [*command, "--results", str(folder), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    cells = json.loads((folder / f"{NAME}.json").read_text(encoding="utf-8"))["cells"]
    return done.returncode, done.stdout, cells


def test_runs_go_on_where_they_stopped(tmp_path):
    cell = "Hotelling(); counts"
    _, _, first = study(tmp_path, "--only", cell, "--runs", "20")
    _, text, more = study(tmp_path, "--only", cell, "--runs", "40")
    whole = study(tmp_path / "whole", "--only", cell, "--runs", "40")[2]
    (name,) = first
    assert (first[name]["runs"], more[name]["runs"]) == (20, 40)
    assert more[name]["counts"] == whole[name]["counts"]
    assert "| Hotelling() | counts | 60/40 |" in text
    assert str(ROOT) not in (tmp_path / f"{NAME}.md").read_text(encoding="utf-8")


def test_bounds_have_no_lower_end_and_intervals_a_table_of_their_own(tmp_path):
    code, text, _ = study(tmp_path, "--only", "Bound()); normal, d = 1", "--runs", "5")
    assert code == 0
    assert "| 0.00% | 5 | yes, at most |" in text
    _, text, _ = study(tmp_path, "--only", "coverage; d = 1; none; 30/30", "--runs", "5")
    assert "| 1 | none | 30/30 |" in text
