"""The finite set independence criterion: plain formulas, permutations, degrees of freedom, level."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

import mercer
from mercer.errors import MemoryBudgetError, NoRule
from mercer.htest import NFSIC, Chi2, Gamma, Permutation
from mercer.htest.dependence.fsic import FeatureCovariances, FSICEvidence
from mercer.htest.dependence.sums.cyclic_permutations import CyclicPermutations, permutations
from mercer.kernels import RBF, Cauchy, Delta, Laplace, Linear
from tests.support.arrays import torch
from tests.support.htest_pairs import coins, discrete, normal, rejecting, rejections, squares
from tests.support.sequential_level import assert_level

KERNELS = [RBF(1.5), Cauchy(2.0), Laplace(1.0), RBF(1.0) + Linear()]


@pytest.fixture
def observed():
    return squares(90)


@pytest.fixture
def places():
    rng = np.random.default_rng(1)
    return rng.normal(size=(4, 3)), rng.normal(1.0, 1.0, size=(4, 2))


def plain(kernels, x, y, places, ridge=0.0):
    """The paper's estimates, term by term."""
    k, l_ = (kernel(z, v) for kernel, z, v in zip(kernels, (x, y), places, strict=True))
    n = len(k)
    u = n / (n - 1) * ((k * l_).mean(axis=0) - k.mean(axis=0) * l_.mean(axis=0))
    g = (k - k.mean(axis=0)) * (l_ - l_.mean(axis=0))
    s = np.cov(g.T, bias=True) + ridge * np.eye(len(u))
    return n * u @ np.linalg.solve(s, u)


# ---- the number ---------------------------------------------------------------------------------


@pytest.mark.parametrize("ridge", [0.0, 0.01])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_statistic_is_the_plain_formula(kernel, ridge, observed, places):
    kernels = (kernel, RBF(0.8))
    test = NFSIC(*kernels, locations=places, ridge=ridge)
    assert_allclose(test.statistic(*observed), plain(kernels, *observed, places, ridge), rtol=1e-6)


@pytest.mark.parametrize("locations", [4, None])
def test_order_and_roles_do_not_matter(locations, observed, places):
    x, y = observed
    order = np.random.default_rng(3).permutation(len(x))
    test = NFSIC(RBF(1.5), RBF(0.8), locations=locations or places)
    assert_allclose(test.statistic(x[order], y[order]), test.statistic(x, y), rtol=1e-8)
    if locations is None:
        other = NFSIC(RBF(0.8), RBF(1.5), locations=places[::-1])
        assert_allclose(other.statistic(y, x), test.statistic(x, y), rtol=1e-8)


def test_units_do_not_matter(observed):
    x, y = observed
    expected = NFSIC().test(x, y, rng=0)
    moved = NFSIC().test(1e-3 * x + 7, 1e4 * y - 1e3, rng=0)
    assert_allclose(moved.statistic, expected.statistic, rtol=1e-6)
    assert_allclose(moved.pvalue, expected.pvalue)


def test_drawn_locations_are_pairs_of_points(observed):
    x, y = observed
    v, w = NFSIC(locations=30).test(x, y, rng=0).test.locations
    at = [np.flatnonzero(np.isclose(x, point).all(axis=1)) for point in v]
    assert all(len(rows) == 1 for rows in at)
    together = [np.isclose(y[rows[0]], point).all() for rows, point in zip(at, w, strict=True)]
    assert 0 <= np.mean(together) < 0.3  # not those that were observed together
    assert abs(np.corrcoef(v[:, 0], w[:, 0])[0, 1]) < 0.7  # nor in the same order


def test_the_result_repeats_itself(observed):
    result = NFSIC(locations=3).test(*observed, rng=5)
    again = result.test.test(*observed, rng=5)
    assert_allclose(again.statistic, result.statistic)
    assert result.test == result.test.__class__(
        result.test.kernel_x, result.test.kernel_y, locations=result.test.locations
    )
    assert hash(result.test) == hash(again.test)
    assert result.test != NFSIC(locations=3)
    assert "locations=(<array 3 x 3>" not in repr(NFSIC(locations=3))
    assert "[[" in repr(result.test)


def test_tensors_are_taken(observed, places):
    test = NFSIC(RBF(1.5), RBF(0.8), locations=places)
    tensors = [torch.tensor(z) for z in observed]
    assert_allclose(test.statistic(*tensors), test.statistic(*observed), rtol=1e-8)
    drawn = NFSIC().test(*tensors, rng=0)
    assert all(isinstance(part, np.ndarray) for part in drawn.test.locations)
    assert_allclose(drawn.pvalue, NFSIC().test(*observed, rng=0).pvalue)


