"""Numbers learnt from bags: the study in small, its problems, and its learners by a second road."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

from benchmarks.reproductions import deep_sets
from benchmarks.reproductions import distribution_learners as learners
from benchmarks.reproductions import distribution_problems as problems
from benchmarks.reproductions import distribution_regression as study
from mercer.kernels import RBF
from mercer.learn import DistributionRegressor, RidgePath
from mercer.rkhs import MeanMap, ShrunkMeanMap

ROOT = Path(__file__).resolve().parents[2]


def few(seed: int = 0, number: int = 40, points: int = 60) -> problems.Split:
    rng = np.random.default_rng(seed)
    samples, y = problems.rotated(rng, number, points)
    return problems.Split.of(samples, y, np.sort(rng.permutation(number)[: number // 2]))


def error(name: str, split: problems.Split) -> float:
    found = learners.LEARNERS[name](split, np.random.default_rng(0))
    return float(np.sqrt(np.mean((found.y - split.asked[1]) ** 2)))


# ---- problems -------------------------------------------------------------------------------


def test_entropies_are_those_of_the_samples():
    samples, y = problems.rotated(np.random.default_rng(0), 7, 40_000)
    for sample, entropy in zip(samples, y, strict=True):
        plug_in = 0.5 * np.log(2 * np.pi * np.e * sample[:, 0].var())
        assert abs(plug_in - entropy) < 5 / np.sqrt(2 * 40_000)


def test_skewnesses_are_those_of_the_samples():
    skew = pytest.importorskip("scipy.stats").skew
    samples, y = problems.betas(np.random.default_rng(0), 7, 40_000)
    assert max(abs(skew(s[:, 0]) - t) for s, t in zip(samples, y, strict=True)) < 0.08


def test_shapes_have_no_mean_and_no_scale():
    samples, _ = problems.shapes(np.random.default_rng(0))
    assert max(abs(s.mean()) for s in samples) < 1e-12
    assert max(abs(s.var() - 1) for s in samples) < 1e-12


def test_small_bags_come_in_three_sizes():
    samples, y = problems.gammas(np.random.default_rng(0))
    assert sorted({len(s) for s in samples}) == [5, 20, 100]
    big = [(s, k) for s, k in zip(samples, y, strict=True) if len(s) == 100]
    # chi-square over its degrees of freedom k: mean 1, variance 2 / k
    assert abs(np.mean([s.mean() for s, _ in big]) - 1) < 0.02
    assert abs(np.mean([s.var() * k / 2 for s, k in big]) - 1) < 0.05


def test_aerosols_brighten_the_dark_pixels_of_an_area():
    """Clouds are brighter than any ground, and the darkest of the other pixels tell of the aerosols."""
    samples, y = problems.satellite(np.random.default_rng(0), 60, 200)
    assert {s.shape for s in samples} == {(200, 16)}
    darkest = [np.quantile(s[:, 0], 0.05) for s in samples]  # the shortest wavelength
    assert np.corrcoef(darkest, y)[0, 1] > 0.8
    cloudy = [np.mean(s[:, 5] > 0.45) for s in samples]
    assert max(cloudy) > 0.35
    assert abs(np.corrcoef(cloudy, y)[0, 1]) < 0.5


def test_columns_are_scaled_by_what_is_learnt_from():
    split = few()
    values = split.learnt[0].values
    assert np.abs(values.mean(axis=0)).max() < 1e-12
    assert np.abs(values.var(axis=0) - 1).max() < 1e-12
    assert not set(split.train) & set(split.test)
    assert len(split.train) + len(split.test) == len(split.y)


# ---- learners -------------------------------------------------------------------------------


@pytest.mark.parametrize("shrunk", [False, True])
def test_looked_up_matrices_are_those_of_the_kernels(shrunk):
    split = few(number=10, points=15)
    kernel = (ShrunkMeanMap if shrunk else MeanMap)(RBF(0.7))
    whole = kernel(split.bags)
    found = learners._matrix(split, 0.7, shrunk)
    asked = np.ix_(split.test, split.test)
    known = np.ones_like(found, dtype=bool)
    known[asked] = np.eye(len(split.test), dtype=bool)
    np.testing.assert_allclose(found[known], whole[known], rtol=1e-10)


def test_merr_is_the_regressor_of_the_library(monkeypatch):
    monkeypatch.setattr(learners, "WIDTHS", (0.5,))
    monkeypatch.setattr(learners, "SECOND", (1.0, 4.0))
    split = few(number=20, points=8)
    (bags, y), (asked, _) = split.learnt, split.asked
    found = learners.merr_rbf(split, np.random.default_rng(0))
    centre = y.mean()
    folds = list(KFold(learners.FOLDS, shuffle=True, random_state=0).split(y))
    best = None
    for width in learners.point_widths(split):
        inner = MeanMap(RBF(width))
        for factor in learners.SECOND:
            kernel = RBF(factor * learners.distance(inner(bags))).on(inner)
            for ridge in RidgePath().on(len(y)):  # the trace: the kernel is one at equal points
                machine = DistributionRegressor(kernel, float(ridge), intercept=False)
                score = sum(
                    np.sum(
                        (machine.fit(bags[a], y[a] - centre).predict(bags[b]) + centre - y[b]) ** 2
                    )
                    for a, b in folds
                )
                if best is None or score < best[0]:
                    best = score, clone(machine)
    again = centre + best[1].fit(bags, y - centre).predict(asked)
    np.testing.assert_allclose(found.y, again, rtol=1e-5, atol=1e-5)


def test_embeddings_learn_what_means_do_not_know():
    split = few()
    names = ["MERR, linear", "MERR, RBF", "MERR, RBF, shrunk", "mean features", "Bayesian"]
    plain = min(error("ridge on means", split), error("ridge on points", split))
    assert plain > 0.7 * split.asked[1].std()
    for name in names:
        assert error(name, split) < 0.6 * plain, name


def test_half_to_choose_by_is_ridge_regression_on_a_half():
    """By the primal road: the ridge that was chosen is among those whose prediction is found."""
    split = few(number=16, points=20)
    found = learners.merr_published(split, np.random.default_rng(3)).y
    order = np.random.default_rng(3).permutation(split.train)
    one, y = order[: len(order) // 2], split.y
    options = []
    for width in learners.point_widths(split):
        whole = MeanMap(RBF(width))(split.bags)
        values, vectors = np.linalg.eigh(whole[np.ix_(one, one)])
        for power in range(-10, 0):
            weights = vectors @ ((vectors.T @ y[one]) / (values + len(one) * 10.0**power))
            options.append(whole[np.ix_(split.test, one)] @ weights)
    assert min(np.abs(o - found).max() for o in options) < 1e-5


@pytest.mark.skipif(bool(deep_sets.MISSING), reason=deep_sets.MISSING or "installed")
def test_deep_sets_learn_and_do_not_depend_on_the_order_of_points():
    split = few(points=100)
    (bags, y), (asked, truth) = split.learnt, split.asked
    found = deep_sets.deep_sets(bags, y, asked, np.random.default_rng(0), steps=150)
    assert np.sqrt(np.mean((found - truth) ** 2)) < 0.5 * truth.std()
    turned = type(asked).of([b.points[::-1] for b in asked])
    again = deep_sets.deep_sets(bags, y, turned, np.random.default_rng(0), steps=150)
    np.testing.assert_allclose(found, again, atol=1e-4)


# ---- the study ------------------------------------------------------------------------------


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Does a part of the study, and returns its cells."""

    def part(*arguments: str) -> dict:
        monkeypatch.setattr(sys, "argv", [study.NAME, "--results", str(tmp_path), *arguments])
        assert study.main() == 0
        return json.loads((tmp_path / f"{study.NAME}.json").read_text(encoding="utf-8"))["cells"]

    return part


