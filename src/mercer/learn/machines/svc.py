"""Support vector classification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if

from mercer import validate
from mercer.features.random_state import state
from mercer.kernels.base import Kernel, Points
from mercer.kernels.take import taken
from mercer.learn.machines.dual_solver import Solution
from mercer.learn.machines.matrix_access import rows_of
from mercer.learn.machines.multiclass import MultiClass, OneVsOne
from mercer.learn.machines.platt import Sigmoid
from mercer.learn.machines.precomputed import Looked
from mercer.learn.machines.smo import Dual
from mercer.learn.machines.svm_base import Machine, Trained, definite, rising, some

_FOLDS = 5  # of the cross-validation behind probabilities


class SVC(ClassifierMixin, Machine):
    """Support vector classification: the largest margin between two classes in the RKHS.

    Minimises |f|^2 / 2 + C sum_i w_i max(0, 1 - y_i (f(x_i) + b)) over functions f and offsets b. With
    ``C=inf`` every point must lie outside the margin (hard margin). The dual problem is solved,

        min a'Qa / 2 - sum_i a_i,   0 <= a_i <= C w_i,   sum_i y_i a_i = 0,   Q_ij = y_i y_j k(x_i, x_j),

    and f = sum_i y_i a_i k(x_i, .). Several classes: machines for two of them.

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF at the median distance of the points.
    C : float
        The price of a point inside the margin; ``inf`` for a hard margin.
    multiclass : MultiClass or None
        `OneVsOne()`, which None stands for, or `OneVsRest()`.
    class_weight : dict, "balanced" or None
        Multiplies C for the points of a class; "balanced" by n / (k n_class).
    probability : bool
        Whether `predict_proba` is wanted, which costs five more fits.
    tol : float
        The gap in the optimality conditions at which to stop, as in LIBSVM.
    max_iter : int or None
        Steps of two coefficients at most; None: ten million.
    random_state : int, Generator, RandomState or None
        Draws the folds behind the probabilities.

    Attributes
    ----------
    classes_ : array (k,)
    function_ : Function
        f; several functions, one for each problem, where there are several classes: of `OneVsOne` in the
        order (0, 1), (0, 2), ..., positive for the second.
    intercept_ : array (P,)
        The offset b of every problem: the mean over the free support vectors, 0 < a_i < C w_i; the
        middle of what is possible where there is none.
    support_, support_vectors_, n_support_
        Positions of the support vectors, the points there, and how many there are of each class.
    margin_ : array (P,)
        1 / |f|, the distance from f(x) + b = 0 to f(x) + b = 1 in the RKHS.
    gap_ : float
        The largest violation of the optimality conditions: max of the slopes y_i - f(x_i) of coefficients
        that may rise, less the min over those that may fall. At most `tol` when it converged.
    n_iter_ : array (P,)
    kernel_, n_features_in_, feature_names_in_

    Notes
    -----
    Large problems are solved a working set at a time, on tiles of the kernel matrix and on all
    cores; the matrix is never held beyond 2,048 points. The kernel `Linear()` goes through weights of the
    columns instead. The extra `compiled` makes it several times faster.

    A kernel that is not positive definite is solved with a warning, as LIBSVM does without: what is
    found is a stationary point. A hard margin that does not exist is refused, and so is one with
    such a kernel.

    Probabilities are sigmoids of the decision values (Platt 1999), fitted to values of points that
    were left out of training, and one for each class, normalised, where there are more than two.
    They need not agree with `predict` at the boundary. Where they matter most, scikit-learn's
    `CalibratedClassifierCV` offers more ways.

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
    _sigmoids: list[Sigmoid]

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
        """Learn from points X and labels y, with weights (n,) that multiply C if there are any."""
        return _fitted([self], X, y, sample_weight)[0]

    def path(self, X: Any, y: Any, C: Sequence[float], sample_weight: Any = None) -> list[Self]:
        """Machines for several C, each solved from the one before it; in the order that was given."""
        return _fitted([self._at(c) for c in C], X, y, sample_weight)

    def decision_function(self, X: Any) -> np.ndarray:
        """f(x) + b, positive for the second of two classes: (n,); a figure for each of k > 2: (n, k)."""
        return self._decided(self._values(X) + self.intercept_)

    def predict(self, X: Any) -> np.ndarray:
        """The label of every point."""
        return self._labels(self.decision_function(X))

    @available_if(lambda self: self.probability)
    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of every class: (n, k). Needs ``probability=True``."""
        values = self.decision_function(X)
        wide = values[:, None] if values.ndim == 1 else values
        columns = [sigmoid(wide[:, j]) for j, sigmoid in enumerate(self._sigmoids)]
        if len(columns) == 1:
            return np.stack([1 - columns[0], columns[0]], axis=1)
        each = np.stack(columns, axis=1)
        total = each.sum(axis=1, keepdims=True)
        return np.where(total > 0, each / np.where(total > 0, total, 1), 1 / len(columns))

    @available_if(lambda self: self.probability)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of the probability of every class: (n, k)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    # ---- private ----------------------------------------------------------------------

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

    def _shares(self, codes: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """What multiplies C at every point, by its class and its own weight: (n,)."""
        given = self.class_weight
        if isinstance(given, dict):
            unknown = [label for label in given if label not in self.classes_]
            if unknown:
                raise ValueError(f"class_weight names classes that y does not have: {unknown}")
            given = {i: given[c] for i, c in enumerate(self.classes_.tolist()) if c in given}
        each = compute_class_weight(given, classes=np.arange(len(self.classes_)), y=codes)
        if not np.all(each > 0):
            raise ValueError(f"class_weight must be positive for every class, got {each.tolist()}")
        return each[codes] * (1.0 if weights is None else weights)

    def _train(self, data: _Data, C: Sequence[float]) -> list[Trained]:
        """Solve all problems of two classes for all C."""
        ordered, places = rising(C)
        parts: list[list[tuple[np.ndarray, Solution]]] = [[] for _ in ordered]
        for index, signs in self._multiclass.problems(data.codes, data.k):
            rows = rows_of(data.kernel, data.at(index).points)
            shares = data.shares[index]
            found = self._along(rows, lambda c, s=signs, w=shares: hinge(s, c * w), ordered)
            for part, solution in zip(parts, found, strict=True):
                part.append((index, solution))
        trained = [Trained.of(len(data.codes), part) for part in parts]
        return [trained[place] for place in places]

    def _decided(self, values: np.ndarray) -> np.ndarray:
        """What `decision_function` gives, from the values of the problems (m, P)."""
        if len(self.classes_) == 2:
            return values[:, 0]
        return self._multiclass.combined(values, len(self.classes_))

    def _labels(self, decided: np.ndarray) -> np.ndarray:
        """The labels that go with what `decision_function` gives."""
        best = decided > 0 if decided.ndim == 1 else np.argmax(decided, axis=1)
        return self.classes_[best.astype(np.int64)]

    def _along_fold(
        self, kernel: Looked, fold: tuple[np.ndarray, np.ndarray], y: Any, C: Sequence[float]
    ) -> list[np.ndarray]:
        """What machines for several C, learnt from the first positions and their labels, say of the others."""
        machine, (train, test) = self._at(C[0]), fold
        machine._check()
        for c in C:
            if inf != c:
                validate.positive("C", c)
        machine.kernel = kernel
        places = train.astype(np.float64)[:, None]
        _, points, codes, _ = machine._accept_labels(places, y)
        data = _Data(kernel, points, codes, machine._shares(codes, None), len(machine.classes_))
        block = kernel.matrix.take(test, axis=0).take(train, axis=1)
        values = [
            block.take(found.index, axis=1) @ found.weights + found.offsets
            for found in machine._train(data, C)
        ]
        return [machine._labels(machine._decided(v)) for v in values]

    def _calibrated(self, data: _Data, weights: np.ndarray | None) -> list[Sigmoid]:
        """A sigmoid for each class (one for two), from values of points that were left out."""
        codes, k = data.codes, data.k
        fewest = int(np.bincount(codes).min())
        if fewest < 2:
            raise ValueError(
                "probability=True leaves points out, and needs at least two of every class, got "
                f"{fewest}: give more, or use decision_function"
            )
        folds = StratifiedKFold(
            min(_FOLDS, fewest), shuffle=True, random_state=state(self.random_state)
        )
        values = np.empty((len(codes), 1 if k == 2 else k), dtype=np.float64)
        for train, test in folds.split(codes, codes):
            inside = data.at(train)
            (found,) = self._train(inside, [self.C])
            decided = self._decided(found.values(data.kernel, inside.points, data.at(test).points))
            values[test] = decided[:, None] if k == 2 else decided
        mass = np.ones(len(codes), dtype=np.float64) if weights is None else weights
        ones = [1] if k == 2 else range(k)
        return [Sigmoid.fitted(values[:, j], codes == one, mass) for j, one in enumerate(ones)]


@dataclass(frozen=True)
class _Data:
    """What a machine is trained on: points, the number of the class of each, and what multiplies C."""

    kernel: Kernel
    points: Points
    codes: np.ndarray
    shares: np.ndarray
    k: int

    def at(self, index: np.ndarray) -> _Data:
        """Some of the points."""
        if len(index) == len(self.codes):
            return self
        points = taken(self.points, index)
        return replace(self, points=points, codes=self.codes[index], shares=self.shares[index])


def _fitted(machines: list[SVC], X: Any, y: Any, sample_weight: Any) -> list[Any]:
    """Fit machines that differ in C only."""
    for machine in machines:
        machine._check()
    first = some(machines)
    kernel, points, codes, weights = first._accept_labels(X, y, sample_weight)
    points = first._fine(points)
    definite(kernel, points, hard=any(inf == m.C for m in machines))
    data = _Data(kernel, points, codes, first._shares(codes, weights), len(first.classes_))
    trained = first._train(data, [m.C for m in machines])
    for machine, found in zip(machines, trained, strict=True):
        machine._as(first)
        machine._keep(points, found, sample_weight)
        machine.n_support_ = np.bincount(codes[found.index], minlength=data.k)
        machine.intercept_ = found.offsets
        with np.errstate(divide="ignore"):
            machine.margin_ = 1 / found.norms
        if machine.probability:
            machine._sigmoids = machine._calibrated(data, weights)
    return machines


def hinge(signs: np.ndarray, bounds: np.ndarray) -> Dual:
    """The dual problem of two classes, for b_i = y_i a_i."""
    zero = np.zeros_like(bounds)
    positive = signs > 0
    return Dual(signs, np.where(positive, zero, -bounds), np.where(positive, bounds, zero))
