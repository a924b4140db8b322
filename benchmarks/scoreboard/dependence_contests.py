"""Tests and measures of dependence against hyppo, dcor and causal-learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.scoreboard.contest import Call, Contest, Peer
from benchmarks.scoreboard.sample_contests import (
    RESAMPLES,
    Samples,
    fitted,
    hyppo,
    permutations,
    resampled,
    same_number,
    samples,
)
from mercer import htest, kernels, rkhs

_DISTANCE = kernels.Energy()


def _columns(points: np.ndarray) -> np.ndarray:
    """dcor takes numbers as vectors, and is fast on them."""
    return points[:, 0] if points.shape[1] == 1 else points


def _their_dhsic(data: Samples) -> Call:
    test = hyppo("d_variate", "dHsic")
    return lambda reps: test.test(data.x, data.u, data.z, reps=reps, workers=1)


def _distance_test(data: Samples) -> Call:
    import dcor

    x, u = _columns(data.x), _columns(data.u)
    return lambda resamples: dcor.independence.distance_covariance_test(
        x, u, num_resamples=resamples, random_state=0
    )


def _measure(name: str) -> Any:
    """A number of dcor."""

    def prepare(data: Samples) -> Call:
        import dcor

        x, u = _columns(data.x), _columns(data.u)
        return lambda: getattr(dcor, name)(x, u)

    return prepare


def _kci(conditional: bool, **parameters: Any) -> Any:
    """causal-learn's kernel tests, at the median distance."""

    def prepare(data: Samples) -> Call:
        from causallearn.utils.KCI import KCI

        if conditional:
            test = KCI.KCI_CInd(est_width="median", **parameters)
            return lambda: test.compute_pvalue(data.x, data.u, data.z)
        test = KCI.KCI_UInd(est_width="median", **parameters)
        return lambda: test.compute_pvalue(data.x, data.u)

    return prepare


def _random_features(name: str, **parameters: Any) -> Any:
    """causal-learn's tests by random Fourier features."""

    def prepare(data: Samples) -> Call:
        from causallearn.utils.RCIT import RCIT

        test = getattr(RCIT, name)(**parameters)
        given = (data.x, data.u) if name == "RIT" else (data.x, data.u, data.z)
        return lambda: test.compute_pvalue(*given)

    return prepare


def _table(data: Samples) -> np.ndarray:
    return np.hstack([v[:, :1] for v in (data.x, data.u, data.y, data.z, data.w)])


def _pairs(data: Samples) -> Call:
    import dcor

    table = _table(data)

    def call(resamples: int) -> list[Any]:
        test = dcor.independence.distance_covariance_test
        return [
            test(table[:, i], table[:, j], num_resamples=resamples, random_state=0)
            for j in range(table.shape[1])
            for i in range(j)
        ]

    return call


def _ours(test: htest.HypothesisTest, **named: Any) -> Any:
    return lambda data: lambda: test.test(data.x, data.u, **named)


def _given(test: htest.HypothesisTest, **named: Any) -> Any:
    return lambda data: lambda: test.test(data.x, data.u, data.z, **named)


CONTESTS = [
    Contest(
        "HSIC",
        f"Gaussian kernels, {RESAMPLES} permutations",
        samples,
        _ours(htest.HSIC(null=permutations()), rng=0),
        (resampled("independence", "Hsic", "x", "u"),),
    ),
    Contest(
        "HSIC, fitted null",
        "a p-value without permutations: gamma; hyppo: chi-square",
        samples,
        _ours(htest.HSIC(null=htest.Gamma())),
        (fitted("independence", "Hsic", "x", "u"), Peer("causal-learn", _kci(False))),
    ),
    Contest(
        "HSIC, spectrum",
        "1,000 draws of the limiting null",
        samples,
        _ours(htest.HSIC(null=htest.Spectrum(1000)), rng=0),
        (Peer("causal-learn", _kci(False, approx=False)),),
    ),
    Contest(
        "distance covariance test",
        f"{RESAMPLES} permutations",
        samples,
        _ours(htest.HSIC(_DISTANCE, _DISTANCE, null=permutations()), rng=0),
        (Peer("dcor", _distance_test, RESAMPLES), resampled("independence", "Dcorr", "x", "u")),
    ),
    Contest(
        "distance covariance test, d = 1",
        f"numbers, {RESAMPLES} permutations",
        samples,
        _ours(htest.HSIC(_DISTANCE, _DISTANCE, null=permutations()), rng=0),
        (Peer("dcor", _distance_test, RESAMPLES), resampled("independence", "Dcorr", "x", "u")),
        dims=(1,),
    ),
    Contest(
        "distance covariance test, fitted null",
        "a p-value without permutations: gamma; hyppo: chi-square",
        samples,
        _ours(htest.HSIC(_DISTANCE, _DISTANCE, null=htest.Gamma())),
        (fitted("independence", "Dcorr", "x", "u"),),
        dims=(1, 2, 20),
    ),
    Contest(
        "distance covariance",
        "the number",
        samples,
        lambda data: lambda: 4 * rkhs.hsic(_DISTANCE, _DISTANCE, data.x, data.u),
        (Peer("dcor", _measure("distance_covariance_sqr"), agrees=same_number),),
        dims=(1, 2, 20),
    ),
    Contest(
        "distance correlation",
        "the number",
        samples,
        lambda data: lambda: rkhs.cka(_DISTANCE, _DISTANCE, data.x, data.u),
        (Peer("dcor", _measure("distance_correlation_sqr"), agrees=same_number),),
        dims=(1, 2, 20),
    ),
    Contest(
        "distance correlation, unbiased",
        "the number",
        samples,
        lambda data: lambda: rkhs.cka(_DISTANCE, _DISTANCE, data.x, data.u, unbiased=True),
        (Peer("dcor", _measure("u_distance_correlation_sqr"), agrees=same_number),),
        dims=(1, 2, 20),
    ),
    Contest(
        "pairwise independence",
        f"all pairs of 5 columns, distance covariance, {RESAMPLES} permutations",
        samples,
        lambda data: lambda: htest.pairwise_independence(_table(data), rng=0),
        (Peer("dcor", _pairs, RESAMPLES),),
        dims=(1,),
    ),
    Contest(
        "DHSIC",
        f"three variables, Gaussian kernels, {RESAMPLES} permutations",
        samples,
        _given(htest.DHSIC(null=permutations()), rng=0),
        (Peer("hyppo", _their_dhsic, RESAMPLES),),
    ),
    Contest(
        "FourierHSIC",
        "6 random Fourier features of each variable (causal-learn: 5), fitted null",
        samples,
        _ours(htest.FourierHSIC(frequencies=3, null=htest.Gamma()), rng=0),
        (Peer("causal-learn", _random_features("RIT")),),
    ),
    Contest(
        "KCI",
        "conditional independence, gamma",
        samples,
        _given(htest.KCI()),
        (Peer("causal-learn", _kci(True)),),
    ),
    Contest(
        "RCoT",
        "conditional independence, random features",
        samples,
        _given(htest.RCoT(), rng=0),
        (Peer("causal-learn", _random_features("RCIT", rcit=False)),),
    ),
    Contest(
        "RCIT",
        "conditional independence, random features",
        samples,
        _given(htest.RCIT(), rng=0),
        (Peer("causal-learn", _random_features("RCIT", rcit=True)),),
    ),
]
