"""`mercer independence` as a new user and a CI job see it."""

import json
import re
from functools import partial

import numpy as np
import pytest

from tests.support import cli_runs

pd = pytest.importorskip("pandas")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Columns of which some depend on each other: height causes weight and city; luck is luck."""
    rng = np.random.default_rng(0)
    height = rng.normal(size=150)
    frame = pd.DataFrame(
        {
            "height": height,
            "weight": height**2 + 0.4 * rng.normal(size=150),
            "city": np.where(height + 0.4 * rng.normal(size=150) > 0, "Rome", "Oslo"),
            "luck": rng.normal(size=150),
        }
    )
    frame.to_csv(tmp_path / "data.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return frame


run = partial(cli_runs.run, "independence")


@pytest.mark.usefixtures("folder")
class TestIndependence:
    def test_dependent_columns(self):
        told = run("data.csv", "--x", "height", "--y", "weight").stdout
        assert told.startswith("'height' and 'weight' depend on each other (p = 0.001")
        assert "explains" in told
        assert "kernel correlation" in " ".join(told.split())

    def test_independent_columns(self):
        told = run("data.csv", "--x", "luck", "--y", "weight,city").stdout
        assert told.startswith("No dependence was found between 'luck' and 'weight', 'city'")
        assert "This does not prove they are independent" in told

    def test_given_others(self):
        told = run("data.csv", "--x", "weight", "--y", "city", "--given", "height").stdout
        assert "given 'height'" in told.splitlines()[0]
        assert "KernelGCM" in told

    def test_every_two_columns(self):
        told = run("data.csv").stdout
        assert told.startswith("2 of 6 pairs of columns are dependent")
        document = json.loads(run("data.csv", "--json", "-").stdout)
        assert document["schema"] == "mercer/command/pairs/1"
        assert len(document["result"]["pairs"]) == 6

    def test_one_column_against_all_others(self, tmp_path):
        asked = ("data.csv", "--y", "height")
        told = run(*asked, "--report", "out.html").stdout
        assert told.startswith("2 of 3 columns depend on 'height' (level 0.05, p-values corrected")
        rows = [line.split()[0] for line in told.splitlines() if line.startswith("  ")]
        assert rows[0] == "column"
        assert {*rows[1:3]} == {"weight", "city"}
        assert rows[3] == "luck"  # by strength
        page = (tmp_path / "out.html").read_text()
        assert "2 of 3 columns of data.csv depend on height" in page
        assert "mercer independence data.csv --y height --level 0.05 --seed 0" in page
        assert '<figure id="matrix"' in page
        document = json.loads(run(*asked, "--json", "-").stdout)
        assert document["result"]["against"] == "height"
        assert [p["first"] for p in document["result"]["pairs"]] == ["weight", "city", "luck"]
        some = run("data.csv", "--x", "height", "--columns", "luck,city").stdout
        assert some.startswith("1 of 2 columns depends on 'height'")
        run(*asked, "--gate", code=1)
        run("data.csv", "--y", "luck", "--gate")

    def test_columns_of_arrays_have_the_names_of_other_options(self, tmp_path):
        x = np.random.default_rng(1).normal(size=(60, 3))
        x[:, 2] += 2 * x[:, 0]
        np.save(tmp_path / "data.npy", x)
        told = run("data.npy", "--y", "x3").stdout
        assert told.startswith("1 of 2 columns depends on 'x3'")
        assert "x1 and x3" in run("data.npy").stdout

    def test_json_is_the_same_for_the_same_seed(self):
        asked = ("data.csv", "--x", "height", "--y", "weight", "--json", "-", "--seed", "3")
        first, second = (json.loads(run(*asked).stdout) for _ in range(2))
        assert first.pop("elapsed_seconds") >= 0
        second.pop("elapsed_seconds")
        assert first == second
        assert first["schema"] == "mercer/command/independence/1"
        assert first["dependent"] is True

    def test_gate(self):
        asked = ("data.csv", "--x", "height", "--y", "weight", "--gate")
        run(*asked, code=1)
        run(*asked, "--min-effect", "0.99")
        run("data.csv", "--x", "height", "--y", "luck", "--gate")

    @pytest.mark.parametrize(
        "test", ["hsic", "hsicagg", "cross", "block", "fourier", "nystrom", "nfsic", "rdc"]
    )
    def test_every_test(self, test):
        done = run("data.csv", "--x", "height", "--y", "weight", "--test", test)
        assert "depend" in done.stdout

    @pytest.mark.parametrize("test", ["kci", "rcit", "rcot"])
    def test_every_conditional_test(self, test):
        asked = ("data.csv", "--x", "height", "--y", "weight", "--given", "luck", "--test", test)
        assert "depend on each other given 'luck'" in run(*asked).stdout

    def test_distance_covariance_takes_numbers(self):
        run("data.csv", "--x", "height", "--y", "weight", "--test", "dcov")
        done = run("data.csv", "--x", "height", "--y", "city", "--test", "dcov", code=3)
        assert "got labels in 'city'" in done.stderr

    def test_kernel_and_resamples(self):
        asked = ("data.csv", "--x", "height", "--y", "weight", "--kernel", "laplace")
        told = run(*asked, "--bandwidth", "0.5", "--resamples", "99").stdout
        assert "HSIC, 99 resamples" in told

    def test_report_of_all_pairs(self, tmp_path):
        run("data.csv", "--report", "pairs.html")
        page = (tmp_path / "pairs.html").read_text()
        assert re.search(r"\d+ of \d+ pairs of columns of data.csv are dependent", page)
        assert '<figure id="matrix"' in page
        assert "mercer independence data.csv --level 0.05 --seed 0" in page

    def test_report(self, tmp_path):
        asked = ("data.csv", "--x", "height", "--y", "weight,city", "--report", "out.html")
        run(*asked)
        page = (tmp_path / "out.html").read_text()
        assert "mercer independence data.csv --x height --y weight --y city" in page
        assert len(page) < 1_000_000

    @pytest.mark.parametrize(
        ("options", "code", "said"),
        [
            (("--y", "height", "--given", "luck"), 2, "give both --x and --y"),
            (("--y", "height", "--test", "hsic"), 2, "--y alone to test one column"),
            (("--y", "height,luck"), 2, "one column is tested against all others"),
            (("--y", "nope"), 3, "no column 'nope'; it has 'height'"),
            (("--y", "luck", "--columns", "luck"), 3, "only one column"),
            (("--x", "height", "--y", "height"), 2, "in more than one of"),
            (("--x", "height", "--y", "nope"), 3, "no column 'nope'"),
            (("--x", "height", "--y", "luck", "--test", "kci"), 2, "needs --given"),
            (
                ("--x", "height", "--y", "luck", "--given", "city", "--test", "hsic"),
                2,
                "does not take",
            ),
            (("--test", "hsic"), 2, "give both --x and --y"),
            (("--x", "height", "--y", "luck", "--test", "kci", "--kernel", "nope"), 2, "nope"),
        ],
    )
    def test_wrong_use_is_said_in_a_line(self, options, code, said):
        assert said in run("data.csv", *options, code=code).stderr


def test_notes_name_the_columns_and_the_number_beside_them(tmp_path):
    rng = np.random.default_rng(0)
    age = rng.normal(size=200)
    frame = pd.DataFrame({"age": age, "dose": age + rng.normal(size=200), "one": 1.0})
    frame["w"] = 2 * age + rng.normal(size=200)
    frame.to_csv(tmp_path / "d.csv", index=False)
    data = str(tmp_path / "d.csv")
    for test in ((), ("--test", "kci")):
        told = run(data, "--x", "dose", "--y", "w", "--given", "age", *test).stdout
        words = " ".join(told.split())
        assert re.search(r"z \(age\) explains \d+% of x \(dose\)", words), words
        assert re.search(r"explains \d+% of y \(w\)", words)
    words = " ".join(run(data, "--x", "dose", "--y", "w").stdout.split())
    assert "The kernel correlation uses the pair of kernels that rejected most clearly" in words
    assert "kernel distance" not in words
    for asked, remedy in (
        ((), "--exclude one"),
        (("--x", "dose", "--y", "one"), "name others with --y"),
        (("--x", "dose,one", "--y", "w"), "name others with --x"),  # beside a column that varies
        (("--x", "dose", "--y", "w", "--given", "one"), "name others with --given"),
    ):
        line = run(data, *asked, code=3).stderr
        assert "d.csv, column 'one': constant" in line
        assert remedy in line
