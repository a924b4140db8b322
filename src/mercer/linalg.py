"""Matrix factorizations, with a guard on the number of BLAS threads.

BLAS threads wait for each other in busy loops. On a machine with other work to do, a factorization of
medium size, which synchronises them once per column, then takes many times as long with all threads
as with one. `eigh`, `cholesky` and the others have the names of `numpy.linalg`, take arrays of any
library, and choose the number of threads by `threads_for`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from threading import RLock
from typing import Any

from mercer.backend import Array, ArrayT, is_numpy, namespace
from mercer.config import settings

# Entries of a matrix up to which BLAS uses one thread anyway (OpenBLAS: 64 x 64).
_MAX_ENTRIES_UNTHREADED = 64**2
# Multiplications of a matrix product up to which OpenBLAS uses one thread anyway.
_MAX_MULTIPLICATIONS_UNTHREADED = 2**18
# Entries up to which a factorization gets one BLAS thread. On a busy machine with two cores, eigh of
# order 500, 1,000, 1,500 and 2,000 took 0.07, 0.7, 1.8 and 4.3 s with one thread, and 1.2 to 4.3, 7.0,
# 10.5 and 23 s with two (qr and svd alike; cholesky and solve only below order 500). On an idle
# machine, one thread costs at most a second or two up to this size.
_MAX_ENTRIES_ONE_THREAD = 2000**2


def threads_for(matrix: Array) -> AbstractContextManager[Any]:
    """The BLAS threads for a factorization of this matrix: one up to order 2,000, those of the settings above.

    A stack of matrices (..., n, m) is factorized one matrix at a time. Arrays of other libraries than
    NumPy are left to their library.
    """
    entries = matrix.shape[-2] * matrix.shape[-1]
    if _MAX_ENTRIES_UNTHREADED < entries <= _MAX_ENTRIES_ONE_THREAD and is_numpy(matrix):
        return one_blas_thread()
    if entries > _MAX_ENTRIES_ONE_THREAD and is_numpy(matrix):
        return blas_threads(settings().workers)
    return nullcontext()


def threads_for_product(multiplications: int) -> AbstractContextManager[Any]:
    """The BLAS threads for a product of NumPy arrays outside of tiles: those of the settings."""
    if multiplications <= _MAX_MULTIPLICATIONS_UNTHREADED:
        return nullcontext()
    return blas_threads(settings().workers)


# ---- factorizations -------------------------------------------------------------------------


def cholesky(a: ArrayT) -> ArrayT:
    """The lower Cholesky factor of a positive definite matrix."""
    return _factorized("cholesky", a)


def eigh(a: Array) -> Any:
    """Eigenvalues in increasing order, and eigenvectors, of a symmetric matrix."""
    return _factorized("eigh", a)


def eigvalsh(a: ArrayT) -> ArrayT:
    """Eigenvalues of a symmetric matrix in increasing order."""
    return _factorized("eigvalsh", a)


def inv(a: ArrayT) -> ArrayT:
    """The inverse of a matrix."""
    return _factorized("inv", a)


def lstsq(a: Array, b: Array) -> Any:
    """The least-squares solution of ax = b, with the other results of `numpy.linalg.lstsq`."""
    return _factorized("lstsq", a, b, rcond=None)


def matrix_rank(a: Array) -> int:
    """The rank of a symmetric matrix."""
    return int(_factorized("matrix_rank", a, hermitian=True))


def pinv(a: ArrayT) -> ArrayT:
    """The Moore-Penrose inverse of a matrix."""
    return _factorized("pinv", a)


def qr(a: Array) -> Any:
    """Q and R of the reduced QR decomposition."""
    return _factorized("qr", a)


def qr_r(a: ArrayT) -> ArrayT:
    """The factor R of the reduced QR decomposition of a NumPy array."""
    return _factorized("qr", a, mode="r")


def slogdet(a: Array) -> Any:
    """Sign and logarithm of the absolute value of the determinant."""
    return _factorized("slogdet", a)


def solve(a: ArrayT, b: Array) -> ArrayT:
    """The solution of ax = b."""
    return _factorized("solve", a, b)


def svd(a: Array) -> Any:
    """U, s and V' of the reduced singular value decomposition."""
    return _factorized("svd", a, full_matrices=False)


def svdvals(a: ArrayT) -> ArrayT:
    """Singular values in decreasing order."""
    return _factorized("svdvals", a)


def _factorized(name: str, a: Array, *others: Array, **options: Any) -> Any:
    with threads_for(a):
        return getattr(namespace(a).linalg, name)(a, *others, **options)


# ---- the number of BLAS threads -------------------------------------------------------------


class blas_threads:
    """Limit every BLAS of the process to a number of threads inside a `with` block.

    Blocks may be nested and may overlap in several Python threads: the first to begin records the
    number of threads of each library, the lowest limit is in force, and the last to end restores the
    numbers. A library that is loaded while blocks are open is limited by the next block that begins, or by
    `limit_loaded_blas`. A number of threads set by other code in the meantime is kept.
    """

    __slots__ = ("_limit", "_per_thread")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._per_thread: list[tuple[_Library, int]] = []  # libraries with a number for each thread

    def __enter__(self) -> None:
        _begin(id(self), self._limit)
        self._per_thread = _limit_this_thread(self._limit)

    def __exit__(self, *exc: object) -> None:
        _end(id(self))
        for library, threads in self._per_thread:
            library.set(threads)

    def __del__(self) -> None:
        # An interrupt can strike on the way into __exit__ or in the middle of it.
        if id(self) in _open or (_before and not _open):
            _end(id(self))


