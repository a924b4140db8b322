"""The study of consistency: true values by a second road, cells that go on, and a page that judges them."""

import numpy as np
import pytest

from benchmarks.reproductions import information_consistency as consistency
from benchmarks.reproductions import information_problems as problems
from mercer.info import Estimator, MaximumEntropy, divergence, entropy
from mercer.rkhs import Gaussian, Uniform
from tests.support.studies import Study

STUDY = Study("information_consistency", "information_consistency")
PROBLEM = "entropy, uniform, d = 1"


def _truth(name):
    return problems.PROBLEMS[name].truth


def test_true_values_are_those_of_closed_forms():
    normal, other = Gaussian(np.zeros(2), np.eye(2)), Gaussian(np.full(2, 0.3), 1.44 * np.eye(2))
    half = "Renyi entropy of order 1/2, Gaussian, d = 2"
    assert np.isclose(_truth("entropy, Gaussian, d = 2"), entropy(normal))
    assert np.isclose(_truth(half), entropy(normal, problems.HALF))
    assert np.isclose(_truth("KL divergence, Gaussian, d = 2"), divergence(normal, other))
    assert np.isclose(_truth(PROBLEM), entropy(Uniform(0.0, 1.0)))


@pytest.mark.parametrize("variance", [1.0, 2.0])
def test_entropy_of_the_mixture_is_that_of_draws(variance):
    rng = np.random.default_rng(0)
    x = rng.choice([-2.0, 2.0], 100_000) + np.sqrt(variance) * rng.standard_normal(100_000)
    terms = -np.log(problems.mixture_density(x, variance))
    error = terms.std() / len(x) ** 0.5
    assert abs(terms.mean() - problems.mixture_entropy(variance)) < 5 * error


@pytest.mark.parametrize("name", problems.PROBLEMS)
def test_every_estimator_takes_its_problem(name):
    problem = problems.PROBLEMS[name]
    for estimator in problem.estimators:
        assert estimator is None or isinstance(estimator, Estimator)
        assert np.isfinite(problem.error(estimator, 100, np.random.default_rng(0)))


def test_a_study_goes_on_where_it_ended(tmp_path):
    part = ("--only", f"{PROBLEM}; KNN")
    assert STUDY.cells(tmp_path, *part, "--runs", "1")[f"{PROBLEM}; KNN(k=3); 200"]["runs"] == 1
    cells = STUDY.cells(tmp_path, *part, "--runs", "3")
    assert {entry["runs"] for entry in cells.values()} == {3}
    assert f"| {PROBLEM} | KNN(k=3) | 0.0000 |" in STUDY.page(tmp_path)


def _page(name, errors):
    """The page of ten runs whose absolute errors are the same at each sample size."""
    sums = [{"signed": 10 * e, "absolute": 10 * e, "squared": 10 * e**2} for e in errors]
    keys = [f"{PROBLEM}; {name}; {n}" for n in consistency.SIZES]
    entries = ({"runs": 10, "seconds": 0.1} | each for each in sums)
    return consistency.markdown({"cells": dict(zip(keys, entries, strict=True))})


@pytest.mark.parametrize(
    ("errors", "exponent", "verdict"),
    [
        ((0.4, 0.2, 0.1), "-0.50", "yes"),
        ((0.4, 0.39, 0.38), "-0.02", "slowly"),
        ((0.4, 0.1, 0.2), "-0.25", "stalls"),
        ((0.1, 0.2, 0.4), "0.50", "NO"),
    ],
)
def test_what_the_page_says_of_errors(errors, exponent, verdict):
    page = _page("KNN(k=3)", errors)
    assert f"| {exponent} | {verdict} |" in page
    assert f"shrinks in {int(verdict == 'yes')} of 1 cases" in page
    assert (f"* {verdict}: {PROBLEM}, by KNN(k=3)" in page) == (verdict != "yes")
    assert "shrinks in 0 of 0 cases" in _page(consistency.label(MaximumEntropy()), errors)
