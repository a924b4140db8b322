"""`mercer goodness` as a new user and a CI job see it."""

import json
import re
from functools import partial

import numpy as np
import pytest

import mercer
from mercer.rkhs import Gaussian, Mixture
from tests.support import cli_runs

pd = pytest.importorskip("pandas")

MODULE = '''
"""Models of a user."""
import numpy as np
from scipy.stats import norm
from mercer.rkhs import Gaussian

def score(x):
    return -(x - [170.0, 70.0]) / [100.0, 9.0]

def make():
    return Gaussian([170.0, 70.0], [100.0, 9.0])

def fit(x):
    return Gaussian.fit(x)

def log_p(x):
    z = (x - x.new_tensor([170.0, 70.0])) / x.new_tensor([10.0, 3.0])
    return -(z**2).sum(axis=1) / 2

def numpy_log_p(x):
    return -np.sum(np.square(x), axis=1)

class NoDraws:
    def __init__(self, mean):
        self.mean = mean

    def score(self, x):
        return -(x - self.mean) / [100.0, 9.0]

def fit_without_draws(x):
    return NoDraws(x.mean(axis=0))

def fails(x):
    raise RuntimeError("no such luck")

def shaped(x):
    return np.zeros((3, 3))

def two(x, y):
    return -x

model = make()
line = norm(170.0, 10.0)
number = 3
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A Gaussian in two columns, the same with an island, a column of labels, one with gaps."""
    rng = np.random.default_rng(0)
    x = rng.normal([170.0, 70.0], [10.0, 3.0], size=(150, 2))
    frame = pd.DataFrame(x, columns=["height", "weight"])
    frame.to_csv(tmp_path / "good.csv", index=False)
    island = frame.copy()
    island.loc[:14, "height"] = rng.normal(215.0, 3.0, size=15)
    island.to_csv(tmp_path / "island.csv", index=False)
    island.assign(city="Rome").to_csv(tmp_path / "labels.csv", index=False)
    gaps = island.copy()
    gaps.loc[[30, 40], "weight"] = np.nan
    gaps.to_csv(tmp_path / "gaps.csv", index=False)
    (tmp_path / "own_models.py").write_text(MODULE)
    (tmp_path / "own_broken.py").write_text("def score(x:\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


run = partial(cli_runs.run, "goodness")


QUICK = ("--resamples", "39")  # of models that are fitted to each


@pytest.mark.usefixtures("folder")
class TestFitted:
    def test_a_gaussian_that_does_not_fit(self):
        told = " ".join(run("island.csv", *QUICK).stdout.split())  # however lines are broken
        assert told.startswith("island.csv does not come from a Gaussian, whatever its parameters")
        assert "parametric bootstrap with refitting" in told
        (rows,) = re.findall(r"rows with the strongest evidence against it: ([\d,\s]+)", told)
        found = [int(row) for row in rows.replace(",", " ").split()]
        assert set(found) <= set(range(1, 16))  # the island, counted from one

    def test_a_gaussian_that_fits(self):
        told = run("good.csv", "--model", "gaussian", *QUICK).stdout
        assert told.startswith("No misfit was found between good.csv and a Gaussian (p = ")
        assert "This does not prove the model is right" in told

    def test_a_mixture_fits_the_island(self):
        told = run("island.csv", "--model", "gmm:2", *QUICK).stdout
        assert told.startswith("No misfit was found between island.csv and a mixture of 2")

    def test_half_is_held_out(self):
        told = run("island.csv", "--fit", "half").stdout
        assert "150 rows, 2 columns, 75 of them tested" in told
        assert "fitted to half of the rows; the other half tested" in told
        assert "Composite" not in told

    def test_parameters_are_told(self, folder):
        document = json.loads(run("island.csv", "--model", "gmm:2", *QUICK, "--json", "-").stdout)
        assert document["model"]["name"] == "gmm:2"
        assert document["model"]["fit"] == "bootstrap"
        values = pd.read_csv(folder / "island.csv").to_numpy()
        expected = Mixture.fit(values, 2, rng=0)
        assert document["model"]["parameters"]["weights"] == pytest.approx(list(expected.weights))
        means = [part["mean"] for part in document["model"]["parameters"]["parts"]]
        np.testing.assert_allclose(means, [part.mean for part in expected.parts])

    @pytest.mark.parametrize("test", ["ksd", "ksdagg", "linear", "fssd"])
    @pytest.mark.parametrize("fit", ["bootstrap", "half"])
    def test_every_test(self, test, fit):
        more = QUICK if fit == "bootstrap" else ()
        told = run("island.csv", "--test", test, "--fit", fit, *more).stdout
        assert "a Gaussian" in told


@pytest.mark.usefixtures("folder")
class TestOwnModels:
    @pytest.mark.parametrize("name", ["score", "make", "model"])
    def test_score_model_and_maker_are_the_same_model(self, name):
        asked = ("--model", f"own_models:{name}", "--json", "-")
        good, island = (json.loads(run(file, *asked).stdout) for file in ("good.csv", "island.csv"))
        assert good["misfit"] is False
        assert island["misfit"] is True
        assert island["model"]["fit"] is None
        truth = Gaussian([170.0, 70.0], [100.0, 9.0])
        expected = mercer.goodness_of_fit(truth, pd.read_csv("island.csv"), rng=0)
        assert island["pvalue"] == expected.pvalue
        assert island["result"]["statistic"] == pytest.approx(expected.statistic)

    def test_a_log_density_is_differentiated(self, folder):
        pytest.importorskip("torch")
        (folder / "own_tensors.py").write_text("import torch\n" + MODULE)
        found, expected = (
            json.loads(run("island.csv", "--model", model, "--json", "-").stdout)
            for model in ("own_tensors:log_p", "own_tensors:score")
        )
        assert found["result"]["statistic"] == pytest.approx(expected["result"]["statistic"])
        assert found["pvalue"] == expected["pvalue"]
        said = run("island.csv", "--model", "own_tensors:numpy_log_p", code=2).stderr
        assert "which torch must be able" in said

    def test_a_fit_of_ones_own_is_that_of_the_same_kind(self):
        own, known = (
            json.loads(run("island.csv", "--model", model, *QUICK, "--json", "-").stdout)
            for model in ("own_models:fit", "gaussian")
        )
        assert own["pvalue"] == known["pvalue"]
        assert own["model"]["parameters"] == known["model"]["parameters"]

    def test_a_fit_without_draws_is_tested_on_the_other_half(self):
        told = run("good.csv", "--model", "own_models:fit_without_draws", "--fit", "half").stdout
        assert "75 of them tested" in told

    def test_one_column(self):
        told = run("island.csv", "--model", "own_models:line", "--columns", "height").stdout
        assert told.startswith("island.csv does not come from the model own_models:line")

    def test_chain(self):
        told = run("good.csv", "--model", "own_models:score", "--chain").stdout
        assert "KSD with WildBootstrap(block=None)" in told
        assert "interval" not in told  # of draws that depend on each other there is none

    def test_learnt_locations_are_on_the_island(self):
        asked = ("island.csv", "--model", "own_models:score", "--test", "fssd", "--json", "-")
        result = json.loads(run(*asked).stdout)["result"]
        assert result["size"] == 75
        assert 195 < result["locations"][0]["coordinates"]["height"] < 235


@pytest.mark.usefixtures("folder")
class TestUse:
    def test_json_is_the_same_for_the_same_seed(self):
        asked = ("island.csv", "--model", "own_models:score", "--json", "-", "--seed", "3")
        first, second = (json.loads(run(*asked).stdout) for _ in range(2))
        assert first.pop("elapsed_seconds") >= 0
        second.pop("elapsed_seconds")
        assert first == second
        assert first["schema"] == "mercer/command/goodness/1"
        assert first["misfit_by_column"][0]["name"] == "height"
        assert 0 < first["effect"] < 1

    def test_gate(self):
        asked = ("--model", "own_models:score", "--gate")
        run("island.csv", *asked, code=1)
        run("island.csv", *asked, "--min-effect", "0.99")
        run("good.csv", *asked)

    def test_kernel_and_resamples(self):
        asked = ("island.csv", "--model", "own_models:score", "--kernel", "rbf")
        assert "KSD, 99 resamples" in run(*asked, "--bandwidth", "0.5", "--resamples", "99").stdout

    def test_rows_with_gaps(self):
        asked = ("gaps.csv", "--model", "own_models:score")
        assert "weight: 2" in run(*asked, code=3).stderr
        told = run(*asked, "--missing", "drop").stdout
        assert "148 rows" in told
        assert "2 rows with missing values were left out" in told
        assert "strongest evidence" not in told  # their numbers would be others

    def test_columns_of_an_array_have_one_unit(self, folder):
        values = pd.read_csv("island.csv").to_numpy()
        np.save(folder / "island.npy", values)
        asked = ("--model", "own_models:score", "--json", "-")
        found = json.loads(run("island.npy", *asked).stdout)
        expected = mercer.goodness_of_fit(Gaussian([170.0, 70.0], [100.0, 9.0]), values, rng=0)
        assert found["pvalue"] == expected.pvalue
        assert found["result"]["units"] is None

    def test_report(self, folder):
        run("island.csv", "--model", "own_models:model", "--report", "out.html", "--level", "0.01")
        page = (folder / "out.html").read_text()
        assert "mercer goodness island.csv --model own_models:model --level 0.01" in page
        assert "island.csv does not come from the model own_models:model" in page
        assert len(page) < 1_000_000

    @pytest.mark.parametrize(
        ("options", "code", "said"),
        [
            (("--model", "logistics_of_2"), 2, "--model must be gaussian, gmm:K"),
            (
                ("--model", "poisson"),
                2,
                "poisson of SciPy is discrete, and this command needs a density",
            ),
            (("--model", "poisson(4)"), 2, "AgainstDraws(scipy.stats.poisson(...)).test(x)"),
            (("--model", "gmm:"), 2, "number of components from 1 to 1000"),
            (("--model", "gmm:-2"), 2, "number of components"),
            (("--model", "gmm:60"), 3, "at least 180 points"),
            (("--model", "own_models.py:score"), 2, "write model:function"),
            (("--model", "no_such_thing:score"), 2, "no module 'no_such_thing' in the working"),
            (("--model", "own_models:none"), 2, "has no 'none'; it has"),
            (("--model", "own_broken:score"), 2, "cannot be imported: SyntaxError"),
            (("--model", "own_models:fails"), 2, "RuntimeError: no such luck (own_models.py, line"),
            (("--model", "own_models:shaped"), 2, "got shape (3, 3)"),
            (("--model", "own_models:two"), 2, "needs 2 arguments"),
            (("--model", "own_models:number"), 2, "own_models:number: model must be"),
            (("--model", "own_models:Gaussian"), 2, "is a class"),
            (("--model", "own_models:line"), 3, "must have 1 columns"),
            (("--model", "own_models:fit_without_draws"), 2, "cannot be sampled"),
            (("--columns", "height,nope"), 3, "no column 'nope'"),
            (("--chain",), 2, "--chain needs a model that is not fitted"),
            (("--kernel", "laplace"), 2, "two derivatives"),
            (("--model", "own_models:score", "--test", "fssd", "--chain"), 2, "--chain"),
            (
                ("--model", "own_models:score", "--test", "linear", "--resamples", "9"),
                2,
                "does not",
            ),
            (("--test", "mmd"), 2, "mmd"),
            (("--min-effect", "0.1"), 2, "give --gate too"),
            (("--level", "2"), 2, "between 0 and 1"),
        ],
    )
    def test_wrong_use_is_said_in_a_line(self, options, code, said):
        assert said in run("good.csv", *options, code=code).stderr

    def test_labels_are_refused(self):
        assert "got labels in 'city'" in run("labels.csv", code=3).stderr
        run("labels.csv", "--columns", "height,weight", "--model", "own_models:score")
