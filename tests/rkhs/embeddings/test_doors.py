"""What stands for distributions, in every form a user has it in; and what is said where it cannot."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose

from mercer.errors import NoRule
from mercer.gram import Gram
from mercer.htest import HSIC, MMD, LinearMMD, Permutation
from mercer.kernels import RBF, ExponentialDot, Kernel, Linear, Polynomial, Sigmoid
from mercer.rkhs import (
    Bags,
    Dirac,
    Empirical,
    Gaussian,
    JensenShannon,
    MeanMap,
    Mixture,
    ProbabilityProduct,
    ShrunkMeanMap,
    SlicedWasserstein,
    Uniform,
    mmd2,
    witness,
)

K = MeanMap(RBF(0.8))
LEVEL_TWO: list[Kernel] = [
    K,
    Polynomial(2, 1.0).on(K),
    RBF(0.5).on(K),
    K.normalized(),
    SlicedWasserstein(1.0),
    ShrunkMeanMap(RBF(0.8)),
]


def of_many_kinds(n: int, seed: int) -> list:
    """Bags, Gaussians, weighted samples, vectors in three forms, in turn."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(2, 2))
    kinds = [
        lambda m: rng.normal(m, 1.0, size=(6, 2)),
        lambda m: Gaussian(m, root @ root.T + 0.1 * np.eye(2)),
        lambda m: Empirical(rng.normal(m, 1.0, size=(4, 2)), [0.1, 0.2, 0.3, 0.4]),
        lambda m: m,
        lambda m: Dirac(m),
        lambda m: m.tolist(),
    ]
    return [kinds[i % len(kinds)](rng.normal(size=2)) for i in range(n)]


@pytest.fixture
def bags() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=(5, 2)) for _ in range(4)]


# ---- forms --------------------------------------------------------------------------------


def test_every_form_of_bags_is_the_same(bags):
    expected = K(bags)
    objects = np.empty(4, dtype=object)
    objects[:] = bags
    forms = {
        "tuple": tuple(bags),
        "lists": [b.tolist() for b in bags],
        "one array": np.stack(bags),
        "objects": objects,
        "Bags": Bags.of(bags),
        "pandas": [pd.DataFrame(b, columns=["a", "b"]) for b in bags],
        "polars": [pl.DataFrame(b, schema=["a", "b"]) for b in bags],
        "samples of frames": [Empirical(pd.DataFrame(b, columns=["a", "b"])) for b in bags],
    }
    for name, form in forms.items():
        assert_allclose(K(form), expected, rtol=1e-12, err_msg=name)


def test_numbers_among_distributions_of_the_line():
    found = K([0.5, Gaussian(0.0, 1.0), [[1.0], [2.0]]])
    assert_allclose(found, K([[0.5], Gaussian(0.0, 1.0), np.array([[1.0], [2.0]])]))
    assert_allclose(found, K([Dirac(0.5), Gaussian(0.0, 1.0), [[1.0], [2.0]]]))


@pytest.mark.parametrize("kernel", [RBF(1.0), Linear()], ids=repr)
def test_mixtures_of_all_kinds(kernel):
    rng = np.random.default_rng(1)
    parts = [
        Uniform([0, 0], [1, 2]),
        Gaussian([0, 0], 1.0),
        Dirac([1.0, 1.0]),
        Empirical(rng.normal(size=(3, 2))),
    ]
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    whole = Mixture(parts, weights)
    found, each = MeanMap(kernel)([whole, *parts]), MeanMap(kernel)(parts)
    assert_allclose(found[0, 1:], weights @ each, rtol=1e-12)
    assert_allclose(found[0, 0], weights @ each @ weights, rtol=1e-12)
    assert whole.sample(50, rng=0).shape == (50, 2)
    with pytest.raises(
        TypeError, match="log density only if all of its components have one.*Dirac"
    ):
        whole.log_density([[0.0, 0.0]])
    with pytest.raises(TypeError, match="a score only if all of its components.*Uniform"):
        whole.score([[0.0, 0.0]])
    boxes = Mixture([Uniform(0.0, 1.0), Uniform(2.0, 4.0)])
    assert_allclose(np.exp(boxes.log_density([0.5, 1.5, 3.0])), [0.5, 0.0, 0.25])


# ---- level-2 kernels ----------------------------------------------------------------------


