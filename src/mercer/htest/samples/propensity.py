"""Probability of belonging to the second sample given the context, by penalised logistic regression on kernel features."""

from __future__ import annotations

import numpy as np

from mercer import linalg

_FEATURES = 30  # leading eigenvectors of the centred Gram matrix of the contexts
_PENALTIES = np.geomspace(1e-3, 1e3, 7)  # of coefficients of features of variance one
_FOLDS = 5
_NEWTON_STEPS = 30
_LIMITS = (0.01, 0.99)  # probabilities beyond are not estimable from so few rows
_SEED = 0  # of the folds


def propensities(gram: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """P(label | context) for every row of yes-or-no labels: (n,).

    Features are leading kernel principal components; the penalty has the smallest log loss in five folds.
    """
    features = _components(gram)
    folds = np.random.default_rng(_SEED).permutation(len(labels)) % _FOLDS
    losses = [_out_of_fold_loss(features, labels, folds, penalty) for penalty in _PENALTIES]
    penalty = float(_PENALTIES[int(np.argmin(losses))])
    return _probabilities(features, _logistic(features, labels, penalty))


def _components(gram: np.ndarray) -> np.ndarray:
    """A column of ones, and kernel principal components scaled by the first: (n, 1 + r)."""
    centred = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
    values, vectors = linalg.eigh(centred)
    values, vectors = values[::-1][:_FEATURES], vectors[:, ::-1][:, :_FEATURES]
    positive = values > 1e-9 * max(float(values[0]), 1e-300)
    scaled = vectors[:, positive] * np.sqrt(values[positive] / max(float(values[0]), 1e-300))
    return np.column_stack([np.ones(len(gram)), scaled * np.sqrt(len(gram))])


def _logistic(features: np.ndarray, labels: np.ndarray, penalty: float) -> np.ndarray:
    """Coefficients by Newton's method; the intercept is not penalised."""
    ridge = np.diag(np.r_[1e-9, np.full(features.shape[1] - 1, penalty)])
    coefficients = np.zeros(features.shape[1])
    for _ in range(_NEWTON_STEPS):
        p = _probabilities(features, coefficients, (1e-9, 1 - 1e-9))
        gradient = features.T @ (labels - p) - ridge @ coefficients
        hessian = (features * (p * (1 - p))[:, None]).T @ features + ridge
        step = linalg.solve(hessian, gradient)
        coefficients = coefficients + step / max(1.0, float(np.max(np.abs(step))))  # bounded steps
        if np.max(np.abs(step)) < 1e-8:
            break
    return coefficients


def _probabilities(
    features: np.ndarray, coefficients: np.ndarray, limits: tuple[float, float] = _LIMITS
) -> np.ndarray:
    from scipy.special import expit

    return np.clip(expit(features @ coefficients), *limits)


def _out_of_fold_loss(
    features: np.ndarray, labels: np.ndarray, folds: np.ndarray, penalty: float
) -> float:
    """Mean log loss at rows that the regression was not fitted to."""
    total = 0.0
    for fold in range(_FOLDS):
        inside, outside = folds == fold, folds != fold
        p = _probabilities(features[inside], _logistic(features[outside], labels[outside], penalty))
        total -= float(np.sum(np.log(np.where(labels[inside], p, 1 - p))))
    return total / len(labels)
