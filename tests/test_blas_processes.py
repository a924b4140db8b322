"""BLAS threads in fresh processes: libraries that are loaded later, and forked children."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest


def run(code: str, *, seconds: float = 60) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_blas_that_is_loaded_later_is_limited_too():
    out = run("""
import numpy, mercer, sys
from mercer.gram.threads import in_order
with mercer.linalg.one_blas_thread():  # a first look at the libraries
    pass
assert "scipy.linalg" not in sys.modules
import scipy.linalg
from threadpoolctl import ThreadpoolController, threadpool_limits
threads = lambda: [p["num_threads"] for p in ThreadpoolController().info() if p["user_api"] == "blas"]
threadpool_limits(3, user_api="blas")
before = threads()
inside = next(in_order(lambda _: threads(), [0], parallel=True))
print(before, inside, threads())
""")
    before, inside, after = re.findall(r"\[.*?\]", out)
    assert set(re.findall(r"\d+", inside)) <= {"1"}
    assert before == after


def test_a_blas_that_compiled_loops_load_is_limited_at_once():
    """Compiled loops load SciPy's BLAS for their first stripe, inside of a block that began without it."""
    pytest.importorskip("numba")
    out = run("""
import os
os.environ["OPENBLAS_NUM_THREADS"] = "3"
import sys, numpy, mercer
from mercer.gram.blas_calls import routines
from threadpoolctl import ThreadpoolController
threads = lambda: [p["num_threads"] for p in ThreadpoolController().info() if p["user_api"] == "blas"]
print(threads())
with mercer.linalg.one_blas_thread():
    assert "scipy.linalg" not in sys.modules
    routines(numpy.dtype(numpy.float64))
    print(threads())
print(threads())
""")
    before, inside, after = (set(re.findall(r"\d+", line)) for line in out.splitlines())
    assert inside == {"1"}
    assert after == before


def test_a_forked_child_finishes():
    pytest.importorskip("os").fork
    out = run("""
import multiprocessing, threading, numpy
import scipy.linalg  # its BLAS, which compiled loops would load, is counted from here on
from threadpoolctl import ThreadpoolController, threadpool_limits
from mercer import linalg
from mercer.config import config
from mercer.gram import Gram
from mercer.kernels import RBF
config(threads=2)
x = numpy.random.default_rng(0).standard_normal((1500, 2))
value = lambda: float(Gram(RBF(), x).sum())
threads = lambda: {p["num_threads"] for p in ThreadpoolController().info() if p["user_api"] == "blas"}
threadpool_limits(3, user_api="blas")
before = threads()
parent = value()  # starts the pool
inside, over = threading.Event(), threading.Event()
def hold():
    with linalg.one_blas_thread():
        inside.set(), over.wait()
holder = threading.Thread(target=hold)
holder.start(), inside.wait()

def child(queue):
    first = threads()  # the block of the parent's thread is not the child's
    queue.put((first, value(), threads()))

context = multiprocessing.get_context("fork")
queue = context.SimpleQueue()
process = context.Process(target=child, args=(queue,))
process.start()
process.join(30)
alive = process.is_alive()
if alive:
    process.kill()
over.set(), holder.join()
assert not alive, "the child hangs"
assert queue.get() == (before, parent, before)
assert threads() == before
print("done")
""")
    assert "done" in out
