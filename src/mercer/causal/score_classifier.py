"""Cause or effect by a classifier of scores of both directions, trained on simulated pairs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from mercer import validate
from mercer.causal.direction import DirectionMethod, DirectionResult, Verdict, judged_pair
from mercer.causal.pair_scores import SCORE_NAMES, dependence, direction_scores

_MAX_ROWS = 2000  # observations that scores are computed from; more do not change them much


@dataclass(frozen=True)
class ScoreClassifier(DirectionMethod):
    """The direction by a classifier of scores of both directions; abstains from hidden common causes.

    For both directions 27 scores measure how independent the noise is of the cause: residual variance and
    dependence of residuals on the cause, as they are, divided by their spread, and after normal scores of the effect;
    slopes (Janzing et al. 2012); conditional histograms; noise of whole numbers (`mercer.causal.pair_scores`). A
    multinomial logistic regression with three classes, x -> y, y -> x and a hidden common cause, was trained on
    pairs with random spline mechanisms; `python -m benchmarks.reproductions.causal_training` trains it again. The
    answer does not depend on which variable is called x.

    The probabilities are those of simulated pairs, of which a fifth were confounded. Where real mechanisms differ, they
    only order pairs by how clear they are.

    Parameters
    ----------
    confidence : float
        Abstains if no direction has this probability.

    Examples
    --------
    >>> from mercer.causal import causal_direction
    >>> rng = np.random.default_rng(0)
    >>> x = rng.gamma(3.0, size=400)
    >>> y = np.sin(x) + (0.2 + 0.1 * x) * rng.normal(size=400)  # the spread grows with x
    >>> causal_direction(x, y, method=ScoreClassifier()).direction
    'x -> y'
    """

    confidence: float = 0.5

    def __post_init__(self) -> None:
        validate.between("confidence", self.confidence, 0.0, 1.0)

    def judge(self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Verdict:
        """The verdict from the probabilities of three classes."""
        if len(x) > _MAX_ROWS:
            rows = rng.choice(len(x), _MAX_ROWS, replace=False)
            x, y = x[rows], y[rows]
        forward, backward, neither = class_probabilities(symmetric_scores(x, y), weights())
        scores = {
            "probability of x -> y": forward,
            "probability of y -> x": backward,
            "probability of a hidden common cause": neither,
        }
        reason = (
            f"Probabilities among simulated pairs: {forward:.2f} for x -> y, {backward:.2f} for y -> x, "
            f"{neither:.2f} for a hidden common cause."
        )
        clear = max(forward, backward) >= self.confidence and forward != backward
        return Verdict(forward > backward if clear else None, scores, reason)


def causal_direction(
    x: Any, y: Any, *, method: DirectionMethod | None = None, rng: Any = None
) -> DirectionResult:
    """Tell whether x causes y or y causes x, from observations alone; perhaps abstain.

    This is possible only under assumptions: one of the two causes the other, nothing unobserved causes both, and the
    noise is independent of the cause. Linear relations with Gaussian noise look the same both ways. Take the answer as
    a hint which experiment to make.

    Parameters
    ----------
    x, y : numbers, one column each
        Row i of each is one observation; at least 20.
    method : DirectionMethod or None
        `AdditiveNoise()`, `RegressionError()`, `RandomizedCausation()` or `ScoreClassifier()`, which is the default.
    rng : int, Generator or None
        For methods that are random.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> altitude = rng.gamma(3.0, 300.0, size=400)
    >>> temperature = 15 - altitude / 150 - (altitude / 900) ** 3 + rng.normal(size=400)
    >>> print(causal_direction(altitude, temperature))
    Asked: does x cause y, or y cause x? (400 observations)
    Verdict: x -> y (ScoreClassifier). Probabilities among simulated pairs: ...
    """
    method = ScoreClassifier() if method is None else method
    expected = "a method, such as AdditiveNoise()"
    validate.instance("method", method, DirectionMethod, expected)
    return judged_pair(method, x, y, rng)


# ---- the classifier -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Weights:
    """Coefficients of the logistic regression: of differences of scores for the directions, of sums for neither."""

    difference: np.ndarray  # (27,)
    total: np.ndarray  # (27,)
    dependence: float
    intercept: float


@dataclass(frozen=True)
class SymmetricScores:
    """Scores of both directions as difference and sum, and the dependence of the variables."""

    difference: np.ndarray
    total: np.ndarray
    dependence: float


def symmetric_scores(x: np.ndarray, y: np.ndarray) -> SymmetricScores:
    """Scores of two standardized variables; exchanging them turns the sign of the difference."""
    forward, backward = direction_scores(x, y), direction_scores(y, x)
    return SymmetricScores(forward - backward, forward + backward, dependence(x, y))


def class_probabilities(
    scores: SymmetricScores, coefficients: Weights
) -> tuple[float, float, float]:
    """Probabilities of x -> y, y -> x and neither."""
    direction = float(coefficients.difference @ scores.difference)
    neither = float(coefficients.total @ scores.total) + coefficients.intercept
    neither += coefficients.dependence * scores.dependence
    logits = np.array([direction, -direction, neither])
    odds = np.exp(logits - logits.max())
    forward, backward, rest = (float(p) for p in odds / odds.sum())
    return forward, backward, rest


@cache
def weights() -> Weights:
    """The trained coefficients that ship with mercer."""
    text = files("mercer.causal").joinpath("direction_weights.json").read_text(encoding="utf-8")
    stored = json.loads(text)
    columns = [stored["scores"][name] for name in SCORE_NAMES]
    difference, total = (np.array(column) for column in zip(*columns, strict=True))
    return Weights(difference, total, stored["dependence"], stored["intercept"])
