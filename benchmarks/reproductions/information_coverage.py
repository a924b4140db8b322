"""python -m benchmarks.reproductions.information_coverage: how often intervals of `mercer.info.estimate` hold the truth.

Entropies, divergences and informations whose values are known; mutual information also of small samples, and of independent
variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.reproductions.information_laws import DEPENDENT, INDEPENDENT
from benchmarks.reproductions.plan import Plan
from benchmarks.reproductions.records import Record, Store, heading, table
from mercer.info import (
    MillerMadow,
    PlugIn,
    divergence,
    entropy,
    estimate,
    mutual_information,
    transfer_entropy,
)
from mercer.rkhs import Gaussian

SIZE, SMALL, RUNS = 1000, 263, 400
P, Q = Gaussian(0.0, 1.0), Gaussian(0.7, 1.5)
SHARES = np.arange(1, 9) / 36


def _pair(n: int, d: int, rho: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.standard_normal((n, d))
    return x, rho * x + np.sqrt(1 - rho**2) * rng.standard_normal((n, d))


def _driven(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x, noise = rng.standard_normal((2, n))
    return x, np.concatenate([[0.0], x[:-1]]) + noise


def _mixed(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.integers(0, 5, n)
    return x, x + 2 * rng.uniform(size=n)


Problem = tuple[Callable[..., float], Callable[[int, Any], Any], float, dict[str, Any]]
PROBLEMS: dict[str, Problem] = {
    "entropy, Gaussian, d = 1": (
        entropy, lambda n, rng: (rng.standard_normal(n),), np.log(2 * np.pi * np.e) / 2, {},
    ),
    "entropy, uniform, d = 2": (entropy, lambda n, rng: (rng.uniform(size=(n, 2)),), 0.0, {}),
    "entropy, exponential, d = 1": (entropy, lambda n, rng: (rng.exponential(size=n),), 1.0, {}),
    "entropy, 8 values": (
        entropy, lambda n, rng: (rng.choice(8, n, p=SHARES),), -np.sum(SHARES * np.log(SHARES)),
        {"estimator": PlugIn(MillerMadow())},
    ),
    "divergence, Gaussians": (
        divergence, lambda n, rng: (P.sample(n, rng=rng), Q.sample(n, rng=rng)), divergence(P, Q), {},
    ),
    "information, 1 + 1, rho = 0.6": (
        mutual_information, lambda n, rng: _pair(n, 1, 0.6, rng), -np.log(1 - 0.36) / 2, {},
    ),
    "information, 3 + 3, rho = 0.5": (
        mutual_information, lambda n, rng: _pair(n, 3, 0.5, rng), -3 * np.log(1 - 0.25) / 2, {},
    ),
    "information, discrete and continuous": (
        mutual_information, _mixed, np.log(5) - 0.8 * np.log(2), {},
    ),
    "transfer entropy": (transfer_entropy, _driven, np.log(2) / 2, {"lags": 1}),
}  # fmt: skip
IN_SMALL_SAMPLES: dict[str, Problem] = {
    **{f"{name}, n = {SMALL}": problem for name, problem in DEPENDENT.items()},
    **{f"independent: {name}, n = {SMALL}": problem for name, problem in INDEPENDENT.items()},
}
EVERY = {**PROBLEMS, **IN_SMALL_SAMPLES}


def once(name: str, seed: int) -> dict[str, Any]:
    """Whether one interval covers the true value, and the error of the estimate."""
    function, draw, truth, options = EVERY[name]
    size = SMALL if name in IN_SMALL_SAMPLES else SIZE
    result = estimate(function, *draw(size, np.random.default_rng(seed)), **options)
    low, high = result.interval
    return {"covered": int(low <= truth <= high), "errors": [round(float(result.value - truth), 6)]}


def markdown(store: Store) -> str:
    """One row for each problem."""
    command = "python -m benchmarks.reproductions.information_coverage"
    lines = heading(
        "Coverage of intervals of entropies, divergences and mutual information", command
    )
    lines += [
        "",
        f"`estimate(...)` at level 95%, n = {SIZE:,} unless another is named, without bootstrap; ± are standard errors.",
        "",
    ]
    return "\n".join([*lines, *table(_rows(store["cells"])), "", _NOTE]) + "\n"


def _rows(cells: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for name, (_, _, truth, _) in EVERY.items():
        entry = cells.get(name, {"runs": 0})
        if runs := entry["runs"]:
            share, errors = entry["covered"] / runs, np.asarray(entry["errors"])
            yield {
                "problem": name,
                "true value": f"{truth:.4f}",
                "mean error": f"{errors.mean():+.4f} ± {errors.std() / runs**0.5:.4f}",
                "covered": f"{share:.1%} ± {(share * (1 - share) / runs) ** 0.5:.1%}",
                "runs": str(runs),
            }


_NOTE = """Balls at the edges of the square reach beyond it, so that the entropy of the uniform distribution has a bias as large as
its standard error, for which the interval does not allow. The interval of the mutual information of independent variables leaves
zero out where a permutation test at 2.5% rejects, so that it covers it 97.5% of the time whatever the bias."""
RECORD = Record("information_coverage", markdown)
PLAN = Plan(RECORD, once, lambda _: dict.fromkeys(EVERY, RUNS))

if __name__ == "__main__":
    raise SystemExit(PLAN.main(__doc__))
