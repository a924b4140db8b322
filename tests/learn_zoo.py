"""One line per learner: an instance, small enough for scikit-learn's checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.decomposition import FastICA

from mercer.kernels import RBF, Linear
from mercer.learn import ISA, MRMR, Backward, Forward, HSICSelector
from mercer.rkhs import hsic


@dataclass(frozen=True)
class Hsic:
    """A measure whose repr is the same in every process, as the names of tests must be."""

    def __call__(self, x: Any, y: Any) -> float:
        return hsic(RBF(1.0), RBF(2.0), x, y)


ZOO = [
    HSICSelector(),
    HSICSelector(direction=Forward()),
    HSICSelector(0.3, direction=Backward(0.5), kernel=Linear(), target_kernel=RBF(2.0)),
    MRMR(),
    MRMR(1, relevance=Hsic()),
    ISA(),
    ISA(1, ica=FastICA(max_iter=3000, tol=1e-2, random_state=0)),
]
