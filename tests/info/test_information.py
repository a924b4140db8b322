"""Estimates of information: laws, known values, and faults of other packages that must not be ours."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import digamma
from scipy.stats import norm

from mercer import info
from mercer.errors import NoRule
from mercer.info import (
    KNN,
    KSG,
    CorrectedKSG,
    MixedKSG,
    PlugIn,
    conditional_entropy,
    cross_entropy,
    divergence,
    entropy,
    interaction_information,
    mutual_information,
    transfer_entropy,
)
from mercer.rkhs import Empirical, Gaussian


def pair(n, d, rho, rng):
    x = rng.standard_normal((n, d))
    return x, rho * x + np.sqrt(1 - rho**2) * rng.standard_normal((n, d))


def gaussian_information(d, rho):
    return -d / 2 * np.log(1 - rho**2)


# ---- entropies and divergences ----------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 5])
def test_entropy_moves_with_the_units(d):
    x = np.random.default_rng(d).standard_normal((300, d))
    scaled = entropy(1000 * x + 7)
    assert_allclose(scaled, entropy(x) + d * np.log(1000), atol=1e-9)


MEASURES = [info.Shannon(), info.Renyi(0.6), info.Tsallis(2.0), info.SharmaMittal(0.7, 1.5)]


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_errors_of_neighbours_shrink(measure):
    """At least like n^(-1/3); orders below one weigh the tails, where neighbours are far."""
    p = Gaussian([0.0, 1.0], [[1.0, 0.5], [0.5, 2.0]])
    errors = [
        np.mean(
            [abs(entropy(p.sample(n, rng=i), measure) - entropy(p, measure)) for i in range(12)]
        )
        for n in (150, 150 * 27)
    ]
    assert errors[1] < 1.3 * errors[0] / 3


@pytest.mark.parametrize(
    "measure",
    [info.KL(), info.Renyi(0.8), info.Hellinger(), info.Bhattacharyya(), info.Tsallis(1.2), info.L2()],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("sizes", [(2000, 400), (400, 2000)])
def test_divergences_of_samples_of_unequal_sizes(measure, sizes):
    """Others return -5.4 where 0.25 is true."""
    p, q = Gaussian(0.0, 1.0), Gaussian(0.7, 1.5)
    values = [
        divergence(p.sample(sizes[0], rng=i), q.sample(sizes[1], rng=99 + i), measure)
        for i in range(8)
    ]
    bias = 0.03  # distances are roots of estimates, and tails have few neighbours
    assert abs(np.mean(values) - divergence(p, q, measure)) < bias + 6 * np.std(values) / 8**0.5


def test_measures_of_density_ratios():
    p, q = Gaussian(0.0, 1.0), Gaussian(1.0, 1.0)
    x, y = p.sample(3000, rng=0), q.sample(2000, rng=1)
    grid = np.linspace(-8, 9, 4001)[:, None]
    f, g = np.exp(p.log_density(grid)), np.exp(q.log_density(grid))
    step = 17 / 4000
    expected = step * np.sum(f * np.log(2 * f / (f + g)))
    assert abs(divergence(x, y, info.K()) - expected) < 0.02
    mixture = 0.3 * f + 0.7 * g
    expected = step * np.sum(0.3 * f * np.log(f / mixture) + 0.7 * g * np.log(g / mixture))
    assert abs(divergence(x, y, info.JensenShannon(0.3)) - expected) < 0.02
    renyi = divergence(x, y, info.JensenRenyi(2.0, 0.3))
    assert abs(renyi - divergence(p, q, info.JensenRenyi(2.0, 0.3))) < 0.05
    total = divergence(x, y, info.FDivergence(lambda r: np.abs(r - 1) / 2))
    assert abs(total - (2 * norm.cdf(0.5) - 1)) < 0.03
    assert abs(entropy(x, info.Phi(lambda p: -np.log(p))) - entropy(p)) < 0.05


def test_cross_and_conditional_entropies_belong_to_entropies():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 200, 2))
    assert_allclose(cross_entropy(x, y), entropy(x) + divergence(x, y), rtol=1e-12)
    joint = np.hstack([x, y])
    assert_allclose(conditional_entropy(x, y), entropy(joint) - entropy(y), rtol=1e-12)


# ---- mutual information -----------------------------------------------------------------------


def test_ksg_counts_strictly_and_kind_two_subtracts_its_term():
    """By loops over all pairs, as the paper says it (Kraskov et al. 2004, equations 8 and 9)."""
    rng = np.random.default_rng(3)
    x, y = pair(40, 1, 0.7, rng)
    dx, dy = np.abs(x - x.T) / x.std(), np.abs(y - y.T) / y.std()
    joint, k, n = np.maximum(dx, dy), 3, len(x)
    first, second = [], []
    for i in range(n):
        nearest = np.argsort(joint[i])[1 : k + 1]
        radius = joint[i, nearest[-1]]
        inside = [sum(d[i, j] < radius for j in range(n) if j != i) for d in (dx, dy)]
        first.append(sum(digamma(m + 1) for m in inside))
        widths = [d[i, nearest].max() for d in (dx, dy)]
        inside = [sum(d[i, j] <= w for j in range(n) if j != i) for d, w in zip((dx, dy), widths, strict=True)]  # fmt: skip
        second.append(sum(digamma(m) for m in inside))
    expected = digamma(k) + digamma(n) - np.mean(first)
    assert_allclose(mutual_information(x, y, estimator=KSG(k)), expected, rtol=1e-9)
    assert_allclose(mutual_information(x, y, estimator=MixedKSG(k)), expected, rtol=1e-9)
    expected = digamma(k) - 1 / k + digamma(n) - np.mean(second)
    assert_allclose(mutual_information(x, y, estimator=KSG(k, kind=2)), expected, rtol=1e-9)


def test_conditional_ksg_is_the_mean_over_loops():
    """The formula of Frenzel and Pompe (2007) on standardized columns: in any units the same value."""
    rng = np.random.default_rng(5)
    x, y, z = (v[:, None] for v in rng.standard_normal((3, 40)))
    y, k, n = y + x + z, 3, 40
    dx, dy, dz = (np.abs(v - v.T) / v.std() for v in (x, y, z))
    joint = np.maximum(np.maximum(dx, dy), dz)
    terms = []
    for i in range(n):
        radius = np.sort(joint[i])[k]
        xz, yz, only_z = (
            sum(all(d[i, j] < radius for d in space) for j in range(n) if j != i)
            for space in ((dx, dz), (dy, dz), (dz,))
        )
        terms.append(digamma(k) - digamma(xz + 1) - digamma(yz + 1) + digamma(only_z + 1))
    units = mutual_information(x, 1000 * y, given=z / 7, estimator=KSG(k))
    assert_allclose(units, np.mean(terms), rtol=1e-9)
    source, target = rng.standard_normal((2, 41))
    assert_allclose(
        transfer_entropy(source, 1000 * target, lags=1, estimator=KSG(k)),
        mutual_information(target[1:], source[:-1], given=target[:-1], estimator=KSG(k)),
        rtol=1e-9,
    )


@pytest.mark.parametrize("estimator", [KSG(), KSG(kind=2), MixedKSG(), CorrectedKSG()], ids=repr)
def test_information_of_gaussians(estimator):
    rng = np.random.default_rng(0)
    for d, rho in ((1, 0.0), (1, 0.8), (2, 0.6)):
        values = [
            mutual_information(*pair(600, d, rho, rng), estimator=estimator) for _ in range(8)
        ]
        error = abs(np.mean(values) - gaussian_information(d, rho))
        assert error < 0.02 + 4 * np.std(values) / 8**0.5, (d, rho)


def test_default_keeps_information_in_ten_and_ten_dimensions():
    """KSG loses 0.8 of 1.44 nats (and more with 10 correlated pairs)."""
    x, y = pair(1500, 10, 0.5, np.random.default_rng(0))
    truth = gaussian_information(10, 0.5)
    assert mutual_information(x, y, estimator=KSG()) < truth / 2
    assert_allclose(mutual_information(np.exp(x), y**3), truth, atol=0.15)


@pytest.mark.parametrize("law", ["uniform", "exponential"])
def test_default_sees_the_information_of_pairs_that_are_not_gaussian(law):
    """Five pairs x_j, x_j + noise, where the correction that is right for Gaussians alone leaves 1.1 nats."""
    rng = np.random.default_rng(1)
    x = getattr(rng, law)(size=(1600, 5))
    if law == "uniform":
        noise, truth = rng.uniform(0, 0.5, (1600, 5)), 0.25 + np.log(2)
    else:
        noise, truth = rng.exponential(size=(1600, 5)), np.euler_gamma
    assert abs(mutual_information(x, x + noise) - 5 * truth) < 0.6


def test_default_adds_no_information_where_pairs_depend_on_each_other():
    """Three near copies of one number, and angles on a circle: what the pairs tell is told several times."""
    rng = np.random.default_rng(2)
    z, noise = rng.exponential(size=(2, 300))
    copies = [v[:, None] + 1e-3 * rng.normal(size=(300, 3)) for v in (z, z + noise)]
    assert abs(mutual_information(*copies) - np.euler_gamma) < 0.25
    angle = rng.uniform(0, 2 * np.pi, 1000)
    angles = angle, angle + rng.vonmises(0, 8, 1000)
    x, y = (np.stack([np.cos(a), np.sin(a)], axis=1) for a in angles)
    assert abs(mutual_information(x, y) - 1.424) < 0.15


def test_default_is_symmetric_and_knows_no_order_of_rows_and_no_signs():
    rng = np.random.default_rng(4)
    x = rng.exponential(size=(300, 3))
    y = x + rng.exponential(size=(300, 3))
    value, order = mutual_information(x, y), rng.permutation(300)
    for other in ((y, x), (x[order], y[order]), (-x, y), (x, -(y**3)), (-x, -y)):
        assert_allclose(mutual_information(*other), value, atol=1e-9)
    columns = [x[:, 0], x[:, 1], x[:, 0] + y[:, 0]]
    total = mutual_information(*columns)
    assert_allclose(mutual_information(*columns[::-1]), total, atol=1e-9)


def test_default_does_not_change_under_monotone_maps_and_rotations():
    rng = np.random.default_rng(1)
    x, y = pair(300, 1, 0.5, rng)
    assert_allclose(mutual_information(np.exp(x), y**3), mutual_information(x, y), atol=1e-12)
    assert_allclose(mutual_information(y, x), mutual_information(x, y), atol=0.02)
    unrelated = mutual_information(rng.standard_normal((800, 3)), rng.standard_normal((800, 2)))
    assert abs(unrelated) < 0.1


@pytest.mark.parametrize("estimator", [KSG(), MixedKSG(), CorrectedKSG()], ids=repr)
def test_information_of_one_column_and_twenty(estimator):
    """Distances of twenty columns exceed all of one column, unless they are made comparable: then nothing is left."""
    rng = np.random.default_rng(3)
    y = rng.standard_normal((400, 20))
    x = y[:, 0] ** 2 + 0.1 * rng.standard_normal(400)
    found = mutual_information(x, y, estimator=estimator)
    assert found > mutual_information(rng.permutation(x), y, estimator=estimator) + 0.05
    assert_allclose(mutual_information(y, x, estimator=estimator), found, atol=1e-9)


def test_information_given_twenty_columns():
    rng = np.random.default_rng(4)
    z = rng.standard_normal((400, 20))
    x, free = rng.standard_normal((2, 400))
    values = [mutual_information(x, y, given=z, estimator=KSG()) for y in (x + 0.1 * free, free)]
    assert values[0] > values[1] + 0.1


def test_several_variables_and_conditions():
    rng = np.random.default_rng(2)
    z = rng.standard_normal(1200)
    x, y = z + rng.standard_normal((2, 1200))
    assert_allclose(mutual_information(x, y, given=z), 0.0, atol=0.06)
    # log-determinants: total correlation of (x, y, z) with covariance [[2,1,1],[1,2,1],[1,1,1]]
    expected = np.log(2 * 2 * 1 / np.linalg.det([[2, 1, 1], [1, 2, 1], [1, 1, 1]])) / 2
    assert_allclose(mutual_information(x, y, z), expected, atol=0.1)
    redundant = interaction_information(x, y, z)
    assert_allclose(redundant, -np.log(4 / 3) / 2, atol=0.08)
    assert_allclose(interaction_information(z, x, y), redundant, atol=0.08)


def test_transfer_entropy_has_a_direction():
    rng = np.random.default_rng(4)
    x, noise = rng.standard_normal((2, 1500))
    y = np.zeros(1500)
    for t in range(2, 1500):
        y[t] = 0.5 * y[t - 1] + 0.8 * x[t - 2] + 0.6 * noise[t]
    truth = np.log(1 + 0.64 / 0.36) / 2
    assert_allclose(transfer_entropy(x, y, lags=[2, 1]), truth, atol=0.12)
    assert_allclose(transfer_entropy(y, x, lags=2), 0.0, atol=0.08)
    assert_allclose(transfer_entropy(x, y, lags=1), 0.0, atol=0.08)
    with pytest.raises(ValueError, match="lags must be a whole number of at least 1"):
        transfer_entropy(x, y, lags=0)
    with pytest.raises(ValueError, match="more observations than the largest lag, 9"):
        transfer_entropy(x[:9], y[:9], lags=9)


# ---- discrete and mixed data ------------------------------------------------------------------


def test_plug_in_is_the_sum_over_values():
    table = np.array([[3, 1, 2], [0, 4, 2]])
    x, y = (np.repeat(index.ravel(), table.ravel()) for index in np.indices(table.shape))
    p = table / table.sum()
    product = p.sum(axis=1)[:, None] * p.sum(axis=0)
    inside = p > 0
    expected = np.sum(p[inside] * np.log(p[inside] / product[inside]))
    assert_allclose(mutual_information(x, y, estimator=PlugIn()), expected, rtol=1e-12)
    chi2 = mutual_information(x, y, measure=info.Chi2(), estimator=PlugIn())
    assert_allclose(chi2, np.sum((p - product) ** 2 / product), rtol=1e-12)
    weights = np.arange(1.0, 13) / 78
    shares = np.bincount(x, weights)
    expected = -np.sum(shares * np.log(shares))
    assert_allclose(entropy(Empirical(x, weights), estimator=PlugIn()), expected, rtol=1e-12)
    assert divergence([0, 1], [2, 3], info.JensenShannon(), estimator=PlugIn()) == pytest.approx(
        np.log(2)
    )


@pytest.mark.parametrize(
    "correction",
    [info.MillerMadow(), info.Grassberger(), info.ChaoShen(), info.NSB(), info.NSB(30)],
)
def test_corrections_of_the_bias(correction):
    """NSB is not a number beyond 150 observations elsewhere."""
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.ones(30))
    truth = -np.sum(p * np.log(p))
    for n in (60, 20_000):
        samples = [rng.choice(30, n, p=p) for _ in range(8)]
        plain = np.mean([entropy(x, estimator=PlugIn()) for x in samples]) - truth
        better = np.mean([entropy(x, estimator=PlugIn(correction)) for x in samples]) - truth
        assert abs(better) < max(0.5 * abs(plain), 0.01)


def test_categories_and_numbers_together():
    """The mixtures of Gao et al. (2017), section 5: I(X; Y) of Y uniform on [X, X + 2], X on 5 values."""
    rng = np.random.default_rng(6)
    m, n = 5, 3000
    x = rng.integers(0, m, n)
    y = x + 2 * rng.uniform(size=n)
    truth = np.log(m) - (m - 1) / m * np.log(2)
    assert_allclose(mutual_information(x, y), truth, atol=0.06)
    labels = pd.DataFrame({"x": np.array([*"abcde"])[x]})
    assert_allclose(mutual_information(labels, y), truth, atol=0.06)
    frame = pd.DataFrame({"label": labels["x"], "y": y})
    assert_allclose(entropy(frame), np.log(m) + np.log(2), atol=0.06)
    assert_allclose(mutual_information(labels, labels), np.log(m), atol=0.02)
    noise = rng.standard_normal((n, 1))
    assert_allclose(mutual_information(labels, noise), 0.0, atol=0.03)
    zeros = np.where(rng.uniform(size=n) < 0.5, 0.0, noise[:, 0])  # half an atom
    assert_allclose(mutual_information(zeros, rng.permutation(zeros)), 0.0, atol=0.05)


def test_ties_are_refused_with_the_estimator_made_for_them():
    x = np.repeat(np.arange(10.0), 5)
    with pytest.raises(
        ValueError, match=r"50 of the 50 points of x have 3 neighbours at distance zero.*PlugIn"
    ):
        entropy(x)
    with pytest.raises(ValueError, match=r"use MixedKSG\(\) for discrete and mixed data"):
        mutual_information(x, x, estimator=KSG())
    with pytest.raises(
        ValueError, match="KNN needs numbers, but x has columns of categories: use PlugIn"
    ):
        entropy(pd.DataFrame({"a": [*"xyxyxyxy"]}), estimator=KNN())
    with pytest.raises(ValueError, match="takes no weights, but x is weighted"):
        entropy(Empirical([1.0, 2.0, 3.0, 4.5, 5.0], [0.5, 0.2, 0.1, 0.1, 0.1]))


def test_wrong_objects_are_refused():
    x = np.arange(20.0)
    with pytest.raises(
        TypeError, match=r"measure must be a measure such as Shannon\(\), got 'shannon'"
    ):
        entropy(x, "shannon")
    with pytest.raises(TypeError, match="estimator must be an? estimator such as KNN"):
        entropy(x, estimator=3)
    with pytest.raises(TypeError, match="correction must be"):
        PlugIn("NSB")
    with pytest.raises(ValueError, match="needs two or more variables, got 1"):
        mutual_information(x)
    with pytest.raises(NoRule, match="no conditional information by Chi2"):
        mutual_information(x, x, given=x, measure=info.Chi2())
    with pytest.raises(ValueError, match="k must be larger than 4"):
        entropy(x, info.Renyi(5.0))
