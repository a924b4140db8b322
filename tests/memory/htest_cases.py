"""The cases of htest."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from mercer import htest, kernels
from mercer.htest import (
    CRT,
    DHSIC,
    FSSD,
    GCM,
    HSIC,
    KCI,
    KSD,
    ME,
    MMD,
    NFSIC,
    PCM,
    RCIT,
    RDC,
    SCF,
    UME,
    AgainstDraws,
    BlockHSIC,
    BlockMMD,
    Bootstrap,
    Composite,
    CrossHSIC,
    CrossMMD,
    Energy,
    Equivalence,
    FourierHSIC,
    Gamma,
    Hotelling,
    HSICAgg,
    KernelGCM,
    KSample,
    KSDAgg,
    Lancaster,
    LinearKSD,
    LinearMMD,
    LocalPermutation,
    MaxMMD,
    MMDAgg,
    MMDFuse,
    Monitor,
    NystromHSIC,
    Permutation,
    RCoT,
    RelativeKSD,
    SerialHSIC,
    ShiftHSIC,
    Spectrum,
    SplitKCI,
    WeightedGCM,
    WestfallYoung,
    WildBootstrap,
)
from mercer.rkhs import Gaussian
from tests.memory.case import NORMAL, Case, D, K, on_samples

P = Permutation(99)
TABLE = 31  # columns of which all pairs are tested
# without torch there is nothing to measure
DEEP = htest.DeepMMD(steps=20, null=P) if find_spec("torch") else MMD(null=P)


def of_test(test: Any, samples: int, **more: Any) -> Case:
    """The p-value of a test, from samples of n points each."""
    return on_samples(lambda *data: test.test(*data, rng=0), samples, **more)


def of_two(call: Callable[..., Any], **more: Any) -> Case:
    return on_samples(call, 2, **{"n": 2_000, **more})


def all_pairs(**more: Any) -> Callable[[np.ndarray], Any]:
    return lambda x: htest.pairwise_independence(x, rng=0, **more)


def told_of_two(x: np.ndarray, y: np.ndarray) -> None:
    """What a result of two samples answers."""
    result = MMD(null=P).test(x, y, rng=0)
    result.effect()
    result.points()
    result.features(rng=0)
    result.witness()(x)


def told_of_variables(x: np.ndarray, y: np.ndarray) -> None:
    """What a result about independence answers."""
    result = HSIC(null=P).test(x, y, rng=0)
    result.effect()
    result.points()
    result.witness()(x[:100], y[:100])


def told_of_model(x: np.ndarray) -> None:
    """What a result about a model answers."""
    result = KSD(NORMAL, null=WildBootstrap(99)).test(x, rng=0)
    result.effect()
    result.points()
    result.columns()
    result.evidence()(x[:10])


SAMPLE_CASES = {
    name: of_test(test, 2, n=2_000)
    for name, test in {
        "htest.MMD": MMD(),
        "htest.MMD, Spectrum": MMD(null=Spectrum()),
        "htest.MMD, Gamma": MMD(null=Gamma()),
        "htest.MMD, time series": MMD(null=WildBootstrap(199, 5)),
        "htest.MMD, slow cosines": MMD(null=WildBootstrap(199, None)),
        "htest.MMD, pairs": MMD(null=Permutation(199, paired=True)),
        "htest.MMDAgg, landmarks": MMDAgg(landmarks=100, null=P),
        "htest.Energy": Energy(null=P),
        "htest.Wasserstein": htest.Wasserstein(null=P),
        "htest.Kolmogorov": htest.Kolmogorov(null=P),
        "htest.SpanningTreeTest": htest.SpanningTreeTest(trees=1, null=Permutation(999)),
        "htest.Hotelling": Hotelling(null=Permutation(999)),
        "htest.LinearMMD": LinearMMD(),
        "htest.BlockMMD": BlockMMD(),
        "htest.CrossMMD": CrossMMD(),
        "htest.ME": ME(null=Permutation(999)),
        "htest.UME": UME(null=Permutation(999)),
        "htest.SCF": SCF(null=Permutation(999)),
        "htest.Equivalence": Equivalence(0.5),
    }.items()
} | {
    "htest.CrossMatch": of_test(htest.CrossMatch(), 2, n=250),
    "htest.ContextMMD": on_samples(
        lambda *s: htest.ContextMMD(resamples=19).test(*s, rng=0), 4, d=2, n=200
    ),
    "htest.ContextMMD, refused": of_test(htest.ContextMMD(), 4, n=2_000),
    "htest.DeepMMD": of_test(DEEP, 2, n=2_000),
    "htest.MMDAgg": of_test(MMDAgg(null=P), 2, n=1_200),
    "htest.MMDFuse": of_test(MMDFuse(null=P), 2, n=1_200),
    "htest.MaxMMD": of_test(MaxMMD(null=P), 2, n=1_200),
    "htest.KSample": of_test(KSample(null=P), 3, n=1_500),
    "htest.two_sample": of_two(lambda x, y: htest.two_sample(x, y, rng=0), n=600),
    "htest.feature_differences": of_two(
        lambda x, y: htest.feature_differences(x, y, rng=0), n=6_000
    ),
    "htest.power": of_two(lambda x, y: htest.power(MMD(K, null=P), x, y, runs=2, rng=0), n=1_500),
    "htest.power, asymptotic": of_two(
        lambda x, y: htest.power(MMD(K), x, y, n=[10, 20], asymptotic=True)
    ),
    "htest.sample_size": of_two(lambda x, y: htest.sample_size(MMD(K), x, y, asymptotic=True)),
    "htest.Monitor": of_two(lambda x, y: Monitor().update(x, y)),
    "htest.ME, optimized": of_two(lambda x, y: ME.optimized(x, y, rng=0), n=2_000),
    "htest.UME, optimized": of_two(lambda x, y: UME.optimized(x, y, rng=0), n=2_000),
    "htest.SCF, optimized": of_two(lambda x, y: SCF.optimized(x, y, rng=0), n=5_000),
    "htest.TwoSampleResult": of_two(told_of_two),
}

DEPENDENCE_CASES = {
    name: of_test(test, 2, n=2_500)
    for name, test in {
        "htest.HSIC": HSIC(null=P),
        "htest.HSIC, Spectrum": HSIC(null=Spectrum()),
        "htest.CrossHSIC": CrossHSIC(),
        "htest.BlockHSIC": BlockHSIC(),
        "htest.FourierHSIC": FourierHSIC(null=Permutation(999)),
        "htest.NystromHSIC": NystromHSIC(null=Permutation(999)),
        "htest.NFSIC": NFSIC(null=Permutation(999)),
        "htest.RDC": RDC(null=Permutation(299)),
        "htest.ShiftHSIC": ShiftHSIC(),
        "htest.HSIC, slow cosines": HSIC(null=WildBootstrap(199, None)),
    }.items()
} | {
    "htest.SerialHSIC": of_test(SerialHSIC(null=Permutation(99)), 1, n=2_500),
    "htest.HSIC, Gamma": of_test(HSIC(null=Gamma()), 2, n=2_000),
    "htest.HSIC, distances": of_test(
        HSIC(kernels.Energy(), kernels.Energy(), null=P), 2, d=1, n=4_000
    ),
    "htest.HSIC, blocks": of_two(
        lambda x, y: HSIC(null=Permutation(5, blocks=tuple(range(len(x) // 10)) * 10)).test(x, y)
    ),
    "htest.HSICAgg": of_test(HSICAgg(null=P), 2, n=600),
    "htest.DHSIC": of_test(DHSIC(null=P), 3, d=1, n=2_500),
    "htest.DHSIC, Gamma": of_test(DHSIC(null=Gamma()), 3, d=1, n=1_200),
    "htest.DHSIC, Bootstrap": of_test(DHSIC(null=Bootstrap(39)), 3, d=1, n=2_500),
    "htest.DHSIC, tiles": of_test(DHSIC(null=Permutation(2)), 3, n=2_500),
    "htest.Lancaster": of_test(Lancaster(null=P), 3, d=1, n=2_500),
    "htest.PartialCorrelation": of_test(htest.PartialCorrelation(), 3, n=10_000),
    "htest.PartialDistanceCorrelation": of_test(
        htest.PartialDistanceCorrelation(null=P), 3, n=1_500
    ),
    "htest.KCI": of_test(KCI(), 3, d=1, n=2_000),
    "htest.KCI, many columns": of_test(KCI(), 3, n=2_500),
    "htest.SplitKCI": of_test(SplitKCI(null=WildBootstrap(99)), 3, d=1, n=2_000),
    "htest.LocalPermutation": of_test(LocalPermutation(resamples=9), 3, d=1, n=2_500),
    "htest.MutualInformation": of_test(
        htest.MutualInformation(null=Permutation(9)), 2, d=1, n=2_500
    ),
    "htest.ConditionalMutualInformation": of_test(
        htest.ConditionalMutualInformation(resamples=5), 3, d=1, n=2_000
    ),
    "htest.TransferEntropy": of_test(htest.TransferEntropy(resamples=5), 2, d=1, n=2_000),
    "htest.CRT": of_test(CRT(resamples=9), 3, d=1, n=2_500),
    "htest.GCM": of_test(GCM(), 3, d=1, n=2_500),
    "htest.WeightedGCM": of_test(WeightedGCM(), 3, d=1, n=2_500),
    "htest.KernelGCM": of_test(KernelGCM(), 3, d=1, n=2_500),
    "htest.PCM": of_test(PCM(), 3, d=1, n=2_500),
    "htest.KCI, signs": of_test(KCI(null=WildBootstrap(99)), 3, d=1, n=2_500),
    "htest.RCoT": of_test(RCoT(), 3, n=10_000),
    "htest.RCIT": of_test(RCIT(), 3, n=10_000),
    "htest.independence": of_two(lambda x, y: htest.independence(x, y, rng=0), n=600, d=1),
    "htest.NFSIC, optimized": of_two(lambda x, y: NFSIC.optimized(x, y, rng=0), budget="32MiB"),
    "htest.pairwise_independence": on_samples(all_pairs(test=HSIC(null=P)), n=2_500),
    "htest.pairwise_independence, many columns": on_samples(
        all_pairs(test=HSIC(null=P)), d=60, n=6_000
    ),
    "htest.pairwise_independence, one column": on_samples(
        all_pairs(against=3, test=HSIC(null=P)), d=60, n=6_000, slow=True
    ),
    "htest.pairwise_independence, heavy tails": on_samples(  # of full rank, in 20 cosets
        lambda x: all_pairs(test=HSIC(null=Permutation(9_999)))(x**7), d=4, n=500
    ),
    "htest.post_selection": of_two(lambda x, y: htest.post_selection(x, y[:, 0], rng=0), n=10_000),
    "htest.WestfallYoung": on_samples(
        all_pairs(test=HSIC(null=Permutation(49_999)), correction=WestfallYoung()), d=8, n=500
    ),
    "htest.IndependenceResult": of_two(told_of_variables),
}

GOODNESS_CASES = {
    name: of_test(test, 1)
    for name, test in {
        "htest.KSD": KSD(NORMAL, null=WildBootstrap(499)),
        "htest.KSD, unbiased": KSD(NORMAL, K, unbiased=True, null=WildBootstrap(499)),
        "htest.FSSD": FSSD(NORMAL),
        "htest.LinearKSD": LinearKSD(NORMAL),
        "htest.RelativeKSD": RelativeKSD(NORMAL, Gaussian(np.ones(D), 1.0)),
    }.items()
} | {
    "htest.KSDAgg": of_test(KSDAgg(NORMAL, null=WildBootstrap(99)), 1, n=2_000),
    "htest.MMD, known distribution": on_samples(
        lambda x: MMD(K, null=Permutation(9)).test(x, NORMAL, rng=0).interval(), n=2_000
    ),
    "htest.AgainstDraws": of_test(AgainstDraws(NORMAL, MMD(K, null=P)), 1, n=2_000),
    "htest.Composite": of_test(Composite(Gaussian.fit, KSD, resamples=2), 1, n=2_000),
    "htest.FSSD, optimized": on_samples(lambda x: FSSD.optimized(NORMAL, x, rng=0)),
    "htest.goodness_of_fit": on_samples(lambda x: htest.goodness_of_fit(NORMAL, x, rng=0), n=1_200),
    "htest.GoodnessResult": on_samples(told_of_model, n=1_500),
}

LARGE = {"n": 20_000, "budget": "64MiB", "slow": True}
LARGE_CASES = {
    "htest.two_sample, large": of_two(lambda x, y: htest.two_sample(x, y, rng=0), **LARGE),
    "htest.MMD, Spectrum, large": of_test(MMD(null=Spectrum()), 2, **LARGE),
    "htest.MMDAgg, landmarks, large": of_test(MMDAgg(landmarks=300), 2, **LARGE),
    "htest.feature_differences, large": of_two(
        lambda x, y: htest.feature_differences(x, y, rng=0), **LARGE
    ),
    "htest.MMD, large": of_test(MMD(null=P), 2, **{**LARGE, "n": 10_000}),
    "htest.HSIC, large": of_test(HSIC(null=P), 2, **{**LARGE, "n": 10_000}),
    "htest.HSICAgg, large": of_test(HSICAgg(null=P), 2, n=2_500, slow=True),
    "htest.pairwise_independence, 31 columns": on_samples(
        all_pairs(), d=TABLE, n=569, budget="64MiB", slow=True
    ),
}

HTEST_CASES = {**SAMPLE_CASES, **DEPENDENCE_CASES, **GOODNESS_CASES, **LARGE_CASES}
