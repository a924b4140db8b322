"""The one context: how much memory, how many threads, who runs the tiles, whether to show progress."""

from __future__ import annotations

import os
import re
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Protocol

_UNITS = {"": 1, "B": 1}
_UNITS |= {f"{p}iB": 1024**i for i, p in enumerate("KMGT", 1)}
_UNITS |= {f"{p}B": 1000**i for i, p in enumerate("KMGT", 1)}
_UNSET: Any = object()


class Executor(Protocol):
    """Whoever runs tile work: anything with the `submit` of `concurrent.futures.Executor`."""

    def submit(self, fn: Any, /, *args: Any) -> Any: ...


@dataclass(frozen=True)
class Settings:
    """What is in force now; `settings()` returns it."""

    memory: int = 2 * 1024**3
    threads: int | None = None
    executor: Executor | None = None
    progress: bool = False

    @property
    def workers(self) -> int:
        """Number of tile threads: `threads`, or the cores this process may use."""
        if self.threads is not None:
            return self.threads
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else os.cpu_count() or 1


_current: ContextVar[Settings] = ContextVar("mercer_settings", default=Settings())


def settings() -> Settings:
    """The settings in force."""
    return _current.get()


class config:
    """Set the memory budget, the threads, the executor and the progress bar.

    Takes effect at once; as a context manager it is undone at the end of the block. What is not
    named stays as it is.

    Parameters
    ----------
    memory : int or str
        What one operation may hold beside its inputs and its result: bytes, or text such as
        ``"512MiB"`` or ``"2 GB"``. At least 16 MiB.
    threads : int or None
        Tile threads; None means every core the process may use.
    executor : object with ``submit``, or None
        Runs the tile work instead of mercer's own threads: an executor of `concurrent.futures`,
        or a client of a cluster with the same call.
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
        progress: bool = _UNSET,
    ) -> None:
        changes: dict[str, Any] = {}
        if memory is not _UNSET:
            changes["memory"] = _bytes(memory)
        if threads is not _UNSET:
            changes["threads"] = _threads(threads)
        if executor is not _UNSET:
            changes["executor"] = _executor(executor)
        if progress is not _UNSET:
            if not isinstance(progress, bool):
                raise TypeError(f"progress must be True or False, got {progress!r}")
            changes["progress"] = progress
        self._before = _current.get()
        _current.set(replace(self._before, **changes))

    def __enter__(self) -> Settings:
        return settings()

    def __exit__(self, *exc: object) -> None:
        _current.set(self._before)

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
