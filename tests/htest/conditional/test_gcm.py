"""Tests by mean products of residuals: levels on the hardest nulls, power, diagnosis, categories, estimators."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

import mercer
from mercer.htest import GCM, PCM, ConditionalResult, KernelGCM, RCoT, WeightedGCM
from tests.support.htest_conditional_grid import Problem, additive, counts, depends, heteroscedastic

RUNS = 40
MOST = 8  # of 40 runs at level 0.05: a binomial count exceeds it once in 4,000 cells

NULLS = (
    (additive("linear", "normal", 10), 100),
    (additive("one column", "uniform", 10), 100),
    (additive("sine", "normal", 3), 100),
    (additive("square", "t2", 5), 100),
    (additive("bump", "cauchy", 3), 100),
    (additive("interactions", "discrete", 5), 100),
    (heteroscedastic("normal", 3), 100),
    (counts, 100),
)


def rejections(test, problem: Problem, n: int, runs: int = RUNS) -> int:
    draws = (problem.draw(np.random.default_rng([7, seed]), n) for seed in range(runs))
    return sum(test.test(*draw).rejects(0.05) for draw in draws)


@pytest.mark.parametrize(("problem", "n"), NULLS, ids=[p.name for p, _ in NULLS])
def test_true_hypotheses_are_rejected_rarely(problem, n):
    assert rejections(KernelGCM(), problem, n) <= MOST


@pytest.mark.parametrize(
    ("test", "kind"),
    [
        (GCM(), "linear"),
        (KernelGCM(), "linear"),
        (KernelGCM(), "square"),
        (KernelGCM(), "sign of z"),
        (WeightedGCM(), "sign of z"),
        (PCM(), "square"),
    ],
    ids=str,
)
def test_dependence_is_found(test, kind):
    assert rejections(test, depends("linear", "normal", 1, kind), 300, 10) >= 6


def test_the_statistic_of_an_exact_regression_is_the_textbook_one():
    rng = np.random.default_rng(0)
    z, e = rng.normal(size=(200, 2)), rng.normal(size=(2, 200))
    x, y = z[:, 0] + e[0], z[:, 1] + e[1]

    class Exact:
        """Predicts the mean of x, in units of its deviation."""

        def fit(self, z, target):
            self.model = LinearRegression().fit(z, target)
            return self

        def predict(self, z):
            return self.model.predict(z)

    result = GCM(Exact()).test(x, y, z)
    order = np.random.default_rng(0).permutation(200)
    residuals = []
    for t in (x, y):
        r = np.empty(200)
        for fold in np.array_split(order, 10):
            rest = np.setdiff1d(order, fold)
            r[fold] = t[fold] - LinearRegression().fit(z[rest], t[rest]).predict(z[fold])
        residuals.append(r)
    products = residuals[0] * residuals[1]
    textbook = products.sum() / np.sqrt((products**2).sum())
    assert result.statistic == pytest.approx(np.sqrt(199 / 200) * textbook, rel=1e-9)


def test_the_diagnosis_says_what_z_explains_and_when_not_to_trust():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(400, 1))
    e = rng.normal(size=(2, 400))
    easy = KernelGCM().test(z[:, 0] + e[0], 0.2 * e[1], z)
    assert isinstance(easy, ConditionalResult)
    assert easy.diagnosis is not None
    assert easy.diagnosis.trusted
    assert easy.diagnosis.x[0].explained == pytest.approx(0.5, abs=0.08)
    assert abs(easy.diagnosis.y[0].explained) < 0.1
    hard = additive("sine", "normal", 20).draw(rng, 100)
    result = mercer.independence(hard[0], hard[1], given=hard[2])
    assert not result.rejects()
    assert result.notes[0].startswith("The p-value is conservative")
    assert "conservative" in result.summary().splitlines()[2]


def test_residuals_of_a_regression_that_is_too_stiff_are_still_predictable():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, 1))
    e = 0.3 * rng.normal(size=(2, 300))
    stiff = GCM(LinearRegression()).test(np.cos(3 * z[:, 0]) + e[0], np.cos(3 * z[:, 0]) + e[1], z)
    assert stiff.diagnosis is not None
    assert stiff.diagnosis.x[0].predictable < 1e-4
    assert not stiff.diagnosis.trusted
    assert not stiff.rejects()
    forest = GCM(RandomForestRegressor(30, min_samples_leaf=5, random_state=0))
    assert forest.test(np.cos(3 * z[:, 0]) + e[0], e[1], z).pvalue > 0.01


def test_categories_are_regressed_and_conditioned_on():
    rng = np.random.default_rng(0)
    group = rng.choice(list("abcdefghijkl"), 400)
    level = dict(zip("abcdefghijkl", rng.normal(size=12), strict=True))
    effect = np.array([level[g] for g in group])
    x = np.where(effect + rng.normal(size=400) > 0, "yes", "no")
    y = effect + rng.normal(size=400)
    frames = [pd.DataFrame({name: values}) for name, values in (("x", x), ("y", y), ("g", group))]
    assert not KernelGCM().test(*frames).rejects(0.01)
    frames[1]["y"] += 1.0 * (x == "yes")
    assert KernelGCM().test(*frames).rejects()


def test_several_columns_are_compared_pair_by_pair():
    rng = np.random.default_rng(0)
    z, x = rng.normal(size=(300, 2)), rng.normal(size=(300, 3))
    y = np.column_stack([rng.normal(size=300), z[:, 0] + 0.6 * x[:, 2]])
    result = GCM().test(x, y, z)
    assert result.rejects()
    assert result.diagnosis is not None
    assert [check.name for check in result.diagnosis.x] == ["x[0]", "x[1]", "x[2]"]


def test_regressions_of_indicators_have_the_name_of_their_column():
    """They were y[0] and y[1], whichever column of y had the categories."""
    rng = np.random.default_rng(0)
    z, x = rng.normal(size=(2, 120))
    y = pd.DataFrame({"age": rng.normal(size=120), "region": rng.choice(["n", "s", "e"], 120)})
    diagnosis = GCM().test(x, y, z).diagnosis
    assert diagnosis is not None
    assert [check.name for check in diagnosis.y] == [
        "y (age)",
        "y (region, indicator 1 of 2)",
        "y (region, indicator 2 of 2)",
    ]


def test_results_do_not_depend_on_units():
    x, y, z = additive("sine", "normal", 3).draw(np.random.default_rng(0), 150)
    plain = KernelGCM().test(x, y, z)
    scaled = KernelGCM().test(1e3 * x - 5, 1e-3 * y, z * np.array([10.0, 0.1, 3.0]) + 7)
    assert scaled.pvalue == pytest.approx(plain.pvalue, rel=1e-6)


def test_a_variable_that_z_determines_leaves_nothing_to_test():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(100, 1))
    result = GCM().test(2 * z[:, 0], rng.normal(size=100), z)
    assert result.pvalue == 1.0


def test_a_column_of_categories_counts_as_its_indicators_in_the_choice_of_the_test():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 2000))
    letters = pd.Categorical.from_codes(rng.integers(8, size=2000), categories=list("abcdefgh"))
    z = pd.DataFrame({"letter": letters, "number": rng.normal(size=2000)})
    with mercer.config(memory="40MiB"):  # enough for 2 columns, and not for 8
        assert isinstance(mercer.independence(x, y, given=z[["number"]], rng=0).test, KernelGCM)
        assert isinstance(mercer.independence(x, y, given=z, rng=0).test, RCoT)


def test_what_cannot_be_regressed_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(TypeError, match="regression must be an estimator with fit and predict"):
        GCM("forest")
    with pytest.raises(TypeError, match="PCM has no other regression"):
        PCM(LinearRegression())
    with pytest.raises(ValueError, match="at least 8 observations"):
        GCM().test(*rng.normal(size=(3, 7)))
    x, y = rng.normal(size=(2, 20_000))
    z = rng.normal(size=(20_000, 5))
    with mercer.config(memory="256MiB"), pytest.raises(mercer.MemoryBudgetError, match="RCoT"):
        GCM().test(x, y, z)
    with mercer.config(memory="256MiB"):
        result = mercer.independence(x, y, given=z, rng=0)
    assert type(result.test).__name__ == "RCoT"
