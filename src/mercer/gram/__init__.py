"""Lazily tiled Gram matrices, and where their work runs.

A `LazyMatrix` is known by its blocks and never held. Nothing in here knows about statistics or
learning; nothing outside `LazyMatrix.dense` forms an n x n array.
"""

from mercer.gram.combine import Centered, Dense, Hadamard, LowRank, Reweighted, Rounded
from mercer.gram.eigen import top_eigenpairs
from mercer.gram.factor import Factor, cholesky
from mercer.gram.gram import Gram
from mercer.gram.lazy import LazyMatrix
from mercer.gram.resampling_weights import PairedWeights, PermutedWeights, SignWeights
from mercer.gram.solve import ridge_solve

__all__ = [
    "Centered",
    "Dense",
    "Factor",
    "Gram",
    "Hadamard",
    "LazyMatrix",
    "LowRank",
    "PairedWeights",
    "PermutedWeights",
    "Reweighted",
    "Rounded",
    "SignWeights",
    "cholesky",
    "ridge_solve",
    "top_eigenpairs",
]
