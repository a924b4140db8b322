"""DHSIC and Lancaster: shortcuts against naive loops, nulls against each other, and what they see."""

from __future__ import annotations

import itertools
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.errors import NoRule
from mercer.gram import Gram
from mercer.htest import (
    DHSIC,
    HSIC,
    MMD,
    Bootstrap,
    Gamma,
    Lancaster,
    Permutation,
    ShiftHSIC,
    Spectrum,
    WildBootstrap,
)
from mercer.htest.dependence.dependence_result import i_characteristic
from mercer.htest.dependence.dhsic_statistic import JointEvidence
from mercer.htest.dependence.hsic_statistic import HSICEvidence
from mercer.htest.dependence.sums.permuted_tensor import (
    DenseTensor,
    LowRankTensor,
    TiledTensor,
    UncenteredGram,
    permuted_tensor,
)
from mercer.kernels import RBF, Delta, Energy, Laplace, Linear, Matern
from mercer.rkhs import dhsic
from mercer.rkhs.paired_samples import variables
from tests.support.htest_joint import drawn, every_kernels, parity, turned


def distance(grams):
    """dHSIC of dense matrices, by its definition."""
    between = np.prod([k.mean(axis=0) for k in grams], axis=0).mean()
    split = np.prod([k.mean() for k in grams])
    return np.prod(grams, axis=0).mean() + split - 2 * between


# ---- DHSIC: two roads to every number -----------------------------------------------------


@every_kernels
def test_permutations_are_those_of_the_naive_loop(kernels):
    samples = drawn(30)
    evidence = JointEvidence(variables(kernels, samples, ("x1", "x2", "x3")))
    grams = [k(x) for k, x in zip(kernels, samples, strict=True)]
    rng = np.random.default_rng(1)
    orders = [np.stack([rng.permutation(30) for _ in range(7)]) for _ in range(2)]
    want = [
        distance([grams[0], turned(grams[1], p), turned(grams[2], q)])
        for p, q in zip(*orders, strict=True)
    ]
    assert_allclose(evidence._permuted(orders, evidence._tensor), want, rtol=1e-10)
    drawings = [rng.integers(30, size=(7, 30)) for _ in range(3)]
    want = [
        distance([turned(k, row) for k, row in zip(grams, rows, strict=True)])
        for rows in zip(*drawings, strict=True)
    ]
    assert_allclose(evidence._bootstrapped(drawings), want, rtol=1e-10)
    assert_allclose(evidence.observed, distance(grams), rtol=1e-10)


@every_kernels
def test_three_roads_to_sums_of_products(kernels):
    samples, rng = drawn(40), np.random.default_rng(2)
    parts = [UncenteredGram(Gram(k, x)) for k, x in zip(kernels, samples, strict=True)]
    orders = [None, *(np.stack([rng.permutation(40) for _ in range(5)]) for _ in range(2))]
    factors = [part.factor(40) for part in parts]
    held = DenseTensor([part.gram.dense() for part in parts]).sums(orders)
    assert_allclose(TiledTensor(tuple(parts)).sums(orders), held, rtol=1e-10)
    assert_allclose(LowRankTensor(factors, factors[0]).sums(orders), held, rtol=1e-9)


def test_the_road_is_chosen_by_rank_and_memory():
    x = np.random.default_rng(0).normal(size=(3, 1000, 1))
    smooth = [UncenteredGram(Gram(RBF(2.0), v)) for v in x]
    rough = [UncenteredGram(Gram(Laplace(0.5), v)) for v in x]
    assert isinstance(permuted_tensor(smooth), LowRankTensor)
    assert isinstance(permuted_tensor(rough), DenseTensor)
    with mercer.config(memory="32MiB"):
        assert isinstance(permuted_tensor(rough), TiledTensor)


@pytest.mark.parametrize("number", [2, 3])
def test_moments_are_those_of_all_permutations(number):
    n, kernels = 5, (RBF(1.0), Energy(), Linear())[:number]
    samples = drawn(n, (1, 2, 1)[:number])
    evidence = JointEvidence(variables(kernels, samples, ("x1", "x2", "x3")))
    grams = [k(x) for k, x in zip(kernels, samples, strict=True)]
    every = list(itertools.permutations(range(n)))
    values = [
        distance([grams[0], *(turned(k, p) for k, p in zip(grams[1:], orders, strict=True))])
        for orders in itertools.product(every, repeat=number - 1)
    ]
    observed, mean, variance = evidence.moments()
    assert_allclose([observed, mean, variance], [values[0], np.mean(values), np.var(values)])


