"""One line per learner: an instance, small enough for scikit-learn's checks."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from sklearn.decomposition import FastICA

from mercer.kernels import RBF, Linear
from mercer.learn import (
    GCV,
    ISA,
    KCCA,
    MRMR,
    SVC,
    SVR,
    AugmentedSVC,
    Backward,
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
    OneVsRest,
    RidgePath,
    SecondOrderConeSVC,
    SmoothingSpline,
    SpectralClustering,
    SquaredHinge,
    SupportMeasureMachine,
)
from mercer.rkhs import MeanMap, hsic


@dataclass(frozen=True)
class Hsic:
    """A measure whose repr is the same in every process, as the names of tests must be."""

    def __call__(self, x: Any, y: Any) -> float:
        return hsic(RBF(1.0), RBF(2.0), x, y)


DEEP = [
    DeepSetsRegressor(networks=1, steps=150, random_state=0),
    DeepSetsClassifier(networks=1, steps=100, random_state=0),
]
ZOO = [
    *(DEEP if find_spec("torch") else []),
    HSICSelector(),
    HSICSelector(direction=Forward()),
    HSICSelector(0.3, direction=Backward(0.5), kernel=Linear(), target_kernel=RBF(2.0)),
    MRMR(),
    MRMR(1, relevance=Hsic()),
    ISA(random_state=0),
    ISA(1, ica=FastICA(max_iter=3000, tol=1e-2, random_state=0)),
    KCCA(1, random_state=0),
    KCCA(1, kernel=Linear(), kernel_y=RBF(2.0), ridge=0.1),
    KernelKMeans(3, n_init=3, random_state=0),
    SpectralClustering(2, random_state=0),
    SVC(),
    SVC(RBF(2.0), 10.0, multiclass=OneVsRest(), tol=1e-9),
    SVC(RBF(2.0), probability=True, random_state=0),
    SVR(),
    SVR(RBF(2.0), epsilon=0.0, tol=1e-10),
    OneClassSVC(nu=0.2),
    KernelSearchCV(SVC(RBF(2.0), tol=1e-10), {"C": [0.1, 1.0]}, cv=2),
    SupportMeasureMachine(tol=1e-10),
    OneClassSMM(MeanMap(RBF(2.0)), 0.2),
    FlexSVC(),
    AugmentedSVC(),
    DistributionRegressor(ridge=1.0),
    DistributionRegressor(ridge=RidgePath()),
    BayesianDistributionRegressor(random_state=0),
    MeanFeatures(random_state=0),
    ConditionalGaussians(),
    DomainAdaptation(KernelRidge(RBF(2.0), 0.1)),
    SecondOrderConeSVC(),
    NadarayaWatson(),
    NadarayaWatson(RBF(1.0), bandwidths=(0.5, 1.0)),
    LocalLinear(),
    SmoothingSpline(),
    SmoothingSpline(1, smoothing=0.1),
    KernelPCA(),
    KernelPCA(2, kernel=Linear() + RBF(2.0), preimage=LearnedMap()),
    KernelPCA(0.8, kernel=RBF(2.0)),
    KernelRidge(),
    KernelRidge(Linear() + 1.0, RidgePath()),
    KernelRidge(RBF(2.0), RidgePath([0.1, 1.0, 10.0], by=GCV())),
    KernelLogistic(),
    KernelMachine(),
    KernelMachine(Hinge(), RBF(2.0), 0.1),
    KernelMachine(SquaredHinge(), RBF(2.0), 0.1, intercept=False),
    KernelMachine(Huber(0.5), Linear(), 0.1),
    KernelQuantile(),
    KernelQuantile(0.8, RBF(2.0), 0.1, intercept=False),
    FourierRidge(n_components=50, random_state=0),
    NystromLogistic(landmarks=200, tolerance=1e-10, random_state=0),
    NystromSVC(landmarks=200, random_state=0),
    NystromRidge(landmarks=200, random_state=0),
    NystromRidge(
        RBF(2.0), 0.1, landmarks=200, solver=ConjugateGradients(200, 1e-12), random_state=0
    ),
]


def expected_failures(learner: Any) -> dict[str, str]:
    """Checks of scikit-learn that a learner cannot pass, and why."""
    if isinstance(getattr(learner, "ridge", None), RidgePath):
        reason = (
            "a path counts and leaves out observations, whatever their weight; two copies are two"
        )
        return {"check_sample_weight_equivalence_on_dense_data": reason}
    if isinstance(learner, ConditionalGaussians):
        reason = "rows with missing values become distributions, which are no arrays"
        return {"check_estimators_pickle": reason}
    if isinstance(learner, OneClassSVC):
        reason = "points on the boundary have the value 0, whose sign is a matter of rounding"
        return {"check_sample_weight_equivalence_on_dense_data": reason}
    if isinstance(learner, SVC) and learner.probability:
        reason = "probabilities come from folds, which weights and copies fill differently"
        return {"check_sample_weight_equivalence_on_dense_data": reason}
    if isinstance(learner, SVC | SVR) and learner.tol == 1e-3:
        reason = "solved to a tolerance, which weights and copies reach from different sides"
        return {"check_sample_weight_equivalence_on_dense_data": reason}
    return {}
