"""The recipe of CONTRIBUTING.md for a kernel, followed to the letter in a copy of the sources."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SUITES = ["conformance/test_kernels.py", "kernels/test_facts.py", "bad_input/test_parameters.py"]


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """A copy of the sources and the tests with the new kernel in it."""
    copy = tmp_path_factory.mktemp("recipe")
    for folder in ("src", "tests"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", copy)
    kernels = copy / "src/mercer/kernels"
    code = re.search(r"^```python\n.*?(@dataclass.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert code is not None
    append(kernels / "radial.py", "\n\n" + code[1])
    append(
        kernels / "__init__.py",
        "from mercer.kernels.radial import Sech\n__all__.append('Sech')\n",
    )
    append(kernels / "facts.py", f"from mercer.kernels.radial import Sech\n{step('_always')}\n")
    append(
        copy / "tests/support/zoo.py",
        f"from mercer.kernels import Sech\nZOO += [{step('Entry')}]\n",
    )
    append(copy / "tests/support/zoo.py", "IDS.append('Sech')\n")
    return copy


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def step(call: str) -> str:
    """The line of code that the page gives for a step."""
    found = re.search(rf"`({call}\(Sech.*?)`", PAGE)
    assert found is not None, call
    return found[1]


def run(copy: Path) -> subprocess.CompletedProcess:
    tests = [f"tests/{suite}" for suite in SUITES]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    command += ["-k", "Sech or every_public"]
    paths = {"PYTHONPATH": os.fspath(copy / "src")}
    return subprocess.run(
        command, cwd=copy, env={**os.environ, **paths}, capture_output=True, text=True, check=False
    )


def test_the_recipe_for_a_kernel_works(followed):
    done = run(followed)
    assert done.returncode == 0, done.stdout[-4000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) >= 20


@pytest.mark.slow
def test_the_suites_notice_a_step_that_is_left_out(followed):
    facts = followed / "src/mercer/kernels/facts.py"
    facts.write_text(facts.read_text(encoding="utf-8").replace(step("_always"), ""))
    done = run(followed)
    assert done.returncode == 1, done.stdout[-4000:]
    assert "test_every_public_kernel_has_facts" in done.stdout
