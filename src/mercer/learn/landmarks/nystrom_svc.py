"""Support vector classification on landmarks, with streamed data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array
from mercer.features.choose_landmarks import LandmarkRule
from mercer.features.nystrom import inverse_root
from mercer.kernels.base import Kernel, Points
from mercer.learn.class_weights import class_factors
from mercer.learn.landmarks.batch_source import Batch, InMemory, Source
from mercer.learn.landmarks.factored_objective import FactoredObjective
from mercer.learn.landmarks.landmark_classifier import LandmarkClassifier, MatrixRows, codes_of
from mercer.learn.landmarks.streamed_objective import StreamedObjective
from mercer.learn.regression.class_losses import ClassLoss, SquaredMargins
from mercer.learn.regression.kernel_machine import chosen_class


class NystromSVC(LandmarkClassifier):
    """Support vector classification on m landmarks, for any number of points.

    f = sum_j c_j k(l_j, .) and b minimise |f|^2 / 2 + C sum_i w_i max(0, 1 - y_i (f(x_i) + b))^2 over the span of
    the k(l_j, .) and all intercepts b, which are not penalised: the squared hinge instead of the hinge of `SVC`, so
    that the minimum is unique and found by Newton's method. With all points as landmarks it is that of
    ``KernelMachine(SquaredHinge(), kernel, 1 / (2 C))``. If there are more than two classes, each has a function
    against all others, and the largest value wins.

    Parameters
    ----------
    kernel, landmarks, rule, random_state
        As in `NystromRidge`.
    C : float
        Penalty of points inside the margin. It belongs to the **summed** loss.
    class_weight : dict, "balanced" or None
        Factor of C for the points of each class; "balanced" means n / (k n_class).
    intercept : bool
        Whether there is an intercept, one for each function.
    max_iter : int
        Largest number of Newton steps.
    tolerance : float
        Norm of the gradient, relative to the first one, at which to stop.

    Attributes
    ----------
    function_ : Function
        f, a sum over the landmarks; with more than two classes a function for each.
    intercept_ : float or array (classes,)
    classes_ : array
    landmarks_ : points (m, d)
    ridge_ : float
        1 / (2 C), the weight of |f|^2 beside the summed loss.
    n_iter_ : int
    n_passes_ : int
        Number of passes over the data.
    kernel_ : Kernel

    Notes
    -----
    Newton's systems are normal equations of the points inside the margin, summed in one pass over the data for
    as many classes as fit into the memory budget, and factorised: time grows with n m^2. Kernel values of float64 points that
    take less than a quarter of the memory budget are computed once for all passes. There is no `partial_fit`: which points lie inside the margin
    changes with f, so that sums over earlier batches do not stay right.

    References
    ----------
    O. Chapelle (2007). Training a support vector machine in the primal. Neural Computation 19, 1155-1178.
    A. Rudi, L. Carratino, L. Rosasco (2017). FALKON: an optimal large scale kernel method. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(20_000, 2))
    >>> y = np.where(x[:, 0] * x[:, 1] > 0, "same", "other")
    >>> svc = NystromSVC(RBF(1.0), C=1.0, landmarks=100, random_state=0).fit(x, y)
    >>> svc.predict([[1.0, 1.0], [1.0, -1.0]])
    array(['same', 'other'], dtype='<U5')
    """

    _copies = 7
    _smoother = "a smaller C"

    def __init__(
        self,
        kernel: Kernel | None = None,
        C: float = 1.0,
        *,
        landmarks: Any = 1000,
        rule: LandmarkRule | None = None,
        class_weight: Any = None,
        intercept: bool = True,
        max_iter: int = 200,
        tolerance: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.landmarks = landmarks
        self.rule = rule
        self.class_weight = class_weight
        self.intercept = intercept
        self.max_iter = max_iter
        self.tolerance = tolerance
        self.random_state = random_state

    def decision_function(self, X: Any) -> Array:
        """f(x) + b, positive for the second of two classes: (n,); a value for each of k > 2 classes: (n, k)."""
        return self._values(X)

    def predict(self, X: Any) -> np.ndarray:
        """Predicted labels: (n,)."""
        return chosen_class(self._values(X), self.classes_)

    def _check(self) -> None:
        super()._check()
        validate.positive("C", self.C)

    def _loss(self) -> ClassLoss:
        return SquaredMargins()

    def _prepare(self, kernel: Kernel, sample: Points, rng: np.random.Generator) -> Array | None:
        rows = super()._prepare(kernel, sample, rng)
        self._widen()  # normal equations square the condition number, and with it the rounding of float32
        return rows

    def _objective(
        self, rows: MatrixRows, penalty: Array, width: int, unit: float
    ) -> StreamedObjective:
        """In features z with |f|^2 = |t|^2, which are kept where the kernel values would be."""
        root, mapped = inverse_root(self._bound, self.landmarks_), rows.stored is not None
        rows = rows.times(root) if mapped else rows
        return FactoredObjective(
            rows.passes, rows.parted, self._loss(), self.ridge_, root, None, width, unit, mapped
        )

    def _ridge(self, source: Source, penalty: Array, sizes: list[int]) -> float:
        return 1 / (2 * float(self.C))

    def _weighted(self, source: Source) -> Source:
        if self.class_weight is None:
            return source
        counts = np.zeros(len(self.classes_), dtype=np.int64)
        for _, y, _ in source.batches():
            counts += np.bincount(codes_of(y, self.classes_), minlength=len(counts))
        factors = class_factors(self.class_weight, self.classes_, counts)
        if isinstance(source, InMemory):
            return replace(
                source,
                weights=_times(source.weights, factors[codes_of(source.target, self.classes_)]),
            )
        return _ClassWeighted(source, self.classes_, factors)


@dataclass(frozen=True, eq=False)
class _ClassWeighted(Source):
    """Batches with the factors of the classes as weights."""

    source: Source
    classes: np.ndarray
    factors: np.ndarray

    def batches(self) -> Iterator[Batch]:
        for x, y, weights in self.source.batches():
            yield x, y, _times(weights, self.factors[codes_of(y, self.classes)])

    def parts(self) -> Sequence[Source]:
        return [replace(self, source=part) for part in self.source.parts()]


def _times(weights: np.ndarray | None, factors: np.ndarray) -> np.ndarray:
    return factors if weights is None else weights * factors
