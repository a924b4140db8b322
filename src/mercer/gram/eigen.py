"""The largest eigenvalues of lazy matrices: Lanczos methods on tiles or arrays, LAPACK for small matrices."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

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
from mercer.gram.block_lanczos import block_lanczos
from mercer.gram.combine import Dense, Held, Reweighted
from mercer.gram.gram import Gram
from mercer.gram.lazy import Centered, LazyMatrix, Product
from mercer.gram.single_vector_lanczos import single_vector_lanczos
from mercer.kernels.radial import RBF
from mercer.linalg import one_blas_thread

_MAX_PASSES = 1000  # over the matrix; smooth kernels need about ten
_MAX_ROWS_DENSE = 1000  # up to here LAPACK is fastest unless few eigenvalues are wanted
_MAX_ROWS_LAPACK = 256  # and up to here for few of them, too
_MAX_ROWS_DIVIDE_AND_CONQUER = (
    1000  # up to here it finds all eigenpairs faster than LAPACK's default
)
_ROWS_PER_PAIR = (
    60  # from here on block Lanczos is faster than LAPACK: 10 of 1,000 take 32 and 65 ms
)
# Few pairs by Lanczos from a single vector: 5 of 200 and 1,000 rows take 0.6 and 3 ms in two dimensions, 1.4 and 6 ms
# in twenty; LAPACK 1.5 ms, block Lanczos 8 and 16 ms. More pairs take more steps, and are bounded less often.
_MIN_ROWS_SINGLE_VECTOR = 150
_ROWS_PER_PAIR_SINGLE_VECTOR = 40
_MAX_PAIRS_SINGLE_VECTOR = 10
_MAX_STEPS_SINGLE_VECTOR = 80  # 5 pairs take 20 to 50; other roads are as fast beyond
_MIN_BLOCK_COLUMNS = 12  # a product with fewer columns takes as long
_TINY = float(np.finfo(np.float64).tiny)
_COPIES = 3  # of the matrix while LAPACK computes eigenvectors; of the basis while it grows
_MAX_BYTES_HELD = (
    2**28
)  # of a matrix with cheap tiles: a product from memory takes half the time of tiles
_MAX_BYTES_IN_CACHE = (
    2**24
)  # of a matrix; beyond, a product with 2 columns takes half the time of one with 12
_MAX_KRYLOV_COLUMNS = 256  # without restarts: then orthogonalising takes as long as the products
_MAX_COLUMNS_FOR_SYMV = (
    2  # 1,000 rows: 0.14 ms for two columns, 0.32 ms by a matrix product; 4: 0.28, 0.41
)
_KRYLOV_TOLERANCE = 1e-12  # of residuals, relative to the largest eigenvalue
_MAX_DIMENSION_OF_CHEAP_TILES = 32  # computing tiles of RBF then costs less than reading them


def top_eigenpairs(matrix: LazyMatrix, k: int) -> tuple[Array, Array]:
    """The k largest eigenvalues in decreasing order, and their eigenvectors (n, k) of norm 1.

    Block Lanczos with full orthogonalisation and thick restarts, a few columns per pass over the
    tiles, until the residuals are below 1e-9 (float32: 1e-5) of the largest eigenvalue; few pairs of a
    medium matrix come from a single vector, where none can have been missed, and small matrices are
    decomposed by LAPACK. The sign makes the largest entry of a vector positive. Raises
    `MemoryBudgetError` where the k vectors and the subspace that contains them do not fit.
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
    matrix = _in_cache(matrix, k)
    pairs = _from_single_vector(matrix, k)
    if pairs is not None:
        values, vectors = pairs
    elif _densely(n, k):
        values, vectors = _dense_eigenpairs(matrix, k)
    else:
        width, max_columns = _plan(matrix, k)
        # tiles use all threads of mercer; more threads of BLAS would wait in busy loops beside them
        with nullcontext() if _holds(matrix) else one_blas_thread():
            pairs = _without_restarts(matrix, k, max_columns)
            values, vectors = pairs or _block_davidson(matrix, k, width, max_columns)
    return values, vectors * signs_of_peaks(vectors)


def ask_for_eigenpairs(matrix: LazyMatrix, k: int) -> None:
    """Raise `MemoryBudgetError` where `top_eigenpairs` would; nothing is computed."""
    n = matrix.shape[0]
    if not _densely(n, k):
        _plan(matrix, k)
    elif n > _MAX_ROWS_DENSE:
        _check_memory(
            _COPIES * 8 * n**2, f"{k} eigenpairs of {n:,} points, more than a third, need"
        )


