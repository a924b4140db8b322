"""Kernel machines of many points: tiles and landmarks beyond the memory budget, factors of low rank."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import mercer
from mercer.kernels import RBF, Linear, Sigmoid
from mercer.learn import (
    Hinge,
    Huber,
    KernelLogistic,
    KernelMachine,
    KernelQuantile,
    Logistic,
    Pinball,
    Squared,
    SquaredHinge,
)
from mercer.learn.regression import kernel_machine


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", [Squared(), Huber(0.3), Logistic(), SquaredHinge()], ids=str)
def test_smooth_losses_beyond_the_budget_are_solved_on_tiles(loss, intercept):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1500, 3))
    y = x[:, 0] ** 2 + rng.standard_t(2, size=1500)
    y, weights = np.where(y > 1, 1.0, -1.0) if loss.margin else y, rng.uniform(0.5, 2, size=1500)
    machine = KernelMachine(loss, RBF(1.5), 0.1, intercept=intercept)
    want = machine.fit(x, y, weights)._values(x)
    with mercer.config(memory="16MiB"):
        found = machine.fit(x, y, weights)
        assert found.gap_ <= machine.tolerance
        assert_allclose(found._values(x), want, atol=1e-5)


def test_two_classes_beyond_the_budget():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1500, 3)).astype(np.float32)
    y = x[:, 0] * x[:, 1] + 0.3 * rng.normal(size=1500) > 0
    want = KernelLogistic(RBF(1.5), 0.1).fit(x.astype(np.float64), y).predict_proba(x)
    with mercer.config(memory="16MiB"):
        assert_allclose(KernelLogistic(RBF(1.5), 0.1).fit(x, y).predict_proba(x), want, atol=2e-3)
        wide = KernelLogistic(RBF(1.5), 0.1).fit(x.astype(np.float64), y)
        assert_allclose(wide.predict_proba(x), want, atol=1e-6)


BEYOND = np.random.default_rng(0).normal(size=(1000, 2))
NOISY = np.sin(BEYOND[:, 0]) + 0.3 * np.random.default_rng(1).normal(size=1000)


@pytest.mark.parametrize(
    ("learner", "target"),
    [
        (KernelQuantile(0.3, RBF(1.5), 0.1), NOISY),
        (KernelQuantile(0.7, RBF(1.5), 0.1, intercept=False), NOISY),
        (KernelMachine(Hinge(), RBF(1.5), 0.1), np.sign(NOISY)),
        (KernelMachine(Hinge(), RBF(1.5), 0.1), np.digitize(NOISY, [-0.5, 0.5])),
        (KernelLogistic(RBF(1.5), 0.1), np.digitize(NOISY, [-0.5, 0.5])),
    ],
    ids=str,
)
def test_beyond_the_budget_landmarks_give_the_exact_solution_where_the_rank_is_low(learner, target):
    exact = clone(learner).fit(BEYOND, target)
    assert exact.n_landmarks_ is None
    with (
        mercer.config(memory="16MiB"),
        pytest.warns(mercer.Approximated, match=r"1,000 points .* by [0-9]+ landmarks"),
    ):
        ours = clone(learner).fit(BEYOND, target)
    assert 50 < ours.n_landmarks_ == len(ours.function_.points) < 300
    new = np.random.default_rng(2).normal(size=(50, 2))
    assert_allclose(ours._values(new), exact._values(new), atol=1e-6)
    assert_allclose(ours.intercept_, exact.intercept_, atol=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    "loss", [Squared(), Huber(0.3), Pinball(0.3), SquaredHinge(), Hinge()], ids=str
)
@pytest.mark.parametrize("kernel", [Linear(), RBF(2.0).select(0)], ids=["linear", "line"])
def test_factors_of_low_rank_give_the_solution_of_the_dense_matrix(
    kernel, loss, intercept, monkeypatch
):
    y = np.sign(NOISY) if loss.margin else NOISY
    weights = np.random.default_rng(2).uniform(0.5, 2, size=1000)
    machine = KernelMachine(loss, kernel, 0.3, intercept=intercept, tolerance=1e-12)
    factored = clone(machine).fit(BEYOND, y, weights)
    monkeypatch.setattr(kernel_machine, "low_rank_matrix", lambda _: None)
    dense = clone(machine).fit(BEYOND, y, weights)
    assert_allclose(factored.function_.weights, dense.function_.weights, rtol=1e-7, atol=1e-7)
    assert_allclose(factored._values(BEYOND), dense._values(BEYOND), atol=1e-8)
    assert not np.array_equal(factored.function_.weights, dense.function_.weights)


def test_few_landmarks_are_still_close():
    x = np.random.default_rng(0).normal(size=(1500, 6))
    y = np.where(np.sum(x**2, axis=1) > 5.3, "far", "near")
    exact = KernelMachine(Hinge(), RBF(3.0), 0.1).fit(x, y)
    with mercer.config(memory="16MiB"), pytest.warns(mercer.Approximated):
        ours = KernelMachine(Hinge(), RBF(3.0), 0.1).fit(x, y)
    assert ours.n_landmarks_ < 400
    assert np.mean(ours.predict(x) == exact.predict(x)) > 0.99


def test_an_indefinite_kernel_is_refused_beyond_the_budget_too():
    x = np.random.default_rng(0).normal(size=(1500, 2))
    with mercer.config(memory="16MiB"), pytest.raises(ValueError, match="positive definite"):
        KernelQuantile(0.5, Sigmoid(5.0, -2.0), 1e-3).fit(x, x[:, 0])
