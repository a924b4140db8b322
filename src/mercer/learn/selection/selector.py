"""Base of feature selectors: number of features, ranking, scikit-learn interface."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from mercer import validate
from mercer.learn.kernel_learner import KernelEstimator, checked, on_host


@dataclass(frozen=True)
class Ranked:
    """Positions of all features, the best first, and their scores in the order of the columns."""

    order: np.ndarray
    scores: np.ndarray


class Selector(SelectorMixin, KernelEstimator):
    """A selector that ranks features by a target and keeps the best `n_features_to_select`."""

    n_features_to_select: int | float | None

    @abstractmethod
    def _rank(self, x: np.ndarray, y: np.ndarray, number: int) -> Ranked:
        """The order of the features, of which the first `number` will be kept."""

    def fit(self, X: Any, y: Any) -> Self:
        """Select features of X (n, p) by the target y: labels (n,), or numbers (n,) or (n, q)."""
        x, y = checked(self, X, y=y, multi_output=True, ensure_min_samples=4)
        p = x.shape[1]
        number = _number(self.n_features_to_select, p)
        ranked = self._rank(x, _plain(y), number)
        ranking = np.empty(p, dtype=np.int64)
        ranking[ranked.order] = np.arange(1, p + 1)
        self.ranking_ = ranking
        self.scores_ = ranked.scores
        self.support_ = ranking <= number
        self.n_features_ = number
        return self

    def transform(self, X: Any) -> Any:
        """X with the selected features only, as a NumPy array or in the configured output."""
        return super().transform(on_host(X))

    def _needs_points(self) -> str | None:
        return "it chooses among the columns of the points"

    def _get_support_mask(self) -> Any:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def standardized(x: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and variance 1; 0 where a column does not vary."""
    centred = x - x.mean(axis=0)
    deviation = centred.std(axis=0, ddof=1)
    constant = deviation <= 10 * np.finfo(np.float64).eps * np.abs(x).max(axis=0)
    return np.where(constant, 0.0, centred / np.where(constant, 1.0, deviation))


def _plain(y: np.ndarray) -> np.ndarray:
    """Text or numbers of an array of objects as an array of that kind."""
    plain = np.asarray(y.tolist()) if y.dtype.kind == "O" else y
    if plain.dtype.kind == "O":
        kinds = sorted({type(v).__name__ for v in plain.ravel()[:1000]})
        raise TypeError(
            f"y must hold labels (text or whole numbers) or numbers, got {', '.join(kinds)}: "
            "drop or fill missing values"
        )
    return plain


def _number(requested: int | float | None, p: int) -> int:
    """Number of features to keep, from a number, a fraction, or None for half of p."""
    name = "n_features_to_select"
    if requested is None:
        return max(p // 2, 1)
    if isinstance(requested, Integral) and not isinstance(requested, bool):
        validate.whole(name, requested)
        if requested > p:
            raise ValueError(f"{name} must be at most the number of features, {p}, got {requested}")
        return int(requested)
    validate.between(name, requested, 0.0, 1.0)
    return max(int(requested * p), 1)
