"""The command as a new user and a CI job see it: words, JSON, exit codes, files."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import mercer
from mercer.cli.exits import one_line
from mercer.cli.options import KernelName, TestName

pd = pytest.importorskip("pandas")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two samples that differ in one column, and a third like the first."""
    rng = np.random.default_rng(0)
    frames = {}
    for name, shift, n in (("a", 0.0, 90), ("b", 1.2, 80), ("c", 0.0, 70)):
        frames[name] = pd.DataFrame(
            {
                "height": rng.normal(shift, 1.0, n),
                "weight": rng.normal(0.0, 5.0, n),
                "city": rng.choice(["Rome", "Oslo", "Lima"], n),
            }
        )
        frames[name].to_csv(tmp_path / f"{name}.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return frames


def run(*arguments: str, code: int = 0, **more):
    done = CliRunner().invoke(mercer.cli.app, list(arguments), **more)
    assert done.exit_code == code, (done.stdout, done.stderr, done.exception)
    assert "Traceback" not in done.stderr
    return done


def refused(*arguments: str, code: int) -> str:
    """The one line on stderr."""
    done = run(*arguments, code=code)
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("mercer: ")
    return lines[0]


# ---- what is told -----------------------------------------------------------------------------


def test_a_difference_is_told_in_plain_words(folder):
    done = run("two-sample", "a.csv", "b.csv")
    assert re.match(r"a\.csv and b\.csv differ \(p = 0\.\d+, level 0\.05\)\.\n", done.stdout)
    assert "90 and 80 rows, 3 columns (2 of numbers, 1 of labels)" in done.stdout
    assert "1 of 3 columns by itself: height" in done.stdout
    assert done.stderr == ""


def test_no_difference_is_no_proof(folder):
    done = run("two-sample", "a.csv", "c.csv")
    assert done.stdout.startswith("No difference was found between a.csv and c.csv (p = ")
    assert "That does not show that they are the same" in done.stdout


def test_folders_are_told_where_names_are_not_enough(folder, tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old/a.csv").write_text(Path("b.csv").read_text())
    assert run("two-sample", "a.csv", "old/a.csv").stdout.startswith("a.csv and old/a.csv differ")


def test_the_command_is_the_function(folder):
    told = json.loads(run("two-sample", "a.csv", "b.csv", "--json", "-").stdout)
    result = mercer.two_sample(folder["a"], folder["b"], rng=0)
    assert told["pvalue"] == result.pvalue
    np.testing.assert_allclose(told["result"]["statistic"], result.statistic, rtol=1e-12)
    np.testing.assert_allclose(told["distance"], result.effect().standardized, rtol=1e-9)
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
    assert document["schema"] == f"mercer/command/{command[0]}/1"
    assert document["elapsed_seconds"] > 0


def test_json_has_no_infinities(folder):
    Path("x.csv").write_text("a,b\n" + "0,1\n" * 20)
    Path("y.csv").write_text("a,b\n" + "1,1\n" * 20)
    done = run("two-sample", "x.csv", "y.csv", "--json", "-", "--test", "mmd")
    document = json.loads(done.stdout, parse_constant=pytest.fail)
    assert document["differ"]
    assert document["distance"] is None


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


# ---- exit codes -------------------------------------------------------------------------------


def test_the_gate(folder):
    run("two-sample", "a.csv", "b.csv", "--gate", code=1)
    run("two-sample", "a.csv", "c.csv", "--gate", code=0)
    distance = json.loads(run("two-sample", "a.csv", "b.csv", "--json", "-").stdout)["distance"]
    run("two-sample", "a.csv", "b.csv", "--gate", "--min-effect", str(0.9 * distance), code=1)
    run("two-sample", "a.csv", "b.csv", "--gate", "--min-effect", str(1.1 * distance), code=0)
    run("drift", "a.csv", "c.csv", "b.csv", "--gate", code=1)
    run("drift", "a.csv", "c.csv", "--gate", code=0)


@pytest.mark.parametrize(
    "arguments",
    [
        ["a.csv"],
        ["a.csv", "b.csv", "--level", "0"],
        ["a.csv", "b.csv", "--level", "1.5"],
        ["a.csv", "b.csv", "--bandwidth", "-1"],
        ["a.csv", "b.csv", "--resamples", "0"],
        ["a.csv", "b.csv", "--seed", "-1"],
        ["a.csv", "b.csv", "--test", "t-test"],
        ["a.csv", "b.csv", "--memory", "a lot"],
        ["a.csv", "b.csv", "--memory", "1KiB"],
        ["a.csv", "b.csv", "--missing", "ignore"],
        ["a.csv", "b.csv", "--nonsense"],
    ],
)
def test_wrong_use_is_2(folder, arguments):
    done = run("two-sample", *arguments, code=2)
    assert done.stdout == ""
    assert done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["-", "-"], "only one of the files can be -"),
        (["a.csv", "b.csv", "--min-effect", "0.1"], "give --gate too"),
        (["a.csv", "b.csv", "--json", "nowhere/out.json"], "cannot be written"),
        (["a.csv", "b.csv", "--report", "nowhere/out.html"], "cannot be written"),
        (["a.csv", "b.csv", "--report", "."], "cannot be written"),
        (["a.csv", "b.csv", "--test", "hotelling", "--bandwidth", "1"], "has no kernel"),
        (["a.csv", "b.csv", "--columns", ","], "need names of columns"),
        (["a.csv", "b.csv", "--test", "energy"], "takes numbers only, and labels are in 'city'"),
        (["a.csv", "b.csv", "--test", "scf"], "takes numbers only, and labels are in 'city'"),
    ],
)
def test_wrong_use_is_told_in_one_line(folder, arguments, told):
    assert told in refused("two-sample", *arguments, code=2)


