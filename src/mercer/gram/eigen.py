"""The largest eigenvalues of lazy matrices: by block Lanczos on tiles, densely where they are small."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from mercer import validate
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
)
from mercer.config import settings
from mercer.errors import NotConverged
from mercer.gram.combine import Changed, Dense
from mercer.gram.gram import Gram
from mercer.gram.lazy import LazyMatrix
from mercer.kernels.radial import RBF

_ROUNDS = 1000  # passes over the matrix at most
_SMALL = 1000  # rows up to which the dense eigenvalue solver is quickest
_NARROW, _WIDE = 4, 16  # columns of a pass: fewer waste passes, more waste columns
_THIN = 32  # columns of points up to which tiles of RBF cost less than to read them from memory
_GROWTH = 1.2  # of the basis, after which it is looked at again

Product = Callable[[Array], Array]


def top_eigenpairs(matrix: LazyMatrix, k: int) -> tuple[Array, Array]:
    """The k largest eigenvalues, falling, and their eigenvectors (n, k), each of length 1.

    By block Lanczos with full orthogonalisation and thick restarts, several columns a pass over the
    tiles, until the residuals are below 1e-9 (float32: 1e-5) of the largest eigenvalue; small
    matrices are solved densely. The sign is the one that makes the largest entry positive.
    """
    validate.instance("matrix", matrix, LazyMatrix, "a LazyMatrix, such as Gram(kernel, x)")
    matrix._need_square("top_eigenpairs")
    if not matrix.symmetric:
        raise ValueError("top_eigenpairs needs a symmetric matrix")
    validate.whole("k", k)
    n = matrix.shape[0]
    if k > n:
        raise ValueError(f"k must be at most the number of points, {n}, got {k}")
    if n <= _SMALL or 3 * k > n:
        values, vectors = _dense_eigenpairs(matrix, k)
    else:
        values, vectors = _block_lanczos(matrix, k)
    return values, vectors * _signs(vectors)


def _fits(matrix: LazyMatrix) -> bool:
    return matrix.shape[0] ** 2 * itemsize(matrix.like) <= settings().memory


def _dense_eigenpairs(matrix: LazyMatrix, k: int) -> tuple[Array, Array]:
    held = matrix.dense()
    n = held.shape[0]
    if is_numpy(held):
        from scipy.linalg import eigh

        values, vectors = eigh(held, subset_by_index=(n - k, n - 1))
        return values[::-1], vectors[:, ::-1]
    xp = namespace(held)
    values, vectors = xp.linalg.eigh(held)
    return xp.flip(values[n - k :]), xp.flip(vectors[:, n - k :], axis=1)


def _block_lanczos(matrix: LazyMatrix, k: int) -> tuple[Array, Array]:
    """Krylov spaces of a random block, restarted with their best vectors (Wu and Simon 2000)."""
    n, work, dtype = matrix.shape[0], double(matrix.like), matrix.like.dtype
    width = min(max(k, _NARROW), _WIDE)
    most = min(max(3 * (k + width), 8 * width), n)
    start = np.random.default_rng(0).standard_normal((n, width))
    tolerance = 1e-5 if is_single(matrix.like) else 1e-9
    space = _Space(repeated_product(matrix), array_like(start, matrix.like, work))
    looked = 0.0
    for _ in range(_ROUNDS):
        size, full = space.size, space.size + width > most
        if not full and size < max(k, _GROWTH * looked):
            space.grow()
            continue
        values, vectors, moved = space.ritz(min(k + width, size))
        if _off(values, vectors, moved, k) <= tolerance * _scale(values):
            return astype(values[:k], dtype), astype(vectors[:, :k], dtype)
        if full:
            space.restart(values, vectors, moved)
        else:
            space.grow()
        looked = 0.0 if full else size
    values, vectors, _ = space.ritz(k)
    message = f"top_eigenpairs stopped after {_ROUNDS} passes, short of {tolerance:.0e}"
    warnings.warn(message, NotConverged, stacklevel=3)
    return astype(values, dtype), astype(vectors, dtype)


class _Space:
    """An orthonormal basis Q (n, b), its images K Q, and Q'K Q: grown by a block at a time."""

    def __init__(self, times: Product, start: Array) -> None:
        self.times, self.width = times, start.shape[1]
        self.basis = _orthonormal(start, None)
        self.images = times(self.basis)
        self.inner = _transpose(self.basis) @ self.images

    @property
    def size(self) -> int:
        return int(self.basis.shape[1])

    def grow(self) -> None:
        """One more block: the part of the last images that is orthogonal to all before."""
        self._append(self._next())

    def restart(self, values: Array, vectors: Array, moved: Array) -> None:
        """Keep the best vectors, and the next block, which is orthogonal to the whole old basis."""
        fresh, xp = self._next(), namespace(self.basis)
        one = xp.eye(values.shape[0], dtype=values.dtype, device=device(values))
        self.basis, self.images, self.inner = vectors, moved, values * one
        self._append(fresh)

    def ritz(self, number: int) -> tuple[Array, Array, Array]:
        """The best eigenvalues and vectors inside the basis, and the images of the vectors."""
        xp = namespace(self.basis)
        values, turn = xp.linalg.eigh((self.inner + _transpose(self.inner)) / 2)
        turn = xp.flip(turn, axis=1)[:, :number]
        return xp.flip(values)[:number], self.basis @ turn, self.images @ turn

    def _next(self) -> Array:
        return _orthonormal(self.images[:, -self.width :], self.basis)

    def _append(self, fresh: Array) -> None:
        xp, moved = namespace(self.basis), self.times(fresh)
        across, own = _transpose(self.basis) @ moved, _transpose(fresh) @ moved
        above = xp.concat([self.inner, across], axis=1)
        below = xp.concat([_transpose(across), own], axis=1)
        self.inner = xp.concat([above, below])
        self.basis = xp.concat([self.basis, fresh], axis=1)
        self.images = xp.concat([self.images, moved], axis=1)


