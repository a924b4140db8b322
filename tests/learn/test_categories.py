"""Frames with categories: what learners say of categories and columns that were not in the data of fit."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone, is_classifier

from mercer.errors import UnseenCategory
from mercer.features import Nystrom
from mercer.kernels import RBF, Delta
from mercer.learn import KCCA, KernelRidge, NystromRidge
from tests.support.arrays import torch
from tests.support.learn_zoo import ZOO

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"a": RNG.normal(size=40), "kind": RNG.choice(["u", "v", "w"], 40)})
TARGET = FRAME["a"].to_numpy() + (FRAME["kind"] == "u")
MIXED = RBF(1.0).select("a") + Delta().select("kind")
each_learner = pytest.mark.parametrize("learner", ZOO, ids=str)


def fitted(learner: Any) -> Any:
    """The learner fitted on the frame; None where it does not take categories, and says so."""
    y = np.median(TARGET) < TARGET if is_classifier(learner) else TARGET
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # solvers that stop early
            return clone(learner).fit(FRAME, y)
    except TypeError as error:
        assert "column 'kind' of X holds categories" in str(error) or "Delta" in str(error)
        return None


def answers(learner: Any, x: Any) -> Any:
    return learner.predict(x) if hasattr(learner, "predict") else learner.transform(x)


@each_learner
def test_what_was_not_in_the_data_of_fit_is_said(learner):
    found = fitted(learner)
    if found is None:
        return
    with pytest.warns(UnseenCategory, match=r"column 'kind' of X .*fitted on: 'new'\."):
        answers(found, FRAME.assign(kind="new"))
    for array in (FRAME[["a", "a"]].to_numpy(), [[0.0, 1.0]], torch.zeros((3, 2))):
        with pytest.raises(TypeError, match="X must be a data frame.*categories in column 'kind'"):
            answers(found, array)
    with pytest.raises(TypeError, match="column 'kind' must be of one kind"):
        answers(found, FRAME.assign(kind=1.0))
    for columns in (["kind", "a"], ["a"]):  # another order, a column less
        with pytest.raises(ValueError, match="feature names should match"):
            answers(found, FRAME[columns])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answers(found, FRAME[:3])  # fewer categories than before are as they should be


def test_an_unseen_category_equals_none_that_was_seen():
    ridge = KernelRidge(MIXED, 0.1).fit(FRAME, TARGET)
    with pytest.warns(UnseenCategory):
        found = ridge.predict(FRAME.assign(kind="new"))
    numbers = RBF(1.0)(FRAME[["a"]].to_numpy()) @ ridge.function_.weights  # what RBF adds
    offset = found - numbers
    assert_allclose(offset, np.full(len(FRAME), offset[0]), atol=1e-9)


def test_a_second_fit_forgets_the_first():
    ridge = KernelRidge().fit(FRAME, TARGET)
    ridge.fit(FRAME[["a"]].to_numpy(), TARGET)
    assert ridge.predict([[0.0]]).shape == (1,)


def test_feature_maps_and_views():
    nystrom = Nystrom(MIXED, 10, random_state=0).fit(FRAME)
    with pytest.warns(UnseenCategory):
        nystrom.transform(FRAME.assign(kind="new"))
    with pytest.raises(TypeError, match="X must be a data frame"):
        nystrom.transform(FRAME[["a", "a"]].to_numpy())


def test_many_categories_are_named_in_short():
    names = [f"name {i}" for i in range(40)]
    ridge = NystromRidge(MIXED, landmarks=5, random_state=0).fit(FRAME, TARGET)
    with pytest.warns(UnseenCategory, match=r"'name 0', 'name 1', .*, \.\.\.\."):
        ridge.predict(FRAME.assign(kind=names))


def test_kcca_takes_frames_of_categories():
    views = KCCA(1, kernel=MIXED, ridge=0.1).fit(FRAME, TARGET)
    with pytest.warns(UnseenCategory):
        views.transform(FRAME.assign(kind="new"))
