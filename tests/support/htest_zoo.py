"""One line per hypothesis test: an instance, where its null hypothesis holds, and where it does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

from mercer import kernels
from mercer.htest import (
    CRT,
    DHSIC,
    GCM,
    HSIC,
    KCI,
    KSD,
    MMD,
    PCM,
    RCIT,
    RDC,
    BlockHSIC,
    BlockMMD,
    Bootstrap,
    Composite,
    ConditionalMutualInformation,
    ContextMMD,
    CrossHSIC,
    CrossMatch,
    CrossMMD,
    DeepMMD,
    EmbeddingDraws,
    Energy,
    FourierHSIC,
    Gamma,
    Hotelling,
    HSICAgg,
    HypothesisTest,
    KernelGCM,
    Kolmogorov,
    KSample,
    KSDAgg,
    Lancaster,
    LinearKSD,
    LinearMMD,
    LocalPermutation,
    MaxMMD,
    MMDAgg,
    MMDFuse,
    MutualInformation,
    NystromHSIC,
    PartialCorrelation,
    PartialDistanceCorrelation,
    Permutation,
    PhaseSurrogates,
    RCoT,
    RelativeKSD,
    SerialHSIC,
    ShiftHSIC,
    ShiftSurrogates,
    SpanningTreeTest,
    Spectrum,
    SplitKCI,
    TransferEntropy,
    Wasserstein,
    WeightedGCM,
    WildBootstrap,
)
from mercer.kernels import RBF
from mercer.rkhs import Gaussian, LogDensity, Mixture, Uniform
from tests.support import htest_given as given

Samples = tuple[Any, ...]
Problem = Callable[[np.random.Generator, tuple[int, ...]], Samples]  # draws samples of these sizes


def same(d: int) -> Problem:
    """Gaussian, all samples alike."""
    return named(
        f"normal, d = {d}", lambda rng, sizes: tuple(rng.standard_normal((n, d)) for n in sizes)
    )


def named(name: str, problem: Problem) -> Problem:
    """The problem, with a name for tables."""
    problem.__name__ = name
    return problem


def counts(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
    """Poisson, all samples alike: many ties."""
    return tuple(rng.poisson(1.0, (n, 2)).astype(float) for n in sizes)


def coins(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
    """Heads and tails in three columns, all samples alike: eight different points."""
    return tuple(rng.integers(0, 2, (n, 3)).astype(float) for n in sizes)


def repeated(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
    """Rows that are in part the row before: serial dependence."""
    noise = rng.standard_normal((sizes[0] + 1, 2))
    return (noise[1:] + noise[:-1],)


def wider(d: int) -> Problem:
    """Gaussian; the last sample has a standard deviation of 1.7."""
    return lambda rng, sizes: tuple(
        (1.7 if i == len(sizes) - 1 else 1.0) * rng.standard_normal((n, d))
        for i, n in enumerate(sizes)
    )


def shifted(d: int) -> Problem:
    """Gaussian; the last sample is moved by 0.8 in every coordinate."""
    return lambda rng, sizes: tuple(
        rng.standard_normal((n, d)) + 0.8 * (i == len(sizes) - 1) for i, n in enumerate(sizes)
    )


def skewed(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
    """Exponential in two columns."""
    return tuple(rng.standard_exponential((n, 2)) for n in sizes)


def apart(dx: int, dy: int) -> Problem:
    """Two variables, Gaussian and exponential, that have nothing to do with each other."""

    def draw(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
        (n,) = sizes
        return rng.standard_normal((n, dx)), rng.exponential(size=(n, dy))

    return named(f"independent, d = {dx} and {dy}", draw)


def dice(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
    """Two variables of few values, independent of each other."""
    (n,) = sizes
    return rng.integers(0, 2, (n, 1)).astype(float), rng.poisson(1.0, (n, 2)).astype(float)


def letters(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
    """A column of categories and one of numbers, independent of each other."""
    (n,) = sizes
    names = rng.choice(["a", "b", "c", "d"], n, p=[0.5, 0.3, 0.15, 0.05])
    return pd.DataFrame({"letter": names}), pd.DataFrame({"number": rng.standard_normal(n)})


def tied(dx: int, dy: int) -> Problem:
    """The size of the first column of x makes the first of y larger."""

    def draw(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
        (n,) = sizes
        x, y = rng.standard_normal((n, dx)), rng.standard_normal((n, dy))
        y[:, 0] += 1.5 * np.abs(x[:, 0]) + x[:, 0]
        return x, y

    return draw


def several(*widths: int) -> Problem:
    """Variables of these widths that have nothing to do with each other, every second exponential."""

    def draw(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
        (n,) = sizes
        kinds = (rng.standard_normal, rng.standard_exponential)
        return tuple(kinds[k % 2]((n, d)) for k, d in enumerate(widths))

    return named(f"independent, d = {', '.join(map(str, widths))}", draw)


def three_dice(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
    """Three variables of few values, independent of each other."""
    (n,) = sizes
    return (*dice(rng, sizes), rng.integers(0, 3, (n, 1)).astype(float))


def two_of_three(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
    """The first and the third depend on each other, the second on none: there is no interaction."""
    (n,) = sizes
    x, y, z = rng.standard_normal((3, n, 1))
    return x, y, np.abs(x) + 0.5 * z


def parity(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
    """The signs of two decide that of the third, which is independent of each of them."""
    (n,) = sizes
    x, y, z = rng.standard_normal((3, n, 1))
    return x, y, np.abs(z) * np.sign(x * y)


def autoregressions(number: int, rho: float, d: int = 1) -> Problem:
    """Series x_t = rho x_(t-1) + e_t of d columns, independent of each other and alike."""

    def draw(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
        n = sizes[0]
        states = rng.standard_normal((n + 100, number * d))
        for t in range(1, n + 100):
            states[t] += rho * states[t - 1]
        return tuple(np.split(states[100:], number, axis=1))

    return named(f"{number} autoregressions, {rho:g}, d = {d}", draw)


def same_given(d: int) -> Problem:
    """x follows its context of d columns in the same way in both samples, whose contexts differ."""

    def draw(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
        contexts = [
            0.8 * i + (1.0 - 0.3 * i) * rng.standard_normal((n, d)) for i, n in enumerate(sizes)
        ]
        samples = [np.sin(2 * c) + c[:, :1] + 0.5 * rng.standard_normal(c.shape) for c in contexts]
        return (*samples, *contexts)

    return named(f"same given {d} columns", draw)


def changed_given_context(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
    """The second sample is moved by 0.6 beyond what its context explains."""
    x, y, *contexts = same_given(1)(rng, sizes)
    return (x, y + 0.6, *contexts)


def dice_in_time(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
    """Two series of few values that have nothing to do with each other."""
    (n,) = sizes
    return rng.integers(0, 2, n).astype(float), rng.poisson(1.0, n).astype(float)


def driven(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
    """A series, and another that follows it one step later."""
    (n,) = sizes
    source, noise = rng.standard_normal((2, n))
    return source, np.concatenate([noise[:1], source[:-1]]) + 0.7 * noise


@dataclass(frozen=True)
class Entry:
    test: HypothesisTest
    null: tuple[Problem, ...]
    alternative: Problem
    sizes: tuple[int, ...] = (60, 40)  # asymptotic tests: from which on they hold


def nulls(*dims: int) -> tuple[Problem, ...]:
    """Alike samples of numbers in so many dimensions, of counts, and of coins."""
    return (*(same(d) for d in dims), counts, coins)


def independents() -> tuple[Problem, ...]:
    """Independent variables of widths 1 to 50, unequal ones, of few values, and categories."""
    return apart(1, 1), apart(5, 1), apart(2, 50), apart(50, 50), letters, dice


def triples() -> tuple[Problem, ...]:
    """Three independent variables of widths 1 to 50, unequal ones, and of few values."""
    return several(1, 1, 1), several(5, 1, 50), several(50, 50, 50), three_dice


def linear_given(d: int) -> Problem:
    """x and y are linear in d columns of z, with Gaussian noise: independent given z."""

    def draw(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
        (n,) = sizes
        z = rng.standard_normal((n, d))
        return (*(z @ rng.normal(size=(d, 2)) + rng.standard_normal((n, 2)) for _ in "xy"), z)

    return named(f"linear given {d} columns", draw)


def conditionals() -> tuple[Problem, ...]:
    """x and y independent given z: nonlinear models, few values, categories."""
    numbers = (given.post_nonlinear(given.mean, 1), given.post_nonlinear(given.sums, 5))
    return (*numbers, given.switches, given.letters, given.classes)


def numbers_last(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """The second last problem, data frames, first: the quick check of the level takes what is second last."""
    return (problems[-2], *problems[:-2], problems[-1])


def short(thing: Any) -> str:
    """A configuration with what is not its default; without addresses."""
    if hasattr(thing, "__qualname__"):  # classes and functions
        return thing.__qualname__
    if not is_dataclass(thing) or isinstance(thing, Gaussian | LogDensity | Mixture | Uniform):
        words = repr(thing)
        return words if " at 0x" not in words else getattr(thing, "name", type(thing).__name__)
    held = ((f, getattr(thing, f.name)) for f in fields(thing))
    told = (f"{f.name}={short(v)}" for f, v in held if f.default is MISSING or v != f.default)
    return f"{type(thing).__name__}({', '.join(told)})"


def drawn(model: Gaussian | Mixture) -> Problem:
    """Draws from a model."""
    return named(f"{model!r}", lambda rng, sizes: tuple(model.sample(n, rng=rng) for n in sizes))


P = Permutation(199)
SIGNS = WildBootstrap(199)
BIMODAL = Mixture([Gaussian([0.0, 0.0], 1.0), Gaussian([3.0, 0.0], [0.5, 2.0])], [0.7, 0.3])
DCOV = HSIC(kernels.Energy(), kernels.Energy(), null=P)  # distance covariance
ZOO = [
    Entry(MMD(null=P), nulls(1, 5, 50), wider(5)),
    Entry(MMD(RBF(1.0), unbiased=False, null=P), nulls(1, 5), wider(5)),
    Entry(MaxMMD(null=P), nulls(1, 5, 50), wider(5)),
    Entry(MMDAgg(null=P), nulls(1, 5, 50), wider(5)),
    Entry(MMDAgg(null=P, landmarks=30), nulls(1, 5, 50), wider(5)),
    Entry(MMDFuse(null=P), nulls(1, 5, 50), wider(5)),
    Entry(Energy(null=P), nulls(1, 5, 50), shifted(5)),
    Entry(KSample(null=P), nulls(1, 5, 50), shifted(5), (40, 25, 35)),
    Entry(Hotelling(), nulls(1, 5, 50), shifted(5)),
    Entry(Wasserstein(null=P), nulls(1, 5, 50), shifted(5)),
    Entry(Kolmogorov(null=P), nulls(1, 5, 50), shifted(2)),
    Entry(CrossMatch(), nulls(1, 5, 50), shifted(5)),
    Entry(SpanningTreeTest(null=P), nulls(1, 5, 50), shifted(5)),
    Entry(LinearMMD(), nulls(1, 5, 50), shifted(5), (800, 500)),
    Entry(BlockMMD(), nulls(1, 5, 50), shifted(5), (800, 500)),
    Entry(CrossMMD(), nulls(1, 5, 50), shifted(5), (800, 500)),
    *([Entry(DeepMMD(steps=5, null=P), nulls(2), shifted(5))] if find_spec("torch") else []),
    Entry(
        ContextMMD(resamples=39), (same_given(1), same_given(2)), changed_given_context, (45, 40)
    ),
    Entry(HSIC(null=P), independents(), tied(3, 2), (100,)),
    Entry(HSIC(unbiased=True, null=P), independents(), tied(3, 2), (100,)),
    Entry(HSIC(null=Gamma()), independents(), tied(3, 2), (100,)),
    Entry(HSIC(null=Spectrum(999)), independents(), tied(3, 2), (100,)),
    Entry(DCOV, (*independents()[:4], dice), tied(3, 2), (100,)),
    Entry(HSICAgg(null=P), independents(), tied(3, 2), (100,)),
    Entry(CrossHSIC(), independents(), tied(3, 2), (500,)),
    Entry(BlockHSIC(), independents(), tied(3, 2), (500,)),
    Entry(FourierHSIC(null=P), (*independents()[:4], dice), tied(3, 2), (100,)),
    Entry(NystromHSIC(null=P), independents(), tied(3, 2), (100,)),
    Entry(RDC(null=P), (*independents()[:4], dice), tied(3, 2), (100,)),
    Entry(MutualInformation(null=Permutation(39)), numbers_last(independents()), tied(3, 2), (60,)),
    Entry(DHSIC(null=P), (*triples(), several(1, 2, 3, 4)), parity, (100,)),
    Entry(DHSIC(null=Gamma()), triples(), parity, (100,)),
    Entry(DHSIC(null=Bootstrap(199)), (*triples()[:2], three_dice), parity, (100,)),
    Entry(Lancaster(null=P), (*triples(), two_of_three), parity, (100,)),
    Entry(Lancaster(null=P, total=True), triples(), parity, (100,)),
    Entry(PartialCorrelation(), (linear_given(1), linear_given(3)), given.direct, (100,)),
    Entry(PartialDistanceCorrelation(null=P), triples(), given.direct, (100,)),
    Entry(KCI(), conditionals(), given.direct, (200,)),
    Entry(KCI(null=WildBootstrap(199)), conditionals(), given.direct, (200,)),
    Entry(RCoT(), conditionals(), given.direct, (200,)),
    Entry(RCIT(), conditionals(), given.direct, (200,)),
    Entry(GCM(), conditionals(), given.direct, (200,)),
    Entry(WeightedGCM(), conditionals(), given.direct, (200,)),
    Entry(KernelGCM(), conditionals(), given.direct, (200,)),
    Entry(PCM(), conditionals(), given.direct, (200,)),
    Entry(SplitKCI(null=SIGNS), conditionals(), given.direct, (200,)),
    Entry(LocalPermutation(resamples=39), conditionals(), given.direct, (200,)),
    Entry(
        ConditionalMutualInformation(resamples=19),
        numbers_last(conditionals()),
        given.direct,
        (50,),
    ),
    Entry(TransferEntropy(resamples=19), (autoregressions(2, 0.5), dice_in_time), driven, (50,)),
    Entry(CRT(EmbeddingDraws(), resamples=39), conditionals(), given.direct, (200,)),
    Entry(CRT(resamples=99), conditionals()[:2], given.direct, (200,)),
    Entry(ShiftHSIC(), (autoregressions(2, 0.8), *independents()), tied(3, 2), (200,)),
    Entry(HSIC(null=ShiftSurrogates()), (autoregressions(2, 0.8),), tied(3, 2), (200,)),
    Entry(HSIC(null=PhaseSurrogates(39)), (autoregressions(2, 0.5),), tied(3, 2), (100,)),
    Entry(SerialHSIC(null=P), nulls(1, 5), repeated, (100,)),
    Entry(KSD(Gaussian([0.0], 1.0), null=SIGNS), (same(1),), wider(1), (100,)),
    Entry(KSD(Gaussian([0.0] * 5, 1.0), unbiased=True, null=SIGNS), (same(5),), wider(5), (100,)),
    Entry(KSD(BIMODAL, RBF(1.0), null=SIGNS), (drawn(BIMODAL),), wider(2), (100,)),
    Entry(KSDAgg(Gaussian([0.0] * 5, 1.0), null=SIGNS), (same(5),), wider(5), (100,)),
    Entry(LinearKSD(Gaussian([0.0] * 5, 1.0)), (same(5),), shifted(5), (200,)),
    Entry(RelativeKSD(Gaussian(0.5, 1.0), Gaussian(-0.5, 1.0)), (same(1),), shifted(1), (100,)),
    Entry(Composite(Gaussian.fit, KSD, resamples=39), (same(2),), skewed, (50,)),
]
IDS = [short(e.test) for e in ZOO]
NULLS_CALIBRATED_ELSEWHERE = {  # no test of the zoo is configured with them
    "Bound": "tests/support/htest_levels.py",
    "Chi2": "tests/support/htest_levels.py",
    "ModelDraws": "tests/support/htest_goodness_levels.py",
    "Normal": "tests/htest/test_nulls.py",
}
CALIBRATED_ELSEWHERE = {  # what they say depends on more than on the samples
    "AgainstDraws": "tests/support/htest_goodness_levels.py",
    "DeepMMD": "benchmarks/reproductions/deep_power.py",  # an entry above, too, where torch is installed
    "Equivalence": "tests/support/htest_levels.py",
    "FSSD": "tests/calibration/test_goodness.py",
    "ME": "tests/support/htest_levels.py",
    "NFSIC": "tests/calibration/test_independence.py",
    "SCF": "tests/support/htest_levels.py",
    "UME": "tests/support/htest_levels.py",
}
