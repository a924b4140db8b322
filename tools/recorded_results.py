"""Cases that the zoos do not hold: what results are asked about points, and remaining public names."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mercer import htest, kernels, learn, rkhs

_RNG = np.random.default_rng(5)
X, Y = _RNG.standard_normal((50, 2)), _RNG.standard_normal((50, 2)) + 0.4
Z = X + 0.5 * Y
TARGET = np.sin(X[:, 0])
MODEL = rkhs.Gaussian(np.zeros(2), 1.0)
PERMUTATIONS, SIGNS = htest.Permutation(49), htest.WildBootstrap(49)
K = kernels.RBF(1.5)


def two_samples() -> Any:
    """The witness and the thinned answers of a two-sample test."""
    result = htest.MMD(null=PERMUTATIONS).test(X, Y, rng=0)
    witness = result.witness()
    return witness(X[:9]), witness.norm(), result.effect(0.8), result.points(3)


def variables() -> Any:
    """The witness of an independence test, and a thinned result."""
    result = htest.HSIC(null=PERMUTATIONS).test(X, Z, rng=0)
    return result.witness()(X[:9], Z[:9]), result.effect(0.8), result.thinned(20).to_dict()


def model() -> Any:
    """The witness and the evidence map of a goodness-of-fit test."""
    result = htest.KSD(MODEL, null=SIGNS).test(Y, rng=0)
    witness, evidence = result.witness()(Y[:9]), result.evidence()(Y[:9])
    return witness, evidence, result.columns(0.8), result.thinned(20).to_dict()


def stream() -> Any:
    """The state of a monitor after three batches."""
    state = htest.Monitor().update(X[:20], Y[:20])
    return state.update(X[20:40], Y[20:40]).update(X[40:], Y[40:])


def corrections() -> Any:
    """Corrected p-values of all pairs of columns."""
    table, test = np.hstack((X, Z)), htest.HSIC(null=PERMUTATIONS)
    rules = (htest.Holm(), htest.BenjaminiHochberg(), htest.WestfallYoung())
    pairs = [htest.pairwise_independence(table, test=test, correction=c, rng=0) for c in rules]
    return pairs, [htest.feature_differences(X, Y, correction=c, rng=0) for c in rules[:2]]


def batches() -> Any:
    """Learning from batches that a function makes, by either solver."""
    source = learn.Batches(lambda: ((X[i : i + 10], TARGET[i : i + 10]) for i in range(0, 50, 10)))
    return {type(s).__name__: _from_source(source, s) for s in _solvers()}


def parquet() -> Any:
    """Learning from a Parquet file."""
    import pandas as pd

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "points.parquet"
        pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "target": TARGET}).to_parquet(path)
        return _from_source(learn.Parquet(path, "target"), learn.NormalEquations())


def _solvers() -> tuple[Any, ...]:
    return learn.NormalEquations(), learn.ConjugateGradients(50, 1e-10)


def _from_source(source: Any, solver: Any) -> Any:
    learner = learn.NystromRidge(K, 0.1, landmarks=15, solver=solver, random_state=0)
    return learner.fit(source).predict(X)


def embeddings() -> Any:
    """Distances, herding and rules of probability of embeddings."""
    first, second = (rkhs.mean_embedding(K, rkhs.Empirical(s)) for s in (X, Y))
    exact = rkhs.mean_embedding(K, MODEL)
    law = rkhs.ConditionalEmbedding.fit(X, Z, kernel_x=K, kernel_y=K, ridge=0.1)
    return {
        "distances": (first.distance(second), first.distance2(exact), exact.norm2()),
        "inner": (first.inner(second), exact.inner(first)),
        "values": (first.function()(X[:9]), exact.herd(4, candidates=50, rng=0)),
        "sum rule": law.sum_rule(first).norm(),
        "weights": law.weights(X[:5]),
    }


def bases() -> Any:
    """Best and linear approximations of a step in every basis."""
    kinds = (rkhs.CosineBasis(), rkhs.FourierBasis(), rkhs.HaarBasis(), rkhs.LegendreBasis())
    series = [rkhs.expand(lambda x: (x[:, 0] > 0.3) * 1.0, basis, 12) for basis in kinds]
    errors = [(s.best_errors(), s.linear_errors(), s.best(4).norm()) for s in series]
    rules = rkhs.Quadrature.hermite(0.5, 2.0, 7), rkhs.Quadrature.legendre(0.0, 1.0, 7)
    return errors, series, rules, rkhs.Quadrature.tensor(*rules)


def measures() -> Any:
    """Every measure of dependence and of distance, with other kernels than the default ones."""
    laplace, pair = kernels.Laplace(2.0), (X, Z)
    return {
        "mmd2": [rkhs.mmd2(k, X, Y, unbiased=u) for k in (K, laplace) for u in (True, False)],
        "hsic": [rkhs.hsic(K, laplace, *pair, unbiased=u) for u in (True, False)],
        "cka": [rkhs.cka(K, laplace, *pair, unbiased=u) for u in (True, False)],
        "coco": rkhs.coco(K, laplace, *pair),
        "kcca": rkhs.kcca(K, laplace, *pair, ridge=0.2),
        "nocco": rkhs.nocco(K, laplace, *pair, ridge=0.2),
        "dhsic": rkhs.dhsic((K, laplace, K), (X, Y, Z)),
        "ksd2": [rkhs.ksd2(K, MODEL.score, Y, unbiased=u) for u in (True, False)],
    }


def losses() -> Any:
    """Kernel machines of the losses that the zoo does not pair with this kernel."""
    labels = np.where(TARGET > 0, 1, -1)
    real = (learn.Squared(), learn.Huber(), learn.Pinball(0.3))
    margin = (learn.Hinge(), learn.SquaredHinge(), learn.Logistic())
    pairs = [(loss, TARGET) for loss in real] + [(loss, labels) for loss in margin]
    return [learn.KernelMachine(loss, K, 0.1).fit(X, y).predict(X) for loss, y in pairs]


RESULTS: dict[str, Callable[[], Any]] = {
    "of two samples": two_samples,
    "of variables": variables,
    "of a model": model,
    "of a stream": stream,
    "of corrections": corrections,
}
OTHERS: dict[str, Callable[[], Any]] = {
    "two_sample": lambda: htest.two_sample(X, Y, rng=0),
    "independence": lambda: htest.independence(X, Z, rng=0),
    "independence given": lambda: htest.independence(X, Z, given=Y, rng=0),
    "goodness_of_fit": lambda: htest.goodness_of_fit(MODEL, Y, rng=0),
    "FSSD with draws of the model": lambda: htest.FSSD(MODEL, null=htest.ModelDraws(200)).test(
        Y, rng=0
    ),
    "goodness_of_fit of a chain": lambda: htest.goodness_of_fit(MODEL, Y, chain=True, rng=0),
    "scores": lambda: htest.KSD(rkhs.Scores(MODEL.score(Y)), null=SIGNS).test(Y, rng=0),
    "batches": batches,
    "parquet": parquet,
    "embeddings": embeddings,
    "bases": bases,
    "measures": measures,
    "losses": losses,
}
