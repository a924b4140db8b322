"""Sums of cubed eigenvalues by block Lanczos on a float32 copy, against exact eigenvalues."""

import numpy as np
import pytest

import mercer
from mercer.gram import Gram
from mercer.htest.dependence import leading_cubes as module
from mercer.htest.dependence.leading_cubes import leading_cubes
from mercer.htest.dependence.null_spectrum import cube_sum
from mercer.kernels import RBF, Energy

X = np.random.default_rng(0).normal(size=(600, 8)) + 3.0


def exact(dense: np.ndarray) -> float:
    """The sum from 50 eigenvalues by LAPACK."""
    values = np.linalg.eigvalsh(dense)[::-1]
    return cube_sum(np.maximum(values[:50], 0.0), float(values.sum()), float(values @ values))


@pytest.mark.parametrize("kernel", [RBF(4.0), Energy()])
@pytest.mark.parametrize("centred", [True, False])
def test_the_sum_from_exact_eigenvalues(monkeypatch, kernel, centred):
    monkeypatch.setattr(module, "_MIN_ROWS", 100)
    monkeypatch.setattr(module, "top_eigenpairs", None)  # is not called
    gram = Gram(kernel, X - X.mean(axis=0))
    matrix = gram.centered() if centred else gram
    dense = np.asarray(matrix.dense())
    value = leading_cubes(matrix, float(np.trace(dense)), float(np.sum(dense**2)))
    assert value == pytest.approx(exact(dense), rel=1e-6)


def test_low_rank_and_small_budgets_take_exact_eigenvalues(monkeypatch):
    monkeypatch.setattr(module, "_MIN_ROWS", 100)
    matrix = Gram(RBF(50.0), X[:, :1]).centered()  # of rank 8 or so: a block becomes dependent
    dense = np.asarray(matrix.dense())
    sums = float(np.trace(dense)), float(np.sum(dense**2))
    assert leading_cubes(matrix, *sums) == pytest.approx(exact(dense), rel=1e-6)
    with mercer.config(memory="16MiB"):
        matrix = Gram(RBF(4.0), np.tile(X, (3, 1))).centered()
        assert leading_cubes(matrix, 1.0, 1.0) > 0
