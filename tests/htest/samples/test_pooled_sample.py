"""Samples on their way into a test: arrays, frames, weights."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.htest import MMD, Permutation
from mercer.htest.samples.pooled_sample import pool, pool_for
from mercer.kernels import RBF, Delta, Laplace, default_kernel, median_bandwidth
from mercer.rkhs import mmd2
from mercer.rkhs.distributions import Empirical

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((30, 2)), RNG.standard_normal((20, 2))


def frame(n: int, shift: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(n)
    return pd.DataFrame(
        {"age": 40 + 10 * (rng.standard_normal(n) + shift), "plan": rng.choice(["a", "b"], n)}
    )


def test_default_kernel_is_that_of_the_pooled_sample():
    both = np.concatenate([X, Y])
    assert pool(None, X, Y).kernel == RBF(median_bandwidth(both - X.mean(axis=0)))
    x, y = frame(30), frame(25, 1.0)
    pooled = pool(None, x, y)
    kernel = default_kernel(pd.concat([x, y]))
    assert_allclose(pooled.gram.dense()[:30, 30:], kernel(x, y), rtol=1e-12)
    # the order of columns does not matter, and the samples may be swapped
    assert_allclose(MMD().statistic(x, y[["plan", "age"]]), MMD().statistic(x, y), rtol=1e-12)
    assert_allclose(MMD().statistic(y, x), MMD().statistic(x, y), rtol=1e-9)


def test_frames_of_numbers_and_categories():
    x, y = frame(80), frame(60, 1.0)
    assert MMD(null=Permutation(199)).test(x, y, rng=0).rejects(0.01)
    assert mercer.two_sample(x, y, rng=0).rejects(0.01)
    plans = x[["plan"]], pd.DataFrame({"plan": np.repeat(["a", "c"], [10, 40])})
    assert mercer.two_sample(*plans, rng=0).rejects(0.01)
    with pytest.raises(ValueError, match="same columns"):
        MMD().test(x, y[["age"]])


def test_several_kernels_are_bound_to_columns():
    x, y = frame(30), frame(25)
    kernels = [RBF(1.0).select("age"), Delta().select("plan"), Laplace(2.0).select("age")]
    pooled, bound = pool_for(kernels, x, y)
    for kernel, named in zip(bound, kernels, strict=True):
        assert_allclose(kernel(pooled.points), named(pd.concat([x, y])), rtol=1e-9)


def test_a_collection_covers_the_scales():
    _, kernels = pool_for(None, X, Y)
    assert [type(k) for k in kernels] == [RBF] * 10 + [Laplace] * 10
    _, larger = pool_for(None, 100 * X, 100 * Y)
    assert_allclose([k.bandwidth for k in larger], [100 * k.bandwidth for k in kernels])
    with pytest.raises(ValueError, match="all points of x and y are equal"):
        pool_for(None, np.ones((5, 1)), np.ones((4, 1)))


def test_weights_are_repetitions():
    """A sample with whole weights has the biased MMD^2 of the sample with repeated points."""
    times = RNG.integers(1, 4, len(X))
    weighted = Empirical(X, times / times.sum())
    found = MMD(RBF(1.0), unbiased=False).statistic(weighted, Y)
    assert_allclose(
        found, mmd2(RBF(1.0), np.repeat(X, times, axis=0), Y, unbiased=False), rtol=1e-9
    )
    equal = Empirical(X, np.full(30, 1 / 30))
    assert_allclose(MMD().statistic(equal, Y), MMD().statistic(X, Y), rtol=1e-9)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (X[:1], Y, "x must have at least 2 points"),
        (X, Y[:, :1], "same number of columns"),
        (X, np.full((5, 2), np.nan), "y has NaN"),
    ],
)
def test_bad_samples(x, y, message):
    with pytest.raises(ValueError, match=message):
        MMD(RBF(1.0)).test(x, y)
