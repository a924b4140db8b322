"""--time: rows in the order of a column that is not compared, in files of every kind."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support.cli_runs import refused, run

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def wandering(rows, rng):
    values = np.zeros(rows)
    for i, step in enumerate(rng.normal(size=rows - 1)):
        values[i + 1] = 0.7 * values[i] + step
    return values


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two files of daily values in random order, in several formats."""
    rng = np.random.default_rng(0)
    for name in "ab":
        days = pd.date_range("2024-01-01", periods=80)
        frame = pd.DataFrame({"day": days, "v": wandering(80, rng), "w": wandering(80, rng)})
        mixed = frame.sample(frac=1, random_state=1)
        mixed.to_csv(tmp_path / f"{name}.csv", index=False)
        mixed.to_parquet(tmp_path / f"{name}.parquet", index=False)
        mixed.to_feather(tmp_path / f"{name}.feather")
        mixed.assign(day=mixed.day.dt.strftime("%d.%m.%Y")).to_csv(
            tmp_path / f"{name}_points.csv", index=False
        )
        frame.drop(columns="day").to_csv(tmp_path / f"{name}_sorted.csv", index=False)
        frame.assign(day=range(80)).to_csv(tmp_path / f"{name}_numbered.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def document(*arguments):
    return json.loads(run(*arguments, "--json", "-").stdout)


@pytest.mark.usefixtures("folder")
class TestTime:
    @pytest.mark.parametrize("kind", [".csv", ".parquet", ".feather", "_points.csv"])
    def test_all_formats_have_the_same_order(self, kind):
        command = ("two-sample", f"a{kind}", f"b{kind}", "--test", "mmd", "--resamples", "49")
        timed = document(*command, "--time", "day", "--no-series")
        assert [c["name"] for c in timed["columns"]] == ["v", "w"]
        assert any("in time" in c or "depend on those before" in c for c in timed["cautions"])
        assert not any("If rows are only sorted" in c for c in timed["cautions"])
        series = document(*command, "--time", "day", "--series")
        by_hand = document("two-sample", "a_sorted.csv", "b_sorted.csv", *command[3:], "--series")
        assert series["pvalue"] == by_hand["pvalue"]
        alone = document(*command, "--time", "day")
        assert alone["pvalue"] == by_hand["pvalue"]
        assert not any("takes rows for independent" in c for c in alone["cautions"])
        assert any("--no-series takes them for independent" in r for r in alone["remarks"])
        assert any("index of pandas" in r for r in timed["remarks"]) == (kind == ".feather")
        line = refused(*command, code=3)
        assert "dates" in line
        assert "--time" in line

    def test_drift_and_independence_take_it(self):
        command = ("drift", "a.csv", "b.csv", "--time", "day", "--resamples", "49")
        series, drift = document(*command), document(*command, "--no-series")
        assert series["batches"][0]["result"]["test"] == "MMD"  # not MMDAgg
        assert not any("takes rows for independent" in c for c in series["cautions"])
        assert [c["name"] for c in drift["batches"][0]["columns"]] == ["v", "w"]
        assert any("so its p-value is too small" in c for c in drift["cautions"])
        question = ("independence", "a.csv", "--x", "v", "--y", "w", "--time", "day")
        timed, alone = document(*question, "--series"), document(*question)
        assert alone["pvalue"] == timed["pvalue"]
        assert document(*question, "--no-series")["cautions"]
        by_hand = document("independence", "a_sorted.csv", *question[2:6], "--series")
        assert timed["pvalue"] == by_hand["pvalue"]
        pairs = document("independence", "a.csv", "--time", "day", "--resamples", "49")
        assert [c["name"] for c in pairs["columns"]] == ["v", "w"]

    def test_columns_of_series_are_tested_as_series(self, folder):
        """The terminal left the columns out, and the page said that 2 of 2 differ on their own."""
        command = ("two-sample", "a.csv", "b.csv", "--time", "day", "--series")
        features = document(*command)["features"]["features"]
        assert {f["name"] for f in features} == {"v", "w"}
        assert min(f["adjusted"] for f in features) > 0.05
        told = run(*command, "--report", "series.html").stdout
        assert "v " in told
        assert "on their own" not in (folder / "series.html").read_text()

    def test_pairs_of_series_are_tested_as_series(self, folder):
        """Columns that were independent together were dependent in pairs, whose rows were permuted."""
        rng = np.random.default_rng(0)
        series = {name: wandering(300, rng) for name in "uvw"}
        pd.DataFrame({"day": range(300), **series}).to_csv("three.csv", index=False)
        question = ("independence", "three.csv", "--x", "u,v", "--y", "w", "--time", "day")
        pairs = document(*question, "--report", "three.html")["pairs"]
        assert "WildBootstrap" in pairs["test"]
        assert min(pair["pvalue"] for pair in pairs["pairs"]) > 0.05
        assert "dependent</title>" not in (folder / "three.html").read_text()
        assert "Permutation" in document(*question, "--no-series")["pairs"]["test"]

    def test_rising_columns_give_a_hint(self):
        files = ("two-sample", "a_numbered.csv", "b_numbered.csv", "--resamples", "49")
        told = document(*files)
        (hint,) = (h for h in (*told["cautions"], *told["remarks"]) if "'day'" in h)  # not twice
        assert "column 'day' grows with every row" in hint
        assert (
            "leave it out with --exclude day; if it is the time of the rows, give it as --time day"
            in hint
        )
        timed = document(*files, "--time", "day")["remarks"]
        assert not any("increases" in r for r in timed)
        assert any("not compared" in r for r in timed)

    def test_lags_are_counted_in_the_order_of_time(self):
        """A file with its newest rows first turned cause and effect round."""
        lines = Path("a_numbered.csv").read_text().splitlines()
        Path("newest_first.csv").write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n")
        options = ("--lags", "1", "--resamples", "39", "--time", "day")
        told = [
            document("information", f, *options) for f in ("a_numbered.csv", "newest_first.csv")
        ]
        assert told[0]["pairs"] == told[1]["pairs"]
        untimed = document("information", "a_numbered.csv", *options[:-2], "--exclude", "day")
        assert any("--time sorts them" in remark for remark in untimed["remarks"])
        assert any("biased" in remark for remark in untimed["remarks"])
        dated = refused("information", "a.csv", code=3)
        assert (
            "--time if it orders the rows (two-sample, independence, drift and information)"
            in dated
        )

    def test_wrong_uses_are_refused(self):
        both = ("two-sample", "a.csv", "b.csv")
        assert "no column 'week'" in refused(*both, "--time", "week", code=3)
        assert "cannot be" in refused(*both, "--time", "day", "--columns", "day,v", code=2)
        with open("words.csv", "w") as file:
            file.write("day,v\n" + "".join(f"{w},{i}\n" for i, w in enumerate("abcdefgh")))
        assert "neither a date" in refused(
            "two-sample", "words.csv", "words.csv", "--time", "day", code=3
        )

    def test_the_report_repeats_the_command_and_numbers_no_rows(self, folder):
        run(
            "two-sample",
            "a.csv",
            "b.csv",
            "--time",
            "day",
            "--resamples",
            "49",
            "--report",
            "r.html",
        )
        page = (folder / "r.html").read_text()
        assert "--time day" in page


@pytest.fixture
def walks(tmp_path, monkeypatch):
    """Two files of independent random walks in two columns, by day."""
    rng = np.random.default_rng(3)
    for name in "ab":
        days = pd.date_range("2024-01-01", periods=120).astype(str)
        columns = {w: rng.normal(size=120).cumsum() for w in ("v", "w")}
        pd.DataFrame({"day": days, **columns}).to_csv(tmp_path / f"{name}.csv", index=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("walks")
class TestDifferences:
    def test_walks_are_refused_with_the_option_and_compared_with_it(self):
        files = ("two-sample", "a.csv", "b.csv", "--time", "day")
        assert "--difference" in refused(*files, code=3)
        told = run(*files, "--difference").stdout
        assert told.startswith("No difference was found between a.csv and b.csv (in their changes")
        assert "119 and 119 rows" in told
        assert "the verdict is on these, not on the levels" in " ".join(told.split())

    def test_drift_and_independence_take_it(self):
        told = run("drift", "a.csv", "b.csv", "--time", "day", "--difference", "--resamples", "99")
        assert "0 of 1 batch differs from a.csv in their changes from row to row" in told.stdout
        question = ("independence", "a.csv", "--x", "v", "--y", "w", "--time", "day")
        assert "--difference" in refused(*question, code=3)
        told = run(*question, "--difference").stdout
        assert told.startswith("No dependence was found between 'v' and 'w' in their changes")
        pairs = document("independence", "a.csv", "--exclude", "day", "--difference")
        assert pairs["result"]["size"] == 119
        dates = refused("independence", "a.csv", "--categories", "day", "--difference", code=3)
        assert "--difference needs columns of numbers, got labels in 'day'" in dates

    def test_python_takes_the_same_differences(self):
        import mercer

        frames = [pd.read_csv(f"{name}.csv") for name in "ab"]
        result = mercer.two_sample(*frames, time="day", difference=True, rng=0)
        steps = [np.diff(f[["v", "w"]], axis=0) for f in frames]
        assert result.sizes == (119, 119)
        assert result.pvalue == mercer.two_sample(*map(pd.DataFrame, steps), rng=0).pvalue
        assert "not on the levels" in str(result)
        v, w = (frames[0][["day", c]] for c in "vw")
        pair = mercer.independence(v, w, time="day", difference=True, rng=0)
        assert pair.pvalue == mercer.independence(steps[0][:, 0], steps[0][:, 1], rng=0).pvalue
        with pytest.raises(ValueError, match="has categories in 'day'"):
            mercer.two_sample(*frames, difference=True)