def test_objects_have_locations_too():
    words = ["a", "b", "c", "a", "b"] * 30
    result = NFSIC(Delta(), Delta(), locations=3).test(words, words, rng=0)
    assert result.rejects(0.01)
    rng = np.random.default_rng(0)
    other = [str(w) for w in rng.permutation(words)]
    assert not NFSIC(Delta(), Delta(), locations=3).test(words, other, rng=0).rejects(0.01)


def test_frames_keep_their_columns():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"a": rng.normal(size=600), "b": 1000 * rng.normal(size=600)})
    y = pd.DataFrame({"c": x["a"] ** 2 + rng.normal(size=600), "d": rng.choice(["u", "v"], 600)})
    result = NFSIC().test(x, y, rng=0)
    assert result.rejects(0.01)
    again = result.test.test(x[["b", "a"]][["a", "b"]], y, rng=0)
    assert_allclose(again.statistic, result.statistic, rtol=1e-8)


# ---- degrees of freedom -------------------------------------------------------------------------


def test_equal_locations_count_once(observed, places):
    twice = tuple(np.repeat(part, 2, axis=0) for part in places)
    once = NFSIC(RBF(1.5), RBF(0.8), locations=places)
    double = NFSIC(RBF(1.5), RBF(0.8), locations=twice)
    assert_allclose(double.statistic(*observed), once.statistic(*observed), rtol=1e-6)
    k, l_ = RBF(1.5)(observed[0], twice[0]), RBF(0.8)(observed[1], twice[1])
    assert FSICEvidence(k, l_, 0.0).degrees == 4


def test_coins_have_one_degree():
    rng = np.random.default_rng(0)
    x, y = coins(rng, 600)
    result = NFSIC().test(x, y, rng=0)
    assert result.law.args == (1,)
    # one number is left, the correlation of two coins; its null variance is the observed one here
    g = (x - x.mean()) * (y - y.mean())
    expected = 600 * (600 / 599 * g.mean()) ** 2 / g.var()
    assert_allclose(result.statistic, expected, rtol=1e-6)


def test_equal_coins_are_dependent():
    x = np.repeat([0.0, 1.0], 50)
    assert NFSIC().test(x, x, rng=0).pvalue == 0.001
    assert NFSIC(null=Permutation(99)).test(x, 1 - x, rng=0).pvalue == 0.01


def test_rounding_of_constant_directions_does_not_matter():
    """u = (3, 1, 1), S = diag(2, 1, 0), both rotated, and S off by what sums of float64 leave."""
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    evidence = FSICEvidence(rng.standard_normal((50, 3)), rng.standard_normal((50, 3)), 0.0)
    s = rotation * np.array([2.0, 1.0, 0.0]) @ rotation.T + 3e-15 * rng.standard_normal((9, 3, 3))
    u = np.tile(rotation @ [3.0, 1.0, 1.0], (9, 1))
    values = evidence._values(FeatureCovariances(u, (s + s.transpose(0, 2, 1)) / 2))
    r = evidence.ridge
    expected = 50 * (50 / 49) ** 2 * (9 / (2 + r) + 1 / (1 + r) + 1 / r)
    assert_allclose(values, expected, rtol=1e-12)


def test_features_that_do_not_vary_say_nothing(observed):
    far = np.full((2, 3), 1e6), np.zeros((2, 2))
    result = NFSIC(RBF(1.0), RBF(1.0), locations=far).test(*observed, rng=0)
    assert result.statistic == 0
    assert result.pvalue == 1


# ---- nulls --------------------------------------------------------------------------------------


def test_many_observations_have_a_chi_square(places):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(500, 3)), rng.normal(size=(500, 2))
    result = NFSIC(RBF(1.5), RBF(0.8), locations=places).test(x, y)
    assert_allclose(result.pvalue, chi2.sf(result.statistic, 4), rtol=1e-10)
    assert "at least 500 observations." in result.notes[0]
    small = NFSIC(RBF(1.5), RBF(0.8), locations=places).test(x[:499], y[:499], rng=0)
    assert len(small.null) == 999
    assert "fewer than 500 observations." in small.notes[0]
    assert len(NFSIC(locations=10).test(x, y, rng=0).null) == 999  # 1,000 for ten locations


def test_the_chi_square_warns_when_there_are_few(observed):
    x, y = (np.concatenate([v, v + 0.1]) for v in observed)
    with pytest.warns(UserWarning, match="holds from about 500 observations on, and here 1"):
        NFSIC(null=Chi2()).test(x, y, rng=0)


