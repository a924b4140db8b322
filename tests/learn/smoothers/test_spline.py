"""Smoothing splines against SciPy's, dense linear algebra, the loop of leave-one-out, and their laws."""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.interpolate import make_smoothing_spline

import mercer
from mercer.kernels import Sobolev
from mercer.learn import GCV, LeaveOneOut, RidgePath, SmoothingSpline
from mercer.learn.smoothers import spline as spline_module
from mercer.learn.smoothers import spline_filter
from mercer.learn.smoothers.spline_filter import SplineProblem

RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(3, 8, size=60))
Y = np.sin(X) + 0.2 * RNG.normal(size=60)
LENGTH = X[-1] - X[0]
AT = np.linspace(3, 8, 101)


@pytest.fixture(params=["numpy", "compiled"])
def either_loop(request, monkeypatch):
    """The filter in NumPy, or in machine code."""
    if request.param == "compiled":
        pytest.importorskip("numba")
    monkeypatch.setattr(spline_filter, "is_quickly_compiled", lambda: request.param == "compiled")


@pytest.mark.parametrize("lam", [1e-3, 1e-1, 10.0])
def test_cubic_splines_are_those_of_scipy(lam):
    ours = SmoothingSpline(smoothing=lam / LENGTH**3).fit(X[:, None], Y)
    theirs = make_smoothing_spline(X, Y, lam=lam)
    inside = (X[0] < AT) & (X[-1] > AT)
    assert_allclose(ours.predict(AT[inside, None]), theirs(AT[inside]), atol=1e-8)


def test_generalised_cross_validation_chooses_as_scipy_does():
    ours = SmoothingSpline(smoothing=RidgePath(np.geomspace(1e-8, 1e-2, 400), by=GCV()))
    found = ours.fit(X[:, None], Y).predict(X[:, None])
    assert_allclose(found, make_smoothing_spline(X, Y)(X), atol=5e-3)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_system_of_equations_is_solved(order):
    u = (X - X[0]) / LENGTH
    spline = SmoothingSpline(order, smoothing=1e-3).fit(X[:, None], Y)
    c, k = spline.function_.weights[:, 0], Sobolev(order)(u)
    powers = np.vander(u, order)
    assert_allclose(powers.T @ c, 0, atol=1e-9)  # T'c = 0
    system = np.block([[k + 1e-3 * np.eye(60), powers], [powers.T, np.zeros((order, order))]])
    solution = np.linalg.solve(system, np.concatenate([Y, np.zeros(order)]))
    assert_allclose(c, solution[:60], rtol=1e-5, atol=1e-6 * np.abs(c).max())
    fitted = k @ solution[:60] + powers @ solution[60:]
    assert_allclose(spline.predict(X[:, None]), fitted, atol=1e-8)


@pytest.mark.usefixtures("either_loop")
@pytest.mark.parametrize("order", [1, 2])
def test_the_filter_is_the_dense_solution(order, monkeypatch):
    """One column in O(n), against the eigendecomposition that serves several."""
    rng = np.random.default_rng(order)
    x = np.concatenate([rng.uniform(0, 1, size=150), [0.5, 0.5, 0.5 + 1e-9]])  # ties, and nearly
    y = np.stack([np.sin(9 * x), x**2], axis=1) + 0.1 * rng.normal(size=(153, 2))
    path = RidgePath((1e-3, 1e-2, 1e-1, 1.0))
    line = SmoothingSpline(order, smoothing=path).fit(x[:, None], y)
    monkeypatch.setattr(spline_module, "_more_distinct_than", lambda u, number: False)
    dense = SmoothingSpline(order, smoothing=path).fit(x[:, None], y)
    assert line.smoothing_ == dense.smoothing_
    for name in ("leave_one_out", "gcv", "degrees_of_freedom"):
        assert_allclose(getattr(line.path_, name), getattr(dense.path_, name), rtol=1e-8)
    at = np.linspace(-0.1, 1.1, 60)[:, None]
    assert_allclose(line.predict(at), dense.predict(at), atol=1e-8)
    assert_allclose(line.polynomial_, dense.polynomial_, rtol=1e-6, atol=1e-6)


