"""x _||_ y | z: what comes in, what goes out, what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.errors import MemoryBudgetError, NoRule
from mercer.htest import KCI, RCIT, Permutation, RCoT, WildBootstrap
from mercer.kernels import RBF, Delta, Energy, Linear
from tests.support.htest_given import drawn, letters

RANDOM = [KCI(), RCoT(), RCIT()]
every_test = pytest.mark.parametrize("test", RANDOM, ids=["KCI", "RCoT", "RCIT"])


@every_test
def test_frames_with_categories(test):
    x, y, z = letters(np.random.default_rng(0), (200,), effect=2.0)
    result = test.test(x, y, z, rng=0)
    assert result.given
    assert result.rejects()
    assert "independent given z (letter, number)" in result.summary()
    assert "degrees of freedom, n = 200" in result.summary()
    assert result.to_dict()["given"] is True


def test_frames_have_their_own_units():
    x, y, z = drawn(120, 2, effect=0.3)
    frame = pd.DataFrame({"a": z[:, 0] * 1e3, "b": z[:, 1] * 1e-3})
    scaled = z / z.std(axis=0)
    assert_allclose(KCI().test(x, y, frame).pvalue, KCI().test(x, y, scaled).pvalue, rtol=1e-6)


def test_tensors():
    torch = pytest.importorskip("torch")
    samples = drawn(100, 2)
    for test in RANDOM:
        p = test.test(*samples, rng=0).pvalue
        assert_allclose(test.test(*map(torch.from_numpy, samples), rng=0).pvalue, p, rtol=1e-9)


def test_any_kernels():
    x, y, z = drawn(100, 2, effect=1.0)
    energy = KCI(Energy(), Energy(), RBF(1.0)).test(x, y, z)
    assert 0 < energy.pvalue <= 1
    binned = np.digitize(z[:, 0], [-0.5, 0.5])[:, None]
    assert 0 < KCI(Linear(), Linear(), Delta()).test(x, y, binned).pvalue <= 1


@every_test
def test_nothing_is_left_of_a_function_of_z(test):
    rng = np.random.default_rng(0)
    z = rng.standard_normal(100)
    binary = (z > 0).astype(float)
    result = test.test(binary, rng.standard_normal(100), binary, rng=0)
    assert result.pvalue == 1.0
    assert "z determines x completely" in result.summary()


@every_test
def test_what_is_refused(test):
    kind, (x, y, z) = type(test), drawn(50, 1)
    with pytest.raises(TypeError, match="null must be Gamma.*permutations break the dependence"):
        kind(null=Permutation(99))
    with pytest.raises(ValueError, match="slack must be a non-negative number"):
        kind(slack=-0.1)
    with pytest.raises(TypeError, match="kernel_z must be a kernel, such as"):
        kind(kernel_z=1.0)
    with pytest.raises(ValueError, match="x, y and z need at least 8 observations, got 5"):
        test.test(x[:5], y[:5], z[:5])
    with pytest.raises(ValueError, match="same number of observations, got 50, 49 and 50"):
        test.test(x, y[1:], z)
    with pytest.raises(ValueError, match="all points of z are equal"):
        test.test(x, y, 0 * z)


def test_memory_budget():
    x, y, z = drawn(2000, 5)
    with mercer.config(memory="16MiB"):
        with pytest.raises(MemoryBudgetError, match=r"use RCoT\(\)"):
            KCI().test(x, y, z)
        assert 0 < RCoT().test(x, y, z, rng=0).pvalue <= 1
        wide = np.random.default_rng(0).standard_normal((2000, 30))
        with pytest.raises(MemoryBudgetError, match="kernel of x needs more than.*RCoT"):
            KCI().test(wide, y, z[:, :1])
        with pytest.raises(MemoryBudgetError, match="use fewer features"):
            RCoT(given_features=2000).test(x, y, z, rng=0)


def test_blocks_of_signs_for_series():
    rng = np.random.default_rng(0)
    z = np.cumsum(rng.standard_normal(200)) / 5
    x, y = z + rng.standard_normal(200), z + rng.standard_normal(200)
    result = KCI(null=WildBootstrap(199, block=5)).test(x, y, z, rng=0)
    assert len(result.null) == 199
    for test in (KCI, RCoT, RCIT):
        with pytest.raises(NoRule, match="for series, and there is no test of series given others"):
            test(null=WildBootstrap(block=None))
