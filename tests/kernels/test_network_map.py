"""Networks as maps of points: values by hand, libraries and dtypes, what is frozen, and refusals."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.backend import torch_threads
from mercer.gram import Gram
from mercer.gram.kernel_family import Family
from mercer.htest import HSIC, MMD
from mercer.kernels import RBF, Constant, Linear, NetworkMap, facts, is_positive_definite
from mercer.learn import SVC

torch = pytest.importorskip("torch")
nn = torch.nn

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(70, 3)), RNG.normal(size=(50, 3))


def network(width: int = 3, seed: int = 0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(width, 6), nn.Tanh(), nn.Linear(6, 4)).double()


def by_hand(net, x: np.ndarray) -> np.ndarray:
    first, _, last = net
    hidden = np.tanh(x @ first.weight.detach().numpy().T + first.bias.detach().numpy())
    return hidden @ last.weight.detach().numpy().T + last.bias.detach().numpy()


def test_deep_kernel_is_that_of_the_paper():
    net, eps = network(), 0.2
    kernel = ((1 - eps) * RBF(0.7).transformed(net) + eps) * RBF(1.9)
    a, b = by_hand(net, X), by_hand(net, Y)

    def gaussian(u, v, s):
        return np.exp(-np.sum((u[:, None] - v[None]) ** 2, axis=2) / (2 * s**2))

    expected = ((1 - eps) * gaussian(a, b, 0.7) + eps) * gaussian(X, Y, 1.9)
    assert_allclose(kernel(X, Y), expected, rtol=1e-10)
    assert_allclose(Gram(kernel, X, Y).dense(), expected, rtol=1e-10)
    assert is_positive_definite(kernel, X)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_libraries_and_dtypes(dtype):
    phi = NetworkMap(network().to(getattr(torch, dtype)))
    rows = X.astype(np.float32)
    found = phi(rows)
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.float32
    tensors = phi(torch.tensor(rows))
    assert tensors.dtype == torch.float32
    assert_allclose(tensors.numpy(), found, rtol=1e-6)
    assert phi(X).dtype == np.float64
    assert_allclose(phi(X), by_hand(network(), X), rtol=1e-4 if dtype == "float32" else 1e-12)


def test_many_rows_are_mapped_in_parts():
    x, net = RNG.normal(size=(1300, 3)), network()
    assert_allclose(NetworkMap(net)(x), by_hand(net, x), rtol=1e-10)


def test_gradients_reach_the_points():
    """By central differences, whose error is about 1e-10 in float64."""
    kernel = RBF(1.0).transformed(network())
    x = torch.tensor(X[:1], requires_grad=True)
    kernel(x, torch.tensor(Y[:1]))[0, 0].backward()
    for j in range(3):
        step = np.zeros((1, 3))
        step[0, j] = 1e-5
        slope = (kernel(X[:1] + step, Y[:1]) - kernel(X[:1] - step, Y[:1]))[0, 0] / 2e-5
        assert_allclose(float(x.grad[0, j]), slope, rtol=1e-6)


def test_the_network_is_frozen_when_the_kernel_is_made():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    kernel = Linear().transformed(net)
    before = kernel(X)
    assert net.training  # the network of the user is left as it was
    with torch.no_grad():
        net[0].weight.mul_(2.0)
    assert_allclose(kernel(X), before)  # no dropout, and no new weights
    assert_allclose(kernel(X[:5]), before[:5, :5], rtol=1e-5)  # no means of the batch


def test_equality_is_by_weights():
    phi = NetworkMap(network())
    again = pickle.loads(pickle.dumps(phi))
    assert phi == again
    assert hash(phi) == hash(again)
    assert phi != NetworkMap(network(seed=1))
    assert phi != NetworkMap(nn.Linear(3, 4).double())
    assert RBF(1.0).transformed(phi) == RBF(1.0).transformed(again)
    assert phi != "phi"
    assert repr(phi) == "NetworkMap(Sequential of 52 weights)"


class Power(nn.Module):
    """x^p, whose only parameter is an attribute that neither its weights nor its name show."""

    def __init__(self, exponent):
        super().__init__()
        self.exponent = exponent

    def forward(self, x):
        return x**self.exponent


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Power(1), Power(3)),
        (Power(torch.tensor([1, 2, 3])), Power(torch.tensor([1, 2, 4]))),
        (nn.Sequential(Power(1)), nn.Sequential(Power(3))),
    ],
    ids=["number", "tensor", "layer"],
)
def test_networks_that_differ_in_an_attribute_are_different(first, second):
    """A family of kernels computes what equal maps make of the points only once."""
    one, other = NetworkMap(first), NetworkMap(second)
    assert one != other
    assert one == NetworkMap(first) == pickle.loads(pickle.dumps(one))
    kernels = [RBF(1.0).transformed(one), RBF(1.0).transformed(other)]
    tiles = Family(kernels, X).tiles(slice(0, 9), slice(0, 9))
    for kernel, tile in zip(kernels, tiles, strict=True):
        assert_allclose(tile, kernel(X[:9]), rtol=1e-12)


def test_pictures_are_unflattened_and_features_flattened():
    net = nn.Sequential(nn.Unflatten(1, (1, 4, 4)), nn.Conv2d(1, 2, 3))
    assert NetworkMap(net)(RNG.normal(size=(5, 16))).shape == (5, 8)
    assert NetworkMap(nn.Flatten())(X).dtype == np.float64  # a module without weights


def test_tests_and_learners_take_it():
    deep = (0.9 * RBF(1.0).transformed(network()) + 0.1) * RBF(2.0)
    assert MMD(deep).test(X, Y + 1.5, rng=0).rejects()
    assert HSIC(deep, RBF(1.0)).test(X, X[:, 0] ** 2, rng=0).rejects()
    labels = X[:, 0] > 0
    assert SVC(deep).fit(X, labels).score(X, labels) > 0.8


def test_eps_keeps_the_kernel_characteristic():
    deep = RBF(1.0).transformed(network())
    assert facts((0.9 * deep + 0.1) * RBF(2.0)).characteristic
    assert facts(RBF(2.0) * (0.9 * deep + 0.1)).characteristic
    assert facts((0.9 * deep + Constant(0.0)) * RBF(2.0)).characteristic is None
    assert facts(deep * RBF(2.0)).characteristic is None
    assert facts((0.9 * deep + 0.1) * Linear()).characteristic is None


def test_threads_of_torch_are_those_of_the_user_after_calls_that_overlap():
    """A thread of Python that begins while another one computes sees the number that this one has set."""
    before = torch.get_num_threads()
    number = 2 if before != 2 else 3
    first_in, second_in, first_out = (threading.Event() for _ in range(3))
    seen = []

    def first():
        with torch_threads(nn.Linear(1, 1), 1):
            first_in.set()
            second_in.wait(10)
        first_out.set()

    def second():
        first_in.wait(10)
        with torch_threads(nn.Linear(1, 1), 1):
            second_in.set()
            first_out.wait(10)

    try:
        torch.set_num_threads(number)
        overlapping = [threading.Thread(target=work) for work in (first, second)]
        afterwards = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
        for threads in (overlapping, [afterwards]):
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert [*seen, torch.get_num_threads()] == [number, number]
    finally:
        torch.set_num_threads(before)


def test_rows_in_reverse():
    """Views with negative strides, which torch does not take."""
    kernel = RBF(1.0).transformed(network())
    assert_allclose(kernel(X[::-1, ::-1]), kernel(X[::-1, ::-1].copy()))
    assert MMD(kernel).statistic(X[::-1], Y) == pytest.approx(MMD(kernel).statistic(X, Y))


def test_refusals():
    with pytest.raises(TypeError, match=r"module must be a torch.nn.Module"):
        NetworkMap(np.tanh)
    with pytest.raises(TypeError, match="a network takes rows of numbers"):
        RBF(1.0).transformed(network())(["ab", "cd"])
    with pytest.raises(ValueError, match="one row for each of 70 points"):
        RBF(1.0).transformed(nn.Flatten(0))(X)
    with pytest.raises(ValueError, match=r"function\(x\) has NaN"):
        RBF(1.0).transformed(nn.Threshold(10.0, float("nan")))(X)