def test_moments_have_the_leading_terms_of_the_paper():
    """Pfister et al. (2018), with k(x, x) = 1: mean and variance to order 1/n and 1/n^2."""
    samples = drawn(400, (1, 1, 1))
    kernels = [RBF(1.0)] * 3
    evidence = JointEvidence(variables(kernels, samples, ("x1", "x2", "x3")))
    grams = [k(x) for k, x in zip(kernels, samples, strict=True)]
    n, d = 400, 3
    a = np.array([k.mean() for k in grams])
    b = np.array([(k**2).mean() for k in grams])
    c = np.array([(k.mean(axis=0) ** 2).mean() for k in grams])
    others = [np.delete(np.arange(d), j) for j in range(d)]
    mean = (1 - sum(np.prod(a[o]) for o in others) + (d - 1) * np.prod(a)) / n
    terms = np.prod(b) + (d - 1) ** 2 * np.prod(a) ** 2 + 2 * (d - 1) * np.prod(c)
    for j, o in enumerate(others):
        terms += b[j] * np.prod(a[o]) ** 2 - 2 * b[j] * np.prod(c[o])
        terms -= 2 * (d - 1) * c[j] * np.prod(a[o]) ** 2
        terms += sum(c[j] * c[r] * np.prod(np.delete(a, (j, r))) ** 2 for r in o)
    _, got_mean, got_variance = evidence.moments()
    assert_allclose(got_mean, mean, rtol=0.02)
    assert_allclose(got_variance, 2 * terms / n**2, rtol=0.06)


@every_kernels
def test_the_projected_matrix_is_made_of_features(kernels):
    """<F_i, F_j> from tensors of dense factors; its mean is dHSIC."""
    samples = drawn(12)
    evidence = JointEvidence(variables(kernels, samples, ("x1", "x2", "x3")))
    a, b, c = (_root(k(x)) for k, x in zip(kernels, samples, strict=True))
    means = [f.mean(axis=0) for f in (a, b, c)]
    whole = np.einsum("ir,is,it->irst", a, b, c) + 2 * np.einsum("r,s,t->rst", *means)
    whole -= np.einsum("ir,s,t->irst", a, means[1], means[2])
    whole -= np.einsum("is,r,t->irst", b, means[0], means[2])
    whole -= np.einsum("it,r,s->irst", c, means[0], means[1])
    flat = whole.reshape(12, -1)
    got = evidence._projected.dense()
    assert_allclose(got, flat @ flat.T, atol=1e-8 * np.max(np.abs(got)))
    assert_allclose(got.mean(), evidence.observed, rtol=1e-8)


def _root(k):
    values, vectors = np.linalg.eigh(k)
    return vectors * np.sqrt(np.maximum(values, 0))


def test_two_variables_are_hsic():
    x, y, _ = drawn(60)
    for null in (Permutation(199), Gamma(), Spectrum(999), WildBootstrap(199, block=5)):
        ours, theirs = DHSIC(null=null).test(x, y, rng=3), HSIC(null=null).test(x, y, rng=3)
        assert_allclose(ours.statistic, theirs.statistic, rtol=1e-12)  # other sums, other rounding
        assert_allclose(ours.pvalue, theirs.pvalue, rtol=1e-10)
    assert_allclose(DHSIC().statistic(x, y), dhsic(None, (x, y)), rtol=1e-10)
    joint = JointEvidence(variables((None, None), (x, y), ("x1", "x2")))
    assert_allclose(joint.observed, HSIC().statistic(x, y), rtol=1e-10)
    assert_allclose(joint.moments(), HSICEvidence.of(*variables((None,) * 2, (x, y))).moments())
    assert DHSIC(null=Bootstrap(199)).test(x, y, rng=0).pvalue <= 1


def test_the_statistic_is_the_measure():
    samples = drawn(50, (1, 3, 2))
    assert_allclose(DHSIC().statistic(*samples), dhsic(None, samples), rtol=1e-10)
    four = [*samples, samples[0] ** 2]
    assert_allclose(DHSIC().test(*four, rng=0).statistic, dhsic(None, four), rtol=1e-10)


