"""Ties: a resampling test counts equal statistics as equal, whatever the order of the rows.

On data of two values, half of the rows in each sample, every statistic is a monotone function of a
number that can be counted, so that the p-value of the labellings that a seed draws is known exactly.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product
from math import sqrt

import numpy as np
import pandas as pd
import pytest

from mercer.gram import PermutedWeights
from mercer.htest import (
    DHSIC,
    HSIC,
    KSD,
    ME,
    MMD,
    SCF,
    UME,
    Hotelling,
    HSICAgg,
    KSample,
    KSDAgg,
    Lancaster,
    MaxMMD,
    MMDAgg,
    MMDFuse,
    PartialDistanceCorrelation,
    Permutation,
    SerialHSIC,
    ShiftHSIC,
    WildBootstrap,
    two_sample,
)
from mercer.htest.aggregation import aggregated, aggregated_by_order
from mercer.htest.dependence import hsicagg
from mercer.htest.dependence.hsicagg import kernel_collections
from mercer.htest.dependence.sums.cyclic_permutations import CyclicPermutations
from mercer.htest.samples import mmdagg
from mercer.htest.samples.pooled_sample import labellings, pool_with_low_order
from mercer.htest.ties import coincide, few_points, merged
from mercer.kernels import RBF, Energy, Laplace, Linear
from mercer.rkhs import Gaussian
from tests.support.arrays import torch
from tests.support.htest_zoo import IDS, ZOO, short

P = Permutation(199)
PERMUTED = [
    e.test for e in ZOO if isinstance(getattr(e.test, "null", None), Permutation)
]  # of the zoo, all tests of permutations
SIZES = {e.test: e.sizes for e in ZOO}
LANDMARKS = MMDAgg(null=P, landmarks=30)
# Random are the lines, the trees where distances are equal, the rows to learn from, and the order of tied values.
RANDOM = ("Wasserstein", "SpanningTree", "DeepMMD", "MutualInformation")
SAMPLES = [
    *(
        t
        for t in PERMUTED
        if len(SIZES[t]) == 2 and not short(t).startswith(("SpanningTree", "DeepMMD"))
    ),
    MMD(Linear(), null=P),
    Hotelling(null=P),
    ME(null=P, locations=np.array([[0.2], [0.9]])),
    UME(null=P, locations=np.array([[0.2], [0.9]])),
    SCF(null=P, frequencies=np.array([[0.7], [1.3]])),
]
NAMES = [f"{type(t).__name__}-{i}" for i, t in enumerate(SAMPLES)]
PAIRS = [e.test for e in ZOO if e.test in PERMUTED and e.alternative.__qualname__[:4] == "tied"]


def counted(values: np.ndarray) -> float:
    """The p-value of integer statistics, the first of which is the observed one."""
    return np.count_nonzero(values >= values[0]) / len(values)


def heads(number: int, n: int, dtype: type = np.float64) -> np.ndarray:
    """So many ones of n, sorted."""
    return np.repeat([0, 1], [n - number, number]).astype(dtype)[:, None]


# ---- exactly the p-value that counting gives ---------------------------------------------


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
@pytest.mark.parametrize("n", [10, 50, 150])
@pytest.mark.parametrize("test", SAMPLES, ids=NAMES)
def test_two_values_are_compared_by_counts(test, n, order):
    rng = np.random.default_rng(n)
    x, y = heads(round(0.62 * n), n), heads(round(0.44 * n), n)
    if order == "shuffled":
        x, y = rng.permutation(x), rng.permutation(y)
    rng = np.random.default_rng(5)
    if getattr(test, "landmarks", None):
        rng.choice(2 * n, min(30, 2 * n), replace=False)
    labels = labellings(n, n, test.null, int(rng.integers(2**63))).dense()
    expected = counted(np.abs(np.concatenate([x, y])[:, 0] @ labels))
    assert test.test(x, y, rng=5).pvalue == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("test", [MMD(null=P), MMDAgg(null=P)], ids=short)
def test_single_precision_counts_as_well(test, dtype):
    x, y = 0.1 * heads(93, 150, dtype), 0.1 * heads(66, 150, dtype)
    assert x.dtype == dtype
    labels = labellings(150, 150, P, int(np.random.default_rng(5).integers(2**63))).dense()
    expected = counted(np.abs(np.rint(10 * np.concatenate([x, y])[:, 0]) @ labels))
    assert test.test(x, y, rng=5).pvalue == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("null", [replace(P, paired=True), replace(P, blocks=(0, 1) * 100)])
@pytest.mark.parametrize("kind", [MMD, MaxMMD, MMDAgg, MMDFuse])
def test_pairs_and_blocks_are_counted(kind, null):
    x, y = heads(62, 100), heads(44, 100)
    labels = labellings(100, 100, null, int(np.random.default_rng(5).integers(2**63))).dense()
    expected = counted(np.abs(np.concatenate([x, y])[:, 0] @ labels))
    assert kind(null=null).test(x, y, rng=5).pvalue == pytest.approx(expected, abs=1e-12)


def test_ksample_counts():
    x, y = heads(93, 150), heads(66, 150)
    seed = int(np.random.default_rng(5).integers(2**63))
    groups = PermutedWeights(np.repeat([0, 1], 150), 200, rng=seed, keep_first=True).dense()
    expected = counted(np.abs(np.concatenate([x, y])[:, 0] @ (1 - 2 * groups)))
    assert KSample(null=P).test(x, y, rng=5).pvalue == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
@pytest.mark.parametrize("n", [20, 100])
@pytest.mark.parametrize("test", PAIRS, ids=short)
def test_tables_of_two_by_two_are_compared_by_counts(test, n, order):
    rng = np.random.default_rng(n)
    x = heads(n // 2, n)
    y = np.roll(x, n // 5)
    if order == "shuffled":
        both = rng.permutation(np.hstack([x, y]))
        x, y = both[:, :1], both[:, 1:]
    rng, drawn = np.random.default_rng(5), []
    spied = replace(test, null=_Spied(test.null.resamples, drawn))
    pvalue = spied.test(x, y, rng=rng).pvalue
    orders = CyclicPermutations(n, spied.null, drawn[0]).orders(slice(0, test.null.resamples + 1))
    ones = np.array([np.sum(x[:, 0] * y[order, 0]) for order in orders])
    assert pvalue == pytest.approx(counted(np.abs(ones - n / 4)), abs=1e-12)


class _Spied(Permutation):
    """A null that tells the seed of its permutations."""

    def __init__(self, resamples: int, drawn: list[int]) -> None:
        super().__init__(resamples)
        object.__setattr__(self, "drawn", drawn)

    def seed(self, rng):
        seed = super().seed(rng)
        self.drawn.append(seed)
        return seed


# ---- p = 1 where all labellings tie ------------------------------------------------------

BLIND = [  # without random features or landmarks, which are not alike for all labels
    t
    for t in PERMUTED
    if not short(t).startswith(("Fourier", "Nystrom", "RDC", "KSample", *RANDOM))
]


@pytest.mark.parametrize("n", [30, 90])
@pytest.mark.parametrize("test", BLIND, ids=short)
def test_p_is_one_where_all_labellings_tie(test, n):
    rows = np.eye(2 * n)
    if test == LANDMARKS:
        test = replace(test, landmarks=2 * n)
    if test in PAIRS:
        samples = rows, np.random.default_rng(0).standard_normal((2 * n, 2))
    elif isinstance(test, SerialHSIC):
        samples = (rows,)
    elif isinstance(test, DHSIC | Lancaster | PartialDistanceCorrelation):
        samples = rows[:40, :40], rows[:40, :40], rows[:40, :40]
    else:
        samples = rows[: n - 5], rows[n - 5 :]
    assert test.test(*samples, rng=0).pvalue == 1.0


@pytest.mark.parametrize("kind", [MaxMMD, MMDAgg, MMDFuse])
@pytest.mark.parametrize("name", ["turned", "float32", "torch"])
def test_p_is_one_on_equidistant_points(kind, name):
    """The corners of a simplex, turned so that distances are equal up to rounding, or in float32."""
    rows = 0.1 * np.eye(180, dtype=np.float32)
    if name == "turned":
        rows = np.linalg.qr(np.random.default_rng(0).standard_normal((180, 180)))[0]
    rows = torch.as_tensor(rows) if name == "torch" else rows
    kernels = [RBF(0.1), RBF(1.0), RBF(7.0)]
    assert kind(kernels, null=P).test(rows[:80], rows[80:], rng=0).pvalue == 1.0
    assert KSample(RBF(1.0), null=P).test(rows[:80], rows[80:], rng=0).pvalue == 1.0


def test_p_is_one_where_every_row_has_a_label_of_its_own():
    names = pd.DataFrame({"name": [f"row {i}" for i in range(120)]})
    numbers = pd.DataFrame({"value": np.random.default_rng(0).standard_normal(120)})
    assert two_sample(names[:50], names[50:], rng=0).pvalue == 1.0
    assert KSample(null=P).test(names[:50], names[50:90], names[90:], rng=0).pvalue == 1.0
    for other in (names, numbers):
        assert HSICAgg(null=P).test(names, other, rng=0).pvalue == 1.0
    assert ShiftHSIC(head=2).test(np.eye(50), np.eye(50)[::-1]).pvalue == 1.0


def test_a_blind_kernel_hides_nothing_from_the_others():
    rng = np.random.default_rng(0)
    x, y = np.eye(80)[:40], np.eye(80)[40:]
    x, y = np.hstack([x, rng.normal(size=(40, 1))]), np.hstack([y, rng.normal(2.0, size=(40, 1))])
    blind = RBF(1.0).select(range(80))
    for kind in (MaxMMD, MMDFuse, MMDAgg):
        assert kind([blind, RBF(1.0).select([80])], null=P).test(x, y, rng=0).rejects(0.01)


# ---- all labellings of tiny samples ------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "test",
    [
        t
        for t in PERMUTED
        if len(SIZES[t]) == 2 and t != LANDMARKS and not short(t).startswith(RANDOM)
    ],
    ids=short,
)
def test_tiny_samples_agree_with_all_labellings(test, seed):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 3, (9, 2)).astype(float)
    n, resamples = 4, 1999
    labels = [t for t in product([True, False], repeat=9) if sum(t) == n]
    labels.sort(key=lambda t: t != (True,) * n + (False,) * 5)  # the observed one first
    if isinstance(test, MMDAgg):
        pooled, kernels, low = pool_with_low_order(points[:n], points[n:])
        grams = [k.pairwise(pooled.points, pooled.points) for k in kernels]
        forms = np.array([_mmd2(k, np.array(labels)) for k in grams])
        values = aggregated_by_order(
            forms, np.full(len(kernels), 1e-10), (2, low - 2, 20), mmdagg.SHARES
        ).scores
    else:
        split = [(points[np.array(t)], points[~np.array(t)]) for t in labels]
        values = np.array([test.statistic(*samples) for samples in split])
    exact = np.count_nonzero(values >= values[0] - 1e-9) / len(values)
    drawn = replace(test, null=Permutation(resamples)).test(points[:n], points[n:], rng=seed)
    assert abs(drawn.pvalue - exact) <= _band(exact, resamples)


def _mmd2(k, labels):
    """The unbiased MMD^2 of every row of labels."""
    k, a, b = k - np.diag(np.diag(k)), labels.astype(float), 1 - labels.astype(float)
    n, m = a.sum(axis=1), b.sum(axis=1)
    xx, yy, xy = (np.sum((u @ k) * v, axis=1) for u, v in ((a, a), (b, b), (a, b)))
    return xx / (n * (n - 1)) + yy / (m * (m - 1)) - 2 * xy / (n * m)


def _hsic(k, r):
    """The unbiased HSIC of two Gram matrices (Song et al. 2012, eq. 5)."""
    n, k, r = len(k), k - np.diag(np.diag(k)), r - np.diag(np.diag(r))
    both = k.sum() * r.sum() / ((n - 1) * (n - 2)) - 2 / (n - 2) * (k.sum(0) @ r.sum(0))
    return (np.sum(k * r) + both) / (n * (n - 3))


def _band(p: float, resamples: int) -> float:
    """Four standard errors of a p-value by so many draws, and the observed one."""
    return 4 * sqrt(p * (1 - p) / resamples) + 1 / (resamples + 1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "test", [HSIC(), HSIC(unbiased=True), HSIC(Energy(), Energy()), HSICAgg()], ids=short
)
def test_tiny_pairs_agree_with_all_permutations(test, seed):
    rng = np.random.default_rng(seed)
    n, resamples = 5, 4999
    x, y = rng.integers(0, 3, (2, n, 1)).astype(float)
    orders = [list(order) for order in permutations(range(n))]
    if isinstance(test, HSICAgg):
        first, second = kernel_collections(None, None, x, y, low=True)
        pairs = [(first.low[0], second.low[0]), *product(first.low[1:], second.low[1:])]
        pairs += product(first.scales, second.scales)
        grams = [[v.kernel.pairwise(v.points, v.points) for v in pair] for pair in pairs]
        forms = np.array([[_hsic(k, r[np.ix_(o, o)]) for o in orders] for k, r in grams])
        values = aggregated_by_order(forms, np.full(105, 1e-10), (2, 3, 100), hsicagg.SHARES).scores
    else:
        values = np.array([test.statistic(x, y[order]) for order in orders])
    exact = np.count_nonzero(values >= values[0] - 1e-9) / len(values)
    drawn = replace(test, null=Permutation(resamples)).test(x, y, rng=seed)
    # the n moves of one order are not independent of each other
    assert abs(drawn.pvalue - exact) <= _band(exact, resamples // n)


@pytest.mark.parametrize("kind", [KSD, KSDAgg])
@pytest.mark.parametrize("seed", range(3))
def test_tiny_samples_agree_with_all_signs(kind, seed):
    x = np.random.default_rng(seed).integers(-1, 2, (7, 1)).astype(float)
    model, resamples = Gaussian([0.0], 1.0), 1999
    signs = np.array(list(product([1.0, -1.0], repeat=7))).T
    test = kind(model, null=WildBootstrap(resamples))
    if kind is KSD:
        kernels = [test.test(x, rng=0).sample.kernel]
    else:
        kernels = [KSD(model, k).test(x, rng=0).sample.kernel for k in test.test(x, rng=0).kernels]
    forms = np.stack([np.sum(signs * (k.pairwise(x, x) @ signs), axis=0) for k in kernels]) / 49
    number = len(kernels)
    values = aggregated(forms, np.full(number, 1e-10), np.full(number, 1 / number)).scores
    exact = np.count_nonzero(values >= values[0] - 1e-9) / len(values)
    assert abs(test.test(x, rng=seed).pvalue - exact) <= _band(exact, resamples)


# ---- what ties are made of ---------------------------------------------------------------


@pytest.mark.parametrize("high", [1.0, 100.0])
def test_sorted_rows_of_numbers_give_the_p_value_of_shuffled_ones(high):
    rng = np.random.default_rng(0)
    x, y = np.sort(rng.uniform(0, high, (2, 150, 1)), axis=1)
    both = [MMDAgg().test(*pair, rng=0).pvalue for pair in ((x, y), map(rng.permutation, (x, y)))]
    assert both[0] == pytest.approx(both[1], abs=_band(both[1], 999 // 2))


def test_merged_values():
    values = np.array([np.inf, 2.0, 1.0, 1.0 + 1e-12, np.inf, -np.inf, 2.0 - 1e-12])
    found, low = merged(values, 1e-11), 2.0 - 1e-12
    assert found.values.tolist() == [np.inf, low, 1.0, 1.0, np.inf, -np.inf, low]
    assert found.ranks.tolist() == [2, 4, 6, 6, 2, 7, 4]
    assert merged(values, 0.0).values.tolist() == values.tolist()


def test_ties_are_noticed():
    rng = np.random.default_rng(0)
    noise = np.full(2, 1e-7)
    smooth = rng.standard_normal((2, 2000))
    assert not coincide(smooth, noise)
    few = np.stack([smooth[0], rng.binomial(50, 0.5, 2000) + 1e-8 * smooth[1]])
    assert coincide(few, noise)
    assert coincide(np.ones((1, 2)), np.zeros(1))
    assert coincide(1e-8 * smooth, noise)
    assert not coincide(
        2e-5 * smooth, noise
    )  # of so many points that most gaps are below the noise
    assert coincide(2e-6 * rng.binomial(400, 0.5, (1, 2000)), noise[:1])
    assert few_points(smooth[0, :48, None])
    assert not few_points(smooth[0, :300, None])
    assert few_points(np.tile(smooth[0, :300, None], (3, 1))[:, [0, 0]].round(1))


def test_other_kernels_on_two_values_agree():
    x, y = heads(31, 50), heads(22, 50)
    kernels = [RBF(0.3), Laplace(2.0), Energy(), Linear()]
    found = {MMD(k, null=Permutation(999)).test(x, y, rng=1).pvalue for k in kernels}
    assert len(found) == 1
    assert found.pop() == pytest.approx(0.109, abs=_band(0.109, 999))  # Fisher's exact test
    assert two_sample(x, y, rng=1).pvalue == pytest.approx(0.109, abs=_band(0.109, 999))


def test_the_zoo_has_what_is_tested_here():
    assert len(IDS) == len(set(IDS))
    assert {type(t).__name__ for t in SAMPLES} >= {"MMD", "MMDAgg", "MMDFuse", "MaxMMD", "Energy"}
    assert len(PAIRS) >= 7
