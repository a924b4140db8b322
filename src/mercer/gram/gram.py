"""The Gram matrix of a kernel on points, known by its tiles."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from mercer.backend import Array, count, on_gpu, set_diagonal, take_rows
from mercer.gram.lazy import LazyMatrix
from mercer.gram.tiles import tile_maker
from mercer.kernels.base import Kernel, Points
from mercer.kernels.door import prepare


class Gram(LazyMatrix):
    """K_ij = kernel(x_i, y_j), or kernel(x_i, x_j) when there is no y; K itself is never held.

    Parameters
    ----------
    kernel : Kernel
    x, y : points
        Arrays, tensors, data frames, or whatever points the kernel takes.

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
        self._same = other is None or other is self.x
        self.y: Points = self.x if self._same else other
        self._tile = tile_maker(self.kernel, self.x, self.y)
        self._like = self.kernel.diag(take_rows(self.x, slice(0, 1)))

    @cached_property
    def _fused(self) -> Any:
        """Its fused tiles on a GPU; None where there are none."""
        if not (on_gpu(self.x) and on_gpu(self.y)):
            return None
        from mercer.gram.cuda.plan import plan

        return plan(self.kernel, self.x, self.y)

    def _times(self, v: Array) -> Array:
        """K @ v in float64: (n, k)."""
        if self._fused is None:
            return super()._times(v)
        from mercer.gram.cuda.engine import times

        return times(self._fused, v)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return count(self.x), count(self.y)

    @property
    def like(self) -> Array:
        """An array of the library, device and dtype of the blocks."""
        return self._like

    @property
    def symmetric(self) -> bool:
        """Whether it is the matrix of one sample with itself."""
        return self._same

    def block(self, rows: slice, columns: slice, /) -> Array:
        """The dense block for two slices; where it meets the diagonal, exactly k(x_i, x_i)."""
        n, m = self.shape
        top, bottom, _ = rows.indices(n)
        left, right, _ = columns.indices(m)
        tile = self._tile(slice(top, bottom), slice(left, right))
        first, last = max(top, left), min(bottom, right)
        if self._same and first < last:
            own = self.kernel.diag(take_rows(self.x, slice(first, last)))
            set_diagonal(tile, first - top, first - left, own)
        return tile

    def diagonal(self) -> Array:
        """k(x_i, x_i): (n,)."""
        self._need_square("diagonal")
        return self.kernel.diag(self.x) if self._same else self.kernel.paired(self.x, self.y)
