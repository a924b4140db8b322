"""Base of learners on streamed data: batches become rows of a matrix."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from mercer import validate
from mercer.backend import Array, astype, count, is_array, namespace, to_numpy
from mercer.features.random_state import generator
from mercer.gram import LazyMatrix
from mercer.kernels.base import Kernel, Points
from mercer.kernels.prepare import read
from mercer.learn.kernel_learner import KernelPredictor
from mercer.learn.landmarks.batch_source import InMemory, Source, opened, sampled
from mercer.learn.landmarks.normal_equations import NormalSums
from mercer.learn.landmarks.ridge_solvers import (
    NormalEquations,
    PartedRows,
    RidgeProblem,
    Rows,
    Solver,
    chosen,
    summed,
)

# Number of multiplications n m (m + 100) up to which float64 costs at most a tenth of a second more than
# float32 on one core; a kernel value counts as 100 of them.
_MAX_DOUBLE_PRODUCTS = 4 * 10**9
_PRODUCTS_PER_VALUE = 100
# Relative change of the fitted values by a refinement, beyond which everything is computed again in float64,
# which takes twice as long. The change is 0.02 to 0.03 for 100,000 to 1,000,000 points in ten dimensions with
# ridge 1, whose predictions are wrong by 0.01 standard deviations of y (at 100,000). It is as small for smoother
# kernels, whose errors are larger: only gross errors are detected.
_MAX_REFINEMENT = 0.05


class StreamedLearner(KernelPredictor):
    """A learner whose points become rows of a matrix, batch by batch."""

    random_state: Any

    @abstractmethod
    def _pool(self) -> int:
        """How many points, drawn uniformly, `_prepare` wants to see."""

    @abstractmethod
    def _prepare(self, kernel: Kernel, sample: Points, rng: np.random.Generator) -> Array | None:
        """Choose what the columns of the matrix are; rows of it that were drawn uniformly.

        None where those of the penalty were.
        """

    @abstractmethod
    def _design(self, points: Points) -> LazyMatrix:
        """The rows of the matrix for some points: (n, m)."""

    def _widen(self) -> bool:
        """Compute the matrix of float32 points in float64 from now on; False where nothing changes."""
        return False

    def _open(self, X: Any, y: Any, sample_weight: Any) -> tuple[Source, Array | None]:
        """The data as a source, the columns of the matrix chosen from it, and some of its rows."""
        drawing, rng = generator(self.random_state).spawn(
            2
        )  # of points, and of what is made of them
        X, y = opened(X, y, sample_weight)
        if isinstance(X, np.memmap) and X.ndim == 2 and y is not None and sample_weight is None:
            if count(y) != count(X):
                raise ValueError(f"X and y must have as many rows, got {count(X)} and {count(y)}")
            X, y = InMemory(X, y), None
        if not isinstance(X, Source):
            _need_source(X, y)
            kernel, points, target, weights = self._accept_both(X, y, sample_weight)
            source: Source = InMemory(points, target, weights)
            return source, self._prepare(kernel, sampled(source, self._pool(), drawing)[0], rng)
        _need_no_target(y, sample_weight)
        sample, source, categories = sampled(X, self._pool(), drawing)
        self._keep_categories(categories)
        kernel, points = self._learn_from(sample)
        if is_array(points) and points.ndim == 2:
            self._check_width(int(points.shape[1]), reset=True)
        self._keep_names()
        return source, self._prepare(kernel, points, rng)

    def _accept_both(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Kernel, points, target and weights of data that are held."""
        return self._accept_numbers(X, y, sample_weight)

    def _parted(self, source: Source) -> PartedRows | None:
        """The rows of the source in parts; None where it has no parts."""
        parts = source.parts()
        return PartedRows(self._rows, parts) if len(parts) > 1 else None

    def _passes(self, source: Source) -> Callable[[], Rows]:
        """Makes the rows as often as it is called; those of a single batch once."""
        if not (isinstance(source, InMemory) and source.single):
            return lambda: self._rows(source)
        rows = list(self._rows(source))
        return lambda: iter(rows)

    def _rows(self, source: Source) -> Rows:
        """Batches as rows of the matrix, targets (b, q) and weights, checked."""
        for x, y, weights in source.batches():
            points, _ = read(self.kernel_, x, self._columns, "X")
            if is_array(points) and points.ndim == 2:
                self._check_width(int(points.shape[1]), reset=False)
            design = self._design(points)
            yield design, self._target(y, design), weights

    def _target(self, y: Any, design: LazyMatrix) -> Array:
        """The target of a batch as columns of numbers: (b, q)."""
        numbers = validate.vectors(y, design.shape[0], design.like, "y")
        self._flat = numbers.ndim == 1
        return astype(numbers[:, None] if self._flat else numbers, design.like.dtype)


def _need_no_target(y: Any, sample_weight: Any) -> None:
    if y is not None or sample_weight is not None:
        raise ValueError("a source of batches contains y: omit y and sample_weight")


