"""Support vector classification."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from mercer import validate
from mercer.features.random_state import state
from mercer.kernels.base import Kernel
from mercer.kernels.precomputed import Precomputed
from mercer.learn.class_weights import class_factors
from mercer.learn.landmark_features import refuse_beyond_memory
from mercer.learn.machines.labelled_points import LabelledPoints, stratified_folds
from mercer.learn.machines.platt import PlattSigmoid
from mercer.learn.machines.smo import Dual, DualSolution
from mercer.learn.machines.svm_base import Machine, SupportExpansion, check_definite, increasing

_CALIBRATION_FOLDS = 5  # of the cross-validation behind probabilities, as in LIBSVM


class MultiClass(ABC):
    """Reduction of a problem with k > 2 classes to problems with two."""

    @abstractmethod
    def problems(self, codes: np.ndarray, k: int, /) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For every problem the positions of its points, and their signs, +1 and -1."""

    @abstractmethod
    def combined(self, values: np.ndarray, k: int, /) -> np.ndarray:
        """Scores of the classes (m, k) from the decision values of the problems (m, P); the largest wins."""


@dataclass(frozen=True)
class OneVsOne(MultiClass):
    """One machine for every pair of classes, k (k - 1) / 2 in all, trained on these two classes only.

    Each has a vote; the sum of the decision values breaks ties. This is the default: many small problems
    cost less than a few large ones.
    """

    def problems(self, codes: np.ndarray, k: int, /) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for first, second in combinations(range(k), 2):
            index = np.flatnonzero((codes == first) | (codes == second))
            yield index, np.where(codes[index] == second, 1.0, -1.0)

    def combined(self, values: np.ndarray, k: int, /) -> np.ndarray:
        pairs = np.array(list(combinations(range(k), 2)))
        first, second = (np.eye(k)[pairs[:, side]] for side in (0, 1))  # (P, k)
        won = (values > 0).astype(np.float64)
        votes = won @ second + (1 - won) @ first
        sums = values @ (second - first)
        return votes + sums / (3 * (np.abs(sums) + 1))  # the sums add less than a third of a vote


@dataclass(frozen=True)
class OneVsRest(MultiClass):
    """One machine for every class against all others, each trained on all points; the largest value wins."""

    def problems(self, codes: np.ndarray, k: int, /) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for label in [1] if k == 2 else range(k):
            yield np.arange(len(codes)), np.where(codes == label, 1.0, -1.0)

    def combined(self, values: np.ndarray, k: int, /) -> np.ndarray:
        return values


