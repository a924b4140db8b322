"""Commands of the README and of the pages are those that `mercer` has, and run."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from mercer.cli import app

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODEL = """
def score(x):
    return -x
"""


def commands() -> list[tuple[str, str]]:
    """Every line of a block of code that calls `mercer`, without its comment, and the page it is from."""
    found = []
    for page in PAGES:
        if {"_build", "gallery"} & set(page.relative_to(ROOT).parts):
            continue
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"^```(?:sh|text)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            lines = re.findall(r"^(?:\$ )?mercer ([^#\n]+)", block, re.MULTILINE)
            found += [(page.name, line.strip()) for line in lines]
    return list(dict.fromkeys(found))


COMMANDS = commands()
each_command = pytest.mark.parametrize("line", dict.fromkeys(line for _, line in COMMANDS))


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder with the files that the pages name."""
    pd = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name in ("before", "after", "reference", "monday", "tuesday", "current"):
        frame = table(pd, rng)
        frame["dose"] += name == "after"  # a pilot that shows nothing has no sample size
        frame.to_csv(f"{name}.csv", index=False)
    table(pd, rng, n=150).to_csv("data.csv", index=False)  # 13 rows for each of 10 components
    pd.DataFrame(rng.normal(size=(200, 2)), columns=["one", "two"]).to_csv(
        "series.csv", index=False
    )
    visits = table(pd, rng)
    visits["variant"] = np.resize(["control", "new"], len(visits))
    visits.to_csv("visits.csv", index=False)
    CliRunner().invoke(app, ["demo", "--copy", "."])  # orders of two months
    for name in ("march", "april"):
        texts = ["".join(rng.choice(list("abc"), 8)) for _ in range(20)]
        pd.DataFrame({"question": texts}).to_csv(f"{name}.csv", index=False)
    for name in ("a", "b"):
        lines = [f'{{"body": "{"".join(rng.choice(list("abc"), 8))}"}}' for _ in range(20)]
        Path(f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    for name in ("before", "after"):
        Path(name).mkdir()
        for i in range(12):
            np.savetxt(
                f"{name}/{i}.csv",
                rng.normal(size=(10, 2)),
                delimiter=",",
                header="u,v",
                comments="",
            )
    Path("mymodel.py").write_text(MODEL, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def table(pd, rng, n=60):
    """Columns by all names that the pages use."""
    numbers = {
        name: rng.normal(size=n)
        for name in ("age", "dose", "outcome", "height", "weight", "a", "b", "c")
    }
    series = {
        "id": np.repeat(np.arange(n // 5), 5),
        "time": np.tile(np.arange(5), n // 5),
        "value": rng.normal(size=n),
    }
    return pd.DataFrame({**numbers, **series, "waiting_time": rng.gamma(2.0, size=n)})


def test_the_pages_have_commands():
    assert len(COMMANDS) > 30
    assert {"README.md", "command.md", "install.md", "evidently.md"} <= {
        page for page, _ in COMMANDS
    }


@each_command
def test_command_is_understood(line):
    name, *words = shlex.split(line)
    get_command(app).commands[name].make_context(name, words)  # raises UsageError


@pytest.mark.slow
@each_command
def test_command_runs(line, files):
    """What it says is tested elsewhere; here it must end well, or with what `--gate` promises."""
    words = shlex.split(line)
    if line == "two-sample a.jsonl b.jsonl":  # here each line is a string
        for name in ("a", "b"):
            Path(f"{name}.jsonl").write_text(
                "\n".join(f'"{letter}bc"' for letter in "abcab" * 4), encoding="utf-8"
            )
    if words[0] == "doctor":
        pytest.skip("test_doctor_finds_nothing_wrong runs it")
    done = CliRunner().invoke(app, words, input=Path("after.csv").read_text(encoding="utf-8"))
    assert done.exit_code in ((0, 1) if "--gate" in words else (0,)), done.output
