"""Lazily tiled Gram matrices, and the threads and devices that compute their tiles.

A `LazyMatrix` is known by its blocks and never held in memory. Nothing in this package knows about
statistics or learning; nothing but `LazyMatrix.dense` forms an n x n array.
"""

from mercer.gram.combine import Dense, LowRank, Reweighted, Rounded
from mercer.gram.device_engine import DeviceEngine, register_engine
from mercer.gram.eigen import top_eigenpairs
from mercer.gram.factor import Factor, cholesky
from mercer.gram.gram import Gram
from mercer.gram.gram import kernel_matrix as kernel_matrix
from mercer.gram.lazy import Centered, Hadamard, LazyMatrix
from mercer.gram.resampling_weights import PairedWeights, PermutedWeights, SignWeights
from mercer.gram.solve import ridge_solve
from mercer.gram.threads import for_each as for_each

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


def _load_cuda() -> DeviceEngine:
    from mercer.gram.cuda import ENGINE  # not before a tensor on a GPU arrives

    return ENGINE


register_engine(_load_cuda)


def __dir__() -> list[str]:
    return __all__