def test_the_chi_square_is_refused_when_there_are_very_few(observed):
    with pytest.raises(ValueError, match="needs at least 100 observations, got 90: with fewer"):
        NFSIC(null=Chi2()).test(*observed, rng=0)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("blocks", [None, tuple(np.arange(90) % 4)])
def test_permuted_statistics_are_those_of_permuted_data(ridge, blocks, observed, places):
    x, y = observed
    null = Permutation(40, blocks=blocks)
    test = NFSIC(RBF(1.5), RBF(0.8), locations=places, ridge=ridge)
    evidence = FSICEvidence(RBF(1.5)(x, places[0]), RBF(0.8)(y, places[1]), ridge)
    (order,) = permutations(90, null, slice(0, 41), 7)
    if blocks is None:
        order = CyclicPermutations(90, null, 7).orders(slice(0, 41))
    naive = [test.statistic(x, y[row]) for row in order]
    assert_allclose(evidence.permuted(null, slice(0, 41), 7), naive, rtol=1e-6)
    later = evidence.permuted(null, slice(13, 30), 7)  # those after column 30 too, without blocks
    assert len(later) == (28 if blocks is None else 17)
    assert_allclose(later, naive[13 : 13 + len(later)], rtol=1e-6)


def test_large_tiles_and_small_ones_agree(monkeypatch):
    rng = np.random.default_rng(0)
    k, l_ = rng.normal(size=(3000, 5)), rng.normal(size=(3000, 5))
    null = Permutation(20, blocks=(0,) * 3000)
    expected = FSICEvidence(k, l_, 0.0).permuted(null, slice(0, 21), 1)
    monkeypatch.setattr("mercer.htest.dependence.fsic._TILE_NUMBERS", 1000)
    small = FSICEvidence(k, l_, 0.0).permuted(null, slice(0, 21), 1)
    assert_allclose(small, expected, rtol=1e-8)
    assert_allclose(expected[0], FSICEvidence(k, l_, 0.0).observed, rtol=1e-10)


