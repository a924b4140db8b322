"""Families of SciPy by name, and refits that start from the last fit."""

import json

import numpy as np
import pytest
from scipy import stats

import mercer
from mercer.cli.model_option import FitMixture
from mercer.cli.scipy_family import FitFamily, family_named, parameters
from mercer.htest.goodness.score_models import StandardizedFit
from mercer.rkhs import Gaussian, Mixture
from tests.support.cli_runs import refused, run

pd = pytest.importorskip("pandas")


def test_a_family_is_fitted_and_tested_by_its_name(put):
    x = np.random.default_rng(0).gamma(2.0, 3.0, size=120)
    put("wait,other\n" + "\n".join(f"{v},{v * v}" for v in x))
    asked = ("goodness", "a.csv", "--columns", "wait", "--resamples", "39", "--model")
    document = json.loads(run(*asked, "gamma", "--json", "-").stdout)
    assert not document["misfit"]
    fitted = document["model"]["parameters"]
    assert fitted["loc"] == 0.0
    a, _, scale = family_named("gamma").fit(x, floc=0)
    assert (fitted["a"], fitted["scale"]) == pytest.approx((a, scale))
    told = run(*asked, "normal").stdout
    assert told.startswith("a.csv does not come from the family norm of SciPy")
    assert "loc = 5." in told
    assert "did you mean gamma" in refused(*asked, "gama", code=2)
    both = ("goodness", "a.csv", "--model", "gamma")
    assert "is for one column, got 2: select it with --columns" in refused(*both, code=2)


def test_bounds_that_the_rows_keep_are_not_fitted():
    rng = np.random.default_rng(1)
    shares, numbers = rng.beta(2.0, 3.0, size=(200, 1)), rng.normal(size=(200, 1))
    assert FitFamily.to_rows("beta", shares).bounds == {"floc": 0.0, "fscale": 1.0}
    assert FitFamily.to_rows("lognormal", shares).bounds == {"floc": 0.0}
    assert FitFamily.to_rows("gamma", numbers).bounds == {}
    fit = FitFamily.to_rows("beta", shares)
    model = fit(shares)
    again = fit.refit(shares, model)
    assert parameters(again) == pytest.approx(parameters(model), rel=1e-3)


def test_refits_of_mixtures_start_from_the_last_fit():
    true = Mixture([Gaussian([-3.0, 0.0], 1.0), Gaussian([3.0, 1.0], 0.5)], [0.6, 0.4])
    x, z = true.sample(300, rng=0), true.sample(300, rng=1)
    fit = StandardizedFit(FitMixture(2, 0), (2.0, 0.5))
    last = fit(x)
    warm, cold = (f.original for f in (fit.refit(z, last), fit(z)))
    order = [
        int(np.argmin([np.sum((p.mean - q.mean) ** 2) for q in cold.parts])) for p in warm.parts
    ]
    assert sorted(order) == [
        0,
        1,
    ]  # the same maximum of the likelihood, in the order of the last fit
    for part, j, before in zip(warm.parts, order, last.original.parts, strict=True):
        np.testing.assert_allclose(part.mean, cold.parts[j].mean, atol=0.05)
        assert np.sum((part.mean - before.mean) ** 2) < 1.0
    with pytest.raises(ValueError, match="start must be a Mixture of 3 Gaussians in 2 dimensions"):
        Mixture.fit(x, 3, start=true)


def test_a_distribution_with_its_parameters_is_tested_as_it_is(put):
    """As the frozen distribution in Python; nothing is fitted."""
    rng = np.random.default_rng(0)
    iq = 100 + 15 * rng.normal(size=(80, 1))
    put("iq,other\n" + "".join(f"{v!r},{v + 40!r}\n" for v in iq[:, 0].tolist()), "iq.csv")
    told = {}
    for column in ("iq", "other"):
        words = ("goodness", "iq.csv", "--columns", column, "--model", "norm(100, scale=15)")
        told[column] = json.loads(run(*words, "--json", "-").stdout)
    frame = pd.DataFrame({"iq": iq[:, 0]})
    direct = mercer.goodness_of_fit(stats.norm(100, 15), frame, rng=0)
    assert told["iq"]["pvalue"] == direct.pvalue > 0.05 > told["other"]["pvalue"]


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("norm(100, -15)", "no distribution with these parameters"),
        ("beta(2)", "b has no value: give it, or give the others by name"),
        ("beta(2, 3, a=2)", "a, b, loc, scale: give each once"),
        ("norm(1, 2, 3)", "norm of SciPy has the parameters loc, scale"),
        ("gamma(2, scala=3)", "gamma of SciPy has the parameters a, loc, scale"),
        ("norm(x)", "one of its distributions such as 'norm"),
        ("open('a')", "one of its distributions such as 'norm"),
    ],
)
def test_what_is_no_distribution_is_refused(put, model, told):
    put("v\n" + "".join(f"{i}.5\n" for i in range(40)), "v.csv")
    assert told in refused("goodness", "v.csv", "--model", model, code=2)
    if "(x" not in model and "norm(1, 2" in model:
        put("v,w\n" + "".join(f"{i}.5,{i % 7}\n" for i in range(40)), "two.csv")
        assert "one column" in refused("goodness", "two.csv", "--model", "norm(1, 2)", code=2)


