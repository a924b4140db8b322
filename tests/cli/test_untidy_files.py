"""Untidy files: read right where that is unambiguous, else refused with what to do, and nothing lost without a word."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from mercer.cli.number_style import MISSING_WORDS, TextFormat
from mercer.cli.read import read
from mercer.cli.table import Selection
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


@pytest.mark.parametrize(
    ("word", "advice"),
    [("k.A.", "say so with --na k.A.; else fix it"), ("not known", "--na 'not known'"), ("12 kg", ". Fix it")],
)  # fmt: skip
def test_a_word_among_numbers_may_stand_for_a_missing_value(folder, word, advice):
    (folder / "a.csv").write_text(lines() + f"{word},Oslo\n")
    said = " ".join(refused("independence", "a.csv").stderr.split())
    assert f"{word!r} is not a number, but 24 other values in this column are." in said
    assert advice in said
    assert ("--na" in said) == ("kg" not in word)


def test_columns_that_are_refused_are_named_together(folder):
    """One refusal after the other makes a user of an untidy file call the command again and again."""
    rows = "".join(f"2026-03-{i:02},{i / 2},{i},{i}.1.2026\n" for i in range(1, 29))
    (folder / "a.csv").write_text("day,size,dose,end\n" + rows + "2026-03-29,k.A.,n.b.,1.2.2026\n")
    said = " ".join(refused("two-sample", "a.csv", "a.csv").stderr.split())
    assert said.startswith("mercer: a.csv, column 'size', row 29 (line 30): 'k.A.' is not a number")
    assert ". Column 'dose', row 29 (line 30): 'n.b.' is not a number" in said
    assert ". Column 'day': dates, such as '2026-03-01': name the column with --time" in said
    assert said.endswith("with --categories. And 1 more column")


@pytest.mark.parametrize("header", ["2001,city", "age,Rome", "2001,Rome name"])
def test_names_may_be_numbers_or_words_of_the_data(folder, header):
    (folder / "a.csv").write_text(lines(header))
    cli_runs.run("independence", "a.csv")


@pytest.mark.filterwarnings("error")
def test_the_limit_is_that_of_the_precision(folder):
    """A comparison with a limit of float64 warned of an overflow for every file of float32."""
    x = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    np.save("a.npy", x)
    np.save("b.npy", x * np.float32(1e18))
    assert cli_runs.run("two-sample", "a.npy", "a.npy").stderr == ""
    assert "whose square overflows float32" in refused("two-sample", "a.npy", "b.npy").stderr


def spaced(header, row_name):
    """A table with spaces as R writes it: words in quotes, and names of rows that have no name themselves."""
    rows = [f'{row_name(i)}{a} "{c} town"\n' for i, (a, c) in enumerate(ROWS)]
    return header + "\n" + "".join(rows)


@pytest.mark.parametrize(
    "content",
    [
        spaced("age city", lambda i: ""),
        spaced('"age" "city"', lambda i: ""),
        spaced('"age" "city"', lambda i: f'"{i + 1}" '),
        spaced("age city", lambda i: f"{i}   "),
        '"age"\t"city"\n'
        + "".join(f'"{i}"\t{a}\t"{c} town"\n' for i, (a, c) in enumerate(ROWS, 1)),
    ],
)
def test_tables_of_r_are_the_columns_that_they_are(folder, content):
    (folder / "r.txt").write_text(content)
    (folder / "plain.csv").write_text(
        lines().replace("Rome", "Rome town").replace("Oslo", "Oslo town")
    )
    told = [cli_runs.run("independence", name).stdout for name in ("r.txt", "plain.csv")]
    assert told[0].split("  Note")[0].strip() == told[1].strip()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (spaced('"age" "city"', lambda i: f'"row {i}" '), "--exclude 'Unnamed: 0'"),
        ("age\tcity\n" + "3\t4\t\n" * 9, "3 values, but the header has 2"),
        ("age,city\n" + "3,5,4\n" * 9, "3 values, but the header has 2: if the rows begin with their names or numbers"),
        ("age\n" + "3,5\n4,5\n" * 9, "if ',' belongs to the values of a single column, name another separator"),
        ("# a comment\nage,city\n" + "3,5\n" * 9, "if the first line is a comment, remove it"),
        ("age city\n" + "3 Rome\n4 New York\n" * 9, "put words that belong together in quotes"),
    ],
    ids=["words", "end", "comma", "single", "comment", "ragged"],
)  # fmt: skip
def test_rows_with_more_values_than_names(folder, content, said):
    (folder / "a.txt").write_text(content)
    assert said in " ".join(refused("independence", "a.txt").stderr.split())


def test_the_word_among_numbers_is_named_and_not_a_number(folder):
    """A full stop in 12% of the rows, for missing values: the message called the numbers no numbers."""
    rows = [f"{i % 30}.25,{i / 7:.2f}" if i % 8 else f".,{i / 7:.2f}" for i in range(48)]
    (folder / "a.csv").write_text("\n".join(["x,y", *rows]) + "\n")
    told = refused("independence", "a.csv").stderr
    assert "column 'x': '.' among 29 different numbers" in told
    assert "--na ." in told
    cli_runs.run("independence", "a.csv", "--na", ".", "--missing", "drop")


def test_a_missing_value_with_spaces_around_it_is_no_label(folder):
    (folder / "a.csv").write_text("city,age\nNA ,1\nRome,2\n  ,3\nOslo,4\n")
    city = read("a.csv", Selection()).columns["city"]
    assert city.missing().tolist() == [True, False, True, False]


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_other_encodings_are_refused_with_the_option_that_reads_them(folder, encoding):
    (folder / "a.csv").write_bytes(lines(header="größe,city").encode(encoding))
    assert f"--encoding {encoding}" in refused("independence", "a.csv").stderr
    cli_runs.run("independence", "a.csv", "--encoding", encoding)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_line_ends_and_marks_change_nothing(folder, end, start):
    (folder / "a.csv").write_bytes((start + lines(end=end)).encode())
    (folder / "b.csv").write_text(lines())
    told = [cli_runs.run("independence", name).stdout for name in ("a.csv", "b.csv")]
    assert told[0] == told[1]


@pytest.mark.parametrize("clean", [True, False], ids=["numbers alone", "with an empty cell"])
@pytest.mark.parametrize("code", ["-999", "-999.0", " -999.00"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_numbers_that_stand_for_missing_values(folder, clean, code, decimal):
    """In a column without words, -999 was a value like any other, whatever `--na` said."""
    cells = ["1.5", code, "2.25", "3", "4.5", "6", "7", "8", "9", "10", "11", "12"]
    written = [c.replace(".", decimal) for c in [*cells, "5.5" if clean else ""]]
    (folder / "a.csv").write_text("\n".join(["x;y", *(f"{c};1" for c in written)]) + "\n")
    form = TextFormat(missing=MISSING_WORDS | {"-999"})
    x = read("a.csv", Selection(text=form)).columns["x"]
    assert x.missing().tolist() == [i == 1 or (i == 12 and not clean) for i in range(13)]
    assert read("a.csv", Selection()).columns["x"].missing().sum() == (not clean)


def test_a_number_for_missing_values_that_is_written_with_signs(folder):
    """Codes are read in the style of their column: thousands, currencies, decimal commas."""
    rows = [f"{3 * i % 17},25 €;1" for i in range(30)] + ["9.999,00 €;1"]
    (folder / "a.csv").write_text("\n".join(["x;y", *rows]) + "\n")
    for code in ("9999", "9.999,00", "9.999,00 €"):
        form = TextFormat(missing=MISSING_WORDS | {code})
        x = read("a.csv", Selection(text=form)).columns["x"]
        assert np.flatnonzero(x.missing()).tolist() == [30]


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_words_for_missing_values_hold_in_binary_files(folder, kind):
    """`--na` was ignored there, and -999 compared like any other number."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(
        {"x": [1.5, -999.0, 3.0], "n": [1, 2, -999], "city": ["Rome", "k.A.", "Oslo"]}
    )
    getattr(frame, f"to_{kind}")(f"a.{kind}")
    form = TextFormat(missing=MISSING_WORDS | {"-999", "k.A."})
    columns = read(f"a.{kind}", Selection(text=form)).columns
    missing = {name: np.flatnonzero(column.missing()).tolist() for name, column in columns.items()}
    assert missing == {"x": [1], "n": [2], "city": [1]}
    plain = read(f"a.{kind}", Selection(text=TextFormat())).columns
    assert not any(column.missing().any() for column in plain.values())
    told = refused("independence", f"a.{kind}", "--na", "-999").stderr
    assert "missing values (x: 1, n: 1)" in told or "missing values (n: 1, x: 1)" in told


def test_numbers_with_a_unit_are_refused_with_what_helps(folder):
    """Lifetimes as '1.247,7 h': no style of numbers makes them readable."""
    (folder / "a.csv").write_text(
        "life;n\n" + "".join(f"1.{200 + i},5 h;{i % 7}\n" for i in range(60))
    )
    said = " ".join(refused("independence", "a.csv").stderr.split())
    assert "write the numbers without their unit" in said
    assert "--decimal" not in said
