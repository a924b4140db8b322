"""Work on other processes: what is sent, what comes back, and what happens when a worker is lost."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import mercer
from mercer.gram import Gram
from mercer.gram.cluster import batches, in_batches, shipped_work, workers_of
from mercer.gram.cluster.sent_arrays import SentArrays
from mercer.gram.cluster.shipped_work import PackedWork, SentWork, packed, run_batch
from mercer.htest import (
    DHSIC,
    HSIC,
    KSD,
    MMD,
    NFSIC,
    ConditionalMutualInformation,
    NystromHSIC,
    Permutation,
    WildBootstrap,
)
from mercer.info import CharacteristicFunction
from mercer.kernels import RBF, Energy, Laplace
from mercer.learn import KCCA
from mercer.rkhs import Gaussian
from tests.support.workers import SameProcess, everything_to


@dataclass(frozen=True)
class Scaled:
    """Work with a large array, and one that is too small to travel apart."""

    points: np.ndarray
    factor: np.ndarray

    def __call__(self, rows: slice) -> np.ndarray:
        return self.points[rows] * self.factor


@dataclass(frozen=True)
class Picky:
    """Work that fails at one task."""

    wrong: int

    def __call__(self, k: int) -> int:
        if k == self.wrong:
            raise ZeroDivisionError("three is too many")
        return k


POINTS = np.random.default_rng(0).normal(size=(5_000, 4))
NORMAL = Gaussian(np.zeros(4), 1.0)


def test_large_arrays_travel_apart_and_once():
    work = packed([Scaled(POINTS, np.ones(4)), Scaled(POINTS, POINTS)])
    assert [array is POINTS for array in work.arrays] == [True]
    assert len(work.pickled) < 2_000
    assert work.key == packed([Scaled(POINTS, np.ones(4)), Scaled(POINTS, POINTS)]).key
    assert work.key != packed([Scaled(POINTS + 1, np.ones(4)), Scaled(POINTS, POINTS)]).key


@pytest.mark.parametrize(
    "array", [POINTS, np.asfortranarray(POINTS), POINTS[::2], POINTS.astype(np.float32)]
)
def test_layout_and_numbers_stay(array: np.ndarray):
    done = run_batch(
        packed(Scaled(array, np.float32(2))).key,
        *((w := packed(Scaled(array, np.float32(2)))).pickled, w.arrays),
        [slice(3, 9)],
    )
    np.testing.assert_array_equal(done.answers[0], array[3:9] * np.float32(2))


def test_a_permutation_test_sends_little_more_than_its_points():
    """Permutations are drawn again from their seed, and factors of tiles computed again."""
    sent: list[int] = []

    class Counting(SameProcess):
        def send(self, work: PackedWork) -> SentWork:
            sent.append(work.nbytes)
            return super().send(work)

    x, y = POINTS[:2_500], POINTS[2_500:]
    for kernel in (RBF(2.0), Laplace(2.0)):
        here = MMD(kernel, null=Permutation(499)).test(x, y, rng=1)
        sent.clear()
        with everything_to(Counting()):
            there = MMD(kernel, null=Permutation(499)).test(x, y, rng=1)
        assert (here.statistic, here.pvalue) == (there.statistic, there.pvalue)
        assert 0 < max(sent) < 1.5 * POINTS.nbytes  # d = 4: labels take a quarter of the points


@pytest.mark.parametrize(
    ("test", "samples"),
    [
        (HSIC(RBF(1.0), RBF(1.0)), (POINTS[:1_200, :2], POINTS[:1_200, 2:])),
        (DHSIC(), (POINTS[:1_100, :1], POINTS[:1_100, 1:2], POINTS[:1_100, 2:])),
        (KSD(Gaussian(np.zeros(4), 1.1)), (POINTS[:1_000],)),
    ],
    ids=["HSIC", "DHSIC", "KSD"],
)
def test_tests_give_the_same_elsewhere(test: Any, samples: tuple[np.ndarray, ...]):
    here = test.test(*samples, rng=3)
    workers = SameProcess()
    with everything_to(workers):
        there = test.test(*samples, rng=3)
    assert workers.submitted
    assert (here.statistic, here.pvalue) == (there.statistic, there.pvalue)


X, Y, Z = (POINTS[:300, j : j + 1] for j in range(3))
HALVES = ["a", "b"] * 150
WORKS: dict[str, Callable[[], Any]] = {
    "columns of a model": lambda: (
        KSD(NORMAL, null=WildBootstrap(9)).test(POINTS[:200], rng=0).columns()
    ),
    "factors": lambda: NystromHSIC(null=Permutation(39, blocks=HALVES)).test(X, Y, rng=0).null,
    "features": lambda: NFSIC(null=Permutation(999, blocks=HALVES)).test(X, Y, rng=0).null,
    "numbers": lambda: (
        HSIC(Energy(), Energy(), null=Permutation(999, blocks=HALVES)).test(X, Y, rng=0).null
    ),
    "neighbours": lambda: ConditionalMutualInformation(resamples=9).test(X, Y, Z, rng=0).null,
    "waves": lambda: CharacteristicFunction(POINTS)(POINTS[:300]),
    "folds": lambda: KCCA(cv=3, random_state=0).fit(X, Y).ridge_,
}


@pytest.mark.parametrize("name", WORKS)
def test_work_is_made_of_what_pickle_knows(name: str, monkeypatch: pytest.MonkeyPatch):
    """Functions inside of functions would need cloudpickle, which may not be installed."""
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    shipped_work._packer_class.cache_clear()
    workers = SameProcess()
    try:
        with everything_to(workers):
            there = WORKS[name]()
    finally:
        shipped_work._packer_class.cache_clear()
    assert workers.submitted
    here = WORKS[name]()
    if name == "columns of a model":
        assert here == there
    else:
        np.testing.assert_array_equal(here, there)


def test_products_and_dense_matrices_are_the_same_elsewhere():
    gram, v = Gram(RBF(1.0), POINTS[:2_000], POINTS[2_000:3_500]), np.ones((1_500, 3))
    symmetric = Gram(RBF(1.0), POINTS[:1_500])
    here = gram @ v, symmetric @ v, symmetric.dense(), gram.dense()
    with everything_to(SameProcess()):
        there = gram @ v, symmetric @ v, symmetric.dense(), gram.dense()
    for ours, theirs in zip(here, there, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13)


def test_lost_batches_are_sent_again_and_answers_stay_in_order():
    workers = SameProcess(lose=3)
    assert list(in_batches(workers, Picky(-1), range(100), 0.1, 50)) == list(range(100))
    assert workers.forgotten == len(workers.sent) - 1 > 0


def test_a_batch_that_is_lost_again_and_again_is_an_error():
    with pytest.raises(RuntimeError, match="lost with their worker"):
        list(in_batches(SameProcess(lose=1_000), Picky(-1), range(100), 0.1, 50))


@pytest.mark.parametrize("stuck", [1, 5])
def test_a_stuck_worker_does_not_stop_the_rest(stuck: int, monkeypatch: pytest.MonkeyPatch):
    """Also where it gets every copy of a batch for a while, since the other worker was late before."""
    monkeypatch.setattr(batches, "_LATE_SECONDS", 0.1)
    monkeypatch.setattr(batches, "_LATE_FACTOR", 0.0)
    monkeypatch.setattr(batches, "_POLL_SECONDS", 0.02)
    workers = SameProcess(stuck=stuck)
    assert list(in_batches(workers, Picky(-1), range(20), 0.5, 50)) == list(range(20))


def test_an_error_keeps_the_answers_before_it_and_cancels_the_rest():
    workers = SameProcess()
    answers = in_batches(workers, Picky(3), range(1_000), 0.5, 1_000)
    assert [next(answers) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ZeroDivisionError, match="three"):
        next(answers)
    assert workers.cancelled > 0


def test_batches_take_about_a_second_and_respect_the_room():
    workers = SameProcess()
    list(in_batches(workers, Picky(-1), range(1_000), 0.01, 100_000))
    assert 50 <= len(workers.submitted[0]) <= 100
    workers = SameProcess()
    list(in_batches(workers, Picky(-1), range(1_000), 1e-9, 10))
    assert max(map(len, workers.submitted)) <= 5


def test_small_work_stays_here():
    workers = SameProcess()
    with everything_to(workers):
        batches.MIN_SECONDS_TO_SEND = 0.5
        Gram(RBF(1.0), POINTS[:1_200]) @ np.ones(1_200)
    assert not workers.submitted


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool


def test_processes_map_arrays_from_files(processes: ProcessPoolExecutor):
    tasks = [slice(k, k + 5) for k in range(0, 100, 5)]
    answers = list(in_batches(workers_of(processes), Scaled(POINTS, np.ones(4)), tasks, 0.2, 50))
    np.testing.assert_array_equal(np.concatenate(answers), POINTS[:100])


def test_arrays_that_are_not_used_are_dropped_beyond_half_of_the_budget():
    kept, sent = SentArrays(), []
    with mercer.config(memory="16MiB"):
        for k in range(6):
            array = np.full(2**19, k, np.float64)  # 4 MiB
            kept.handles([str(k), "same"], [array, POINTS], lambda a: sent.append(a) or len(sent))
    assert len(sent) == 7
    assert sorted(kept._handles) == ["5", "same"]


def test_threads_and_other_executors_share_memory():
    with ThreadPoolExecutor(1) as pool:
        assert workers_of(pool) is None
    assert workers_of(object) is None
