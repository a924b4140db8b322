"""Which workers an executor has, and which Dask client is the current one."""

from __future__ import annotations

import sys
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from mercer.gram.cluster.batches import Workers
from mercer.gram.cluster.dask_workers import DaskWorkers
from mercer.gram.cluster.process_workers import ProcessWorkers, RemoteWorkers

_known: WeakKeyDictionary[Any, Workers] = WeakKeyDictionary()  # with the arrays they have
_lock = Lock()


def workers_of(executor: Any) -> Workers | None:
    """The workers of an executor in other processes; None for threads and for anything else with `submit`."""
    with _lock:
        if executor not in _known:
            kind = _kind(executor)
            if kind is None:
                return None
            _known[executor] = kind(executor)
        return _known[executor]


def current_client() -> Any:
    """The Dask client that is current in this thread, or the default one; None in a worker and without Dask."""
    distributed = sys.modules.get("distributed")
    if distributed is None or _in_a_worker(distributed):
        return None
    try:
        client = distributed.Client.current()
    except ValueError:
        return None
    return client if client.status == "running" and not client.asynchronous else None


def _kind(executor: Any) -> type[Any] | None:
    package = type(executor).__module__.partition(".")[0]
    if package == "distributed":
        return DaskWorkers if hasattr(executor, "scatter") else RemoteWorkers
    if isinstance(executor, ThreadPoolExecutor) or not isinstance(executor, Executor):
        return None
    on_this_machine = isinstance(executor, ProcessPoolExecutor) or package in ("loky", "joblib")
    return ProcessWorkers if on_this_machine else RemoteWorkers


def _in_a_worker(distributed: Any) -> bool:
    try:
        distributed.get_worker()
    except ValueError:
        return False
    return True
