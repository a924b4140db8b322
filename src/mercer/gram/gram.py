"""The Gram matrix of a kernel on points, as a lazy matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Any

import numpy as np

from mercer.backend import (
    Array,
    array_like,
    astype,
    count,
    for_gpu,
    is_numpy,
    namespace,
    on_gpu,
    set_diagonal,
    take_rows,
    to_numpy,
)
from mercer.config import settings
from mercer.gram.combine import OfPairs
from mercer.gram.device_work import both_to_device
from mercer.gram.gaussian_stripes import GaussianLoops
from mercer.gram.gaussian_tiles import GaussianTiles
from mercer.gram.threads import TILE, runs_elsewhere
from mercer.gram.tile_products import filled, symmetrize
from mercer.gram.tiles import ByFormula, tile_maker
from mercer.kernels.base import Kernel, Points
from mercer.kernels.prepare import prepare
from mercer.kernels.take import taken

# Eigenvalues of 128 points take a millisecond, and kernels that are not positive definite in
# practice show a negative one on far fewer.
_TRIAL_POINTS = 128


class Gram(OfPairs):
    """K_ij = kernel(x_i, y_j), or kernel(x_i, x_j) when there is no y; never held in memory.

    Parameters
    ----------
    kernel : Kernel
    x, y : points
        Arrays, tensors, data frames, or any other points that the kernel takes. Tensors of torch are
        processed on their device; tensors in pinned memory of the host are streamed to the GPUs.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Gram
    >>> from mercer.kernels import RBF
    >>> x = np.random.default_rng(0).normal(size=(20_000, 3))
    >>> gram = Gram(RBF(1.0), x)
    >>> gram.shape, (gram @ np.ones(20_000)).shape
    ((20000, 20000), (20000,))
    """

    def __init__(self, kernel: Kernel, x: Any, y: Any = None) -> None:
        self._set(*prepare(kernel, x, y))

    @classmethod
    def of_checked(cls, kernel: Kernel, x: Points, y: Points | None = None) -> Gram:
        """The matrix of points that the kernel has accepted before, which are not checked again."""
        gram = cls.__new__(cls)
        gram._set(kernel, x, y)
        return gram

    def _set(self, kernel: Kernel, x: Points, y: Points | None) -> None:
        self.kernel, self.x = kernel, x
        self.y: Points = x if y is None else y
        self._tile = tile_maker(self.kernel, self.x, self.y)
        self._cached = _CachedMatrix(self.kernel, self.x, self.y) if self._cacheable else None
        self._like = _first_entry(self.kernel, self.x, self.y)

    def __reduce__(self) -> Any:  # workers compute the factors of the tiles again
        return Gram.of_checked, (self.kernel, self.x, None if self.y is self.x else self.y)

    @property
    def _cacheable(self) -> bool:
        """Whether entries are so expensive that they are computed once, and there is memory for them."""
        entries = count(self.x) * count(self.y)
        return self.kernel.is_expensive() and 8 * entries <= settings().memory // 4

    def block(self, rows: slice, columns: slice, /) -> Array:
        """The dense block for two slices; where it meets the diagonal, exactly k(x_i, x_i)."""
        n, m = self.shape
        if self._cached is not None:
            return namespace(self.like).asarray(self._cached.matrix[rows, columns], copy=True)
        top, bottom, _ = rows.indices(n)
        start, stop, _ = columns.indices(m)
        tile = self._tile(slice(top, bottom), slice(start, stop))
        first, last = max(top, start), min(bottom, stop)
        if self.symmetric and first < last:
            diagonal = self.kernel.diag(take_rows(self.x, slice(first, last)))
            set_diagonal(tile, first - top, first - start, diagonal)
        return tile

    def _columns_at(self, indices: np.ndarray) -> Array:
        """The columns with these indices, computed together: (n, k)."""
        if self._cached is not None or len(indices) == 1:
            return super()._columns_at(indices)
        chosen = taken(self.y, indices)
        tile = tile_maker(self.kernel, self.x, chosen)(
            slice(0, self.shape[0]), slice(0, len(indices))
        )
        if self.symmetric:
            xp = namespace(tile)
            rows, places = (
                array_like(i, tile, xp.int64) for i in (indices, np.arange(len(indices)))
            )
            tile[rows, places] = astype(self.kernel.diag(chosen), tile.dtype)
        return tile

    @property
    def _movable_pairs(self) -> int:
        """Pairs of points that `_on_device` could move: none where points are no arrays in memory."""
        movable = self._cached is None and is_numpy(self.x, self.y)
        return self.shape[0] * self.shape[1] if movable else 0

    def _on_device(self, device: str, /) -> Gram:
        """The same matrix of points copied to a device of torch."""
        return Gram.of_checked(self.kernel, *both_to_device(self.x, self.y, device))

    @property
    def _loops(self) -> GaussianLoops | None:
        return self._tile.loops if isinstance(self._tile, GaussianTiles) else None

    def _bag_rows(
        self, rows: slice, columns: slice, weights: np.ndarray, edges: np.ndarray
    ) -> Array | None:
        if isinstance(self._tile, GaussianTiles):
            return self._tile.bag_rows(rows, columns, weights, edges)
        return None

    def _run(self, work: Callable[[Any], Any], tasks: Sequence[Any], held: int = 0) -> Iterator:
        if self._cached is not None:
            _ = self._cached.matrix  # computed here, on all threads, before any of them needs it
        return super()._run(work, tasks, held)

    @property
    def _for_gpu(self) -> bool:
        """Whether the points are on a GPU, or in pinned memory of the host to be streamed to one."""
        return on_gpu(self.like) or for_gpu(self.x) or for_gpu(self.y)

    def diagonal(self) -> Array:
        """k(x_i, x_i): (n,)."""
        self._need_square("diagonal")
        return self.kernel.diag(self.x) if self.symmetric else self.kernel.paired(self.x, self.y)


def kernel_matrix(kernel: Kernel, x: np.ndarray, y: np.ndarray) -> Array:
    """The dense matrix of checked points, in tiles where the kernel has quicker ones than its formula.

    It is exactly symmetric where y is x. The memory budget does not limit it, because the matrix itself was
    asked for.
    """
    gram = Gram.of_checked(kernel, x, y)
    if isinstance(gram._tile, ByFormula):
        return kernel.pairwise(x, y)
    if not gram.symmetric:
        return gram._filled()
    if len(x) <= TILE or runs_elsewhere():
        matrix = to_numpy(gram._filled())
        symmetrize(matrix)
        return matrix
    return filled(gram, None, np.empty(gram.shape, dtype=gram.like.dtype), gram._run)


def trial_matrix(kernel: Kernel, points: Points) -> Array:
    """The dense matrix of a kernel on up to 128 evenly spaced points, to see signs and eigenvalues."""
    n = count(points)
    rows = np.unique(np.linspace(0, n - 1, min(n, _TRIAL_POINTS)).astype(np.int64))
    return Gram(kernel, taken(points, rows)).dense()


def _first_entry(kernel: Kernel, x: Points, y: Points) -> Array:
    """The value of the kernel at the first points, which has the dtype of all blocks: (1,)."""
    first = take_rows(x, slice(0, 1))
    return kernel.diag(first) if y is x else kernel.paired(first, take_rows(y, slice(0, 1)))


class _CachedMatrix:
    """The matrix of an expensive kernel, computed when it is first needed."""

    def __init__(self, kernel: Kernel, x: Points, y: Points) -> None:
        self._points = kernel, x, y
        self._lock = Lock()
        self._matrix: Array | None = None

    @property
    def matrix(self) -> Array:
        """The dense matrix."""
        with self._lock:
            if self._matrix is None:
                kernel, x, y = self._points
                self._matrix = kernel.pairwise(x, y)
            return self._matrix

    def __reduce__(self) -> Any:  # without the lock and the matrix, which is computed again
        return _CachedMatrix, self._points
