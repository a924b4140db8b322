"""Deep kernels on tensors: power by a double loop, gradients by differences, and what is learnt."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.htest.samples.deep_mmd import deep_kernel
from mercer.htest.samples.learn_locations import training
from mercer.networks.deep_kernel import (
    RIDGE,
    DeepKernel,
    Numbers,
    PointBatch,
    estimated_power,
    standardized,
    vector_network,
)
from mercer.networks.learn_deep_kernel import (
    LearntKernel,
    TrainingSamples,
    _epoch,
    learnt_kernel,
)
from mercer.networks.training import Schedule

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(12, 2)), RNG.normal(0.3, 1.0, size=(12, 2))


def kernel_of(seed: int = 0) -> DeepKernel:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 3))
        kernel = DeepKernel(network.double(), torch.empty(0, dtype=torch.float64))
        kernel.set_numbers(Numbers(0.8, 1.7, 0.2))
        return kernel


def rows(x: np.ndarray) -> PointBatch:
    return PointBatch(torch.tensor(x), torch.tensor(x))


def test_power_by_a_double_loop():
    """Equations 4 and 5 of Liu et al. (2020), term by term."""
    kernel, n = kernel_of(), len(X)
    with torch.no_grad():
        a, b = kernel.features(rows(X)).numpy(), kernel.features(rows(Y)).numpy()
        found = float(estimated_power(kernel.contrasts(rows(X), rows(Y))))

    def k(u, x, v, y):
        deep = np.exp(-np.sum((u - v) ** 2) / (2 * 0.8**2))
        return (0.8 * deep + 0.2) * np.exp(-np.sum((x - y) ** 2) / (2 * 1.7**2))

    h = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            within = k(a[i], X[i], a[j], X[j]) + k(b[i], Y[i], b[j], Y[j])
            h[i, j] = within - k(a[i], X[i], b[j], Y[j]) - k(a[j], X[j], b[i], Y[i])
    mmd2 = sum(h[i, j] for i in range(n) for j in range(n) if i != j) / (n * (n - 1))
    first = 4 / n**3 * sum(sum(h[i, j] for j in range(n)) ** 2 for i in range(n))
    variance = first - 4 / n**4 * h.sum() ** 2
    assert_allclose(found, mmd2 / np.sqrt(variance + RIDGE), rtol=1e-9)
    squares = sum(h[i, j] ** 2 for i in range(n) for j in range(n) if i != j) / (n * (n - 1))
    expected = mmd2 / np.sqrt(2 * squares / (n * (n - 1)))
    assert_allclose(float(standardized(torch.tensor(h))), expected, rtol=1e-10)


def test_gradients_of_the_power_by_differences():
    kernel = kernel_of()
    estimated_power(kernel.contrasts(rows(X), rows(Y))).backward()
    for parameter in kernel.module.parameters():
        flat, slopes = parameter.data.view(-1), parameter.grad.view(-1)
        for i in range(len(flat)):
            ends = []
            for step in (1e-5, -2e-5):
                flat[i] += step
                with torch.no_grad():
                    ends.append(float(estimated_power(kernel.contrasts(rows(X), rows(Y)))))
            flat[i] += 1e-5
            # central differences lose half of the digits of float64
            assert_allclose(float(slopes[i]), (ends[0] - ends[1]) / 2e-5, rtol=1e-4, atol=1e-7)


def test_the_kernel_of_the_algebra_is_the_one_that_was_learnt():
    """In the numbers of the user, whose columns may be far from 0."""
    data = training(X + 50.0, Y + 50.0, own_units=False)
    for raw in (False, True):
        kernel = kernel_of()
        x = torch.tensor(data.points[:12])
        seen = x * float(data.unit[0]) + torch.tensor(data.center) if raw else x
        with torch.no_grad():
            features = kernel.features(PointBatch(seen, x))
            expected = kernel._matrix(features, x, features, x).numpy()
        learnt = LearntKernel(kernel.module.network, kernel.numbers, 0.0)
        assert_allclose(deep_kernel(learnt, data, raw=raw)(X + 50.0), expected, rtol=1e-8)


def test_learning_gains_power_on_rows_it_has_not_seen():
    """The sign of the product of two columns: no bandwidth sees it well."""
    rng = np.random.default_rng(1)

    def crossed(n: int, sign: float) -> np.ndarray:
        z = rng.normal(size=(n, 2))
        z[:, 1] = 0.4 * z[:, 1] + sign * np.abs(z[:, 0])
        return z

    samples = TrainingSamples(crossed(120, 1.0), crossed(110, 0.6), np.zeros(2), np.ones(2))
    start = learnt_kernel(samples, None, Schedule(1, 1e-12, 0.0), 64, np.random.default_rng(0))
    end = learnt_kernel(samples, None, Schedule(60, 3e-3, 1.0), 64, np.random.default_rng(0))
    unseen = rows(crossed(300, 1.0).astype(np.float32)), rows(crossed(300, 0.6).astype(np.float32))
    powers = []
    for learnt in (start, end):
        kernel = DeepKernel(learnt.network, torch.empty(0))
        kernel.set_numbers(learnt.numbers)
        with torch.no_grad():
            powers.append(float(estimated_power(kernel.contrasts(*unseen))))
    assert powers[1] > 1.3 * powers[0] > 0


def test_batches_take_every_row_before_any_again():
    rng = np.random.default_rng(0)
    batches = list(_epoch((np.arange(100), np.arange(30)), 25, rng))
    assert len(batches) == 4
    assert all(len(x) == len(y) == 25 for x, y in batches)
    assert sorted(np.concatenate([x for x, _ in batches])) == list(range(100))
    counts = np.bincount(np.concatenate([y for _, y in batches]))
    assert counts.min() >= 3
    assert counts.max() <= 4
    (only,) = _epoch((np.arange(7), np.arange(5)), 25, rng)
    assert len(only[0]) == len(only[1]) == 5


def test_the_default_network_grows_with_the_columns():
    widths = [[layer.out_features for layer in vector_network(d)[::2]] for d in (2, 20, 500)]
    assert widths == [[30] * 4, [60] * 4, [256] * 4]
