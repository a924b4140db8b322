"""`mercer drift`, `mercer power` and `mercer demo` as a new user sees them."""

import json
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from mercer.cli.exits import one_line
from tests.support.cli_runs import refused, run

pd = pytest.importorskip("pandas")


def test_drift_corrects_for_the_number_of_batches(folder):
    told = json.loads(run("drift", "a.csv", "b.csv", "c.csv", "--json", "-").stdout)
    assert told["drifted"] == ["b.csv"]
    assert not {"differ", "pvalue", "level"} & {
        *told["batches"][0]
    }  # one verdict, after the correction
    raw = [batch["uncorrected_pvalue"] for batch in told["batches"]]
    corrected = [batch["corrected_pvalue"] for batch in told["batches"]]
    np.testing.assert_allclose(corrected, [2 * raw[0], raw[1]])
    words = run("drift", "a.csv", "b.csv", "c.csv").stdout
    assert words.startswith("1 of 2 batches differs from a.csv (false-discovery rate 0.05).")
    assert re.search(r"b\.csv +80 .* yes +height\n", words)
    assert re.search(r"c\.csv +70 .* no\n", words)


def test_drift_keeps_the_false_discovery_rate(tmp_path, monkeypatch):
    """Of 40 batches like the reference and 10 unlike it, few alarms are false."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    np.save("ref.npy", rng.normal(size=(80, 1)))
    names = []
    for i in range(30):
        np.save(f"{i}.npy", rng.normal(1.0 if i < 8 else 0.0, 1.0, size=(40, 1)))
        names.append(f"{i}.npy")
    command = ["drift", "ref.npy", *names, "--test", "mmd", "--json", "-"]
    alarms = [int(name.split(".")[0]) for name in json.loads(run(*command).stdout)["drifted"]]
    assert set(range(8)) <= set(alarms)
    assert sum(alarm >= 8 for alarm in alarms) <= 2


def test_power_answers_and_draws(folder):
    done = run("power", "a.csv", "b.csv", "--plot", "curve.png")
    assert re.search(
        r"with probability 80%, about [\d,]+ rows of each are needed", one_line(done.stdout)
    )
    assert "█" in done.stdout
    assert Path("curve.png").read_bytes().startswith(b"\x89PNG")
    assert "Plot written to curve.png" in done.stderr
    assert (
        "name of a plot must end"
        in run("power", "a.csv", "b.csv", "--plot", "x.doc", code=2).stderr
    )


def test_reports_name_the_files(folder):
    run("drift", "a.csv", "b.csv", "c.csv", "--report", "drift.html")
    page = Path("drift.html").read_text("utf-8")
    assert "1 of 2 batches differs from a.csv" in page
    assert "mercer drift a.csv b.csv c.csv --level 0.05 --seed 0" in page
    run("power", "a.csv", "b.csv", "--report", "power.html")
    page = Path("power.html").read_text("utf-8")
    assert "a difference like that between a.csv and b.csv" in page
    assert "mercer power a.csv b.csv --level 0.05 --target 0.8 --seed 0" in page


def test_power_wants_sense(folder):
    assert "must be above" in refused("power", "a.csv", "b.csv", "--target", "0.01", code=2)
    assert "whole numbers" in refused("power", "a.csv", "b.csv", "--sizes", "many", code=2)
    assert "at least 2" in refused("power", "a.csv", "b.csv", "--sizes", "1", code=2)
    assert "do not differ" in refused("power", "a.csv", "a.csv", code=3)


def test_large_files_are_thinned_for_what_looks_at_all_pairs(folder, monkeypatch):
    monkeypatch.setattr(import_module("mercer.cli.two_sample"), "MAX_ROWS_FOR_ALL_PAIRS", 50)
    full = json.loads(run("two-sample", "a.csv", "b.csv", "--json", "-").stdout)
    assert full["files"][0]["rows"] == 90
    assert full["result"]["sizes"] == [90, 80]
    assert "the effect size uses 50 and 50 rows; the test used all" in full["remarks"]


def test_many_columns_are_not_ranked(folder, monkeypatch):
    monkeypatch.setattr("mercer.report.affordable.FLOATS_PER_RANKED_VALUE", 10**9)
    told = run("two-sample", "a.csv", "b.csv", "--report", "out.html")
    assert "too many columns to rank" in one_line(told.stdout)
    assert "Which columns differ?" not in Path("out.html").read_text("utf-8")


def test_drift_with_tests_that_do_not_resample(folder):
    batches = ["c.csv"] * 30
    for name in ("linear", "hotelling", "cross"):
        run("drift", "a.csv", *batches, "--test", name, "--columns", "height,weight")


def test_demo_runs_the_main_job(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("demo", "--copy", ".")
    assert "orders_march.csv and orders_april.csv differ" in done.stdout
    assert "hours_to_delivery" in done.stdout
    again = run("two-sample", "orders_march.csv", "orders_april.csv")
    assert again.stdout in done.stdout


def test_demo_data_are_what_they_claim():
    from scipy.stats import chi2_contingency, ttest_ind

    from mercer.datasets.demo import demo_files, demo_tables

    files = demo_files()
    assert {file.name: file.read_text() for file in files} == demo_tables()
    march, april = (pd.read_csv(file) for file in files)
    for column in march.columns:
        a, b = march[column].to_numpy(), april[column].to_numpy()
        if column in ("region", "payment"):
            levels = sorted(set(a) | set(b))
            table = [[np.sum(side == level) for level in levels] for side in (a, b)]
            assert chi2_contingency(table).pvalue > 0.25
        else:
            assert ttest_ind(a, b).pvalue > 0.25
            assert abs(np.log(a.std() / b.std())) < 0.1
