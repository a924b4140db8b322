"""Runs the programs beside the library, those in benchmarks/, as a reader of their pages would."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Done:
    """How a program ended, and what it printed."""

    code: int
    text: str


def python(*arguments: str, codes: tuple[int, ...] = (0,)) -> Done:
    """Python with these arguments in the project's folder; it has to end with one of the codes."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in codes, done.stderr
    return Done(done.returncode, done.stdout)


def said(code: str) -> str:
    """What a few words of Python print beside the benchmarks."""
    return python("-c", code).text.strip()


@dataclass(frozen=True)
class Study:
    """A module of benchmarks/reproductions, and the name of its record."""

    module: str
    name: str

    def run(self, folder: Path, *arguments: str) -> Done:
        """Levels end with 1 where a rate is outside."""
        module = f"benchmarks.reproductions.{self.module}"
        return python("-m", module, "--results", str(folder), *arguments, codes=(0, 1))

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
