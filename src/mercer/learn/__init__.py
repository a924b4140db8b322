"""Learning with kernels, as scikit-learn estimators: regression, feature selection, source separation.

Needs scikit-learn: ``pip install 'mercer[learn]'``.
"""

from importlib.util import find_spec

if find_spec("sklearn") is None:
    raise ImportError("mercer.learn needs scikit-learn: pip install 'mercer[learn]'")

from mercer.learn.components.kcca import KCCA
from mercer.learn.components.pca import KernelPCA
from mercer.learn.components.preimage import FixedPoint, LearnedMap, Preimage
from mercer.learn.distributions.bayesian import BayesianDistributionRegressor
from mercer.learn.distributions.features import MeanFeatures
from mercer.learn.distributions.ridge import DistributionRegressor
from mercer.learn.landmarks.fourier import FourierRidge
from mercer.learn.landmarks.ridge import NystromRidge
from mercer.learn.landmarks.solvers import ConjugateGradients, NormalEquations, Solver
from mercer.learn.landmarks.source import Batches, Parquet, Source
from mercer.learn.regression.path import GCV, Criterion, LeaveOneOut, RidgePath, RidgeScores
from mercer.learn.regression.ridge import KernelRidge
from mercer.learn.selection.mrmr import MRMR
from mercer.learn.selection.select import Backward, Direction, Forward, HSICSelector
from mercer.learn.separation.amari import amari_index
from mercer.learn.separation.isa import ISA

__all__ = [
    "GCV",
    "ISA",
    "KCCA",
    "MRMR",
    "Backward",
    "Batches",
    "BayesianDistributionRegressor",
    "ConjugateGradients",
    "Criterion",
    "Direction",
    "DistributionRegressor",
    "FixedPoint",
    "Forward",
    "FourierRidge",
    "HSICSelector",
    "KernelPCA",
    "KernelRidge",
    "LearnedMap",
    "LeaveOneOut",
    "MeanFeatures",
    "NormalEquations",
    "NystromRidge",
    "Parquet",
    "Preimage",
    "RidgePath",
    "RidgeScores",
    "Solver",
    "Source",
    "amari_index",
]
