"""Explicit feature maps, as scikit-learn transformers: K ~ ZZ'.

Needs scikit-learn: ``pip install 'mercer[learn]'``.
"""

from importlib.util import find_spec

if find_spec("sklearn") is None:
    raise ImportError("mercer.features needs scikit-learn: pip install 'mercer[learn]'")

from mercer.features.choose_landmarks import (
    KMeansPlusPlus,
    LandmarkRule,
    LeverageScores,
    UniformLandmarks,
)
from mercer.features.feature_map import FeatureMap, Map
from mercer.features.minhash import MinHash
from mercer.features.nystrom import Nystrom
from mercer.features.random_fourier import QuasiMonteCarloFourier, RandomFourier
from mercer.features.random_phase import RandomPhaseFourier
from mercer.features.random_warping import RandomWarping
from mercer.features.sketch import TensorSketch

__all__ = [
    "FeatureMap",
    "KMeansPlusPlus",
    "LandmarkRule",
    "LeverageScores",
    "Map",
    "MinHash",
    "Nystrom",
    "QuasiMonteCarloFourier",
    "RandomFourier",
    "RandomPhaseFourier",
    "RandomWarping",
    "TensorSketch",
    "UniformLandmarks",
]


def __dir__() -> list[str]:
    return __all__
