"""The cases of gram, features and rkhs."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from mercer import rkhs
from mercer.features import (
    KMeansPlusPlus,
    LeverageScores,
    MinHash,
    Nystrom,
    QuasiMonteCarloFourier,
    RandomFourier,
    RandomPhaseFourier,
    RandomWarping,
    TensorSketch,
)
from mercer.gram import (
    Centered,
    Dense,
    Gram,
    Hadamard,
    LowRank,
    PairedWeights,
    PermutedWeights,
    Reweighted,
    Rounded,
    SignWeights,
    cholesky,
    ridge_solve,
    top_eigenpairs,
)
from mercer.kernels import canonical_distance, facts_on_points
from mercer.rkhs import Empirical, Gaussian, Mixture
from tests.memory.case import NORMAL, Case, D, K, on_bags, on_objects, on_samples, on_square, points

GRADIENT = None if find_spec("torch") else NORMAL.score  # torch differentiates log-densities

MANY = 20_000  # points where time is linear in their number
SMALL_MATRIX = 1_400  # points whose matrix just fits


class Signs:
    """A model of two hidden states, the signs of the first column."""

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        return np.stack([x[:, 0] > 0, x[:, 0] <= 0], axis=1).astype(np.float64)


def ones(x: Any, columns: int = 1) -> np.ndarray:
    return np.ones((len(x), columns), dtype=np.float64)


GRAM_CASES = {
    "gram.Gram": on_samples(lambda x: Gram(K, x) @ ones(x)),
    "gram.Gram, many columns": on_samples(lambda x: Gram(K, x) @ ones(x, 40)),
    "gram.Gram, sums": on_samples(lambda x: (Gram(K, x).sum(), Gram(K, x).trace())),
    "gram.Gram, dense": on_samples(lambda x: Gram(K, x).dense()),
    "gram.Gram, dense that fits": on_samples(lambda x: Gram(K, x).dense(), n=SMALL_MATRIX),
    "gram.LazyMatrix, quad": on_samples(lambda x: Gram(K, x).quad(ones(x, 40))),
    "gram.Centered": on_samples(lambda x: Centered.of(Gram(K, x)) @ ones(x)),
    "gram.Hadamard": on_samples(lambda x, y: Hadamard(Gram(K, x), Gram(K, y)).sum(), 2),
    "gram.Reweighted": on_samples(lambda x: Reweighted(Gram(K, x), ones(x)[:, 0]).sum()),
    "gram.Rounded": on_samples(lambda x: Rounded(Gram(K, x)) @ ones(x)),
    "gram.LowRank": on_samples(lambda x: LowRank(x) @ ones(x), n=MANY),
    "gram.Dense": on_square(lambda a: Dense(a).row_sums(), n=1_000),
    "gram.PermutedWeights": on_samples(
        lambda x: Gram(K, x).quad(PermutedWeights(np.sign(x[:, 0]), 999, rng=0)), n=2_000
    ),
    "gram.PermutedWeights, blocks": on_samples(
        lambda x: Gram(K, x).quad(
            PermutedWeights(np.sign(x[:, 0]), 199, rng=0, blocks=np.arange(len(x)) // 50)
        ),
        n=2_000,
    ),
    "gram.SignWeights": on_samples(
        lambda x: Gram(K, x).quad(SignWeights(len(x), 999, rng=0)), n=2_000
    ),
    "gram.PairedWeights": on_samples(
        lambda x: Gram(K, x).quad(PairedWeights(len(x) // 2, 999, rng=0)), n=2_000
    ),
    "gram.cholesky": on_samples(lambda x: cholesky(Gram(K, x), most=50)),
    "gram.cholesky, all columns": on_samples(lambda x: cholesky(Gram(K, x))),
    "gram.ridge_solve": on_samples(lambda x: ridge_solve(Gram(K, x), x[:, 0], 1.0)),
    "gram.ridge_solve, dense": on_samples(
        lambda x: ridge_solve(Gram(K, x), x[:, 0], 1.0), n=SMALL_MATRIX
    ),
    "gram.top_eigenpairs": on_samples(lambda x: top_eigenpairs(Gram(K, x), 5)),
    "gram.top_eigenpairs, many": on_samples(lambda x: top_eigenpairs(Gram(K, x), len(x) // 9)),
    "gram.top_eigenpairs, most": on_samples(
        lambda x: top_eigenpairs(Gram(K, x), len(x) // 2), n=SMALL_MATRIX
    ),
}

FEATURE_CASES = {
    name: on_samples(lambda x, learner=learner: learner.fit(x).transform(x), n=MANY)
    for name, learner in {
        "features.RandomFourier": RandomFourier(n_components=64, random_state=0),
        "features.RandomPhaseFourier": RandomPhaseFourier(n_components=64, random_state=0),
        "features.RandomFourier, too many": RandomFourier(random_state=0),
        "features.QuasiMonteCarloFourier": QuasiMonteCarloFourier(n_components=64, random_state=0),
        "features.Nystrom": Nystrom(n_components=64, random_state=0),
        "features.KMeansPlusPlus": Nystrom(K, 64, rule=KMeansPlusPlus(), random_state=0),
        "features.LeverageScores": Nystrom(K, 64, rule=LeverageScores(), random_state=0),
        "features.TensorSketch": TensorSketch(n_components=64, random_state=0),
    }.items()
} | {
    "features.MinHash": on_objects(
        lambda sets: MinHash(n_components=64, random_state=0).fit_transform(sets),
        lambda n: [frozenset(row) for row in np.random.default_rng(0).integers(500, size=(n, 20))],
    ),
    "features.RandomWarping": on_objects(
        lambda series: RandomWarping(n_components=16, random_state=0).fit_transform(series),
        lambda n: list(np.random.default_rng(0).normal(size=(n, 30, 2))),
    ),
}


def conditional(x: np.ndarray, y: np.ndarray) -> Any:
    law = rkhs.ConditionalEmbedding.fit(x, y, kernel_x=K, kernel_y=K, ridge=0.1)
    return law.expectation(lambda y: y, x)


def covariance(x: np.ndarray, y: np.ndarray) -> rkhs.CovarianceOperator:
    return rkhs.CovarianceOperator.of(x, y, kernel_x=K, kernel_y=K)


def scored(model: Any) -> Case:
    return on_samples(lambda x: (model.log_density(x), model.score(x)), n=MANY)


def gaussians(call: Any, **more: Any) -> Case:
    def prepare(n: int) -> Callable[[], Any]:
        normals = [Gaussian(x, 1.0) for x in points(n)]
        return lambda: call(normals)

    return Case(prepare, **more)


def on_unit(call: Any, d: int = 1) -> Case:
    def prepare(n: int) -> Callable[[], Any]:
        x = np.random.default_rng(0).uniform(size=(n, d))
        return lambda: call(x)

    return Case(prepare, n=MANY)


MEASURES = {
    "rkhs.mmd2": on_samples(lambda x, y: rkhs.mmd2(None, x, y), 2),
    "rkhs.hsic": on_samples(lambda x, y: rkhs.hsic(None, None, x, y), 2),
    "rkhs.hsic, unbiased": on_samples(lambda x, y: rkhs.hsic(None, None, x, y, unbiased=True), 2),
    "rkhs.dhsic": on_samples(lambda *s: rkhs.dhsic(None, s), 3),
    "rkhs.cka": on_samples(lambda x, y: rkhs.cka(None, None, x, y), 2),
    "rkhs.partial_distance_correlation": on_samples(rkhs.partial_distance_correlation, 3),
    "rkhs.coco": on_samples(lambda x, y: rkhs.coco(None, None, x, y), 2),
    "rkhs.kcca": on_samples(lambda x, y: rkhs.kcca(None, None, x, y, ridge=0.1), 2),
    "rkhs.nocco": on_samples(lambda x, y: rkhs.nocco(None, None, x, y, ridge=0.1), 2),
    "rkhs.kernel_generalized_variance": on_samples(
        lambda x, y: rkhs.kernel_generalized_variance(None, None, x, y, ridge=0.1), 2
    ),
    "rkhs.kernel_mutual_information": on_samples(
        lambda x, y: rkhs.kernel_mutual_information(None, None, x, y), 2
    ),
    "rkhs.ksd2": on_samples(lambda x: rkhs.ksd2(None, NORMAL.score, x)),
    "rkhs.witness": on_samples(lambda x, y: rkhs.witness(None, x, y)(x), 2, n=2_500),
    "rkhs.Function": on_samples(lambda x, y: rkhs.Function(K, x, y)(y), 2),
    "rkhs.mercer_expansion": on_samples(lambda x: rkhs.mercer_expansion(K, x, 5).features(x)),
    "kernels.canonical_distance": on_samples(lambda x: canonical_distance(K, x), n=500),
    "kernels.facts_on_points": on_samples(lambda x: facts_on_points(K, x), n=200),
    "rkhs.fsic": on_samples(
        lambda x, y: rkhs.fsic(K, K, x, y, locations=(x[:5], y[:5])), 2, n=MANY
    ),
    "rkhs.KernelBeliefPropagation": on_samples(
        lambda x, y: rkhs.KernelBeliefPropagation(((0, 1),)).beliefs({0: x, 1: y}, {0: x[0]}),
        2,
        n=300,
    ),
    "rkhs.kernel_mean_matching": on_samples(
        lambda x, y: rkhs.kernel_mean_matching(x, y, kernel=K), 2, n=300
    ),
    "rkhs.abc_posterior": on_samples(
        lambda x: rkhs.abc_posterior(x, [x] * len(x), x, epsilon=1.0, kernel=K), n=50
    ),
    "rkhs.prototypes": on_samples(lambda x: rkhs.prototypes(K, x, 20, criticisms=5)),
    "rkhs.kernel_herding": on_samples(lambda x: rkhs.kernel_herding(K, x, 50)),
    "rkhs.kernel_thinning": on_samples(lambda x: rkhs.kernel_thinning(K, x, 50, rng=0)),
    "rkhs.stein_thinning": on_samples(lambda x: rkhs.stein_thinning(NORMAL.score, x, 50)),
    "rkhs.stein_points": Case(
        lambda n: (
            lambda: rkhs.stein_points(
                NORMAL.score,
                lambda m, rng: rng.standard_normal((m, D)),
                20,
                candidates=n,
                rng=0,
            )
        )
    ),
    "rkhs.mean_embedding": on_samples(lambda x: rkhs.mean_embedding(K, x).norm()),
    "rkhs.ConditionalEmbedding": on_samples(conditional, 2),
    "rkhs.CovarianceOperator": on_samples(lambda x, y: covariance(x, y).norm(), 2),
    "rkhs.CovarianceOperator, spectrum": on_samples(
        lambda x, y: covariance(x, y).singular_values(3), 2
    ),
}

DISTRIBUTIONS = {
    "rkhs.Gaussian": scored(NORMAL),
    "rkhs.Gaussian, fit": on_samples(Gaussian.fit, n=MANY),
    "rkhs.Mixture": scored(Mixture([NORMAL, Gaussian(np.ones(D), 2.0)], [0.5, 0.5])),
    "rkhs.Mixture, fit": on_samples(lambda x: Mixture.fit(x, 3, rng=0), n=2_000),
    "rkhs.LogDensity": scored(rkhs.LogDensity(NORMAL.log_density, gradient=GRADIENT)),
    "rkhs.GaussBernoulliRBM": scored(rkhs.GaussBernoulliRBM(points(D), np.ones(D), np.ones(D))),
    "rkhs.Scores": on_samples(lambda x: rkhs.Scores(x).at(x), n=MANY),
    "rkhs.Uniform": on_samples(rkhs.Uniform(-np.ones(D), np.ones(D)).log_density, n=MANY),
    "rkhs.Empirical": on_samples(lambda x: Empirical(x).sample(100, rng=0), n=MANY),
    "rkhs.Dirac": on_samples(lambda x: rkhs.Dirac(x[0]), n=MANY),
    "rkhs.Bags": on_bags(lambda bags: bags.means(), n=2_000),
    "rkhs.MeanMap": on_bags(lambda b: Gram(rkhs.MeanMap(K), b) @ ones(b), n=700),
    "rkhs.MeanMap, Gaussians": gaussians(lambda p: Gram(rkhs.MeanMap(K), p) @ ones(p), n=2_000),
    "rkhs.ShrunkMeanMap": on_bags(lambda b: Gram(rkhs.ShrunkMeanMap(K), b) @ ones(b), n=700),
    "rkhs.SlicedWasserstein": on_bags(
        lambda b: Gram(rkhs.SlicedWasserstein(), b) @ ones(b), n=2_000
    ),
    "rkhs.SlicedWasserstein, few levels": on_bags(
        lambda b: Gram(rkhs.SlicedWasserstein(directions=5, levels=10), b) @ ones(b), n=2_000
    ),
    "rkhs.ProbabilityProduct": gaussians(
        lambda p: Gram(rkhs.ProbabilityProduct(), p) @ ones(p), n=2_000
    ),
    "rkhs.LatentMeanMap": on_bags(
        lambda b: Gram(rkhs.LatentMeanMap(K, Signs()), b) @ ones(b), n=700
    ),
    "rkhs.JensenShannon": on_samples(
        lambda x: Gram(rkhs.JensenShannon(), x**2 / np.sum(x**2, axis=1, keepdims=True)) @ ones(x)
    ),
    "rkhs.transformed": on_samples(
        lambda x, y: rkhs.transformed(np.add, Empirical(x), Empirical(y), rng=0), 2, n=MANY
    ),
}

FUNCTIONS = {
    f"rkhs.{type(basis).__name__}": on_unit(lambda x, basis=basis: basis(x, 16))
    for basis in (
        rkhs.CosineBasis(),
        rkhs.FourierBasis(),
        rkhs.HaarBasis(),
        rkhs.LegendreBasis(),
    )
} | {
    "rkhs.TensorBasis": on_unit(
        lambda x: rkhs.TensorBasis(rkhs.CosineBasis(), rkhs.HaarBasis())(x, 16), 2
    ),
    "rkhs.Series": on_unit(rkhs.Series(rkhs.CosineBasis(), np.ones(100))),
    "rkhs.Quadrature": on_unit(
        lambda x: rkhs.Quadrature(x, np.full(len(x), 1 / len(x))).integrate(lambda z: z[:, 0])
    ),
    "rkhs.expand": on_unit(
        lambda x: rkhs.expand(
            lambda z: z[:, 0],
            rkhs.FourierBasis(),
            16,
            quadrature=rkhs.Quadrature(x, np.full(len(x), 1 / len(x))),
        )
    ),
}

RKHS_CASES = {**MEASURES, **DISTRIBUTIONS, **FUNCTIONS}