def test_nulls_agree_on_quantiles():
    """Of 500 observations: gamma, spectrum, bootstrap and signs against 1,000 permutations."""
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(500, 1)), rng.normal(size=(500, 2)), rng.normal(size=(500, 1))
    evidence = JointEvidence(variables((None,) * 3, samples, ("x1", "x2", "x3")))
    draws = Permutation(999).judge(evidence, 0).draws
    law = Gamma().judge(evidence).law
    for level in (0.5, 0.9, 0.99):
        want = np.quantile(draws, level)
        density = np.mean(np.abs(draws - want) < 0.1 * draws.std()) / (0.2 * draws.std())
        error = np.sqrt(level * (1 - level) / 1000) / max(density, 1e-300)
        assert abs(law.ppf(level) - want) < 4 * error
        others = (Spectrum(4999), Bootstrap(499), WildBootstrap(999))
        for null in others:
            got = np.quantile(null.judge(evidence, 1).draws, level)
            assert abs(got - want) < 0.15 * want, null


def test_draws_do_not_depend_on_chunks_and_threads():
    samples = drawn(200)
    for null in (Permutation(150), Bootstrap(150)):
        want = DHSIC(null=null).test(*samples, rng=5)
        with mercer.config(memory="16MiB", threads=1):
            got = DHSIC(null=null).test(*samples, rng=5)
        assert_allclose(got.null, want.null, rtol=1e-9)
    early = DHSIC(null=Permutation(999, stop_early=True)).test(*drawn(40, seed=9)[:2], rng=0)
    assert 0 < early.pvalue <= 1


