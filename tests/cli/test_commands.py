"""`mercer two-sample` as a new user and a CI job see it: words, JSON, options."""

import inspect
import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.models import OptionInfo

import mercer
from mercer.cli.test_names import KernelName, TestName
from tests.support.cli_runs import refused, run

pd = pytest.importorskip("pandas")


# ---- what is told -----------------------------------------------------------------------------


def test_a_difference_is_told_in_plain_words(folder):
    done = run("two-sample", "a.csv", "b.csv")
    assert re.match(r"a\.csv and b\.csv differ \(p = 0\.\d+, level 0\.05\)\.\n", done.stdout)
    assert "90 and 80 rows, 3 columns (2 numeric, 1 categorical)" in done.stdout
    assert "1 of 3 columns differs on its own: height" in done.stdout
    assert done.stderr == ""


def test_no_difference_is_no_proof(folder):
    done = run("two-sample", "a.csv", "c.csv")
    assert done.stdout.startswith("No difference was found between a.csv and c.csv (p = ")
    assert "This does not prove they are the same" in done.stdout


def test_folders_are_told_where_names_are_not_enough(folder, tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old/a.csv").write_text(Path("b.csv").read_text())
    assert run("two-sample", "a.csv", "old/a.csv").stdout.startswith("a.csv and old/a.csv differ")


def test_the_command_is_the_function(folder):
    told = json.loads(run("two-sample", "a.csv", "b.csv", "--json", "-").stdout)
    result = mercer.two_sample(folder["a"], folder["b"], rng=0)
    assert told["pvalue"] == result.pvalue
    np.testing.assert_allclose(told["result"]["statistic"], result.statistic, rtol=1e-12)
    np.testing.assert_allclose(told["effect"], result.effect().auc, rtol=1e-9)
    features = result.features(rng=0)
    assert [f["name"] for f in told["features"]["features"]] == [f.name for f in features]
    assert [f["adjusted"] for f in told["features"]["features"]] == [f.adjusted for f in features]


def test_arrays_are_compared_as_arrays(folder):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(60, 3)), rng.normal(0.8, 1.0, size=(50, 3))
    np.save("x.npy", x)
    np.save("y.npy", y)
    told = json.loads(run("two-sample", "x.npy", "y.npy", "--test", "mmd", "--json", "-").stdout)
    result = mercer.htest.MMD().test(x, y, rng=0)
    assert told["pvalue"] == result.pvalue
    np.testing.assert_allclose(told["result"]["statistic"], result.statistic, rtol=1e-12)
    assert {f["name"] for f in told["features"]["features"]} == {"x1", "x2", "x3"}


def test_the_order_of_columns_does_not_matter(folder):
    before = json.loads(run("two-sample", "a.csv", "b.csv", "--json", "-").stdout)
    folder["b"][["city", "weight", "height"]].to_csv("b.csv", index=False)
    after = json.loads(run("two-sample", "a.csv", "b.csv", "--json", "-").stdout)
    assert after["pvalue"] == before["pvalue"]
    assert after["features"] == before["features"]


# ---- JSON -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        ["two-sample", "a.csv", "b.csv"],
        ["drift", "a.csv", "b.csv", "c.csv"],
        ["power", "a.csv", "b.csv"],
        ["power", "a.csv", "b.csv", "--runs", "10", "--sizes", "20,40"],
    ],
)
def test_json_is_the_same_but_for_the_time(folder, command):
    texts = [run(*command, "--json", "-").stdout, run(*command, "--json", "out.json").stdout]
    assert texts[1][0] != "{"  # words
    texts[1] = Path("out.json").read_text()
    first, second = (re.sub(r'"elapsed_seconds": [\d.]+', "", text) for text in texts)
    assert first == second
    document = json.loads(texts[0], parse_constant=pytest.fail)
    version = 2 if command[0] == "drift" else 1
    assert document["schema"] == f"mercer/command/{command[0]}/{version}"
    assert document["elapsed_seconds"] > 0


def test_json_has_no_infinities(folder):
    Path("x.csv").write_text("a,b\n" + "0,1\n" * 20)
    Path("y.csv").write_text("a,b\n" + "1,1\n" * 20)
    done = run("two-sample", "x.csv", "y.csv", "--json", "-", "--test", "mmd")
    document = json.loads(done.stdout, parse_constant=pytest.fail)
    assert document["differ"]
    assert document["effect"] == 1.0
    assert document["result"]["effect"]["standardized"] is None


def test_another_seed_gives_other_resamples(folder):
    first, second = (
        json.loads(
            run(
                "two-sample", "a.csv", "c.csv", "--test", "mmd", "--json", "-", "--seed", seed
            ).stdout
        )
        for seed in ("0", "1")
    )
    assert first["result"]["statistic"] == second["result"]["statistic"]
    assert first["pvalue"] != second["pvalue"]


