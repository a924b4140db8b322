"""Where tile work runs: threads that do not fight BLAS, results in order, progress when asked."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from threading import local
from typing import Any, TypeVar

from mercer.backend import Array, itemsize, on_gpu
from mercer.config import settings

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
    work: Callable[[Task], Answer], tasks: Sequence[Task], *, parallel: bool, shown: bool = True
) -> Iterator[Answer]:
    """work(task) for every task, in the order of the tasks whatever runs them.

    Adding the answers up in this order makes results independent of the number of threads. Few
    answers are outstanding at a time, so memory does not grow with the number of tasks.
    """
    now = settings()
    executor = now.executor or (_pool(now.workers) if parallel and now.workers > 1 else None)
    if getattr(_thread, "works", False):  # a tile made of tiles: its thread does them all
        executor, shown = None, False
    with one_blas_thread() if parallel else nullcontext():
        if executor is None or len(tasks) == 1:
            answers = (work(task) for task in tasks)
        else:
            answers = _windowed(executor, work, tasks, 2 * now.workers + 2)
        yield from _shown(answers, len(tasks)) if now.progress and shown else answers


def _windowed(executor: Any, work: Any, tasks: Sequence[Any], window: int) -> Iterator[Any]:
    waiting: deque[Any] = deque()
    try:
        for task in tasks:
            if len(waiting) >= window:
                yield waiting.popleft().result()
            waiting.append(executor.submit(work, task))
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


def _shown(answers: Iterator[Any], total: int) -> Iterator[Any]:
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return iter(track(answers, "kernel tiles", total=total, console=console, transient=True))


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix="mercer", initializer=_begin)


_thread = local()  # what this thread is


def _begin() -> None:
    _thread.works = True


def one_blas_thread() -> AbstractContextManager[Any]:
    """BLAS on one thread per tile thread, as long as tiles run."""
    return _controller().limit(limits=1, user_api="blas")


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
