"""SVC: LIBSVM's values, the margin, weights, classes, probabilities, and what it refuses."""

from __future__ import annotations

import warnings
from math import inf

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from mercer.errors import NotConverged
from mercer.kernels import RBF, Delta, Laplace, Linear, Polynomial
from mercer.kernels import Sigmoid as SigmoidKernel
from mercer.kernels.precomputed import Precomputed
from mercer.learn import SVC, OneVsOne, OneVsRest
from mercer.learn.machines.labelled_points import stratified_folds
from mercer.learn.machines.platt import PlattSigmoid
from tests.support.arrays import torch
from tests.support.learn_libsvm import blobs, libsvm, sets
from tests.support.letters import Letters

SETS = sets()
each_set = pytest.mark.parametrize("data", SETS.values(), ids=list(SETS))


def pairwise_values(machine: SVC, x) -> np.ndarray:
    values = machine.function_(x)
    return values.reshape(len(x), -1) + machine.intercept_


# ---- LIBSVM ---------------------------------------------------------------------------------


@each_set
def test_values_of_libsvm(data):
    ours = SVC(RBF.from_gamma(0.2), tol=1e-10, **data.options).fit(data.x, data.y, data.weights)
    assert ours.gap_ <= 1e-10
    theirs = libsvm(data, 1.0, gamma=0.2)
    assert_allclose(pairwise_values(ours, data.x), theirs, atol=1e-6)


@pytest.mark.parametrize(
    ("kernel", "C"), [(Linear(), 0.1), (Polynomial(3, 1.0), 1e-4), (Laplace(3.0), 10.0)], ids=str
)
@each_set
def test_values_of_libsvm_on_one_matrix(data, kernel, C):
    """LIBSVM rounds kernel values to float32: where both have such values they agree far better."""
    K = kernel(data.x) + 0.1 * np.eye(len(data.x))  # so that it is definite when it is rounded
    K = K.astype(np.float32).astype(np.float64)
    positions = np.arange(len(K), dtype=np.float64)[:, None]
    ours = SVC(Precomputed(K), C, tol=1e-11, **data.options).fit(positions, data.y, data.weights)
    theirs = libsvm(data, C, kernel="precomputed", matrix=K)
    assert_allclose(pairwise_values(ours, positions), theirs, rtol=1e-7, atol=1e-8)


def test_large_problem_of_libsvm():
    """Above 2,048 points a working set is solved at a time."""
    x, y = blobs(2500)
    data = type(SETS["iris"])(x, y)
    ours = SVC(RBF(1.0), tol=1e-8).fit(x, y)
    # LIBSVM rounds each of 2,500 terms to float32
    assert_allclose(pairwise_values(ours, x), libsvm(data, 1.0, gamma=0.5), atol=1e-5)


def test_linear_through_weights_of_columns():
    x, y = blobs(3000)
    ours = SVC(Linear(), 0.5, tol=1e-8).fit(x, y)
    other = SVC(Linear() + 0.0, 0.5, tol=1e-8).fit(x, y)  # not known to be linear
    assert_allclose(ours.decision_function(x), other.decision_function(x), atol=1e-6)


@pytest.mark.parametrize("name", ["iris", "digits"])
def test_votes_and_values_of_scikit_learn(name):
    from sklearn import svm

    data = SETS[name]
    ours = SVC(RBF(2.0), tol=1e-9).fit(data.x, data.y)
    theirs = svm.SVC(gamma=1 / 8, tol=1e-9, break_ties=True).fit(data.x, data.y)
    assert_allclose(ours.decision_function(data.x), theirs.decision_function(data.x), atol=1e-6)
    assert_array_equal(ours.predict(data.x), theirs.predict(data.x))
    assert_array_equal(ours.support_, np.sort(theirs.support_))
    assert_array_equal(ours.n_support_, theirs.n_support_)


# ---- what it is -----------------------------------------------------------------------------


def test_hard_margin():
    """The margin between two convex hulls: half of their distance, here known."""
    x = np.array([[0.0, 0.0], [0.0, 3.0], [2.0, 1.0], [3.0, 5.0]])
    y = np.array([0, 0, 1, 1])
    machine = SVC(Linear(), inf, tol=1e-10).fit(x, y)
    assert_allclose(machine.margin_, [1.0])
    assert_allclose(machine.decision_function(x), [-1, -1, 1, 2], atol=1e-8)
    soft = SVC(Linear(), 1e6, tol=1e-10).fit(x, y)
    assert_allclose(soft.decision_function(x), machine.decision_function(x), atol=1e-7)


