"""Tile work on a thread pool, with one BLAS thread each, results in order, and optional progress."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import nullcontext
from dataclasses import dataclass, replace
from threading import Event, local
from time import perf_counter
from typing import Any, TypeVar

from mercer.backend import Array, itemsize, on_accelerator
from mercer.config import Settings, in_force, settings
from mercer.gram import cluster, progress
from mercer.gram.device_work import OnDevice, worth_moving
from mercer.gram.thread_pool import shared_pool
from mercer.linalg import one_blas_thread

Task = TypeVar("Task")
Answer = TypeVar("Answer")

# Rows and columns of a tile: 1.8 MiB of float64, about the size of a level-2 cache. The value matters little:
# products and quadratic forms of 4,000 points took equal time (within 10%) with 256 to 640, and up to a quarter
# more with 1,024.
TILE = 480
_STRIPES_OF_FEW_VECTORS, _STRIPES = 64, 32
# Vectors up to which a product uses symmetry; with more, the transposed product of a tile costs more than to
# compute the tile again.
MAX_FEW_VECTORS = 16
_MIN_ROWS_OF_STRIPE = 128  # smaller tiles cost more in calls than in arithmetic
# Rows of the last stripes of a product that writes into its result: a twentieth of the work of one of 16 threads on
# 20,000 points. BLAS packs the vectors again for each stripe, so that they must not be much smaller.
_MIN_ROWS_OF_LAST_STRIPE = 64
_MIN_VALUES_OF_STRIPE = 2**18  # a third of a millisecond, ten times what it costs to begin a task
_VECTORS_PER_VALUE = 32  # products that take as long as one kernel value
_FIRST_GUESS_OF_SECONDS = 0.25  # of a task on another device; those that follow are measured
GPU_TILE = 4096  # rows and columns of a tile of torch on a GPU: 128 MiB, a thousandth of its memory
# Columns of a product from which wider tiles are faster, because fewer products are added up.
MIN_COLUMNS_FOR_WIDE_TILES = 512
WIDE_BYTES = 2**22  # size of such a wider tile


def side(like: Array) -> int:
    """Rows and columns of a tile on the device of `like`."""
    return GPU_TILE if on_accelerator(like) else TILE


def width(v: Array) -> int:
    """Columns of a tile in a product with v (m, k)."""
    if on_accelerator(v):
        return GPU_TILE
    if v.shape[1] < MIN_COLUMNS_FOR_WIDE_TILES:
        return TILE
    return max(WIDE_BYTES // (TILE * itemsize(v)), 1)


def rows_of_stripe(n: int, vectors: int = 1) -> int:
    """Rows of a stripe of tiles in compiled loops: small enough that 16 threads find several stripes each.

    It depends on the sizes alone, so that sums do not depend on the number of threads. With many vectors, BLAS
    copies all of them for each stripe, and larger stripes are faster.
    """
    stripes = _STRIPES_OF_FEW_VECTORS if vectors <= MAX_FEW_VECTORS else _STRIPES
    return min(max(-(-n // stripes), _MIN_ROWS_OF_STRIPE), TILE)


def stripes(n: int, columns: int, vectors: int = 1) -> list[slice]:
    """Rows of a matrix (n, columns) in stripes for compiled loops, smaller ones towards the end.

    Threads that have finished then wait for a small stripe at most. Like `rows_of_stripe` it depends on the
    sizes alone.
    """
    values_per_row = max(columns * (_VECTORS_PER_VALUE + vectors) // _VECTORS_PER_VALUE, 1)
    least = min(max(_MIN_VALUES_OF_STRIPE // values_per_row, _MIN_ROWS_OF_LAST_STRIPE), TILE)
    result, start = [], 0
    while start < n:
        size = max(min((n - start) // _STRIPES, TILE), least)
        result.append(slice(start, min(start + size, n)))
        start += size
    return result


def spans(n: int, size: int = TILE, first: int = 0) -> list[slice]:
    """range(first, n) as slices of `size`; the last may be shorter."""
    return [slice(start, min(start + size, n)) for start in range(first, n, size)]


def in_order(
    work: Callable[[Task], Answer],
    tasks: Sequence[Task],
    *,
    parallel: bool,
    shown: bool = True,
    held: int = 0,
    what: str = "comparing points",
) -> Iterator[Answer]:
    """work(task) for every task, in the order of the tasks, on the threads or the executor of the settings.

    Summing the results in this order makes them independent of the number of threads. A bounded
    number of tasks is submitted at a time, so memory does not grow with their number; where a
    task and its result take `held` bytes, the bound also respects the memory budget. When the caller
    stops early, because of an error or an interrupt, tasks that have not begun are cancelled, and
    running ones end at their next tile. The progress bar calls the tasks `what`, and counts them and
    nothing inside of them.
    """
    now = settings()
    counted = now.progress and shown and len(tasks) > 1
    room = max(3 * now.memory // (4 * held), 1) if held else max(len(tasks), 1)
    workers = _workers_elsewhere(now) if len(tasks) > 1 else None
    with one_blas_thread() if parallel else nullcontext():
        if workers is None:
            answers = _nearby(work, tasks, now, parallel, counted, room)
        else:
            near = replace(now, executor=None)
            answers = _near_then_far(workers, work, tasks, near, parallel, counted, room)
        yield from progress.shown(answers, len(tasks), what) if counted else answers


def runs_elsewhere() -> bool:
    """Whether work goes to an executor or to a cluster, which do not share the arrays of this process."""
    now = settings()
    return now.executor is not None or _workers_elsewhere(now) is not None


def _workers_elsewhere(now: Settings) -> cluster.Workers | None:
    """The workers of the executor, or of the current Dask client; None in a task, and where threads do the work."""
    executor = now.executor or (None if _in_a_task() else cluster.current_client())
    return None if executor is None else cluster.workers_of(executor)


def _nearby(
    work: Callable[[Task], Answer],
    tasks: Sequence[Task],
    now: Settings,
    parallel: bool,
    counted: bool,
    room: int,
) -> Iterator[Answer]:
    """The answers from the threads of this process, or from an executor that shares its memory."""
    executor = now.executor or (shared_pool(now.workers) if parallel and now.workers > 1 else None)
    if executor is None or len(tasks) == 1:
        return (_here(work, task, counted) for task in while_wanted(tasks))
    stop = Event() if now.executor is None else None
    return _windowed(executor, _alone(work, now, stop), tasks, min(2 * now.workers + 2, room))


def _near_then_far(
    workers: cluster.Workers,
    work: Callable[[Task], Answer],
    tasks: Sequence[Task],
    near: Settings,
    parallel: bool,
    counted: bool,
    room: int,
) -> Iterator[Answer]:
    """The first answers from the threads of this process; the others from the workers, if that takes long enough.

    Work for other devices goes to the workers as a whole, so that the same device computes all of it.
    """
    if near.worker_device is not None and worth_moving(work):
        moved: Any = OnDevice(work, near.worker_device)
        seconds = _FIRST_GUESS_OF_SECONDS
        yield from cluster.in_batches(workers, _alone(moved, near, None), tasks, seconds, room)
        return
    position, size, seconds = 0, near.workers if parallel else 1, 0.0
    while position < len(tasks):
        to_do = (len(tasks) - position) * seconds
        if cluster.worth_sending(to_do, position):
            break
        start = perf_counter()
        yield from _nearby(work, tasks[position : position + size], near, parallel, counted, room)
        seconds = (perf_counter() - start) / size
        position, size = position + size, 2 * size
    alone = _alone(work, near, None)
    one_thread = seconds * (near.workers if parallel else 1)
    yield from cluster.in_batches(workers, alone, tasks[position:], one_thread, room)


def _alone(work: Callable[[Any], Any], now: Settings, stop: Event | None) -> _OneThreadWork:
    return _OneThreadWork(replace(now, threads=1, executor=None, progress=False), work, stop)


def _here(work: Callable[[Task], Answer], task: Task, counted: bool) -> Answer:
    """work(task) in this thread; a task that the progress bar counts shows no progress of its own."""
    if not counted:
        return work(task)
    with in_force(replace(settings(), progress=False)):
        return work(task)


def for_each(work: Callable[[Task], object], tasks: Sequence[Task], parallel: bool = True) -> None:
    """work(task) for every task on the threads, where the tasks write into separate places of an array.

    Every thread, the calling one included, takes the next task when it has finished one, and there are no
    results to hand over: a small task costs 15 microseconds, with `in_order` 26 to 63. An executor, whose processes may
    not share the array, is not used.
    """
    now = replace(settings(), executor=None)
    threads = min(now.workers, len(tasks)) if parallel else 1
    if now.progress or threads <= 1:
        with in_force(now), one_blas_thread():
            deque(in_order(work, tasks, parallel=parallel), maxlen=0)
        return
    waiting, stop = deque(tasks), Event()
    alone = _OneThreadWork(replace(now, threads=1), _Queued(work, waiting), stop)
    with one_blas_thread():
        pool = shared_pool(now.workers)
        futures = [pool.submit(alone, None) for _ in range(threads - 1)]
        try:
            alone(None)
            for future in futures:
                if not future.cancel():
                    future.result()
        finally:
            stop.set()
            waiting.clear()


def while_wanted(tasks: Iterable[Task]) -> Iterator[Task]:
    """The same tasks, until the caller of `in_order`, in another thread, has stopped."""
    stop = getattr(_thread, "stop", None)
    for task in tasks:
        if stop is not None and stop.is_set():
            raise CancelledError
        yield task


@dataclass(frozen=True)
class _OneThreadWork:
    """The work with the settings of one thread: nested calls of `in_order` run in that thread."""

    settings: Settings
    work: Callable[[Any], Any]
    stop: Event | None  # set when the caller no longer waits for results

    def __call__(self, task: Any) -> Any:
        _thread.stop, _thread.in_a_task = self.stop, True
        try:
            with in_force(self.settings):
                return self.work(task)
        finally:
            _thread.stop, _thread.in_a_task = None, False


@dataclass(frozen=True)
class _Queued:
    """The work of one thread of `for_each`: tasks from a common queue until there are none."""

    work: Callable[[Any], object]
    waiting: deque[Any]

    def __call__(self, _: None) -> None:
        try:
            while True:
                try:
                    task = self.waiting.popleft()
                except IndexError:
                    return
                self.work(task)
        except BaseException:
            self.waiting.clear()  # the other threads need not go on
            raise


_thread = local()  # `stop` of the task that the thread runs, and whether it runs one


def _in_a_task() -> bool:
    return getattr(_thread, "in_a_task", False)


def _windowed(
    executor: Any, work: _OneThreadWork, tasks: Sequence[Any], window: int
) -> Iterator[Any]:
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
