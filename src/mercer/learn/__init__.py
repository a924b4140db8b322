"""Kernel learners as scikit-learn estimators: machines, regression, components, selection, separation.

Needs scikit-learn: ``pip install 'mercer[learn]'``.
"""

from importlib.util import find_spec

if find_spec("sklearn") is None:
    raise ImportError("mercer.learn needs scikit-learn: pip install 'mercer[learn]'")

from mercer.learn.adaptation.domain_adaptation import DomainAdaptation
from mercer.learn.adaptation.shifts import (
    AdaptedSample,
    ConditionalShift,
    CovariateShift,
    Shift,
    TargetShift,
)
from mercer.learn.clusters.kmeans import KernelKMeans
from mercer.learn.clusters.spectral import SpectralClustering
from mercer.learn.components.kcca import KCCA
from mercer.learn.components.pca import KernelPCA
from mercer.learn.components.preimage import FixedPoint, LearnedMap, Preimage
from mercer.learn.distributions.bayesian import BayesianDistributionRegressor
from mercer.learn.distributions.deep_sets_learners import DeepSetsClassifier, DeepSetsRegressor
from mercer.learn.distributions.distribution_ridge import DistributionRegressor
from mercer.learn.distributions.machines import (
    AugmentedSVC,
    FlexSVC,
    OneClassSMM,
    SupportMeasureMachine,
)
from mercer.learn.distributions.mean_features import MeanFeatures
from mercer.learn.distributions.missing_features import ConditionalGaussians
from mercer.learn.distributions.risk_deviation import RiskDeviation, risk_deviation
from mercer.learn.distributions.second_order_cone import SecondOrderConeSVC
from mercer.learn.image_registration import Registration, register_images
from mercer.learn.landmarks.batch_source import Batches, Source
from mercer.learn.landmarks.file_sources import CSV, Parquet
from mercer.learn.landmarks.fourier_ridge import FourierRidge
from mercer.learn.landmarks.nystrom_logistic import NystromLogistic
from mercer.learn.landmarks.nystrom_ridge import NystromRidge
from mercer.learn.landmarks.nystrom_svc import NystromSVC
from mercer.learn.landmarks.ridge_solvers import ConjugateGradients, NormalEquations, Solver
from mercer.learn.machines.kernel_search import KernelSearchCV
from mercer.learn.machines.oneclass import OneClassSVC
from mercer.learn.machines.svc import SVC, MultiClass, OneVsOne, OneVsRest
from mercer.learn.machines.svr import SVR
from mercer.learn.onnx_export.export import to_onnx
from mercer.learn.regression.function_penalties import FunctionPenalty, NormPower
from mercer.learn.regression.kernel_logistic import KernelLogistic
from mercer.learn.regression.kernel_machine import KernelMachine, KernelQuantile
from mercer.learn.regression.kernel_ridge import KernelRidge
from mercer.learn.regression.losses import (
    Hinge,
    Huber,
    Logistic,
    Loss,
    PiecewiseLinearLoss,
    Pinball,
    SmoothLoss,
    Squared,
    SquaredHinge,
)
from mercer.learn.regression.ridge_path import GCV, Criterion, LeaveOneOut, RidgePath, RidgeScores
from mercer.learn.saved_models import load, save
from mercer.learn.selection.mrmr import MRMR
from mercer.learn.selection.select import Backward, Direction, Forward, HSICSelector
from mercer.learn.separation.amari import amari_index
from mercer.learn.separation.isa import ISA
from mercer.learn.smoothers.local import LocalLinear, NadarayaWatson
from mercer.learn.smoothers.spline import SmoothingSpline

__all__ = [
    "CSV",
    "GCV",
    "ISA",
    "KCCA",
    "MRMR",
    "SVC",
    "SVR",
    "AdaptedSample",
    "AugmentedSVC",
    "Backward",
    "Batches",
    "BayesianDistributionRegressor",
    "ConditionalGaussians",
    "ConditionalShift",
    "ConjugateGradients",
    "CovariateShift",
    "Criterion",
    "DeepSetsClassifier",
    "DeepSetsRegressor",
    "Direction",
    "DistributionRegressor",
    "DomainAdaptation",
    "FixedPoint",
    "FlexSVC",
    "Forward",
    "FourierRidge",
    "FunctionPenalty",
    "HSICSelector",
    "Hinge",
    "Huber",
    "KernelKMeans",
    "KernelLogistic",
    "KernelMachine",
    "KernelPCA",
    "KernelQuantile",
    "KernelRidge",
    "KernelSearchCV",
    "LearnedMap",
    "LeaveOneOut",
    "LocalLinear",
    "Logistic",
    "Loss",
    "MeanFeatures",
    "MultiClass",
    "NadarayaWatson",
    "NormPower",
    "NormalEquations",
    "NystromLogistic",
    "NystromRidge",
    "NystromSVC",
    "OneClassSMM",
    "OneClassSVC",
    "OneVsOne",
    "OneVsRest",
    "Parquet",
    "PiecewiseLinearLoss",
    "Pinball",
    "Preimage",
    "Registration",
    "RidgePath",
    "RidgeScores",
    "RiskDeviation",
    "SecondOrderConeSVC",
    "Shift",
    "SmoothLoss",
    "SmoothingSpline",
    "Solver",
    "Source",
    "SpectralClustering",
    "Squared",
    "SquaredHinge",
    "SupportMeasureMachine",
    "TargetShift",
    "amari_index",
    "load",
    "register_images",
    "risk_deviation",
    "save",
    "to_onnx",
]


def __dir__() -> list[str]:
    return __all__
