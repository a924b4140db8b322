"""Kernels that users bring: matrices, functions, and the kernels of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.model_selection import cross_val_predict

from mercer.htest import HSIC, MMD, independence, two_sample
from mercer.kernels import RBF, FromCallable, FromPairs, Laplace, Matern, Precomputed
from mercer.learn import SVC, KernelPCA, KernelRidge

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = np.concatenate([X[:30, :1] > 0, X[30:, 1:] > 0.2]).ravel().astype(int)
K = Precomputed(RBF(1.3)(X))
FIRST, LAST = np.arange(30), np.arange(30, 60)


def test_tests_of_indices_are_those_of_points():
    native, given = (
        MMD(RBF(1.3)).test(X[:30], X[30:], rng=1),
        two_sample(FIRST, LAST, test=MMD(K), rng=1),
    )
    assert_allclose(given.statistic, native.statistic, rtol=1e-12)
    assert given.pvalue == native.pvalue
    by_kernel = two_sample(FIRST, LAST, kernel=K, rng=1)
    assert 0 < by_kernel.pvalue <= 1
    assert "no difference" in str(by_kernel)
    other = Precomputed(RBF(0.7)(Y.astype(float)))
    rows = np.arange(60)
    paired = HSIC(K, other).test(rows, rows, rng=1)
    expected = HSIC(RBF(1.3), RBF(0.7)).test(X, Y.astype(float), rng=1)
    assert_allclose(paired.statistic, expected.statistic, rtol=1e-10)
    assert independence(rows, rows, test=HSIC(K, other), rng=1).pvalue == paired.pvalue


@pytest.mark.parametrize("kind", [SVC, KernelRidge, KernelPCA], ids=lambda kind: kind.__name__)
def test_learners_of_indices_are_those_of_points(kind):
    train, test = np.arange(0, 60, 2), np.arange(1, 60, 2)
    given, native = (
        kind(kernel=K).fit(train, Y[train]),
        kind(kernel=RBF(1.3)).fit(X[train], Y[train]),
    )
    name = "transform" if kind is KernelPCA else "predict"
    assert_allclose(
        np.abs(getattr(given, name)(test)), np.abs(getattr(native, name)(X[test])), atol=1e-6
    )


def test_folds_of_indices():
    given = cross_val_predict(SVC(K), np.arange(60), Y, cv=3)
    assert_allclose(given, cross_val_predict(SVC(RBF(1.3)), X, Y, cv=3))


@pytest.mark.parametrize(
    ("given", "native"),
    [
        (FromCallable(gp.RBF(1.3)), RBF(1.3)),
        (FromCallable(gp.Matern(2.0, nu=1.5)), Matern(1.5, 2.0)),
        (FromCallable(laplacian_kernel), Laplace(2.0)),
        (FromPairs(lambda a, b: float(np.exp(-np.sum((a - b) ** 2) / 2))), RBF(1.0)),
    ],
    ids=["rbf", "matern", "laplacian", "pairs"],
)
def test_functions_against_native_kernels(given, native):
    assert_allclose(given(X, X[:7]), native(X, X[:7]), rtol=1e-12)
    a, b = (MMD(k).test(X[:30], X[30:], rng=1) for k in (given, native))
    assert_allclose(a.statistic, b.statistic, rtol=1e-10)
    assert a.pvalue == b.pvalue
    fits = [KernelRidge(k, ridge=0.1).fit(X, X[:, 0]).predict(X[:5]) for k in (given, native)]
    assert_allclose(*fits, rtol=1e-8)


@pytest.mark.parametrize(
    ("kernel", "how"),
    [
        ("precomputed", r"Precomputed\(K\)"),
        ("rbf", r"write RBF\(1.0\)"),
        ("poly", r"write Polynomial\(3\)"),
        (np.eye(60), r"Precomputed\(K\)"),
        (gp.RBF(1.0), r"FromCallable\(function\)"),
        (RBF, r"pass an instance, such as RBF\(\)"),
    ],
    ids=["precomputed", "rbf", "poly", "matrix", "sklearn", "class"],
)
def test_what_is_no_kernel_is_answered_with_how(kernel, how):
    for call in (
        lambda: two_sample(X[:30], X[30:], kernel=kernel),
        lambda: independence(X[:, 0], X[:, 1], kernel=kernel),
        lambda: SVC(kernel).fit(X, Y),
        lambda: MMD(kernel),
    ):
        with pytest.raises(TypeError, match=how):
            call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Precomputed(X), r"all pairs, \(n, n\), got \(60, 2\)"),
        (lambda: Precomputed([[1.0, 0.5], [0.2, 1.0]]), "must be symmetric"),
        (lambda: K([60]), "whole numbers from 0 to 59, got 60"),
        (lambda: K([-1]), "whole numbers from 0 to 59, got -1"),
        (lambda: K([0.5]), "got 0.5"),
        (lambda: SVC(K).fit(np.eye(60), Y), r"pass np.arange\(60\)"),
        (lambda: FromCallable(3), "function of two arrays"),
        (lambda: FromCallable(lambda a, b: 1.0)(X), r"use FromPairs\(function\)"),
        (lambda: FromCallable(lambda a, b: a[:, :1] - b[:, 0])(X), "must be symmetric"),
        (lambda: FromPairs(lambda a, b: a)(X), r"use FromCallable\(function\)"),
    ],
)
def test_refusals_say_what_to_do(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