def _densely(n: int, k: int) -> bool:
    few = n > _MAX_ROWS_LAPACK and _ROWS_PER_PAIR * k <= n
    return 3 * k > n or (n <= _MAX_ROWS_DENSE and not few)


def _fits(matrix: LazyMatrix) -> bool:
    return matrix.shape[0] ** 2 * itemsize(matrix.like) <= settings().memory


def _plan(matrix: LazyMatrix, k: int) -> tuple[int, int]:
    """Columns added to the basis per pass, and its largest number of columns in the memory budget."""
    n = matrix.shape[0]
    cheap = _has_cheap_tiles(matrix) or _fits(matrix)
    width = max(_MIN_BLOCK_COLUMNS, k // 4) if cheap else max(k, _MIN_BLOCK_COLUMNS)
    max_columns = min(max(3 * (k + width), 60), n)
    room = _affordable_columns(matrix)
    if max_columns + k + width <= room:
        return width, max_columns
    width = min(width, _MIN_BLOCK_COLUMNS)
    max_columns = min(max_columns, room - k - width)
    if max_columns < k + 2 * width:
        _check_memory(_COPIES * 8 * n * (2 * k + 3 * width), f"{k} eigenpairs of {n:,} points need")
    return width, max_columns


def _affordable_columns(matrix: LazyMatrix) -> int:
    """Columns of all arrays together that the memory budget allows beside the matrix, where it is held."""
    n, memory = matrix.shape[0], settings().memory
    dense_bytes = n**2 * itemsize(matrix.like) if _holds(matrix) else 0
    return max(memory - dense_bytes, memory // 4) // (_COPIES * 8 * n)


def _check_memory(needed: int, what: str) -> None:
    budget = settings().memory
    if needed > budget:
        raise MemoryBudgetError(
            f"{what} {needed / 2**20:,.0f} MiB, and the budget is {budget / 2**20:,.0f} MiB: ask "
            "for fewer of them (Spectrum(rank=...) in a test, or Permutation(), which needs none), "
            "or raise mercer.config(memory=...)"
        )


def _dense_eigenpairs(matrix: LazyMatrix, k: int) -> tuple[Array, Array]:
    dense = matrix.dense()
    n = dense.shape[0]
    if is_numpy(dense):
        return largest(dense, k)
    xp = namespace(dense)
    values, vectors = linalg.eigh(dense)
    return xp.flip(values[n - k :]), xp.flip(vectors[:, n - k :], axis=1)


def largest(matrix: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues in decreasing order, and their eigenvectors (n, k), of an array.

    Where (nearly) all eigenvalues are equal, LAPACK can fail to find a range of them; the full
    decomposition is computed then.
    """
    from scipy.linalg import eigh

    n = len(matrix)
    with linalg.threads_for(matrix):
        values, vectors = matrix[:0, 0], matrix
        if not (n <= _MAX_ROWS_DIVIDE_AND_CONQUER and 3 * k > n):
            values, vectors = eigh(matrix, subset_by_index=(n - k, n - 1), check_finite=False)
        if len(values) < k:
            values, vectors = linalg.eigh(matrix)
    return values[::-1][:k], vectors[:, ::-1][:, :k]


def _from_single_vector(matrix: LazyMatrix, k: int) -> tuple[Array, Array] | None:
    """Eigenpairs by `single_vector_lanczos` of a matrix that `_in_cache` holds; None where that finds none."""
    inner, means = (
        (matrix.matrix, matrix.row_means) if isinstance(matrix, Centered) else (matrix, None)
    )
    if not (isinstance(inner, Dense) and _suits_single_vector(matrix, k)):
        return None
    steps = min(_MAX_STEPS_SINGLE_VECTOR, len(inner.array) // 4)
    means = None if means is None else to_numpy(means)
    return single_vector_lanczos(to_numpy(inner.array), means, k, steps)


def _in_cache(matrix: LazyMatrix, k: int) -> LazyMatrix:
    """The matrix, or what it centres, as an array where `single_vector_lanczos` may find the pairs."""
    if not _suits_single_vector(matrix, k):
        return matrix
    if isinstance(matrix, Centered):
        inner = matrix.matrix
        return matrix if isinstance(inner, Dense) else replace(matrix, matrix=Held(inner))
    return matrix if isinstance(matrix, Dense | Reweighted) else Held(matrix)


def _suits_single_vector(matrix: LazyMatrix, k: int) -> bool:
    """Whether few pairs are wanted of a float64 matrix in NumPy that the cache of a processor can hold."""
    n = matrix.shape[0]
    few = k <= _MAX_PAIRS_SINGLE_VECTOR and _ROWS_PER_PAIR_SINGLE_VECTOR * k <= n
    sized = n >= _MIN_ROWS_SINGLE_VECTOR and 8 * n**2 <= min(_MAX_BYTES_IN_CACHE, settings().memory)
    return few and sized and is_numpy(matrix.like) and matrix.like.dtype == np.float64


def _without_restarts(matrix: LazyMatrix, k: int, max_columns: int) -> tuple[Array, Array] | None:
    """Eigenpairs by `block_lanczos`, for float64 in NumPy; None where it does not converge.

    The tolerance is tighter than that of `_block_davidson`, because a few more products are cheap.
    """
    n = matrix.shape[0]
    cached = _holds(matrix) and n**2 * itemsize(matrix.like) <= _MAX_BYTES_IN_CACHE
    width = max(k, 2 if cached else _MIN_BLOCK_COLUMNS)
    most = min(max(max_columns, _affordable_columns(matrix)), _MAX_KRYLOV_COLUMNS, n // 2)
    if not is_numpy(matrix.like) or is_single(matrix.like) or 2 * width > most:
        return None
    start = np.random.default_rng(0).standard_normal((n, width))
    times = repeated_product(matrix)
    with linalg.blas_threads(settings().workers):
        return block_lanczos(lambda v: to_numpy(times(v)), start, k, _KRYLOV_TOLERANCE, most)


def _block_davidson(
    matrix: LazyMatrix, k: int, width: int, max_columns: int
) -> tuple[Array, Array]:
    """Block Davidson iteration: the subspace grows by the residuals of its Ritz vectors, with restarts.

    The first block has more columns than wanted pairs, so that none of several equal eigenvalues is
    missed; later blocks have few columns, as passes over the matrix are cheap. Without a
    preconditioner this is block Lanczos with thick restarts (Wu and Simon 2000).
    """
    n, work, dtype = matrix.shape[0], double(matrix.like), matrix.like.dtype
    start = np.random.default_rng(0).standard_normal((n, k + 2))
    tolerance = 1e-5 if is_single(matrix.like) else 1e-9
    space = Space(repeated_product(matrix), array_like(start, matrix.like, work))
    for _ in range(_MAX_PASSES):
        values, vectors, images = space.ritz(min(k + width, space.size))
        residuals = (images - values * vectors)[:, :k]
        far = _lengths(residuals) > tolerance * max(abs(float(values[0])), _TINY)
        if not far.any():
            return astype(values[:k], dtype), astype(vectors[:, :k], dtype)
        unconverged = array_like(np.flatnonzero(far)[:width], residuals, namespace(residuals).int64)
        if space.size + width > max_columns:
            space.restart(values, vectors, images)
        space.grow(namespace(residuals).take(residuals, unconverged, axis=1))
    values, vectors, _ = space.ritz(k)
    message = f"top_eigenpairs stopped after {_MAX_PASSES} passes, short of {tolerance:.0e}"
    warnings.warn(message, NotConverged, stacklevel=3)
    return astype(values, dtype), astype(vectors, dtype)


class Space:
    """A growing subspace: an orthonormal basis Q (n, b), its images K Q, and Q'K Q."""

    def __init__(self, times: Product, start: Array) -> None:
        self.times = times
        self.basis = _orthonormal(start, None)
        self.images = times(self.basis)
        self.inner = transposed(self.basis) @ self.images

    @property
    def size(self) -> int:
        return int(self.basis.shape[1])

    def ritz(self, number: int) -> tuple[Any, Any, Any]:
        """The largest Ritz values, their Ritz vectors, and the images of the vectors."""
        xp = namespace(self.basis)
        values, rotation = linalg.eigh((self.inner + transposed(self.inner)) / 2)
        rotation = xp.flip(rotation, axis=1)[:, :number]
        return xp.flip(values)[:number], self.basis @ rotation, self.images @ rotation

    def restart(self, values: Array, vectors: Array, images: Array) -> None:
        """Keep these Ritz vectors only."""
        xp = namespace(self.basis)
        identity = xp.eye(values.shape[0], dtype=values.dtype, device=device(values))
        self.basis, self.images, self.inner = vectors, images, values * identity

    def grow(self, block: Array) -> None:
        """Extend the basis by the component of a block that is orthogonal to it."""
        xp, fresh = namespace(self.basis), _orthonormal(block, self.basis)
        images = self.times(fresh)
        across, inner_fresh = transposed(self.basis) @ images, transposed(fresh) @ images
        above = xp.concat([self.inner, across], axis=1)
        below = xp.concat([transposed(across), inner_fresh], axis=1)
        self.inner = xp.concat([above, below])
        self.basis = xp.concat([self.basis, fresh], axis=1)
        self.images = xp.concat([self.images, images], axis=1)


def held_if_small(matrix: LazyMatrix) -> LazyMatrix:
    """The matrix in memory where it is small, so that several passes compute its entries once."""
    return Held(matrix) if matrix.symmetric and _small(matrix) and _fits(matrix) else matrix


def repeated_product(matrix: LazyMatrix) -> Product:
    """v -> K v for a symmetric K, to be called often; K is dense where it fits and tiles are not cheap."""
    if isinstance(matrix, Centered | Reweighted):
        times = repeated_product(matrix.matrix)
        return lambda v: matrix.around(times, v)
    dtype = matrix.like.dtype
    if _holds(matrix):
        if not is_single(matrix.like):
            return _dense_product(matrix.dense())
        matrix = Dense(matrix.dense())
    return lambda v: matrix._times(astype(v, dtype))


def _dense_product(dense: Array) -> Product:
    """v -> K v for a symmetric array; `symv` reads half of it, which pays for few columns."""
    if not is_numpy(dense):
        return lambda v: transposed(transposed(v) @ dense)
    from scipy.linalg.blas import get_blas_funcs

    (symv,) = get_blas_funcs(("symv",), (dense,))

    def times(v: Array) -> Array:
        with linalg.threads_for_product(v.shape[1] * len(dense) ** 2):
            if v.shape[1] > _MAX_COLUMNS_FOR_SYMV:
                return transposed(transposed(v) @ dense)  # BLAS: twice as fast as K v
            columns = [symv(1.0, dense.T, v[:, j]) for j in range(v.shape[1])]  # .T: Fortran order
        return np.stack(columns, axis=1)

    return times


def _holds(matrix: LazyMatrix) -> bool:
    return _fits(matrix) and (_small(matrix) or not _has_cheap_tiles(matrix))


def _small(matrix: LazyMatrix) -> bool:
    return matrix.shape[0] ** 2 * itemsize(matrix.like) <= _MAX_BYTES_HELD


def _has_cheap_tiles(matrix: LazyMatrix) -> bool:
    """Whether computing tiles takes less time than reading them from memory."""
    inner = matrix.matrix if isinstance(matrix, Centered | Reweighted) else matrix
    if not (isinstance(inner, Gram) and isinstance(inner.kernel, RBF) and is_numpy(inner.x)):
        return False
    return inner.x.shape[1] <= _MAX_DIMENSION_OF_CHEAP_TILES


def _lengths(v: Array) -> np.ndarray:
    """|v_j| for every column: (k,)."""
    return np.sqrt(to_numpy(namespace(v).sum(v**2, axis=0)))


def _orthonormal(v: Array, basis: Array | None) -> Array:
    """An orthonormal basis of v, orthogonal to `basis`; computed twice against rounding."""
    for _ in range(2):
        if basis is not None:
            v = v - basis @ (transposed(basis) @ v)
        v = linalg.qr(v).Q
    return v


def signs_of_peaks(vectors: Array) -> Array:
    """1 or -1 for every column, which makes its largest entry positive: (k,)."""
    xp = namespace(vectors)
    peaks = xp.argmax(xp.abs(vectors), axis=0)
    if is_numpy(vectors):
        picked = vectors[peaks, np.arange(vectors.shape[1])]
        return np.where(picked < 0, -1.0, 1.0).astype(vectors.dtype)
    picked = [vectors[int(peaks[j]), j] for j in range(vectors.shape[1])]
    unit = xp.ones((), dtype=vectors.dtype, device=device(vectors))
    return xp.stack([xp.where(p < 0, -unit, unit) for p in picked])
