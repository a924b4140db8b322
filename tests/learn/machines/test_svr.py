"""SVR and OneClassSVC: LIBSVM's values, what theory promises, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import datasets, svm
from sklearn.preprocessing import scale

from mercer.kernels import RBF, Linear
from mercer.kernels.precomputed import Precomputed
from mercer.learn import SVR, OneClassSVC
from mercer.learn.machines import smo
from tests.support.learn_libsvm import blobs


@pytest.fixture(scope="module")
def diabetes() -> tuple[np.ndarray, np.ndarray]:
    x, y = datasets.load_diabetes(return_X_y=True)
    return scale(x), scale(y)


def rounded(kernel, x) -> np.ndarray:
    """Kernel values that LIBSVM need not round."""
    K = kernel(x) + 0.1 * np.eye(len(x))
    return K.astype(np.float32).astype(np.float64)


def places(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.float64)[:, None]


# ---- regression -----------------------------------------------------------------------------


def test_noise_and_a_large_price_take_few_steps(monkeypatch):
    """Pairs alone take some 16,000 steps here; beside steps in NumPy, the free ones are solved for often."""
    monkeypatch.setattr(smo, "has_compiler", lambda: False)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(400, 3)), rng.normal(size=400)
    ours = SVR(RBF(1.5), C=100.0, epsilon=0.1).fit(x, y)
    theirs = svm.SVR(C=100.0, gamma=1 / (2 * 1.5**2)).fit(x, y)
    assert ours.gap_ <= 1e-3
    assert 2 * ours.n_iter_[0] < theirs.n_iter_
    assert_allclose(ours.predict(x), theirs.predict(x), atol=0.02)  # both stop at gaps of 1e-3


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_values_of_libsvm(diabetes, epsilon, weighted):
    x, y = diabetes
    weights = np.random.default_rng(0).exponential(size=len(x)) if weighted else None
    ours = SVR(RBF(3.0), 1.0, epsilon=epsilon, tol=1e-10).fit(x, y, weights)
    theirs = svm.SVR(gamma=1 / 18, epsilon=epsilon, tol=1e-10).fit(x, y, weights)
    assert_allclose(ours.predict(x), theirs.predict(x), atol=1e-6)
    assert_array_equal(ours.support_, theirs.support_)


@pytest.mark.parametrize("kernel", [Linear(), RBF(1.0)], ids=str)
def test_values_of_libsvm_on_one_matrix(diabetes, kernel):
    x, y = diabetes
    K = rounded(kernel, x)
    ours = SVR(Precomputed(K), 3.0, epsilon=0.2, tol=1e-10).fit(places(len(x)), y)
    theirs = svm.SVR(kernel="precomputed", C=3.0, epsilon=0.2, tol=1e-10).fit(K, y)
    assert_allclose(ours.predict(places(len(x))), theirs.predict(K), atol=1e-8)


def test_errors_inside_the_tube_cost_nothing(diabetes):
    x, y = diabetes
    machine = SVR(RBF(3.0), 2.0, epsilon=0.5, tol=1e-8).fit(x, y)
    errors = np.abs(y - machine.predict(x))
    weights = np.zeros(len(x))
    weights[machine.support_] = machine.function_.weights
    assert np.all(errors[weights == 0] <= 0.5 + 1e-7)
    assert_allclose(errors[(weights != 0) & (np.abs(weights) < 2.0)], 0.5, atol=1e-7)
    assert np.all(errors[np.abs(weights) == 2.0] >= 0.5 - 1e-7)


def test_a_large_problem_is_solved_in_parts(monkeypatch, diabetes):
    from mercer.learn.machines import decomposition, matrix_access, svm_base

    x, y = diabetes
    whole = SVR(RBF(2.0), 5.0, tol=1e-8).fit(x, y)
    for module in (matrix_access, svm_base):
        monkeypatch.setattr(module, "MAX_DENSE_POINTS", 100)
    monkeypatch.setattr(decomposition, "_WORKING_SET", 64)
    parts = SVR(RBF(2.0), 5.0, tol=1e-8).fit(x, y)
    assert_allclose(parts.predict(x), whole.predict(x), atol=1e-6)


def test_a_path_is_its_machines(diabetes):
    x, y = diabetes
    for machine in SVR(RBF(2.0), epsilon=0.2, tol=1e-8).path(x, y, [3.0, 0.1, 1.0]):
        alone = SVR(RBF(2.0), machine.C, epsilon=0.2, tol=1e-8).fit(x, y)
        assert_allclose(machine.predict(x), alone.predict(x), atol=1e-6)


def test_constant_target():
    """Nothing is to be learnt but the offset: a constant that no support vector is needed for."""
    x, _ = blobs(30)
    machine = SVR(RBF(1.0), epsilon=0.1).fit(x, np.full(30, 7.0))
    assert_allclose(machine.predict(x), 7.0, atol=0.1)
    assert machine.function_.norm() == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"C": 0.0}, "C must be a positive number"),
        ({"C": np.inf}, "C must be a positive number"),
        ({"epsilon": -0.1}, "epsilon must be a non-negative number"),
        ({"tol": np.nan}, "tol must be a positive number"),
    ],
)
def test_wrong_parameters(options, words):
    x, y = blobs(20)
    with pytest.raises(ValueError, match=words):
        SVR(RBF(1.0), **options).fit(x, y)


def test_wrong_targets():
    x, y = blobs(20)
    with pytest.raises(ValueError, match="contains NaN"):
        SVR(RBF(1.0)).fit(x, np.where(y > 0, np.nan, 1.0))
    with pytest.raises(ValueError, match="1d array"):
        SVR(RBF(1.0)).fit(x, x)


# ---- one class ------------------------------------------------------------------------------


@pytest.mark.parametrize("nu", [0.05, 0.5, 0.931])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_class_of_libsvm(nu, weighted):
    x, _ = blobs(300)
    weights = np.random.default_rng(0).exponential(size=len(x)) if weighted else None
    K = rounded(RBF(1.0), x)
    ours = OneClassSVC(Precomputed(K), nu, tol=1e-10).fit(places(len(x)), sample_weight=weights)
    theirs = svm.OneClassSVM(kernel="precomputed", nu=nu, tol=1e-10).fit(K, sample_weight=weights)
    assert_allclose(ours.score_samples(places(len(x))), theirs.score_samples(K), atol=1e-7)
    assert_allclose(ours.offset_, theirs.offset_[0], atol=1e-7)


def test_nu_is_between_outside_and_support():
    """Schoelkopf et al. 2001, proposition 3."""
    x, _ = blobs(500)
    for nu in (0.1, 0.37, 0.8):
        machine = OneClassSVC(RBF(1.0), nu, tol=1e-8).fit(x)
        outside = np.mean(machine.decision_function(x) < -1e-7)
        assert outside <= nu <= len(machine.support_) / 500
        assert_allclose(machine.function_.weights.sum(), nu * 500)


def test_all_may_lie_outside():
    """nu = 1: all coefficients are at their bound, and f is n times the mean embedding."""
    x, _ = blobs(50)
    machine = OneClassSVC(RBF(1.0), 1.0).fit(x)
    assert_allclose(machine.score_samples(x), RBF(1.0)(x).sum(axis=1))
    assert_allclose(machine.decision_function(x).max(), 0, atol=1e-9)


def test_what_is_new():
    rng = np.random.default_rng(0)
    machine = OneClassSVC(RBF(1.0), 0.05).fit(rng.normal(size=(400, 2)))
    assert np.mean(machine.predict(rng.normal(size=(400, 2))) > 0) > 0.9
    assert np.all(machine.predict(rng.normal(loc=6.0, size=(50, 2))) == -1)


@pytest.mark.parametrize("nu", [0.0, -0.1, 1.1, np.nan, "0.5"])
def test_wrong_nu(nu):
    x, _ = blobs(20)
    with pytest.raises((ValueError, TypeError), match="nu must be"):
        OneClassSVC(RBF(1.0), nu).fit(x)
    with pytest.raises(ValueError, match="only zeros"):
        OneClassSVC(RBF(1.0)).fit(x, sample_weight=np.zeros(20))


def test_weights_are_copies_to_a_region():
    """The signs of points on its boundary are rounding; the values agree."""
    rng = np.random.default_rng(0)
    x, weights = rng.uniform(size=(30, 4)), rng.integers(0, 5, size=30)
    one = OneClassSVC(RBF(1.0), 0.2, tol=1e-11).fit(x, sample_weight=weights)
    other = OneClassSVC(RBF(1.0), 0.2, tol=1e-11).fit(np.repeat(x, weights, axis=0))
    assert_allclose(one.decision_function(x), other.decision_function(x), atol=1e-9)
