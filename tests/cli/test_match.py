"""Two files as samples: columns are matched by name, and missing values need a choice."""

import numpy as np
import pytest

from mercer.cli.exits import Refused
from mercer.cli.match import Missing, matched
from mercer.cli.read import read
from mercer.cli.table import File, NumericColumn, Selection, label_column


def pair(put, a: str, b: str, missing: Missing | None = None, notes: list | None = None):
    files = [read(put(text, name), Selection()) for text, name in ((a, "a.csv"), (b, "b.csv"))]
    return matched(files, missing, [] if notes is None else notes)


def no_pair(put, a: str, b: str, missing: Missing | None = None) -> str:
    with pytest.raises(Refused) as caught:
        pair(put, a, b, missing)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_columns_are_matched_by_name(put):
    a, b = pair(
        put, "height,city\n1.5,Rome\n1.75,Oslo\n1.6,Rome\n", "city,height\nOslo,2\nRome,3\n"
    )
    assert a.points.columns == b.points.columns
    assert a.points.columns.categorical == (False, True)
    assert b.points.values[0, 1] == a.points.values[1, 1]  # Oslo
    assert b.points.labels[b.points.values[0, 1]] == "Oslo"


def test_different_columns_are_named(put):
    told = no_pair(put, "a,b\n1,2\n3,4\n", "b,c\n1,2\n3,4\n")
    assert told == (
        "the columns differ: only a.csv has 'a'; only b.csv has 'c'; select shared columns with --columns"
    )
    told = no_pair(put, "a,b\n1,2\n3,4\n", "a,b\n1,u\n3,v\n")
    assert told.startswith("column 'b' holds numbers in a.csv and labels in b.csv")


def test_constant_columns(put):
    same = "a,b\n1,u\n1,u\n"
    assert "every column ('a', 'b') is constant" in no_pair(put, same, same)
    notes: list[str] = []
    pair(put, "a,b\n1,u\n2,u\n", "a,b\n1,u\n2,u\n", notes=notes)
    assert notes == ["constant columns, which have no influence: 'b'"]
    pair(put, "a\n1\n1\n", "a\n2\n2\n")  # constant in each, but not the same


def test_infinite_values_have_a_place(put):
    told = no_pair(put, "a\n1\ninf\n-inf\n", "a\n1\n2\n")
    assert told.startswith("a.csv, column 'a', row 2: an infinite value (one of 2)")


def test_names_are_remarked_upon(put):
    notes: list[str] = []
    rows = "".join(f"{i},name{i}\n" for i in range(30))
    pair(put, "a,who\n" + rows, "a,who\n" + rows.replace("name", "nom"), notes=notes)
    assert notes[0].startswith("Caution: column 'who' holds another label in nearly every row")
    assert "--exclude who" in notes[0]
    assert "--text who" in notes[0]


def test_columns_whose_names_are_misspelt_are_to_be_renamed(put):
    """The advice was to select the shared columns, which drops the one that is meant."""
    told = no_pair(put, "Body weight,b\n1,2\n3,4\n", "body weight,b\n1,2\n3,4\n")
    assert told.endswith(
        "'Body weight' and 'body weight' differ in capitals or spaces only: if they are one column, rename it in one of the files"
    )
    assert "--columns" not in told


def test_labels_that_may_be_misspelt_are_noted(put):
    notes: list[str] = []
    a = "a,smoker\n" + "1,yes\n2,no\n3,Yes\n" * 3
    pair(put, a, a, notes=notes)
    assert notes == [
        "column 'smoker': 'Yes' and 'yes' differ in capitals or spaces only: if they are one, write them alike"
    ]


def test_levels_that_other_groups_have_do_not_count():
    """Of a file whose groups are compared, only the labels in these rows are of interest."""
    column = label_column([f"name{i // 4}" for i in range(200)])
    files = [File(n, {"who": column.take(np.arange(20)[part::2])}) for part, n in enumerate("ab")]
    notes: list[str] = []
    matched(files, None, notes)
    assert notes == []


def test_missing_values_are_counted_and_the_ways_out_named(put):
    a, b = "a,b\n1,u\n,u\n3,\n4,\n", "a,b\n1,u\n2,v\n3,w\n"
    told = no_pair(put, a, b)
    assert told == (
        "a.csv has missing values (b: 2, a: 1): choose --missing drop to leave out 3 of 7 rows, or "
        "--missing impute to fill in medians and the label (missing)"
    )


def test_missing_values_can_be_dropped(put):
    notes: list[str] = []
    a, b = pair(put, "a,b\n1,u\n,u\n3,\n4,v\n", "a,b\n1,u\n2,v\n", Missing.DROP, notes)
    assert (a.rows, b.rows, a.dropped) == (2, 2, 2)
    assert notes == ["a.csv: 2 rows with missing values were left out"]
    assert "every row" in no_pair(put, "a\nNA\nNA\n", "a\n1\n2\n", Missing.DROP)
    assert "1 row; at least 2" in no_pair(put, "a\nNA\n1\n", "a\n1\n2\n", Missing.DROP)


def test_missing_values_can_be_imputed(put):
    a, b = pair(put, "a,b\n1,u\n,u\n3,\n", "a,b\n5,u\n7,v\n", Missing.IMPUTE)
    np.testing.assert_array_equal(a.columns["a"].values, [1, 4, 3])  # the median of 1, 3, 5, 7
    assert a.points.labels[a.points.values[2, 1]] == "(missing)"
    assert (a.imputed, b.imputed) == (2, 0)
    assert "no values at all" in no_pair(put, "a\nNA\nNA\n", "a\nNA\nNA\n", Missing.IMPUTE)


def test_numbers_are_numbers(put):
    assert isinstance(read(put("a\n1e3\n-.5\n +2\n"), Selection()).columns["a"], NumericColumn)
