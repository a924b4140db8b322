"""SplitKCI, LocalPermutation and CRT: statistics by hand, exact nulls, what is drawn, power and level."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.errors import MemoryBudgetError
from mercer.htest import (
    CRT,
    EmbeddingDraws,
    GaussianResiduals,
    LocalPermutation,
    Permutation,
    SplitKCI,
    WildBootstrap,
)
from mercer.htest.conditional.feature_ridge import (
    CholeskyFeatures,
    Regressors,
    RidgeFit,
    product_statistic,
    regressors,
)
from mercer.htest.conditional.local_permutation import restricted_permutation, within_groups
from mercer.htest.conditional.split_kci import _twice
from mercer.kernels import RBF
from mercer.rkhs.paired_samples import variables
from tests.support import htest_given

TESTS = [
    SplitKCI(null=WildBootstrap(99)),
    LocalPermutation(resamples=99),
    CRT(resamples=99),
    CRT(EmbeddingDraws(), resamples=99),
]
every_test = pytest.mark.parametrize("test", TESTS, ids=["SplitKCI", "local", "CRT", "embedding"])


def additive(n, d, seed, effect=0.0):
    """x and y have the same sum over the columns of z as their signal."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, d))
    x = z.mean(axis=1) * np.sqrt(d) + 0.5 * rng.normal(size=n)
    y = z.mean(axis=1) * np.sqrt(d) + 0.5 * rng.normal(size=n) + effect * x
    return x, y, z


@every_test
def test_a_direct_effect_is_seen_and_a_common_cause_is_not(test):
    direct = htest_given.direct(np.random.default_rng(0), (200,))
    assert test.test(*direct, rng=0).pvalue == 0.01
    assert test.test(*direct, rng=0).pvalue == test.test(*direct, rng=0).pvalue
    nulls = [
        test.test(
            *htest_given.post_nonlinear(htest_given.mean, 1)(np.random.default_rng(s), (100,)),
            rng=s,
        )
        for s in range(12)
    ]
    assert sum(result.rejects(0.05) for result in nulls) <= 3


@pytest.mark.parametrize("test", TESTS[:3], ids=["SplitKCI", "local", "CRT"])
def test_ten_columns_that_all_matter(test):
    """KCI rejected 62% of these at level 0.05: no regression predicts features of x from ten columns."""
    rejected = [test.test(*additive(150, 10, seed), rng=seed).rejects(0.05) for seed in range(12)]
    assert sum(rejected) <= 3
    assert test.test(*additive(150, 10, 0, effect=1.0), rng=0).rejects(0.05)


def test_split_statistic_by_hand():
    """Pairs of residuals by regressions that were fitted on the two other parts."""
    x, y, z = additive(60, 2, 0)
    kernels = (RBF(1.0), RBF(2.0), RBF(1.5))
    test = SplitKCI(*kernels)
    observed = variables(kernels, (x, y, z))
    parts = np.array_split(np.random.default_rng(0).permutation(60), 3)
    on_z = regressors(observed[2])
    total = (
        1
        + CholeskyFeatures.of(observed[2], 20).values
        @ CholeskyFeatures.of(observed[2], 20).values.T
    )
    for variable in observed[:2]:
        values = CholeskyFeatures.of(variable, 50).values
        product = np.empty((60, 60))
        kept = []
        for ahead in (1, 2):
            rest = values.copy()
            for k, rows in enumerate(parts):
                fit = RidgeFit.of(on_z.rows(parts[(k + ahead) % 3]), values[parts[(k + ahead) % 3]])
                rest[rows] -= fit(on_z.rows(rows))
            kept.append(rest)
        product = kept[0] @ kept[1].T
        total = total * (product + product.T) / 2
        assert_allclose(_twice(values, on_z, parts)[0], kept[0])
    off = ~np.eye(60, dtype=bool)
    assert_allclose(test.statistic(x, y, z), total[off].mean(), rtol=1e-10)


def test_features_are_those_of_the_kernel_also_elsewhere():
    x = np.random.default_rng(0).normal(size=(80, 2))
    (variable,) = variables((RBF(1.0),), (x,))
    features = CholeskyFeatures.of(variable, 80)
    assert_allclose(features.values @ features.values.T, RBF(1.0)(x), atol=1e-4)
    new = np.random.default_rng(1).normal(size=(5, 2))
    assert_allclose(features.at(new) @ features.values.T, RBF(1.0)(new, x), atol=0.02)
    assert_allclose(features.at(x), features.values, atol=1e-6)


