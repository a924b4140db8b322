"""Work that travels to another process: a short pickle, and its large arrays apart from it."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b
from threading import Lock
from time import perf_counter
from typing import Any

import numpy as np

from mercer.linalg import one_blas_thread

_MIN_BYTES_APART = 2**16  # smaller arrays travel inside the pickle
_WORKS_KEPT = 2  # of a worker: the work of this pass, and of one that runs beside it


@dataclass(frozen=True)
class PackedWork:
    """A callable as a pickle in which large arrays are numbers, and these arrays."""

    pickled: bytes
    arrays: tuple[np.ndarray, ...]

    @cached_property
    def digests(self) -> tuple[str, ...]:
        """The content of each array as a key: equal arrays are sent once."""
        return tuple(_digest(array) for array in self.arrays)

    @cached_property
    def key(self) -> str:
        """The content of the work, by which a worker knows that it has unpacked it before."""
        return blake2b(self.pickled + "".join(self.digests).encode(), digest_size=16).hexdigest()

    @property
    def nbytes(self) -> int:
        """Bytes to send."""
        return len(self.pickled) + sum(array.nbytes for array in self.arrays)


def packed(work: Callable[[Any], Any]) -> PackedWork:
    """The work in a form that another process can unpack.

    Functions and classes that were defined interactively travel where cloudpickle is installed, as it is with Dask.
    """
    out = io.BytesIO()
    packer = _packer_class()(out, protocol=5)
    packer.apart = {}
    packer.dump(work)
    return PackedWork(out.getvalue(), tuple(packer.apart.values()))


@dataclass(frozen=True)
class SentWork:
    """A packed work as workers have it: handles that stand for its pickle and for its arrays."""

    key: str
    pickled: Any
    handles: tuple[Any, ...]


@dataclass(frozen=True)
class BatchAnswers:
    """Answers to the first tasks of a batch, the seconds they took, and the error that ended it, if any."""

    answers: list[Any]
    seconds: float
    error: BaseException | None = None


def run_batch(
    key: str, pickled: Any, arrays: Sequence[np.ndarray], tasks: Sequence[Any]
) -> BatchAnswers:
    """The answers to some tasks, in the worker. An error keeps the answers before it."""
    work = _unpacked(key, pickled, arrays)
    answers, start, error = [], perf_counter(), None
    with one_blas_thread():
        for task in tasks:
            try:
                answers.append(work(task))
            except Exception as problem:
                error = problem
                break
    return BatchAnswers(answers, perf_counter() - start, error)


# ---- private ------------------------------------------------------------------------------------

_works: OrderedDict[str, Any] = OrderedDict()  # of this worker, the latest last
_lock = Lock()


def _unpacked(key: str, pickled: Any, arrays: Sequence[np.ndarray]) -> Any:
    """The work, unpacked once for all batches."""
    with _lock:
        if key not in _works:
            unpacker = _Unpacker(io.BytesIO(bytes(pickled)))
            unpacker.arrays = arrays
            _works[key] = unpacker.load()
        _works.move_to_end(key)
        while len(_works) > _WORKS_KEPT:
            _works.popitem(last=False)
        return _works[key]


def _digest(array: np.ndarray) -> str:
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    content = np.ascontiguousarray(array.T if order == "F" else array)
    digest = blake2b(content.view(np.uint8).reshape(-1).data, digest_size=16).hexdigest()
    return f"{digest}-{array.dtype.str}-{array.shape}-{order}"


@cache
def _packer_class() -> Any:
    """A pickler that puts large arrays into `apart` and their numbers into the pickle."""
    try:
        from cloudpickle import Pickler as pickler
    except ImportError:
        pickler = pickle.Pickler
    base: Any = pickler

    class Packer(base):
        apart: dict[int, np.ndarray]

        def persistent_id(self, obj: Any) -> int | None:
            if type(obj) is not np.ndarray or obj.nbytes < _MIN_BYTES_APART or obj.dtype.hasobject:
                return None
            self.apart.setdefault(id(obj), obj)
            return list(self.apart).index(id(obj))

    return Packer


class _Unpacker(pickle.Unpickler):
    """An unpickler that finds the arrays by their numbers."""

    arrays: Sequence[np.ndarray]

    def persistent_load(self, pid: Any) -> np.ndarray:
        return self.arrays[pid]
