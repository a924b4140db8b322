"""Selection of features by any measure of dependence of `mercer.info`."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from mercer.info import KSG, MixedKSG, association, mutual_information
from mercer.kernels import RBF
from mercer.learn import MRMR, Forward, HSICSelector


@pytest.fixture(scope="module")
def table() -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).normal(size=(300, 5))
    return x, x[:, 1] * x[:, 3]


def test_backward_elimination_by_mutual_information_keeps_what_matters_together(table):
    x, y = table
    selector = HSICSelector(2, measure=partial(mutual_information, estimator=KSG())).fit(x, y)
    assert selector.get_support(indices=True).tolist() == [1, 3]
    expected = mutual_information(x[:, [1, 3]], y, estimator=KSG())
    assert selector.hsic_ == pytest.approx(expected, rel=0.05)  # the columns in another order


def test_labels_that_are_texts_are_numbered(table):
    x, _ = table
    labels = np.where(x[:, 2] > 0, "high", "low")
    measure = partial(mutual_information, estimator=MixedKSG())
    chosen = HSICSelector(1, direction=Forward(), measure=measure).fit(x, labels)
    assert chosen.get_support(indices=True).tolist() == [2]
    assert MRMR(1, relevance=measure).fit(x, labels).get_support(indices=True).tolist() == [2]


def test_associations_rank_features(table):
    x, _ = table
    y = x[:, 4] ** 3 + 0.1 * x[:, 0]
    assert MRMR(1, relevance=association).fit(x, y).get_support(indices=True).tolist() == [4]


def test_measures_that_are_none(table):
    x, y = table
    with pytest.raises(TypeError, match="measure must be"):
        HSICSelector(1, measure="mi").fit(x, y)
    with pytest.raises(ValueError, match="those of HSIC"):
        HSICSelector(1, measure=association, kernel=RBF(1.0)).fit(x, y)
