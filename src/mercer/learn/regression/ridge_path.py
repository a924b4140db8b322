"""Ridge paths: leave-one-out and generalised cross-validation from one eigendecomposition."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, array_like, eps, namespace, to_numpy
from mercer.gram import LazyMatrix
from mercer.gram.positive_definite import eigenpairs
from mercer.gram.threads import spans
from mercer.learn.regression.dense_or_refuse import dense_within_budget

_DEFAULT_RIDGES = 31  # of a path without ridges: three for each factor of ten
_SMALLEST_RIDGE = (
    1e-10  # of a path, relative to the trace of the matrix; the trace itself is the largest
)


class Criterion(ABC):
    """Criterion by which the ridge of a path is chosen; smaller is better."""

    @abstractmethod
    def of(self, scores: RidgeScores, /) -> np.ndarray:
        """Value of the criterion for every ridge: (R,)."""


@dataclass(frozen=True)
class LeaveOneOut(Criterion):
    """Mean squared error at each point of the function fitted to all others."""

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
    """Path of ridges, from which the learner chooses the best.

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
            values = to_numpy(validate.vector(self.ridges, "ridges")).astype(np.float64)
            if values.min() <= 0:
                raise ValueError(f"ridges must be positive numbers, got {values.min():g}")
            object.__setattr__(self, "ridges", tuple(float(r) for r in values))
        validate.instance("by", self.by, Criterion, "LeaveOneOut() or GCV()")

    def on(self, trace: float) -> np.ndarray:
        """The ridges, for a matrix of such a trace: (R,)."""
        if self.ridges is not None:
            return np.asarray(self.ridges, dtype=np.float64)
        return (
            np.geomspace(_SMALLEST_RIDGE * trace, trace, _DEFAULT_RIDGES)
            if trace > 0
            else np.ones(1)
        )


@dataclass(frozen=True, eq=False)
class RidgeScores:
    """What every ridge of a path is worth.

    Attributes
    ----------
    ridges, leave_one_out, gcv, degrees_of_freedom : array (R,)
        The ridges; the mean squared leave-one-out error; generalised cross-validation; the trace of
        the matrix that takes y to the fitted values, in which an intercept counts 1. Both errors are
        infinite for an intercept and a single point, without which nothing is left to learn from.
    """

    ridges: np.ndarray
    leave_one_out: np.ndarray
    gcv: np.ndarray
    degrees_of_freedom: np.ndarray

    def __repr__(self) -> str:
        return f"RidgeScores({len(self.ridges)} ridges)"


@dataclass(frozen=True, eq=False)
class Eigen:
    """K = U diag(s) U', so that G = (K + ridge I)^-1 = U diag(1 / (s + ridge)) U' for every ridge.

    A border v, the roots of the weights, stands for an intercept: (K + ridge I) c = y - v b and
    v'c = 0, so that c = Qy with Q = G - Gvv'G / v'Gv. Without a border Q = G.
    """

    values: Array
    vectors: Array
    rotated: Array  # U'y, (n, q)
    border: Array | None = None  # U'v, (n, 1)

    @classmethod
    def of(cls, matrix: LazyMatrix, y: Array, border: Array | None = None) -> Eigen:
        """Decompose a kernel matrix for targets (n, q) and a border (n, 1), in float64."""
        dense = dense_within_budget(
            matrix, 3, "a path of ridges", "use NystromRidge, or one ridge, which may iterate"
        )
        values, vectors = eigenpairs(dense, eps(matrix.like))
        upper = namespace(vectors).permute_dims(vectors, (1, 0))
        last = None if border is None else upper @ array_like(border, vectors)
        return cls(values, vectors, upper @ array_like(y, vectors), last)

    def scores(self, ridges: np.ndarray) -> RidgeScores:
        """Leave-one-out errors e_i = c_i / Q_ii with c = Qy (Cawley 2006), for all ridges."""
        xp, n = namespace(self.values), int(self.vectors.shape[0])
        if self.border is not None and n == 1:
            return RidgeScores(ridges, ridges * np.inf, ridges * np.inf, np.ones_like(ridges))
        shrunk = 1 / (self.values[:, None] + array_like(ridges, self.values)[None, :])  # (n, R)
        outputs = [self._solved(q, shrunk)[0] for q in range(int(self.rotated.shape[1]))]
        unit = self._unit(shrunk)
        trace = xp.sum(shrunk, axis=0) - xp.sum(unit**2, axis=0)  # of Q
        errors, residuals = xp.zeros_like(trace), xp.zeros_like(trace)
        for rows in spans(n, 1024):
            block = self.vectors[rows, :]
            diagonal = block**2 @ shrunk - (block @ unit) ** 2  # Q_ii, (rows, R)
            for weights in outputs:
                c = block @ weights
                errors = errors + xp.sum((c / diagonal) ** 2, axis=0)
                residuals = residuals + xp.sum(c**2, axis=0)
        free, number = to_numpy(trace) * ridges, n * len(outputs)  # tr(I - A) = ridge tr Q
        gcv = to_numpy(residuals) * ridges**2 / number / (free / n) ** 2
        return RidgeScores(ridges, to_numpy(errors) / number, gcv, n - free)

    def coefficients(self, ridge: float) -> tuple[Array, Array | None]:
        """c = Qy (n, q), and the intercepts b = v'Gy / v'Gv (q,); None without a border."""
        xp, shrunk = namespace(self.values), 1 / (self.values + ridge)[:, None]
        solved = [self._solved(q, shrunk) for q in range(int(self.rotated.shape[1]))]
        c = self.vectors @ xp.concat([weights for weights, _ in solved], axis=1)
        return c, None if self.border is None else xp.concat([b for _, b in solved])

    def _solved(self, output: int, shrunk: Array) -> tuple[Array, Array]:
        """U'c (n, R) and b (R,) of one output, for every ridge."""
        xp, y = namespace(shrunk), self.rotated[:, output][:, None]
        if self.border is None:
            return y * shrunk, xp.sum(0 * shrunk, axis=0)
        weighted = self.border * shrunk
        b = xp.sum(weighted * y, axis=0) / xp.sum(weighted * self.border, axis=0)
        return (y - self.border * b[None, :]) * shrunk, b

    def _unit(self, shrunk: Array) -> Array:
        """U'Gv / (v'Gv)^1/2 for every ridge, zero without a border: (n, R)."""
        if self.border is None:
            return 0 * shrunk
        xp, weighted = namespace(shrunk), self.border * shrunk
        return weighted / xp.sqrt(xp.sum(weighted * self.border, axis=0))[None, :]


def best(path: RidgePath, scores: RidgeScores) -> float:
    """Ridge with the smallest criterion, the largest in case of a tie."""
    figures: Any = path.by.of(scores)
    return float(scores.ridges[np.flatnonzero(figures == np.nanmin(figures))].max())