@pytest.mark.usefixtures("either_loop")
@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("smoothing", [1e-12, 1e-6, 1e-1])
def test_the_filter_against_rational_arithmetic(order, smoothing):
    """c = Qy and Q_ii, from the inverse of [[K + smoothing I, T], [T', 0]] without rounding."""
    u = [Fraction(k, 64) for k in (0, 3, 3, 10, 11, 20, 33, 47, 58, 64)]
    y = [Fraction(k, 4) for k in (1, 5, -2, 3, 3, 0, -7, 2, 1, 6)]
    n, m = len(u), order
    system = [[_covariance(a, b, m) for b in u] + [a**k for k in range(m)] for a in u]
    system += [[a**k for a in u] + [Fraction(0)] * m for k in range(m)]
    for i in range(n):
        system[i][i] += Fraction(smoothing)
    q = [_solved(system, [Fraction(i == j) for i in range(n + m)])[:n] for j in range(n)]
    c = [sum(a * b for a, b in zip(row, y, strict=True)) for row in q]
    problem = SplineProblem(np.array(u, float), np.array(y, float)[:, None], m)
    found = problem.smoothed(np.array([smoothing]))
    assert_allclose(found.diagonal[0], [float(q[i][i]) for i in range(n)], rtol=1e-7)
    assert_allclose(found.solution()[0][:, 0], np.array(c, float), rtol=1e-6, atol=1e-9)


def _covariance(a, b, m):
    """int_0^min (a-t)^(m-1) (b-t)^(m-1) / (m-1)!^2 dt."""
    low, gap = min(a, b), abs(a - b)
    terms = (
        Fraction(comb(m - 1, j), m + j) * gap ** (m - 1 - j) * low ** (m + j) for j in range(m)
    )
    return sum(terms) / factorial(m - 1) ** 2


def _solved(system, right):
    """Gaussian elimination with pivots that are not zero."""
    rows = [[*row, value] for row, value in zip(system, right, strict=True)]
    for k in range(len(rows)):
        pivot = next(i for i in range(k, len(rows)) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(len(rows)):
            if i != k and rows[i][k]:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[-1] / row[k] for k, row in enumerate(rows)]


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_default_path_starts_from_the_trace_of_the_projected_matrix(order):
    u = np.sort(RNG.uniform(0, 1, size=80))
    basis = np.linalg.qr(np.vander(u, order))[0]
    project = np.eye(80) - basis @ basis.T
    want = np.trace(project @ Sobolev(order)(u) @ project)
    found = SplineProblem(u, u[:, None], order).penalised_trace(basis)
    assert_allclose(found, want, rtol=1e-8)


def test_many_points_take_linear_memory_and_close_ones_do_no_harm():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, size=30_000)  # the smallest gap is about 1e-8
    y = np.sin(x) + 0.3 * rng.normal(size=30_000)
    with mercer.config(memory="64MiB"):
        spline = SmoothingSpline(smoothing=RidgePath((1e-3, 1e-1, 1e1), by=GCV())).fit(
            x[:, None], y
        )
    assert np.max(np.abs(spline.predict(x[:, None]) - np.sin(x))) < 0.05
    residual = y - spline.predict(x[:, None])
    assert_allclose(spline.smoothing_ * spline.function_.weights[:, 0], residual, atol=1e-9)


def test_leave_one_out_is_the_loop():
    path = RidgePath((1e-4, 1e-2), by=LeaveOneOut())
    u = (X - X[0]) / LENGTH  # the ends stay: the scale of the rest does not change
    spline = SmoothingSpline(smoothing=path).fit(u[:, None], Y)
    for smoothing, error in zip((1e-4, 1e-2), spline.path_.leave_one_out, strict=True):
        loop = []
        for i in range(60):
            others = np.arange(60) != i
            rest = u[others]
            scale = (rest[-1] - rest[0]) ** 3  # in the unit of the shorter range
            one = SmoothingSpline(smoothing=smoothing / scale).fit(rest[:, None], Y[others])
            loop.append((one.predict(u[i : i + 1, None])[0] - Y[i]) ** 2)
        assert_allclose(error, np.mean(loop), rtol=1e-6)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_polynomials_are_free(order):
    y = sum((k + 1) * X**k for k in range(order))
    spline = SmoothingSpline(order, smoothing=1e4).fit(X[:, None], y)
    beyond = np.array([0.0, 5.0, 12.0])
    want = sum((k + 1) * beyond**k for k in range(order))
    assert_allclose(spline.predict(beyond[:, None]), want, rtol=1e-6)
    assert_allclose(spline.degrees_of_freedom_, order, atol=0.01)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_beyond_the_data_it_is_a_polynomial(order):
    spline = SmoothingSpline(order, smoothing=1e-4).fit(X[:, None], Y)
    for side in (np.linspace(0, X[0], 20), np.linspace(X[-1], 12, 20)):
        values = spline.predict(side[:, None])
        assert_allclose(np.diff(values, order), 0, atol=1e-7)


