"""Randomised causation coefficient: pairs as points, by random features of their mean embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from mercer import validate
from mercer.causal.direction import DirectionMethod, Verdict
from mercer.causal.penalised_spline import standardized
from mercer.datasets.cause_effect_problems import (
    AdditivePair,
    DiscretePair,
    HeteroscedasticPair,
    PostNonlinearPair,
    SplineMechanism,
)
from mercer.kernels import RBF, median_bandwidth
from mercer.learn import SVC

_SCALES = (0.3, 3.0)  # of the frequencies, drawn evenly on a logarithmic scale between these
_PENALTY = 10.0  # C of the machine; 1 to 30 differ by 0.01 on training pairs that were left out
_KINDS = (AdditivePair, PostNonlinearPair, HeteroscedasticPair, DiscretePair)


@dataclass(frozen=True)
class RandomizedCausation(DirectionMethod):
    """Randomised causation coefficient (RCC): a classifier on random features of mean embeddings of pairs.

    A pair of variables is represented by the means of random cosines of x, of y and of both together, which
    approximate the mean embeddings of the three distributions, and a support vector machine learns from simulated
    pairs which of two variables is the cause (Lopez-Paz et al. 2015). The simulated pairs have random spline mechanisms
    with additive, post-nonlinear, heteroscedastic and discrete noise. Training takes a few seconds and is done once
    for each configuration in a process.

    Parameters
    ----------
    pairs : int
        Simulated pairs to learn from; each is used in both directions.
    rows : int
        Observations of each simulated pair.
    features : int
        Cosines of each of the three distributions.
    margin : float
        Abstains if the decision value is at most this in both directions.
    seed : int
        Seed of the pairs and of the frequencies.

    Examples
    --------
    >>> from mercer.causal import causal_direction
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, size=400)
    >>> y = np.sin(2 * x) + 0.3 * rng.normal(size=400)
    >>> causal_direction(x, y, method=RandomizedCausation(pairs=200)).direction
    'x -> y'
    """

    pairs: int = 1200
    rows: int = 300
    features: int = 80
    margin: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        validate.whole("pairs", self.pairs, least=20)
        validate.whole("rows", self.rows, least=20)
        validate.whole("features", self.features)
        validate.non_negative("margin", self.margin)
        validate.whole("seed", self.seed, least=0)

    def judge(self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Verdict:
        """The verdict from the decision value, antisymmetric in x and y."""
        trained = _trained(self)
        both = np.stack([trained.features(x, y), trained.features(y, x)])
        forward, backward = (float(value) for value in trained.machine.decision_function(both))
        value = (forward - backward) / 2
        scores = {"decision value": value}
        reason = f"The decision value is {value:.3g}, positive for x -> y."
        return Verdict(None if abs(value) <= self.margin else value > 0, scores, reason)


@dataclass(frozen=True, eq=False)
class _Trained:
    """Frequencies and phases of the cosines, and the machine."""

    single: np.ndarray  # (m,)
    double: np.ndarray  # (2, m)
    phases: np.ndarray  # (3, m)
    machine: SVC

    def features(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Means of the cosines of x, of y and of both: (3 m,)."""
        angles = (
            np.outer(x, self.single),
            np.outer(y, self.single),
            np.column_stack([x, y]) @ self.double,
        )
        means = [
            np.cos(a + phase).mean(axis=0) for a, phase in zip(angles, self.phases, strict=True)
        ]
        return np.concatenate(means)


@cache
def _trained(method: RandomizedCausation) -> _Trained:
    rng, m = np.random.default_rng(method.seed), method.features
    low, high = (float(np.log(scale)) for scale in _SCALES)
    widths = np.exp(rng.uniform(low, high, (2, m)))
    single, double = widths[0] * rng.standard_normal(m), widths[1] * rng.standard_normal((2, m))
    untrained = _Trained(single, double, rng.uniform(0, 2 * np.pi, (3, m)), SVC())
    rows, labels = [], []
    for number in range(method.pairs):
        problem = _KINDS[number % len(_KINDS)](SplineMechanism())
        x, y = (standardized(v) for v in problem.draw(method.rows, rng))
        rows += [untrained.features(x, y), untrained.features(y, x)]
        labels += [1, -1]
    points = np.stack(rows)
    machine = SVC(RBF(median_bandwidth(points)), C=_PENALTY).fit(points, np.array(labels))
    return _Trained(untrained.single, untrained.double, untrained.phases, machine)
