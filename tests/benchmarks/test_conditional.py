"""The studies of conditional tests can be run in parts, and go on where they stopped."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def study(module: str, name: str, folder: Path, *arguments: str) -> tuple[str, dict]:
    command = [sys.executable, "-m", f"benchmarks.reproductions.{module}", "--results", str(folder)]
    done = subprocess.run(
        [*command, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout, json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["cells"]


def test_levels(tmp_path):
    cell = ("--only", "RCoT(); mean, d = 5; 200")
    module = ("conditional_level", "conditional_calibration", tmp_path)
    _, first = study(*module, *cell, "--runs", "3")
    text, more = study(*module, *cell, "--runs", "6")
    assert [entry["runs"] for entry in (*first.values(), *more.values())] == [3, 6]
    assert "| RCoT() | mean, d = 5 | 200 |" in text


def test_power(tmp_path):
    module = ("conditional_power", "conditional_power", tmp_path)
    part = ("--sizes", "60", "--only", "RCoT")
    _, first = study(*module, *part, "--runs", "2")
    text, more = study(*module, *part, "--runs", "4")
    assert {entry["runs"] for entry in first.values()} == {2}
    assert {entry["runs"] for entry in more.values()} == {4}
    key = "60/sums/5/0.5/RCoT()"
    assert first[key]["rejections"] <= more[key]["rejections"]
    assert "y depends on x, 0.5" in text
    assert str(ROOT) not in (tmp_path / "conditional_power.md").read_text(encoding="utf-8")
