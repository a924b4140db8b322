"""The largest eigenvalues of lazy matrices: by block Lanczos on tiles, densely where they are small."""

from __future__ import annotations

import warnings
from contextlib import nullcontext

import numpy as np

from mercer import linalg, validate
from mercer.backend import (
    Array,
    array_like,
    astype,
    device,
    double,
    is_numpy,
    is_single,
    itemsize,
    namespace,
    to_numpy,
    transposed,
)
from mercer.config import settings
from mercer.errors import MemoryBudgetError, NotConverged
from mercer.gram.combine import Centered, Dense, Product, Reweighted
from mercer.gram.gram import Gram
from mercer.gram.lazy import LazyMatrix
from mercer.kernels.radial import RBF
from mercer.linalg import one_blas_thread

_ROUNDS = 1000  # passes over the matrix at most
_SMALL = 1000  # rows up to which the dense eigenvalue solver is quickest
_FEW = 12  # columns of a cheap pass at least
_TINY = float(np.finfo(np.float64).tiny)
_COPIES = 3  # of the matrix while LAPACK finds its eigenvectors; of the basis while it grows
_THIN = 32  # columns of points up to which tiles of RBF cost less than to read them from memory


def top_eigenpairs(matrix: LazyMatrix, k: int) -> tuple[Array, Array]:
    """The k largest eigenvalues, falling, and their eigenvectors (n, k), each of length 1.

    By block Lanczos with full orthogonalisation and thick restarts, a few columns a pass over the
    tiles, until the residuals are below 1e-9 (float32: 1e-5) of the largest eigenvalue; small
    matrices are solved densely. The sign is the one that makes the largest entry positive. Raises
    `MemoryBudgetError` where the k vectors and the subspace they are found in do not fit.
    """
    validate.instance("matrix", matrix, LazyMatrix, "a LazyMatrix, such as Gram(kernel, x)")
    matrix._need_square("top_eigenpairs")
    if not matrix.symmetric:
        raise ValueError("top_eigenpairs needs a symmetric matrix")
    validate.whole("k", k)
    n = matrix.shape[0]
    if k > n:
        raise ValueError(f"k must be at most the number of points, {n}, got {k}")
    ask_for_eigenpairs(matrix, k)
    if _densely(n, k):
        values, vectors = _dense_eigenpairs(matrix, k)
    else:
        width, most = _plan(matrix, k)
        # on tiles with one thread of BLAS: others would wait in a loop, and keep tiles from the cores
        with nullcontext() if _holds(matrix) else one_blas_thread():
            values, vectors = _block_davidson(matrix, k, width, most)
    return values, vectors * _signs(vectors)


def ask_for_eigenpairs(matrix: LazyMatrix, k: int) -> None:
    """Raise `MemoryBudgetError` where `top_eigenpairs` would; nothing is computed."""
    n = matrix.shape[0]
    if not _densely(n, k):
        _plan(matrix, k)
    elif n > _SMALL:
        _ask_for(_COPIES * 8 * n**2, f"{k} eigenpairs of {n:,} points, more than a third, need")


def _densely(n: int, k: int) -> bool:
    return n <= _SMALL or 3 * k > n


def _fits(matrix: LazyMatrix) -> bool:
    return matrix.shape[0] ** 2 * itemsize(matrix.like) <= settings().memory


