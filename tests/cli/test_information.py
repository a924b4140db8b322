"""`mercer information` as a new user and a CI job see it."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from mercer.info import mutual_information
from tests.support import cli_runs

pd = pytest.importorskip("pandas")
run = partial(cli_runs.run, "information")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Height tells of weight and city, luck of nothing; `late` is height one row later."""
    rng = np.random.default_rng(0)
    height = rng.normal(size=160)
    frame = pd.DataFrame(
        {
            "height": height,
            "weight": height**2 + 0.4 * rng.normal(size=160),
            "city": np.where(height + 0.4 * rng.normal(size=160) > 0, "Rome", "Oslo"),
            "luck": rng.normal(size=160),
        }
    )
    frame.to_csv(tmp_path / "data.csv", index=False)
    late = np.concatenate([[0.0], height[:-1]]) + 0.3 * rng.normal(size=160)
    pd.DataFrame({"early": height, "late": late}).to_csv(tmp_path / "series.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return frame


def test_every_pair_with_intervals_and_pvalues(folder):
    document = json.loads(run("data.csv", "--json", "-", "--report", "all.html").stdout)
    page = Path("all.html").read_text(encoding="utf-8")
    assert "2 of 6 pairs share information" in page
    assert "Matrix of the mutual information of columns. Largest values: height and weight" in page
    assert "mercer information data.csv" in page
    assert len(page) < 1_000_000
    assert document["schema"] == "mercer/command/information/1"
    pairs = {(p["first"], p["second"]): p for p in document["pairs"]}
    assert len(pairs) == 6
    found = pairs["height", "weight"]
    expected = mutual_information(folder["height"], folder["weight"])
    assert found["nats"] == pytest.approx(expected)
    assert found["low"] < expected < found["high"]
    assert found["corrected"] >= found["pvalue"]
    assert sum(p["corrected"] <= 0.05 for p in pairs.values()) == 2


def test_one_question_and_the_gate():
    told = run(
        *("data.csv", "--x", "weight", "--y", "city", "--given", "height", "--report", "none.html")
    ).stdout
    page = Path("none.html").read_text(encoding="utf-8")
    assert "No corrected p-value is at most 0.05" in page
    assert told.startswith("Mutual information given 'height': 0 of 1 pair shares")
    run("data.csv", "--x", "height", "--y", "weight", "--gate", code=1)
    run("data.csv", "--x", "luck", "--y", "weight", "--gate", "--resamples", "39")
    one = run(
        "data.csv", "--x", "height", "--y", "city", "--resamples", "39", "--report", "one.html"
    ).stdout
    assert "<svg" not in Path("one.html").read_text(encoding="utf-8")  # a matrix needs two pairs
    assert one.startswith("Mutual information: 1 of 1 pair shares information (level 0.05)")
    assert "95% interval" in one


def test_transfer_entropy_has_a_direction():
    document = json.loads(run("series.csv", "--lags", "1", "--json", "-").stdout)
    pairs = {(p["first"], p["second"]): p for p in document["pairs"]}
    assert document["measure"] == "transfer entropy"
    assert pairs["early", "late"]["corrected"] <= 0.05 < pairs["late", "early"]["corrected"]
    told = " ".join(
        run("series.csv", "--lags", "1").stdout.split()
    )  # lines are as wide as the terminal
    assert (
        "in 1 of 2 ordered pairs earlier values of the first column tell about the second" in told
    )
    assert "early -> late" in told
    assert "no intervals: they need 300 rows or more with --lags 1" in told


def test_wrong_use():
    assert "give both --x and --y" in run("data.csv", "--x", "height", code=2).stderr
    asked = ("data.csv", "--x", "height", "--y", "luck", "--given", "weight", "--lags", "1")
    assert "--given does not go with --lags" in run(*asked, code=2).stderr
    assert "which has no kernel" in run("data.csv", "--kernel", "rbf", code=2).stderr


def test_one_of_many_pairs_is_found_and_too_few_resamples_are_named():
    """The smallest p-value of 199 resamples, corrected for 28 pairs, is 0.14."""
    x = np.random.default_rng(0).normal(size=(30, 8))
    x[:, 1] = x[:, 0]
    pd.DataFrame(x, columns=[*"abcdefgh"]).to_csv("wide.csv", index=False)
    assert "1 of 28 pairs shares information" in run("wide.csv").stdout
    told = " ".join(run("wide.csv").stdout.split())  # 2 * 28 / 0.05 - 1 resamples
    assert "no resample reached the information of 1 pair: 0.025 is the smallest" in told
    assert "1,119 resamples, the number that --level and the number of pairs ask for" in told
    first = run("wide.csv", "--resamples", "99").stdout
    assert first.startswith("Caution: with 99 resamples no corrected p-value of 28 pairs")
    assert "Use --resamples 559 or more." in " ".join(first.split())
    assert "of 3 pairs" in run("wide.csv", "--columns", "a,b,c").stdout
    assert "--columns is for all pairs" in run(
        "wide.csv", "--columns", "a,b", "--x", "a", "--y", "b", code=2
    ).stderr  # fmt: skip


def test_independent_columns_have_intervals_from_zero(folder):
    document = json.loads(run("data.csv", "--columns", "weight,luck", "--json", "-").stdout)
    (pair,) = document["pairs"]
    assert pair["pvalue"] > 0.025
    assert pair["low"] == 0 < pair["high"]


def test_a_constant_column_is_named_with_the_option_that_leaves_it_out(folder):
    folder.assign(**{"my unit": "kg"}).to_csv("unit.csv", index=False)
    refused = run("unit.csv", code=3).stderr
    assert "column 'my unit': constant" in refused
    assert "--exclude 'my unit'" in refused
    run("unit.csv", "--exclude", "my unit")


def test_rows_in_time_are_cautioned_of():
    """Three independent autoregressions shared information, 3 of 3 pairs, without a word about their rows."""
    steps, x = np.random.default_rng(0).normal(size=(300, 3)), np.zeros((300, 3))
    for t in range(1, 300):
        x[t] = 0.9 * x[t - 1] + steps[t]
    pd.DataFrame(x, columns=list("uvw")).to_csv("slow.csv", index=False)
    told = " ".join(run("slow.csv").stdout.split())
    assert "Caution: the rows of u, v and w depend on those before them" in told
    assert "test them by mercer independence with --series" in told
    assert "Caution" not in run("data.csv").stdout
    lagged = run("slow.csv", "--lags", "1", "--columns", "u,v").stdout
    assert "takes rows for independent" not in lagged
