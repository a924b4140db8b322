"""Cause or effect: made pairs are told right, methods are antisymmetric, and they abstain where they should."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer.causal import (
    AdditiveNoise,
    RandomizedCausation,
    RegressionError,
    ScoreClassifier,
    causal_direction,
)
from mercer.causal.pair_scores import SCORE_NAMES, direction_scores
from mercer.causal.penalised_spline import spline_smoother, standardized
from mercer.datasets import (
    AdditivePair,
    ConfoundedPair,
    DiscretePair,
    GaussianProcessMechanism,
    HeteroscedasticPair,
    PostNonlinearPair,
    SplineMechanism,
)

KINDS = (AdditivePair, PostNonlinearPair, HeteroscedasticPair, DiscretePair, ConfoundedPair)
QUICK = RandomizedCausation(pairs=120, rows=100, features=30)


@pytest.mark.parametrize("kind", KINDS)
def test_the_default_is_right_about_made_pairs(kind):
    """40 pairs; with the true rates of 0.9 and more, fewer than 27 right happen once in 10^4 or less."""
    truth = "x -> y" if kind().causal else None
    pairs = (kind().sample(300, rng=700 + i) for i in range(40))
    assert sum(causal_direction(x, y).direction == truth for x, y in pairs) >= 27


@pytest.mark.parametrize(
    "method", [ScoreClassifier(), AdditiveNoise(), RegressionError(), QUICK], ids=repr
)
def test_exchanging_the_variables_turns_the_arrow(method):
    turned = {"x -> y": "y -> x", "y -> x": "x -> y", None: None}
    for i in range(8):
        x, y = AdditivePair().sample(80, rng=i)
        forward, backward = (causal_direction(*p, method=method, rng=0) for p in ((x, y), (y, x)))
        assert backward.direction == turned[forward.direction]


def test_units_do_not_matter():
    x, y = HeteroscedasticPair().sample(100, rng=0)
    for method in (None, AdditiveNoise(), RegressionError()):
        first = causal_direction(x, y, method=method, rng=0).scores
        second = causal_direction(3 + 10 * x, 5 * y - 1, method=method, rng=0).scores
        assert_allclose(list(first.values()), list(second.values()), rtol=1e-6)


def test_additive_noise_abstains_from_linear_gaussian_pairs_and_from_confounded_ones():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    linear = causal_direction(x, x + rng.normal(size=300), method=AdditiveNoise())
    assert linear.abstains
    assert "Both" in linear.reason
    z = rng.uniform(-2, 2, size=800)
    x, y = np.sin(3 * z) + 0.2 * rng.normal(size=800), z**2 + 0.2 * rng.normal(size=800)
    confounded = causal_direction(x, y, method=AdditiveNoise())
    assert confounded.abstains
    assert "Neither" in confounded.reason


def test_regression_error_abstains_within_its_margin():
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    y = x + 0.5 * rng.normal(size=300)
    assert causal_direction(x, y, method=RegressionError(0.2)).abstains


def test_results_tell_names_and_scores():
    rng = np.random.default_rng(0)
    x = rng.gamma(3.0, size=300)
    y = -x - (x / 3) ** 3 + rng.normal(size=300)
    frame = pd.DataFrame({"altitude": x, "temperature": y})
    result = causal_direction(frame[["altitude"]], frame["temperature"])
    assert result.direction == "altitude -> temperature"
    assert "for altitude -> temperature" in str(result)
    assert result.to_dict()["method"] == "ScoreClassifier"
    assert "<table>" in result._repr_html_()
    assert result.to_frame().shape[0] == 1
    assert sum(result.scores.values()) == pytest.approx(1.0)


def test_scores_have_names_and_are_finite():
    for kind in KINDS:
        x, y = (standardized(v) for v in kind(SplineMechanism()).sample(60, rng=1))
        scores = direction_scores(x, y)
        assert len(scores) == len(SCORE_NAMES)
        assert np.all(np.isfinite(scores))


def test_the_spline_finds_smooth_functions_and_group_means():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=500)
    fitted = spline_smoother(x)(np.sin(2 * x) + 0.1 * rng.normal(size=500))
    assert np.mean((fitted - np.sin(2 * x)) ** 2) < 0.002  # df / n * 0.01 = 0.0003, and bias
    groups = rng.integers(5, size=500).astype(float)
    t = rng.normal(size=500)
    want = [t[groups == g].mean() for g in groups]
    assert_allclose(spline_smoother(groups)(t), want, rtol=1e-12)


def test_bad_arguments_are_refused():
    x, y = AdditivePair().sample(50, rng=0)
    with pytest.raises(ValueError, match="one column"):
        causal_direction(np.column_stack([x, y]), y)
    with pytest.raises(ValueError, match="at least 20"):
        causal_direction(x[:10], y[:10])
    with pytest.raises(ValueError, match="neither cause nor effect"):
        causal_direction(np.ones(50), y)
    with pytest.raises(TypeError, match="method must be"):
        causal_direction(x, y, method="anm")
    for wrong in (
        lambda: AdditiveNoise(fits=2.0),
        lambda: RegressionError(0.0),
        lambda: ScoreClassifier(1.0),
    ):
        with pytest.raises(ValueError, match="between 0 and 1"):
            wrong()
    with pytest.raises(ValueError, match="at least 20"):
        RandomizedCausation(pairs=3)
    with pytest.raises(ValueError, match="short must be at most"):
        GaussianProcessMechanism(2.0, 1.0)


def test_a_pair_that_does_not_depend_on_each_other_is_no_common_cause():
    """The classifier knows no independent pairs: its most probable class for them is a hidden common cause."""
    x, y = np.random.default_rng(0).normal(size=(2, 300))
    found = causal_direction(x, y)
    assert found.abstains
    assert found.summary().endswith("whether these do, independence(x, y) tells.")
    caused = causal_direction(x, np.exp(x) + 0.3 * y)
    assert caused.summary().endswith("no experiment was made.")
