"""The doors of functions, of distances in feature space, and of weights by embeddings."""

from __future__ import annotations

from mercer.kernels import canonical_distance, facts_on_points
from mercer.rkhs import Function, abc_posterior, fsic, kernel_mean_matching, prototypes
from tests.bad_input.doors import K, W, X, Y, door

FUNCTION_DOORS = [
    door("kernels.canonical_distance", "x y", X, Y, calls=lambda x, y: canonical_distance(K, x, y)),
    door(
        "rkhs.Function.gradient",
        "points x",
        X,
        Y,
        calls=lambda points, x: Function(K, points, W)[0].gradient(x),
        columns=True,
        also=("weights",),
    ),
    door(
        "kernels.facts_on_points",
        "x",
        X,
        calls=lambda x: float(facts_on_points(K, x).separates is not None),
    ),
    door(
        "rkhs.fsic",
        "x y",
        X,
        Y,
        calls=lambda x, y: fsic(K, K, x, y, locations=(X[:2], Y[:2])),
    ),
    door("rkhs.prototypes", "x", X, calls=lambda x: prototypes(K, x, 1).mmd2),
    door(
        "rkhs.kernel_mean_matching",
        "x y",
        X,
        X[::-1] + 0.5,
        calls=lambda x, y: kernel_mean_matching(x, y, kernel=K, largest=10.0).shape,
        columns=True,
    ),
    door(
        "rkhs.abc_posterior",
        "parameters",
        X,
        calls=lambda p: abc_posterior(p, [X] * len(X), X + 1, epsilon=1.0, kernel=K).weights,
        also=("simulated",),
    ),
]
