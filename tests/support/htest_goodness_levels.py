"""Null runs of goodness-of-fit tests: draws from their models, independent ones and those of chains.

Driven by `pytest -m slow tests/calibration` and, with a table, by
`python -m benchmarks.reproductions.goodness_level`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import expon, norm, pareto, uniform
from sklearn.mixture import GaussianMixture

from mercer.htest import (
    FSSD,
    KSD,
    ME,
    MMD,
    AgainstDraws,
    Bound,
    Composite,
    Gamma,
    KSDAgg,
    LinearKSD,
    LinearMMD,
    MMDAgg,
    ModelDraws,
    Null,
    RelativeKSD,
    Spectrum,
    WildBootstrap,
)
from mercer.kernels import RBF
from mercer.rkhs import Gaussian, LogDensity, Mixture, Uniform
from tests.support.htest_levels import LEVEL, Cell, cell, grid
from tests.support.htest_zoo import SIGNS, ZOO, P, Problem, Samples, drawn, named, same, short

DIMENSIONS, SIZES = (1, 5, 10), (100, 500)
BLOCKS = WildBootstrap(199, block=None)


def normal(d: int) -> Gaussian:
    return Gaussian(np.zeros(d), 1.0)


def mixed(d: int) -> Mixture:
    """Two parts of different widths."""
    return Mixture([normal(d), Gaussian(np.full(d, 2.0), np.linspace(0.3, 2.0, d))], [0.3, 0.7])


def chains(rho: float, d: int) -> Problem:
    """Autoregressions whose distribution is standard normal."""

    def draw(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
        (n,) = sizes
        x = rng.standard_normal((n, d))
        for t in range(1, n):
            x[t] = rho * x[t - 1] + np.sqrt(1 - rho**2) * x[t]
        return (x,)

    return named(f"chain, {rho:g}, d = {d}", draw)


def correlated(d: int) -> Problem:
    """Gaussian, with means and a covariance matrix that are not those of the standard one."""
    model = Gaussian(np.arange(d) - 1.0, 0.5 + np.diag(np.linspace(0.5, 2.0, d)))
    return named(f"correlated normal, d = {d}", drawn(model))


@dataclass(frozen=True)
class ByMMD:
    """model -> the test against draws from it."""

    def __call__(self, model: Any) -> AgainstDraws:
        return AgainstDraws(model, MMD())


def from_the_zoo() -> Iterator[Cell]:
    for entry in ZOO:
        if type(entry.test).__module__.startswith("mercer.htest.goodness"):
            yield from grid([entry.test], entry.null, entry.sizes)


def by_all_pairs() -> Iterator[Cell]:
    for d in DIMENSIONS:
        for n in SIZES:
            for test in (
                KSD(normal(d), null=SIGNS),
                KSD(normal(d), unbiased=True, null=SIGNS),
                KSD(normal(d), RBF(float(d) ** 0.5), null=SIGNS),
            ):
                yield cell(test, same(d), (n,))
            yield cell(KSD(mixed(d), null=SIGNS), drawn(mixed(d)), (n,))


def aggregated() -> Iterator[Cell]:
    for d in DIMENSIONS:
        for n in SIZES:
            yield cell(KSDAgg(normal(d), null=SIGNS), same(d), (n,))
            yield cell(KSDAgg(mixed(d), null=SIGNS), drawn(mixed(d)), (n,))


def by_pairs() -> Iterator[Cell]:
    for d in DIMENSIONS:
        for n in SIZES:
            yield cell(LinearKSD(normal(d)), same(d), (n,))
            yield cell(LinearKSD(mixed(d), RBF(2.0)), drawn(mixed(d)), (n,))


def of_chains() -> Iterator[Cell]:
    for d in DIMENSIONS:
        for rho in (0.0, 0.5, 0.8):
            yield cell(KSD(normal(d), null=BLOCKS), chains(rho, d), (500,))
        yield cell(KSDAgg(normal(d), null=BLOCKS), chains(0.8, d), (500,))


def of_families() -> Iterator[Cell]:
    """Models that are fitted to what they are tested on."""
    for d in DIMENSIONS:
        for n in SIZES:
            yield cell(Composite(Gaussian.fit, KSD, resamples=39), correlated(d), (n,))
        for by in (FSSD, KSDAgg, ByMMD()):
            yield cell(Composite(Gaussian.fit, by, resamples=39), correlated(d), (100,))
    yield cell(Composite(norm, KSD, resamples=39), same(1), (100,))
    two = GaussianMixture(2, covariance_type="diag")
    for d in (1, 5):
        yield cell(Composite(two, KSD, resamples=19), drawn(mixed(d)), (200,))


def pareto_from_zero(x: np.ndarray) -> Any:
    """The Pareto distribution with the shape and scale of maximum likelihood."""
    return pareto(*pareto.fit(x, floc=0))


def of_fitted_supports() -> Iterator[Cell]:
    """Families whose bounds are fitted, so that observations lie on them."""
    families = (
        (expon, named("exponential from 7 on", lambda rng, n: (7 + rng.exponential(2.0, n),))),
        (uniform, named("uniform between -3 and 9", lambda rng, n: (rng.uniform(-3, 9, n),))),
        (pareto_from_zero, named("Pareto", lambda rng, n: (0.3 + 0.3 * rng.pareto(1.5, n),))),
    )
    for fit, problem in families:
        yield cell(Composite(fit, KSD, resamples=39), problem, (30,))
    yield cell(Composite(expon, KSD, resamples=39), families[0][1], (100,))


def against_draws() -> Iterator[Cell]:
    for d in DIMENSIONS:
        for test in (MMD(null=P), ME(), MMDAgg(null=P)):
            yield cell(AgainstDraws(mixed(d), test), drawn(mixed(d)), (100,))
        for test in (ME(), LinearMMD()):
            yield cell(AgainstDraws(mixed(d), test), drawn(mixed(d)), (500,))
        yield cell(AgainstDraws(mixed(d), MMD(null=P), draws=400), drawn(mixed(d)), (100,))


def by_embedding() -> Iterator[Cell]:
    """MMD of a sample and the exact embedding of a distribution."""
    for d in DIMENSIONS:
        box = Uniform(np.zeros(d), np.linspace(1.0, 3.0, d))
        for model, told in ((normal(d), "normal"), (mixed(d), "mixture"), (box, "uniform")):
            for null in (P, Gamma(), Spectrum(999), Bound()):
                yield _embedded(model, null, f"{told}, d = {d}")


def _embedded(model: Any, null: Null, told: str) -> Cell:
    def rejects(rng: np.random.Generator) -> bool:
        return MMD(null=null).test(model.sample(60, rng=rng), model, rng=rng).rejects(LEVEL)

    conservative = isinstance(null, Bound)
    name = f"{short(MMD(null=null))} to its distribution"
    return Cell(name, told, (60,), rejects, conservative=conservative)


def of_two_models() -> Iterator[Cell]:
    """Models that are wrong by as much, clearly or hardly; one of them by its mean, one by its width."""
    for d in DIMENSIONS:
        for n in SIZES:
            for shift in (0.05, 0.5):
                sides = (Gaussian(np.full(d, s), 1.0) for s in (shift, -shift))
                told = named(f"normal, d = {d}, models moved by {shift:g}", same(d))
                yield cell(RelativeKSD(*sides), told, (n,))


def at_locations() -> Iterator[Cell]:
    for d in DIMENSIONS:
        for n in SIZES:
            yield cell(FSSD(normal(d)), same(d), (n,))
            yield cell(FSSD(normal(d), null=ModelDraws(2000)), same(d), (n,))
            yield cell(FSSD(mixed(d), RBF(2.0), locations=10), drawn(mixed(d)), (n,))


def learnt() -> Iterator[Cell]:
    """At locations and with a width that were learnt from a hundred other draws."""
    for d in DIMENSIONS:
        for n in SIZES:
            yield _learnt(d, n)


def _learnt(d: int, n: int) -> Cell:
    def rejects(rng: np.random.Generator) -> bool:
        test = FSSD.optimized(normal(d), *same(d)(rng, (100,)), rng=rng)
        return test.test(*same(d)(rng, (n,)), rng=rng).rejects(LEVEL)

    return Cell("FSSD.optimized", same(d).__name__, (n,), rejects)


def gamma2(x: np.ndarray) -> np.ndarray:
    """Of independent gamma variables of shape 2, up to a constant."""
    return np.sum(np.log(x) - x, axis=1)


def gamma2_score(x: np.ndarray) -> np.ndarray:
    """Its gradient."""
    return 1 / x - 1


def with_borders() -> Iterator[Cell]:
    """Compared in coordinates that have none."""
    waits = LogDensity(gamma2, gradient=gamma2_score, support=(0.0, np.inf))
    for d in DIMENSIONS:
        box = Uniform(np.zeros(d), np.linspace(1.0, 3.0, d))
        gammas = named(
            f"gamma, d = {d}", lambda rng, sizes, d=d: (rng.gamma(2.0, size=(*sizes, d)),)
        )
        for n in SIZES:
            yield cell(KSD(box, null=SIGNS), named(f"uniform, d = {d}", drawn(box)), (n,))
            yield cell(KSD(waits, null=SIGNS), gammas, (n,))
            yield cell(FSSD(waits), gammas, (n,))


CELLS = {
    found.name: found
    for part in (
        from_the_zoo,
        by_all_pairs,
        aggregated,
        by_pairs,
        of_chains,
        of_two_models,
        against_draws,
        by_embedding,
        of_families,
        of_fitted_supports,
        at_locations,
        learnt,
        with_borders,
    )
    for found in part()
}