def test_ridge_regression_by_the_normal_equations():
    rng = np.random.default_rng(0)
    z, targets = rng.normal(size=(50, 4)), rng.normal(size=(50, 2))
    fit = RidgeFit.of(Regressors(z, (4,)), targets)
    zc, tc = z - z.mean(axis=0), targets - targets.mean(axis=0)
    ridges = 10.0 ** np.arange(-8.0, 1.01, 0.5) * np.linalg.norm(zc, 2) ** 2
    fits = [np.linalg.solve(zc.T @ zc + r * np.eye(4), zc.T @ tc) for r in ridges]
    degrees = [np.trace(zc @ np.linalg.solve(zc.T @ zc + r * np.eye(4), zc.T)) for r in ridges]
    gcv = [
        np.sum((tc - zc @ c) ** 2) / (1 - d / 50) ** 2 for c, d in zip(fits, degrees, strict=True)
    ]
    assert_allclose(fit.coefficients, fits[int(np.argmin(gcv))], rtol=1e-8)
    assert_allclose(fit.degrees, degrees[int(np.argmin(gcv))], rtol=1e-8)


def test_product_statistic_is_a_sum_over_pairs():
    rng = np.random.default_rng(0)
    x, y, w = (rng.normal(size=(30, k)) for k in (3, 2, 4))
    assert_allclose(product_statistic(x, y, w), np.mean((x @ x.T) * (y @ y.T) * (w @ w.T)))


def test_permutations_stay_within_equal_z():
    """The exact null: every permutation within groups, each as often as the others."""
    groups = np.array([0, 1, 0, 2, 1, 0])
    rng = np.random.default_rng(0)
    drawn = [tuple(within_groups(groups, rng)) for _ in range(3000)]
    assert all((groups[list(p)] == groups).all() and sorted(p) == list(range(6)) for p in drawn)
    counts = np.unique(drawn, axis=0, return_counts=True)[1]
    assert len(counts) == 12  # 3! 2! 1!
    assert counts.min() > 180
    x, y, z = htest_given.classes(np.random.default_rng(0), (100,))
    assert "the same z, which has 5 values" in LocalPermutation(resamples=9).test(x, y, z).notes[0]


def test_neighbours_are_exchanged_without_repetition_where_possible():
    near = np.array([[0, 1], [1, 0], [2, 3], [3, 2]])
    for seed in range(20):
        assert sorted(restricted_permutation(near, np.random.default_rng(seed))) == [0, 1, 2, 3]
    result = LocalPermutation(resamples=9).test(*additive(60, 1, 0))
    assert "8 nearest neighbours in z" in result.notes[0]


def test_a_known_sampler_is_exact_whatever_the_regression_does():
    """x given z is known: the level holds although no regression finds sin(20 z)."""

    def sampler(z, rng):
        return np.sin(20 * z[:, 0]) + 0.3 * rng.normal(size=len(z))

    test = CRT(sampler, resamples=39)
    rejected = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=(80, 1))
        x = sampler(z, rng)
        y = np.sin(20 * z[:, 0]) + 0.3 * rng.normal(size=80)
        rejected += test.test(x, y, z, rng=seed).rejects(0.05)
    assert rejected <= 9
    assert test.test(x, y + x, z, rng=0).rejects(0.05)


def test_wrong_arguments():
    x, y, z = additive(60, 1, 0)
    with pytest.raises(TypeError, match="null must be WildBootstrap"):
        SplitKCI(null=Permutation(99))
    with pytest.raises(TypeError, match="null must be WildBootstrap"):
        SplitKCI(null=WildBootstrap(99, block=4))
    with pytest.raises(ValueError, match="neighbours must be a whole number of at least 2"):
        LocalPermutation(neighbours=1)
    with pytest.raises(TypeError, match="generator must be GaussianResiduals"):
        CRT(3.0)
    with pytest.raises(ValueError, match="draws of x must be 60, one for each z, got 1"):
        CRT(lambda z, rng: np.zeros(1)).test(x, y, z)
    with pytest.raises(
        ValueError, match=r"a column has 2 different values: use CRT\(EmbeddingDraws"
    ):
        CRT(GaussianResiduals()).test((x > 0).astype(float), y, z)
    with pytest.raises(ValueError, match="need at least 12 observations"):
        SplitKCI().test(x[:11], y[:11], z[:11])
    with mercer.config(memory=2**24), pytest.raises(MemoryBudgetError, match="use RCoT"):
        SplitKCI().test(*additive(800, 1, 0))