@pytest.mark.parametrize(
    ("model", "held"),
    [
        ("beta(loc=0, scale=100)", {"loc": 0.0, "scale": 100.0}),
        ("beta(floc=0, fscale=100, fb=3)", {"loc": 0.0, "scale": 100.0, "b": 3.0}),
        ("gamma(a=2, floc=0)", {"a": 2.0, "loc": 0.0}),
        ("norm(floc=40)", {"loc": 40.0}),
    ],
)
def test_named_parameters_are_held_and_the_others_fitted(put, model, held):
    """It was refused with a list of the parameters, as if one were misspelt."""
    x = 100 * np.random.default_rng(0).beta(2.0, 3.0, size=80)
    put("cover\n" + "".join(f"{v!r}\n" for v in x.tolist()), "cover.csv")
    told = run("goodness", "cover.csv", "--model", model, "--resamples", "19", "--json", "-").stdout
    fitted = json.loads(told)["model"]["parameters"]
    family = family_named(model.partition("(")[0])
    named = family.fit(x, **{f"f{name}": value for name, value in held.items()})
    assert list(fitted.values()) == pytest.approx(list(named), rel=1e-3)
    assert {name: fitted[name] for name in held} == pytest.approx(held)


def test_held_parameters_stay_in_refits():
    x = 100 * np.random.default_rng(1).beta(2.0, 3.0, size=(100, 1))
    for held in ({"loc": 0.0, "scale": 100.0}, {"loc": 0.0, "scale": 100.0, "a": 2.0}):
        fit = FitFamily.to_rows("beta", x, held)
        again = parameters(fit.refit(x[:60], fit(x)))
        assert {name: again[name] for name in held} == pytest.approx(held)
        assert again["b"] != parameters(fit(x))["b"]
    assert FitFamily.to_rows("gamma", x, {"scale": 2.0}).bounds == {"floc": 0.0, "fscale": 2.0}
    assert FitFamily.to_rows("beta", x / 100, {"loc": -1.0}).bounds == {"floc": -1.0}


def test_rows_outside_of_the_support_are_told_in_the_units_of_the_file(put):
    """The column was 'column 0', and both its value and the support were divided by a standard deviation."""
    x = 100 * np.random.default_rng(0).beta(2.0, 3.0, size=40)
    put("cover,other\n" + "".join(f"{v:.2f} %,{v}\n" for v in x), "cover.csv")
    asked = ("goodness", "cover.csv", "--columns", "cover", "--model")
    message = refused(*asked, "beta(2, 5)", code=3)
    assert f"column 'cover', row 1: {x[0]:.2f} and 39 other values are outside of the" in message
    assert "strictly between 0 and 1: that refutes" in message
    assert "scale=100" in message
    run(*asked, "beta(2, 3, scale=100)", "--resamples", "19")
    assert "scale=100" not in refused(*asked, "uniform(200, 10)", code=3)
    frame = pd.DataFrame({"cover": x})
    with pytest.raises(
        ValueError, match=r"column 'cover' is [\d.]+ and must be strictly between 0 and 1\)"
    ):
        mercer.goodness_of_fit(stats.beta(2, 5), frame)


def test_a_family_of_which_nothing_is_free_is_not_fitted(put):
    """A uniform distribution keeps the unit interval where all rows are in it, and SciPy refuses to fit nothing."""
    x = np.random.default_rng(0).random(60)
    put("share\n" + "".join(f"{v!r}\n" for v in x.tolist()), "share.csv")
    told = json.loads(run("goodness", "share.csv", "--model", "uniform", "--json", "-").stdout)
    assert told["model"]["fit"] is None
    assert (
        told["pvalue"]
        == mercer.goodness_of_fit(stats.uniform(), pd.DataFrame({"share": x}), rng=0).pvalue
    )
