"""The latent mean map kernel against its double sum, and what follows from its definition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.errors import NoRule
from mercer.gram import Gram
from mercer.kernels import RBF
from mercer.rkhs import Empirical, Gaussian, LatentMeanMap, MeanMap


@dataclass(frozen=True)
class Smoothed:
    """Probabilities of three states that depend on the neighbours in a sequence, too."""

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        scores = np.stack([x[:, 0], -x[:, 0], np.roll(x[:, 1], 1)], axis=1)
        values = np.exp(scores)
        return values / values.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class OneState:
    """A model with a single state, which tells nothing."""

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        return np.ones((len(x), 1))


@pytest.fixture
def sequences():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(n, 2)) for n in (3, 5, 4)]


def brute(k, x, y, states, wx=None, wy=None):
    px, py = Smoothed().predict_proba(x), Smoothed().predict_proba(y)
    wx = np.full(len(x), 1 / len(x)) if wx is None else wx
    wy = np.full(len(y), 1 / len(y)) if wy is None else wy
    return sum(
        wx[t] * wy[s] * float(k(x[t : t + 1], y[s : s + 1])[0, 0]) * px[t, h] * states[h, g] * py[s, g]
        for t in range(len(x)) for s in range(len(y)) for h in range(3) for g in range(3)
    )  # fmt: skip


@pytest.mark.parametrize("states", [None, [[1.0, 0.5, 0.0], [0.5, 2.0, 0.1], [0.0, 0.1, 1.0]]])
def test_it_is_the_double_sum_over_points_and_states(sequences, states):
    kernel = LatentMeanMap(RBF(0.8), Smoothed(), states)
    table = np.eye(3) if states is None else np.array(states)
    expected = [[brute(RBF(0.8), x, y, table) for y in sequences] for x in sequences]
    assert_allclose(kernel(sequences), expected, rtol=1e-12)
    assert_allclose(Gram(kernel, sequences) @ np.ones(3), np.sum(expected, axis=1), rtol=1e-12)
    weights = np.array([0.5, 0.3, 0.2])
    weighted = kernel([Empirical(sequences[0], weights)], sequences[1:2])[0, 0]
    assert_allclose(weighted, brute(RBF(0.8), *sequences[:2], table, wx=weights), rtol=1e-12)


def test_one_state_is_the_mean_map(sequences):
    found = LatentMeanMap(RBF(0.8), OneState())(sequences)
    assert_allclose(found, MeanMap(RBF(0.8))(sequences), rtol=1e-13)


def test_refusals(sequences):
    with pytest.raises(TypeError, match="predict_proba"):
        LatentMeanMap(RBF(1.0), object())
    with pytest.raises(ValueError, match="positive semi-definite"):
        LatentMeanMap(RBF(1.0), Smoothed(), [[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match="the 3 states of the model, got 2"):
        LatentMeanMap(RBF(1.0), Smoothed(), np.eye(2))(sequences)
    with pytest.raises(NoRule, match="draw from each first"):
        LatentMeanMap(RBF(1.0), Smoothed())([Gaussian([0.0, 0.0], 1.0)])
