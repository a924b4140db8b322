"""Digits that are easy to lose: far-off data, near-equal points, float32, spread in bandwidths."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.gram import Gram, fast_exp
from mercer.kernels import RBF, Cauchy, Energy, Exponential, Laplace, Linear, Matern

SHIFT_INVARIANT = [RBF(), Exponential(), Matern(1.5), Cauchy(), Laplace(), RBF() + Exponential()]


def exact(kernel, x, y):
    """From differences, one pair at a time, in extended precision."""
    a, b = x.astype(np.longdouble), y.astype(np.longdouble)
    r2 = ((a[:, None, :] - b[None, :, :]) ** 2).sum(-1)
    return kernel.profile(r2.astype(np.float64))


@pytest.mark.parametrize("kernel", SHIFT_INVARIANT, ids=repr)
def test_a_shift_by_a_million_changes_nothing(kernel):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((800, 4))
    w = np.r_[np.full(300, 1 / 300), np.full(500, -1 / 500)]
    here, there = Gram(kernel, x), Gram(kernel, x + 1e6)
    assert_allclose(there.dense(), here.dense(), rtol=1e-6)
    assert_allclose(there.quad(w, diagonal=False), here.quad(w, diagonal=False), rtol=1e-6)


@pytest.mark.parametrize("kernel", SHIFT_INVARIANT, ids=repr)
def test_float32_far_from_the_origin_stays_usable(kernel):
    """What is lost is what the rounding of the shifted data itself loses, no more."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((800, 4))
    x[:300, 0] += 1.0
    far = (x + 1e4).astype(np.float32)
    w = np.r_[np.full(300, 1 / 300), np.full(500, -1 / 500)]
    got = Gram(kernel, far).quad(w)
    assert_allclose(got, Gram(kernel, far.astype(np.float64)).quad(w), rtol=1e-3)
    assert_allclose(got, Gram(kernel, x).quad(w), rtol=1e-2)


@pytest.mark.parametrize("kernel", [RBF(), Exponential(), Matern(1.5), Cauchy()], ids=repr)
@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9, 0.0])
def test_near_equal_points_keep_their_distance(kernel, gap):
    rng = np.random.default_rng(2)
    x = rng.standard_normal((600, 3))
    y = x + gap * rng.standard_normal((600, 3))
    assert_allclose(Gram(kernel, x, y).dense(), exact(kernel, x, y), rtol=1e-8, atol=1e-12)
    assert_allclose(kernel(x, y), exact(kernel, x, y), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("spread", [1.0, 1e2, 1e4, 1e7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_two_clusters_many_bandwidths_apart(spread, dtype):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((750, 3))
    x[:400] += spread
    x = x.astype(dtype)
    tolerance = 1e-5 if dtype == np.float32 else 1e-8
    for kernel in (RBF(), Matern(2.5)):
        got = Gram(kernel, x).dense()
        assert got.dtype == dtype
        assert_allclose(got, exact(kernel, x, x), atol=tolerance)


def test_squared_distances_are_never_negative():
    x = np.repeat(np.random.default_rng(4).standard_normal((40, 5)), 30, axis=0) + 1e8
    k = Gram(Exponential(), x).dense()
    assert k.max() <= 1.0
    assert_allclose(k[:30, :30], 1.0)


def test_no_integer_overflow_in_large_matrices():
    """A product with a matrix of more than 2^31 entries: every row sum and their total are known."""
    n, ones = 46_400, 20_000
    x = np.repeat(np.float32([[0], [1]]), [n - ones, ones], axis=0)
    gram = Gram(Linear(), x, x.copy())
    assert gram.shape[0] * gram.shape[1] > 2**31
    rows = np.asarray(gram @ np.ones(n, dtype=np.float32))
    assert_array_equal(rows, ones * x[:, 0])
    assert rows.sum(dtype=np.float64) == ones * ones


def test_energy_statistics_survive_a_shift():
    rng = np.random.default_rng(5)
    x = rng.standard_normal((900, 2))
    x[:450] += 0.5
    w = np.r_[np.full(450, 1 / 450), np.full(450, -1 / 450)]
    assert_allclose(Gram(Energy(), x + 1e6).quad(w), Gram(Energy(), x).quad(w), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_compiled_exponential_equals_numpys(dtype):
    pytest.importorskip("numba")
    tiny = np.finfo(dtype).tiny
    x = -np.abs(np.random.default_rng(6).standard_normal(10_001) * 30).astype(dtype)
    x[:5] = [0.0, -tiny, -1e4, np.log(tiny) + 2, 1e-6]
    expected = np.exp(x.astype(np.float64))
    got = fast_exp.compiled_exp(x.reshape(1, -1).copy())[0]
    assert_allclose(got, expected, rtol=4 * np.finfo(dtype).eps, atol=10 * tiny)


def test_compiled_and_plain_tiles_agree(monkeypatch):
    pytest.importorskip("numba")
    x = np.random.default_rng(7).standard_normal((1100, 3))
    w = np.random.default_rng(8).standard_normal((1100, 7))
    plain = Gram(RBF(), x).quad(w)
    monkeypatch.setattr(fast_exp, "_MIN_VALUES_FOR_NUMBA", 0)
    assert_allclose(Gram(RBF(), x).quad(w), plain, rtol=1e-12)
