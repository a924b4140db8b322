"""Runs the programs beside the library, those in benchmarks/, as a reader of their pages would."""

from __future__ import annotations

import io
import json
import runpy
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import mercer

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Done:
    """How a program ended, and what it printed."""

    code: int
    text: str


def program(module: str, *arguments: str, codes: tuple[int, ...] = (0,)) -> Done:
    """`python -m module` in the project's folder; it has to end with one of the codes.

    It runs in this process, since importing the libraries anew takes longer than most programs. Those that
    start processes of their own get one.
    """
    if "--workers" in arguments:
        command = [sys.executable, "-m", module, *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode in codes, done.stderr
        return Done(done.returncode, done.stdout)
    code = 0
    with _beside_the_benchmarks(module, *arguments) as printed:
        try:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    assert code in codes, printed.getvalue()
    return Done(code, printed.getvalue())


def said(code: str) -> str:
    """What a few words of Python print beside the benchmarks."""
    with _beside_the_benchmarks() as printed:
        exec(code, {"__name__": "__main__"})
    return printed.getvalue().strip()


@contextmanager
def _beside_the_benchmarks(*arguments: str) -> Iterator[io.StringIO]:
    """The folder, the path, the arguments and the settings of a fresh process, and what is printed."""
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(io.StringIO()) as printed,
        warnings.catch_warnings(),
        mercer.config(),
    ):
        warnings.simplefilter("ignore")
        patch.chdir(ROOT)
        patch.syspath_prepend(str(ROOT))
        patch.setattr(sys, "argv", [*arguments] or [""])
        yield printed


@dataclass(frozen=True)
class Study:
    """A module of benchmarks/reproductions, and the name of its record."""

    module: str
    name: str

    def run(self, folder: Path, *arguments: str) -> Done:
        """Levels end with 1 where a rate is outside."""
        module = f"benchmarks.reproductions.{self.module}"
        return program(module, "--results", str(folder), *arguments, codes=(0, 1))

    def cells(self, folder: Path, *arguments: str) -> dict[str, Any]:
        """The cells of the record after such a run."""
        self.run(folder, *arguments)
        text = (folder / f"{self.name}.json").read_text(encoding="utf-8")
        return json.loads(text)["cells"]

    def page(self, folder: Path) -> str:
        """What the record says; never a path of this machine."""
        text = (folder / f"{self.name}.md").read_text(encoding="utf-8")
        assert str(ROOT) not in text
        return text