def test_support_vectors_alone_give_the_function():
    x, y = SETS["circles"].x, SETS["circles"].y
    machine = SVC(RBF(0.5), tol=1e-9).fit(x, y)
    again = SVC(RBF(0.5), tol=1e-9).fit(x[machine.support_], y[machine.support_])
    assert_allclose(again.decision_function(x), machine.decision_function(x), atol=1e-6)
    assert_array_equal(machine.support_vectors_, x[machine.support_])
    assert len(machine.support_) == machine.n_support_.sum() < len(x)
    assert_allclose(machine.margin_, 1 / machine.function_.norm())


def test_free_support_vectors_lie_on_the_margin():
    data = SETS["overlapping"]
    machine = SVC(RBF(1.0), 2.0, tol=1e-9).fit(data.x, data.y)
    free = np.abs(machine.function_.weights) < 2.0
    assert free.any()
    values = machine.decision_function(machine.support_vectors_[free])
    assert_allclose(np.abs(values), 1.0, atol=1e-8)


def test_no_free_support_vector():
    """The offset is in the middle of what is possible, as in LIBSVM."""
    x, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    machine = SVC(RBF(1.0), 1e-3, tol=1e-10).fit(x, y)
    assert_allclose(machine.intercept_, 0.0, atol=1e-12)


def test_a_weight_is_so_many_copies():
    x, y = blobs(80)
    number = np.random.default_rng(0).integers(0, 4, size=80)
    weighted = SVC(RBF(1.0), tol=1e-10).fit(x, y, number)
    copies = SVC(RBF(1.0), tol=1e-10).fit(np.repeat(x, number, axis=0), np.repeat(y, number))
    assert_allclose(weighted.decision_function(x), copies.decision_function(x), atol=1e-7)
    assert not set(weighted.support_) & set(np.flatnonzero(number == 0))
    assert_array_equal(weighted.support_vectors_, x[weighted.support_])


def test_one_against_the_rest():
    data = SETS["iris"]
    machine = SVC(RBF(1.0), multiclass=OneVsRest(), tol=1e-9).fit(data.x, data.y)
    values = machine.decision_function(data.x)
    for k in range(3):
        two = SVC(RBF(1.0), tol=1e-9).fit(data.x, data.y == k)
        assert_allclose(values[:, k], two.decision_function(data.x), atol=1e-6)
    assert_array_equal(machine.predict(data.x), np.argmax(values, axis=1))


def test_two_classes_are_one_problem():
    x, y = blobs(100)
    one, other = (
        SVC(RBF(1.0), multiclass=m, tol=1e-9).fit(x, y) for m in (OneVsOne(), OneVsRest())
    )
    assert_allclose(one.decision_function(x), other.decision_function(x), atol=1e-7)


@pytest.mark.parametrize("name", ["overlapping", "iris"])
def test_a_path_is_its_machines(name):
    data = SETS[name]
    prices = [10.0, 0.01, 1.0, inf, 1.0] if name == "iris" else [10.0, 0.01, 1.0]
    machine = SVC(RBF(0.3), tol=1e-9)
    path = machine.path(data.x, data.y, prices)
    assert not hasattr(machine, "classes_")
    for C, found in zip(prices, path, strict=True):
        alone = SVC(RBF(0.3), C, tol=1e-9).fit(data.x, data.y)
        assert found.C == C
        assert_allclose(found.decision_function(data.x), alone.decision_function(data.x), atol=1e-6)
        assert_array_equal(found.predict(data.x), alone.predict(data.x))


def test_float32():
    x, y = blobs(500)
    wide, narrow = SVC(RBF(1.0)).fit(x, y), SVC(RBF(1.0)).fit(x.astype(np.float32), y)
    assert narrow.support_vectors_.dtype == np.float32
    assert_allclose(narrow.decision_function(x), wide.decision_function(x), atol=5e-3)
    fine = SVC(RBF(1.0), tol=1e-8).fit(x.astype(np.float32), y)  # which float32 cannot reach
    assert fine.gap_ <= 1e-8


# ---- points of all kinds --------------------------------------------------------------------


WORDS = ["cat", "act", "tact", "attic", "dog", "good", "god", "goodly"]


def test_words():
    y = ["c"] * 4 + ["g"] * 4
    machine = SVC(Letters(), 10.0).fit(WORDS, y)
    assert machine.predict(["cacti", "goody"]).tolist() == ["c", "g"]
    assert set(machine.support_vectors_) <= set(WORDS)
    labels = SVC(Delta()).fit(["a", "b", "a", "b"], [0, 1, 0, 1])
    assert labels.predict(["b", "a"]).tolist() == [1, 0]


