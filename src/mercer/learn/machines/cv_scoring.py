"""Scores of estimators on the folds of a search, from a kernel matrix that was computed before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone

from mercer.config import config
from mercer.learn.machines.precomputed import Looked
from mercer.learn.machines.svc import SVC
from mercer.learn.machines.svm_base import definite
from mercer.learn.machines.svr import SVR


@dataclass(frozen=True)
class Candidate:
    """An estimator with some parameters of the grid, and its place there."""

    place: int
    estimator: Any


@dataclass(frozen=True)
class Scoring:
    """How estimators are judged, on which targets and weights; `own` says that it is by their own score."""

    scorer: Any
    own: bool
    y: Any
    weights: np.ndarray | None

    def accuracy_of(self, estimator: Any) -> bool:
        """Whether it is the accuracy of a machine whose predictions need no estimator that was fitted."""
        kind = type(estimator)
        machine = isinstance(estimator, SVC) and (kind.fit, kind.predict) == (SVC.fit, SVC.predict)
        plain = self.own and self.weights is None and np.ndim(self.y) == 1
        score = getattr(kind, "score", None) is ClassifierMixin.score
        return machine and plain and score and not estimator.probability

    def weighs(self) -> bool:
        """Whether the scorer takes weights, as `GridSearchCV` asks it."""
        if hasattr(self.scorer, "_accept_sample_weight"):
            return bool(self.scorer._accept_sample_weight())
        return "sample_weight" in signature(self.scorer).parameters


class Fold:
    """(train, test) -> the scores of all candidates of one kernel."""

    def __init__(
        self, candidates: list[Candidate], kernel: Looked, scoring: Scoring, memory: int
    ) -> None:
        self.candidates, self.kernel, self.scoring = candidates, kernel, scoring
        self.memory = memory
        self._paths = _paths(candidates)
        self._quick = [scoring.accuracy_of(path[0].estimator) for path in self._paths]
        self._weighs = scoring.weighs()
        if any(self._quick):
            definite(kernel, _positions(np.arange(len(kernel.matrix))))

    def __call__(self, fold: tuple[np.ndarray, np.ndarray]) -> list[float]:
        train, test = (np.asarray(part) for part in fold)
        train, test = (np.flatnonzero(p) if p.dtype == bool else p for p in (train, test))
        # A fold has one thread: it must not wait for others of the pool that it runs on itself.
        with config(memory=self.memory, threads=1, executor=None):
            scores: dict[int, float] = {}
            for path, quick in zip(self._paths, self._quick, strict=True):
                found = (self._accuracies if quick else self._scores)(path, train, test)
                scores |= {c.place: score for c, score in zip(path, found, strict=True)}
        return [scores[c.place] for c in self.candidates]

    def _accuracies(
        self, path: list[Candidate], train: np.ndarray, test: np.ndarray
    ) -> list[float]:
        """Of machines that differ in C."""
        y = self.scoring.y
        predicted = path[0].estimator._along_fold(
            self.kernel, (train, test), y[train], [c.estimator.C for c in path]
        )
        return [float(np.mean(labels == y[test])) for labels in predicted]

    def _scores(self, path: list[Candidate], train: np.ndarray, test: np.ndarray) -> list[float]:
        y = None if self.scoring.y is None else self.scoring.y[test]
        weights = self._weights(test) if self._weighs else {}
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
            return self._ready(path[0]).path(x, y, prices, **weights)
        return [self._ready(c).fit(x, y, **weights) for c in path]

    def _ready(self, candidate: Candidate) -> Any:
        """The estimator of a candidate, with values that are looked up."""
        estimator: Any = clone(candidate.estimator)
        estimator.kernel = self.kernel
        return estimator


def _paths(candidates: list[Candidate]) -> list[list[Candidate]]:
    """Candidates that differ in C only, together."""
    groups: dict[str, list[Candidate]] = {}
    for c in candidates:
        others = {k: v for k, v in c.estimator.get_params(deep=False).items() if k != "C"}
        groups.setdefault(repr(others), []).append(c)
    return list(groups.values())


def _positions(index: np.ndarray) -> np.ndarray:
    return index.astype(np.float64)[:, None]
