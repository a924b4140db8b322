"""Arrays of JAX are converted to NumPy where they come in; results are those of the same numbers in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer.backend import is_jax, to_numpy
from mercer.gram import Gram
from mercer.htest import HSIC, MMD
from mercer.kernels import RBF
from mercer.learn import SVC, KernelRidge
from mercer.rkhs import MeanMap

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2)).astype(np.float32)
Y = (X + RNG.normal(size=(40, 2))).astype(np.float32)
ANSWERS = {
    "two_sample": lambda x, y: mercer.two_sample(x, y, rng=0).pvalue,
    "independence": lambda x, y: mercer.independence(x, y, rng=0).pvalue,
    "MMD": lambda x, y: MMD(RBF(1.0)).test(list(x), y, rng=0).statistic,
    "HSIC": lambda x, y: HSIC().test(x, y, rng=0).statistic,
    "Gram": lambda x, y: Gram(RBF(1.0), x) @ y,
    "bags": lambda x, y: MeanMap(RBF(1.0))([x[:5], y[:9]]),
    "ridge": lambda x, y: KernelRidge(RBF(1.0)).fit(x, y[:, 0]).predict(x),
    "SVC": lambda x, y: SVC(RBF(1.0)).fit(x, y[:, 0] > 0).predict(x),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_jax_as_numpy(name):
    jnp = pytest.importorskip("jax.numpy")
    answer = ANSWERS[name](jnp.asarray(X), jnp.asarray(Y))
    assert isinstance(answer, float | np.ndarray)
    # strides of columns differ, and with them the order of sums of float32
    assert_allclose(answer, ANSWERS[name](X, Y), rtol=1e-4, atol=1e-5)


def test_traced_values_and_half_precision():
    jax = pytest.importorskip("jax")
    with pytest.raises(TypeError, match=r"outside jax\.jit, jax\.grad"):
        jax.grad(lambda x: RBF(1.0)(x).sum())(jax.numpy.asarray(X))
    half = jax.numpy.asarray(X).astype("bfloat16")
    assert to_numpy(half).dtype == np.float32
    assert RBF(1.0)(half).dtype == np.float32


def test_arrays_that_refuse_to_be_changed():
    """Without JAX: an array of a module of that name, which cannot be modified, is converted."""

    class Immutable:
        def __init__(self, values):
            self.values, self.dtype = values, values.dtype
            self.shape, self.ndim = values.shape, values.ndim

        def __array__(self, dtype=None, copy=None):
            return np.array(self.values, dtype=dtype)

    Immutable.__module__ = "jaxlib._jax"
    x, y = Immutable(X), Immutable(Y)
    assert is_jax(x)
    assert_array_equal(RBF(1.0)(x, y), RBF(1.0)(X, Y))
    assert MMD(RBF(1.0)).test(x, y, rng=0).pvalue == MMD(RBF(1.0)).test(X, Y, rng=0).pvalue
