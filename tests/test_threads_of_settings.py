"""The number of threads of the settings holds for tiles, compiled loops and BLAS together."""

from __future__ import annotations

import time

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import mercer
from mercer.gram import Gram
from mercer.htest import MMD, Permutation
from mercer.kernels import RBF
from mercer.learn import SVC, KernelRidge, NystromRidge


@pytest.fixture
def three():
    """BLAS at three threads."""
    with threadpool_limits(3, user_api="blas"):
        yield


@pytest.mark.parametrize("name", ["product", "forms", "ridge", "SVC", "landmarks", "MMD"])
def test_one_thread_is_one_thread(three, name):
    """The other threads of the process, those of BLAS among them, do nothing that could be measured."""
    x = np.random.default_rng(0).normal(size=(2300, 8))
    kernel, small = RBF(2.0), x[:600]
    v = np.random.default_rng(1).normal(size=(600, 300))
    calls = {
        "product": lambda: Gram(kernel, small) @ v,
        "forms": lambda: Gram(kernel, small).quad(v),
        "ridge": lambda: KernelRidge(kernel, 0.1).fit(x, x[:, 0]),
        "SVC": lambda: SVC(kernel).fit(x, x[:, 0] > x[:, 1]),
        "landmarks": lambda: NystromRidge(kernel, landmarks=200).fit(x, x[:, 0]),
        "MMD": lambda: MMD(kernel, null=Permutation(200)).test(x[:1000], x[1000:2000], rng=0),
    }
    with mercer.config(threads=1):
        calls[name]()  # compiles
        time.sleep(0.05)  # threads of BLAS that ran before go to sleep
        process, thread = time.process_time(), time.thread_time()
        calls[name]()
        process, thread = time.process_time() - process, time.thread_time() - thread
    assert process - thread <= 0.1 * process + 0.02
