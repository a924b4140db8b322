"""The published studies can be run in parts, go on where they stopped, and tell what they found."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = "two_sample_power"


def study(folder: Path, *arguments: str) -> dict:
    command = [sys.executable, "-m", f"benchmarks.reproductions.{NAME}", "--results", str(folder)]
    done = subprocess.run(
        [*command, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads((folder / f"{NAME}.json").read_text(encoding="utf-8"))["cells"]


def said(code: str) -> str:
    """What a few words of Python print beside the benchmarks."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_runs_go_on_where_they_stopped(tmp_path):
    part = ("--problem", "gvd50", "--sizes", "1000", "--tests", "ME optimised", "MMD linear")
    first = study(tmp_path, *part, "--runs", "1")
    assert [cell["runs"] for cell in first.values()] == [1] * 4  # two tests, ours and theirs
    again = study(tmp_path, *part, "--runs", "1")
    assert again == first
    more = study(tmp_path, *part, "--runs", "2", "--only-mercer")
    assert {key.split("/")[3]: cell["runs"] for key, cell in more.items()} == {
        "mercer": 2,
        "published": 1,
    }
    text = (tmp_path / f"{NAME}.md").read_text(encoding="utf-8")
    assert "| gvd50 | 1,000 | ME optimised |" in text
    assert str(ROOT) not in text


def test_the_printed_rates_stand_beside_ours(tmp_path):
    tests = ("MMDAgg, five Gaussians", "MMDAgg, default")
    cells = study(tmp_path, "--problem", "uniform1-1", "--tests", *tests, "--runs", "1")
    assert [cell["rejections"] for cell in cells.values()] == [1] * 3
    text = (tmp_path / f"{NAME}.md").read_text(encoding="utf-8")
    assert (
        "| uniform1-1 | 500 | MMDAgg, five Gaussians | 1.000 | 0.21 to 1.00 | 1 | 1.000 | 1 |"
        in text
    )
    assert "| MMDAgg, default | 1.000 | 0.21 to 1.00 | 1 |  |  | 1.000 | few runs |" in text
    assert "Not reached: none of those run." in text


def test_what_is_missed_is_told(tmp_path):
    cell = {"runs": 100, "rejections": 10, "seconds": 1.0}
    cells = {"uniform1-2/500/MMDAgg, default/mercer": cell}
    (tmp_path / f"{NAME}.json").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    study(tmp_path, "--runs", "0")
    text = (tmp_path / f"{NAME}.md").read_text(encoding="utf-8")
    assert "Not reached: uniform1-2, 500, MMDAgg, default." in text


def test_the_first_program_drew_points_twice():
    code = (
        "import numpy as np; from mercer.datasets import PerturbedUniform; "
        "from benchmarks.reproductions.shared_stream import shared_stream; "
        "x, y = shared_stream(PerturbedUniform(1, 3), 500, 0); "
        "print(len(x), len(y), len(np.intersect1d(x, y)) > 100)"
    )
    assert said(code) == "500 500 True"


def test_no_time_no_runs(tmp_path):
    cells = study(tmp_path, "--problem", "blobs", "--sizes", "1000", "--seconds", "0")
    assert sum(cell["runs"] for cell in cells.values()) == 1


def test_binomial_error():
    """A rate may lie below another by chance, and by how much depends on the runs."""
    cases = {
        (1.0, 100, 1.0, 500): True,
        (0.9, 100, 1.0, 500): False,
        (0.7, 100, 0.772, 500): True,
        (0.5, 100, 0.772, 500): False,
        (0.0, 3, 0.5, 500): True,  # three runs tell little
    }
    code = f"from benchmarks.reproductions.{NAME} import reaches; "
    code += f"print([reaches(*case) for case in {list(cases)}])"
    assert said(code) == str(list(cases.values()))
