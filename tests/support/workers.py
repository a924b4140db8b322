"""Workers in other processes, as seen from here: they run in threads, and can lose or delay batches."""

from __future__ import annotations

from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Any

import pytest

import mercer
from mercer.gram.cluster import batches
from mercer.gram.cluster.batches import Workers
from mercer.gram.cluster.shipped_work import PackedWork, SentWork, run_batch


class SameProcess(Workers):
    """Workers that run here, in threads, and can lose or delay batches."""

    lost = (CancelledError,)

    def __init__(self, lose: int = 0, stuck: int = 0) -> None:
        self.sent, self.submitted, self.forgotten, self.cancelled = [], [], 0, 0
        self._lose, self._stuck = lose, stuck
        self._pool = ThreadPoolExecutor(2)

    @property
    def slots(self) -> int:
        return 2

    def send(self, work: PackedWork) -> SentWork:
        self.sent.append(work)
        return SentWork(work.key, work.pickled, work.arrays)

    def submit(self, work: SentWork, tasks: Any) -> Any:
        self.submitted.append(tasks)
        if self._lose:
            self._lose -= 1
            gone: Future[Any] = Future()
            gone.set_exception(CancelledError("lost"))
            return gone
        if self._stuck and tasks[0] == 0:  # the copies of one batch
            self._stuck -= 1
            return Future()  # never done
        return self._pool.submit(run_batch, work.key, work.pickled, work.handles, tasks)

    def forget(self) -> None:
        self.forgotten += 1

    def check(self) -> None:
        pass

    def cancel(self, futures: Any) -> None:
        self.cancelled += len(futures)


class everything_to:
    """A block in which all work goes to these workers, however small it is."""

    def __init__(self, workers: Workers) -> None:
        self._workers, self._patch = workers, pytest.MonkeyPatch()

    def __enter__(self) -> None:
        pool = ThreadPoolExecutor(1)
        self._patch.setattr(batches, "MIN_SECONDS_TO_SEND", 0)
        self._patch.setattr(mercer.gram.cluster, "workers_of", lambda _: self._workers)
        self._config = mercer.config(executor=pool)
        self._config.__enter__()

    def __exit__(self, *problem: object) -> None:
        self._config.__exit__()
        self._patch.undo()
