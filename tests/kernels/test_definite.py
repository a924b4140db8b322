"""Definiteness: kernels pass at every scale and precision, what is no kernel is caught."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.kernels import RBF, Kernel, Linear, Sigmoid, Tensor
from mercer.kernels.definite import Definiteness, is_positive_definite
from tests.support.arrays import torch
from tests.support.zoo import IDS, ZOO


@dataclass(frozen=True)
class Distance(Kernel):
    """|x - y| + 1 on the line: symmetric, with a positive diagonal, and not positive definite."""

    def pairwise(self, x, y, /):
        return abs(x - y.T) + 1

    def paired(self, x, y, /):
        return abs(x - y)[:, 0] + 1


@dataclass(frozen=True)
class Lopsided(Kernel):
    """Not symmetric; its symmetric part is positive definite."""

    def pairwise(self, x, y, /):
        return RBF().pairwise(x, y) * (1 + 0.1 * (x > y.T))

    def paired(self, x, y, /):
        return RBF().paired(x, y) * (1 + 0.1 * (x > y)[:, 0])


@dataclass(frozen=True)
class Hole(Kernel):
    """No number at 0."""

    def pairwise(self, x, y, /):
        return np.where((x == 0) & (y.T == 0), np.nan, 1.0)

    def paired(self, x, y, /):
        return np.where((x == 0) & (y == 0), np.nan, 1.0)[:, 0]


DEFINITE = {name: entry for name, entry in zip(IDS, ZOO, strict=True) if entry.definite}


@pytest.mark.parametrize("entry", DEFINITE.values(), ids=DEFINITE)
def test_zoo(entry):
    for dtype in (np.float64, np.float32):
        for n in (2, 25):
            x = entry.sample(np.random.default_rng(1), n).astype(dtype)
            assert is_positive_definite(entry.kernel, x), (dtype, n)


@pytest.mark.parametrize("offset", [0.5, 0.0, -0.5])
def test_sigmoid_is_no_kernel(offset):
    verdict = is_positive_definite(Sigmoid(1.0, offset), np.array([[0.0], [1.0], [5.0]]))
    assert not verdict
    assert verdict.smallest < -100 * verdict.tolerance


def test_nearly_equal_points_far_apart_do_not_fool_it():
    """Distances from expanded squares are off by 1e-9 here; those from differences are exact."""
    rng = np.random.default_rng(0)
    x = 0.1 * rng.normal(size=(60, 2))
    x[30:] += 3000
    assert is_positive_definite(RBF(1.0), x)


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1.0, 1e3])
def test_scale_of_the_data_does_not_matter(scale):
    x = scale * np.random.default_rng(0).normal(size=(40, 3))
    assert is_positive_definite(RBF(1.0), x)
    assert is_positive_definite(Linear(), x)


def test_verdict_is_that_of_the_eigenvalues():
    x = np.random.default_rng(0).normal(size=(20, 1))
    for kernel in (RBF(0.3), Distance()):
        verdict = is_positive_definite(kernel, x)
        spectrum = np.linalg.eigvalsh(kernel(x))
        assert_allclose(verdict.smallest, spectrum[0], rtol=1e-9, atol=1e-14)
        assert_allclose(
            verdict.tolerance, 20 * np.finfo(float).eps * abs(spectrum).max(), rtol=1e-9
        )
        assert verdict.n == 20
        assert bool(verdict) is bool(spectrum[0] > -1e-12)


def test_asymmetry_is_caught():
    verdict = is_positive_definite(Lopsided(), np.array([0.0, 0.5, 3.0]))
    assert not verdict
    assert verdict.smallest > 0
    assert_allclose(verdict.asymmetry, 0.1 * np.exp(-0.125), rtol=1e-9)


def test_verdict_is_a_value():
    assert Definiteness(-1e-3, 0.0, 1e-2, 3)
    assert not Definiteness(-1e-1, 0.0, 1e-2, 3)
    assert not Definiteness(1.0, 0.1, 1e-2, 3)
    assert not Definiteness(float("nan"), 0.0, 1e-2, 3)
    assert Definiteness(1.0, 0.0, 0.0, 1) == Definiteness(1.0, 0.0, 0.0, 1)


def test_tensors_frames_tuples_and_single_points():
    x = np.random.default_rng(0).normal(size=(10, 2))
    exact = is_positive_definite(RBF(1.0), x)
    tensor = is_positive_definite(RBF(1.0), torch.tensor(x))
    assert_allclose(tensor.smallest, exact.smallest, rtol=1e-10)
    single = is_positive_definite(RBF(1.0), torch.tensor(x, dtype=torch.float32))
    assert_allclose(single.tolerance, exact.tolerance * 2**29, rtol=1e-3)
    assert is_positive_definite(Tensor(RBF(1.0), Linear()), (x, x[:, :1]))
    assert is_positive_definite(RBF(1.0), [[1.0]])


def test_memory_budget():
    x = np.zeros((1000, 1))
    with (
        mercer.config(memory="16MiB"),
        pytest.raises(mercer.MemoryBudgetError, match="use at most 836 of the points"),
    ):
        is_positive_definite(RBF(1.0), x)


def test_values_must_be_finite():
    with pytest.raises(ValueError, match=r"x has points at which Hole\(\) is not finite"):
        is_positive_definite(Hole(), [0.0, 1.0])


def test_wrong_arguments():
    with pytest.raises(TypeError, match="kernel must be a kernel"):
        is_positive_definite("rbf", [0.0])
    with pytest.raises(ValueError, match="NaN"):
        is_positive_definite(RBF(), [np.nan])
