"""Kernel values and kernel expansions as graphs: the formula of the kernel is called once with symbolic points.

What comes back is a `SymbolicArray`, declared as `Any` because the formulas of learners, which take it in place of an
array, declare arrays of NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.errors import NoRule
from mercer.features.feature_map import Map
from mercer.kernels.base import Kernel
from mercer.kernels.precomputed import Precomputed
from mercer.learn.onnx_export.learner_input import LearnerInput
from mercer.learn.onnx_export.symbolic_array import SymbolicArray
from mercer.rkhs.function import Function

# Rounding of a float32 sum, relative to the spread of its values, from which it is computed in float64. Four digits
# of a prediction are then right, as many as float32 inputs usually have.
_MAX_ROUNDING = 1e-4
_MAX_TRIED_POINTS = 500  # at which that rounding is estimated
_UNTRACEABLE = (TypeError, ValueError, AttributeError, NotImplementedError, KeyError, IndexError)


def kernel_matrix(kernel: Kernel, x: Any, y: Any) -> Any:
    """k(x_i, y_j): (n, m). `NoRule` where the formula needs more than operations on arrays."""
    return _traced(kernel.pairwise, x, y, what=kernel)


def kernel_diagonal(kernel: Kernel, x: Any) -> Any:
    """k(x_i, x_i): (n,)."""
    return _traced(kernel.diag, x, what=kernel)


def feature_values(features: Map, x: SymbolicArray) -> Any:
    """Features z(x_i): (n, D)."""
    return _traced(features, x, what=features)


def expansion(function: Function, at: LearnerInput, *, wide: bool = False) -> Any:
    """f(x_i) = sum_j w_j k(x_j, x_i): (n,), or (n, q) for q functions.

    In a graph of float32 the sum is in float64 if `wide`, and where rounding would show.
    """
    kernel, points, weights = function._bound, function.points, to_numpy(function.weights)
    wide = wide or shows_rounding(kernel, points, weights, at.graph.dtype)
    return kernel_matrix(kernel, *at.beside(points, wide=wide)) @ weights


def shows_rounding(kernel: Kernel, points: Any, weights: np.ndarray, dtype: np.dtype) -> bool:
    """Whether rounding kernel values to this dtype shows in sum_j w_j k(x_j, x), at the points themselves."""
    if dtype == np.float64:
        return False
    learnt = to_numpy(points).astype(np.float64)
    step = -(-len(learnt) // _MAX_TRIED_POINTS)
    values = to_numpy(kernel.pairwise(learnt[::step], learnt)).astype(np.float64)
    return is_noisy(values, weights, dtype)


def is_noisy(values: np.ndarray, weights: np.ndarray, dtype: np.dtype) -> bool:
    """Whether the errors of rounded `values` (n, m) show in the spread of their products with weights (m,) or (m, q)."""
    columns = weights.reshape(len(weights), -1)
    noise = float(np.finfo(dtype).eps) * np.linalg.norm(
        np.max(np.abs(values), axis=0)[:, None] * columns, axis=0
    )
    return bool(np.any(noise > _MAX_ROUNDING * np.std(values @ columns, axis=0)))


def refuse_unsuited(kernel: Kernel) -> None:
    """`NoRule` for kernels that have no values at new rows of numbers."""
    if isinstance(kernel, Precomputed):
        raise NoRule(
            "no ONNX graph of Precomputed, which has no values at new points: fit with the kernel itself"
        )
    if kernel.takes_objects():
        raise NoRule(
            f"no ONNX graph of {kernel!r}, whose points are objects: use mercer.learn.save, or a learner on features of "
            "the objects"
        )


def _traced(formula: Any, *arrays: SymbolicArray, what: Any) -> SymbolicArray:
    """The result of a formula, called with symbolic arrays."""
    try:
        value = formula(*arrays)
        if not isinstance(value, SymbolicArray):
            raise TypeError(f"it returned {type(value).__name__}")
    except NoRule:
        raise
    except _UNTRACEABLE as problem:
        raise NoRule(
            f"no ONNX graph of {what!r}: its formula is called with symbolic arrays, on which not all functions are "
            f"defined ({problem}). Write it with the functions of the array API standard, use another kernel (a Matern "
            "kernel with nu = 1/2, 3/2, ...), or mercer.learn.save"
        ) from problem
    return value
