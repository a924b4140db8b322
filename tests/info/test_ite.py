"""Every estimator of ITE's Python edition beside its published formula (`tests/support/ite_formulas.py`).

The toolbox is not to be had from a package index, so that its formulas are written again.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, pi, sqrt
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from scipy.stats import rankdata

from mercer import htest, info
from mercer.features import Nystrom
from mercer.htest.samples.linear_time_mmd import in_random_order
from mercer.info import KNN, association, cross_entropy, divergence, entropy, mutual_information
from mercer.info.sample import fixed_generator
from mercer.kernels import RBF, Energy
from mercer.rkhs import (
    Gaussian,
    MeanMap,
    SquaredShift,
    cka,
    dhsic,
    hsic,
    kcca,
    kernel_generalized_variance,
    mmd2,
)
from tests.support import ite_formulas as f
from tests.support.ite_formulas import ALPHA, BETA, K

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(60, 2)), RNG.normal(0.4, 1.3, size=(50, 2))
SAME, JOINED = X[:50], np.concatenate([X[:50], Y])  # mixtures have as many points of each sample
LINE = RNG.normal(size=80)
U = RNG.normal(size=(40, 3)) + RNG.normal(size=(40, 1))  # three dependent variables
A, B, C = (u[:, None] for u in U.T)
RANKS = rankdata(U, axis=0) / len(U)
TAIL = int(sqrt(len(U))) / len(U)  # the share of observations in a tail
BY, KERNEL = KNN(K), RBF(1.1)
BOX = np.random.default_rng(1).uniform(X.min(axis=0), X.max(axis=0), size=(70, 2))
BOX_ENTROPY = float(np.sum(np.log(np.ptp(X, axis=0))))
FITTED = Gaussian.fit(X)
DRAWS = FITTED.sample(70, rng=0)
Pair = Callable[[], tuple[float, float]]  # mercer's value, and that of the formula


def power_integral(a: float, b: float = 0.0) -> float:
    return f.integral(X, Y, a, b) if b else f.integral(X, X, a)


def shannon_pair() -> tuple[float, float]:
    drop = entropy(LINE, estimator=info.MaximumEntropy()) - entropy(
        LINE, estimator=info.Parametric()
    )
    b, even = 24 / (16 * sqrt(3) - 27), lambda z: np.exp(-(z**2) / 2)
    return drop, -f.negentropy(LINE, b, even, sqrt(0.5))


def absolute_pair() -> tuple[float, float]:
    rule = info.MaximumEntropy(heavy_tails=False)
    drop = entropy(LINE, estimator=rule) - entropy(LINE, estimator=info.Parametric())
    return drop, -f.negentropy(LINE, 1 / (2 - 6 / pi), np.abs, sqrt(2 / pi))


ENTROPIES: dict[str, Pair] = {
    "BHShannon_KnnK": lambda: (entropy(X, estimator=BY), f.shannon(X)),
    "BHRenyi_KnnK": lambda: (entropy(X, info.Renyi(ALPHA), estimator=BY), f.renyi(X)),
    "BHTsallis_KnnK": lambda: (entropy(X, info.Tsallis(ALPHA), estimator=BY), f.tsallis(X)),
    "BHSharmaMittal_KnnK": lambda: (
        entropy(X, info.SharmaMittal(ALPHA, BETA), estimator=BY),
        (power_integral(ALPHA) ** ((1 - BETA) / (1 - ALPHA)) - 1) / (1 - BETA),
    ),
    "BHShannon_SpacingV": lambda: (entropy(LINE, estimator=info.Vasicek()), f.vasicek(LINE)),
    "BHPhi_Spacing": lambda: (
        entropy(LINE, info.Phi(np.sqrt, weight=np.cos), estimator=info.Spacing()),
        f.phi_spacing(LINE, np.sqrt, np.cos),
    ),
    "BHShannon_MaxEnt1": absolute_pair,
    "BHShannon_MaxEnt2": shannon_pair,
    "BHRenyi_KnnS": lambda: (
        entropy(X, info.Renyi(ALPHA), estimator=info.NeighbourGraph((1, 2, 4))),
        f.neighbour_graph(X, (1, 2, 4)),
    ),
    "MHShannon_DKLN": lambda: (
        entropy(FITTED) - divergence(X, DRAWS, estimator=BY),
        np.linalg.slogdet(2 * pi * np.e * np.cov(X.T, bias=True))[1] / 2 - f.kullback(X, DRAWS),
    ),
    "MHShannon_DKLU": lambda: (
        BOX_ENTROPY - divergence(X, BOX, estimator=BY),
        BOX_ENTROPY - f.kullback(X, BOX),
    ),
    "MHTsallis_HR": lambda: (
        entropy(X, info.Tsallis(ALPHA), estimator=BY),
        (exp((1 - ALPHA) * f.renyi(X)) - 1) / (1 - ALPHA),
    ),
    "BCCE_KnnK": lambda: (cross_entropy(X, Y, estimator=BY), f.cross(X, Y)),
    "BcondHShannon_HShannon": lambda: (
        info.conditional_entropy(A, B, estimator=BY),
        f.shannon(np.hstack([A, B])) - f.shannon(B),
    ),
}


def of(measure: info.Measure, estimator: info.Estimator = BY) -> float:
    return divergence(X, Y, measure, estimator=estimator)


def of_same(measure: info.Measure) -> float:
    return divergence(SAME, Y, measure, estimator=BY)


def shuffled_rows() -> tuple[np.ndarray, np.ndarray]:
    """Both samples of 50 in the random order in which mercer groups them, where ITE has that of the rows."""
    first, second = in_random_order(SimpleNamespace(n=50, m=50))
    return SAME[first], Y[second - 50]


def blockwise() -> float:
    x, y = shuffled_rows()
    blocks = [slice(i, i + 10) for i in range(0, 50, 10)]
    return float(np.mean([f.mmd(x[rows], y[rows], 1.1, unbiased=True) for rows in blocks]))


def low_rank() -> tuple[np.ndarray, np.ndarray]:
    """Nystrom features of both samples, with all points as landmarks."""
    features = Nystrom(KERNEL, len(X) + len(Y), random_state=0).fit(np.concatenate([X, Y]))
    return features.transform(X), features.transform(Y)


def low_rank_mmd(*, unbiased: bool) -> float:
    x, y = low_rank()
    own = [z @ z.T for z in (x, y)]
    mean = f.without_diagonal if unbiased else np.mean
    return float(mean(own[0]) + mean(own[1]) - 2 * (x @ y.T).mean())


DIVERGENCES: dict[str, Pair] = {
    "BDKL_KnnK": lambda: (of(info.KL()), f.kullback(X, Y)),
    "BDKL_KnnKiTi": lambda: (of(info.KL(), KNN(None)), f.kullback(X, Y, 7, 7)),
    "BDEnergyDist": lambda: (htest.Energy().statistic(X, Y), f.energy_distance(X, Y)),
    "BDBhattacharyya_KnnK": lambda: (of(info.Bhattacharyya()), -log(power_integral(0.5, 0.5))),
    "BDBregman_KnnK": lambda: (of(info.Bregman(ALPHA)), f.bregman(X, Y)),
    "BDSymBregman_KnnK": lambda: (
        of(info.SymmetricBregman(ALPHA)),
        (f.bregman(X, Y) + f.bregman(Y, X)) / ALPHA,
    ),
    "BDChi2_KnnK": lambda: (of(info.Chi2()), power_integral(2, -1) - 1),
    "BDHellinger_KnnK": lambda: (of(info.Hellinger()), sqrt(1 - power_integral(0.5, 0.5))),
    "BDL2_KnnK": lambda: (
        of(info.L2()),
        sqrt(max(power_integral(2) - 2 * power_integral(1, 1) + f.integral(Y, Y, 2), 0.0)),
    ),
    "BDRenyi_KnnK": lambda: (
        of(info.Renyi(ALPHA)),
        log(power_integral(ALPHA, 1 - ALPHA)) / (ALPHA - 1),
    ),
    "BDTsallis_KnnK": lambda: (
        of(info.Tsallis(ALPHA)),
        (power_integral(ALPHA, 1 - ALPHA) - 1) / (ALPHA - 1),
    ),
    "BDSharmaMittal_KnnK": lambda: (
        of(info.SharmaMittal(ALPHA, BETA)),
        (power_integral(ALPHA, 1 - ALPHA) ** ((1 - BETA) / (1 - ALPHA)) - 1) / (BETA - 1),
    ),
    "BDMMD_UStat": lambda: (mmd2(KERNEL, X, Y), f.mmd(X, Y, 1.1, unbiased=True)),
    "BDMMD_VStat": lambda: (mmd2(KERNEL, X, Y, unbiased=False), f.mmd(X, Y, 1.1, unbiased=False)),
    "BDMMD_Online": lambda: (
        htest.LinearMMD(KERNEL).statistic(SAME, Y),
        f.online(*shuffled_rows(), 1.1),
    ),
    "BDMMD_UStat_IChol": lambda: (low_rank_mmd(unbiased=True), f.mmd(X, Y, 1.1, unbiased=True)),
    "BDMMD_VStat_IChol": lambda: (low_rank_mmd(unbiased=False), f.mmd(X, Y, 1.1, unbiased=False)),
    "MDBlockMMD": lambda: (htest.BlockMMD(KERNEL, block=10).statistic(SAME, Y), blockwise()),
    "MDEnergyDist_DMMD": lambda: (
        2 * mmd2(Energy(), X, Y, unbiased=False),
        f.energy_distance(X, Y),
    ),
    "MDf_DChi2": lambda: (1.5 / 2 * of(info.Chi2()), 1.5 / 2 * (power_integral(2, -1) - 1)),
    "MDJDist_DKL": lambda: (of(info.Jeffreys()), f.kullback(X, Y) + f.kullback(Y, X)),
    "MDJR_HR": lambda: (
        of_same(info.JensenRenyi(ALPHA)),
        f.renyi(JOINED) - (f.renyi(SAME) + f.renyi(Y)) / 2,
    ),
    "MDJT_HT": lambda: (
        of_same(info.JensenTsallis(ALPHA)),
        f.tsallis(JOINED) - (f.tsallis(SAME) + f.tsallis(Y)) / 2,
    ),
    "MDJS_HS": lambda: (of(info.JensenShannon()), f.jensen_shannon(X, Y)),
    "MDK_DKL": lambda: (
        of(info.K()),
        float(np.mean(-np.log((1 + f.density_ratio(Y, X)) / 2))),
    ),
    "MDL_DKL": lambda: (of(info.L()), 2 * f.jensen_shannon(X, Y)),
    "MDSymBregman_DB": lambda: (
        (of(info.Bregman(ALPHA)) + divergence(Y, X, info.Bregman(ALPHA), estimator=BY)) / ALPHA,
        (f.bregman(X, Y) + f.bregman(Y, X)) / ALPHA,
    ),
    "MDKL_HSCE": lambda: (
        cross_entropy(X, Y, estimator=BY) - entropy(X, estimator=BY),
        f.kullback(X, Y),
    ),
}


GRAMS = [f.gauss(v, v, 1.1) for v in (A, B, C)]
CORRELATIONS = f.canonical_correlations(GRAMS[0], GRAMS[1], 0.02)
PAIRED = np.hstack([A, B])


PRODUCT = np.hstack([A, B[fixed_generator().permutation(len(B))]])  # as mercer shuffles


def shared(measure: info.Measure) -> float:
    return mutual_information(A, B, measure=measure, estimator=BY)


def between(a: float, b: float) -> float:
    return f.integral(PAIRED, PRODUCT, a, b)


DEPENDENCE: dict[str, Pair] = {
    "BIDistCov": lambda: (2 * hsic(Energy(), Energy(), A, B) ** 0.5, f.distance_covariance(A, B)),
    "BIDistCorr": lambda: (
        cka(Energy(), Energy(), A, B) ** 0.5,
        f.distance_covariance(A, B)
        / (f.distance_covariance(A, A) * f.distance_covariance(B, B)) ** 0.5,
    ),
    "BI3WayJoint": lambda: (dhsic([KERNEL] * 3, [A, B, C]), f.joint_dependence(GRAMS)),
    "BI3WayLancaster": lambda: (
        htest.Lancaster([KERNEL] * 3).statistic(A, B, C),
        float(np.mean(np.prod([f.centred(k) for k in GRAMS], axis=0))),
    ),
    "BIHSIC_IChol": lambda: (
        hsic(KERNEL, KERNEL, A, B),
        float(np.mean(f.centred(GRAMS[0]) * f.centred(GRAMS[1]))),
    ),
    "BIHoeffding": lambda: (
        association(U, measure=info.Hoeffding(adjusted=False)),
        f.hoeffding(RANKS),
    ),
    "BIKGV": lambda: (
        kernel_generalized_variance(
            KERNEL, KERNEL, A, B, ridge=0.02, regularization=SquaredShift()
        ),
        -0.5 * float(np.sum(np.log(1 - CORRELATIONS**2))),
    ),
    "BIKCCA": lambda: (
        kcca(KERNEL, KERNEL, A, B, ridge=0.02, regularization=SquaredShift()),
        float(CORRELATIONS.max()),
    ),
    "MIShannon_DKL": lambda: (
        divergence(PAIRED, PRODUCT, estimator=BY),
        f.kullback(PAIRED, PRODUCT),
    ),
    "MIChi2_DChi2": lambda: (shared(info.Chi2()), between(2, -1) - 1),
    "MIL2_DL2": lambda: (
        shared(info.L2()),
        sqrt(
            max(
                f.integral(PAIRED, PAIRED, 2) - 2 * between(1, 1) + f.integral(PRODUCT, PRODUCT, 2),
                0.0,
            )
        ),
    ),
    "MIRenyi_DR": lambda: (
        shared(info.Renyi(ALPHA)),
        log(between(ALPHA, 1 - ALPHA)) / (ALPHA - 1),
    ),
    "MITsallis_DT": lambda: (
        shared(info.Tsallis(ALPHA)),
        (between(ALPHA, 1 - ALPHA) - 1) / (ALPHA - 1),
    ),
    "MIMMD_CopulaDMMD": lambda: (association(U, measure=info.CopulaMMD(KERNEL)), copula_mmd()),
    "MIRenyi_HR": lambda: (-entropy(RANKS, info.Renyi(ALPHA), estimator=BY), -f.renyi(RANKS)),
    "MIShannon_HS": lambda: (
        mutual_information(A, B, estimator=BY),
        f.shannon(A) + f.shannon(B) - f.shannon(PAIRED),
    ),
    "MIDistCov_HSIC": lambda: (
        2 * hsic(Energy(), Energy(), A, B) ** 0.5,
        2 * float(np.mean(f.centred(-cdist(A, A)) * f.centred(-cdist(B, B))) / 4) ** 0.5,
    ),
    "BcondIShannon_HShannon": lambda: (
        mutual_information(A, B, given=C, estimator=BY),
        f.shannon(np.hstack([A, C]))
        + f.shannon(np.hstack([B, C]))
        - f.shannon(np.hstack([A, B, C]))
        - f.shannon(C),
    ),
    **{
        f"BASpearman{kind}": lambda kind=kind: (
            association(U, measure=info.Spearman(kind)),
            f.spearman(RANKS, kind),
        )
        for kind in (1, 2, 3, 4)
    },
    "BASpearmanCondLT": lambda: (
        association(U, measure=info.SpearmanTail("lower", share=0.4)),
        f.spearman_tail(RANKS, 0.4, upper=False),
    ),
    "BASpearmanCondUT": lambda: (
        association(U, measure=info.SpearmanTail("upper", share=0.4)),
        f.spearman_tail(RANKS, 0.4, upper=True),
    ),
    "MASpearmanLT": lambda: (
        association(U, measure=info.SpearmanTail("lower")),
        f.spearman_tail(RANKS, TAIL, upper=False),
    ),
    "MASpearmanUT": lambda: (
        association(U, measure=info.SpearmanTail("upper")),
        f.spearman_tail(RANKS, TAIL, upper=True),
    ),
    "BABlomqvist": lambda: (association(U, measure=info.Blomqvist()), f.blomqvist(RANKS)),
}


def copula_mmd() -> float:
    """The distance of the ranks from a fine grid on the cube."""
    axis = (np.arange(18) + 0.5) / 18
    grid = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
    return f.mmd(RANKS, grid, 1.1, unbiased=False) ** 0.5


def of_samples(kernel: Any) -> float:
    return float(kernel([SAME], [Y])[0, 0])


KERNELS: dict[str, Pair] = {
    "BKProbProd_KnnK": lambda: (
        of_samples(info.DensityProduct(ALPHA, estimator=BY)),
        (f.integral(SAME, Y, ALPHA, ALPHA) + f.integral(Y, SAME, ALPHA, ALPHA)) / 2,
    ),
    "BKExpected": lambda: (of_samples(MeanMap(KERNEL)), float(f.gauss(SAME, Y, 1.1).mean())),
    "MKExpJR1_HR": lambda: (
        of_samples(info.EntropyKernel(2.0, measure=info.Renyi(ALPHA), estimator=BY)),
        exp(-f.renyi(JOINED) / 2.0),
    ),
    "MKExpJR2_DJR": lambda: (
        of_samples(info.ExponentiatedDivergence(info.JensenRenyi(ALPHA), 2.0, estimator=BY)),
        exp(-max(f.renyi(JOINED) - (f.renyi(SAME) + f.renyi(Y)) / 2, 0.0) / 2.0),
    ),
    "MKExpJS_DJS": lambda: (
        of_samples(info.ExponentiatedDivergence(info.JensenShannon(), 2.0, estimator=BY)),
        exp(-f.jensen_shannon(SAME, Y) / 2.0),
    ),
    "MKExpJT1_HT": lambda: (
        of_samples(info.EntropyKernel(2.0, measure=info.Tsallis(ALPHA), estimator=BY)),
        exp(-f.tsallis(JOINED) / 2.0),
    ),
    "MKExpJT2_DJT": lambda: (
        of_samples(info.ExponentiatedDivergence(info.JensenTsallis(ALPHA), 2.0, estimator=BY)),
        exp(-max(f.tsallis(JOINED) - (f.tsallis(SAME) + f.tsallis(Y)) / 2, 0.0) / 2.0),
    ),
    "MKJS_DJS": lambda: (
        of_samples(info.JensenTsallisKernel(1.0, estimator=BY)),
        log(2) - f.jensen_shannon(SAME, Y),
    ),
    "MKJT_HT": lambda: (
        of_samples(info.JensenTsallisKernel(ALPHA, estimator=BY)),
        f.log_q_of_2(ALPHA) - f.tsallis_difference(SAME, Y, JOINED),
    ),
}
CASES = ENTROPIES | DIVERGENCES | DEPENDENCE | KERNELS
# The closed form of the embedding of the cube against a grid with 18 points along each side.
TOLERANCES = {"MIMMD_CopulaDMMD": 0.01, "BDMMD_UStat_IChol": 1e-6, "BDMMD_VStat_IChol": 1e-6}


@pytest.mark.parametrize("name", CASES)
def test_formula(name):
    ours, theirs = CASES[name]()
    assert np.isfinite(ours)
    assert_allclose(ours, theirs, rtol=TOLERANCES.get(name, 1e-9), atol=1e-12)


def test_the_table_names_every_estimator():
    """78 classes: 7 + 2 associations, 1 cross-entropy, 17 + 11 divergences, 9 + 3 + 1 entropies, 8 + 9 + 1 kinds of
    information, 2 + 7 kernels, base and meta and conditional ones.
    """
    assert len(CASES) == 9 + 1 + 28 + 13 + 18 + 9
    table = (Path(__file__).parents[2] / "docs" / "migration" / "ite.md").read_text("utf-8")
    missing = [name for name in CASES if f"`{name}`" not in table]
    assert not missing