class SVC(ClassifierMixin, Machine):
    """Support vector classification: the largest margin between two classes in the RKHS.

    Minimises |f|^2 / 2 + C sum_i w_i max(0, 1 - y_i (f(x_i) + b)) over functions f and offsets b. With
    ``C=inf`` every point must lie outside the margin (hard margin). The dual problem is solved,

        min a'Qa / 2 - sum_i a_i,   0 <= a_i <= C w_i,   sum_i y_i a_i = 0,   Q_ij = y_i y_j k(x_i, x_j),

    and f = sum_i y_i a_i k(x_i, .). More than two classes are reduced to problems with two.

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF with the median distance of the points as its bandwidth.
    C : float
        Penalty of a point inside the margin; ``inf`` for a hard margin.
    multiclass : MultiClass or None
        `OneVsOne()` (the default, None) or `OneVsRest()`.
    class_weight : dict, "balanced" or None
        Factor of C for the points of each class; "balanced" means n / (k n_class).
    probability : bool
        Whether `predict_proba` is available, at the cost of five more fits.
    tol : float
        Tolerance of the optimality conditions, as in LIBSVM.
    max_iter : int or None
        Largest number of steps, each of two coefficients. None: ten million.
    random_state : int, Generator, RandomState or None
        Seed of the folds behind the probabilities.

    Attributes
    ----------
    classes_ : array (k,)
    function_ : Function
        f; with more than two classes one function for each problem: for `OneVsOne` in the order
        (0, 1), (0, 2), ..., positive for the second class of the pair.
    intercept_ : array (P,)
        Offset b of every problem: the mean over the free support vectors, 0 < a_i < C w_i, or the
        middle of the feasible interval where there is none.
    support_, support_vectors_, n_support_
        Positions of the support vectors, their points, and their number in each class.
    margin_ : array (P,)
        1 / |f|, the distance from f(x) + b = 0 to f(x) + b = 1 in the RKHS.
    gap_ : float
        Largest violation of the optimality conditions: the maximum of the slopes y_i - f(x_i) over
        coefficients that can rise, minus the minimum over those that can fall. At most `tol` after
        convergence.
    n_iter_ : array (P,)
    kernel_, n_features_in_, feature_names_in_

    Notes
    -----
    Rows of the kernel matrix are computed when they are first needed, and stored in an eighth of the memory
    budget (5,792 points by default). Larger problems are solved a working set at a time, on tiles of the
    matrix and on all cores. With the kernel `Linear()` products use the weights of the primal problem
    instead. The extra `compiled` makes training many times faster.

    A kernel that is not positive definite is solved anyway, with a warning (LIBSVM solves it silently):
    the solution is a stationary point. A hard margin is refused with such a kernel, and where it does
    not exist.

    Probabilities are sigmoids of cross-validated decision values (Platt 1999); with more than two
    classes there is one sigmoid for each, and they are normalised. They need not agree with `predict`
    at the boundary. scikit-learn's `CalibratedClassifierCV` offers other calibrations.

    References
    ----------
    C. Cortes, V. Vapnik (1995). Support-vector networks. Machine Learning 20, 273-297. R.-E. Fan,
    P.-H. Chen, C.-J. Lin (2005). Working set selection using second order information for training
    support vector machines. JMLR 6, 1889-1918. J. Platt (1999). Probabilistic outputs for support
    vector machines.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(300, 2))
    >>> y = np.where(x[:, 0] * x[:, 1] > 0, "same", "other")
    >>> svc = SVC(RBF(1.0), C=10.0).fit(x, y)
    >>> svc.predict([[1.0, 1.0], [1.0, -1.0]])
    array(['same', 'other'], dtype='<U5')
    >>> svc.gap_ <= svc.tol, svc.function_
    (True, Function(RBF(bandwidth=1.0), 56 points))
    """

    classes_: np.ndarray
    intercept_: np.ndarray
    margin_: np.ndarray
    n_support_: np.ndarray
    _sigmoids: list[PlattSigmoid]

    def __init__(
        self,
        kernel: Kernel | None = None,
        C: float = 1.0,
        *,
        multiclass: MultiClass | None = None,
        class_weight: Any = None,
        probability: bool = False,
        tol: float = 1e-3,
        max_iter: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.probability = probability
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine to points X and labels y; optional weights (n,) multiply C."""
        return _fit_all([self], X, y, sample_weight)[0]

    def path(self, X: Any, y: Any, C: Sequence[float], sample_weight: Any = None) -> list[Self]:
        """Fit a machine for every C, each started at the solution before; returned in the given order."""
        return _fit_all([self._with_C(c) for c in C], X, y, sample_weight)

    def decision_function(self, X: Any) -> np.ndarray:
        """f(x) + b, positive for the second of two classes: (n,); a score for each of k > 2 classes: (n, k)."""
        return self._scores(self._values(X) + self.intercept_)

    def predict(self, X: Any) -> np.ndarray:
        """Predicted labels: (n,)."""
        return self._labels(self.decision_function(X))

    @available_if(lambda self: self.probability)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every class: (n, k). Needs ``probability=True``."""
        return self._probabilities(self.decision_function(X))

    @available_if(lambda self: self.probability)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of the probability of every class: (n, k)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    # ---- private ----------------------------------------------------------------------

    def _probabilities(self, values: np.ndarray) -> np.ndarray:
        """Probability of every class, from decision values (n,) or scores of classes (n, k): (n, k)."""
        scores = values[:, None] if values.ndim == 1 else values
        columns = [sigmoid(scores[:, j]) for j, sigmoid in enumerate(self._sigmoids)]
        if len(columns) == 1:
            return np.stack([1 - columns[0], columns[0]], axis=1)
        positive = np.stack(columns, axis=1)
        total = positive.sum(axis=1, keepdims=True)
        return np.where(total > 0, positive / np.where(total > 0, total, 1), 1 / len(columns))

    def _check(self) -> None:
        super()._check()
        if inf != self.C:
            validate.positive("C", self.C)
        validate.truth("probability", self.probability)
        validate.instance(
            "multiclass", self._multiclass, MultiClass, "OneVsOne(), OneVsRest() or None"
        )

    @property
    def _multiclass(self) -> MultiClass:
        return OneVsOne() if self.multiclass is None else self.multiclass

    def _weight_factors(self, codes: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Factor of C at every point, from its class and its weight: (n,)."""
        if self.class_weight is None and weights is not None:
            return weights
        counts = np.bincount(codes, minlength=len(self.classes_))
        factors = class_factors(self.class_weight, self.classes_, counts)
        return factors[codes] * (1.0 if weights is None else weights)

    def _train(self, data: LabelledPoints, C: Sequence[float]) -> list[SupportExpansion]:
        """Solve all two-class problems for all C."""
        ordered, positions = increasing(C)
        solved: list[list[tuple[np.ndarray, DualSolution]]] = [[] for _ in ordered]
        data = data.with_matrix() if data.k > 2 else data
        for index, signs in self._multiclass.problems(data.codes, data.k):
            factors = data.factors[index]
            solutions = self._solve_path(
                data.rows(index), lambda c, s=signs, w=factors: hinge_dual(s, c * w), ordered
            )
            for problems, solution in zip(solved, solutions, strict=True):
                problems.append((index, solution))
        expansions = [SupportExpansion.of(len(data.codes), problems) for problems in solved]
        return [expansions[position] for position in positions]

    def _scores(self, values: np.ndarray) -> np.ndarray:
        """Decision values (m,) or scores of classes (m, k), from the values of the problems (m, P)."""
        if len(self.classes_) == 2:
            return values[:, 0]
        return self._multiclass.combined(values, len(self.classes_))

    def _labels(self, scores: np.ndarray) -> np.ndarray:
        """Labels of the largest scores, or by the sign of decision values."""
        best = scores > 0 if scores.ndim == 1 else np.argmax(scores, axis=1)
        return self.classes_[best.astype(np.int64)]

    def _fold_labels(
        self, kernel: Precomputed, fold: tuple[np.ndarray, np.ndarray], y: Any, C: Sequence[float]
    ) -> list[np.ndarray]:
        """Labels of the test positions of a fold for every C, learnt from those of the training positions."""
        machine, (train, test) = self._with_C(C[0]), fold
        machine._check()
        for c in C:
            if inf != c:
                validate.positive("C", c)
        machine.kernel = kernel
        positions = train.astype(np.float64)[:, None]
        _, points, codes, _ = machine._accept_labels(positions, y)
        factors = machine._weight_factors(codes, None)
        data = LabelledPoints(kernel, points, codes, factors, len(machine.classes_))
        block = kernel.matrix.take(test, axis=0).take(train, axis=1)
        values = [
            block.take(expansion.index, axis=1) @ expansion.weights + expansion.offsets
            for expansion in machine._train(data, C)
        ]
        return [machine._labels(machine._scores(v)) for v in values]

    def _calibrate(self, data: LabelledPoints, weights: np.ndarray | None) -> list[PlattSigmoid]:
        """A sigmoid for each class (one for two classes), fitted to cross-validated decision values."""
        codes, k = data.codes, data.k
        fewest = int(np.bincount(codes).min())
        if fewest < 2:
            raise ValueError(
                "probability=True needs at least two points of every class for its cross-validation, got "
                f"{fewest}: give more points, or use decision_function"
            )
        folds = min(_CALIBRATION_FOLDS, fewest)
        assigned = stratified_folds(codes, folds, state(self.random_state))
        values = np.empty((len(codes), 1 if k == 2 else k), dtype=np.float64)
        for fold in range(folds):
            train, test = np.flatnonzero(assigned != fold), np.flatnonzero(assigned == fold)
            (expansion,) = self._train(data.at(train), [self.C])
            scores = self._scores(data.values(expansion, train, test))
            values[test] = scores[:, None] if k == 2 else scores
        mass = np.ones(len(codes), dtype=np.float64) if weights is None else weights
        labels = [1] if k == 2 else range(k)
        return [
            PlattSigmoid.fit(values[:, j], codes == label, mass) for j, label in enumerate(labels)
        ]


def _fit_all(machines: list[SVC], X: Any, y: Any, sample_weight: Any) -> list[Any]:
    """Fit machines that differ in C only."""
    if not machines:
        raise ValueError("a path needs at least one C, got none")
    for machine in machines:
        machine._check()
    first = machines[0]
    refuse_beyond_memory(X, "SVC", "use NystromSVC, which reads them part by part")
    kernel, points, codes, weights = first._accept_labels(X, y, sample_weight)
    points = first._precise_points(points)
    check_definite(kernel, points, hard=any(inf == m.C for m in machines))
    factors = first._weight_factors(codes, weights)
    data = LabelledPoints(kernel, points, codes, factors, len(first.classes_))
    data = data.with_matrix() if any(m.probability for m in machines) else data
    expansions = first._train(data, [m.C for m in machines])
    for machine, expansion in zip(machines, expansions, strict=True):
        machine._copy_fitted(first)
        machine._keep(points, expansion, sample_weight)
        machine.n_support_ = np.bincount(codes[expansion.index], minlength=data.k)
        machine.intercept_ = expansion.offsets
        with np.errstate(divide="ignore"):
            machine.margin_ = 1 / expansion.norms
        if machine.probability:
            machine._sigmoids = machine._calibrate(data, weights)
    return machines


def hinge_dual(signs: np.ndarray, bounds: np.ndarray) -> Dual:
    """Dual problem of two classes in b_i = y_i a_i."""
    zero = np.zeros_like(bounds)
    positive = signs > 0
    return Dual(signs, np.where(positive, zero, -bounds), np.where(positive, bounds, zero))