# ---- options ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(TestName))
def test_every_test_can_be_asked_for(folder, name):
    done = run("two-sample", "a.csv", "b.csv", "--test", name, "-c", "height", "--json", "-")
    document = json.loads(done.stdout)
    assert document["differ"] or name is TestName.LINEAR  # which needs many more rows
    if name is not TestName.AUTO:
        expected = {"linear": "LinearMMD", "block": "BlockMMD", "cross": "CrossMMD"}
        assert document["result"]["test"].lower() == expected.get(name, name).lower()


@pytest.mark.parametrize("name", list(KernelName))
def test_every_kernel_can_be_asked_for(folder, name):
    document = json.loads(
        run("two-sample", "a.csv", "b.csv", "--kernel", name, "--json", "-").stdout
    )
    assert document["differ"]
    assert document["result"]["test"] == "MMD"
    written = {"imq": "inversemultiquadric"}.get(name, name.replace("-", ""))
    assert written in document["result"]["kernel"].lower()
    assert "Delta" in document["result"]["kernel"]  # of the city


def test_a_bandwidth_is_in_standard_deviations(folder):
    options = ("--bandwidth", "0.7", "--columns", "height", "--columns", "weight")
    told = json.loads(run("two-sample", "a.csv", "b.csv", *options, "--json", "-").stdout)
    both = pd.concat([folder["a"], folder["b"]])[["height", "weight"]]
    scaled = [(folder[k][["height", "weight"]] / both.std(ddof=0)).to_numpy() for k in "ab"]
    statistic = mercer.htest.MMD(mercer.kernels.RBF(0.7)).statistic(*scaled)
    np.testing.assert_allclose(told["result"]["statistic"], statistic, rtol=1e-9)


def test_energy_distances_mix_no_units(folder):
    options = ("--test", "energy", "-c", "height", "-c", "weight", "--json", "-")
    plain = json.loads(run("two-sample", "a.csv", "b.csv", *options).stdout)["result"]
    for name in "ab":
        folder[name].assign(weight=1000 * folder[name]["weight"]).to_csv(f"{name}.csv", index=False)
    grams = json.loads(run("two-sample", "a.csv", "b.csv", *options).stdout)["result"]
    np.testing.assert_allclose(grams["statistic"], plain["statistic"], rtol=1e-9)
    assert any("divided by their standard deviations" in note for note in plain["notes"])


def test_numbers_can_be_labels(folder):
    for name in "ab":
        folder[name]["code"] = np.arange(len(folder[name])) % 4
        folder[name].to_csv(f"{name}.csv", index=False)
    told = json.loads(
        run("two-sample", "a.csv", "b.csv", "--categories", "code", "--json", "-").stdout
    )
    assert told["columns"][-1] == {"name": "code", "kind": "categories"}


def test_resamples_are_as_many_as_asked_for(folder):
    told = json.loads(
        run("two-sample", "a.csv", "b.csv", "--resamples", "123", "--json", "-").stdout
    )
    assert told["pvalue"] >= 1 / 124
    command = ["two-sample", "a.csv", "b.csv", "--test", "mmd", "--resamples", "123", "--json", "-"]
    assert json.loads(run(*command).stdout)["result"]["resamples"] == 123


def test_missing_values_need_a_choice(folder):
    folder["b"].loc[3, "height"] = np.nan
    folder["b"].loc[4, "city"] = None
    folder["b"].to_csv("b.csv", index=False)
    line = refused("two-sample", "a.csv", "b.csv", code=3)
    assert "b.csv has missing values (height: 1, city: 1)" in line
    assert "--missing drop" in line
    assert "--missing impute" in line
    dropped = run("two-sample", "a.csv", "b.csv", "--missing", "drop")
    assert "90 and 78 rows" in dropped.stdout
    assert "Note: b.csv: 2 rows with missing values were left out" in dropped.stdout
    filled = run("two-sample", "a.csv", "b.csv", "--missing", "impute")
    assert "90 and 80 rows" in filled.stdout
    assert "Note: b.csv: 2 missing values were filled in" in filled.stdout


def test_options_with_a_metavar_name_themselves():
    """typer 0.27 takes the metavar as the name of an option that has none."""
    unnamed = [
        f"{command.callback.__name__}: {name}"
        for command in mercer.cli.app.registered_commands
        for name, parameter in inspect.signature(command.callback).parameters.items()
        for option in getattr(parameter.annotation, "__metadata__", ())
        if isinstance(option, OptionInfo) and option.metavar and option.default is ...
    ]
    assert unnamed == []
