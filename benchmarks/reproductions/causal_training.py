"""python -m benchmarks.reproductions.causal_training: train the classifier of `mercer.causal.ScoreClassifier`.

Writes src/mercer/causal/direction_weights.json: a multinomial logistic regression on scores of 3,000 made pairs of five
kinds with random spline mechanisms, each in both directions. `causal_direction.py` judges it on pairs with mechanisms
from Gaussian processes, with other seeds.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from mercer.causal.pair_scores import SCORE_NAMES
from mercer.causal.penalised_spline import standardized
from mercer.causal.score_classifier import symmetric_scores
from mercer.datasets import (
    AdditivePair,
    ConfoundedPair,
    DiscretePair,
    HeteroscedasticPair,
    PostNonlinearPair,
    SplineMechanism,
)

FILE = Path(__file__).parents[2] / "src" / "mercer" / "causal" / "direction_weights.json"
KINDS = (AdditivePair, PostNonlinearPair, HeteroscedasticPair, DiscretePair, ConfoundedPair)
PAIRS, SEED = 600, 11  # of each kind
SIZES = (200, 400, 800)  # observations, in turn
PENALTY = 0.1  # C of scikit-learn, of standardized scores


def scored(kind: int, number: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Scores of one made pair: differences, sums, dependence."""
    rng = np.random.default_rng([SEED, kind, number])
    x, y = KINDS[kind](SplineMechanism()).draw(SIZES[number % len(SIZES)], rng)
    scores = symmetric_scores(standardized(x), standardized(y))
    return scores.difference, scores.total, scores.dependence


def main() -> int:
    """Score the pairs, fit, and write the coefficients."""
    rows, labels = [], []
    for kind in range(len(KINDS)):
        for number in range(PAIRS):
            difference, total, dependence = scored(kind, number)
            for sign in (1, -1):
                rows.append(np.concatenate([sign * difference, total, [dependence]]))
                labels.append(sign if KINDS[kind]().causal else 0)
        print(KINDS[kind].__name__, flush=True)
    points, number = np.array(rows), len(SCORE_NAMES)
    centre, scale = points.mean(axis=0), np.maximum(points.std(axis=0), 1e-9)
    model = LogisticRegression(C=PENALTY, max_iter=5000).fit((points - centre) / scale, labels)
    backward, neither, forward = model.coef_ / scale  # classes -1, 0, 1
    intercepts = model.intercept_ - model.coef_ @ (centre / scale)
    common = (forward + backward) / 2  # the same for both directions, up to rounding: subtracted
    difference = (forward - backward)[:number] / 2
    total = (neither - common)[number:-1]
    stored = {
        "about": "Multinomial logistic regression of benchmarks/reproductions/causal_training.py.",
        "scores": {
            name: [float(f"{a:.6g}"), float(f"{b:.6g}")]
            for name, a, b in zip(SCORE_NAMES, difference, total, strict=True)
        },
        "dependence": float(f"{(neither - common)[-1]:.6g}"),
        "intercept": float(f"{intercepts[1] - (intercepts[0] + intercepts[2]) / 2:.6g}"),
    }
    FILE.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