@pytest.mark.parametrize("command", ["two-sample", "drift", "power"])
def test_bad_data_is_3(folder, command):
    Path("bad.csv").write_bytes(b"\x7fELF\x00\x01\x02")
    assert "bad.csv: this is a binary file" in refused(command, "a.csv", "bad.csv", code=3)
    assert "nowhere.csv: no such file" in refused(command, "a.csv", "nowhere.csv", code=3)
    Path("bad.csv").write_text("height,weight,city\n1,2,Rome\n3,4\n")
    assert "bad.csv, row 2 (line 3)" in refused(command, "a.csv", "bad.csv", code=3)
    Path("bad.csv").write_text("height,weight,town\n1,2,Rome\n3,4,Oslo\n")
    assert "the columns differ" in refused(command, "a.csv", "bad.csv", code=3)


def test_constant_data_is_3(folder):
    Path("k.csv").write_text("u,v\n1,x\n1,x\n1,x\n")
    assert "nothing to compare" in refused("two-sample", "k.csv", "k.csv", code=3)


def test_huge_numbers_are_3_not_5(folder):
    Path("h.csv").write_text("u\n1e200\n-1e200\n1e300\n")
    refused("two-sample", "h.csv", "h.csv", code=3)


def test_over_the_memory_limit_is_4(folder):
    np.save("big.npy", np.zeros((1_000_000, 3)))
    line = refused("two-sample", "big.npy", "big.npy", "--memory", "16MiB", code=4)
    assert "needs at least 22.9 MiB" in line
    assert "699,050 rows fit" in line


def test_a_bug_is_5(folder, monkeypatch):
    def broken(*_):
        raise RuntimeError("the sky is falling")

    monkeypatch.setattr(import_module("mercer.cli.two_sample"), "found", broken)
    done = CliRunner().invoke(mercer.cli.app, ["two-sample", "a.csv", "b.csv"])
    assert done.exit_code == 5
    assert "this is a bug in mercer" in done.stderr
    assert "the sky is falling" in done.stderr
    assert done.stdout == ""


def test_numpys_complaints_are_bugs(folder, monkeypatch):
    monkeypatch.setattr(
        import_module("mercer.cli.two_sample"), "found", lambda *_: np.zeros(3) @ np.zeros(4)
    )
    done = CliRunner().invoke(mercer.cli.app, ["two-sample", "a.csv", "b.csv"])
    assert done.exit_code == 5


