"""Tiles on threads: a pool that is replaced, the caller's settings, and an answer to Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.gram import Gram
from mercer.gram.thread_pool import ThreadPool
from mercer.gram.threads import TILE, for_each, in_order, stripes
from mercer.kernels import RBF


def tile_threads() -> int:
    return sum(thread.name.startswith("mercer") for thread in threading.enumerate())


def within(seconds: float, condition) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def pause(_: int) -> None:
    time.sleep(0.002)


def test_former_pools_end():
    for threads in [*range(2, 14), 2]:
        with mercer.config(threads=threads):
            list(in_order(pause, range(40), parallel=True))
    assert within(10, lambda: tile_threads() <= 2), tile_threads()


def test_a_pool_changes_its_size_while_it_works():
    pool = ThreadPool()
    for size in (1, 4, 2, 7, 1):
        pool.resize(size)
        futures = [pool.submit(pause, k) for k in range(20)]
        pool.resize(size + 1)
        assert [future.result(10) for future in futures] == [None] * 20
        pool.resize(size)
        assert within(10, lambda size=size: len(pool._threads) == size)
    with pytest.raises(ZeroDivisionError):
        pool.submit(lambda k: 1 // k, 0).result(10)
    pool.close()
    assert within(10, lambda: not pool._threads)


def test_an_interpreter_with_a_pool_ends():
    code = "from mercer.gram.thread_pool import shared_pool; print(shared_pool(3).submit(abs, -1).result())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == "1\n"
    assert done.stderr == ""


def test_calls_that_overlap_with_other_sizes_finish():
    def work(threads: int) -> list[int]:
        with mercer.config(threads=threads):
            return list(in_order(lambda k: k * k, range(50), parallel=True))

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(work, [2, 3, 4, 5] * 5))
    assert answers == [[k * k for k in range(50)]] * 20


def test_tile_threads_have_the_budget_of_the_caller_and_no_threads_of_their_own():
    def inner(_: int) -> tuple[int, int, bool]:
        now = mercer.settings()
        return now.memory, now.workers, now.progress

    with mercer.config(threads=3, memory="77MiB"):
        assert set(in_order(inner, range(20), parallel=True)) == {(77 * 2**20, 1, False)}


def nested(_: int) -> list[int]:
    return list(in_order(abs, range(3), parallel=True))


def test_tiles_of_tiles_do_not_wait_for_their_own_executor():
    """Also where the executor was set for the whole process, and has one thread."""
    with ThreadPoolExecutor(1) as pool:
        mercer.config(executor=pool)
        try:
            assert list(in_order(nested, range(4), parallel=True)) == [[0, 1, 2]] * 4
        finally:
            mercer.config(executor=None)


def test_processes_can_run_the_work():
    from multiprocessing import get_context

    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        mercer.config(executor=pool),
    ):
        assert list(in_order(abs, [-1, -2], parallel=True)) == [1, 2]


def test_an_error_cancels_what_has_not_begun():
    done = []

    def work(k: int) -> int:
        time.sleep(0.01)
        done.append(k)
        return k

    with mercer.config(threads=2):
        answers = in_order(work, range(1000), parallel=True)
        next(answers)
        answers.close()
    time.sleep(0.2)
    assert len(done) < 20


def test_a_task_of_many_tiles_ends_early():
    done = []

    def tile(k: int) -> int:
        time.sleep(0.01)
        done.append(k)
        return k

    def work(_: int) -> list[int]:
        return list(in_order(tile, range(1000), parallel=True))

    with mercer.config(threads=2):
        answers = in_order(lambda k: k if k == 0 else work(k), range(5), parallel=True)
        assert next(answers) == 0
        time.sleep(0.05)
        answers.close()
    time.sleep(0.2)
    assert 0 < len(done) < 100


INTERRUPTED = """
import signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell has it ignored
import numpy as np
from threadpoolctl import ThreadpoolController, threadpool_limits
import mercer
from mercer.gram import Gram
from mercer.kernels import RationalQuadratic

threads = lambda: {p["num_threads"] for p in ThreadpoolController().info() if p["user_api"] == "blas"}
mercer.config(threads=int(sys.argv[1]))
x = np.random.default_rng(0).standard_normal((400_000, 3))
gram = Gram(RationalQuadratic(), x)
Gram(RationalQuadratic(), x[:2000]).sum()
threadpool_limits(3, user_api="blas")
before = threads()
print("ready", flush=True)
try:
    gram.row_sums()
except KeyboardInterrupt:
    began = time.monotonic()
    assert threads() == before, (threads(), before)
    used, wall = time.process_time(), 0.0
    while wall < 10:  # until no thread works any more
        time.sleep(0.2)
        now = time.process_time()
        wall = time.monotonic() - began
        if now - used < 0.02:
            break
        used = now
    assert wall < 5, wall
    small = Gram(RationalQuadratic(), x[:2000])
    assert abs(small.sum() - RationalQuadratic()(x[:2000]).sum()) < 1e-6 * small.sum()
    print("stopped", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("threads", ["1", "3"])
def test_an_interrupt_stops_the_tiles(threads):
    command = [sys.executable, "-c", INTERRUPTED, threads]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.4)
        child.send_signal(signal.SIGINT)
        try:
            out, err = child.communicate(timeout=30)
        finally:
            child.kill()
    assert "stopped" in out, err


def test_the_number_of_threads_changes_no_digit():
    x = np.random.default_rng(1).standard_normal((1500, 2))
    sums = []
    for threads in (1, 2, 5):
        with mercer.config(threads=threads):
            sums.append(Gram(RBF(), x).row_sums())
    assert all((each == sums[0]).all() for each in sums)
    assert_allclose(sums[0], RBF().pairwise(x, x).sum(axis=1), rtol=1e-10)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_for_each_does_every_task_once_and_raises_what_a_task_raises(threads):
    done = np.zeros(300, dtype=np.int64)

    def count(task: int) -> None:
        done[task] += 1

    def fail(task: int) -> None:
        done[task] += 1
        if task == 7:
            raise ZeroDivisionError

    with mercer.config(threads=threads):
        for_each(count, range(300))
        assert np.all(done == 1)
        with pytest.raises(ZeroDivisionError):
            for_each(fail, range(300))
    assert done[:8].tolist() == [2] * 8
    assert done.max() == 2


@pytest.mark.parametrize("n", [1, 63, 1000, 20_000, 300_001])
@pytest.mark.parametrize("columns", [1, 700, 20_000])
@pytest.mark.parametrize("vectors", [1, 1000])
def test_stripes_cover_the_rows_in_order(n, columns, vectors):
    found = stripes(n, columns, vectors)
    sizes = [rows.stop - rows.start for rows in found]
    assert [rows.start for rows in found] == [0, *(rows.stop for rows in found[:-1])]
    assert found[-1].stop == n
    assert min(sizes) > 0
    assert max(sizes) <= TILE
    assert sizes == sorted(sizes, reverse=True)


def test_products_do_not_depend_on_the_number_of_threads_or_on_stripes():
    rng = np.random.default_rng(0)
    x, y, v = rng.normal(size=(8_200, 3)), rng.normal(size=(6_200, 3)), rng.normal(size=(6_200, 2))
    results = []
    for threads in (1, 2, 5):
        with mercer.config(threads=threads):
            results.append(Gram(RBF(1.0), x, y) @ v)
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])
    rows = [0, 479, 480, 5_000, 8_199]
    assert_allclose(results[0][rows], RBF(1.0).pairwise(x[rows], y) @ v, rtol=1e-10, atol=1e-10)
