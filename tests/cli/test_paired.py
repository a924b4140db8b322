"""`mercer two-sample --paired`: rows of two samples that are pairs, by a key or by their order."""

import json
from pathlib import Path

import numpy as np
import pytest

from mercer.cli.common_options import SampleOptions
from mercer.htest import MMDAgg, Permutation
from tests.support.cli_runs import refused, run

pd = pytest.importorskip("pandas")

PAIRED = MMDAgg(null=Permutation(999, paired=True))


@pytest.fixture
def visits(tmp_path, monkeypatch):
    """Sixty units, before and after in other orders; weights fall by two, pulses do not change."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    units = [f"P{i:02d}" for i in rng.permutation(60)]
    before = pd.DataFrame(
        {"unit": units, "weight": rng.normal(80, 15, 60), "pulse": rng.normal(70, 8, 60)}
    )
    after = before.assign(
        weight=before.weight - 2 + rng.normal(size=60), pulse=before.pulse + rng.normal(size=60)
    ).sample(frac=1, random_state=0)
    written(before, after)
    return before, after


def written(before, after):
    before.to_csv("before.csv", index=False)
    after.to_csv("after.csv", index=False)
    both = pd.concat([before.assign(time="before"), after.assign(time="after")], ignore_index=True)
    both.sample(frac=1, random_state=1).to_csv("long.csv", index=False)


def _told(*words):
    return json.loads(run("two-sample", *words, "--json", "-").stdout)


def _expected(before, after):
    """The p-value of the paired test in Python, of the units that are in both, in the order of the first sample."""
    both = before.merge(after, on="unit", suffixes=("", "_after"))
    first = both[["weight", "pulse"]]
    second = both[["weight_after", "pulse_after"]].set_axis(["weight", "pulse"], axis=1)
    return PAIRED.test(first, second, rng=0).pvalue


def test_rows_with_the_same_key_are_pairs(visits):
    told = _told("before.csv", "after.csv", "--paired", "unit")
    assert told["pvalue"] == _expected(*visits) <= 0.01
    assert [column["name"] for column in told["columns"]] == ["weight", "pulse"]
    assert told["cautions"] == []
    assert not _told("before.csv", "after.csv")["differ"]  # as independent samples they hide it


def test_changes_are_those_within_pairs(visits):
    before, after = (frame.set_index("unit") for frame in visits)
    told = _told("before.csv", "after.csv", "--paired", "unit")
    assert told["pairs"]["key"] == "unit"
    change = {c["name"]: c for c in told["pairs"]["changes"]}["weight"]
    difference = after.weight - before.weight
    assert change["mean"] == pytest.approx(difference.mean())
    assert change["sd"] == pytest.approx(difference.std())
    low, high = change["interval"]
    assert (low + high) / 2 == pytest.approx(change["mean"])
    reach = 2.001 * difference.std() / np.sqrt(60)  # the t quantile of 59 degrees of freedom
    assert high - low == pytest.approx(2 * reach, rel=1e-3)
    text = " ".join(run("two-sample", "before.csv", "after.csv", "--paired", "unit").stdout.split())
    assert f"In pairs after.csv minus before.csv: weight {change['mean']:.4g} on average" in text
    assert "60 pairs of rows, 2 columns" in text


def test_a_long_table_has_pairs_too(visits):
    long = ("long.csv", "--by", "time", "--levels", "before,after", "--paired", "unit")
    told, files = _told(*long), _told("before.csv", "after.csv", "--paired", "unit")
    assert told["differ"]
    changes = [{c["name"]: c["mean"] for c in t["pairs"]["changes"]} for t in (told, files)]
    assert changes[0] == pytest.approx(changes[1])


def test_the_order_of_rows_pairs_them(visits):
    before, after = visits
    after = after.set_index("unit").loc[before.unit].reset_index()
    for name, frame in (("a", before), ("b", after)):
        frame[["weight", "pulse"]].to_csv(f"{name}.csv", index=False)
        np.save(f"{name}.npy", frame[["weight", "pulse"]].to_numpy())
    told = _told("a.csv", "b.csv", "--paired", "rows")
    assert told["pvalue"] == _expected(before, after)
    assert _told("a.npy", "b.npy", "--paired", "rows", "--columns", "x1")["differ"]
    message = refused("two-sample", "a.csv", "long.csv", "--paired", "rows", code=3)
    assert "a.csv has 60 rows and long.csv 120" in message
    written(before.rename(columns={"unit": "rows"}), after.rename(columns={"unit": "rows"}))
    message = refused("two-sample", "before.csv", "after.csv", "--paired", "rows", code=3)
    assert "before.csv has a column 'rows'" in message


def test_a_key_in_another_order_than_the_rows_is_told(visits):
    cautions = _told("before.csv", "after.csv", "--paired", "rows")["cautions"]
    assert any("use --paired unit" in caution for caution in cautions)
    before, after = visits
    written(before, after.set_index("unit").loc[before.unit].reset_index())
    assert not _told("before.csv", "after.csv", "--paired", "rows")["cautions"]


def test_whole_numbers_are_one_key_however_they_are_written(visits):
    """pandas writes a column of whole numbers with a missing value as 7.0; a hand adds spaces."""
    before, after = visits
    numbers = {unit: i for i, unit in enumerate(before.unit)}
    before, after = (frame.assign(unit=frame.unit.map(numbers)) for frame in visits)
    expected = _expected(before, after)
    written(before, after.assign(unit=[f" {unit}.0" for unit in after.unit]))
    assert _told("before.csv", "after.csv", "--paired", "unit")["pvalue"] == expected


@pytest.mark.parametrize("kind", [int, float, str])
def test_keys_of_parquet_files(visits, kind):
    pytest.importorskip("pyarrow")
    numbers = {unit: kind(i) for i, unit in enumerate(visits[0].unit)}
    for name, frame in zip(("before", "after"), visits, strict=True):
        frame.assign(unit=frame.unit.map(numbers)).to_parquet(f"{name}.parquet", index=False)
    told = _told("before.parquet", "after.parquet", "--paired", "unit")
    assert told["pvalue"] == _expected(*visits)


def test_nothing_is_left_out_silently(visits):
    before, after = visits
    after = after[~after.unit.isin(["P07", "P08"])]
    before, after = before.copy(), after.copy()
    before.loc[before.unit == "P30", "unit"] = None
    after.loc[after.unit == "P40", "weight"] = np.nan
    written(before, after)
    message = refused("two-sample", "before.csv", "after.csv", "--paired", "unit", code=3)
    assert "after.csv has missing values (weight: 1)" in message
    told = _told("before.csv", "after.csv", "--paired", "unit", "--missing", "drop")
    remarks = told["remarks"]
    assert "before.csv: 1 row without a value of 'unit' was left out" in remarks
    assert "after.csv: 1 row without a partner was left out, 'unit' 'P30'" in remarks
    assert any(r.startswith("before.csv: 2 rows without a partner were left out") for r in remarks)
    assert "1 pair with missing values in one or both rows was left out" in remarks
    assert "56 pairs of rows, by 'unit'" in remarks
    assert [(f["rows"], f["dropped"]) for f in told["files"]] == [(56, 4), (56, 2)]
    complete = after.dropna()
    assert told["pvalue"] == _expected(before[before.unit.isin(complete.unit)], complete)
    imputed = _told("before.csv", "after.csv", "--paired", "unit", "--missing", "impute")
    assert [f["rows"] for f in imputed["files"]] == [57, 57]


def test_a_unit_in_two_rows_is_refused(visits):
    before, after = visits
    written(before, pd.concat([after, after.iloc[:2], after.iloc[:1]]))
    message = refused("two-sample", "before.csv", "after.csv", "--paired", "unit", code=3)
    assert (
        f"after.csv, column 'unit': {after.unit.iloc[0]!r} is in 3 rows (one of 2 such units)"
        in message
    )


def test_keys_that_nothing_shares_are_shown(visits):
    before, after = visits
    written(before, after.assign(unit=after.unit.str.lower()))
    message = refused("two-sample", "before.csv", "after.csv", "--paired", "unit", code=3)
    assert "no unit is in both samples" in message
    assert "'p" in message
    written(before.assign(unit=None), after)
    assert "no unit is in both" in refused(
        "two-sample", "before.csv", "after.csv", "--paired", "unit", code=3
    )


def test_labels_within_pairs(visits):
    before, after = (f.assign(smoker=np.where(f.unit < "P30", "yes", "no")) for f in visits)
    after = after.assign(smoker=after.smoker.where(after.unit >= "P12", "no"))
    written(before, after)
    changes = _told("before.csv", "after.csv", "--paired", "unit")["pairs"]["changes"]
    assert {"name": "smoker", "changed": 12} in changes
    text = " ".join(run("two-sample", "before.csv", "after.csv", "--paired", "unit").stdout.split())
    assert "smoker differs in 12 of 60 pairs" in text


def test_the_report_of_pairs(visits):
    """No power by sample size, which would be that of independent samples."""
    run("two-sample", "before.csv", "after.csv", "--paired", "unit", "--report", "page.html")
    with open("page.html", encoding="utf-8") as file:
        page = file.read()
    assert "--paired unit" in page
    assert "Changes within pairs, after.csv minus before.csv: weight -" in page
    assert "How many rows are needed?" not in page


@pytest.mark.parametrize("test", ["mmd", "mmdagg", "mmdfuse", "maxmmd", "energy"])
def test_tests_with_pairs(visits, test):
    told = _told(
        "before.csv", "after.csv", "--paired", "unit", "--test", test, "--resamples", "199"
    )
    assert told["differ"]


def test_large_samples_have_pairs_too(visits):
    """Beyond 4,000 rows the default test compares rows with landmarks."""
    rng = np.random.default_rng(1)
    before = pd.DataFrame({"unit": np.arange(2100), "weight": rng.normal(80, 15, 2100)})
    after = before.assign(weight=before.weight - 0.2 + rng.normal(size=2100))
    written(before, after.sample(frac=1, random_state=0))
    told = _told("before.csv", "after.csv", "--paired", "unit", "--resamples", "99")
    assert told["differ"]
    assert told["pairs"]["changes"][0]["mean"] == pytest.approx(-0.2, abs=0.1)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["before.csv", "after.csv", "--paired", "unit", "--series"], "--series is about"),
        (["before.csv", "after.csv", "--paired", "unit", "--time", "pulse"], "--time is about"),
        (["before.csv", "after.csv", "--paired", "unit", "--difference"], "--difference is about"),
        (
            ["before.csv", "after.csv", "--paired", "unit", "--test", "me"],
            "--test me does not swap",
        ),
        (
            ["before.csv", "after.csv", "--paired", "unit", "--text", "unit"],
            "--paired is for tables",
        ),
        (["before.csv", "after.csv", "--paired", "unit", "-c", "unit"], "--paired and --columns"),
        (["before.csv", "after.csv", "--paired", "unit", "--exclude", "unit"], "and --exclude"),
        (["long.csv", "--by", "time", "--paired", "time"], "name two columns"),
        (["long.csv", "--paired", "unit"], "two files, or one"),
    ],
)
def test_wrong_use_says_what_to_give(visits, words, told):
    assert told in refused("two-sample", *words, code=2)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--paired", "id"], "no column 'id'"),
        (["--paired", "unit", "--exclude", "weight,pulse"], "no column to"),
    ],
)
def test_files_that_cannot_be_paired(visits, options, told):
    assert told in refused("two-sample", "before.csv", "after.csv", *options, code=3)


def test_pairs_need_samples_in_memory(visits):
    pytest.importorskip("pyarrow")
    for name in ("a", "b"):
        frame = pd.DataFrame(np.random.default_rng(0).normal(size=(300_000, 4)), columns=[*"uvwx"])
        frame.to_parquet(f"{name}.parquet", index=False)
    message = refused(
        "two-sample", "a.parquet", "b.parquet", "--paired", "rows", "--memory", "16MiB", code=4
    )
    assert "--paired" in message


def test_the_command_line_of_the_report_names_the_key():
    chosen = SampleOptions(by="time", paired="unit")
    line = chosen.command_line("two-sample", chosen.paths("x.csv", None))
    assert line == "mercer two-sample x.csv --by time --paired unit --seed 0"


def test_two_columns_of_one_file_are_pairs(visits):
    """A table with a row for each unit was refused, without a word on what to do with it."""
    before, after = visits
    both = before.merge(after, on="unit", suffixes=(" before", " after"))
    both.to_csv("wide.csv", index=False)
    told = _told("wide.csv", "--paired", "weight before, weight after")
    samples = (
        both[[f"weight {name}"]].set_axis(["values"], axis=1) for name in ("before", "after")
    )
    assert told["pvalue"] == PAIRED.test(*samples, rng=0).pvalue <= 0.01
    assert [file["name"] for file in told["files"]] == ["weight before", "weight after"]
    (change,) = told["pairs"]["changes"]
    difference = both["weight after"] - both["weight before"]
    assert change["mean"] == pytest.approx(difference.mean())
    both.loc[3, "weight after"] = np.nan
    both.to_csv("wide.csv", index=False)
    words = ("wide.csv", "--paired", "weight before,weight after")
    assert "weight after has missing values" in refused("two-sample", *words, code=3)
    text = run("two-sample", *words, "--missing", "drop", "--report", "out.html").stdout
    assert text.startswith("weight before and weight after differ")
    assert "59 pairs, each the values of one row" in text
    page = Path("out.html").read_text("utf-8")
    assert "--paired &#39;weight before,weight after&#39;" in page


@pytest.mark.parametrize(
    ("words", "told", "code"),
    [
        (
            ["--paired", "unit"],
            "if two columns of one file are to be compared as pairs, name both",
            2,
        ),
        (["--paired", "weight,mass"], "no column 'mass'", 3),
        (["--paired", "weight,unit"], "holds numbers in weight and labels in unit", 3),
        (["--paired", "weight,pulse", "--columns", "pulse"], "leave out --columns", 2),
    ],
)
def test_columns_that_are_no_pair_are_refused(visits, words, told, code):
    assert told in refused("two-sample", "before.csv", *words, code=code)
