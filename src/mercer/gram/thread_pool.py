"""A thread pool that can be resized while its threads work."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Lock, Thread, current_thread
from typing import Any

from mercer.linalg import one_blas_thread_for_good

_JOIN_TIMEOUT = 5.0  # seconds for a thread to finish its task when the interpreter exits


class ThreadPool:
    """Threads that take tasks from one queue, like the executors of `concurrent.futures`.

    Those executors have a fixed size, and discarding one during an interrupt can lose the message that
    ends its threads. Here each thread checks after every task whether there are too many of them, so
    that the next call completes what an interrupt left undone.
    """

    def __init__(self) -> None:
        self._size = 0
        self._tasks: SimpleQueue[tuple[Future[Any], Callable[[Any], Any], Any] | None]
        self._tasks = SimpleQueue()
        self._threads: set[Thread] = set()
        self._lock = Lock()

    def resize(self, size: int) -> None:
        """Start threads up to this number, or ask the surplus ones to end after their task."""
        self._size = size
        for _ in range(size - len(self._threads)):
            Thread(target=self._work, name="mercer", daemon=True).start()
        for _ in range(len(self._threads) - size):
            self._tasks.put(None)  # wakes a thread

    def submit(self, work: Callable[[Any], Any], task: Any, /) -> Future[Any]:
        """work(task) on one of the threads."""
        future: Future[Any] = Future()
        self._tasks.put((future, work, task))
        return future

    def close(self) -> None:
        """End all threads."""
        self.resize(0)
        for thread in list(self._threads):
            thread.join(_JOIN_TIMEOUT)

    def _work(self) -> None:
        with self._lock:
            self._threads.add(current_thread())
        one_blas_thread_for_good()
        while not self._surplus():
            item = self._tasks.get()
            if item is not None:
                _run(*item)
            del item  # a waiting thread keeps no data alive

    def _surplus(self) -> bool:
        """Whether there are too many threads; if so, the calling one is no longer counted."""
        with self._lock:
            surplus = len(self._threads) > self._size
            if surplus:
                self._threads.discard(current_thread())
            return surplus


def _run(future: Future[Any], work: Callable[[Any], Any], task: Any) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        answer = work(task)
    except BaseException as error:  # raised again by future.result()
        future.set_exception(error)
    else:
        future.set_result(answer)


_shared = ThreadPool()


def shared_pool(size: int) -> ThreadPool:
    """The pool of the process, resized to this number of threads."""
    _shared.resize(size)
    return _shared


def _after_fork() -> None:
    """Replace the pool in a forked child, which inherits it without its threads."""
    global _shared
    _shared = ThreadPool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(lambda: _shared.close())