def test_many_words_are_solved_in_parts(monkeypatch):
    from mercer.learn.machines import decomposition, matrix_access, svm_base

    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefgh"), 5)) for _ in range(120)]
    y = [("a" in w) ^ ("b" in w) for w in words]
    whole = SVC(Letters(), 0.5, tol=1e-8).fit(words, y)
    monkeypatch.setattr(matrix_access, "MAX_DENSE_POINTS", 30)
    monkeypatch.setattr(svm_base, "MAX_DENSE_POINTS", 30)
    monkeypatch.setattr(decomposition, "_WORKING_SET", 32)
    parts = SVC(Letters(), 0.5, tol=1e-8).fit(words, y)
    assert_allclose(parts.decision_function(words), whole.decision_function(words), atol=1e-5)


def test_frames_by_names():
    x, y = blobs(100)
    frame = pd.DataFrame(x, columns=[*"abc"])
    machine = SVC(RBF(1.0).select(["a", "c"]), tol=1e-9).fit(frame, y)
    same = SVC(RBF(1.0), tol=1e-9).fit(x[:, [0, 2]], y)
    values = same.decision_function(x[:, [0, 2]])
    assert_allclose(machine.decision_function(frame), values, atol=1e-6)


@pytest.mark.skipif(torch is None, reason="needs torch")
def test_tensors():
    x, y = blobs(100)
    machine = SVC(RBF(1.0), tol=1e-8).fit(torch.asarray(x), y)
    same = SVC(RBF(1.0), tol=1e-8).fit(x, y)
    assert_allclose(
        machine.decision_function(torch.asarray(x)), same.decision_function(x), atol=1e-6
    )


# ---- probabilities --------------------------------------------------------------------------


def test_probabilities_are_calibrated():
    x, y = blobs(1200)
    machine = SVC(RBF(2.0), probability=True, random_state=0).fit(x[:600], y[:600])
    ours = machine.predict_proba(x[600:])
    assert_allclose(ours.sum(axis=1), 1)
    assert_allclose(np.exp(machine.predict_log_proba(x[600:])), ours)
    true = 1 / (1 + np.exp(-(x[600:] @ np.ones(3) - 1.5)))  # of two Gaussians
    assert np.mean(np.abs(ours[:, 1] - true)) < 0.05
    peer = CalibratedClassifierCV(SVC(RBF(2.0)), cv=5, ensemble=False).fit(x[:600], y[:600])
    theirs = log_loss(y[600:], peer.predict_proba(x[600:]))
    assert log_loss(y[600:], ours) < theirs + 0.01


def test_probabilities_of_several_classes():
    data = SETS["iris"]
    machine = SVC(RBF(1.0), probability=True, random_state=0).fit(data.x, data.y)
    p = machine.predict_proba(data.x)
    assert_allclose(p.sum(axis=1), 1)
    assert np.mean(np.argmax(p, axis=1) == data.y) > 0.95
    again = SVC(RBF(1.0), probability=True, random_state=0).fit(data.x, data.y)
    assert_array_equal(again.predict_proba(data.x), p)
    assert not hasattr(SVC(RBF(1.0)), "predict_proba")


@pytest.mark.parametrize("k", [2, 4])
def test_folds_are_those_of_scikit_learn(k):
    codes = np.random.default_rng(k).integers(k, size=97)
    splits = StratifiedKFold(5, shuffle=True, random_state=3).split(codes, codes)
    assigned = stratified_folds(codes, 5, np.random.RandomState(3))
    for fold, (_, test) in enumerate(splits):
        assert_array_equal(np.flatnonzero(assigned == fold), test)


def test_sigmoid_is_the_likeliest():
    rng = np.random.default_rng(0)
    values = 100 * rng.normal(size=4000)
    positive = rng.random(4000) < 1 / (1 + np.exp(-0.02 * values - 0.7))
    found = PlattSigmoid.fit(values, positive, np.ones(4000))
    assert_allclose([found.slope, found.offset], [0.02, 0.7], rtol=0.1)
    weights = rng.integers(1, 3, size=4000)
    one = PlattSigmoid.fit(values, positive, weights.astype(float))
    other = PlattSigmoid.fit(
        np.repeat(values, weights), np.repeat(positive, weights), np.ones(weights.sum())
    )
    assert_allclose([one.slope, one.offset], [other.slope, other.offset])
    apart = PlattSigmoid.fit(np.array([-1.0, 1.0]), np.array([False, True]), np.ones(2))
    assert_allclose(apart(np.array([-1.0, 1.0])), [1 / 3, 2 / 3])  # the targets themselves


