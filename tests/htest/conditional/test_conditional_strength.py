"""Size of a conditional dependence: shares against squared partial correlations, in every door."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import mercer
from mercer.htest import DHSIC, HSIC, KCI, ConditionalStrength
from mercer.kernels import Spectrum
from mercer.report import independence_report
from tests.support import cli_runs

pd = pytest.importorskip("pandas")
ROWS = 400


def three(slope, rows=ROWS):
    """x and y given z: the squared partial correlation is slope^2 / (1 + slope^2)."""
    rng = np.random.default_rng(0)
    z, noise = rng.normal(size=rows), rng.normal(size=rows)
    return z + noise, z**2 + slope * noise + rng.normal(size=rows), z


def effect(x, y, z):
    return mercer.independence(x, y, given=z, rng=0).effect()


@pytest.mark.parametrize("slope", [0.5, 2.0])
def test_share_is_the_squared_partial_correlation(slope):
    truth = slope**2 / (1 + slope**2)
    x, y, z = three(slope)
    told = effect(x, y, z)
    # x given z is normal noise, so its share is a squared correlation: standard error below 0.04 with 400 rows
    of_x = next(e for e in told.explained if (e.of, e.what) == ("x", "level"))
    assert abs(of_x.share - truth) < 0.12
    assert of_x.interval.low - 0.05 < truth < of_x.interval.high + 0.05
    assert told.explained[0].what == "level"


def test_what_z_explains_does_not_count():
    x, y, z = three(0.0)
    assert mercer.independence(x, y, rng=0).effect().unitless > 0.05
    told = effect(x, y, z)
    assert told.unitless < 0.03
    assert told.word in ("very weak", "weak")


def test_spread_beyond_z_counts():
    rng = np.random.default_rng(1)
    z, e = rng.normal(size=ROWS), rng.normal(size=ROWS)
    told = effect(z + e, 3 * z + e * rng.normal(size=ROWS), z)
    assert told.explained[0].what == "spread"
    assert told.unitless > 0.1
    assert "of the spread of" in told.sentence()


@pytest.mark.slow
def test_lower_limits_stay_below_the_squared_partial_correlation():
    inside = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        z, e = rng.normal(size=150), rng.normal(size=150)
        first = effect(z + e, z + e + rng.normal(size=150), z).explained
        inside += all(s.interval.low <= 0.5 for s in first if s.what == "level")
    assert inside >= 27  # lower limits at 97.5% and more: 0.9 of 30 is four standard errors below


def test_categories_objects_and_few_rows():
    rng = np.random.default_rng(2)
    z = rng.normal(size=200)
    city = np.where(z + 0.3 * rng.normal(size=200) > 0, "Rome", "Oslo")
    same = np.where(rng.random(200) < 0.9, city, "Bonn")
    frames = (pd.DataFrame({"a": city}), pd.DataFrame({"b": same}), pd.DataFrame({"c": z}))
    assert effect(*frames).unitless > 0.25
    words = ["".join(rng.choice(list("ab"), 8, p=[p, 1 - p])) for p in rng.uniform(size=60)]
    counts = np.array([float(w.count("a")) for w in words])
    noise = rng.normal(size=60)
    strings = KCI(Spectrum(1)).test(words, counts + noise, rng.normal(size=60), rng=0)
    assert strings.effect().unitless > 0.3
    few = strings.thinned(6).effect()
    assert np.isnan(few.unitless)
    assert few.unitless_interval == (0.0, 1.0)


def test_many_columns_of_z():
    rng = np.random.default_rng(3)
    z, e = rng.normal(size=(150, 61)), rng.normal(size=150)
    told = effect(z[:, 0] + e, z[:, 1] + 2 * e, z)
    assert told.unitless > 0.25


def test_every_door_shows_it():
    x, y, z = three(1.0, 120)
    result = mercer.independence(x, y, given=z, rng=0)
    told = result.effect()
    assert isinstance(told, ConditionalStrength)
    assert told.estimate == told.unitless
    sentence = told.sentence()
    assert "left unexplained by z (95% interval" in sentence
    assert f"Size: {sentence}." in result.summary()
    assert sentence in result._repr_html_()
    explained = result.to_dict()["effect"]["explained"]
    assert {e["given"] for e in explained} == {"z"}
    assert json.loads(json.dumps(explained)) == explained
    page = independence_report(result)
    assert "variation explained beyond" in page
    assert "kernel correlation" not in page
    assert "kernel correlation" in independence_report(HSIC().test(x, y, rng=0))
    with pytest.raises(mercer.errors.NoRule, match="two variables"):
        DHSIC().test(x, y, z, rng=0).effect()


def test_the_command_gates_on_it(tmp_path):
    x, y, z = three(1.0, 200)
    data = str(tmp_path / "data.csv")
    pd.DataFrame({"a": x, "b": y, "c": z}).to_csv(data, index=False)
    command = ("independence", data, "--x", "a", "--y", "b", "--given", "c")
    told = cli_runs.run(*command, "--gate", "--min-effect", "0.2", code=1).stdout
    assert "How much" in told
    words = " ".join(told.split())
    assert re.search("of the variation of '[ab]' left unexplained by 'c'", words)
    gate = ("--gate", "--min-effect", "0.9", "--json", "-")
    document = json.loads(cli_runs.run(*command, *gate, code=0).stdout)
    assert 0.3 < document["effect"] < 0.7
    assert document["effect"] == pytest.approx(
        document["result"]["effect"]["explained"][0]["share"]
    )
