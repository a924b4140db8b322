"""The ridge of logistic regression: leave-one-out against refits, probabilities that are calibrated."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import RBF
from mercer.learn import Batches, KernelLogistic, NystromLogistic
from mercer.learn.regression import logistic_ridge
from mercer.learn.regression.class_losses import Bernoulli, Categorical

KERNEL = RBF(1.0)


def problem(n, seed=0, classes=2):
    """Labels whose probabilities are known, and change quickly with x."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    f = 3 * np.sin(2 * x[:, 0]) + 2 * x[:, 1] ** 2 - 2
    values = np.stack([f, *(0 * f for _ in range(classes - 1))], axis=1) + rng.gumbel(
        size=(n, classes)
    )
    return x, np.argmax(values, axis=1)


def calibration_error(probabilities, labels, bins=10):
    """Expected calibration error: |accuracy - confidence| over ten equal intervals of confidence."""
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == labels
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    return sum(
        abs(right[place == b].mean() - confidence[place == b].mean()) * (place == b).mean()
        for b in np.unique(place)
    )


@pytest.mark.parametrize(("classes", "near"), [(2, 0.03), (3, 0.05)])
def test_leave_one_out_as_by_refits(classes, near):
    """One Newton step from the fit to all points, against a fit without each point."""
    x, y = problem(60, classes=classes)
    ridge = 0.05
    refits = []
    for i in range(60):
        rest = np.delete(np.arange(60), i)
        fitted = KernelLogistic(KERNEL, ridge).fit(x[rest], y[rest])
        refits.append(-fitted.predict_log_proba(x[i : i + 1])[0, y[i]])
    lower = np.linalg.cholesky(KERNEL(x) + 1e-12 * np.eye(60))
    hot = y[:, None].astype(float) if classes == 2 else np.eye(classes)[y]
    path = logistic_ridge._Path(
        *logistic_ridge._directions(lower),
        hot,
        np.ones(60),
        Bernoulli() if classes == 2 else Categorical(),
        True,
    )
    coefficients = path.fitted(ridge, np.zeros((path.vectors.shape[1] + 1, hot.shape[1])))
    assert_allclose(path.left_out_loss(ridge, coefficients), np.mean(refits), rtol=near)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("learner", [KernelLogistic(), NystromLogistic(landmarks=100)])
def test_probabilities_are_calibrated(learner, classes):
    """A ridge of 1, whatever the data, drew them towards the shares of the classes."""
    x, y = problem(3000, classes=classes)
    errors, losses = [], []
    for ridge in (None, 1.0):
        logs = learner.set_params(ridge=ridge).fit(x[:500], y[:500]).predict_log_proba(x[500:])
        errors.append(calibration_error(np.exp(logs), y[500:]))
        losses.append(-np.mean(logs[np.arange(2500), y[500:]]))
    assert errors[0] < 0.05
    assert errors[1] > 0.055
    assert losses[0] < 0.93 * losses[1]


def test_the_ridge_is_the_best_of_the_path_on_new_points():
    x, y = problem(3000)
    losses = {}
    for ridge in (1.0, 0.1, 0.01, 0.001, 1e-4):
        logs = KernelLogistic(KERNEL, ridge).fit(x[:300], y[:300]).predict_log_proba(x[300:])
        losses[ridge] = -np.mean(logs[np.arange(2700), y[300:]])
    fitted = KernelLogistic(KERNEL).fit(x[:300], y[:300])
    logs = fitted.predict_log_proba(x[300:])
    assert -np.mean(logs[np.arange(2700), y[300:]]) < 1.05 * min(losses.values())
    assert fitted.ridge_ == NystromLogistic(KERNEL, landmarks=300).fit(x[:300], y[:300]).ridge_


def test_weights_are_repeated_points():
    x, y = problem(40)
    weights = np.arange(40) % 3
    once = KernelLogistic(KERNEL).fit(x, y, sample_weight=weights)
    repeated = KernelLogistic(KERNEL).fit(np.repeat(x, weights, axis=0), np.repeat(y, weights))
    assert once.ridge_ == repeated.ridge_
    assert_allclose(once.predict_proba(x), repeated.predict_proba(x), atol=1e-6)


def test_a_ridge_from_batches():
    """Of more points than are needed, those of all batches."""
    x, y = problem(2500)
    held = NystromLogistic(KERNEL, landmarks=x[:50]).fit(x, y)
    parts = [(x[:300], y[:300]), (x[300:], y[300:])]
    streamed = NystromLogistic(KERNEL, landmarks=x[:50]).fit(Batches(parts))
    assert held.ridge_ == streamed.ridge_
    assert_allclose(held.predict_proba(x), streamed.predict_proba(x), atol=1e-4)
