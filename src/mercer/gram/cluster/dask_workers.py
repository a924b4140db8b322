"""Workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from pydoc import locate
from time import monotonic, sleep
from typing import Any
from weakref import proxy

import numpy as np

import mercer
from mercer.gram.cluster.batches import Workers
from mercer.gram.cluster.sent_arrays import SentArrays
from mercer.gram.cluster.shipped_work import PackedWork, SentWork, run_batch

_RECONNECT_SECONDS = 10.0  # for a client to find its scheduler again
_SLOW_SECONDS = 60.0  # for which a worker that was late gets no batches
_SCATTER_ATTEMPTS, _SCATTER_PAUSE = 5, 0.5  # where the worker that gets an array dies
# A worker that has not taken an array by then has stopped: seconds, and bytes in a second of a slow network.
_SCATTER_SECONDS, _SLOWEST_BYTES = 20.0, 5e6
_STATUS_AGE = 1.0  # seconds for which the number of threads of the cluster is taken to be the same


class DaskWorkers(Workers):
    """The workers of a `dask.distributed.Client`.

    Arrays are sent to one worker once, and the others fetch them from each other. A worker with another version of mercer or NumPy than the client is
    refused: the same seed must give the same answer.
    """

    def __init__(self, client: Any) -> None:
        from distributed import KilledWorker
        from distributed.comm.core import CommClosedError

        self._client = proxy(client)
        self._arrays = SentArrays()
        self._same_version: set[str] = set()
        self._threads: tuple[float, int] = (-_STATUS_AGE, 0)
        self._unreachable_since: float | None = None
        self._slow: dict[str, float] = {}  # late workers, and until when they get no batches
        self.lost = (KilledWorker, CommClosedError, CancelledError)

    @property
    def slots(self) -> int:
        """Threads of all workers."""
        asked_at, threads = self._threads
        if monotonic() - asked_at > _STATUS_AGE:
            with self._connected():
                threads = sum(self._client.nthreads().values())
            self._threads = monotonic(), threads
        return max(threads, 1)

    def send(self, work: PackedWork) -> SentWork:
        """Scatter the pickle and the arrays that the workers do not have."""
        pickled = np.frombuffer(work.pickled, np.uint8)
        with self._connected():
            self._refuse_other_versions()
            handles = self._arrays.handles(
                (work.key, *work.digests), (pickled, *work.arrays), self._scatter
            )
        return SentWork(work.key, handles[0], tuple(handles[1:]))

    def submit(self, work: SentWork, tasks: Sequence[Any]) -> Any:
        """A future of the answers to these tasks."""
        with self._connected():
            return self._client.submit(
                run_batch,
                work.key,
                work.pickled,
                list(work.handles),
                tasks,
                pure=False,
                workers=self._not_slow(),
            )

    def result(self, future: Any, timeout: float) -> Any:
        """The answers of a batch; raises TimeoutError where they are not there in so many seconds."""
        try:
            return future.result(timeout=timeout)
        except (
            UnboundLocalError
        ) as problem:  # Dask, where its own wait is cancelled on a busy machine
            raise TimeoutError from problem

    def avoid(self, late: Any) -> bool:
        """Give nothing to the workers that work on a late batch, or hold its answers, for a minute.

        Where that would leave none, those that were late before get work again: they may only have been slow.
        """
        with self._connected():
            working = [a for a, keys in self._client.processing().items() if late.key in keys]
            holding = [a for names in self._client.who_has([late]).values() for a in names]
            everyone = set(self._client.nthreads())
        slow = {*working, *holding}
        new = slow - set(self._slow)
        if everyone <= slow:
            return False  # one must be left
        if everyone <= slow | set(self._slow):
            self._slow = {}
        self._slow.update(dict.fromkeys(slow, monotonic() + _SLOW_SECONDS))
        return bool(new)

    def _not_slow(self) -> list[str] | None:
        """Addresses of the workers that get batches; None: all, as where every one is slow."""
        now = monotonic()
        self._slow = {address: until for address, until in self._slow.items() if until > now}
        if not self._slow:
            return None
        return [a for a in self._client.nthreads() if a not in self._slow] or None

    def forget(self) -> None:
        """Scatter all arrays again with the next work."""
        self._arrays = SentArrays()

    def check(self) -> None:
        """Raise where the scheduler has not been reachable for ten seconds."""
        if self._client.status == "running":
            self._unreachable_since = None
            return
        self._unreachable_since = self._unreachable_since or monotonic()
        closed = self._client.status == "closed"
        if closed or monotonic() - self._unreachable_since > _RECONNECT_SECONDS:
            raise ConnectionError(
                f"the Dask client is {self._client.status}: its scheduler cannot be reached, so the work was "
                "stopped; connect a new client and call again"
            )

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Wait for the scheduler; what then fails because the client was closed is an error of the connection."""
        self._wait_for_scheduler()
        try:
            yield
        except Exception:
            self.check()
            raise

    def _wait_for_scheduler(self) -> None:
        """Wait while the client connects again; raise where that takes more than ten seconds."""
        while self._client.status != "running":
            self.check()
            sleep(_SCATTER_PAUSE)

    def cancel(self, futures: Sequence[Any]) -> None:
        """Cancel tasks on the cluster; a batch that runs ends within about a second."""
        if futures and self._client.status == "running":
            self._client.cancel(list(futures))

    def _scatter(self, array: np.ndarray) -> Any:
        """Send an array to one worker, from which the others fetch it with their first batch.

        Dask can send it to all of them, but then waits for ever for a worker that dies meanwhile, and drops copies that no
        task needs at the moment.
        """
        for attempt in range(_SCATTER_ATTEMPTS):
            workers = self._not_slow()
            try:
                return self._client.sync(
                    self._sending,
                    array,
                    workers,
                    callback_timeout=_SCATTER_SECONDS + array.nbytes / _SLOWEST_BYTES,
                )
            except TimeoutError as problem:
                self.check()
                if not self._client.nthreads():
                    raise RuntimeError(
                        "the Dask cluster has no workers; start some, or leave executor=client out"
                    ) from problem
                if attempt == _SCATTER_ATTEMPTS - 1:
                    raise
                # the others may only have been slow
                self._slow = dict.fromkeys(workers or [], monotonic() + _SLOW_SECONDS)
            except (OSError, KeyError, ValueError):  # the worker died
                self.check()
                if attempt == _SCATTER_ATTEMPTS - 1:
                    raise
                sleep(_SCATTER_PAUSE)
        return None

    async def _sending(self, array: np.ndarray, workers: list[str] | None) -> Any:
        return await self._client.scatter(array, hash=False, workers=workers, asynchronous=True)

    def _refuse_other_versions(self) -> None:
        if set(self._client.nthreads()) <= self._same_version:
            return
        ours = {"mercer": mercer.__version__, "numpy": np.__version__}
        # What was imported counts, on both sides: the metadata of an editable installation may be older.
        imported = {
            name: self._client.run(locate, f"{name}.__version__", on_error="ignore")
            for name in ours
        }
        for address in imported["mercer"].keys() & imported["numpy"].keys():
            theirs = {name: found[address] for name, found in imported.items()}
            if theirs != ours:
                raise RuntimeError(
                    f"worker {address} has {_listed(theirs)}, the client {_listed(ours)}; install the same "
                    "versions, or restart workers that loaded older ones"
                )
            self._same_version.add(address)


def _listed(versions: dict[str, Any]) -> str:
    return " and ".join(f"{name} {version or 'not at all'}" for name, version in versions.items())
