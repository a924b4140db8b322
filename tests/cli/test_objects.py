"""`mercer two-sample` on texts and series: columns, JSON lines, long tables, a file for each series; messy files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer.kernels import Series
from tests.support.cli_runs import refused, run

WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "a", "dog", "ran"]


def texts(seed, word=None, n=20):
    rng = np.random.default_rng(seed)
    rows = [rng.choice(WORDS, 6).tolist() for _ in range(n)]
    return [" ".join([*row, word] if word else row) for row in rows]


@pytest.fixture
def lines(put):
    """Two files of JSON lines that differ in one word."""
    put("\n".join(map(json.dumps, texts(0))) + "\n", "a.jsonl")
    put("\n".join(map(json.dumps, texts(1, "zébra"))), "b.jsonl")  # without a last line break


def long_table(seed, shift, n=12):
    """Rows in no order of series with different lengths."""
    rng = np.random.default_rng(seed)
    series = [shift + rng.normal(size=(int(t), 2)) for t in rng.integers(4, 8, n)]
    rows = [(f"s{i}", t, *v) for i, s in enumerate(series) for t, v in enumerate(s.tolist())]
    order = rng.permutation(len(rows))
    text = "".join(f"{rows[i][0]},{rows[i][1]},{rows[i][2]!r},{rows[i][3]!r}\n" for i in order)
    return "id,when,u,v\n" + text, series


def test_json_lines(lines):
    done = run("two-sample", "a.jsonl", "b.jsonl", "--json", "out.json")
    assert "a.jsonl and b.jsonl differ" in done.stdout
    assert "20 and 20 texts" in done.stdout
    assert "'zé'" in done.stdout
    document = json.loads(Path("out.json").read_text(encoding="utf-8"))
    direct = mercer.two_sample(texts(0), texts(1, "zébra"), rng=0)
    assert document["pvalue"] == direct.pvalue
    assert document["objects"] == "texts"
    assert document["differ"] is True
    assert "zéb" in {f["name"] for f in document["features"]["features"] if f["adjusted"] <= 0.05}
    expected = [f"line {i + 1}" for i in direct.points(3).second.indices]
    assert [t["name"] for t in document["telling"]["second"]] == expected
    again = run("two-sample", "a.jsonl", "b.jsonl", "--json", "-")
    assert {**json.loads(again.stdout), "elapsed_seconds": 0} == {**document, "elapsed_seconds": 0}
    run("two-sample", "a.jsonl", "b.jsonl", "--gate", "--resamples", "99", code=1)
    run("two-sample", "a.jsonl", "a.jsonl", "--gate", "--resamples", "99")


def test_a_column_of_text_and_its_report(put):
    for name, rows in (("a.csv", texts(0)), ("b.csv", texts(1, "<b>zebra</b>"))):
        body = "".join(f'{i};"{t}"\n' for i, t in enumerate(rows))
        put("\ufeffnumber;note\n" + body, name)
    arguments = ("two-sample", "a.csv", "b.csv", "--text", "note")
    done = run(*arguments, "--report", "out.html", "--resamples", "99")
    assert "differ" in done.stdout
    assert "row " in done.stdout
    page = Path("out.html").read_text(encoding="utf-8")
    assert "Which features differ?" in page
    assert "zeb" in page
    assert "<b>zebra" not in page
    assert "--text note" in page  # the command that repeats the run
    assert len(page) < 1_000_000
    assert "MMDAgg, 99 resamples" in done.stdout
    for kernel in ("spectrum:5", "subsequence"):
        done = run(*arguments, "--text-kernel", kernel, "--resamples", "99")
        assert "MMD, 99 resamples" in done.stdout


def test_long_tables_and_json_lines_of_series(put):
    expected = []
    for name, seed, shift in (("a", 0, 0.0), ("b", 1, 1.0)):
        table, series = long_table(seed, shift)
        put(table, f"{name}.csv")
        put("\n".join(json.dumps(s.tolist()) for s in series), f"{name}.jsonl")
        expected.append(series)
    done = run("two-sample", "a.csv", "b.csv", "--series-of", "id,when", "--json", "-")
    document = json.loads(done.stdout)
    assert document["objects"] == "series"
    by_lines = json.loads(run("two-sample", "a.jsonl", "b.jsonl", "--json", "-").stdout)
    direct = mercer.two_sample(*map(Series.of, expected), rng=0)
    assert by_lines["result"]["statistic"] == pytest.approx(direct.statistic, rel=1e-12)
    assert document["pvalue"] <= 0.05
    assert {t["name"] for t in document["telling"]["first"]} <= {f"s{i}" for i in range(12)}
    text = run(
        "two-sample", "a.csv", "b.csv", "--series-of", "id,when,u", "--resamples", "99"
    ).stdout
    assert "12 and 12 series of 4 to 7 points, 1 channel" in text
    run(
        "two-sample",
        "a.csv",
        "b.csv",
        "--series-of",
        "id,when",
        "--report",
        "out.html",
        "--gate",
        code=1,
    )


def test_a_file_for_each_series(put, tmp_path):
    rng = np.random.default_rng(0)
    for folder, shift in (("one", 0.0), ("two", 2.0)):
        (tmp_path / folder).mkdir()
        for i in range(8):
            rows = shift + rng.normal(size=(5 + i % 3, 2))
            put("u,v\n" + "".join(f"{u!r},{v!r}\n" for u, v in rows.tolist()), f"{folder}/{i}.csv")
    done = run("two-sample", "one", "two", "--series-of", "files", "--resamples", "99")
    assert "one and two differ" in done.stdout
    assert "8 and 8 series of 5 to 7 points, 2 channels" in done.stdout
    pattern = run("two-sample", "one/*.csv", "two/*.csv", "--series-of", "files", "--columns", "u")
    assert "1 channel" in pattern.stdout
    put("u,w\n1,2\n", "two/9.csv")
    assert "different columns" in refused(
        "two-sample", "one", "two", "--series-of", "files", code=3
    )


MESSY = {
    "no JSON": ('"a"\n{"b"\n', "line 2: not JSON"),
    "two kinds": ('"a"\n"b"\n[1, 2]\n', "line 3: a list among lines with text"),
    "numbers": ('"a"\n3\n', "line 2: 3 is neither text nor a series"),
    "null": ('"a"\n\n"b"\nnull\n', "1 missing value, the first at line 4: choose --missing drop"),
    "fields": ('{"body": "a", "n": 1}\n', "say which holds the text with --text"),
    "one line": ('"a"\n', "1 observations; at least 2"),
    "empty": ("", "0 observations"),
    "no numbers": ('[1, "x"]\n[2]\n', "line 1: [1, "),
    "NaN": ("[1, NaN]\n[2]\n", "line 1: [1, NaN] is no series"),
    "channels": ("[[1, 2]]\n[[3]]\n", "line 2: 1 channels, but line 1 has 2"),
    "encoding": (b'"a"\n"\xff\xfe"\n', "line 2: not UTF-8"),
}


@pytest.mark.parametrize("name", MESSY)
def test_messy_lines(put, lines, name):
    content, message = MESSY[name]
    put(content, "c.jsonl")
    assert message in refused("two-sample", "a.jsonl", "c.jsonl", code=3)


def test_fields_missing_values_and_packed_files(put, lines):
    rows = [{"body": t, "n": i} for i, t in enumerate(texts(2))] + [{"body": None, "n": 9}]
    packed = gzip.compress("\r\n".join(map(json.dumps, rows)).encode())
    put(packed, "c.jsonl.gz")
    put("\n".join(json.dumps({"body": t}) for t in texts(0)), "d.jsonl")
    arguments = ("two-sample", "d.jsonl", "c.jsonl.gz", "--text", "body")
    assert "missing" in refused(*arguments, code=3)
    done = run(*arguments, "--missing", "drop")
    assert "20 and 20 texts" in done.stdout
    assert "1 row with missing values was left out" in done.stdout
    assert "no field 'text'" in refused(
        "two-sample", "d.jsonl", "d.jsonl", "--text", "text", code=3
    )
    assert "without the field" in refused(
        "two-sample", "d.jsonl", "a.jsonl", "--text", "body", code=3
    )


WRONG_USE = {
    ("a.jsonl", "b.jsonl", "--kernel", "rbf"): "--kernel is for tables of numbers",
    ("a.jsonl", "b.jsonl", "--columns", "x"): "--columns is for tables",
    ("a.jsonl", "b.jsonl", "--series"): "--series is for tables",
    ("a.jsonl", "b.jsonl", "--test", "energy"): "--test energy takes vectors",
    ("a.jsonl", "b.jsonl", "--series-of", "id,t"): "for tables; in JSON lines",
    ("a.jsonl", "b.jsonl", "--series-of", "id", "--text", "x"): "not both",
    ("s.csv", "s.csv", "--series-of", "id"): "needs the columns that name",
    ("s.csv", "s.csv", "--series-of", "id,when", "--text-kernel", "spectrum"): "for texts",
}


@pytest.mark.parametrize("arguments", WRONG_USE)
def test_wrong_use(put, lines, arguments):
    put(long_table(0, 0.0)[0], "s.csv")
    assert WRONG_USE[arguments] in refused("two-sample", *arguments, code=2)


MESSY_TABLES = {
    "gap": ("id,when,u\na,1,2\na,2,\nb,1,3\n", "series 'a': a missing or infinite value"),
    "text": ("id,when,u\na,1,2\na,2,x\nb,1,y\n", "u"),
    "one": ("id,when,u\na,1,2\na,2,3\n", "all rows belong to one series"),
    "no name": ("id,when,u\na,1,2\n,2,3\nb,1,2\n", "without the name of its series"),
    "no column": ("name,when,u\na,1,2\nb,1,2\n", "no column 'id'"),
    "only names": ("id,when\na,1\nb,1\n", "no column of values"),
}


@pytest.mark.parametrize("name", MESSY_TABLES)
def test_messy_tables(put, name):
    content, message = MESSY_TABLES[name]
    put(long_table(0, 0.0)[0], "a.csv")
    put(content, "b.csv")
    assert message in refused("two-sample", "b.csv", "a.csv", "--series-of", "id,when", code=3)


def test_numbers_in_the_column_of_text_are_texts(put):
    put("n,t\n" + "".join(f"{i},{i % 7}\n" for i in range(40)), "a.csv")
    assert "No difference" in run("two-sample", "a.csv", "a.csv", "--text", "t").stdout
    assert "no column 'x'" in refused("two-sample", "a.csv", "a.csv", "--text", "x", code=3)
    done = run("two-sample", "a.csv", "a.csv", "--text", "t", "--text-kernel", "sentences", code=2)
    said = " ".join(done.stderr.replace("│", " ").split())  # typer breaks lines in a box
    assert "spectrum or subsequence" in said


def test_each_line_of_a_plain_text_is_a_text(put, lines):
    """A file of reviews was read as a table with one column, named by its first review."""
    put("\n\n".join(texts(0)) + "\n\n", "a.txt")  # empty lines are no texts
    put("\r\n".join(texts(1, "zébra")), "b.txt")
    assert "use --text lines" in refused("two-sample", "a.txt", "b.txt", code=3)
    plain, json_lines = (
        json.loads(run("two-sample", *words, "--json", "-").stdout)
        for words in (("a.txt", "b.txt", "--text", "lines"), ("a.jsonl", "b.jsonl"))
    )
    assert plain["pvalue"] == json_lines["pvalue"]
    assert [f["rows"] for f in plain["files"]] == [20, 20]
    assert plain["features"] == json_lines["features"]
    told = refused("two-sample", "a.txt", "b.txt", "--text", "review", code=3)
    assert told.count("'review'") == 1