class one_blas_thread(blas_threads):
    """Keep every BLAS of the process at one thread inside a `with` block."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(1)


class _Library:
    """A BLAS library: its number of threads, and the function that sets it."""

    def __init__(self, controller: Any) -> None:
        self.path: str = controller.filepath
        self.get: Callable[[], int] = controller.get_num_threads
        self.set: Callable[[int], Any] = controller.set_num_threads
        # whether the number is that of the calling thread, not of the process
        self.of_thread = getattr(controller, "threading_layer", "") == "openmp"
        if controller.internal_api == "openblas" and not self.of_thread:
            # threadpoolctl ignores all threads but the first that sets OpenBLAS
            self.set = _openblas_setter(controller.dynlib) or self.set


def _openblas_setter(library: Any) -> Callable[[int], Any] | None:
    names = ("openblas_set_num_threads", "scipy_openblas_set_num_threads")
    symbols = [name + suffix for name in names for suffix in ("", "64_", "_64")]
    return next((getattr(library, name) for name in symbols if hasattr(library, name)), None)


_lock = RLock()
_open: dict[int, int] = {}  # the id of each block that is open, and its limit
_before: dict[str, int] = {}  # path of a library -> its threads before the first block
_limited: dict[str, int] = {}  # path of a library -> its threads as set here
_libraries: dict[str, _Library] = {}  # by path
_modules = 0  # number of imported modules at the last search for libraries


def _begin(block: int, limit: int) -> None:
    try:
        _locked(_open_block, block, limit)
    except BaseException:  # an interrupt must not leave the block open either
        _end(block)
        raise


def _end(block: int) -> None:
    _locked(_close_block, block)


def _locked(work: Callable[..., None], *arguments: Any) -> None:
    """Call `work` with the lock held, and release it whenever an interrupt strikes.

    ``with _lock`` does not do that on Python 3.14, which looks for signals between taking the lock and the block.
    """
    lock = _lock
    try:
        lock.acquire()
        work(*arguments)
    finally:
        try:  # noqa: SIM105  (an interrupt could strike in any call before the release)
            lock.release()
        except RuntimeError:  # interrupted while it waited for the lock
            pass


def _open_block(block: int, limit: int) -> None:
    _open[block] = limit
    _find_libraries()
    _enforce()


def _close_block(block: int) -> None:
    _open.pop(block, None)
    if _open:
        _enforce()
    else:
        _restore()


def _enforce() -> None:
    """Bring all libraries to the lowest limit of the open blocks, or to fewer threads that they had before."""
    limit = min(_open.values())
    for path, library in _libraries.items():
        threads = 0 if library.of_thread else library.get()
        if path in _before and threads != _limited[path]:
            continue  # changed by other code
        target = min(limit, _before.get(path, threads))
        if threads != target:
            _before.setdefault(path, threads)
            _limited[path] = target
            library.set(target)


def _restore() -> None:
    """Restore the numbers of threads; if interrupted, `__del__` or the next block completes it."""
    for path, threads in list(_before.items()):
        if _libraries[path].get() == _limited.get(path):  # not changed by other code
            _libraries[path].set(threads)
        _before.pop(path, None)


def _limit_this_thread(limit: int) -> list[tuple[_Library, int]]:
    """Limit libraries that have a number for each thread; returns their numbers in this thread."""
    numbers = [(each, each.get()) for each in _libraries.values() if each.of_thread]
    for library, threads in numbers:
        library.set(min(threads, limit))
    return numbers


def one_blas_thread_for_good() -> None:
    """Limit the calling thread, one that mercer started, to one BLAS thread permanently."""
    _locked(_find_libraries)
    _limit_this_thread(1)


def limit_loaded_blas() -> None:
    """Limit a BLAS that was loaded since the last block began, where blocks are open."""
    _locked(_limit_new_libraries)


def _limit_new_libraries() -> None:
    if _open:
        _find_libraries()
        _enforce()


def _find_libraries() -> None:
    """Search for BLAS libraries if modules were imported since the last search: SciPy has its own."""
    global _modules
    if len(sys.modules) != _modules:
        from threadpoolctl import ThreadpoolController

        for controller in ThreadpoolController().lib_controllers:
            if controller.user_api == "blas" and controller.filepath not in _libraries:
                _libraries[controller.filepath] = _Library(controller)
        _modules = len(sys.modules)


def _after_fork() -> None:
    """Close all blocks in a forked child, where no other thread runs."""
    global _lock
    _lock = RLock()
    _open.clear()
    _restore()


if hasattr(os, "register_at_fork"):
    # forks wait for the lock, so that the child inherits a consistent state
    os.register_at_fork(
        before=lambda: _lock.acquire(),
        after_in_parent=lambda: _lock.release(),
        after_in_child=_after_fork,
    )
