"""A kernel whose values were computed before: its points are positions in a matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.kernels.base import Kernel, Points


@dataclass(frozen=True, eq=False)
class Looked(Kernel):
    """k(i, j) = matrix[i, j] for positions i and j, (n, 1): nothing is computed."""

    matrix: np.ndarray

    def accept(self, x: Any, name: str = "x") -> Points:
        return validate.points(x, name)

    def pairwise(self, x: Points, y: Points, /) -> np.ndarray:
        return self.matrix[np.ix_(_positions(x), _positions(y))]

    def paired(self, x: Points, y: Points, /) -> np.ndarray:
        return self.matrix[_positions(x), _positions(y)]

    def __deepcopy__(self, memo: Any) -> Looked:
        return self  # never written into

    def __repr__(self) -> str:
        return f"Looked({self.matrix.shape[0]} points)"


def _positions(x: Points) -> np.ndarray:
    return x[:, 0].astype(np.int64)
