"""Scores of estimators on the folds of a search, from a precomputed kernel matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone

from mercer.config import config
from mercer.kernels.precomputed import Precomputed
from mercer.learn.machines.svc import SVC
from mercer.learn.machines.svm_base import check_definite
from mercer.learn.machines.svr import SVR


@dataclass(frozen=True)
class Candidate:
    """An estimator with parameters of the grid, and its position there."""

    position: int
    estimator: Any


@dataclass(frozen=True)
class Scoring:
    """Scorer, targets and weights; `default` where the scorer is the `score` method of the estimator."""

    scorer: Any
    default: bool
    y: Any
    weights: np.ndarray | None

    def is_svc_accuracy(self, estimator: Any) -> bool:
        """Whether the score is the accuracy of an SVC, which needs no fitted estimator."""
        kind = type(estimator)
        machine = isinstance(estimator, SVC) and (kind.fit, kind.predict) == (SVC.fit, SVC.predict)
        plain = self.default and self.weights is None and np.ndim(self.y) == 1
        score = getattr(kind, "score", None) is ClassifierMixin.score
        return machine and plain and score and not estimator.probability

    def takes_weights(self) -> bool:
        """Whether the scorer takes sample weights, by the rule of `GridSearchCV`."""
        if hasattr(self.scorer, "_accept_sample_weight"):
            return bool(self.scorer._accept_sample_weight())
        return "sample_weight" in signature(self.scorer).parameters


class FoldScores:
    """(train, test) -> scores of all candidates with one kernel."""

    def __init__(
        self, candidates: list[Candidate], kernel: Precomputed, scoring: Scoring, memory: int
    ) -> None:
        self.candidates, self.kernel, self.scoring = candidates, kernel, scoring
        self.memory = memory
        self._paths = _paths(candidates)
        self._is_accuracy = [scoring.is_svc_accuracy(path[0].estimator) for path in self._paths]
        self._takes_weights = scoring.takes_weights()
        if any(self._is_accuracy):
            check_definite(kernel, _positions(np.arange(len(kernel.matrix))))

    def __call__(self, fold: tuple[np.ndarray, np.ndarray]) -> list[float]:
        train, test = (np.asarray(index) for index in fold)
        train, test = (np.flatnonzero(i) if i.dtype == bool else i for i in (train, test))
        # One thread: a fold must not wait for the pool on which it runs itself.
        with config(memory=self.memory, threads=1, executor=None):
            scores: dict[int, float] = {}
            for path, is_accuracy in zip(self._paths, self._is_accuracy, strict=True):
                values = (self._accuracies if is_accuracy else self._scores)(path, train, test)
                scores |= {c.position: value for c, value in zip(path, values, strict=True)}
        return [scores[c.position] for c in self.candidates]

    def _accuracies(
        self, path: list[Candidate], train: np.ndarray, test: np.ndarray
    ) -> list[float]:
        """Accuracies of machines that differ in C."""
        y = self.scoring.y
        predicted = path[0].estimator._fold_labels(
            self.kernel, (train, test), y[train], [c.estimator.C for c in path]
        )
        return [float(np.mean(labels == y[test])) for labels in predicted]

    def _scores(self, path: list[Candidate], train: np.ndarray, test: np.ndarray) -> list[float]:
        y = None if self.scoring.y is None else self.scoring.y[test]
        weights = self._weights(test) if self._takes_weights else {}
        fitted = self._fitted(path, train)
        return [float(self.scoring.scorer(e, _positions(test), y, **weights)) for e in fitted]

    def _weights(self, index: np.ndarray) -> dict[str, Any]:
        weights = self.scoring.weights
        return {} if weights is None else {"sample_weight": weights[index]}

    def _fitted(self, path: list[Candidate], train: np.ndarray) -> Sequence[Any]:
        x = _positions(train)
        y = None if self.scoring.y is None else self.scoring.y[train]
        weights = self._weights(train)
        if isinstance(path[0].estimator, SVC | SVR):
            prices = [c.estimator.C for c in path]
            return self._with_matrix(path[0]).path(x, y, prices, **weights)
        return [self._with_matrix(c).fit(x, y, **weights) for c in path]

    def _with_matrix(self, candidate: Candidate) -> Any:
        """The estimator of a candidate, with the precomputed kernel."""
        estimator: Any = clone(candidate.estimator)
        estimator.kernel = self.kernel
        return estimator


def _paths(candidates: list[Candidate]) -> list[list[Candidate]]:
    """Groups of candidates that differ in C only."""
    groups: dict[str, list[Candidate]] = {}
    for c in candidates:
        others = {k: v for k, v in c.estimator.get_params(deep=False).items() if k != "C"}
        groups.setdefault(repr(others), []).append(c)
    return list(groups.values())


def _positions(index: np.ndarray) -> np.ndarray:
    return index.astype(np.float64)[:, None]
