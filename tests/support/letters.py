"""A kernel on words, for tests of what takes points of any kind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.kernels import Kernel


@dataclass(frozen=True)
class Letters(Kernel):
    """How many letters two words share."""

    def accept(self, x, name="x"):
        if not all(isinstance(word, str) for word in x):
            raise TypeError(f"{name} must be words")
        return list(x)

    def pairwise(self, x, y, /):
        return np.array([[float(len(set(a) & set(b))) for b in y] for a in x])

    def paired(self, x, y, /):
        return np.array([float(len(set(a) & set(b))) for a, b in zip(x, y, strict=True)])