def _need_source(X: Any, y: Any) -> None:
    """Name the way in for files and iterators, which came as they are."""
    if y is None and isinstance(X, str | Path):
        kind = "CSV" if str(X).endswith(".csv") else "Parquet"
        raise TypeError(f'X is a path: use fit({kind}({str(X)!r}, target="..."))')
    if y is None and (isinstance(X, Iterator) or callable(X)):
        raise TypeError(f"X is {type(X).__name__!r}, not points: use fit(Batches(X))")


def _is_small(source: Source, m: int) -> bool:
    return (
        isinstance(source, InMemory)
        and count(source.points) * m * (m + _PRODUCTS_PER_VALUE) <= _MAX_DOUBLE_PRODUCTS
    )


def _adds_up(learner: StreamedRidge) -> bool:
    return learner.solver is None or isinstance(learner.solver, NormalEquations)


class StreamedRidge(MultiOutputMixin, RegressorMixin, StreamedLearner):
    """Ridge regression on the columns of a streamed matrix."""

    ridge: float
    solver: Solver | None
    intercept: bool

    @abstractmethod
    def _penalty(self) -> Array:
        """P in the penalty ridge c'Pc: (m, m) in float64."""

    def _center(self, penalty: Array) -> Array:
        """A row near the mean of the rows of the matrix: the mean over the landmarks, if they are its columns."""
        return namespace(penalty).mean(penalty, axis=0)

    @abstractmethod
    def _keep(self, coefficients: Array) -> None:
        """Remember what was learnt: (m,) or (m, q)."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to points X and targets y, (n,) or (n, q), or to a source of batches.

        Sources are `Parquet` and `Batches`; memory maps are read batch by batch as they are.
        """
        self._check()
        self._without_sums = False
        source, sample = self._open(X, y, sample_weight)
        penalty = self._penalty()
        m = int(penalty.shape[0])
        solver = chosen(self.solver, m)
        if source.once and not isinstance(solver, NormalEquations):
            raise ValueError(
                "conjugate gradients need many passes over the data, got an iterator, which allows one: "
                "pass a function that returns a new iterator, or use solver=NormalEquations()"
            )
        if (source.once or _is_small(source, m)) and self._widen():
            penalty = self._penalty()
        solution = solver.solve(self._problem(source, penalty, sample))
        self.n_passes_ = solution.passes
        if solution.rounding > _MAX_REFINEMENT and self._widen():
            solution = solver.solve(self._problem(source, self._penalty(), sample))
            self.n_passes_ += solution.passes
        self._sums: NormalSums | None = solution.sums
        self._continued = False
        self._learnt(solution.coefficients, solution.intercepts)
        return self

    def _problem(self, source: Source, penalty: Array, sample: Array | None) -> RidgeProblem:
        rows, center = self._passes(source), self._center(penalty)
        ridge, intercept = float(self.ridge), bool(self.intercept)
        parted = self._parted(source)
        return RidgeProblem(rows, penalty, ridge, center, intercept, sample, source.once, parted)

    @available_if(_adds_up)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add more points; the result equals one fit to all of them with these landmarks.

        Takes the same arguments as `fit`. The first call chooses kernel and landmarks from its points. Normal
        equations add up exactly and are solved after every call; conjugate gradients are not supported.
        """
        self._check()
        sums = getattr(self, "_sums", None)
        if getattr(self, "_without_sums", False):
            raise ValueError(
                f"this {type(self).__name__} was copied or pickled after fit, which keeps what predict "
                "needs only: to go on after a pickle, use partial_fit from the first batch on"
            )
        if sums is None:
            source, _ = self._open(X, y, sample_weight)
            self._widen()  # sums over data that are gone cannot be refined
        elif isinstance(batches := opened(X, y, sample_weight)[0], Source):
            _need_no_target(None if batches is not X else y, sample_weight)
            source = batches
        else:
            _need_source(X, y)
            source = InMemory(*self._numbers_of(X, y, sample_weight, reset=False))
        penalty = self._penalty()
        centred = bool(self.intercept)
        rows = self._parted(source) or self._rows(source)
        sums = summed(sums, rows, self._center(penalty), centred)
        solve = sums.factored(penalty, float(self.ridge), intercept=centred)
        c = solve(sums.right_side(intercept=centred))
        self._sums, self.n_passes_, self._continued = sums, 1, True
        self._learnt(c, sums.means().intercept(c) if centred else None)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Without the normal equations, which only `partial_fit` needs, where it was not used."""
        state = super().__getstate__()
        if state.get("_sums") is None or self._continued:
            return state
        return {**state, "_sums": None, "_without_sums": True}

    def _check(self) -> None:
        validate.positive("ridge", self.ridge)
        validate.truth("intercept", self.intercept)

    def _learnt(self, coefficients: Array, intercepts: Array | None) -> None:
        self._keep(coefficients[:, 0] if self._flat else coefficients)
        self.intercept_: float | np.ndarray = 0.0
        if intercepts is not None:
            b = to_numpy(intercepts)
            self.intercept_ = float(b[0]) if self._flat else b
