"""Verdicts of the command that could mislead: too many columns, rows in time, columns against the whole."""

import json

import numpy as np
import pytest

from mercer import independence, two_sample
from mercer.htest import HSIC, MMD, Permutation, ShiftHSIC, WildBootstrap, drift
from tests.support.cli_runs import run

pd = pytest.importorskip("pandas")


def autoregressive(n, share, seed, columns=1):
    """Columns x_t = share x_(t-1) + e_t."""
    noise = np.random.default_rng(seed).normal(size=(n, columns))
    x = np.zeros((n, columns))
    for t in range(1, n):
        x[t] = share * x[t - 1] + noise[t]
    return x


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Writes an array as a file into the folder the test runs in."""
    monkeypatch.chdir(tmp_path)

    def write(name, values):
        names = [f"c{j}" for j in range(values.shape[1])]
        pd.DataFrame(values, columns=names).to_csv(tmp_path / name, index=False)
        return name

    return write


# ---- more columns than resamples ----------------------------------------------------------------


def test_one_of_many_columns_is_found_and_the_verdict_says_so(put):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 40, 300))
    y[:, 17] += 3.0
    told = run("two-sample", put("a.csv", x), put("b.csv", y)).stdout
    first = " ".join(told.partition("\n\n")[0].split())
    assert "in all columns together" in first  # one column in 300 is little of the whole
    assert "but 1 of 300 columns differs on its own (smallest corrected p = 0.001)" in first
    assert "1 of 300 columns differs on its own: c17" in told
    assert "only that the test found no difference" not in told


def test_pairs_do_not_need_more_resamples_than_asked_for(put):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 14))
    x[:, 1] += 2 * x[:, 0]
    told = run("independence", put("a.csv", x), "--resamples", "999").stdout
    assert told.startswith("1 of 91 pairs of columns is dependent")
    few = run("independence", "a.csv", "--resamples", "9").stdout
    assert "\nCaution: with 9 resamples no corrected p-value of 91" in few.partition("\n\n")[0]
    few = run("two-sample", "a.csv", put("b.csv", x + 9.0), "--resamples", "9").stdout
    assert "\nCaution: with 9 resamples no p-value can be below 0.1" in few
    few = run("drift", "a.csv", "a.csv", "b.csv", "--resamples", "29").stdout
    assert few.splitlines()[1].startswith("Caution: with 29 resamples no corrected p-value of 2")


# ---- rows in time -------------------------------------------------------------------------------


def test_columns_that_number_the_rows_are_told(put):
    x, y = (
        np.column_stack([np.arange(n), np.random.default_rng(n).normal(size=n)]) for n in (90, 30)
    )
    for words in (("two-sample",), ("drift",)):
        lines = run(*words, put("a.csv", x), put("b.csv", y)).stdout.splitlines()
        assert lines[1].startswith(
            "Caution: column 'c0' grows with every row, as row numbers and times do"
        )


def test_series_that_are_compared_as_rows_are_told(put):
    a, b = autoregressive(150, 0.98, 1, 2), autoregressive(150, 0.98, 2, 2)
    told = run("two-sample", put("a.csv", a), put("b.csv", b)).stdout.splitlines()
    assert " differ (p" in told[0]  # two stretches of one law
    assert told[1].startswith("Caution: the rows of a.csv and b.csv depend on those before them")
    assert "use --series" in " ".join(told[1:5])
    document = json.loads(run("two-sample", "a.csv", "b.csv", "--json", "-").stdout)
    assert document["cautions"][0].startswith("Caution: the rows of a.csv")
    batches = run("drift", "a.csv", "b.csv").stdout.splitlines()
    assert batches[1].startswith("Caution: the rows of a.csv and b.csv depend on those before them")


def test_series_have_tests_of_their_own(put):
    a, b = autoregressive(200, 0.6, 3), autoregressive(200, 0.6, 4)
    put("a.csv", a)
    put("b.csv", b + 4.0)
    for command in (("two-sample", "a.csv", "b.csv"), ("drift", "a.csv", "b.csv", "b.csv")):
        told = run(*command, "--series", "--json", "-").stdout
        assert "WildBootstrap" in told
        assert "depend on those before them (SerialHSIC" not in told
    put("short.csv", autoregressive(120, 0.8, 10))
    short = run("drift", "a.csv", "short.csv", "--series").stdout
    assert "Caution: the series are worth about" in short  # as two-sample says
    put("both.csv", np.hstack([a, b]))
    asked = ("independence", "both.csv", "--x", "c0", "--y", "c1")
    assert (
        run(*asked).stdout.splitlines()[1].startswith("Caution: the rows of 'c0' and 'c1' depend")
    )
    told = run(*asked, "--series").stdout
    assert told.startswith("No dependence was found")
    assert "Caution: the rows" not in told
    refused = run("two-sample", "a.csv", "b.csv", "--series", "--test", "mmdfuse", code=2).stderr
    assert "with --series use --test mmd, --test energy" in refused


def test_pairs_of_columns_are_tested_as_series(put):
    """Every pair, or one column against all others, where --series was refused and --time gave a caution only."""
    rng = np.random.default_rng(6)
    series = autoregressive(300, 0.9, 4), autoregressive(300, 0.9, 5), rng.normal(size=(300, 1))
    put("three.csv", np.hstack([column[:, :1] for column in series]))
    for asked in ((), ("--y", "c2")):
        permuted = run("independence", "three.csv", *asked, "--json", "-")
        told = run("independence", "three.csv", *asked, "--series", "--json", "-")
        document = json.loads(told.stdout)
        assert not document["cautions"]
        assert "WildBootstrap" in document["result"]["test"]
        assert min(pair["pvalue"] for pair in document["result"]["pairs"]) > 0.05
        assert "Permutation" in json.loads(permuted.stdout)["result"]["test"]
    caution = run("independence", "three.csv").stdout
    assert "or --series of the command" in " ".join(caution.split())


def test_the_report_of_drift_says_once_that_resamples_are_few(put, tmp_path):
    x = np.random.default_rng(11).normal(size=(3, 40, 1))
    files = [put(f"{i}.csv", v) for i, v in enumerate(x)]
    run("drift", *files, "--resamples", "9", "--report", "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("with 9 resamples no corrected p-value of 2 batches") == 1
    assert "WestfallYoung" not in page  # the correction is fixed


def test_drift_in_python_names_the_reference_and_the_batches():
    a, b = autoregressive(120, 0.8, 8), autoregressive(120, 0.8, 9)
    (caution,) = drift(a, {"May": b, "June": b[::-1]}, resamples=99, rng=0).cautions(0.1)
    assert caution.startswith("Caution: the rows of reference, May and June depend on those before")
    assert "use drift(..., series=True)" in caution


def test_results_in_python_say_it_first():
    a, b = autoregressive(120, 0.7, 5), autoregressive(120, 0.7, 6)
    told = MMD(null=Permutation(99)).test(a, b, rng=0).summary()
    assert told.startswith("Caution: the rows of x and y depend on those before them")
    assert "two_sample(x, y, series=True)" in told.splitlines()[0]
    assert two_sample(a, b, series=True, rng=0).cautions == ()
    result = HSIC(null=Permutation(99)).test(a, b, rng=0)
    assert result.summary().startswith("Caution: the rows of x and y depend")
    for test in (HSIC(null=WildBootstrap(99, block=None)), ShiftHSIC()):
        assert test.test(a, b, rng=0).cautions == ()
    noise = np.random.default_rng(7).normal(size=120)
    assert independence(a, noise, rng=0).cautions == ()  # permuting the noise is exact
    assert independence(a, b, given=noise, rng=0).cautions[0].count("earlier rows") == 1
    assert two_sample(noise, np.zeros(20), rng=0).cautions == ()


# ---- units measured twice -----------------------------------------------------------------------


def _visits(n=40):
    """Weights before and after, two less than before and noisy by one: rows in different orders."""
    rng = np.random.default_rng(0)
    units, before = rng.permutation(n) + 100, rng.normal(80, 15, n)
    first = pd.DataFrame({"unit": units, "weight": before})
    second = pd.DataFrame({"unit": units, "weight": before - 2 + rng.normal(size=n)})
    return first, second.sample(frac=1, random_state=0)


@pytest.mark.parametrize("name", [int, "P{}".format], ids=["numbers", "labels"])
def test_units_that_were_measured_twice_are_pairs(tmp_path, monkeypatch, name):
    """Without a word, 'no difference was found' between weights that all fell by two."""
    monkeypatch.chdir(tmp_path)
    first, second = (frame.assign(unit=frame.unit.map(name)) for frame in _visits())
    both = pd.concat([first.assign(visit="before"), second.assign(visit="after")])
    both.sample(frac=1, random_state=1).to_csv("long.csv", index=False)
    told = " ".join(run("two-sample", "long.csv", "--by", "visit").stdout.split())
    assert told.startswith("No difference was found between after and before")
    assert "Caution: column 'unit' has the same 40 different values in both samples" in told
    assert told.partition("use --paired unit.")[1]
    both.sort_values("unit").to_csv(
        "sorted.csv", index=False
    )  # a key that also grows with every row
    told = run("two-sample", "sorted.csv", "--by", "visit").stdout
    assert told.count("Caution") == 1
    assert "use --paired unit." in " ".join(told.split())
    told = run("two-sample", "long.csv", "--by", "visit", "--paired", "unit").stdout
    assert told.startswith("after and before differ")
    assert "Caution" not in told


def test_other_columns_are_no_pairs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = _visits()
    cases = {
        "other units": (first, second.assign(unit=second.unit + 1)),
        "one unit twice": (first, pd.concat([second.iloc[:-1], second.iloc[:1]])),
        "row numbers": tuple(f.assign(unit=np.arange(1, 41)) for f in (first, second)),
        "measurements": tuple(f.assign(unit=f.unit + 0.5) for f in (first, second)),
        "sizes": (first, second.iloc[:-1]),
    }
    for case, (a, b) in cases.items():
        a.to_csv("a.csv", index=False)
        b.to_csv("b.csv", index=False)
        assert "measured twice" not in run("two-sample", "a.csv", "b.csv").stdout, case


# ---- free text ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("independence", "a.csv", "--y", "x"),
        ("independence", "a.csv", "--x", "comment", "--y", "x"),
        ("graph", "a.csv"),
        ("information", "a.csv", "--x", "comment", "--y", "x"),
        ("two-sample", "a.csv", "b.csv"),
        ("drift", "a.csv", "b.csv", "c.csv"),
        ("power", "a.csv", "b.csv", "--sizes", "50", "--runs", "20"),
    ],
    ids=lambda words: " ".join(words),
)
def test_a_column_of_free_texts_is_cautioned_of(words, tmp_path, monkeypatch):
    """It was silently taken for as many categories as there are texts, which depend on nothing."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name in "abc":
        texts = [f"{name} {i} {rng.random()}" for i in range(40)]
        frame = pd.DataFrame({"x": rng.normal(size=40), "kind": rng.choice(["u", "v"], 40)})
        frame.assign(comment=texts).to_csv(f"{name}.csv", index=False)
    told = run(*words).stdout
    said = " ".join(told.split())
    assert said.count("Caution: column 'comment' holds another label in nearly every row") == 1
    assert "--exclude comment; texts are compared by two-sample with --text comment" in said
