"""What is not released yet: fragments have a kind, and the draft of the changelog and the site show all of them."""

import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_news_fragments_have_a_kind():
    kinds = "|".join(
        kind["directory"]
        for kind in tomllib.loads(text("pyproject.toml"))["tool"]["towncrier"]["type"]
    )
    fragments = [p for p in (ROOT / "changes").iterdir() if p.name != "README.md"]
    assert [
        p.name for p in fragments if not re.fullmatch(rf"\+?[\w-]+\.({kinds})\.md", p.name)
    ] == []


def test_changes_that_are_not_released_are_on_the_site_and_in_the_draft(monkeypatch):
    pytest.importorskip("towncrier")
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    unreleased = importlib.import_module("unreleased_changes")
    page = text("docs/changelog.md")
    assert page.count(unreleased.MARK) == 1
    marks = re.findall(r"^:(?:start-after|end-before): (.*)$", page, re.MULTILINE)
    assert [text("CHANGELOG.md").count(mark) for mark in marks] == [1, 1]
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "99.0"]
    draft = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    fragments = [p for p in (ROOT / "changes").glob("*.md") if p.name != "README.md"]
    for shown in (draft, unreleased.section()):
        words = " ".join(shown.split())
        missing = [p.name for p in fragments if " ".join(p.read_text("utf-8").split()) not in words]
        assert missing == []