def test_little_smoothing_interpolates_and_much_does_not():
    even = np.linspace(0, 1, 60)[:, None]
    close = SmoothingSpline(smoothing=1e-12).fit(even, Y)
    assert_allclose(close.predict(even), Y, atol=1e-3)
    assert close.degrees_of_freedom_ > 59
    far = SmoothingSpline(smoothing=1e6).fit(X[:, None], Y)
    line = np.polyval(np.polyfit(X, Y, 1), X)
    assert_allclose(far.predict(X[:, None]), line, atol=1e-4)


def test_several_columns_add_up():
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, size=(300, 3)) * [1, 100, 1]
    truth = np.sin(3 * x[:, 0]) + (x[:, 1] / 100) ** 2
    y = truth + 0.1 * rng.normal(size=300)
    spline = SmoothingSpline().fit(x, np.stack([y, 2 * y], axis=1))
    found = spline.predict(x)
    assert np.mean((found[:, 0] - truth) ** 2) < 0.2 * 0.1**2
    assert_allclose(found[:, 1], 2 * found[:, 0], rtol=1e-6, atol=1e-8)
    base = np.zeros((3, 3))
    base[1, 0], base[2, 1] = 0.5, 50.0
    both = np.array([[0.5, 50.0, 0.0]])
    a, b, c = spline.predict(base)[:, 0]
    assert_allclose(spline.predict(both)[0, 0], b + c - a, rtol=1e-6)  # no interaction


def test_ties_constant_columns_and_units():
    x = np.repeat(X[::3], 3)
    twice = SmoothingSpline(smoothing=1e-3).fit(x[:, None], Y)
    means = SmoothingSpline(smoothing=1e-3 / 3).fit(X[::3, None], Y.reshape(-1, 3).mean(axis=1))
    assert_allclose(twice.predict(AT[:, None]), means.predict(AT[:, None]), atol=1e-7)
    with_constant = np.stack([X, np.full(60, 5.0)], axis=1)
    spline = SmoothingSpline(smoothing=1e-3).fit(with_constant, Y)
    plain = SmoothingSpline(smoothing=1e-3).fit(X[:, None], Y)
    assert_allclose(spline.predict([[5.0, 9.0]]), plain.predict([[5.0]]), rtol=1e-9)
    moved = SmoothingSpline().fit(1e3 * X[:, None] - 7, Y)
    same = SmoothingSpline().fit(X[:, None], Y)
    assert_allclose(moved.predict(1e3 * AT[:, None] - 7), same.predict(AT[:, None]), atol=1e-7)
    constant = SmoothingSpline().fit(np.ones((5, 2)), np.arange(5.0))
    assert_allclose(constant.predict([[1.0, 1.0], [3.0, 0.0]]), 2.0)
    assert_allclose(SmoothingSpline().fit([[0.0], [1.0]], [1.0, 3.0]).predict([[2.0]]), 5.0)


def test_frames():
    frame = pd.DataFrame({"time": X})
    spline = SmoothingSpline().fit(frame, Y)
    assert spline.feature_names_in_.tolist() == ["time"]
    assert spline.score(frame, Y) > 0.8


def test_refusals_say_what_was_needed():
    with pytest.raises(ValueError, match="smoothing must be a positive number"):
        SmoothingSpline(smoothing=0.0).fit(X[:, None], Y)
    with pytest.raises(ValueError, match="order must be"):
        SmoothingSpline(0).fit(X[:, None], Y)
    with pytest.raises(ValueError, match="NaN"):
        SmoothingSpline().fit(np.where(X > 7, np.nan, X)[:, None], Y)
    x = np.random.default_rng(0).normal(size=(900, 2))
    with (
        mercer.config(memory="16MiB"),
        pytest.raises(mercer.MemoryBudgetError, match="LocalLinear"),
    ):
        SmoothingSpline().fit(x, x[:, 0])
    x = np.linspace(0, 1, 100_000)[:, None]
    with (
        mercer.config(memory="16MiB"),
        pytest.raises(mercer.MemoryBudgetError, match="spline of 100,000 points needs"),
    ):
        SmoothingSpline(smoothing=1.0).fit(x, x[:, 0])
