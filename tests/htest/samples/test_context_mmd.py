"""ContextMMD: the statistic and the ridge by hand, probabilities of the labels, level, power and refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.errors import MemoryBudgetError
from mercer.htest import MMD, ContextMMD
from mercer.htest.samples.context_mmd import ContextEvidence, best_ridge, drawn_labels
from mercer.htest.samples.propensity import propensities
from mercer.kernels import RBF
from mercer.rkhs import Empirical

FAST = ContextMMD(resamples=39)


def linear(rng: np.random.Generator, n: int, moved: float = 0.0):
    """x is its context and noise; the contexts of the second sample are larger by one."""
    winter, summer = rng.normal(0.0, 1.0, n), rng.normal(1.0, 1.0, n)
    return winter + rng.normal(size=n), summer + rng.normal(size=n) + moved, winter, summer


def test_statistic_is_the_mean_distance_of_conditional_embeddings():
    """Each embedding by itself, and its squared norm term by term."""
    rng = np.random.default_rng(0)
    x, context = rng.normal(size=(20, 2)), rng.normal(size=(20, 1))
    gram, contexts = RBF(1.0)(x, x), RBF(0.7)(context, context)
    rows, targets = np.arange(16), np.arange(16, 20)
    labels = rng.random(16) < 0.5
    evidence = ContextEvidence.of(gram, contexts, rows, targets, labels)
    total = 0.0
    for target in targets:
        weights = []
        for label in (True, False):
            group = rows[labels == label]
            matrix = contexts[np.ix_(group, group)] + len(group) * evidence.ridge * np.eye(
                len(group)
            )
            weights.append((group, np.linalg.inv(matrix) @ contexts[group, target]))
        for a, (first, u) in enumerate(weights):
            for b, (second, v) in enumerate(weights):
                sign = 1.0 if a == b else -1.0
                total += sign * u @ gram[np.ix_(first, second)] @ v
    # the condition number is below 1e4, so that twelve digits remain of sixteen
    np.testing.assert_allclose(evidence.statistic(labels), total / 4, rtol=1e-9)


def test_ridge_predicts_left_out_observations_best():
    """The error that leaves one out, by fits without that row."""
    rng = np.random.default_rng(1)
    context = rng.normal(size=(25, 1))
    x = np.sin(2 * context) + 0.3 * rng.normal(size=(25, 1))
    gram, contexts = RBF(1.0)(x, x), RBF(0.7)(context, context)
    ridge = best_ridge(gram, contexts)

    def error(ridge: float) -> float:
        total = 0.0
        for i in range(25):
            rest = np.delete(np.arange(25), i)
            matrix = contexts[np.ix_(rest, rest)] + 25 * ridge * np.eye(24)
            w = np.linalg.solve(matrix, contexts[rest, i])
            total += 1 - 2 * w @ gram[rest, i] + w @ gram[np.ix_(rest, rest)] @ w
        return total

    assert error(ridge) <= min(error(5.18 * ridge), error(ridge / 5.18))  # neighbours on the grid


def test_probabilities_follow_the_context():
    """Normal contexts of equal variance, one apart: the log odds are c - 1/2."""
    rng = np.random.default_rng(2)
    labels = np.arange(800) % 2 == 1
    context = rng.normal(size=800) + labels
    chances = propensities(RBF(1.0)(context[:, None], context[:, None]), labels)
    truth = 1 / (1 + np.exp(0.5 - context))
    assert np.mean(np.abs(chances - truth)) < 0.05  # 0.02 to 0.03 were measured with ten seeds


def test_only_the_context_changes():
    """MMD rejects what the context explains, ContextMMD does not: 30 samples."""
    rejected = mmd = 0
    for run in range(30):
        x, y, *contexts = linear(np.random.default_rng([3, run]), 40)
        rejected += FAST.test(x, y, *contexts, rng=run).rejects()
        mmd += MMD().test(x, y, rng=run).rejects() if run < 10 else 0
    assert rejected <= 5  # a level of 0.05 exceeds it once in 300
    assert mmd >= 5


def test_more_than_the_context_changes():
    drawn = (linear(np.random.default_rng([4, run]), 60, 1.2) for run in range(10))
    assert sum(FAST.test(*samples, rng=0).rejects() for samples in drawn) >= 8


def test_data_frames_with_categories():
    rng = np.random.default_rng(5)
    seasons = [
        pd.DataFrame({"season": rng.choice(["dry", "wet"], 60, p=p)})
        for p in ([0.3, 0.7], [0.7, 0.3])
    ]
    x, y = (3.0 * (s["season"] == "wet").to_numpy() + rng.normal(size=60) for s in seasons)
    assert not FAST.test(x, y, *seasons, rng=0).rejects()
    assert FAST.test(x, y + 1.5, *seasons, rng=0).rejects()


def test_contexts_that_hardly_overlap_are_noted():
    rng = np.random.default_rng(6)
    winter, summer = rng.normal(0, 1, (50, 1)), rng.normal(6, 1, (50, 1))
    result = ContextMMD(resamples=9).test(winter, summer, winter, summer, rng=0)
    assert "nearly lacks" in result.notes[0]
    with pytest.raises(ValueError, match="do not overlap"):
        drawn_labels(np.zeros(10), rng)


def test_verdict_is_about_the_context():
    samples = linear(np.random.default_rng([4, 0]), 60, 3.0)
    assert "Given the context, the samples have different" in str(FAST.test(*samples, rng=0))
    assert "beyond what the context explains" in FAST.verdict(False)


def test_refusals():
    x = np.random.default_rng(0).normal(size=(10, 1))
    with pytest.raises(ValueError, match="y and context_y must have the same number of points"):
        FAST.test(x, x, x, x[:9])
    with pytest.raises(ValueError, match="x must have at least 8 points, got 7"):
        FAST.test(x[:7], x, x[:7], x)
    with pytest.raises(TypeError, match="no weighted samples"):
        FAST.test(Empirical(x, np.full(10, 0.1)), x, x, x)
    with pytest.raises(ValueError, match="held_out"):
        ContextMMD(held_out=1.5)
    with (
        mercer.config(memory="16MiB"),
        pytest.raises(MemoryBudgetError, match="compare fewer rows"),
    ):
        FAST.test(*(np.arange(1000.0)[:, None],) * 4)
