"""python -m benchmarks.reproductions.goodness_power: rejection rates of published problems, again.

Jitkrittum et al. 2017, section 5: a standard normal model, and observations with another mean or
variance of their first coordinate or Laplace's of the same mean and variance in 1, 5, 10 and 15
dimensions; and a Gauss-Bernoulli RBM with 50 visible and 10 hidden units whose weights are
perturbed by noise. 1,000 observations, level 0.05, five locations; FSSD-opt learns from a fifth of
the observations and tests with the others.

``--problem laplace5 --runs 100 --seconds 300`` does a part; what was done before is kept, so that a
long run can be made of short ones. Rates are compared with those of the published procedure on the
same observations (`goodness_procedures.py`). ``--times`` shows how FSSD scales instead.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from benchmarks.reproductions import goodness_procedures as procedures
from benchmarks.reproductions.plan import Plan
from benchmarks.reproductions.records import (
    Record,
    Store,
    arguments,
    compared,
    heading,
    rounds,
    table,
    timed,
)
from mercer import htest
from mercer.kernels import RBF, median_bandwidth
from mercer.rkhs import GaussBernoulliRBM, Gaussian
from mercer.rkhs.densities import Density

LEVEL, SIZE = 0.05, 1000
SEED = 2017  # of the observations; the search was made with others
TIMED = (10_000, 100_000, 1_000_000)
Draw = Callable[[int, np.random.Generator], np.ndarray]
BY = MERCER, PUBLISHED = "mercer", "published"


# ---- problems -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Study:
    """A model, and where the observations come from."""

    model: Density
    draw: Draw
    null: bool = False


def normal(d: int, shift: float = 0.0, scale: float = 1.0) -> Study:
    """Standard normal; the first coordinate of the observations has another mean or deviation."""

    def draw(n: int, rng: np.random.Generator) -> np.ndarray:
        x = rng.standard_normal((n, d))
        x[:, 0] = shift + scale * x[:, 0]
        return x

    return Study(Gaussian(np.zeros(d), 1.0), draw, shift == 0 and scale == 1)


def laplace(d: int) -> Study:
    """Of the same mean and variance as the model."""
    return Study(
        Gaussian(np.zeros(d), 1.0), lambda n, rng: rng.laplace(scale=0.5**0.5, size=(n, d))
    )


def rbm(noise: float) -> Study:
    """Weights of -1 and 1, biases standard normal; those of the observations with noise.

    p(x, h) is exp(x'Bh / 2 + b'x + c'h - |x|^2 / 2) in the study's own code: half the weights of ours.
    Draws are exact, which theirs nearly are after 2,000 steps of Gibbs sampling.
    """
    rng = np.random.default_rng(1000)
    weights, b, c = (
        2.0 * rng.integers(0, 2, (50, 10)) - 1,
        rng.standard_normal(50),
        rng.standard_normal(10),
    )
    other = GaussBernoulliRBM((weights + noise * rng.standard_normal((50, 10))) / 2, b, c)
    draw = lambda n, rng: other.sample(n, rng=rng)  # noqa: E731
    return Study(GaussBernoulliRBM(weights / 2, b, c), draw, noise == 0)


STUDIES = {f"same{d}": normal(d) for d in (1, 10)}
STUDIES |= {f"mean{m:g}": normal(10, shift=m) for m in (0.1, 0.15, 0.2)}
STUDIES |= {f"variance{d}": normal(d, scale=2**0.5) for d in (1, 5, 10, 15)}
STUDIES |= {f"laplace{d}": laplace(d) for d in (1, 5, 10, 15)}
STUDIES |= {f"rbm{noise:g}": rbm(noise) for noise in (0.0, 0.02, 0.04, 0.06)}


# ---- tests ----------------------------------------------------------------------------------


def fssd_optimised(
    study: Study, x: np.ndarray, rng: np.random.Generator, share: float = procedures.SHARE
) -> float:
    n = round(share * len(x))
    test = htest.FSSD.optimized(study.model, x[:n], locations=procedures.J, rng=rng)
    return test.test(x[n:], rng=rng).pvalue


def fssd_random(study: Study, x: np.ndarray, rng: np.random.Generator) -> float:
    test = htest.FSSD(study.model, RBF(median_bandwidth(x)), locations=procedures.J)
    return test.test(x, rng=rng).pvalue


def ksd(study: Study, x: np.ndarray, rng: np.random.Generator) -> float:
    null = htest.WildBootstrap(499)
    return htest.KSD(study.model, RBF(median_bandwidth(x)), null=null).test(x, rng=rng).pvalue


def ksd_linear(study: Study, x: np.ndarray, rng: np.random.Generator) -> float:
    return htest.LinearKSD(study.model, RBF(median_bandwidth(x))).test(x, rng=rng).pvalue


def mmd(study: Study, x: np.ndarray, rng: np.random.Generator) -> float:
    """Against as many draws from the model, widths aggregated."""
    draws = study.model.sample(len(x), rng=rng)
    return htest.MMDAgg(null=htest.Permutation(400)).test(x, draws, rng=rng).pvalue


def _theirs(procedure: Any, study: Study, x: np.ndarray, rng: np.random.Generator) -> float:
    return procedure(x, study.model.score, rng)


def _mmd_theirs(study: Study, x: np.ndarray, rng: np.random.Generator) -> float:
    return procedures.mmd_optimised(x, study.model.sample(len(x), rng=rng), rng)


TESTS: dict[str, tuple[Any, Any]] = {
    "FSSD-opt": (fssd_optimised, partial(_theirs, procedures.fssd_optimised)),
    "FSSD-rand": (fssd_random, partial(_theirs, procedures.fssd_random)),
    "KSD": (ksd, partial(_theirs, procedures.ksd_quadratic)),
    "LKS": (ksd_linear, partial(_theirs, procedures.ksd_linear)),
    "MMD-opt": (mmd, _mmd_theirs),
}


# ---- runs -----------------------------------------------------------------------------------


def main() -> int:
    told = _arguments()
    store = RECORD.load(told.results)
    if told.times:
        store["times"] = times()
        RECORD.save(store, told.results)
    else:
        turns = rounds(store, list(_cells(told)), told.runs)
        RECORD.run(store, turns, _once, told.seconds, told.results, told.workers)
    print(_markdown(store))
    return 0


def _arguments() -> argparse.Namespace:
    parser = arguments(__doc__, runs=100)
    parser.add_argument("--problem", nargs="*", choices=[*STUDIES, []], default=[*STUDIES])
    parser.add_argument("--tests", nargs="*", choices=[*TESTS, []], default=[*TESTS])
    parser.add_argument(
        "--only-mercer", action="store_true", help="without the published procedures"
    )
    parser.add_argument("--times", action="store_true", help="how FSSD scales")
    return parser.parse_args()


def _cells(told: argparse.Namespace) -> Iterable[str]:
    for study in told.problem:
        for test in told.tests:
            yield f"{study}/{test}/{MERCER}"
            if not told.only_mercer:
                yield f"{study}/{test}/{PUBLISHED}"


def _once(key: str, seed: int) -> dict[str, Any]:
    study, test, by = key.split("/")
    x = _data(study, seed)
    rng = np.random.default_rng([SEED, seed, zlib.crc32(key.encode())])
    pvalue, seconds = timed(lambda: TESTS[test][by == PUBLISHED](STUDIES[study], x, rng))
    return {"rejections": int(pvalue <= LEVEL), "seconds": seconds}


@lru_cache(maxsize=4)
def _data(study: str, seed: int) -> np.ndarray:
    """Observations, the same for every test."""
    rng = np.random.default_rng([SEED, seed, zlib.crc32(study.encode())])
    return STUDIES[study].draw(SIZE, rng)


def times(sizes: Iterable[int] = TIMED) -> list[dict[str, Any]]:
    """Seconds of processor time for FSSD at these numbers of observations, in ten dimensions."""
    found = []
    study = laplace(10)
    for n in sizes:
        x = study.draw(n, np.random.default_rng(0))
        for name, run in (
            ("FSSD, five locations", fssd_random),
            ("FSSD-opt, learnt on a fifth", fssd_optimised),
        ):
            _, seconds = timed(lambda run=run, x=x: run(study, x, np.random.default_rng(0)))
            found.append({"test": name, "n": n, "seconds": round(seconds, 3)})
    return found


# ---- the printed page -----------------------------------------------------------------------


def _rows(cells: dict[str, Any]) -> Iterable[dict[str, str]]:
    for key, entry in sorted(cells.items(), key=lambda item: _order(item[0])):
        study, test, by = key.split("/")
        if by != MERCER or not entry["runs"]:
            continue
        other = cells.get(f"{study}/{test}/{PUBLISHED}")
        level = LEVEL if STUDIES[study].null else None
        yield {"problem": study, "test": test} | compared(entry, other, level)


def _order(key: str) -> tuple[int, int]:
    study, test, _ = key.split("/")
    return list(STUDIES).index(study), list(TESTS).index(test)


def _markdown(store: Store) -> str:
    command = "python -m benchmarks.reproductions.goodness_power"
    lines = heading("Power of goodness-of-fit tests on published problems", command)
    lines += ["", *table(_rows(store["cells"]))]
    lines += [
        "",
        "1,000 observations. Rate: share of rejections at level 0.05. To reach: the rate of the published procedure, run",
        "here on the same observations (Jitkrittum et al. 2017 print curves only). Reached: not below by more than",
        "the 99% band of the difference; same and rbm0, where the model is right: 0.05 within three standard errors.",
        "mean: of the first of ten coordinates; variance: 2 instead of 1 in the first coordinate, and laplace: of the",
        "same mean and variance, in so many dimensions; rbm: 50 visible and 10 hidden units, deviation of the noise",
        "on all weights, as their code has them; draws are exact. FSSD-opt learns from a fifth of the observations;",
        "KSD, LKS and FSSD-rand have RBF kernels at the median distance. MMD-opt: as many draws from the model;",
        "mercer's is MMDAgg. Seconds of processor time, with the draws from the model that MMD needs.",
        "",
        "What supports the text (Jitkrittum et al. 2017, section 4): FSSD-opt is far more powerful than LKS, the other test in",
        "linear time, everywhere; on the machines (rbm) it is close to KSD, which takes quadratic time, and against Laplace",
        "distributions in ten columns and more it is ahead of KSD. What does not: a shift of the mean is found more often by random",
        "locations and by KSD than by learnt locations; and MMD, which needs draws from the model, is ahead where one variance or the",
        "tails differ. mercer's FSSD-opt learns better locations than the published search in five columns and more.",
    ]
    if "times" in store:
        lines += ["", "## FSSD is linear in the number of observations", ""]
        lines += table(store["times"])
        lines += ["", "Ten dimensions, five locations; seconds of processor time."]
    return "\n".join(lines) + "\n"


RECORD = Record("goodness_power", _markdown)
PLAN = Plan(
    RECORD,
    _once,
    lambda _: {f"{s}/{test}/{by}": 100 for s in STUDIES for test in TESTS for by in BY},
)

if __name__ == "__main__":
    raise SystemExit(main())
