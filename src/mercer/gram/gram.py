"""The Gram matrix of a kernel on points, known by its tiles."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np

from mercer.backend import Array, count, for_gpu, namespace, on_gpu, set_diagonal, take_rows
from mercer.config import settings
from mercer.gram.lazy import OfPairs
from mercer.gram.tiles import GaussianTiles, tile_maker
from mercer.kernels.base import Kernel, Points
from mercer.kernels.prepare import prepare


class Gram(OfPairs):
    """K_ij = kernel(x_i, y_j), or kernel(x_i, x_j) when there is no y; K itself is never held.

    Parameters
    ----------
    kernel : Kernel
    x, y : points
        Arrays, tensors, data frames, or whatever points the kernel takes. Tensors of torch are worked
        on where they are; from pinned memory of the host they are streamed to the GPUs.

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
        self.kernel, self.x, other = prepare(kernel, x, y)
        self.y: Points = self.x if other is None else other
        self._tile = tile_maker(self.kernel, self.x, self.y)
        self._held = _Held(self.kernel, self.x, self.y) if self._worth_holding else None
        self._like = _first_entry(self.kernel, self.x, self.y)

    @property
    def _worth_holding(self) -> bool:
        """Whether its entries cost so much that they are computed once, if there is room for them."""
        entries = count(self.x) * count(self.y)
        return self.kernel.is_expensive() and 8 * entries <= settings().memory // 4

    def block(self, rows: slice, columns: slice, /) -> Array:
        """The dense block for two slices; where it meets the diagonal, exactly k(x_i, x_i)."""
        n, m = self.shape
        if self._held is not None:
            return namespace(self.like).asarray(self._held.matrix[rows, columns], copy=True)
        top, bottom, _ = rows.indices(n)
        left, right, _ = columns.indices(m)
        tile = self._tile(slice(top, bottom), slice(left, right))
        first, last = max(top, left), min(bottom, right)
        if self.symmetric and first < last:
            own = self.kernel.diag(take_rows(self.x, slice(first, last)))
            set_diagonal(tile, first - top, first - left, own)
        return tile

    def _bag_rows(
        self, rows: slice, columns: slice, weights: np.ndarray, edges: np.ndarray
    ) -> Array | None:
        if isinstance(self._tile, GaussianTiles):
            return self._tile.bag_rows(rows, columns, weights, edges)
        return None

    def _run(self, work: Callable[[Any], Any], tasks: Any, held: int = 0) -> Any:
        if self._held is not None:
            _ = self._held.matrix  # on all threads, before each of them needs it
        return super()._run(work, tasks, held)

    @property
    def _for_gpu(self) -> bool:
        """Where the points are on one, or wait for one in pinned memory."""
        return on_gpu(self.like) or for_gpu(self.x) or for_gpu(self.y)

    def diagonal(self) -> Array:
        """k(x_i, x_i): (n,)."""
        self._need_square("diagonal")
        return self.kernel.diag(self.x) if self.symmetric else self.kernel.paired(self.x, self.y)


def _first_entry(kernel: Kernel, x: Points, y: Points) -> Array:
    """The value of the kernel at the first points, which has the dtype of all blocks: (1,)."""
    first = take_rows(x, slice(0, 1))
    return kernel.diag(first) if y is x else kernel.paired(first, take_rows(y, slice(0, 1)))


class _Held:
    """A matrix of an expensive kernel, computed when it is first needed."""

    def __init__(self, kernel: Kernel, x: Points, y: Points) -> None:
        self._points = kernel, x, y
        self._lock = Lock()
        self._matrix: Array | None = None

    @property
    def matrix(self) -> Array:
        """All of it."""
        with self._lock:
            if self._matrix is None:
                kernel, x, y = self._points
                self._matrix = kernel.pairwise(x, y)
            return self._matrix

    def __reduce__(self) -> Any:  # locks are not pickled, and matrices are made again
        return _Held, self._points
