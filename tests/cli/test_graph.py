"""`mercer graph` as a new user and a CI job see it."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from mercer.causal import PC
from mercer.htest import PartialCorrelation
from tests.support import cli_runs

pd = pytest.importorskip("pandas")
run = partial(cli_runs.run, "graph")
LINEAR = ("--test", "partial")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Rain and the sprinkler make the lawn wet, which makes shoes wet; luck has nothing to do with it."""
    rng = np.random.default_rng(0)
    rain, sprinkler, luck = rng.normal(size=(3, 300))
    wet = rain + sprinkler + 0.5 * rng.normal(size=300)
    shoes = wet + 0.5 * rng.normal(size=300)
    frame = pd.DataFrame(
        {"rain": rain, "sprinkler": sprinkler, "wet": wet, "shoes": shoes, "luck": luck}
    )
    frame.to_csv(tmp_path / "lawn.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return frame


def test_edges_are_those_of_the_library(folder):
    document = json.loads(run("lawn.csv", *LINEAR, "--json", "-", "--report", "lawn.html").stdout)
    assert document["schema"] == "mercer/command/graph/1"
    expected = PC(PartialCorrelation()).fit(folder)
    edges = [(e["first"], e["second"], e["directed"]) for e in document["result"]["edges"]]
    assert edges == [(e.first, e.second, e.directed) for e in expected]
    assert {("rain", "wet", True), ("sprinkler", "wet", True), ("wet", "shoes", True)} == {*edges}
    pvalues = [e["pvalue"] for e in document["result"]["edges"]]
    assert pvalues == pytest.approx([e.pvalue for e in expected], rel=1e-6)
    page = Path("lawn.html").read_text(encoding="utf-8")
    assert "3 edges between the 5 columns of lawn" in page
    assert "<svg" in page
    assert "mercer graph lawn.csv --test partial --level 0.01" in page


def test_text_and_gate():
    told = run("lawn.csv", *LINEAR, "--half-samples", "4", "--gate", code=1).stdout
    assert told.startswith("3 edges between 5 columns, 3 of them directed (level 0.01")
    assert "rain -> wet" in told
    assert "100%" in told
    assert "no common cause is hidden" in told
    nothing = run("lawn.csv", *LINEAR, "-c", "rain,luck", "--gate", "--report", "no.html").stdout
    assert nothing.startswith("0 edges between 2 columns")
    assert "<svg" not in Path("no.html").read_text(encoding="utf-8")


def test_kernel_test_finds_what_correlations_miss():
    rng = np.random.default_rng(1)
    x = rng.permutation(np.linspace(-2.0, 2.0, 100))  # no correlation with its square
    pd.DataFrame({"x": x, "y": x**2 + 0.3 * rng.normal(size=100)}).to_csv("square.csv", index=False)
    assert run("square.csv").stdout.startswith("1 edge between 2 columns, 0 of them directed")
    assert run("square.csv", *LINEAR).stdout.startswith("0 edges")


def test_wrong_use_and_refusals(folder):
    assert "choose a --test" in run("lawn.csv", "--kernel", "rbf", code=2).stderr
    assert "only one column" in run("lawn.csv", "-c", "rain", code=3).stderr
    folder.assign(one=1.0).to_csv("constant.csv", index=False)
    assert "'one'" in run("constant.csv", *LINEAR, code=3).stderr
    folder[:10].to_csv("short.csv", index=False)
    run("short.csv", *LINEAR, code=3)


def test_rows_in_time_carry_a_caution():
    walks = np.cumsum(np.random.default_rng(2).normal(size=(200, 2)), axis=0)
    pd.DataFrame(walks, columns=["a", "b"]).to_csv("walks.csv", index=False)
    assert "Caution: the rows of" in run("walks.csv", *LINEAR).stdout