# ---- what it refuses ------------------------------------------------------------------------


def test_one_class_is_refused():
    x, _ = blobs(20)
    with pytest.raises(ValueError, match="at least two classes, got one class, 1"):
        SVC(RBF(1.0)).fit(x, np.ones(20, dtype=int))
    with pytest.raises(ValueError, match="at least two classes"):
        SVC(RBF(1.0)).fit(x, np.arange(20) < 10, sample_weight=(np.arange(20) < 10).astype(float))


@pytest.mark.parametrize("C", [0.0, -1.0, np.nan, -inf, "1", None, True])
def test_wrong_prices(C):
    x, y = blobs(20)
    with pytest.raises((ValueError, TypeError), match="C must be a positive number"):
        SVC(RBF(1.0), C).fit(x, y)
    with pytest.raises((ValueError, TypeError), match="C must be a positive number"):
        SVC(RBF(1.0)).path(x, y, [1.0, C])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tol": 0.0}, "tol must be a positive number"),
        ({"max_iter": 0}, "max_iter must be a whole number"),
        ({"multiclass": "ovo"}, "multiclass must be OneVsOne"),
        ({"kernel": "rbf"}, "kernel must be a kernel"),
        ({"probability": 1}, "probability must be True or False"),
        ({"class_weight": {7: 2.0}}, "class_weight has classes that are not in y: .7."),
        ({"class_weight": {0: -2.0}}, "class_weight must be positive"),
    ],
)
def test_wrong_parameters(options, words):
    x, y = blobs(20)
    with pytest.raises((ValueError, TypeError), match=words):
        SVC(**{"kernel": RBF(1.0)} | options).fit(x, y)


def test_wrong_labels():
    x, y = blobs(20)
    with pytest.raises(ValueError, match="NaN"):
        SVC(RBF(1.0)).fit(x, np.where(y > 0, np.nan, 0.0))
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        SVC(RBF(1.0)).fit(x, x[:, 0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SVC(RBF(1.0)).fit(x, y[:-1])
    with pytest.raises(ValueError, match="one class"):
        SVC(RBF(1.0)).fit(x[:1], y[:1])
    with pytest.raises(ValueError, match="a path needs at least one C"):
        SVC(RBF(1.0)).path(x, y, [])
    with pytest.raises(ValueError, match="at least two points of every class"):
        SVC(RBF(1.0), probability=True).fit(x[:3], [0, 0, 1])


@pytest.mark.parametrize("kernel", [Linear(), RBF(1.0)], ids=str)
def test_no_hard_margin_is_refused(kernel):
    x, y = blobs(40)
    x = np.concatenate([x, x[:5]])
    y = np.concatenate([y, 1 - y[:5]])
    with pytest.raises(ValueError, match="C=inf needs classes that the kernel separates"):
        SVC(kernel, inf).fit(x, y)


def test_overlap_has_no_hard_margin():
    x, y = blobs(200)  # no two points are equal, and a plane does not separate them
    with pytest.raises(ValueError, match="C=inf needs classes that the kernel separates"):
        SVC(Linear(), inf).fit(x, y)
    assert SVC(RBF(0.3), inf).fit(x, y).score(x, y) == 1


def test_indefinite_kernel_is_solved_with_a_warning():
    x, y = blobs(100)
    with pytest.warns(UserWarning, match="not positive definite: on 100 of the points"):
        machine = SVC(SigmoidKernel(1.0)).fit(x, y)
    assert np.isfinite(machine.decision_function(x)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVC(RBF(1.0)).fit(x, y)


def test_too_few_steps_are_told():
    x, y = blobs(100)
    with pytest.warns(
        NotConverged, match="did not converge: after 3 steps the gap is .*raise max_iter"
    ):
        machine = SVC(RBF(1.0), max_iter=3).fit(x, y)
    assert machine.gap_ > machine.tol
    assert machine.n_iter_.tolist() == [3]


def test_indefinite_kernel_has_no_hard_margin():
    x, y = blobs(100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(
            ValueError, match=r"not positive definite.*A hard margin does not exist then"
        ):
            SVC(SigmoidKernel(1.0, -1.0), inf).fit(x, y)
        with pytest.raises(ValueError, match="A hard margin does not exist then: use a finite C"):
            SVC(SigmoidKernel(1.0, -1.0)).path(x, y, [1.0, inf])
