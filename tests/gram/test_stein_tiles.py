"""Tiles of Stein kernels: every way to make them gives the values of the formula."""

from importlib.util import find_spec

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import Gram, fast_exp
from mercer.gram.kernel_family import Family
from mercer.kernels import RBF, Cauchy, InverseMultiquadric, Matern, Stein, Tensor

KERNELS = [
    RBF(1.3),
    InverseMultiquadric(1.2),
    InverseMultiquadric(1.2, 0.3),
    InverseMultiquadric(0.1),
    Cauchy(2.0),
    RBF(1.0) + Matern(2.5, 1.0),
    RBF(0.8).scaled((1.0, 0.5, 2.0)),
    Tensor(RBF(1.0), Cauchy(1.0), RBF(2.0)),
]
ENGINES = [2**62, *([0] if find_spec("numba") else [])]


def score(x):
    return -x - np.tanh(x)


def other_score(x):
    return -x / 2


def points(n, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("least", ENGINES, ids=["NumPy", "compiled"][: len(ENGINES)])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_tiles_are_the_kernel(kernel, least, monkeypatch):
    monkeypatch.setattr(fast_exp, "_MIN_VALUES_FOR_NUMBA", least)
    x, y, stein = points(530), points(700, seed=1), Stein(kernel, score)
    size = np.abs(stein.pairwise(x, y)).max()
    whole = stein.pairwise(x, x)
    for rows, columns in ((slice(0, 480), slice(0, 480)), (slice(480, 530), slice(3, 401))):
        tile = Gram(stein, x).block(rows, columns)
        assert_allclose(tile, whole[rows, columns], rtol=0, atol=1e-11 * size)
    tile = Gram(stein, x, y).block(slice(20, 500), slice(100, 700))
    assert_allclose(tile, stein.pairwise(x, y)[20:500, 100:700], rtol=0, atol=1e-11 * size)


@pytest.mark.parametrize("least", ENGINES, ids=["NumPy", "compiled"][: len(ENGINES)])
def test_kernels_of_one_score_share_and_do_not_write(least, monkeypatch):
    """Also beside kernels of another score."""
    monkeypatch.setattr(fast_exp, "_MIN_VALUES_FOR_NUMBA", least)
    x = points(300)
    made = [Stein(k, s) for k in KERNELS for s in (score, other_score)]
    rows, columns = slice(10, 200), slice(100, 300)
    for stein, tile in zip(made, Family(made, x).tiles(rows, columns), strict=True):
        expected = stein.pairwise(x, x)[rows, columns]
        assert_allclose(tile, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_the_line_is_exact():
    x = points(200, 1)
    for kernel in KERNELS[:6]:
        expected = Stein(kernel, score).pairwise(x, x)
        tile = Gram(Stein(kernel, score), x).block(slice(0, 200), slice(0, 200))
        assert_allclose(tile, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_scores_of_a_family_are_taken_once():
    calls = []

    def counted(x):
        calls.append(len(x))
        return -x

    family = Family([Stein(RBF(b), counted) for b in (0.5, 1.0, 2.0)], points(100))
    calls.clear()
    for start in (0, 50):
        list(family.tiles(slice(start, start + 50), slice(0, 100)))
    assert calls == []
