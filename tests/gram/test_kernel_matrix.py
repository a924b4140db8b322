"""Calls of kernels on many points, which go through tiles, against the formulas."""

from __future__ import annotations

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer.gram import fast_exp
from mercer.kernels import (
    RBF,
    Cauchy,
    Energy,
    Exponential,
    InverseMultiquadric,
    Laplace,
    Linear,
    Matern,
    RationalQuadratic,
)
from mercer.kernels.base import Radial

KERNELS = [
    RBF(1.3),
    RBF(1e-3),
    Matern(1.5, 2.0),
    Exponential(),
    Cauchy(2.0),
    RationalQuadratic(),
    InverseMultiquadric(),
    Energy(),
    RBF(1.0) + Linear(),
    RBF(2.0) * Matern(0.5),
    2 * RBF(1.0),
    RBF(1.0).scaled((1.0, 2.0, 3.0)),
    RBF(1.0).select([0]),
    Laplace(),
    Linear(),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(
    ("dtype", "n"), [(np.float64, 150), (np.float64, 700), (np.float32, 700)]
)  # one tile, and several
def test_many_points_have_the_values_of_the_formula(kernel, dtype, n):
    rng = np.random.default_rng(n)
    x, y = (rng.standard_normal((rows, 3)).astype(dtype) for rows in (n, 550))
    rounding = {"rtol": 1e-12, "atol": 1e-13} if dtype == np.float64 else {"atol": 2e-6}
    matrix, formula = kernel(x), kernel.pairwise(x, x)
    assert matrix.dtype == formula.dtype == dtype
    assert_allclose(matrix, formula, **rounding)
    assert_array_equal(matrix, matrix.T)
    assert_allclose(kernel(x, y), kernel.pairwise(x, y), **rounding)


@pytest.mark.parametrize("kernel", [k for k in KERNELS if isinstance(k, Radial)], ids=repr)
def test_nearly_equal_points_are_as_exact_as_in_the_formula(kernel):
    x = np.random.default_rng(0).standard_normal((500, 3)) + 1e3
    x = np.concatenate([x, x + 1e-7])
    assert_allclose(kernel(x), kernel.pairwise(x, x), rtol=1e-7, atol=1e-13)


def test_compiled_tiles_are_symmetric(monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(fast_exp, "_MIN_VALUES_FOR_NUMBA", 0)
    x = np.random.default_rng(0).standard_normal((1000, 4))
    matrix = RBF(2.0)(x)
    assert_array_equal(matrix, matrix.T)
    assert_allclose(matrix, RBF(2.0).pairwise(x, x), rtol=1e-12)


def test_an_executor_of_the_user_computes_the_same():
    x = np.random.default_rng(0).standard_normal((600, 4))
    with ThreadPoolExecutor(2) as pool, mercer.config(executor=pool):
        matrix = Cauchy()(x)
    assert_allclose(matrix, Cauchy().pairwise(x, x), rtol=1e-12)


def test_beside_the_matrix_there_are_only_tiles():
    x = np.random.default_rng(0).standard_normal((2000, 3))
    with mercer.config(memory=2**24, threads=1):  # less than the matrix, which was asked for
        Matern(2.5)(x[:600])
        tracemalloc.start()
        matrix = Matern(2.5)(x)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < matrix.nbytes + 2**24
