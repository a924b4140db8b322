"""Learners in files of skops: the same predictions bit by bit, and only types of mercer to be trusted."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer.kernels import RBF, Delta
from mercer.learn import MRMR, SVC, KernelRidge, KernelSearchCV, NystromRidge
from mercer.rkhs import MeanMap
from tests.learn.test_pickles import X, Y, fitted
from tests.learn.test_saved_models import answers
from tests.support.features_zoo import ZOO as MAPS
from tests.support.learn_zoo import ZOO, Hsic
from tests.support.object_zoo import OBJECT_IDS, OBJECT_ZOO

skops = pytest.importorskip("skops.io")

OBJECTS = {"scipy.sparse._csr.csr_array", "builtins.frozenset"}  # sparse counts, and sets


def again(model: Any, folder: Any, beside: set[str] | frozenset[str] = frozenset()) -> Any:
    """The model as `skops.io.load` reads it, after a look at what is to be trusted."""
    path = folder / "model.skops"
    skops.dump(model, path)
    types = skops.get_untrusted_types(file=path)
    assert all(name.startswith(("mercer.", *beside)) for name in types)
    return skops.load(path, trusted=types)


@pytest.mark.parametrize("learner", [*ZOO, *MAPS], ids=str)
def test_predictions_are_the_same_bit_by_bit(learner, tmp_path):
    model = fitted(learner)
    beside = {"sklearn."} if isinstance(learner, KernelSearchCV) else set()  # its scorer
    if isinstance(learner, MRMR) and isinstance(learner.relevance, Hsic):
        beside = {f"{Hsic.__module__}.Hsic"}  # a measure of the user
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = again(model, tmp_path, beside)
    assert repr(other) == repr(model)
    assert vars(other).keys() == vars(model).keys()
    for ours, theirs in zip(answers(model, X[:40]), answers(other, X[:40]), strict=True):
        if isinstance(ours, list):  # distributions
            assert repr(ours) == repr(theirs)
        else:
            assert_array_equal(ours, theirs)


@pytest.mark.parametrize("entry", OBJECT_ZOO, ids=OBJECT_IDS)
def test_kernels_on_objects(entry, tmp_path):
    rng = np.random.default_rng(0)
    points = entry.sample(rng, 6)
    model = KernelRidge(entry.kernel, 1e3).fit(points, rng.normal(size=6))
    letters = {
        "tests.support.object_zoo.common_letters",
        "tests.support.object_zoo.different_letters",
    }
    other = again(
        model, tmp_path, OBJECTS | letters
    )  # two kernels are made of functions of the zoo
    assert_array_equal(other.predict(points), model.predict(points))


def test_frames_bags_and_labels(tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=40), "b": rng.choice(list("xyz"), 40)})
    model = SVC().fit(frame, np.where(frame.a > 0, "high", "low"))
    assert_array_equal(again(model, tmp_path).predict(frame), model.predict(frame))
    bags = [rng.normal(size=(n, 2)) for n in rng.integers(3, 7, 20)]
    distributions = KernelRidge(MeanMap(RBF(1.0))).fit(bags, rng.normal(size=20))
    assert_array_equal(again(distributions, tmp_path).predict(bags), distributions.predict(bags))
    delta = SVC(Delta()).fit(np.array([["a"], ["b"]] * 5), [0, 1] * 5)
    assert_array_equal(again(delta, tmp_path).predict([["b"]]), [1])


def test_partial_fit_goes_on(tmp_path):
    one = NystromRidge(RBF(2.0), landmarks=X[:30]).partial_fit(X[:150], Y[:150])
    other = again(one, tmp_path).partial_fit(X[150:], Y[150:])
    assert_array_equal(other.predict(X), one.partial_fit(X[150:], Y[150:]).predict(X))
