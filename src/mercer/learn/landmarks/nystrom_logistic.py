"""Nystrom kernel logistic regression on landmarks, with streamed data."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import Array, array_like, namespace, to_numpy
from mercer.features.choose_landmarks import LandmarkRule
from mercer.gram.positive_definite import lower_factor
from mercer.kernels.base import Kernel
from mercer.kernels.prepare import read
from mercer.learn.landmarks.batch_source import Source
from mercer.learn.landmarks.landmark_classifier import LandmarkClassifier, MatrixRows, codes_of
from mercer.learn.landmarks.ridge_solvers import preconditioner
from mercer.learn.landmarks.streamed_objective import StoredObjective, StreamedObjective
from mercer.learn.regression.class_losses import Bernoulli, Categorical, ClassLoss
from mercer.learn.regression.kernel_logistic import ProbabilityMixin
from mercer.learn.regression.logistic_ridge import chosen_rows, ridge_for_features
from mercer.rkhs.sample_rows import settled, taken

# Rows of a stored Z from which the preconditioner estimates Z'Z. With 20,000 points in 20 dimensions, 1, 5, 10 and 20 for each
# of 100 landmarks lead to 62, 30, 27 and 27 passes; in 2 dimensions to 45, 33, 32 and 30.
_SAMPLED_ROWS_PER_LANDMARK = 10
# Points per such row, at least, unless Z is nearly square: fewer rows cost less than the passes they would save.
_POINTS_PER_SAMPLED_ROW = 5
_NEGLIGIBLE = (
    1e-10  # of the largest eigenvalue of the penalty: features of smaller ones are rounding
)


class NystromLogistic(ProbabilityMixin, LandmarkClassifier):
    """Kernel logistic regression on m landmarks, for any number of points.

    f = sum_j c_j k(l_j, .) minimises the negative log-likelihood + ridge |f|^2 over the span of the
    k(l_j, .), with an intercept that is not penalised; of more than two classes one f each
    (multinomial). `ridge` belongs to the **summed** loss. By Newton's method, whose systems are
    solved by conjugate gradients with the preconditioner of `ConjugateGradients`: every step of
    either is a pass over the data. Kernel values of float64 points that take less than a quarter of the
    memory budget are computed once for all passes.

    Parameters
    ----------
    kernel, landmarks, rule, random_state
        As in `NystromRidge`.
    ridge : float or None
        None: chosen by the log loss at left-out points, as in `KernelLogistic`, on 1,000 points of the data.
    intercept : bool
        Whether there is an intercept, one for each class where there are more than two.
    max_iter : int
        Largest number of Newton steps.
    tolerance : float
        Norm of the gradient, relative to the first one, at which to stop.

    Attributes
    ----------
    function_ : Function
        f, a sum over the landmarks; with more than two classes a function for each.
    intercept_ : float or array (classes,)
    ridge_ : float
    classes_ : array
    landmarks_ : points (m, d)
    n_iter_ : int
    n_passes_ : int
        Number of passes over the data.
    kernel_ : Kernel

    Notes
    -----
    There is no `partial_fit`: the curvature of the log-likelihood changes with f, so that sums over
    earlier batches do not stay right.

    References
    ----------
    U. Marteau-Ferey, F. Bach, A. Rudi (2019). Globally convergent Newton methods for ill-conditioned
    generalized self-concordant losses. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(20_000, 2))
    >>> y = np.where(np.sum(x**2, axis=1) < 1.4, "inside", "outside")
    >>> learner = NystromLogistic(RBF(1.0), 0.1, landmarks=100, random_state=0).fit(x, y)
    >>> learner.predict([[0.0, 0.0], [2.0, 2.0]])
    array(['inside', 'outside'], dtype='<U7')
    """

    _copies = 5
    _smoother = "a larger ridge"

    def __init__(
        self,
        kernel: Kernel | None = None,
        ridge: float | None = None,
        *,
        landmarks: Any = 1000,
        rule: LandmarkRule | None = None,
        intercept: bool = True,
        max_iter: int = 50,
        tolerance: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.ridge = ridge
        self.landmarks = landmarks
        self.rule = rule
        self.intercept = intercept
        self.max_iter = max_iter
        self.tolerance = tolerance
        self.random_state = random_state

    def _check(self) -> None:
        super()._check()
        if self.ridge is not None:
            validate.positive("ridge", self.ridge)

    def _loss(self) -> ClassLoss:
        return Bernoulli() if self._two else Categorical()

    def _objective(
        self, rows: MatrixRows, penalty: Array, width: int, unit: float
    ) -> StreamedObjective:
        loss, lower, z = self._loss(), lower_factor(penalty), rows.stored
        sample = rows.sample if z is None else _random_rows(z)
        outer = preconditioner(lower, sample, rows.total * loss.bound, 2 * self.ridge_)
        objective = StreamedObjective if z is None else StoredObjective
        return objective(rows.passes, rows.parted, loss, self.ridge_, outer, lower, width, unit)

    def _ridge(self, source: Source, penalty: Array, sizes: list[int]) -> float:
        """The ridge that was given, or the best by leave-one-out."""
        return self._chosen(source, penalty, sizes) if self.ridge is None else float(self.ridge)

    def _chosen(self, source: Source, penalty: Array, sizes: list[int]) -> float:
        """The best ridge by leave-one-out on some points, with the features k(x, l) P^-1/2."""
        rows, first, parts = chosen_rows(sum(sizes)), 0, []
        for (x, y, weights), size in zip(source.batches(), sizes, strict=True):
            here = rows[(rows >= first) & (rows < first + size)] - first
            first += size
            if len(here):
                points, _ = read(self.kernel_, taken(settled(x, "X"), here), self._columns, "X")
                each = np.ones(len(here)) if weights is None else weights[here]
                parts.append(
                    (to_numpy(self._design(points).dense()), codes_of(y, self.classes_)[here], each)
                )
        values, codes, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
        variances, rotation = linalg.eigh(to_numpy(penalty).astype(np.float64))
        above = variances > _NEGLIGIBLE * variances.max()  # landmarks may be equal
        features = values @ (rotation[:, above] / np.sqrt(variances[above]))
        unit = float(np.mean(to_numpy(self._bound.diag(self.landmarks_))))
        return ridge_for_features(features, codes, weights, unit, intercept=bool(self.intercept))


def _random_rows(z: Array) -> Array:
    """Rows of Z, drawn without replacement: ten for each column, but no more than a fifth unless that is less than one."""
    n, m = (int(size) for size in z.shape)
    number = min(_SAMPLED_ROWS_PER_LANDMARK * m, max(n // _POINTS_PER_SAMPLED_ROW, m), n)
    drawn = np.sort(np.random.default_rng(0).choice(n, number, replace=False, shuffle=False))
    return namespace(z).take(z, array_like(drawn, z, namespace(z).int64), axis=0)