def _plan(matrix: LazyMatrix, k: int) -> tuple[int, int]:
    """Columns that the basis grows by, and those it has at most, within the memory budget."""
    n = matrix.shape[0]
    cheap = _quick(matrix) or _fits(matrix)
    width = max(_FEW, k // 4) if cheap else max(k, _FEW)
    most = min(max(3 * (k + width), 60), n)
    memory, held = settings().memory, n**2 * itemsize(matrix.like) if _holds(matrix) else 0
    room = max(memory - held, memory // 4) // (_COPIES * 8 * n)  # columns of all arrays together
    if most + k + width <= room:
        return width, most
    width = min(width, _FEW)
    most = min(most, room - k - width)
    if most < k + 2 * width:
        _ask_for(_COPIES * 8 * n * (2 * k + 3 * width), f"{k} eigenpairs of {n:,} points need")
    return width, most


def _ask_for(needed: int, what: str) -> None:
    budget = settings().memory
    if needed > budget:
        raise MemoryBudgetError(
            f"{what} {needed / 2**20:,.0f} MiB, and the budget is {budget / 2**20:,.0f} MiB: ask "
            "for fewer of them (Spectrum(rank=...) in a test, or Permutation(), which needs none), "
            "or raise mercer.config(memory=...)"
        )


def _dense_eigenpairs(matrix: LazyMatrix, k: int) -> tuple[Array, Array]:
    held = matrix.dense()
    n = held.shape[0]
    if is_numpy(held):
        return largest(held, k)
    xp = namespace(held)
    values, vectors = linalg.eigh(held)
    return xp.flip(values[n - k :]), xp.flip(vectors[:, n - k :], axis=1)


def largest(matrix: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues, falling, and their eigenvectors (n, k), of an array.

    LAPACK finds none of a part of the spectrum where (nearly) all eigenvalues are equal; then the
    whole of it is asked for.
    """
    from scipy.linalg import eigh

    n = len(matrix)
    with linalg.threads_for(matrix):
        values, vectors = eigh(matrix, subset_by_index=(n - k, n - 1))
        if len(values) < k:
            values, vectors = eigh(matrix, driver="evd")
    return values[::-1][:k], vectors[:, ::-1][:, :k]


def _block_davidson(matrix: LazyMatrix, k: int, width: int, most: int) -> tuple[Array, Array]:
    """A subspace that grows by the residuals of its best vectors, and begins anew with these.

    The first block has more columns than pairs are wanted, so that none of several equal
    eigenvalues is missed; later ones have few columns, as passes over the matrix are cheap.
    Without a preconditioner this is block Lanczos with thick restarts (Wu and Simon 2000).
    """
    n, work, dtype = matrix.shape[0], double(matrix.like), matrix.like.dtype
    start = np.random.default_rng(0).standard_normal((n, k + 2))
    tolerance = 1e-5 if is_single(matrix.like) else 1e-9
    space = Space(repeated_product(matrix), array_like(start, matrix.like, work))
    for _ in range(_ROUNDS):
        values, vectors, moved = space.ritz(min(k + width, space.size))
        rest = (moved - values * vectors)[:, :k]
        far = _lengths(rest) > tolerance * max(abs(float(values[0])), _TINY)
        if not far.any():
            return astype(values[:k], dtype), astype(vectors[:, :k], dtype)
        chosen = array_like(np.flatnonzero(far)[:width], rest, namespace(rest).int64)
        if space.size + width > most:
            space.restart(values, vectors, moved)
        space.grow(namespace(rest).take(rest, chosen, axis=1))
    values, vectors, _ = space.ritz(k)
    message = f"top_eigenpairs stopped after {_ROUNDS} passes, short of {tolerance:.0e}"
    warnings.warn(message, NotConverged, stacklevel=3)
    return astype(values, dtype), astype(vectors, dtype)


class Space:
    """A subspace that grows: an orthonormal basis Q (n, b), its images K Q, and Q'K Q."""

    def __init__(self, times: Product, start: Array) -> None:
        self.times = times
        self.basis = _orthonormal(start, None)
        self.images = times(self.basis)
        self.inner = transposed(self.basis) @ self.images

    @property
    def size(self) -> int:
        return int(self.basis.shape[1])

    def ritz(self, number: int) -> tuple[Array, Array, Array]:
        """The best eigenvalues and vectors inside the basis, and the images of the vectors."""
        xp = namespace(self.basis)
        values, turn = linalg.eigh((self.inner + transposed(self.inner)) / 2)
        turn = xp.flip(turn, axis=1)[:, :number]
        return xp.flip(values)[:number], self.basis @ turn, self.images @ turn

    def restart(self, values: Array, vectors: Array, moved: Array) -> None:
        """Keep the best vectors only."""
        xp = namespace(self.basis)
        one = xp.eye(values.shape[0], dtype=values.dtype, device=device(values))
        self.basis, self.images, self.inner = vectors, moved, values * one

    def grow(self, block: Array) -> None:
        """Add the part of a block that is orthogonal to the basis."""
        xp, fresh = namespace(self.basis), _orthonormal(block, self.basis)
        moved = self.times(fresh)
        across, own = transposed(self.basis) @ moved, transposed(fresh) @ moved
        above = xp.concat([self.inner, across], axis=1)
        below = xp.concat([transposed(across), own], axis=1)
        self.inner = xp.concat([above, below])
        self.basis = xp.concat([self.basis, fresh], axis=1)
        self.images = xp.concat([self.images, moved], axis=1)


def repeated_product(matrix: LazyMatrix) -> Product:
    """v -> K v for a symmetric K, many times: held where it fits and its tiles are not quick to make."""
    if isinstance(matrix, Centered | Reweighted):
        times = repeated_product(matrix.matrix)
        return lambda v: matrix.around(times, v)
    dtype = matrix.like.dtype
    if _holds(matrix):
        if not is_single(matrix.like):
            held = matrix.dense()
            return lambda v: transposed(
                transposed(v) @ held
            )  # which BLAS does twice as fast as K v
        matrix = Dense(matrix.dense())
    return lambda v: matrix._times(astype(v, dtype))


def _holds(matrix: LazyMatrix) -> bool:
    return _fits(matrix) and not _quick(matrix)


def _quick(matrix: LazyMatrix) -> bool:
    """Whether tiles are made in less time than they are read from memory."""
    inner = matrix.matrix if isinstance(matrix, Centered | Reweighted) else matrix
    if not (isinstance(inner, Gram) and isinstance(inner.kernel, RBF) and is_numpy(inner.x)):
        return False
    return inner.x.shape[1] <= _THIN


def _lengths(v: Array) -> np.ndarray:
    """|v_j| of every column: (k,)."""
    return np.sqrt(to_numpy(namespace(v).sum(v**2, axis=0)))


def _orthonormal(v: Array, basis: Array | None) -> Array:
    """An orthonormal basis of v, orthogonal to `basis`; twice, for rounding."""
    for _ in range(2):
        if basis is not None:
            v = v - basis @ (transposed(basis) @ v)
        v = linalg.qr(v).Q
    return v


def _signs(vectors: Array) -> Array:
    xp = namespace(vectors)
    largest = xp.argmax(xp.abs(vectors), axis=0)
    picked = [vectors[int(largest[j]), j] for j in range(vectors.shape[1])]
    ones = xp.ones((), dtype=vectors.dtype, device=device(vectors))
    return xp.stack([xp.where(p < 0, -ones, ones) for p in picked])
