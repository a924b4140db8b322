"""Meta-estimator that trains for another domain than the one that the labels come from."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted, has_fit_parameter, validate_data

from mercer import validate
from mercer.features.kernel_estimator import VersionedEstimator
from mercer.learn.adaptation.shifts import AdaptedSample, CovariateShift, Shift
from mercer.learn.inner_tags import with_inner_tags
from mercer.learn.numeric_columns import numeric


def _has(name: str) -> Any:
    return available_if(lambda self: hasattr(self.estimator, name))


class DomainAdaptation(VersionedEstimator):
    """Train an estimator for a target domain from which only points are known, no targets.

    Labelled data come from a source domain. A `shift` says what differs: `CovariateShift`, `TargetShift` or
    `ConditionalShift`; the training points get weights, with the last one also new places, that stand for the target
    domain, and the estimator is fitted to them. Without target points it is the estimator itself.

    Parameters
    ----------
    estimator : classifier or regressor
        Its `fit` takes `sample_weight`.
    shift : Shift or None
        None: ``CovariateShift()``.

    Attributes
    ----------
    estimator_ : the fitted estimator
    weights_ : array (n,)
        Weights of the training points, one on average.
    points_ : array (n, d)
        The training points, moved by `ConditionalShift`, else unchanged.
    n_features_in_

    References
    ----------
    J. Huang, A. J. Smola, A. Gretton, K. M. Borgwardt, B. Schölkopf (2007). Correcting sample selection bias by
    unlabeled data. NeurIPS 19.
    K. Zhang, B. Schölkopf, K. Muandet, Z. Wang (2013). Domain adaptation under target and conditional shift. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(0.5, 0.5, size=(200, 1))
    >>> y = -x[:, 0] + x[:, 0] ** 3 + 0.1 * rng.normal(size=200)
    >>> target = rng.normal(0.0, 0.3, size=(200, 1))  # where the slope is -1
    >>> model = DomainAdaptation(LinearRegression()).fit(x, y, target=target)
    >>> bool(model.estimator_.coef_[0] < -0.5 < LinearRegression().fit(x, y).coef_[0])
    True
    """

    def __init__(self, estimator: Any, shift: Shift | None = None) -> None:
        self.estimator = estimator
        self.shift = shift

    def fit(self, X: Any, y: Any, *, target: Any = None) -> Self:
        """Fit to points X (n, d) with targets y (n,), for the domain of the points `target` (m, d)."""
        X, y, target = (numeric(v) for v in (X, y, target))
        labels = is_classifier(self.estimator)
        several = bool(self.__sklearn_tags__().target_tags.multi_output)
        x: Any
        x, y = validate_data(
            self, X, y, dtype=np.float64, y_numeric=not labels, multi_output=several
        )
        adapted = AdaptedSample(x, np.ones(len(x)))
        if target is not None:
            adapted = self._adapted(x, y, target)
        self.points_, self.weights_ = adapted.points, adapted.weights
        inner: Any = clone(self.estimator)
        weights = {} if target is None else {"sample_weight": self.weights_}
        self.estimator_ = inner.fit(self.points_, y, **weights)
        if hasattr(self.estimator_, "classes_"):
            self.classes_ = self.estimator_.classes_
        return self

    def _adapted(self, x: np.ndarray, y: np.ndarray, target: Any) -> AdaptedSample:
        """The training sample, corrected for the points of the target domain."""
        shift = CovariateShift() if self.shift is None else self.shift
        validate.instance("shift", shift, Shift, "a shift, such as CovariateShift()")
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise TypeError(
                f"the fit method of {self.estimator!r} takes no sample_weight: use another estimator, such as "
                "KernelRidge() or SVC()"
            )
        numbers: Any = np.float64
        at = check_array(target, dtype=numbers, input_name="target")
        if at.shape[1] != x.shape[1]:
            raise ValueError(f"target must have the {x.shape[1]} columns of X, got {at.shape[1]}")
        return shift.adapted(x, y, at, is_classifier(self.estimator))

    @_has("predict")
    def predict(self, X: Any) -> Any:
        """Predictions of the fitted estimator: (n,)."""
        return self._inner(X, "predict")

    @_has("predict_proba")
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes: (n, k)."""
        return self._inner(X, "predict_proba")

    @_has("decision_function")
    def decision_function(self, X: Any) -> Any:
        """Decision values of the fitted estimator."""
        return self._inner(X, "decision_function")

    def score(self, X: Any, y: Any) -> float:
        """Score of the fitted estimator."""
        return float(self._inner(X, "score", y))

    def _inner(self, X: Any, method: str, *more: Any) -> Any:
        check_is_fitted(self)
        x = validate_data(self, numeric(X), dtype=np.float64, reset=False)
        return getattr(self.estimator_, method)(x, *more)

    def __sklearn_tags__(self) -> Any:
        return with_inner_tags(super().__sklearn_tags__(), self.estimator)