def test_an_interrupt_is_130(folder, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module("mercer.cli.two_sample"), "found", interrupted)
    assert "interrupted" in refused("two-sample", "a.csv", "b.csv", code=130)


# ---- as a process -----------------------------------------------------------------------------


def start(*arguments: str, **more) -> subprocess.Popen:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **more}
    if os.name == "posix":  # a shell's background jobs, and what they start, ignore interrupts
        pipes["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen([sys.executable, "-m", "mercer", *arguments], **pipes)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_ctrl_c_ends_a_pipe_that_waits(folder):
    os.mkfifo("pipe")
    with start("two-sample", "a.csv", "pipe") as process:
        writer = None
        while writer is None and process.poll() is None:
            with suppress(OSError):  # nobody reads it yet
                writer = os.open("pipe", os.O_WRONLY | os.O_NONBLOCK)
            time.sleep(0.3)
        assert writer is not None, process.stderr.read()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        os.close(writer)
    assert process.returncode == 130, err
    assert out == ""
    assert err == "mercer: interrupted\n"


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_a_reader_that_leaves_changes_no_verdict(folder):
    read_end, write_end = os.pipe()
    os.close(read_end)
    with start("two-sample", "a.csv", "b.csv", "--gate", stdout=write_end) as process:
        os.close(write_end)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert err == ""


def test_a_pipe_on_standard_input(folder):
    with start("two-sample", "a.csv", "-", stdin=subprocess.PIPE) as process:
        out, err = process.communicate(Path("b.csv").read_text(), timeout=60)
    assert process.returncode == 0, err
    assert out.startswith("a.csv and standard input differ")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no terminals here")
def test_progress_is_on_the_terminal_and_results_are_not(folder):
    rng = np.random.default_rng(0)
    for name in "xy":
        np.save(f"{name}.npy", rng.normal(size=(1500, 2)))
    controller, terminal = os.openpty()
    command = ("two-sample", "x.npy", "y.npy", "--test", "mmd", "--resamples", "99")
    with start(*command, stderr=terminal) as process:
        os.close(terminal)
        seen = b""
        try:
            while block := os.read(controller, 65536):
                seen += block
        except OSError:  # the other end was closed
            pass
        out = process.stdout.read()
    os.close(controller)
    assert process.returncode == 0
    assert b"kernel tiles" in seen
    assert out.startswith("No difference was found")
    assert "\x1b" not in out


# ---- the other commands -----------------------------------------------------------------------


def test_drift_corrects_for_the_number_of_batches(folder):
    told = json.loads(run("drift", "a.csv", "b.csv", "c.csv", "--json", "-").stdout)
    assert told["drifted"] == ["b.csv"]
    raw = [batch["pvalue"] for batch in told["batches"]]
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
    assert "The picture is in curve.png" in done.stderr
    assert "a picture is called" in run("power", "a.csv", "b.csv", "--plot", "x.doc", code=2).stderr


def test_power_wants_sense(folder):
    assert "must be above" in refused("power", "a.csv", "b.csv", "--target", "0.01", code=2)
    assert "whole numbers" in refused("power", "a.csv", "b.csv", "--sizes", "many", code=2)
    assert "at least 2" in refused("power", "a.csv", "b.csv", "--sizes", "1", code=2)
    assert "do not differ" in refused("power", "a.csv", "a.csv", code=3)


def test_large_files_are_thinned_for_what_looks_at_all_pairs(folder, monkeypatch):
    monkeypatch.setattr("mercer.report.limits.MOST", 50)
    full = json.loads(run("two-sample", "a.csv", "b.csv", "--json", "-").stdout)
    assert full["files"][0]["rows"] == 90
    assert full["result"]["sizes"] == [90, 80]
    assert "the effect size comes from 50 and 50 rows, the verdict from all" in full["remarks"]


def test_many_columns_are_not_ranked(folder, monkeypatch):
    monkeypatch.setattr("mercer.report.limits._RANK", 10**9)
    told = run("two-sample", "a.csv", "b.csv", "--report", "out.html")
    assert "too many to be ranked" in one_line(told.stdout)
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
