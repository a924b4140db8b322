"""One rule for the BLAS threads of factorizations, and a guard that gives back what it took."""

from __future__ import annotations

import gc
import re
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Thread, local

import numpy as np
import pytest
from numpy.testing import assert_allclose
from threadpoolctl import ThreadpoolController, threadpool_limits

import mercer
from mercer import linalg
from mercer.gram import Gram
from mercer.kernels import RBF
from mercer.learn import SpectralClustering  # loads SciPy's BLAS, too, before it is counted
from mercer.linalg import one_blas_thread

SOURCE = Path(mercer.__file__).parent


def blas_threads() -> list[int]:
    """What every BLAS of the process is set to."""
    pools = ThreadpoolController().info()
    return [pool["num_threads"] for pool in pools if pool["user_api"] == "blas"]


@pytest.fixture
def three():
    """BLAS at three threads, a number that nobody else sets."""
    with threadpool_limits(3, user_api="blas"):
        if not blas_threads() or set(blas_threads()) != {3}:
            pytest.skip("the threads of this BLAS cannot be set")
        yield


def test_nested_blocks_restore_at_the_end(three):
    with one_blas_thread():
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {3}


def test_an_exception_restores(three):
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        raise ZeroDivisionError
    assert set(blas_threads()) == {3}


def test_blocks_that_overlap_restore_with_the_last(three):
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__()
    assert set(blas_threads()) == {1}
    second.__exit__()
    assert set(blas_threads()) == {3}


def test_what_the_user_sets_meanwhile_stays(three):
    with one_blas_thread():
        threadpool_limits(2, user_api="blas")
    assert set(blas_threads()) == {2}


def test_calls_from_four_threads_leave_blas_as_it_was(three):
    x = np.random.default_rng(0).standard_normal((300, 3))
    together = Barrier(4)

    def work() -> None:
        for _ in range(4):
            together.wait()
            mercer.two_sample(x[:150], x[150:], rng=0)

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(blas_threads()) == {3}


def test_spectral_clustering_in_threads_leaves_blas_as_it_was(three):
    """scikit-learn's k-means sets BLAS to one thread, too, and back to what it found."""
    x = np.random.default_rng(0).standard_normal((80, 2))

    def work(_: int) -> None:
        SpectralClustering(2, kernel=RBF(1.0), n_init=2, random_state=0).fit(x)
        Gram(RBF(), x).row_sums()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(24)))
    assert set(blas_threads()) == {3}


def test_a_thread_of_the_user_limits_its_tiles(three):
    """threadpoolctl hears the first thread alone that sets OpenBLAS, here the main one."""
    from mercer.gram.threads import in_order

    inside = []

    def work() -> None:
        inside.extend(in_order(lambda _: set(blas_threads()), range(3), parallel=True))

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert inside == [{1}] * 3
    assert set(blas_threads()) == {3}


class PerThread:
    """A BLAS whose number of threads is that of the calling thread, as OpenBLAS with OpenMP has it."""

    of_thread = True

    def __init__(self) -> None:
        self._local = local()

    def get(self) -> int:
        return getattr(self._local, "threads", 4)

    def set(self, threads: int) -> None:
        self._local.threads = threads


def test_a_blas_that_counts_for_each_thread(monkeypatch):
    from mercer.gram import thread_pool, threads
    from mercer.gram.thread_pool import ThreadPool

    blas = PerThread()
    monkeypatch.setitem(linalg._libraries, "per thread", blas)
    own = ThreadPool()  # threads know the libraries from their start
    monkeypatch.setattr(thread_pool, "_shared", own)
    with mercer.config(threads=2):
        assert set(threads.in_order(lambda _: blas.get(), range(9), parallel=True)) == {1}
    own.close()
    with one_blas_thread():
        with one_blas_thread():
            assert blas.get() == 1
        assert blas.get() == 1
    assert blas.get() == 4


def test_a_generator_of_tiles_that_is_dropped_restores(three):
    from mercer.gram.threads import in_order

    answers = in_order(lambda task: task, range(100), parallel=True)
    assert next(answers) == 0
    assert set(blas_threads()) == {1}
    del answers
    assert set(blas_threads()) == {3}


def interrupted(moment: int) -> bool:
    """A guarded block with an interrupt at that call inside the guard; whether there were as many.

    Python looks for signals where a function begins, so these are moments at which Ctrl-C can strike.
    """
    calls = 0

    def trace(frame, event, _):
        nonlocal calls
        if frame.f_code.co_name != "__del__":
            calls += 1
            if calls == moment:
                raise KeyboardInterrupt

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with one_blas_thread():
            pass
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def lock_is_free() -> bool:
    """As another thread sees it."""

    def attempt() -> bool:
        free = linalg._lock.acquire(timeout=5)
        if free:
            linalg._lock.release()
        return free

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(attempt).result()


