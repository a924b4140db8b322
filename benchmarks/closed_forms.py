"""Every closed form of an expected kernel beside Monte Carlo: ``python -m benchmarks.closed_forms``.

Distributions have unequal covariances that do not commute, unequal means, weights, and boxes that overlap
or lie apart. An error is measured in standard errors of the mean over the draws.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from benchmarks.report import Bar, Report, Table, markdown, save
from mercer.kernels import RBF, Constant, Kernel, Linear, Polynomial, Tensor
from mercer.rkhs import Dirac, Empirical, Gaussian, MeanMap, Mixture, ProbabilityProduct, Uniform

RESULTS = Path(__file__).parent / "results"
D = 3
BAR = 4.0  # standard errors


def _matrix(rng: np.random.Generator) -> np.ndarray:
    a = rng.normal(size=(D, D))
    return 0.3 * a @ a.T + 0.1 * np.eye(D)


def gaussians() -> dict[str, Any]:
    """All kinds of covariances, a mixture, a weighted sample and a point."""
    rng = np.random.default_rng(0)
    first, second = (Gaussian(rng.normal(size=D), _matrix(rng)) for _ in range(2))
    return {
        "full": first,
        "other": second,
        "diagonal": Gaussian(rng.normal(size=D), [0.2, 1.0, 0.5]),
        "isotropic": Gaussian(rng.normal(size=D), 0.7),
        "mixture": Mixture([first, Gaussian(np.ones(D), 0.3)], [0.3, 0.7]),
        "sample": Empirical(rng.normal(size=(5, D)), [0.1, 0.2, 0.3, 0.2, 0.2]),
        "point": Dirac(rng.normal(size=D)),
    }


def boxes() -> dict[str, Any]:
    """Boxes inside of each other and apart, and what a box meets in closed form."""
    return {
        "box": Uniform([0.0, 0.0, 0.0], [1.0, 2.0, 0.5]),
        "around it": Uniform([-1.0, -1.0, -3.0], [1.0, 3.0, 0.5]),
        "apart": Uniform([2.0, 2.0, 2.0], [2.1, 5.0, 3.0]),
        "diagonal": Gaussian([0.0, 1.0, 0.0], [0.2, 1.0, 2.0]),
        "sample": Empirical(np.random.default_rng(3).normal(size=(4, D))),
        "mixture": Mixture([Uniform([0.0] * D, [1.0] * D), Gaussian([1.0] * D, 0.5)], [0.6, 0.4]),
    }


def blocks() -> dict[str, Any]:
    """Gaussians whose first coordinate is independent of the two others, which depend on each other."""
    found = {}
    for i, name in enumerate(("block", "other block")):
        rng = np.random.default_rng(10 + i)
        cov = _matrix(rng)
        cov[0, 1:] = cov[1:, 0] = 0.0
        found[name] = Gaussian(rng.normal(size=D), cov)
    return {**found, **{k: v for k, v in boxes().items() if k in ("diagonal", "sample")}}


def densities() -> dict[str, Any]:
    """Those of which products of densities are taken."""
    return {k: v for k, v in gaussians().items() if k in ("full", "other", "diagonal", "mixture")}


GAUSSIAN_RULES: list[Kernel] = [
    RBF(1.3),
    Linear(),
    Linear(((2.0, 0.5, 0.0), (0.5, 1.0, 0.0), (0.0, 0.0, 3.0))),
    Polynomial(2, 1.0),
    Polynomial(3, 0.5),
    Polynomial(4, 1.0),
    Polynomial(5, 0.3),
    2.0 * RBF(0.7) + Linear(),
    RBF(1.0) + Constant(0.5),
    RBF(1.0).scaled((1.0, -0.5, 2.0)),
    RBF(1.0).select([0, 2]),
]
BOX_RULES: list[Kernel] = [
    RBF(1.3),
    RBF(0.5),
    Linear(),
    Tensor(RBF(1.0), RBF(2.0), widths=(1, 2)),
]
BLOCK_RULES: list[Kernel] = [
    Tensor(RBF(1.0), RBF(2.0), widths=(1, 2)),
    Tensor(RBF(0.7), Polynomial(2, 1.0), widths=(1, 2)),
    RBF(0.7).select([2, 1]) * RBF(1.5).select([0]),
]
POWERS = (0.5, 0.8, 1.0)


@dataclass(frozen=True)
class Errors:
    """A rule against Monte Carlo, over all pairs of some distributions."""

    rule: str
    of: str
    errors: dict[str, float]  # in standard errors

    @property
    def worst(self) -> float:
        return max(self.errors.values())

    def row(self) -> dict[str, Any]:
        """A line of the table."""
        where = max(self.errors, key=self.errors.__getitem__)
        return {
            "rule": self.rule,
            "distributions": self.of,
            "pairs": len(self.errors),
            "worst error / standard error": self.worst,
            "where": where,
        }


def expected(kernel: Kernel, of: dict[str, Any], name: str, draws: int, seed: int = 1) -> Errors:
    """`MeanMap` of the kernel against means of k over draws of both."""
    rng = np.random.default_rng(seed)
    found = MeanMap(kernel)(list(of.values()))
    errors = {}
    for (i, p), (j, q) in combinations_with_replacement(enumerate(of), 2):
        values = kernel.paired(of[p].sample(draws, rng=rng), of[q].sample(draws, rng=rng))
        errors[f"{p}, {q}"] = _error(np.asarray(values), found[i, j])
    return Errors(repr(kernel), name, errors)


def products(rho: float, draws: int) -> Errors:
    """`ProbabilityProduct` against means of p^r q^r / h over draws of h, which has mass where p or q has."""
    rng = np.random.default_rng(int(400 + 10 * rho))
    of = densities()
    if rho != 1:
        del of["mixture"]
    found = ProbabilityProduct(rho)(list(of.values()))
    wide = Gaussian(np.zeros(D), 4.0)
    errors = {}
    for (i, p), (j, q) in combinations_with_replacement(enumerate(of), 2):
        draw = Mixture([of[p], of[q], wide], [0.4, 0.4, 0.2])
        x = draw.sample(draws, rng=rng)
        logs = rho * (of[p].log_density(x) + of[q].log_density(x)) - draw.log_density(x)
        errors[f"{p}, {q}"] = _error(np.exp(logs), found[i, j])
    return Errors(f"ProbabilityProduct(rho={rho})", "densities", errors)


def _error(values: np.ndarray, exact: float) -> float:
    """In standard errors; beside them rounding of what does not vary."""
    spread = values.std() / np.sqrt(len(values)) + 1e-10
    return float(abs(values.mean() - exact) / spread)


def everything(draws: int) -> Iterator[Errors]:
    """All rules, one after the other."""
    for i, kernel in enumerate(GAUSSIAN_RULES):
        yield expected(kernel, gaussians(), "Gaussians, mixtures", draws, 100 + i)
    for i, kernel in enumerate(BOX_RULES):
        yield expected(kernel, boxes(), "boxes", draws, 200 + i)
    for i, kernel in enumerate(BLOCK_RULES):
        yield expected(kernel, blocks(), "independent groups", draws, 300 + i)
    for rho in POWERS:
        yield products(rho, draws)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1_000_000)
    parser.add_argument("--results", type=Path, default=RESULTS)
    told = parser.parse_args()
    found = list(everything(told.draws))
    pairs = [error for errors in found for error in errors.errors.values()]
    chance = NormalDist().inv_cdf(1 - 0.5 / len(pairs))
    note = (
        f"{len(pairs)} closed forms against {told.draws:,} draws each; the largest of so many "
        f"errors that are chance alone is about {chance:.1f}."
    )
    table = Table(f"Closed forms and {told.draws:,} draws", [e.row() for e in found], note)
    bars = [Bar("error / standard error", BAR, max(pairs))]
    report = Report("Closed forms of expected kernels", [table], bars)
    save(report, told.results, "closed_forms")
    print(markdown(report))
    return 0 if all(bar.holds for bar in bars) else 1


if __name__ == "__main__":
    raise SystemExit(main())
