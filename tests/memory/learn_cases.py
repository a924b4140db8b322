"""The cases of learn: a fit, and what it predicts for its own points."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from mercer.learn import (
    ISA,
    KCCA,
    MRMR,
    SVC,
    SVR,
    AugmentedSVC,
    BayesianDistributionRegressor,
    ConditionalGaussians,
    ConjugateGradients,
    DeepSetsClassifier,
    DeepSetsRegressor,
    DistributionRegressor,
    DomainAdaptation,
    FlexSVC,
    Forward,
    FourierRidge,
    Hinge,
    HSICSelector,
    Huber,
    KernelKMeans,
    KernelLogistic,
    KernelMachine,
    KernelPCA,
    KernelQuantile,
    KernelRidge,
    KernelSearchCV,
    LearnedMap,
    LocalLinear,
    MeanFeatures,
    NadarayaWatson,
    NystromLogistic,
    NystromRidge,
    NystromSVC,
    OneClassSMM,
    OneClassSVC,
    RidgePath,
    SecondOrderConeSVC,
    SmoothingSpline,
    SpectralClustering,
    SupportMeasureMachine,
    TargetShift,
    amari_index,
    risk_deviation,
)
from mercer.rkhs import Function
from tests.memory.case import Case, K, on_bags, on_samples, on_square


def numbers(x: np.ndarray) -> np.ndarray:
    return x[:, 0] + np.sin(2 * x[:, 1])


def classes(x: np.ndarray) -> np.ndarray:
    return (numbers(x) > 0).astype(np.int64)


def applied(learner: Any, x: Any, y: Any) -> Any:
    """The fitted learner at its own points."""
    fitted = learner.fit(x, y)
    method = next((m for m in ("predict", "transform") if hasattr(fitted, m)), None)
    return None if method is None else getattr(fitted, method)(x)


def fit(learner: Any, target: Any = lambda x: None, **more: Any) -> Case:
    return on_samples(lambda x: applied(learner, x, target(x)), **more)


def fit_bags(learner: Any, target: Any) -> Case:
    return on_bags(lambda bags: applied(learner, bags, target(bags.means())), n=600)


POINT_CASES = {
    "learn.HSICSelector": fit(HSICSelector(2), numbers, n=2_500),
    "learn.HSICSelector, Forward": fit(HSICSelector(2, direction=Forward()), numbers, n=2_500),
    "learn.MRMR": fit(MRMR(2), numbers),
    "learn.ISA": fit(ISA(random_state=0)),
    "learn.KCCA": fit(KCCA(1, random_state=0), lambda x: x[::-1]),
    "learn.KernelKMeans": fit(KernelKMeans(3, n_init=2, random_state=0), n=2_500),
    "learn.SpectralClustering": fit(SpectralClustering(2, random_state=0)),
    "learn.SVC": fit(SVC(), classes),
    "learn.SVC, probability": fit(SVC(probability=True, random_state=0), classes),
    "learn.SVR": fit(SVR(), numbers),
    "learn.OneClassSVC": fit(OneClassSVC(nu=0.2)),
    "learn.KernelSearchCV": fit(KernelSearchCV(SVC(K), {"C": [0.1, 1.0]}, cv=2), classes),
    "learn.NadarayaWatson": fit(NadarayaWatson(), numbers, n=2_500),
    "learn.LocalLinear": fit(LocalLinear(), numbers, n=2_500),
    "learn.SmoothingSpline": fit(SmoothingSpline(), numbers, d=2),
    "learn.SmoothingSpline, one column": fit(
        SmoothingSpline(), lambda x: np.sin(x[:, 0]), d=1, n=20_000
    ),
    "learn.KernelPCA": fit(KernelPCA()),
    "learn.KernelPCA, two": fit(KernelPCA(2, kernel=K, preimage=LearnedMap())),
    "learn.KernelPCA, share": fit(KernelPCA(0.5, kernel=K)),
    "learn.KernelRidge": fit(KernelRidge(), numbers),
    "learn.KernelRidge, path": fit(KernelRidge(ridge=RidgePath()), numbers),
    "learn.KernelLogistic": fit(KernelLogistic(), classes, n=2_500),
    "learn.KernelLogistic, three classes": fit(
        KernelLogistic(), lambda x: np.digitize(x[:, 0], [-0.5, 0.5])
    ),
    "learn.KernelMachine": fit(KernelMachine(), numbers),
    "learn.KernelMachine, Hinge": fit(KernelMachine(Hinge()), classes),
    "learn.KernelMachine, Huber": fit(KernelMachine(Huber(0.5)), numbers, n=2_500),
    "learn.KernelQuantile": fit(KernelQuantile(), numbers),
    "learn.FourierRidge": fit(FourierRidge(n_components=200, random_state=0), numbers, n=10_000),
    "learn.FourierRidge, refused": fit(FourierRidge(random_state=0), numbers),
    "learn.NystromLogistic": fit(NystromLogistic(landmarks=200, random_state=0), classes),
    "learn.NystromSVC": fit(NystromSVC(landmarks=200, random_state=0), classes),
    "learn.NystromRidge": fit(NystromRidge(landmarks=200, random_state=0), numbers, n=10_000),
    "learn.NystromRidge, refused": fit(NystromRidge(random_state=0), numbers),
    "learn.NystromRidge, iterative": fit(
        NystromRidge(landmarks=200, solver=ConjugateGradients(), random_state=0), numbers, n=10_000
    ),
    "learn.amari_index": on_square(amari_index, n=300),
}

# without torch there is nothing to measure
DEEP = (
    (DeepSetsRegressor(steps=20, random_state=0), DeepSetsClassifier(steps=20, random_state=0))
    if find_spec("torch")
    else (DistributionRegressor(), SupportMeasureMachine())
)
BAG_CASES = {
    "learn.SupportMeasureMachine": fit_bags(SupportMeasureMachine(), classes),
    "learn.OneClassSMM": fit_bags(OneClassSMM(), lambda x: None),
    "learn.DistributionRegressor": fit_bags(DistributionRegressor(), numbers),
    "learn.BayesianDistributionRegressor": fit_bags(
        BayesianDistributionRegressor(random_state=0), numbers
    ),
    "learn.DeepSetsRegressor": fit_bags(DEEP[0], numbers),
    "learn.DeepSetsClassifier": fit_bags(DEEP[1], classes),
    "learn.MeanFeatures": fit_bags(MeanFeatures(random_state=0), numbers),
    "learn.FlexSVC": on_samples(
        lambda x: FlexSVC().fit(x, classes(x), widths=np.full(len(x), 0.5)).predict(x), n=2_000
    ),
    "learn.DomainAdaptation": on_samples(
        lambda x: DomainAdaptation(KernelRidge(K, 0.1), TargetShift()).fit(
            x, numbers(x), target=x + 0.5
        ),
        n=300,
    ),
    "learn.ConditionalGaussians": fit(ConditionalGaussians()),
    "learn.SecondOrderConeSVC": fit(SecondOrderConeSVC(), classes),
    "learn.risk_deviation": on_samples(
        lambda x: risk_deviation(Function(K, x[:50], x[:50, 0]), x, np.sign(x[:, 0]))
    ),
    "learn.AugmentedSVC": fit(AugmentedSVC(), classes, n=1_000),
}

LEARN_CASES = {**POINT_CASES, **BAG_CASES}