def test_blocks_of_all_observations_are_none():
    """Two ways of drawing permutations, one by one and in turns: p-values agree but for chance."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=120)
    y = 0.15 * x + rng.normal(size=120)
    test = NFSIC(RBF(1.0), RBF(1.0), locations=([0.0, 1.0], [0.0, 1.0]))
    turns = replace(test, null=Permutation(4999)).test(x, y, rng=0)
    blocks = replace(test, null=Permutation(4999, blocks=(0,) * 120)).test(x, y, rng=0)
    error = 4 * (2 * turns.pvalue * (1 - turns.pvalue) / 5000) ** 0.5
    assert_allclose(turns.pvalue, blocks.pvalue, atol=error)


def test_ties_count_as_reached():
    """Of coins few statistics are possible; those equal to the observed one are all counted."""
    rng = np.random.default_rng(1)
    x, y = coins(rng, 30)
    result = NFSIC(null=Permutation(999)).test(x, y, rng=0)
    table = np.abs((x - x.mean()).T @ (y - y.mean()))[0, 0]
    draws = [np.abs((x - x.mean()).T @ rng.permutation(y))[0, 0] for _ in range(4000)]
    exact = np.mean(np.array(draws) >= table - 1e-9)
    assert_allclose(result.pvalue, exact, atol=0.06)


def test_other_nulls_are_refused(observed):
    with (
        pytest.warns(UserWarning, match="Gamma"),
        pytest.raises(NoRule, match="provides no moments"),
    ):
        NFSIC(null=Gamma()).test(*observed)
    with pytest.raises(ValueError, match="leave paired=False"):
        NFSIC(null=Permutation(9, paired=True)).test(*observed)


# ---- what cannot be -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NFSIC("rbf"), "kernel_x must be a kernel"),
        (lambda: NFSIC(None, 2.0), "kernel_y must be a kernel"),
        (lambda: NFSIC(locations=0), "locations must be a whole number of at least 1, got 0"),
        (lambda: NFSIC(locations="five"), "locations must be a whole number"),
        (lambda: NFSIC(locations=np.zeros((3, 2))), "a pair of points, .* got ndarray"),
        (lambda: NFSIC(locations=(np.zeros((3, 2)),)), "a pair of points"),
        (lambda: NFSIC(locations=([[0.0], [1.0]], [[0.0]])), "as many in x as in y, got 2 and 1"),
        (lambda: NFSIC(locations=([[np.nan]], [[0.0]])), r"locations\[0\]"),
        (lambda: NFSIC(ridge=-1.0), "ridge must be a non-negative number"),
        (lambda: NFSIC(null=0.05), "null must be a null"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_variables_must_fit(observed, places):
    x, y = observed
    with pytest.raises(ValueError, match="x and y must have the same number of observations"):
        NFSIC().test(x, y[1:])
    with pytest.raises(ValueError, match="x and y need at least 4 observations, got 3"):
        NFSIC().test(x[:3], y[:3])
    with pytest.raises(ValueError, match=r"locations\[1\]"):
        NFSIC(RBF(1.0), RBF(1.0), locations=(places[0], places[0])).test(x, y)
    with pytest.raises(ValueError, match="all points of y are equal"):
        NFSIC().test(x, np.zeros(90))


def test_how_many_observations_are_near():
    """Of indicators of shares p and q of the observations: n p(1-p) q(1-q) / (1-3p(1-p)) (1-3q(1-q))."""
    n, p, q = 1000, 0.2, 0.05
    k, l_ = ((np.arange(n) < share * n).astype(float)[:, None] for share in (p, q))
    heavy = [(1 - 3 * s * (1 - s)) / (s * (1 - s)) for s in (p, q)]
    assert_allclose(FSICEvidence(k, l_, 0.0).effective_observations, n / (heavy[0] * heavy[1]))
    flat = np.hstack([l_, np.ones((n, 1))])  # what does not vary does not count
    assert_allclose(
        FSICEvidence(np.hstack([k, k]), flat, 1e-3).effective_observations,
        n / (heavy[0] * heavy[1]),
    )
    assert FSICEvidence(np.ones((n, 1)), np.ones((n, 1)), 1e-3).effective_observations == n


def test_narrow_kernels_are_judged_by_permutations():
    """With a tenth of the median width the chi-square rejects a third of true hypotheses."""
    narrow = NFSIC(RBF(0.1), RBF(0.1), locations=(np.linspace(-2, 2, 5), np.linspace(2, -2, 5)))
    rejected = 0
    for seed in range(60):
        x, y = np.random.default_rng(seed).normal(size=(2, 500))
        result = narrow.test(x, y, rng=seed)
        assert result.notes[0].startswith("Null: 999 permutations, because only about")
        rejected += result.rejects(0.05)
    assert rejected <= 8  # more in one of 500 cases
    with pytest.warns(UserWarning, match=r"Chi2\(\) is not valid here, because only about"):
        NFSIC(RBF(0.1), RBF(0.1), locations=narrow.locations, null=Chi2()).test(x, y)


def test_memory_is_counted_before_it_is_taken():
    x, y = np.random.default_rng(0).normal(size=(2, 300))
    with mercer.config(memory=2**24):
        with pytest.raises(MemoryBudgetError, match="fewer locations or permutations"):
            NFSIC(locations=60, null=Permutation(999)).test(x, y, rng=0)
        with pytest.raises(MemoryBudgetError, match="use fewer locations, or raise it"):
            NFSIC(locations=5000).test(x, y, rng=0)
        assert NFSIC(locations=10, null=Permutation(99)).test(x, y, rng=0).pvalue > 0.01


def test_what_does_not_vary_is_named():
    x, y = np.random.default_rng(0).normal(size=90), np.ones(90)
    with pytest.raises(ValueError, match="all points of y are equal; a constant is independent"):
        NFSIC.optimized(x, y, rng=0)
    with pytest.raises(TypeError, match="kernel_y must be a kernel, such as"):
        NFSIC.optimized(x, x, kernel_y="rbf", rng=0)


# ---- level, and memory --------------------------------------------------------------------------


@pytest.mark.parametrize("draw", [normal(1, 1), normal(5, 2), discrete, coins])
def test_level_quickly(draw):
    assert_level(rejecting(NFSIC(null=Permutation(39)), draw, 60))
    assert_level(rejecting(NFSIC(), draw, 500))


@pytest.mark.slow
@pytest.mark.parametrize("draw", [normal(1, 1), normal(5, 2), normal(50, 50), discrete, coins])
@pytest.mark.parametrize(("test", "n"), [(NFSIC(null=Permutation(199)), 100), (NFSIC(), 500)])
def test_level(test, n, draw):
    assert 0.0175 <= rejections(test, draw, 400, n) <= 0.09


def test_memory_is_linear():
    """A few arrays of n numbers for each location, whatever the number of permutations."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 20_000, 1))
    test = NFSIC(RBF(1.0), RBF(1.0), null=Permutation(200))
    test.test(x[:500], y[:500], rng=0)
    tracemalloc.start()
    test.test(x, y, rng=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60 * 2**20  # all pairs would take 3 GB