def test_kernels_of_the_dot_product_on_top():
    of = of_many_kinds(12, 0)
    inner = K(of)
    assert Linear().on(K) == K
    assert_allclose(Polynomial(3, 0.5).on(K)(of), (inner + 0.5) ** 3, rtol=1e-12)
    assert_allclose(Polynomial(2, 0.0).on(K)(of), inner**2, rtol=1e-12)
    assert_allclose(ExponentialDot(0.7).on(K)(of), np.exp(0.7 * inner), rtol=1e-12)
    with pytest.raises(TypeError, match="Sigmoid.* cannot be composed with another kernel"):
        Sigmoid().on(K)
    with pytest.raises(TypeError, match="inner must be a kernel"):
        Polynomial(2).on(RBF)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (K, SlicedWasserstein(1.0)),
        (SlicedWasserstein(1.0), RBF(0.5).on(K)),
        (K, ShrunkMeanMap(RBF(1.0))),
        (K + SlicedWasserstein(1.0), ShrunkMeanMap(RBF(1.0)) * K),
    ],
    ids=repr,
)
def test_sums_and_products_of_kernels_that_keep_distributions_differently(left, right):
    kinds = of_many_kinds(6, 8)
    for x in (kinds, kinds * 3):  # the second is kept as repeats
        a, b = left(x), right(x)
        assert_allclose((left + right)(x), a + b, rtol=1e-12)
        assert_allclose((left * right)(x, kinds), (a * b)[:, :6], rtol=1e-12)
        assert_allclose(Gram(left + right, x).diagonal(), np.diagonal(a + b), rtol=1e-12)
        held = Gram(left * right, kernel_points := (left * right).accept(x))
        assert_allclose(held @ np.ones(len(x)), (a * b).sum(axis=1), rtol=1e-10)
        turned = kernel_points.taken(np.arange(len(x))[::-1])
        assert_allclose((left * right).pairwise(turned, turned), (a * b)[::-1, ::-1], rtol=1e-12)
    assert MMD(left + right, null=Permutation(19)).test(kinds, kinds * 2, rng=0).pvalue > 0.05


@pytest.mark.parametrize("kernel", LEVEL_TWO, ids=repr)
def test_definite_on_all_kinds(kernel):
    values = kernel(of_many_kinds(18, 1))
    assert np.linalg.eigvalsh(values)[0] > -1e-10 * np.trace(values)


def test_sliced_wasserstein_of_gaussians_is_that_of_many_draws():
    rng = np.random.default_rng(2)
    p, q = Gaussian([0.0, 1.0], [[1.0, 0.6], [0.6, 2.0]]), Gaussian([1.0, 0.0], 0.5)
    bag = rng.normal(size=(30, 2))
    kernel = SlicedWasserstein(2.0)
    draws = [p.sample(40_000, rng=rng), q.sample(40_000, rng=rng), bag, bag[0]]
    assert_allclose(kernel([p, q, bag, bag[0]]), kernel(draws), atol=0.01)
    vectors = bag[:3]
    apart2 = np.sum((vectors[:, None] - vectors) ** 2, axis=2) / 2  # of shifts, |m - n|^2 / d
    many = SlicedWasserstein(1.0, directions=4000)
    assert_allclose(-2 * np.log(many(vectors)), apart2, rtol=0.1, atol=1e-12)
    with pytest.raises(NoRule, match=r"of Uniform\(2 dimensions\), which is x\[1\]: take draws"):
        kernel([bag, Uniform([0, 0], [1, 1])])


# ---- tests whose points are distributions -------------------------------------------------


@pytest.mark.parametrize("kernel", LEVEL_TWO, ids=repr)
def test_two_samples_of_distributions(kernel):
    x, y = of_many_kinds(18, 2), of_many_kinds(24, 3)
    values = kernel([*x, *y])
    w = np.repeat([1 / 18, -1 / 24], [18, 24])
    assert_allclose(mmd2(kernel, x, y, unbiased=False), w @ values @ w, rtol=1e-8, atol=1e-12)
    test = MMD(kernel, unbiased=False, null=Permutation(99))
    assert_allclose(test.statistic(x, y), w @ values @ w, rtol=1e-8, atol=1e-12)
    assert 0 < test.test(x, y, rng=0).pvalue <= 1
    assert_allclose(witness(kernel, x, y)(x[:3]), values[:3] @ w, rtol=1e-8, atol=1e-12)


def test_spread_of_bags_is_found_by_a_test_of_bags_only():
    rng = np.random.default_rng(4)
    x, y = ([rng.normal(0, s, size=(15, 2)) for _ in range(40)] for s in (1.0, 1.6))
    kernel = RBF(0.3).on(MeanMap(RBF(1.0)))
    test = MMD(kernel, null=Permutation(199))
    assert test.test(Bags.of(x), Bags.of(y), rng=0).rejects(0.01)
    assert not test.test(Bags.of(x[:20]), x[20:], rng=0).rejects(0.01)
    assert LinearMMD(kernel).test(x, y).rejects(0.05)
    spread = rng.uniform(0.5, 2.0, size=60)
    bags = [rng.normal(0, s, size=(15, 1)) for s in spread]
    together = HSIC(kernel, RBF(0.5), null=Permutation(199))
    assert together.test(bags, spread, rng=0).rejects(0.01)
    assert not together.test(bags, rng.permutation(spread), rng=0).rejects(0.01)


