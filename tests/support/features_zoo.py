"""One line per feature map: an instance, small enough for scikit-learn's checks."""

from __future__ import annotations

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
from mercer.kernels import RBF, Laplace, Linear, Matern, Polynomial

ZOO = [
    RandomFourier(random_state=0),
    RandomFourier(Matern(1.5, 2.0), 64, orthogonal=False, random_state=1),
    RandomPhaseFourier(random_state=0),
    QuasiMonteCarloFourier(random_state=0),
    QuasiMonteCarloFourier(Laplace(1.0) * RBF(2.0), 32, random_state=0),
    Nystrom(random_state=0),
    Nystrom(Linear() + RBF(2.0), 20, rule=KMeansPlusPlus(), random_state=0),
    Nystrom(RBF(1.0), 20, rule=LeverageScores(), random_state=0),
    TensorSketch(random_state=0),
    TensorSketch(Polynomial(2, 0.0), 50, random_state=0),
]

OBJECT_MAPS = [
    MinHash(random_state=0),
    RandomWarping(random_state=0),
]  # their points are no vectors
