"""`mercer two-sample --by`: two groups of rows of one file."""

import json

import numpy as np
import pytest

from mercer.cli.common_options import SampleOptions
from mercer.cli.exits import WrongUse
from tests.support.cli_runs import refused, run

pd = pytest.importorskip("pandas")


@pytest.fixture
def table(folder):
    """Rows of a.csv and b.csv in one file, in a random order, with the column `group`."""
    parts = [folder[name].assign(group=name) for name in "ab"]
    mixed = pd.concat(parts).sample(frac=1, random_state=0)
    mixed.to_csv("both.csv", index=False)
    for name in "ab":
        mixed[mixed.group == name].drop(columns="group").to_csv(f"{name}.csv", index=False)
    return mixed


def _told(*words):
    return json.loads(run("two-sample", *words, "--json", "-").stdout)


def _without_files(told):
    return {key: told[key] for key in ("pvalue", "effect", "columns", "features")}


def test_groups_of_one_file_are_compared_as_two_files_are(table):
    one, two = _told("both.csv", "--by", "group"), _told("a.csv", "b.csv")
    assert _without_files(one) == _without_files(two)
    assert [(f["name"], f["rows"]) for f in one["files"]] == [("a", 90), ("b", 80)]


def test_groups_have_the_names_of_their_levels(table, tmp_path):
    done = run("two-sample", "both.csv", "--by", "group", "--report", "page.html")
    assert done.stdout.startswith("a and b differ (p = ")
    assert "--by group" in (tmp_path / "page.html").read_text()


def test_names_of_levels_are_not_shortened_as_paths_are(table):
    table.assign(group=table.group.map({"a": "1/2", "b": "2/2"})).to_csv("both.csv", index=False)
    assert run("two-sample", "both.csv", "--by", "group").stdout.startswith("1/2 and 2/2 differ")


@pytest.mark.parametrize("levels", [(0, 1), (True, False), (1.5, 2.5)])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_numbers_name_groups_too(table, kind, levels):
    pytest.importorskip("pyarrow")
    numbered = table.assign(group=table.group.map(dict(zip("ab", levels, strict=True))))
    getattr(numbered, f"to_{kind}")(f"both.{kind}", index=False)
    told = _told(f"both.{kind}", "--by", "group", "--columns", "height")
    assert sorted(f["rows"] for f in told["files"]) == [80, 90]
    assert [c["name"] for c in told["columns"]] == ["height"]


def test_order_and_choice_of_levels(table, folder):
    more = pd.concat([table, folder["c"].assign(group="c")])
    more.to_csv("three.csv", index=False)
    message = refused("two-sample", "three.csv", "--by", "group", code=3)
    assert "3 levels, 'a' (90 rows), 'b' (80 rows), 'c' (70 rows)" in message
    assert "--levels a,b" in message
    told = _told("three.csv", "--by", "group", "--levels", "b,a", "--exclude", "weight")
    assert [f["name"] for f in told["files"]] == ["b", "a"]
    assert any("70 rows of other levels of 'group' were left out" in n for n in told["remarks"])
    assert "no level 'd'" in refused(
        "two-sample", "three.csv", "--by", "group", "--levels", "a,d", code=3
    )


def test_levels_that_are_left_out_are_named_as_they_are_written(table):
    """A level with a space, or in small letters, is another level, which the eye does not see."""
    table.iloc[:3, table.columns.get_loc("group")] = ["a ", "A", "A"]
    table.to_csv("both.csv", index=False)
    message = refused("two-sample", "both.csv", "--by", "group", code=3)
    assert "'A' (2 rows), 'a ' (1 row)" in message
    remarks = _told("both.csv", "--by", "group", "--levels", "a,b")["remarks"]
    assert any(
        "3 rows of other levels of 'group' were left out: 'A' (2 rows), 'a ' (1 row)" in note
        for note in remarks
    )


def test_rows_without_a_group_are_left_out_with_a_note(table):
    table.iloc[:5, table.columns.get_loc("group")] = None
    table.to_csv("both.csv", index=False)
    told = _told("both.csv", "--by", "group")
    assert sum(f["rows"] for f in told["files"]) == 165
    assert any(
        "5 rows without a level of 'group' were left out" in note for note in told["remarks"]
    )


def test_missing_values_and_times_go_with_groups(table):
    table["day"] = np.arange(len(table))
    table.iloc[3, 0] = np.nan
    table.to_csv("both.csv", index=False)
    options = ("--missing", "drop", "--time", "day", "--columns", "height,weight")
    told = _told("both.csv", "--by", "group", *options)
    assert sum(f["rows"] for f in told["files"]) == 169
    assert [c["name"] for c in told["columns"]] == ["height", "weight"]


