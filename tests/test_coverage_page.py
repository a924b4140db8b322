"""The page of what the texts behind mercer name: its counts are right, and what it refers to exists."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in PAGE.splitlines()
    if re.match(r"\| \d+ \|", line)
]


def test_the_counts_are_right():
    found = Counter(row[3] for row in ROWS)
    told = re.search(r"(\d+) work, (\d+) works? in part, (\d+) (?:is|are) missing", PAGE)
    assert told is not None
    assert tuple(map(int, told.groups())) == (found["works"], found["partial"], found["missing"])
    assert f"the {len(ROWS)} concrete things" in PAGE
    assert set(found) <= {"works", "partial", "missing"}


def test_what_works_is_shown_by_a_file_that_exists():
    for row in ROWS:
        if row[3] == "works":
            path = row[5].strip("`")
            assert path, row
            assert (ROOT / path).exists(), row
