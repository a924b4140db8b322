"""Where tile work runs: threads that do not fight BLAS, results in order, progress when asked."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import nullcontext
from dataclasses import dataclass, replace
from threading import Event, local
from typing import Any, TypeVar

from mercer.backend import Array, itemsize, on_gpu
from mercer.config import Settings, in_force, settings
from mercer.gram.thread_pool import shared_pool
from mercer.linalg import one_blas_thread

Task = TypeVar("Task")
Answer = TypeVar("Answer")

TILE = 480  # rows and columns of a tile: 1.8 MiB of float64 stays in cache, and no power of two,
# whose rows would meet in the same cache lines
GPU_TILE = 4096  # on a GPU, whose memory such a tile fills by a thousandth
MANY = 512  # columns of a product from which wider tiles pay: fewer sums of products
WIDE_BYTES = 2**22  # of such a tile


def side(like: Array) -> int:
    """Rows and columns of a tile of such an array."""
    return GPU_TILE if on_gpu(like) else TILE


def width(v: Array) -> int:
    """Columns of a tile in a product with v (m, k)."""
    if on_gpu(v):
        return GPU_TILE
    return TILE if v.shape[1] < MANY else max(WIDE_BYTES // (TILE * itemsize(v)), 1)


def spans(n: int, size: int = TILE, first: int = 0) -> list[slice]:
    """range(first, n) cut into slices of `size`; the last may be shorter."""
    return [slice(start, min(start + size, n)) for start in range(first, n, size)]


def in_order(
    work: Callable[[Task], Answer],
    tasks: Sequence[Task],
    *,
    parallel: bool,
    shown: bool = True,
    held: int = 0,
) -> Iterator[Answer]:
    """work(task) for every task, in the order of the tasks whatever runs them.

    Adding the answers up in this order makes results independent of the number of threads. Few
    answers are outstanding at a time, so memory does not grow with the number of tasks; where a
    task and its answer hold many bytes, `held`, no more of them than the memory budget has room for.
    When the caller stops early, because of an error or an interrupt, tasks that have not begun are
    cancelled, and those that have end at their next tile.
    """
    now = settings()
    executor = now.executor or (shared_pool(now.workers) if parallel and now.workers > 1 else None)
    with one_blas_thread() if parallel else nullcontext():
        if executor is None or len(tasks) == 1:
            answers = (work(task) for task in while_wanted(tasks))
        else:
            stop = Event() if now.executor is None else None
            alone = _Alone(replace(now, threads=1, executor=None, progress=False), work, stop)
            room = max(3 * now.memory // (4 * held), 1) if held else len(tasks)
            answers = _windowed(executor, alone, tasks, min(2 * now.workers + 2, room))
        yield from _shown(answers, len(tasks)) if now.progress and shown else answers


def while_wanted(tasks: Iterable[Task]) -> Iterator[Task]:
    """The same tasks, until the caller of `in_order`, whose thread this is not, has stopped."""
    stop = getattr(_thread, "stop", None)
    for task in tasks:
        if stop is not None and stop.is_set():
            raise CancelledError
        yield task


@dataclass(frozen=True)
class _Alone:
    """The work on one thread, under the caller's memory budget: a tile of tiles does them all."""

    settings: Settings
    work: Callable[[Any], Any]
    stop: Event | None  # is set when nobody waits for the answer any more

    def __call__(self, task: Any) -> Any:
        _thread.stop = self.stop
        try:
            with in_force(self.settings):
                return self.work(task)
        finally:
            _thread.stop = None


_thread = local()  # what the thread works for


def _windowed(executor: Any, work: _Alone, tasks: Sequence[Any], window: int) -> Iterator[Any]:
    waiting: deque[Any] = deque()
    try:
        for task in tasks:
            if len(waiting) >= window:
                yield waiting.popleft().result()
            waiting.append(executor.submit(work, task))
        while waiting:
            yield waiting.popleft().result()
    finally:
        if work.stop is not None:
            work.stop.set()
        for future in waiting:
            future.cancel()


def _shown(answers: Iterator[Any], total: int) -> Iterator[Any]:
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return iter(track(answers, "kernel tiles", total=total, console=console, transient=True))