def repeated_product(matrix: LazyMatrix) -> Product:
    """v -> K v in float64, many times: held where it fits and its tiles are not quick to make."""
    dtype = matrix.like.dtype
    if _fits(matrix) and not _quick(matrix):
        if not is_single(matrix.like):
            held = matrix.dense()
            return lambda v: held @ v
        matrix = Dense(matrix.dense())
    return lambda v: matrix._times(astype(v, dtype))


def _quick(matrix: LazyMatrix) -> bool:
    """Whether tiles are made in less time than they are read from memory."""
    inner = matrix.matrix if isinstance(matrix, Changed) else matrix
    if not (isinstance(inner, Gram) and isinstance(inner.kernel, RBF) and is_numpy(inner.x)):
        return False
    return inner.x.shape[1] <= _THIN


def _off(values: Array, vectors: Array, moved: Array, k: int) -> float:
    """The largest residual |K v - l v| of the first k vectors."""
    xp = namespace(vectors)
    return float(xp.max(xp.sqrt(xp.sum((moved - values * vectors)[:, :k] ** 2, axis=0))))


def _scale(values: Array) -> float:
    return max(abs(float(values[0])), float(np.finfo(np.float64).tiny))


def _orthonormal(v: Array, basis: Array | None) -> Array:
    """An orthonormal basis of v, orthogonal to `basis`; twice, for rounding."""
    for _ in range(2):
        if basis is not None:
            v = v - basis @ (_transpose(basis) @ v)
        v = namespace(v).linalg.qr(v).Q
    return v


def _transpose(a: Array) -> Array:
    return namespace(a).permute_dims(a, (1, 0))


def _signs(vectors: Array) -> Array:
    xp = namespace(vectors)
    largest = xp.argmax(xp.abs(vectors), axis=0)
    picked = [vectors[int(largest[j]), j] for j in range(vectors.shape[1])]
    ones = xp.ones((), dtype=vectors.dtype, device=device(vectors))
    return xp.stack([xp.where(p < 0, -ones, ones) for p in picked])