def test_an_infinite_value_is_named_by_its_row_in_the_file(table):
    table.iloc[100, 0] = np.inf
    table.to_csv("both.csv", index=False)
    assert "both.csv, column 'height', row 101" in refused(
        "two-sample", "both.csv", "--by", "group", code=3
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["a.csv"], "--by group"),
        (["a.csv", "b.csv", "--by", "city"], "one file"),
        (["a.csv", "b.csv", "--levels", "a,b"], "give --by too"),
        (["a.csv", "--by", "city", "--levels", "Rome"], "needs two levels"),
        (["a.csv", "--by", "city", "--exclude", "city"], "--by and --exclude"),
        (["a.csv", "--by", "city", "--text", "city"], "both --by and --columns"),
        (["a.csv", "--by", "city", "--text", "lines"], "a file for each group"),
        (["a.jsonl", "--by", "city", "--text", "body"], "a file for each group"),
    ],
)
def test_wrong_use_says_what_to_give(folder, words, told):
    assert told in refused("two-sample", *words, code=2)


@pytest.mark.parametrize(("column", "told"), [("town", "no column 'town'"), ("same", "two levels")])
def test_a_column_that_tells_no_groups_apart_is_refused(table, column, told):
    table.assign(same="x").to_csv("both.csv", index=False)
    assert told in refused("two-sample", "both.csv", "--by", column, code=3)


def test_the_command_line_of_the_report_names_the_groups():
    chosen = SampleOptions(by="group", levels=["b,a"])
    line = chosen.command_line("two-sample", chosen.paths("x.csv", None))
    assert line == "mercer two-sample x.csv --levels b --levels a --by group --seed 0"
    with pytest.raises(WrongUse, match="two files"):
        SampleOptions().paths("x.csv", None)


def test_the_two_largest_levels_are_proposed_as_a_shell_reads_them(table):
    """The proposal was of the first levels in alphabetical order, two slips of 'a' and 'b b' that a few rows have."""
    table["group"] = table.group.map({"a": "a", "b": "b b"})
    table.iloc[:3, table.columns.get_loc("group")] = ["A", "A", "B B"]
    table.to_csv("both.csv", index=False)
    message = refused("two-sample", "both.csv", "--by", "group", code=3)
    assert "as in --levels 'a,b b'; " in message
    assert "'A' and 'a', 'B B' and 'b b' differ in capitals or spaces only" in message


def test_what_a_single_column_is_like_in_both_groups_is_told(table):
    """Of several columns the table tells it; of one there was nothing in its unit."""
    a, b = (table[table.group == name] for name in "ab")
    alone = run("two-sample", "both.csv", "--by", "group", "--columns", "height").stdout
    (line,) = (line.split() for line in alone.splitlines() if line.strip().startswith("Values"))
    assert line[:2] == ["Values", "mean"]
    assert float(line[2]) == pytest.approx(a.height.mean(), rel=1e-3)
    assert float(line[4].rstrip(",")) == pytest.approx(b.height.mean(), rel=1e-3)
    labels = run("two-sample", "both.csv", "--by", "group", "--columns", "city").stdout
    assert "% and " in next(line for line in labels.splitlines() if "Values" in line)
    assert "Values" not in run("two-sample", "both.csv", "--by", "group").stdout


def test_texts_of_one_file_are_compared_as_those_of_two_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    words = ["please", "meeting", "report", "lunch", "monday", "find"]
    texts = pd.DataFrame({"text": [" ".join(rng.choice(words, 6)) for _ in range(60)]})
    texts["kind"] = np.where(rng.random(60) < 0.4, "spam", "ham")
    texts.loc[texts.kind == "spam", "text"] += " prize"
    texts.to_csv("sms.tsv", index=False, sep="\t")
    for kind, group in texts.groupby("kind"):
        group.to_csv(f"{kind}.csv", index=False)
    one = _told("sms.tsv", "--by", "kind", "--text", "text")
    two = _told("ham.csv", "spam.csv", "--text", "text")
    assert [one[key] for key in ("pvalue", "features")] == [
        two[key] for key in ("pvalue", "features")
    ]
    rows = [int(point["name"].removeprefix("row ")) - 1 for point in one["telling"]["second"]]
    assert set(texts.kind[rows]) == {"spam"}  # rows of the file, not of the group
    assert run("two-sample", "sms.tsv", "--by", "kind", "--text", "text").stdout.startswith(
        "ham and spam differ"
    )
    run("two-sample", "sms.tsv", "--by", "kind", "--text", "text", "--report", "page.html")
    assert "--by kind" in (tmp_path / "page.html").read_text()


def test_levels_of_texts_are_not_sent_to_independence(table):
    """It has no texts: a column of them is a category for each row there, which depends on nothing."""
    table.assign(group=np.resize(["a", "b", "c"], len(table))).to_csv("three.csv", index=False)
    asked = ("two-sample", "three.csv", "--by", "group")
    assert "mercer independence tells" in refused(*asked, code=3)
    message = refused(*asked, "--text", "city", code=3)
    assert "name the two to compare" in message
    assert "independence" not in message