def test_an_interrupt_at_any_call_of_the_guard_restores(three):
    with one_blas_thread():  # libraries are known from here on
        pass
    moment = 1
    while interrupted(moment):
        assert {library.get() for library in linalg._libraries.values()} == {3}, moment
        assert not linalg._open, moment
        moment += 1
    assert moment > 6  # __init__, __enter__, _begin, ..., __exit__, _end, _restore, ...
    assert lock_is_free()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals of POSIX")
def test_signals_at_random_moments_restore(three):
    rng = np.random.default_rng(0)
    strikes = 0

    def strike(*_: object) -> None:
        raise KeyboardInterrupt

    former = signal.signal(signal.SIGALRM, strike)
    try:
        for delay in rng.uniform(1e-6, 1e-4, 300):
            try:
                signal.setitimer(signal.ITIMER_REAL, delay)
                for _ in range(1000):  # Python swallows what strikes in a __del__
                    with one_blas_thread():
                        pass
            except KeyboardInterrupt:
                strikes += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
    gc.collect()
    assert strikes > 200
    assert set(blas_threads()) == {3}
    assert not linalg._open
    assert lock_is_free()


def test_the_rule(three):
    def threads_for(*shape: int) -> set[int]:
        with linalg.threads_for(np.broadcast_to(np.zeros(1), shape)):
            return set(blas_threads())

    assert threads_for(20, 20) == {3}  # too small for threads: nothing is set
    assert threads_for(500, 500) == {1}
    assert threads_for(7, 500, 500) == {1}
    assert threads_for(20_000, 50) == {1}
    for threads, expected in (
        (1, 1),
        (2, 2),
        (8, 3),
    ):  # those of the settings, and no more than there were
        with mercer.config(threads=threads):
            assert threads_for(5000, 5000) == {expected}
    assert set(blas_threads()) == {3}


def test_the_lowest_limit_of_overlapping_blocks_is_in_force(three):
    first, second = linalg.blas_threads(2), one_blas_thread()
    with first:
        assert set(blas_threads()) == {2}
        second.__enter__()
        assert set(blas_threads()) == {1}
        second.__exit__()
        assert set(blas_threads()) == {2}
    assert set(blas_threads()) == {3}


@pytest.mark.parametrize("n", [5, 100])
def test_factorizations_are_those_of_numpy(n):
    rng = np.random.default_rng(n)
    a, b = rng.standard_normal((n, n)), rng.standard_normal((n, 2))
    k = a @ a.T + n * np.eye(n)
    tolerance = {"rtol": 1e-8, "atol": 1e-8 * n}
    values, vectors = linalg.eigh(k)
    assert_allclose(vectors * values @ vectors.T, k, **tolerance)
    assert_allclose(linalg.eigvalsh(k), values, **tolerance)
    lower = linalg.cholesky(k)
    assert_allclose(lower @ lower.T, k, **tolerance)
    assert_allclose(linalg.inv(k) @ k, np.eye(n), **tolerance)
    assert_allclose(linalg.pinv(k), linalg.inv(k), **tolerance)
    assert_allclose(k @ linalg.solve(k, b), b, **tolerance)
    assert_allclose(linalg.lstsq(k, b)[0], linalg.solve(k, b), **tolerance)
    q, r = linalg.qr(a)
    assert_allclose(q @ r, a, **tolerance)
    assert_allclose(np.abs(linalg.qr_r(a)), np.abs(r), **tolerance)
    u, s, vt = linalg.svd(b)
    assert_allclose(u * s @ vt, b, **tolerance)
    assert_allclose(linalg.svdvals(b), s, **tolerance)
    assert_allclose(linalg.slogdet(k)[1], np.sum(np.log(values)), **tolerance)
    assert linalg.matrix_rank(b @ b.T) == 2


def test_every_factorization_goes_through_here():
    names = "cholesky|eigh|eigvalsh|inv|lstsq|matrix_rank|pinv|qr|slogdet|solve|svd|svdvals"
    direct = re.compile(rf"(np|xp|numpy|namespace\([^)]*\))\.linalg\.({names})\(")
    lapack = re.compile(
        r"from scipy\.linalg(\.lapack)? import .*\b(eigh|svd|qr|lu|get_lapack_funcs)\b"
    )
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        lines = [line for line in text.splitlines() if ">>>" not in line]
        assert not direct.search("\n".join(lines)), f"{path}: use mercer.linalg"
        if lapack.search(text):
            assert "linalg.threads_for(" in text, f"{path}: use threads_for"


def test_tiles_and_blocks_agree_under_the_guard():
    x = np.random.default_rng(0).standard_normal((1100, 2))
    with one_blas_thread():
        inside = Gram(RBF(), x).row_sums()
    assert_allclose(inside, RBF()(x).sum(axis=1), rtol=1e-10)
