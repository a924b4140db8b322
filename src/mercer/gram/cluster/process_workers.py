"""Workers of an executor of `concurrent.futures`, such as a pool of processes."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any
from weakref import finalize, proxy

import numpy as np

from mercer.config import settings
from mercer.gram.cluster.batches import Workers
from mercer.gram.cluster.sent_arrays import SentArrays
from mercer.gram.cluster.shipped_work import BatchAnswers, PackedWork, SentWork, run_batch


class ProcessWorkers(Workers):
    """A pool of processes on this machine: arrays are files that the processes map into their memory."""

    lost = (BrokenProcessPool,)  # a new submission then tells what to do

    def __init__(self, executor: Executor) -> None:
        self._executor = proxy(executor)
        self._folder = Path(mkdtemp(prefix="mercer-arrays-"))
        finalize(self, rmtree, self._folder, ignore_errors=True)
        self._numbers = count()
        self._arrays = SentArrays()

    @property
    def slots(self) -> int:
        """Processes of the pool."""
        return getattr(self._executor, "_max_workers", None) or settings().workers

    def send(self, work: PackedWork) -> SentWork:
        """Write the arrays that have no file yet."""
        handles = self._arrays.handles(work.digests, work.arrays, self._stored)
        return SentWork(work.key, work.pickled, tuple(handles))

    def submit(self, work: SentWork, tasks: Sequence[Any]) -> Any:
        """A future of the answers to these tasks."""
        try:
            return self._executor.submit(
                _run_stored, work.key, work.pickled, list(work.handles), tasks
            )
        except BrokenProcessPool as problem:
            raise RuntimeError(
                "a process of the executor has ended, and with it the pool: make a new executor and call again"
            ) from problem

    def forget(self) -> None:
        """Files stay: a pool whose process has ended takes no more work."""

    def check(self) -> None:
        """The next submission raises where the pool is gone."""

    def _stored(self, array: np.ndarray) -> _StoredArray:
        stored = _StoredArray(self._folder / f"{next(self._numbers)}.npy")
        np.save(stored.path, array)
        finalize(stored, stored.path.unlink, missing_ok=True)
        return stored


class RemoteWorkers(ProcessWorkers):
    """An executor of unknown kind, perhaps on other machines: arrays travel with every batch."""

    def _stored(self, array: np.ndarray) -> Any:
        return array


@dataclass
class _StoredArray:
    """An array in a file, which is removed with the handle of the process that wrote it."""

    path: Path

    def load(self) -> np.ndarray:
        """The array, mapped into memory."""
        return np.load(self.path, mmap_mode="r").view(np.ndarray)


def _run_stored(key: str, pickled: bytes, handles: list[Any], tasks: Sequence[Any]) -> BatchAnswers:
    """`run_batch` on arrays in files."""
    arrays = [h.load() if isinstance(h, _StoredArray) else h for h in handles]
    return run_batch(key, pickled, arrays, tasks)
