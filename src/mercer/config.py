"""Settings of mercer: memory budget, threads, executor of the tiles and device of its workers, progress bar."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Protocol
from weakref import ref

_UNITS = {"": 1, "B": 1}
_UNITS |= {f"{p}iB": 1024**i for i, p in enumerate("KMGT", 1)}
_UNITS |= {f"{p}B": 1000**i for i, p in enumerate("KMGT", 1)}
_UNSET: Any = object()


class Executor(Protocol):
    """Object that runs tiles: anything with the `submit` of `concurrent.futures.Executor`."""

    def submit(self, fn: Any, /, *args: Any) -> Any: ...


@dataclass(frozen=True)
class Settings:
    """Settings in force; `settings()` returns them."""

    memory: int = 2 * 1024**3
    threads: int | None = None
    executor: Executor | None = None
    worker_device: str | None = None
    progress: bool = False

    @property
    def workers(self) -> int:
        """Number of tile threads: `threads`, or the cores this process may use."""
        if self.threads is not None:
            return self.threads
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else os.cpu_count() or 1


@dataclass(frozen=True)
class _ConfigBlock:
    """Settings of a `with` block, and the block around it."""

    settings: Settings
    outer: _ConfigBlock | None


_block: ContextVar[_ConfigBlock | None] = ContextVar("mercer_settings", default=None)


def settings() -> Settings:
    """Settings in force: those of the innermost `with` block, else those of the process."""
    block = _block.get()
    return _process.settings if block is None else block.settings


@contextmanager
def in_force(now: Settings) -> Iterator[None]:
    """Context with exactly these settings, for calls in this thread."""
    token = _block.set(_ConfigBlock(now, _block.get()))
    try:
        yield
    finally:
        _block.reset(token)


class _Process:
    """Settings of the process: the defaults, and the calls of `config` that changed them.

    A call cannot know whether a `with` statement follows, so it takes effect for the process and is
    withdrawn when its block begins, while other threads may be doing the same.
    """

    def __init__(self) -> None:
        self.settings = self._base = Settings()
        self._calls: list[tuple[ref[config], dict[str, Any]]] = []
        self._lock = Lock()

    def change(self, call: config, changes: dict[str, Any]) -> None:
        with self._lock:
            while (
                self._calls and self._calls[0][0]() is None
            ):  # no reference is left that could withdraw it
                self._base = replace(self._base, **self._calls.pop(0)[1])
            self._calls.append((ref(call), changes))
            self.settings = replace(self.settings, **changes)

    def withdraw(self, call: config) -> None:
        with self._lock:
            self._calls = [each for each in self._calls if each[0]() is not call]
            now = self._base
            for _, changes in self._calls:
                now = replace(now, **changes)
            self.settings = now

    def after_fork(self) -> None:
        self._lock = Lock()  # a thread of the parent may have held the old one


_process = _Process()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_process.after_fork)


class config:
    """Set the memory budget, the threads, the executor and the progress bar.

    A plain call, ``mercer.config(threads=2)``, applies to the whole process from then on, in every
    thread. As a context manager it applies to its block only: to calls in the same thread (and in
    asyncio tasks created inside the block). Other threads see the settings of the process;
    `contextvars.copy_context` carries a block over to another thread. A plain call inside a block
    ends with the block. Tile threads use the settings of the call that started them. Settings that
    are not named do not change.

    Parameters
    ----------
    memory : int or str
        Memory that one operation may use in addition to its inputs and its result: bytes, or text
        such as ``"512MiB"`` or ``"2 GB"``; at least 16 MiB. Each thread also works on a few tiles of
        2 MiB, and the first compiled loop (with numba) loads a compiler of about 130 MiB.
    threads : int or None
        Number of tile threads, and of BLAS threads in large factorizations; None: one for every core
        the process may use.
    executor : object with ``submit``, or None
        Runs the tiles instead of the threads of mercer: a `dask.distributed.Client`, or an executor of
        `concurrent.futures`. Work of less than half a second stays here. With None, the current Dask client is
        used if there is one, else threads.
    worker_device : str or None
        Device of torch on which workers in other processes compare points, such as ``"cuda"``: the first GPU that each of
        them sees. Sums over pairs of 10,000 points or more are then computed there, and differ by the rounding of the
        device. None: on their processors.
    progress : bool
        Show a progress bar on stderr during long work.

    Examples
    --------
    >>> import mercer
    >>> with mercer.config(memory="512MiB", threads=1):
    ...     mercer.settings().memory
    536870912
    """

    def __init__(
        self,
        *,
        memory: int | str = _UNSET,
        threads: int | None = _UNSET,
        executor: Executor | None = _UNSET,
        worker_device: str | None = _UNSET,
        progress: bool = _UNSET,
    ) -> None:
        changes: dict[str, Any] = {}
        if memory is not _UNSET:
            changes["memory"] = _bytes(memory)
        if threads is not _UNSET:
            changes["threads"] = _threads(threads)
        if executor is not _UNSET:
            changes["executor"] = _executor(executor)
        if worker_device is not _UNSET:
            if worker_device is not None and (
                not isinstance(worker_device, str) or not worker_device
            ):
                raise TypeError(
                    "worker_device must be None or a device of torch, such as 'cuda' for a GPU of each worker, "
                    f"got {worker_device!r}"
                )
            changes["worker_device"] = worker_device
        if progress is not _UNSET:
            if not isinstance(progress, bool):
                raise TypeError(f"progress must be True or False, got {progress!r}")
            changes["progress"] = progress
        self._changes = changes
        self._around = _block.get()
        self._within = None
        if self._around is None:
            _process.change(self, changes)
        else:
            self._within = _ConfigBlock(
                replace(self._around.settings, **changes), self._around.outer
            )
            _block.set(self._within)

    def __enter__(self) -> Settings:
        outer = _block.get()
        if self._around is None:
            _process.withdraw(self)
        elif outer is self._within:
            outer = self._around
        now = _process.settings if outer is None else outer.settings
        _block.set(_ConfigBlock(replace(now, **self._changes), outer))
        return settings()

    def __exit__(self, *exc: object) -> None:
        block = _block.get()
        _block.set(None if block is None else block.outer)

    def __repr__(self) -> str:
        return repr(settings())


def _bytes(memory: int | str) -> int:
    size = -1.0
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]?i?B?)\s*", memory)
        if match and match[1].count(".") <= 1 and match[2] in _UNITS:
            size = float(match[1]) * _UNITS[match[2]]
    elif isinstance(memory, int) and not isinstance(memory, bool):
        size = memory
    if size < 0:
        raise ValueError(f"memory must be bytes or text such as '512MiB', got {memory!r}")
    if size < 16 * 1024**2:
        raise ValueError(f"memory must be at least 16MiB, got {memory!r}")
    return int(size)


def _threads(threads: int | None) -> int | None:
    if threads is None:
        return None
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise ValueError(f"threads must be a positive integer or None, got {threads!r}")
    return threads


def _executor(executor: Executor | None) -> Executor | None:
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise TypeError(
            f"executor must have a submit method, as concurrent.futures executors do, got {executor!r}"
        )
    return executor
