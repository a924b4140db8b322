"""The benchmark harness lists its suites, runs them, and writes JSON and Markdown that can be read."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.studies import program

ROOT = Path(__file__).resolve().parents[2]


def benchmarks(*arguments: str) -> str:
    return program("benchmarks", *arguments).text


def test_every_suite_is_listed_with_a_sentence():
    files = {p.stem for p in (ROOT / "benchmarks/suites").glob("*.py")} - {"__init__"}
    lines = [line.split(maxsplit=1) for line in benchmarks("list").splitlines()]
    assert {name for name, _ in lines} == files
    assert all(len(told) > 20 for _, told in lines)


def test_unknown_suite_is_refused():
    command = [sys.executable, "-m", "benchmarks", "nonsense"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "imports" in done.stderr  # the known ones are named


@pytest.mark.parametrize("suite", ["imports", "engine", "goodness"])
def test_suite_writes_what_it_found(suite, tmp_path):
    shown = benchmarks(suite, "--quick", "--repeats", "1", "--results", str(tmp_path))
    data = json.loads((tmp_path / f"{suite}-quick.json").read_text(encoding="utf-8"))
    text = (tmp_path / f"{suite}-quick.md").read_text(encoding="utf-8")
    assert {"CPU", "cores", "NumPy", "mercer"} <= data["machine"].keys()
    for table in data["tables"]:
        assert table["title"] in text
        assert table["title"] in shown
        numbers = [v for row in table["rows"] for v in row.values() if isinstance(v, float)]
        assert numbers
        assert min(numbers) > 0
    assert data["raw"]
    well_formed(text)


def test_nothing_names_the_machine(tmp_path):
    benchmarks("imports", "--quick", "--results", str(tmp_path))
    written = "".join(p.read_text(encoding="utf-8") for p in tmp_path.iterdir())
    assert str(ROOT) not in written
    assert sys.prefix not in written


def well_formed(markdown: str) -> None:
    """One heading, and tables whose lines have as many cells as their heads."""
    assert len(re.findall(r"^# ", markdown, re.MULTILINE)) == 1
    for table in re.findall(r"(?:^\|.*\n)+", markdown, re.MULTILINE):
        cells = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(table.splitlines()) > 2
        assert len(cells) == 1