def test_blocks_are_kept():
    """Within two groups the variables are independent; their means differ by the group."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 60)
    x, y, z = rng.normal(size=(3, 120)) + 3 * group
    assert DHSIC(null=Permutation(199)).test(x, y, z, rng=0).pvalue == 0.005
    within = Permutation(199, blocks=group)
    assert DHSIC(null=within).test(x, y, z, rng=0).pvalue > 0.05
    with pytest.raises(ValueError, match="paired permutations swap"):
        DHSIC(null=Permutation(9, paired=True)).test(x, y, z)


# ---- what is seen -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "test",
    [DHSIC(null=n) for n in (Permutation(199), Bootstrap(199), Gamma(), Spectrum(999))]
    + [Lancaster(null=n) for n in (Permutation(199), Gamma(), Spectrum(999))],
    ids=repr,
)
def test_three_that_are_independent_in_pairs(test):
    samples = parity(np.random.default_rng(1), 150)
    assert test.test(*samples, rng=0).pvalue <= 0.01
    for pair in itertools.combinations(samples, 2):
        assert HSIC(null=Permutation(199)).test(*pair, rng=0).pvalue > 0.01


def test_kernels_that_miss_dependences_are_told():
    samples = drawn(40, (1, 1, 1))
    assert DHSIC(null=Permutation(19)).test(*samples, rng=0).notes == ()
    blind = DHSIC((RBF(1.0), Linear(), None), null=Permutation(19)).test(*samples, rng=0)
    assert "The kernel of x2 is not characteristic" in blind.notes[0]
    some = DHSIC((Energy(), Energy(), Energy()), null=Permutation(19)).test(*samples, rng=0)
    assert "which is not enough for 3 variables" in some.notes[0]
    assert some.notes[0] in some.summary()
    assert HSIC(Energy(), Linear(), null=Permutation(19)).test(*samples[:2], rng=0).notes == (
        "The kernel of y is not characteristic: there are dependences that this test cannot detect, "
        "however many observations there are.",
    )
    both = HSIC(Linear(), Linear(), null=Permutation(19)).test(*samples[:2], rng=0)
    assert both.notes[0].startswith("The kernels of x and y are not characteristic")
    assert HSIC(null=Permutation(19)).test(*samples[:2], rng=0).notes == ()
    two = DHSIC((Energy(), Energy()), null=Permutation(19)).test(*samples[:2], rng=0)
    assert two.notes == ()
    unknown = RBF(1.0).transformed(np.sin)
    result = Lancaster((unknown, None, None), null=Permutation(19)).test(*samples, rng=0)
    assert "not known whether" in result.notes[0]


@pytest.mark.parametrize(
    ("kernels", "want"),
    [
        ((RBF(1.0), Matern(1.0), Laplace(1.0)), True),
        ((RBF(1.0), Delta(), RBF(1.0)), True),
        ((Energy(), Energy()), True),
        ((Energy(), Energy(), RBF(1.0)), None),
        ((RBF(1.0), Linear()), False),
        ((RBF(1.0), RBF(1.0), Linear()), False),
    ],
    ids=str,
)
def test_i_characteristic(kernels, want):
    assert i_characteristic(kernels) is want


# ---- what comes in ------------------------------------------------------------------------


def test_frames_strings_and_torch():
    pd = pytest.importorskip("pandas")
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    x, y, z = parity(rng, 80)
    frames = pd.DataFrame({"a": x}), pd.DataFrame({"b": np.where(y > 0, "u", "d")}), pd.Series(z)
    for test in (DHSIC(null=Permutation(99)), Lancaster(null=Permutation(99))):
        assert test.test(*frames, rng=0).pvalue <= 0.05
        want = test.test(x, y, z, rng=0)
        got = test.test(*(torch.tensor(v) for v in (x, y, z)), rng=0)
        assert_allclose(got.statistic, want.statistic, rtol=1e-9)
        assert got.pvalue == want.pvalue
        single = test.test(*(v.astype(np.float32) for v in (x, y, z)), rng=0)
        assert_allclose(single.statistic, want.statistic, rtol=1e-4)


# ---- refusals -----------------------------------------------------------------------------


def test_refusals_say_what_was_needed():
    x = np.arange(12.0)
    with pytest.raises(ValueError, match="at least 2 variables, got 1"):
        DHSIC().test(x)
    with pytest.raises(ValueError, match="kernels must have one entry per variable, 3, got 2"):
        DHSIC((None, None)).test(x, x, x)
    with pytest.raises(TypeError, match=r"kernels\[1\] must be a kernel"):
        DHSIC((None, "rbf"))
    with pytest.raises(TypeError, match="kernels must be a sequence"):
        DHSIC(RBF(1.0))
    with pytest.raises(ValueError, match="x3 has NaN"):
        DHSIC().test(x, x, x * np.nan)
    with pytest.raises(ValueError, match="x1, x2 and x3 must have the same number"):
        DHSIC().test(x, x, x[:5])
    with pytest.raises(ValueError, match="kernels must be three, one for each variable, got 2"):
        Lancaster((None, None))
    with pytest.raises(TypeError, match="total must be True or False"):
        Lancaster(total=1)
    with pytest.raises(TypeError, match="null must be a null"):
        Lancaster(null="gamma")
    with pytest.raises(NoRule, match="Bootstrap.. cannot be used with this test"):
        HSIC(null=Bootstrap(9)).test(x, x, rng=0)
    with pytest.raises(NoRule, match="Bootstrap.. cannot be used with this test"):
        MMD(null=Bootstrap(9)).test(x, x, rng=0)
    with pytest.raises(ValueError, match="resamples must be a whole number"):
        Bootstrap(0)


def test_configurations_compare_and_are_reusable():
    assert DHSIC([RBF(1.0), None]) == DHSIC((RBF(1.0), None))
    assert hash(Lancaster()) == hash(Lancaster(kernels=None))
    assert replace(DHSIC(), null=Gamma()).null == Gamma()


@pytest.mark.parametrize(
    "test",
    [
        DHSIC([Laplace(0.5)] * 3, null=Permutation(2)),
        DHSIC([Laplace(0.5)] * 3, null=Bootstrap(2)),
        DHSIC([Laplace(0.5)] * 3, null=WildBootstrap(9, block=None)),
        Lancaster([Laplace(0.5)] * 3, null=WildBootstrap(9, block=None)),
        Lancaster([Laplace(0.5)] * 3, total=True, null=Permutation(2)),
        ShiftHSIC(Laplace(0.5), Laplace(0.5)),
    ],
    ids=["permuted", "bootstrap", "signs", "interaction", "total", "shifts"],
)
def test_no_matrix_is_held(test):
    """Three matrices of 2,000 observations are 96 MB, the budget is 16 MiB."""
    samples = np.random.default_rng(0).normal(size=(3, 2000))[: 2 if "Shift" in repr(test) else 3]
    with mercer.config(memory="16MiB", threads=1):
        tracemalloc.start()
        test.test(*samples, rng=0)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 2 * 16 * 2**20
