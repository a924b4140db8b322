"""All ridges at once: leave-one-out and generalised cross-validation from one eigendecomposition."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, array_like, eps, namespace, to_numpy
from mercer.gram import LazyMatrix
from mercer.gram.positive import eigenpairs
from mercer.gram.run import spans
from mercer.learn.regression.held import held

_NUMBER = 31  # ridges of a path that does not name its own
_WIDEST = 1e-10  # times the trace: the smallest of them; the trace itself is the largest


class Criterion(ABC):
    """By which figure the ridge of a path is chosen; the smaller the better."""

    @abstractmethod
    def of(self, scores: RidgeScores, /) -> np.ndarray:
        """The figure of every ridge: (R,)."""


@dataclass(frozen=True)
class LeaveOneOut(Criterion):
    """The mean squared error at each point of the function learnt from all the others."""

    def of(self, scores: RidgeScores, /) -> np.ndarray:
        return scores.leave_one_out


@dataclass(frozen=True)
class GCV(Criterion):
    """Generalised cross-validation, |y - f|^2 / n over (1 - df / n)^2 (Golub, Heath and Wahba 1979).

    Leave-one-out with the leverage of every point replaced by their mean: the same for every
    rotation of the data.
    """

    def of(self, scores: RidgeScores, /) -> np.ndarray:
        return scores.gcv


@dataclass(frozen=True)
class RidgePath:
    """Many ridges, of which the learner takes the best.

    Parameters
    ----------
    ridges : sequence of float, optional
        Positive numbers. None: 31 of them in geometric progression, from 1e-10 times the trace of
        the kernel matrix to the trace.
    by : Criterion
        `LeaveOneOut()` or `GCV()`.
    """

    ridges: Sequence[float] | None = None
    by: Criterion = field(default=LeaveOneOut(), kw_only=True)

    def __post_init__(self) -> None:
        if self.ridges is not None:
            found = to_numpy(validate.vector(self.ridges, "ridges")).astype(np.float64)
            if found.min() <= 0:
                raise ValueError(f"ridges must be positive numbers, got {found.min():g}")
            object.__setattr__(self, "ridges", tuple(float(r) for r in found))
        validate.instance("by", self.by, Criterion, "LeaveOneOut() or GCV()")

    def on(self, trace: float) -> np.ndarray:
        """The ridges, for a matrix of such a trace: (R,)."""
        if self.ridges is not None:
            return np.asarray(self.ridges, dtype=np.float64)
        return np.geomspace(_WIDEST * trace, trace, _NUMBER) if trace > 0 else np.ones(1)


@dataclass(frozen=True, eq=False)
class RidgeScores:
    """What every ridge of a path is worth.

    Attributes
    ----------
    ridges, leave_one_out, gcv, degrees_of_freedom : array (R,)
        The ridges; the mean squared leave-one-out error; generalised cross-validation; the trace of
        the matrix that takes y to the fitted values.
    """

    ridges: np.ndarray
    leave_one_out: np.ndarray
    gcv: np.ndarray
    degrees_of_freedom: np.ndarray

    def __repr__(self) -> str:
        return f"RidgeScores({len(self.ridges)} ridges)"


@dataclass(frozen=True, eq=False)
class Eigen:
    """K = U diag(s) U', so that (K + ridge I)^-1 = U diag(1 / (s + ridge)) U' for every ridge."""

    values: Array
    vectors: Array
    turned: Array  # U'y, (n, q)

    @classmethod
    def of(cls, matrix: LazyMatrix, y: Array) -> Eigen:
        """Decompose a kernel matrix for targets (n, q), in float64."""
        whole = held(
            matrix, 3, "a path of ridges", "use NystromRidge, or one ridge, which may iterate"
        )
        values, vectors = eigenpairs(whole, eps(matrix.like))
        right = array_like(y, vectors)
        return cls(values, vectors, namespace(vectors).permute_dims(vectors, (1, 0)) @ right)

    def scores(self, ridges: np.ndarray) -> RidgeScores:
        """Leave-one-out e_i = c_i / G_ii with G = (K + ridge I)^-1 and c = G y, for all ridges."""
        xp, n = namespace(self.values), int(self.vectors.shape[0])
        shrunk = 1 / (self.values[:, None] + array_like(ridges, self.values)[None, :])  # (n, R)
        outputs = range(int(self.turned.shape[1]))
        turned = [self.turned[:, q][:, None] * shrunk for q in outputs]
        errors, residuals = xp.zeros_like(shrunk[0, :]), xp.zeros_like(shrunk[0, :])
        for rows in spans(n, 1024):
            some = self.vectors[rows, :]
            leverages = some**2 @ shrunk  # G_ii, (rows, R)
            for weights in turned:
                c = some @ weights
                errors = errors + xp.sum((c / leverages) ** 2, axis=0)
                residuals = residuals + xp.sum(c**2, axis=0)
        kept = to_numpy(xp.sum(shrunk, axis=0)) * ridges  # tr(I - A) = ridge tr G
        number = n * len(outputs)
        gcv = to_numpy(residuals) * ridges**2 / number / (kept / n) ** 2
        return RidgeScores(ridges, to_numpy(errors) / number, gcv, n - kept)

    def coefficients(self, ridge: float) -> Array:
        """c = (K + ridge I)^-1 y: (n, q)."""
        return self.vectors @ (self.turned / (self.values + ridge)[:, None])


def best(path: RidgePath, scores: RidgeScores) -> float:
    """The ridge with the smallest figure, the largest of equals."""
    figures: Any = path.by.of(scores)
    return float(scores.ridges[np.flatnonzero(figures == np.nanmin(figures))].max())
