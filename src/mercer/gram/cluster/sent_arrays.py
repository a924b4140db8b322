"""Arrays that workers have received, by their content."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer.config import settings


class SentArrays:
    """Handles of arrays on the workers; those that were not used lately are dropped.

    Several passes of one call, and often several calls, use the same points. Arrays that no pass uses at the moment are
    kept up to half of the memory budget.
    """

    def __init__(self) -> None:
        self._handles: OrderedDict[str, tuple[int, Any]] = OrderedDict()

    def handles(
        self,
        digests: Sequence[str],
        arrays: Sequence[np.ndarray],
        send: Callable[[np.ndarray], Any],
    ) -> list[Any]:
        """The handle of each array; sends those that the workers do not have."""
        for digest, array in zip(digests, arrays, strict=True):
            if digest not in self._handles:
                self._handles[digest] = array.nbytes, send(array)
            self._handles.move_to_end(digest)
        handles = [self._handles[digest][1] for digest in digests]
        self._drop_old(len(set(digests)))
        return handles

    def _drop_old(self, in_use: int) -> None:
        size = sum(nbytes for nbytes, _ in self._handles.values())
        while len(self._handles) > in_use and size > settings().memory // 2:
            size -= self._handles.popitem(last=False)[1][0]
