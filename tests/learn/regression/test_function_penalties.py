"""Penalties g(|f|^2) in kernel machines: the representer theorem, by minimisers that do not rely on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from mercer.kernels import RBF, Linear
from mercer.learn import (
    FunctionPenalty,
    Huber,
    KernelMachine,
    Logistic,
    NormPower,
    Pinball,
    Squared,
    SquaredHinge,
)

RNG = np.random.default_rng(3)
X = RNG.uniform(-2, 2, size=(40, 1))
Y = np.sin(2 * X[:, 0]) + 0.2 * RNG.normal(size=40)
ELSEWHERE = np.linspace(-2, 2, 7)[:, None] + 0.013
KERNEL = RBF(0.7)


@dataclass(frozen=True)
class Budget(FunctionPenalty):
    """exp(t) - 1: large norms cost far more than small ones."""

    def value(self, t: float, /) -> float:
        return float(np.expm1(t))

    def slope(self, t: float, /) -> float:
        return float(np.exp(t))


PENALTIES = [NormPower(1.0), NormPower(1.5), NormPower(4.0), Budget()]
each_penalty = pytest.mark.parametrize("penalty", PENALTIES, ids=repr)


@each_penalty
@pytest.mark.parametrize("loss", [Squared(), Huber(0.2)], ids=repr)
def test_no_function_is_better_not_even_outside_the_span(penalty, loss):
    """A general minimiser over the kernel functions of the data and of seven other points ends at the same f."""
    points = np.concatenate([X, ELSEWHERE])
    matrix = KERNEL(points)
    values, vectors = np.linalg.eigh(matrix)
    basis = vectors[:, values > 1e-9] * np.sqrt(
        values[values > 1e-9]
    )  # f(points) = basis u, |f| = |u|

    def objective(u: np.ndarray) -> tuple[float, np.ndarray]:
        f, t = basis @ u, float(u @ u)
        total = loss.value(Y, f[:40]).sum() + 0.3 * penalty.value(t)
        return total, basis[:40].T @ loss.slope(Y, f[:40]) + 0.6 * penalty.slope(t) * u

    start = np.full(basis.shape[1], 0.1)
    best = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-9})  # fmt: skip
    machine = KernelMachine(loss, KERNEL, 0.3, intercept=False, penalty=penalty).fit(X, Y)
    f, t = machine.predict(points), machine.function_.norm() ** 2
    reached = loss.value(Y, f[:40]).sum() + 0.3 * penalty.value(t)
    assert reached <= best.fun * (1 + 1e-9)
    assert_allclose(reached, best.fun, rtol=1e-6)
    assert_allclose(f, basis @ best.x, atol=2e-3)  # the objective is flat to its square


@each_penalty
def test_it_is_the_ridge_at_the_matching_ridge(penalty):
    machine = KernelMachine(Squared(), KERNEL, 0.3, penalty=penalty).fit(X, Y)
    assert_allclose(machine.ridge_, 0.3 * penalty.slope(machine.function_.norm() ** 2), rtol=1e-7)
    plain = KernelMachine(Squared(), KERNEL, machine.ridge_).fit(X, Y)
    assert_allclose(machine.predict(ELSEWHERE), plain.predict(ELSEWHERE), rtol=1e-9)


@pytest.mark.parametrize("loss", [Logistic(), SquaredHinge(), Pinball(0.3)], ids=repr)
def test_the_square_is_the_ridge_with_any_loss(loss):
    target = np.sign(Y) if loss.margin else Y
    one = KernelMachine(loss, KERNEL, 0.3, penalty=NormPower(2.0)).fit(X, target)
    assert one.ridge_ == pytest.approx(0.3, rel=1e-9)
    other = KernelMachine(loss, KERNEL, 0.3).fit(X, target)
    assert_allclose(one._values(ELSEWHERE), other._values(ELSEWHERE), rtol=1e-6)
    fourth = KernelMachine(loss, KERNEL, 0.3, penalty=NormPower(4.0)).fit(X, target)
    assert_allclose(fourth.ridge_, 0.6 * fourth.function_.norm() ** 2, rtol=1e-5)


def test_a_matrix_of_low_rank():
    machine = KernelMachine(Squared(), Linear(), 0.5, intercept=False, penalty=NormPower(4.0))
    slope = machine.fit(X, Y).predict([[1.0]])[0]
    a, b = np.sum(X[:, 0] ** 2), np.sum(X[:, 0] * Y)
    roots = np.roots([2.0, 0.0, 2 * a, -2 * b])  # (a s^2 - 2 b s + s^4 / 2)' = 0
    assert_allclose(slope, roots[np.abs(roots.imag) < 1e-9].real, rtol=1e-7)


def test_refusals():
    with pytest.raises(ValueError, match="power must be at least 1"):
        NormPower(0.5)
    with pytest.raises(TypeError, match="penalty must be NormPower"):
        KernelMachine(penalty="l1").fit(X, Y)
    with pytest.raises(ValueError, match="use a smaller ridge"):
        KernelMachine(kernel=KERNEL, ridge=1e6, penalty=NormPower(1.0)).fit(X, Y)
    with pytest.raises(ValueError, match="numbers or two classes, but y has 3"):
        KernelMachine(Logistic(), penalty=NormPower(1.0)).fit(X, np.arange(40) % 3)
