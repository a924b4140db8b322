"""What sums, products and wrappers may do: the kernel puzzle, parameters, parts, domains."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import (
    RBF,
    Composed,
    Constant,
    Delta,
    Energy,
    Exp,
    Exponential,
    Laplace,
    Linear,
    Matern,
    Multiple,
    Polynomial,
    Power,
    Product,
    Scaled,
    Select,
    Sobolev,
    Sum,
    Tensor,
)

X, Y = np.random.default_rng(4).standard_normal((2, 7, 3))
K = RBF(1.5)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: K - K, TypeError, "a difference of kernels is not a kernel"),
        (lambda: 1 - K, TypeError, "a difference of kernels is not a kernel"),
        (lambda: K - 1, TypeError, "a difference of kernels is not a kernel"),
        (lambda: -K, ValueError, r"must be non-negative, got -1.0: k\(x, x\) is a squared norm"),
        (lambda: -2 * K, ValueError, "must be non-negative, got -2"),
        (lambda: K * -0.1, ValueError, "must be non-negative, got -0.1"),
        (lambda: K + -1, ValueError, "must be non-negative, got -1"),
        (lambda: -1 + K, ValueError, "must be non-negative, got -1"),
        (lambda: Constant(-1.0), ValueError, "value must be non-negative, got -1.0"),
        (lambda: K**0.5, TypeError, r"exponent must be a whole number, got 0.5"),
        (lambda: K**-1, ValueError, "exponent must be a whole number of at least 0, got -1"),
        (lambda: K.exp(-1.0), ValueError, "scale must be a non-negative number, got -1.0"),
        (lambda: K * np.nan, ValueError, "must be non-negative"),
        (lambda: K * np.inf, ValueError, "must be a non-negative number"),
        (lambda: K * "2", TypeError, "must be a kernel or a non-negative number"),
        (lambda: K + None, TypeError, "must be a kernel or a non-negative number"),
        (lambda: K * True, TypeError, "must be a kernel or a non-negative number"),
        (lambda: K / 2, TypeError, "unsupported operand"),
        (lambda: Sum(K, 1.0), TypeError, "right must be a kernel, got 1.0"),
        (lambda: K.on(2.0), TypeError, "inner must be a kernel"),
        (lambda: Composed(Linear(), K), TypeError, "outer must be a radial kernel"),
        (lambda: Tensor(), ValueError, "at least one kernel"),
        (lambda: Tensor(K, K, widths=(1,)), ValueError, "widths must have 2 entries, got 1"),
        (lambda: K.select(1.5), TypeError, "not iterable|columns must be"),
        (lambda: K.select(()), TypeError, "columns must be column numbers or names"),
        (lambda: K.weighted(3), TypeError, "function must be callable"),
        (
            lambda: K.with_params(width=2.0),
            ValueError,
            "RBF has no parameter 'width'; it has bandwidth",
        ),
        (lambda: K.scaled(np.nan), ValueError, "factors must be a number"),
    ],
)
def test_what_is_not_a_kernel(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_why_differences_and_fractional_powers_are_refused():
    """The kernel puzzle: each of these has a negative eigenvalue on some points."""
    x = np.random.default_rng(0).standard_normal((20, 2))
    for matrix in (
        RBF(1.0)(x) - RBF(1.1)(x),
        -RBF(1.0)(x),
        (Polynomial(2)(x)) ** 1.5,
        np.exp(-Linear()(x)),
    ):
        assert np.linalg.eigvalsh(matrix)[0] < -1e-3


def test_operators_build_the_classes():
    assert K + Linear() == Sum(K, Linear())
    assert Sum(K, Constant(1.0)) == K + 1
    assert Sum(Constant(1.0), K) == 1 + K
    assert K * Linear() == Product(K, Linear())
    assert 2 * K == K * 2 == Multiple(K, 2.0)
    assert np.float64(2.0) * K == Multiple(K, 2.0)
    assert Power(K, 3) == K**3
    assert K.exp(0.5) == Exp(K, 0.5)
    assert sum([K, Linear(), 1]) == Sum(Sum(K, Linear()), Constant(1.0))
    assert K.select(1) == Select(K, (1,))
    assert K.select(["a", "b"]) == Select(K, ("a", "b"))
    assert K.scaled([1, 2]) == Scaled(K, (1.0, 2.0))
    assert K.on(Linear()) == Composed(K, Linear())


def test_with_params_reaches_inside():
    kernel = 2 * RBF(1.0) + Tensor(Laplace(1.0), Matern(1.5, 1.0)).normalized()
    changed = kernel.with_params(
        left__factor=3.0, left__kernel__bandwidth=4.0, right__kernel__kernels__1__nu=2.5
    )
    assert changed == 3 * RBF(4.0) + Tensor(Laplace(1.0), Matern(2.5, 1.0)).normalized()
    assert kernel == 2 * RBF(1.0) + Tensor(Laplace(1.0), Matern(1.5, 1.0)).normalized()
    assert kernel.with_params(left=Linear()).left == Linear()
    with pytest.raises(ValueError, match="bandwidth must be a positive number"):
        kernel.with_params(left__kernel__bandwidth=-1.0)
    with pytest.raises(ValueError, match="Sum has no parameter 'middle'; it has left, right"):
        kernel.with_params(middle=1.0)


def test_radial_kernels_of_kernels():
    """f(|phi(x) - phi(y)|): of the linear kernel it is f itself."""
    assert_allclose(K.on(Linear())(X, Y), K(X, Y), rtol=1e-12)
    assert_allclose(Exponential(2.0).on(Energy(2.0))(X, Y), Exponential(2.0)(X, Y), rtol=1e-10)
    inner = Polynomial(2)
    r2 = inner.diag(X)[:, None] + inner.diag(Y) - 2 * inner(X, Y)
    assert_allclose(Matern(2.5).on(inner)(X, Y), Matern(2.5).profile(r2), rtol=1e-9, atol=1e-15)


def test_columns_and_scales():
    assert_allclose(K.select((0, 2))(X, Y), K(X[:, [0, 2]], Y[:, [0, 2]]), rtol=1e-13)
    assert_allclose(K.select((2, 0))(X, Y), K.select((0, -1))(X, Y), rtol=1e-13)
    assert_allclose(K.scaled(0.5)(X, Y), RBF(3.0)(X, Y), rtol=1e-13)
    assert_allclose(K.scaled((1.0, 0.0, 2.0))(X, Y), K(X * [1, 0, 2], Y * [1, 0, 2]), rtol=1e-13)
    with pytest.raises(ValueError, match="no column 3: x has 3 columns"):
        K.select(3)(X)
    with pytest.raises(ValueError, match="one number per column: got 2 for 3 columns of x"):
        K.scaled((1.0, 2.0))(X)
    with pytest.raises(TypeError, match="column 'a' is a name: pass a data frame"):
        K.select("a")(X)


def test_tensor_products():
    expected = RBF()(X[:, :2], Y[:, :2]) * Laplace()(X[:, 2:], Y[:, 2:])
    kernel = Tensor(RBF(), Laplace(), widths=(2, 1))
    assert_allclose(kernel(X, Y), expected, rtol=1e-13)
    tuples = Tensor(RBF(), Laplace())((X[:, :2], X[:, 2]), (Y[:, :2], Y[:, 2]))
    assert_allclose(tuples, expected, rtol=1e-13)
    with pytest.raises(ValueError, match="3 columns of x do not split evenly over 2 kernels"):
        Tensor(RBF(), Laplace())(X)
    with pytest.raises(ValueError, match="widths add up to 3, but x has 2 columns"):
        kernel(X[:, :2])
    with pytest.raises(ValueError, match="must have the same number of points"):
        Tensor(RBF(), Laplace())((X, X[:3]))
    with pytest.raises(ValueError, match="must be a tuple of 2 samples, got 3"):
        Tensor(RBF(), Laplace())((X, X, X))


def test_domains_are_checked_through_every_combination():
    inside, outside = np.array([[0.5, 5.0]]), np.array([[5.0, 0.5]])
    for kernel in (
        Sobolev().select(0) + RBF(),
        2 * Sobolev().select(0),
        (RBF() * Sobolev().select(0)) ** 2,
        Sobolev().select(0).exp(),
        Sobolev().select(0).normalized(),
        RBF().on(Sobolev().select(0)),
        Tensor(Sobolev(), RBF()),
        Sobolev().scaled((1.0, 0.1)),
        Sobolev().transformed(lambda x: x * [1.0, 0.1]),
        Sobolev().transformed(lambda x: x[:, :1]).weighted(lambda x: x[:, 0]),
    ):
        assert kernel(inside).shape == (1, 1)
        with pytest.raises(ValueError, match=r"must have values in \[0, 1\]"):
            kernel(outside)
        with pytest.raises(ValueError, match=r"must have values in \[0, 1\]"):
            kernel(inside, outside)


def test_data_frames_bring_names():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    kernel = RBF().select(["c", "a"]) + Linear().select("b")
    expected = RBF()(X[:, [2, 0]]) + Linear()(X[:, [1]])
    assert_allclose(kernel(frame), expected, rtol=1e-13)
    assert_allclose(kernel(frame, frame[["c", "b", "a"]]), expected, rtol=1e-13)
    mixed = frame.assign(b=list("xyxyxyx"))
    both = (RBF().select(["a", "c"]) * Delta().select("b"))(mixed)
    assert_allclose(
        both, RBF()(X[:, [0, 2]]) * np.equal.outer([*"xyxyxyx"], [*"xyxyxyx"]), rtol=1e-13
    )
    series = RBF()(frame["a"], frame["b"])  # one column each: two samples, whatever their names
    assert_allclose(series, RBF()(X[:, 0], X[:, 1]), rtol=1e-13)
    with pytest.raises(ValueError, match=r"must have the same columns; only one has \['a', 'c'\]"):
        RBF()(frame[["a", "b"]], frame[["b", "c"]])
    with pytest.raises(
        TypeError, match="column 'b' of x holds categories, which RBF does not take"
    ):
        RBF()(mixed)


def test_normalized_where_a_feature_vanishes():
    k = Linear().normalized()([[0.0], [2.0], [-3.0]])
    assert_allclose(k, [[0, 0, 0], [0, 1, -1], [0, -1, 1]])


def test_weights_must_be_one_number_per_point():
    with pytest.raises(
        ValueError, match=r"function must give one number per point of x, got \(7, 3\)"
    ):
        K.weighted(lambda x: x)(X)
    with pytest.raises(ValueError, match=r"function\(x\) has NaN"):
        K.weighted(lambda x: np.full(len(x), np.nan))(X)
