"""The expected kernel on bags and mixed distributions: tiled = dense, level-2 kernels, learners' needs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer.gram import Gram
from mercer.kernels import RBF, Delta, Linear, Matern, Polynomial, facts
from mercer.rkhs import (
    Bags,
    Dirac,
    Empirical,
    Gaussian,
    JensenShannon,
    MeanMap,
    Mixture,
    ShrunkMeanMap,
    SlicedWasserstein,
    Uniform,
    mmd2,
)


@pytest.fixture
def samples() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(rng.normal(), 1.0, size=(n, 2)) for n in rng.integers(1, 40, size=30)]


@pytest.mark.parametrize("kernel", [RBF(1.0), Matern(1.5, 1.0), Polynomial(2)], ids=repr)
def test_bags_are_means_over_all_pairs(kernel, samples):
    found = MeanMap(kernel)(samples)
    assert_allclose(found, [[kernel(a, b).mean() for b in samples] for a in samples], rtol=1e-12)
    assert_allclose(MeanMap(kernel)(samples[:5], samples), found[:5], rtol=1e-12)
    assert_allclose(MeanMap(kernel)(Bags.of(samples)), found, rtol=1e-12)
    assert_allclose(Gram(MeanMap(kernel), samples).diagonal(), np.diagonal(found), rtol=1e-12)


def test_vectors_are_points(samples):
    x = np.random.default_rng(1).normal(size=(700, 3))
    assert_array_equal(MeanMap(RBF(1.0))(x), Gram(RBF(1.0), x).dense())
    some = x[:4, :2]
    mixed = MeanMap(RBF(1.0))([*samples[:2], *some, Dirac(some[0])])
    assert_allclose(mixed[2:6, 2:6], RBF(1.0)(some))
    assert_array_equal(mixed[6], mixed[2])


def test_kinds_in_any_order():
    rng = np.random.default_rng(2)
    kinds = [
        Gaussian([0.0, 1.0], [1.0, 2.0]),
        rng.normal(size=(5, 2)),
        Mixture([Gaussian([0.0, 0.0], 1.0), Gaussian([1.0, 1.0], 0.5)], [0.2, 0.8]),
        Uniform([0.0, 0.0], [1.0, 2.0]),
        Empirical(rng.normal(size=(3, 2)), [0.5, 0.3, 0.2]),
        [0.5, 0.5],
    ]
    kernel = RBF(1.0).on(MeanMap(RBF(0.7)))
    found = kernel(kinds)
    order = [3, 5, 0, 4, 2, 1]
    assert_allclose(kernel([kinds[i] for i in order]), found[np.ix_(order, order)], rtol=1e-12)
    assert_allclose(kernel(kinds[:3], kinds[3:]), found[:3, 3:], rtol=1e-12)
    assert np.linalg.eigvalsh(found)[0] > 0


def test_level_two_is_a_function_of_mmd(samples):
    inner, outer = RBF(1.0), RBF(0.3)
    found = outer.on(MeanMap(inner))(samples[:3])
    distance2 = mmd2(inner, samples[0], samples[2], unbiased=False)
    assert_allclose(found[0, 2], np.exp(-distance2 / (2 * 0.3**2)), rtol=1e-9)
    assert_array_equal(np.diagonal(found), 1.0)
    assert_allclose(np.diagonal(MeanMap(inner).normalized()(samples)), 1.0, rtol=1e-12)


def test_what_theory_promises():
    linear, level_two = MeanMap(RBF(1.0)), RBF(0.3).on(MeanMap(RBF(1.0)))
    assert facts(linear).separates
    assert facts(linear).positive_definite
    assert facts(linear).characteristic is False  # a mixture, or one of its parts at random
    p, q = Gaussian(-1.0, 1.0), Gaussian(1.0, 1.0)
    one_of_them, mixture = [p, q], [Mixture([p, q])] * 2
    assert abs(mmd2(linear, one_of_them, mixture, unbiased=False)) < 1e-15
    assert facts(level_two).universal
    assert mmd2(level_two, one_of_them, mixture, unbiased=False) > 0.01
    assert facts(RBF(1.0).on(MeanMap(Linear()))).characteristic is False


def test_cached_or_not_the_same(samples):
    bags = samples * 25
    v = np.random.default_rng(3).normal(size=len(bags))
    cached = Gram(RBF(0.5).on(MeanMap(RBF(1.0))), bags)
    with mercer.config(memory="16MiB"):
        tiled = Gram(RBF(0.5).on(MeanMap(RBF(1.0))), bags)
        assert tiled._cached is None
        assert cached._cached is not None
        assert_allclose(tiled @ v, cached @ v, rtol=1e-10)
    again = pickle.loads(pickle.dumps(cached))
    assert_array_equal(again @ v, cached @ v)


def test_tensors():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(4)
    bags = [rng.normal(size=(n, 2)) for n in (3, 1, 7)]
    found = MeanMap(RBF(1.0))([torch.asarray(b) for b in bags])
    assert isinstance(found, torch.Tensor)
    assert_allclose(found.numpy(), MeanMap(RBF(1.0))(bags), rtol=1e-12)


def test_bags_of_objects():
    words = [["a", "b"], ["b"], ["c", "c", "a"]]
    found = MeanMap(Delta())([Empirical(w) for w in words])
    assert_allclose(found, [[1 / 2, 1 / 2, 1 / 6], [1 / 2, 1, 0], [1 / 6, 0, 5 / 9]])


def test_refusals(samples):
    with pytest.raises(ValueError, match=r"x\[1\] is empty"):
        MeanMap(RBF(1.0))([samples[0], np.zeros((0, 2))])
    with pytest.raises(ValueError, match="same number of columns"):
        MeanMap(RBF(1.0))([samples[0], np.zeros((3, 3))])
    with pytest.raises(ValueError, match=r"x\[2\].*NaN"):
        MeanMap(RBF(1.0))([samples[0], samples[1], np.array([[np.nan, 0.0]])])
    with pytest.raises(ValueError, match=r"x\[0\] has 2, x\[1\] has 1$"):
        MeanMap(RBF(1.0))([samples[0], Gaussian(0.0, 1.0)])
    with pytest.raises(ValueError, match=r"x\[0\] has 5, x\[1\] has 6; numbers in a row are one"):
        MeanMap(RBF(1.0))([np.zeros(5), np.zeros(6)])
    with pytest.raises(TypeError, match="must be a sequence of bags"):
        MeanMap(RBF(1.0))("abc")
    with pytest.raises(TypeError, match=r"x\[1\] must be one of bags"):
        MeanMap(RBF(1.0))([samples[0], {"a": 1}])
    with pytest.raises(TypeError, match="kernel must be a kernel"):
        MeanMap("rbf")


def test_sliced_wasserstein_on_the_line_is_the_distance_of_quantiles():
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(50, 1)), rng.exponential(size=(50, 1))
    distance2 = np.mean((np.sort(x[:, 0]) - np.sort(y[:, 0])) ** 2)
    found = SlicedWasserstein(2.0)([x, y])[0, 1]
    assert_allclose(found, np.exp(-distance2 / 8), rtol=1e-12)


def test_sliced_wasserstein_of_a_shift():
    rng = np.random.default_rng(6)
    x = rng.normal(size=(500, 3))
    found = SlicedWasserstein(1.0, directions=4000)([x, x + np.array([3.0, 0.0, 0.0])])[0, 1]
    assert_allclose(-2 * np.log(found), 9 / 3, rtol=0.05)  # |shift|^2 / d on average


def test_sliced_wasserstein_of_weights_and_repeats():
    weighted = Empirical([[0.0], [1.0]], [0.25, 0.75])
    repeated = np.array([[0.0], [1.0], [1.0], [1.0]])
    assert_allclose(SlicedWasserstein(1.0, levels=40)([weighted, repeated])[0, 1], 1.0)


def test_jensen_shannon():
    rng = np.random.default_rng(7)
    p = rng.dirichlet(np.full(4, 0.5), size=20)
    p[0] = [1.0, 0.0, 0.0, 0.0]
    found = JensenShannon(0.5)(p)
    from scipy.spatial.distance import jensenshannon

    expected = [[np.exp(-(jensenshannon(a, b) ** 2) / 0.5) for b in p] for a in p]
    assert_allclose(found, expected, rtol=1e-7)
    with pytest.raises(ValueError, match="add up to one"):
        JensenShannon()([[0.5, 0.4]])


def test_linear_is_the_product_of_means(samples):
    means = np.array([s.mean(axis=0) for s in samples])
    assert_allclose(MeanMap(Linear())(samples), means @ means.T, rtol=1e-10, atol=1e-12)


def test_shrunk_embeddings_are_nearer_to_the_truth():
    rng = np.random.default_rng(8)
    kernel, exact = RBF(0.7), Gaussian(np.zeros(2), 1.0)
    truth = MeanMap(kernel)([exact])[0, 0]
    errors = []
    for _ in range(200):
        bag = rng.normal(size=(5, 2))
        both = MeanMap(kernel)([bag, exact])
        factor = ShrunkMeanMap(kernel)([bag, exact])[0, 1] / both[0, 1]
        errors.append([c**2 * both[0, 0] - 2 * c * both[0, 1] + truth for c in (1.0, factor)])
    plain, shrunk = np.mean(errors, axis=0)
    assert shrunk < 0.9 * plain


def test_shrunk_by_the_formula_and_definite():
    rng = np.random.default_rng(9)
    bags = [rng.normal(size=(n, 2)) for n in (1, 2, 5, 40)]
    kernel = RBF(1.0)
    found = ShrunkMeanMap(kernel)([*bags, Gaussian(np.zeros(2), 1.0)])
    plain = MeanMap(kernel)([*bags, Gaussian(np.zeros(2), 1.0)])
    factors = found[-1] / plain[-1]
    assert_allclose(factors[[0, 4]], 1.0)
    for bag, factor in zip(bags[1:], factors[1:4], strict=True):
        n, gram = len(bag), kernel(bag)
        norm2 = (gram.sum() - n) / (n * (n - 1))
        assert_allclose(factor, norm2 / (norm2 + (1 - norm2) / n), rtol=1e-10)
    assert_allclose(found, np.outer(factors, factors) * plain, rtol=1e-12)
