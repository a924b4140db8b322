"""Changes since the last release, as a section of the page of the changelog: the fragments in changes/."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MARK = "% unreleased"  # where the page has the section


def section() -> str:
    """The fragments by kind, in Markdown; nothing where there are none."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lines = []
    for kind in project["tool"]["towncrier"]["type"]:
        fragments = sorted((ROOT / "changes").glob(f"*.{kind['directory']}.md"))
        items = [" ".join(f.read_text(encoding="utf-8").split()) for f in fragments]
        if items:
            lines += [f"### {kind['name']}", "", *(f"* {item}" for item in items), ""]
    return "\n".join(["## Unreleased", "", *lines]) if lines else ""
