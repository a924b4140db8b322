"""Files as people write them: thousands, currencies, per cent, separators, encodings, row numbers, dates."""

import numpy as np
import pytest

from mercer.cli.exits import Refused
from mercer.cli.number_style import MISSING_WORDS, TextFormat
from mercer.cli.read import read
from mercer.cli.table import LabelColumn, Selection
from tests.support.cli_runs import refused, run


def column(name, text=None, key="v"):
    found = read(name, Selection(text=text)).columns[key]
    return found.levels if isinstance(found, LabelColumn) else found.values.tolist()


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (['"12,345.67"', '"1,000.00"', "8.5"], [12345.67, 1000.0, 8.5]),
        (['"1,234,567"', '"12,000"', "9"], [1234567.0, 12000.0, 9.0]),
        (["$12.50", "-$3", '"$1,200.00"'], [12.5, -3.0, 1200.0]),
        (["12 €", "3.5 €", "NA"], [12.0, 3.5, np.nan]),
        (["12%", "7.5%", "100 %"], [12.0, 7.5, 100.0]),
        (['"1.234,56"', '"7,5"', "3"], [1234.56, 7.5, 3.0]),
        (["1 234.5", "12 000", "7"], [1234.5, 12000.0, 7.0]),
        (["True", "false", "TRUE"], [1.0, 0.0, 1.0]),
        (["($5.00)", "$6.00", "$7.00"], [-5.0, 6.0, 7.0]),
    ],
)
def test_numbers_as_people_write_them(put, cells, values):
    name = put("v,w\n" + "\n".join(f"{cell},1" for cell in cells))
    assert column(name) == pytest.approx(values, nan_ok=True)


@pytest.mark.parametrize("separator", ["|", " ", ";", "\t", "   "])
def test_separators(put, separator):
    rows = ["v w", "1.5 a", "2.5 b"]
    assert column(put("\n".join(row.replace(" ", separator) for row in rows))) == [1.5, 2.5]


def test_what_can_be_read_in_two_ways_is_refused_until_told(put):
    name = put('v,w\n"12,345",1\n"7,500",2\n')
    with pytest.raises(Refused, match="can be read in two ways: give --thousands , or --decimal ,"):
        column(name)
    assert column(name, TextFormat(thousands=",")) == [12345.0, 7500.0]
    assert column(name, TextFormat(decimal=",")) == [12.345, 7.5]
    with pytest.raises(Refused, match="1 of 2 values have a per cent sign"):
        column(put("v,w\n12%,1\n0.5,2\n"))


@pytest.mark.parametrize(
    ("usual", "odd"),
    [("1,234.5", "12,5"), ("1,234.5", "1,2345.0"), ("$1,200.50", "$12,5"), ("1 234.5", "12 34"), ("1'234.5", "12'5")],
)  # fmt: skip
def test_separators_of_thousands_elsewhere_than_before_three_digits_are_refused(put, usual, odd):
    name = put("v|w\n" + f"{usual}|1\n" * 30 + f"{odd}|2\n")
    with pytest.raises(
        Refused, match=r"row 31 \(line 32\): .* is not a number, but 30 other values"
    ):
        column(name)


def test_numbers_are_grouped_by_three_digits_or_in_the_indian_way(put):
    name = put("v|w\n1,00,000|1\n12,34,567.5|1\n999|1\n")
    assert column(name, TextFormat(thousands=",")) == [100_000.0, 1_234_567.5, 999.0]


def test_numbers_do_not_become_labels_in_silence(put):
    weights = "\n".join(f"{i} kg,1" for i in range(40))
    with pytest.raises(Refused, match="40 different values that look like numbers but are none"):
        column(put("v,w\n" + weights))
    with pytest.raises(Refused, match="dates, such as '2024-01-05'.*--exclude"):
        column(put("v,w\n2024-01-05,1\n2024-01-06,2\n"))
    asked = Selection(categories=frozenset({"v"}))
    assert len(read(put("v,w\n" + weights), asked).columns["v"].levels) == 40
    assert list(read(put("v,w\n" + weights), Selection(exclude=frozenset("v"))).columns) == ["w"]
    assert column(put("v,w\n1-2,1\n3-4,2\n")) == ("1-2", "3-4")  # few codes are labels


def test_row_numbers_without_a_name_are_left_out(put):
    for first in (0, 1):
        text = ",v\n" + "\n".join(f"{i + first},{v}" for i, v in enumerate((5, 3, 8)))
        file = read(put(text), Selection())
        assert list(file.columns) == ["v"]
        assert "which only counts the rows, was left out" in file.notes[0]


def test_numbers_of_columns_are_names(put):
    file = read(put("0,1,2\n0.5,3,8\n0.1,2,4\n"), Selection())
    assert list(file.columns) == ["0", "1", "2"]
    assert file.rows == 2
    assert "the first line, 0, 1, 2, was taken for names of columns" in file.notes[0]
    assert read(put("0,2,1\n0.5,3,8\n"), Selection()).rows == 2  # values, in a file without names


def test_options_of_text_files(put):
    rng = np.random.default_rng(0)
    rows = [f"{v:.3f}".replace(".", ",") + f"|{w}|x" for v, w in rng.normal(size=(30, 2))]
    put(("größe|w|other\n" + "\n".join([*rows, "-999|1|x"])).encode("latin-1"), "l.csv")
    asked = ("independence", "l.csv", "--encoding", "latin-1", "--exclude", "other")
    told = run(*asked, "--na", "-999", "--missing", "drop", "--decimal", ",").stdout
    assert "größe and w" in told
    assert "is not UTF-8" in refused("independence", "l.csv", code=3)
    assert "no encoding" in run(*asked[:2], "--encoding", "latin-99", code=2).stderr
    assert "cannot both be" in refused(*asked, "--decimal", ",", "--thousands", ",", code=2)
    assert "no column 'none'" in refused(*asked[:4], "--exclude", "none", code=3)
    assert "-999" not in TextFormat().missing
    assert TextFormat().missing is MISSING_WORDS


def test_tables_can_be_shown_whole_and_demo_makes_its_folder(put, tmp_path):
    x = np.random.default_rng(1).normal(size=(20, 6))
    text = "\n".join([",".join("abcdef"), *(",".join(map(str, row)) for row in x)])
    short, whole = (run("independence", put(text), *more).stdout for more in ((), ("--all",)))
    assert "and 7 more (--all shows them)" in short
    assert sum(" and " in line for line in whole.splitlines()) == 15
    run("demo", "--copy", "new")
    assert len(list((tmp_path / "new").iterdir())) == 2


def test_power_says_where_the_pilot_shows_nothing(put):
    x, y = np.random.default_rng(5).normal(size=(2, 40))
    a, b = (put("v\n" + "\n".join(map(str, v)), f"{n}.csv") for v, n in ((x, "a"), (y, "b")))
    assert "a.csv and a.csv, the pilot, do not differ" in run("power", a, a, code=3).stderr
    told = run("power", a, b, "--sizes", "50").stdout
    assert told.startswith("Caution: the pilot shows no difference (p = ")
