"""Targets as they come out of tables: missing labels, masked values, text where numbers are needed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mercer.kernels import RBF, Delta
from mercer.learn import (
    SVC,
    SVR,
    Hinge,
    KernelLogistic,
    KernelMachine,
    KernelRidge,
    LocalLinear,
    NadarayaWatson,
    NystromLogistic,
    NystromSVC,
    SmoothingSpline,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
Y = X[:, 0]
LABELS = np.where(Y > 0, "up", "down")
HOLED = [None, *LABELS[1:].tolist()]

CLASSIFIERS = [
    SVC(RBF(1.0)),
    KernelLogistic(RBF(1.0)),
    KernelMachine(Hinge(), RBF(1.0)),
    NystromLogistic(RBF(1.0), landmarks=5, random_state=0),
    NystromSVC(RBF(1.0), landmarks=5, random_state=0),
]
REGRESSORS = [
    KernelRidge(RBF(1.0)),
    SVR(RBF(1.0)),
    NadarayaWatson(RBF(1.0)),
    LocalLinear(RBF(1.0)),
    SmoothingSpline(),
]
each_classifier = pytest.mark.parametrize("learner", CLASSIFIERS, ids=str)
each_regressor = pytest.mark.parametrize("learner", REGRESSORS, ids=str)


@each_classifier
@pytest.mark.parametrize(
    "labels",
    [
        np.array(HOLED, dtype=object),
        np.array([np.nan, *HOLED[1:]], dtype=object),
        HOLED,
        pd.Series(HOLED, dtype="string"),
        pd.Series(HOLED, dtype="category"),
        pl.Series(HOLED),
    ],
    ids=["None", "NaN", "list", "NA", "categories", "null"],
)
def test_missing_labels(learner, labels):
    with pytest.raises(ValueError, match=r"y contains missing labels.*1 of 30 places \(first: 0\)"):
        learner.fit(X, labels)


@each_classifier
def test_labels_of_two_kinds(learner):
    with pytest.raises(ValueError, match="labels of one kind, got text and numbers"):
        learner.fit(X, np.array([1, *HOLED[1:]], dtype=object))


@each_classifier
@pytest.mark.parametrize(
    "labels",
    [LABELS.astype(object), pd.Series(LABELS, dtype="category"), pl.Series(LABELS), Y > 0],
    ids=["objects", "categories", "polars", "truth"],
)
def test_labels_of_every_kind(learner, labels):
    assert learner.fit(X, labels).score(X, labels) > 0.8


def test_missing_labels_of_objects():
    words = ["red", "blue", "red"]
    with pytest.raises(ValueError, match="y contains missing labels"):
        SVC(Delta()).fit(words, ["a", None, "b"])


@each_regressor
@pytest.mark.parametrize(
    ("target", "words"),
    [
        (LABELS, "y must hold real numbers"),
        (np.array([None, *Y[1:]], dtype=object), "y has NaN or infinite values in 1 of 30 points"),
        (np.where(Y > 1, np.nan, Y), "NaN"),
        (1e300 * Y, "y has values as large as .*divide the data"),
        (Y[:-1], "inconsistent numbers of samples"),
    ],
    ids=["text", "None", "NaN", "large", "short"],
)
def test_wrong_numbers(learner, target, words):
    with pytest.raises((ValueError, TypeError), match=words):
        learner.fit(X, target)


@pytest.mark.parametrize("learner", [*CLASSIFIERS, *REGRESSORS], ids=str)
def test_masked_values(learner):
    target = LABELS if learner in CLASSIFIERS else Y
    hidden = np.ma.array(X, mask=X > 1)
    with pytest.raises(ValueError, match="X has masked values"):
        learner.fit(hidden, target)
    with pytest.raises(ValueError, match="y has masked values"):
        learner.fit(X, np.ma.array(target, mask=Y > 1))
    fitted = learner.fit(np.ma.array(X), target)  # nothing hidden
    with pytest.raises(ValueError, match="X has masked values"):
        fitted.predict(hidden)


def test_masked_weights():
    weights = np.ma.array(np.ones(30), mask=Y > 1)
    with pytest.raises(ValueError, match="sample_weight has masked values"):
        KernelRidge(RBF(1.0)).fit(X, Y, sample_weight=weights)
