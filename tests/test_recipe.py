"""The recipes of CONTRIBUTING.md for a kernel, a test and a learner, followed in a copy of the sources."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Recipe:
    """One section of the page, and the suites that must know what it adds."""

    title: str
    name: str
    package: str
    suites: tuple[str, ...]
    meta: str  # the tests that fail where a step is left out
    at_least: int  # tests of the new name

    @property
    def text(self) -> str:
        return PAGE.split(f"## {self.title}\n")[1].split("\n## ")[0]


KERNEL = Recipe(
    "A kernel in eight lines",
    "Sech",
    "kernels",
    ("conformance/test_kernels.py", "kernels/test_facts.py", "bad_input/test_parameters.py"),
    "every_public",
    20,
)
TEST = Recipe(
    "A hypothesis test",
    "MeanDistance",
    "htest",
    ("calibration/test_two_sample.py", "conformance/test_backends.py", "memory/test_promise.py"),
    "in_the_zoo or has_a_case or forgotten",
    8,
)
LEARNER = Recipe(
    "A learner",
    "NearestEmbedding",
    "learn",
    (
        "learn/test_conventions.py",
        "learn/test_onnx_learners.py",
        "conformance/test_backends.py",
        "memory/test_promise.py",
    ),
    "in_the_zoo or has_a_case or forgotten",
    9,
)
RECIPES = [KERNEL, TEST, LEARNER]


def follow(recipe: Recipe, copy: Path, *, without: int | None = None) -> None:
    """Do what the section says, all but one of the lines beside others if so asked."""
    for folder in ("src", "tests", "benchmarks"):
        ignored = shutil.ignore_patterns("__pycache__", "results")
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", copy)
    blocks = re.findall(
        r"^```python\n.*?^# (src/\S+\.py)(, at the end)?\n(.*?)^```$", recipe.text, re.DOTALL | re.M
    )
    for file, at_the_end, code in blocks:
        assert (copy / file).exists() is bool(at_the_end)
        append(copy / file, "\n\n" + code if at_the_end else code)
    module = blocks[0][0].removeprefix("src/").removesuffix(".py").replace("/", ".")
    for file, *_ in blocks[1:]:
        insert_import(copy / file, f"from {module} import {recipe.name}")
    exported = f"from {module} import {recipe.name}\n__all__.append({recipe.name!r})\n"
    append(copy / f"src/mercer/{recipe.package}/__init__.py", exported)
    if facts := re.search(r"`(_always\(.*?)`", recipe.text):
        imported = f"from {module} import {recipe.name}\n"
        append(copy / "src/mercer/kernels/facts.py", f"{imported}{facts[1]}\n")
        entry = re.search(r"`(Entry\(.*?)`", recipe.text)
        assert entry is not None
        zoo = f"{imported}ZOO += [{entry[1]}]\nIDS.append({recipe.name!r})\n"
        append(copy / "tests/support/zoo.py", zoo)
    for number, (file, anchor, line) in enumerate(steps(recipe)):
        if number != without:
            insert(copy / file, anchor, line, f"from mercer.{recipe.package} import {recipe.name}")


def steps(recipe: Recipe) -> list[tuple[str, str, str]]:
    """File, beginning of the line to stand beside, and the new line, of every such step."""
    return re.findall(r"`(tests/[\w/]+\.py)`, beside `([^`]+)`: `([^`]+)`", recipe.text)


def append(path: Path, text: str) -> None:
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(before + text, encoding="utf-8")


def insert(path: Path, anchor: str, line: str, imported: str) -> None:
    """The line after the first one that begins with the anchor, and an import at the top."""
    lines = path.read_text(encoding="utf-8").splitlines()
    place = next(i for i, text in enumerate(lines) if text.strip().startswith(anchor))
    indent = " " * (len(lines[place]) - len(lines[place].lstrip()))
    lines.insert(place + 1, indent + line)
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    insert_import(path, imported)


def insert_import(path: Path, imported: str) -> None:
    """An import at the top."""
    first = "from __future__ import annotations\n"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(first, f"{first}{imported}\n", 1), encoding="utf-8")


def run(recipe: Recipe, copy: Path) -> subprocess.CompletedProcess:
    tests = [f"tests/{suite}" for suite in recipe.suites]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    command += ["-k", f"{recipe.name} or {recipe.meta}"]
    paths = {"PYTHONPATH": os.fspath(copy / "src")}
    return subprocess.run(
        command, cwd=copy, env={**os.environ, **paths}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("recipe", RECIPES, ids=[r.name for r in RECIPES])
def test_the_recipe_works(recipe, tmp_path):
    follow(recipe, tmp_path)
    done = run(recipe, tmp_path)
    assert done.returncode == 0, done.stdout[-4000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) >= recipe.at_least


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [TEST, LEARNER], ids=[TEST.name, LEARNER.name])
@pytest.mark.parametrize("number", range(3))
def test_the_suites_notice_a_line_that_is_left_out(recipe, number, tmp_path):
    assert len(steps(recipe)) == 3
    follow(recipe, tmp_path, without=number)
    assert run(recipe, tmp_path).returncode == 1


@pytest.mark.slow
def test_the_suites_notice_facts_that_are_left_out(tmp_path):
    follow(KERNEL, tmp_path)
    facts = tmp_path / "src/mercer/kernels/facts.py"
    text = facts.read_text(encoding="utf-8")
    facts.write_text(text.replace("_always(Sech, **_FULL, analytic=True)", ""), encoding="utf-8")
    done = run(KERNEL, tmp_path)
    assert done.returncode == 1, done.stdout[-4000:]
    assert "test_every_public_kernel_has_facts" in done.stdout
