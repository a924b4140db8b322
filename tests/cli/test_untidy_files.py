"""Untidy files: read right where that is unambiguous, else refused with what to do, and nothing lost without a word."""

from __future__ import annotations

from functools import partial

import pytest

from tests.support import cli_runs

refused = partial(cli_runs.run, code=3)
ROWS = [(i * 7 % 11 + 0.5, "Rome" if i % 3 else "Oslo") for i in range(24)]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines(header="age,city", end="\n"):
    return end.join([*([header] if header else []), *(f"{a},{c}" for a, c in ROWS)]) + end


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (lines(header=""), "first line looks like a row and not like names of columns: '0.5' and 'Oslo'"),
        (lines(end="\r"), "a carriage return within the line"),
        ("<!DOCTYPE html><html><body>no</body></html>", "an HTML or XML page"),
        ("<?xml version='1.0'?><a/>", "an HTML or XML page"),
        ('[{"age": 1, "city": "Rome"}]', "this is JSON"),
        ("age,city\n" + "1e200,a\n3,b\n" * 9, "column 'age', row 1: 1e+200, whose square overflows"),
        ("age,\n" + "3,\n" * 9, "column 2 has no name"),
        ("age,age\n" + "3,4\n" * 9, "duplicate column name 'age'"),
        ("age,city\n", "a header but no rows"),
        ("", "the file is empty"),
    ],
    ids=lambda value: str(value)[:12].strip(),
)  # fmt: skip
def test_what_cannot_be_read_is_refused(folder, content, said):
    (folder / "a.csv").write_bytes(content.encode())
    for command in (("independence", "a.csv"), ("two-sample", "a.csv", "a.csv")):
        assert said in " ".join(refused(*command).stderr.split())


@pytest.mark.parametrize("header", ["2001,city", "age,Rome", "2001,Rome name"])
def test_names_may_be_numbers_or_words_of_the_data(folder, header):
    (folder / "a.csv").write_text(lines(header))
    cli_runs.run("independence", "a.csv")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_line_ends_and_marks_change_nothing(folder, end, start):
    (folder / "a.csv").write_bytes((start + lines(end=end)).encode())
    (folder / "b.csv").write_text(lines())
    told = [cli_runs.run("independence", name).stdout for name in ("a.csv", "b.csv")]
    assert told[0] == told[1]
