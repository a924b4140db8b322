"""Work for which workers in other processes copy points to their own GPUs, as `mercer.config(worker_device=...)` asks for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeGuard

import numpy as np

from mercer.backend import Array, from_numpy, to_numpy

# Pairs of points from which work is moved, those of 10,000 points: with fewer, a GPU is not faster than the threads here.
# Who computes must not depend on measured times: devices round differently.
MIN_PAIRS_TO_MOVE = 10**8


class DeviceWork(ABC):
    """Work on pairs of points that can be done on another device as well."""

    @property
    @abstractmethod
    def movable_pairs(self) -> int:
        """Pairs of points that all tasks together compare; 0 where the points are no arrays in memory."""

    @abstractmethod
    def on_device(self, device: str) -> Callable[[Any], Any]:
        """The same work on points copied to a device of torch."""


def worth_moving(work: object) -> TypeGuard[DeviceWork]:
    """Whether the work can be moved, and compares pairs enough."""
    return isinstance(work, DeviceWork) and work.movable_pairs >= MIN_PAIRS_TO_MOVE


def to_device(x: Array, device: str) -> Any:
    """The same numbers as a tensor of torch on a device."""
    plain = np.ascontiguousarray(to_numpy(x))
    return from_numpy(plain if plain.flags.writeable else plain.copy(), "torch").to(device)


def both_to_device(x: Array, y: Array, device: str) -> tuple[Any, Any | None]:
    """Two sets of points on a device; None for the second where it is the first."""
    return to_device(x, device), None if y is x else to_device(y, device)


@dataclass(eq=False)
class OnDevice:
    """Work that is moved to a device in the process that calls it first; answers are NumPy arrays."""

    work: DeviceWork
    device: str
    _moved: Callable[[Any], Any] | None = None
    _lock: Any = field(default_factory=Lock)

    def __reduce__(self) -> Any:
        return OnDevice, (self.work, self.device)

    def __call__(self, task: Any) -> Any:
        with self._lock:
            if self._moved is None:
                self._moved = self._on_device()
        answer = self._moved(task)
        return tuple(map(_on_host, answer)) if isinstance(answer, tuple) else _on_host(answer)

    def _on_device(self) -> Callable[[Any], Any]:
        try:
            return self.work.on_device(self.device)
        except (ImportError, RuntimeError, AssertionError) as problem:  # as torch raises
            raise RuntimeError(
                f"a worker cannot use {self.device!r}, the worker_device of mercer.config: {problem}. It needs torch, and a "
                "GPU that it sees; worker_device=None computes on processors"
            ) from problem


def _on_host(answer: Any) -> Any:
    return to_numpy(answer) if hasattr(answer, "__array__") else answer