def test_runs_go_on_where_they_stopped(run, tmp_path):
    part = ("--study", "shape", "--learners", "on means")
    first = run(*part, "--runs", "1")
    assert [cell["runs"] for cell in first.values()] == [1, 1, 1]
    assert run(*part, "--runs", "1") == first
    more = run(*part, "--runs", "2")
    for key, cell in more.items():
        assert cell["runs"] == len(cell["rmse"]) == 2
        assert cell["rmse"][0] == first[key]["rmse"][0]
    text = (tmp_path / f"{study.NAME}.md").read_text(encoding="utf-8")
    assert "| ridge on means |" in text
    assert str(ROOT) not in text


def test_verdicts_follow_the_differences():
    rng = np.random.default_rng(0)
    assert study.verdict(-1 + 0.1 * rng.normal(size=20)) == "yes"
    assert study.verdict(1 + 0.1 * rng.normal(size=20)) == "NO"
    assert study.verdict(rng.normal(size=20) - 1e-3) == "undecided"
    store = {
        "cells": {
            "small/MERR, RBF": {"rmse": [1.0, 1.1, 0.9]},
            "small/ridge on means": {"rmse": [2.0, 2.2, 2.1, 9.0]},
        }
    }
    rows = list(study.claims(store))
    assert [(row["study"], row["ratio"], row["holds"]) for row in rows] == [
        ("small", "0.48", "yes")
    ]