def test_joined_histograms_and_repeats_are_still_computed_once():
    from mercer.rkhs.embeddings.batch import DistributionBatch
    from mercer.rkhs.embeddings.deduplicated import Histograms, Repeated

    rng = np.random.default_rng(5)
    words = rng.normal(size=(7, 2))
    table = rng.dirichlet(np.full(7, 0.4), size=9)
    table[0, :6], table[0, 6] = 0.0, 1.0
    first, second = ([Empirical(words, h) for h in some] for some in (table[:4], table[4:]))
    other = [*of_many_kinds(3, 6)] * 2
    cases = [(first, second, Histograms), (other, other[:4], Repeated), (first, other, Repeated)]
    cases += [
        (other, list(table[:2, :2]), Repeated),
        (first, of_many_kinds(4, 7), DistributionBatch),
    ]
    for x, y, kind in cases:
        joined = K.accept(x).joined(K.accept(y))
        assert isinstance(joined, kind)
        assert len(joined) == len(x) + len(y)
        expected = [[K([a], [b])[0, 0] for b in [*x, *y]] for a in [*x, *y]]
        assert_allclose(K.pairwise(joined, joined), expected, rtol=1e-10)
    with pytest.raises(ValueError, match="same number of columns, got 2 and 1"):
        K.accept(first).joined(K.accept([Gaussian(0.0, 1.0)]))


# ---- what is refused ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (np.zeros((0, 2)), ValueError, r"x\[2\] is empty: leave it out"),
        ([], ValueError, r"x\[2\] is empty"),
        (np.zeros((3, 3)), ValueError, r"x\[0\] has 2, x\[2\] has 3$"),
        (Gaussian(0.0, 1.0), ValueError, r"x\[0\] has 2, x\[2\] has 1$"),
        (np.zeros(5), ValueError, r"x\[2\] has 5; numbers in a row are one point, and a bag of"),
        (np.array([[0.0, 1.0], [np.nan, 0.0]]), ValueError, r"x\[2\] has NaN.*\(first: point 1\)"),
        (np.array([np.nan, 0.0]), ValueError, r"x\[2\] has NaN"),
        ([np.inf, 0.0], ValueError, r"x\[2\] has NaN or infinite"),
        ("text", TypeError, r"x\[2\] must be one of bags of points"),
        (None, TypeError, r"x\[2\] must be one of bags of points"),
    ],
)
def test_the_wrong_one_is_named(wrong, error, message):
    with pytest.raises(error, match=message):
        K([np.zeros((2, 2)), Gaussian([0.0, 0.0], 1.0), wrong])


def test_wrong_stacks_and_none():
    with pytest.raises(ValueError, match="at least one distribution, got none"):
        K([])
    with pytest.raises(ValueError, match=r"array \(bags, points, dimensions\).*\(3, 0, 2\)"):
        K(np.zeros((3, 0, 2)))
    values = np.zeros((3, 4, 2))
    values[1, 2, 0] = np.nan
    with pytest.raises(ValueError, match=r"bag 1 has NaN.*\(first: point 2\)"):
        K(values)


def test_wrong_histograms_and_densities(bags):
    with pytest.raises(TypeError, match="one per row.*count the words of each"):
        JensenShannon()(bags)
    with pytest.raises(NoRule, match=r"Gaussian.fit\(bag\), or count code words"):
        ProbabilityProduct()(bags)
    with pytest.raises(
        TypeError, match="both hold distributions with densities, or both histograms"
    ):
        ProbabilityProduct()([Gaussian(0.0, 1.0)], [[0.5, 0.5]])
    with pytest.raises(ValueError, match="same number of columns, got 1 and 2"):
        ProbabilityProduct()([Gaussian(0.0, 1.0)], [Gaussian([0.0, 1.0], 1.0)])
    with pytest.raises(ValueError, match=r"x\[0\] has 1, x\[1\] has 2"):
        ProbabilityProduct()([Gaussian(0.0, 1.0), Gaussian([0.0, 1.0], 1.0)])


def test_tests_without_a_kernel_ask_for_one_of_distributions(bags):
    for x in (Bags.of(bags), [Gaussian(0.0, 1.0)] * 4):
        with pytest.raises((TypeError, ValueError), match=r"such as MeanMap\(RBF\(1.0\)\)"):
            MMD().test(x, x)


def test_lists_of_arrays_without_a_kernel_are_series_and_the_result_says_so(bags):
    """Bags as lists need a kernel of distributions: without one, arrays (T, d) are series."""
    result = MMD(null=Permutation(9)).test(bags, bags, rng=0)
    assert "GlobalAlignment" in repr(result.kernel)


@pytest.mark.parametrize(
    ("mean", "cov", "message"),
    [
        ([0.0, np.nan], 1.0, r"mean has NaN or infinite values \(nan at 1\)"),
        (
            [0.0, 0.0],
            [[1.0, np.inf], [0.0, 1.0]],
            r"cov has NaN or infinite values \(inf at \(0, 1\)\)",
        ),
        ([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]], r"smallest eigenvalue is -1: .*1e-6 \* np.eye\(d\)"),
        ([0.0, 0.0], [1.0, 0.0], "got 0 for coordinate 1: for a distribution without variance"),
    ],
)
def test_wrong_gaussians(mean, cov, message):
    with pytest.raises(ValueError, match=message):
        Gaussian(mean, cov)
