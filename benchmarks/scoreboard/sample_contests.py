"""Two-sample tests, k-sample tests and goodness of fit against hyppo, dcor, SciPy, statsmodels and POT."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.scoreboard.contest import SIZES, Call, Contest, Peer
from mercer import htest, kernels
from mercer.rkhs import Gaussian, SlicedWasserstein

RESAMPLES = 999
_BAGS = 10
_DIRECTIONS = 50
_DRAWS = 3000


@dataclass(frozen=True)
class Samples:
    """x; y, moved a little; u, which depends on x; z and w, which depend on nothing: each (n, d)."""

    x: np.ndarray
    y: np.ndarray
    u: np.ndarray
    z: np.ndarray
    w: np.ndarray


def samples(n: int, d: int) -> Samples:
    rng = np.random.default_rng(0)
    x, y, z, w = rng.standard_normal((4, n, d))
    y[:, 0] += 0.2
    return Samples(x, y, 0.3 * x + rng.standard_normal((n, d)), z, w)


def hyppo(module: str, name: str, **parameters: Any) -> Any:
    """A test of hyppo."""
    return getattr(importlib.import_module(f"hyppo.{module}"), name)(**parameters)


def permutations() -> htest.Permutation:
    return htest.Permutation(RESAMPLES)


def same_number(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(float(ours), float(theirs), rtol=1e-8, atol=1e-12)


# ---- hyppo ----------------------------------------------------------------------------------


def resampled(module: str, name: str, *fields: str, **parameters: Any) -> Peer:
    """A permutation test of hyppo on these fields of the samples."""

    def prepare(data: Samples) -> Call:
        test = hyppo(module, name, **parameters)
        given = [getattr(data, field) for field in fields]
        return lambda reps: test.test(*given, reps=reps, workers=1, auto=False, random_state=0)

    return Peer("hyppo", prepare, RESAMPLES)


def fitted(module: str, name: str, *fields: str) -> Peer:
    """A test of hyppo with its chi-square approximation."""

    def prepare(data: Samples) -> Call:
        test = hyppo(module, name)
        given = [getattr(data, field) for field in fields]
        return lambda: test.test(*given, auto=True)

    return Peer("hyppo", prepare)


def _random_features(name: str) -> Peer:
    def prepare(data: Samples) -> Call:
        test = hyppo("ksample", name)
        return lambda: test.test(data.x, data.y, random_state=1)

    return Peer("hyppo", prepare)


def _their_fssd(data: Samples) -> Call:
    from hyppo.kgof.density import IsotropicNormal
    from hyppo.kgof.fssd import FSSD, FSSDH0SimCovObs
    from hyppo.kgof.kernel import KGauss

    d = data.x.shape[1]
    model, kernel = IsotropicNormal(np.zeros(d), 1.0), KGauss(float(d))
    draws = FSSDH0SimCovObs(n_simulate=_DRAWS, seed=0)
    return lambda: FSSD(model, kernel, data.z[:5], null_sim=draws).test(data.x)


# ---- others ---------------------------------------------------------------------------------


def _energy_test(data: Samples) -> Call:
    import dcor

    return lambda resamples: dcor.homogeneity.energy_test(
        data.x, data.y, num_resamples=resamples, random_state=0
    )


def _energy_distance(data: Samples) -> Call:
    import dcor

    return lambda: dcor.energy_distance(data.x, data.y)


def _energy_on_the_line(data: Samples) -> Call:
    from scipy.stats import energy_distance

    x, y = data.x[:, 0], data.y[:, 0]
    return lambda: energy_distance(x, y) ** 2


def _means(data: Samples) -> Call:
    from statsmodels.stats.multivariate import test_mvmean_2indep

    return lambda: test_mvmean_2indep(data.x, data.y)


def _their_hotelling(data: Samples) -> Call:
    test = hyppo("ksample", "Hotelling")
    return lambda: test.test(data.x, data.y)


def _same_pvalue(ours: Any, theirs: Any) -> None:
    pvalue = getattr(theirs, "pvalue", None)
    same_number(ours.pvalue, theirs[1] if pvalue is None else pvalue)


def _bags(data: Samples) -> list[np.ndarray]:
    return np.array_split(data.x, _BAGS)


def _sliced(data: Samples) -> Call:
    import ot

    bags = _bags(data)
    return lambda: [
        ot.sliced_wasserstein_distance(a, b, n_projections=_DIRECTIONS, seed=0)
        for i, a in enumerate(bags)
        for b in bags[:i]
    ]


def _ours(test: htest.HypothesisTest, *fields: str, **named: Any) -> Any:
    """The call of a test of ours on these fields of the samples."""
    return lambda data: lambda: test.test(*(getattr(data, field) for field in fields), **named)


def _fssd(data: Samples) -> Call:
    d = data.x.shape[1]
    model, kernel = Gaussian(np.zeros(d), np.eye(d)), kernels.RBF(d**0.5)
    test = htest.FSSD(model, kernel, locations=data.z[:5], null=htest.Spectrum(_DRAWS))
    return lambda: test.test(data.x, rng=0)


_PERMUTED = f"{RESAMPLES} permutations, n points in each sample"

CONTESTS = [
    Contest(
        "MMD",
        f"Gaussian kernel at the median distance, {_PERMUTED}",
        samples,
        _ours(htest.MMD(null=permutations()), "x", "y", rng=0),
        (resampled("ksample", "MMD", "x", "y"),),
    ),
    Contest(
        "MMD, fitted null",
        "a p-value without permutations: gamma; hyppo: chi-square",
        samples,
        _ours(htest.MMD(null=htest.Gamma()), "x", "y"),
        (fitted("ksample", "MMD", "x", "y"),),
    ),
    Contest(
        "Energy",
        _PERMUTED,
        samples,
        _ours(htest.Energy(null=permutations()), "x", "y", rng=0),
        (Peer("dcor", _energy_test, RESAMPLES), resampled("ksample", "Energy", "x", "y")),
    ),
    Contest(
        "Energy, fitted null",
        "a p-value without permutations: gamma; hyppo: chi-square",
        samples,
        _ours(htest.Energy(null=htest.Gamma()), "x", "y"),
        (fitted("ksample", "Energy", "x", "y"),),
    ),
    Contest(
        "energy distance",
        "the number",
        samples,
        lambda data: lambda: htest.Energy().statistic(data.x, data.y),
        (Peer("dcor", _energy_distance, agrees=same_number),),
    ),
    Contest(
        "energy distance, d = 1",
        "the number, on the line",
        samples,
        lambda data: lambda: htest.Energy().statistic(data.x, data.y),
        (Peer("SciPy", _energy_on_the_line, agrees=same_number),),
        dims=(1,),
    ),
    Contest(
        "KSample",
        f"three samples, Gaussian kernel, {_PERMUTED}",
        samples,
        _ours(htest.KSample(null=permutations()), "x", "y", "z", rng=0),
        (resampled("ksample", "KSample", "x", "y", "z", indep_test="Hsic"),),
    ),
    Contest(
        "KSample, distances",
        f"three samples, distances (DISCO), {_PERMUTED}",
        samples,
        _ours(htest.KSample(kernels.Energy(), null=permutations()), "x", "y", "z", rng=0),
        (resampled("ksample", "DISCO", "x", "y", "z"),),
    ),
    Contest(
        "Hotelling",
        "T^2 and its p-value",
        samples,
        _ours(htest.Hotelling(), "x", "y"),
        (
            Peer("hyppo", _their_hotelling, agrees=_same_pvalue),
            Peer("statsmodels", _means, agrees=_same_pvalue),
        ),
    ),
    Contest(
        "ME",
        "Gaussian kernel of bandwidth 1, 5 random locations, chi-square",
        samples,
        _ours(htest.ME(kernels.RBF(1.0), null=htest.Chi2()), "x", "y", rng=0),
        (_random_features("MeanEmbeddingTest"),),
        sizes=SIZES[1:],  # with 50 observations ours refuses the chi-square
    ),
    Contest(
        "SCF",
        "bandwidth 1, 5 random frequencies, chi-square",
        samples,
        _ours(htest.SCF(1.0, null=htest.Chi2()), "x", "y", rng=0),
        (_random_features("SmoothCFTest"),),
        sizes=SIZES[1:],  # with 50 observations ours refuses the chi-square
    ),
    Contest(
        "FSSD",
        "a normal model, 5 locations, 3,000 draws of the limiting null",
        samples,
        _fssd,
        (Peer("hyppo", _their_fssd),),
    ),
    Contest(
        "SlicedWasserstein",
        f"all pairs of {_BAGS} bags of n / {_BAGS} points, {_DIRECTIONS} directions",
        samples,
        lambda data: lambda: SlicedWasserstein(1.0, directions=_DIRECTIONS)(_bags(data)),
        (Peer("POT", _sliced),),
        sizes=SIZES[1:],
    ),
]
