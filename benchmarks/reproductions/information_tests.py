"""python -m benchmarks.reproductions.information_tests: level and power of the tests made of `mercer.info`.

Tests by transport distances, distribution functions, matchings and trees on two samples, and by mutual information,
conditional information and transfer entropy on variables and series; each beside a kernel test on the same observations.
``--only MutualInformation --runs 100 --seconds 300`` does a part; what was done before is kept.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.reproductions.plan import Plan
from benchmarks.reproductions.records import (
    Record,
    Store,
    band,
    heading,
    rate,
    table,
)
from mercer.htest import (
    HSIC,
    MMD,
    ConditionalMutualInformation,
    CrossMatch,
    HypothesisTest,
    KernelGCM,
    Kolmogorov,
    MutualInformation,
    Permutation,
    SpanningTreeTest,
    TransferEntropy,
    Wasserstein,
)

N, LEVEL = 100, 0.05
LEVEL_RUNS, POWER_RUNS = 400, 200
NULL = Permutation(199)
Samples = tuple[np.ndarray, ...]
Draw = Callable[[np.random.Generator], Samples]


def _two(change: Callable[[np.ndarray], np.ndarray], d: int) -> Draw:
    """A normal sample, and another one that is changed."""
    return lambda rng: (rng.normal(size=(N, d)), change(rng.normal(size=(N, d))))


def _caused(effect: Callable[[np.ndarray], np.ndarray], noise: float) -> Draw:
    """x, uniform, and y, a function of x with noise."""

    def draw(rng: np.random.Generator) -> Samples:
        x = rng.uniform(-1, 1, N)
        return x, effect(x) + noise * rng.normal(size=N)

    return draw


def _circle(rng: np.random.Generator) -> Samples:
    angle = rng.uniform(0, 2 * np.pi, N)
    return np.cos(angle) + 0.3 * rng.normal(size=N), np.sin(angle) + 0.3 * rng.normal(size=N)


def _given(effect: float, signal: Callable[[np.ndarray], np.ndarray]) -> Draw:
    """x and y that both follow z, and y follows x with an effect."""

    def draw(rng: np.random.Generator) -> Samples:
        z = rng.normal(size=N)
        x = z + rng.normal(size=N)
        return x, z + effect * signal(x - z) + rng.normal(size=N), z

    return draw


def _series(effect: float, signal: Callable[[np.ndarray], np.ndarray]) -> Draw:
    """Two autoregressions, the second driven by the past of the first with an effect."""

    def draw(rng: np.random.Generator) -> Samples:
        source, target = np.zeros((2, 2 * N))
        noise = rng.normal(size=(2, 2 * N))
        for t in range(1, 2 * N):
            source[t] = 0.5 * source[t - 1] + noise[0, t]
            target[t] = 0.5 * target[t - 1] + effect * signal(source[t - 1]) + noise[1, t]
        return source[N // 2 :], target[N // 2 :]

    return draw


Family = tuple[dict[str, HypothesisTest], dict[str, Draw], dict[str, Draw]]
FAMILIES: dict[
    str, Family
] = {  # tests, the last one a kernel test; problems where the null holds, and others
    "two samples": (
        {
            "Wasserstein": Wasserstein(null=NULL),
            "Kolmogorov": Kolmogorov(null=NULL),
            "CrossMatch": CrossMatch(),
            "SpanningTreeTest": SpanningTreeTest(null=NULL),
            "MMD": MMD(null=NULL),
        },
        {
            "normal, d = 1": _two(lambda y: y, 1),
            "normal, d = 5": _two(lambda y: y, 5),
            "counts, d = 2": lambda rng: (rng.poisson(3.0, (N, 2)), rng.poisson(3.0, (N, 2))),
        },
        {
            "shift 0.4, d = 1": _two(lambda y: y + 0.4, 1),
            "scale 1.6, d = 1": _two(lambda y: 1.6 * y, 1),
            "shift 0.3, d = 5": _two(lambda y: y + 0.3, 5),
            "scale 1.4, d = 5": _two(lambda y: 1.4 * y, 5),
            "two groups, d = 1": _two(lambda y: np.sign(y) + 0.5 * y, 1),
        },
    ),
    "independence": (
        {"MutualInformation": MutualInformation(null=NULL), "HSIC": HSIC(null=NULL)},
        {
            "uniform": _caused(lambda x: 0 * x, 1.0),
            "categories": lambda rng: (rng.integers(0, 4, N), rng.integers(0, 3, N)),
        },
        {
            "linear": _caused(lambda x: x, 1.5),
            "parabola": _caused(np.square, 0.5),
            "sine, 4 periods": _caused(lambda x: np.sin(4 * np.pi * x), 0.7),
            "circle": _circle,
        },
    ),
    "conditional independence": (
        {
            "ConditionalMutualInformation": ConditionalMutualInformation(),
            "KernelGCM": KernelGCM(),
        },
        {"z drives both": _given(0.0, np.abs)},
        {"linear": _given(0.6, lambda x: x), "absolute value": _given(1.0, np.abs)},
    ),
    "transfer": (
        {"TransferEntropy": TransferEntropy(lags=1)},
        {"autoregressions": _series(0.0, np.abs)},
        {"linear": _series(0.5, lambda x: x), "absolute value": _series(1.0, np.abs)},
    ),
}
WANTED = {
    f"{family}; {kind}; {problem}; {test}": runs
    for family, (tests, nulls, others) in FAMILIES.items()
    for kind, problems, runs in (("level", nulls, LEVEL_RUNS), ("power", others, POWER_RUNS))
    for problem in problems
    for test in tests
}


def once(key: str, seed: int) -> dict[str, Any]:
    """Whether a test rejects; tests of a problem see the same observations."""
    family, kind, problem, test = key.split("; ")
    tests, nulls, others = FAMILIES[family]
    draw = (nulls if kind == "level" else others)[problem]
    samples = draw(np.random.default_rng([seed, zlib.crc32(f"{family}; {problem}".encode())]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result: Any = tests[test].test(*samples, rng=seed)
    return {"rejections": int(result.pvalue <= LEVEL)}


# ---- the printed page -----------------------------------------------------------------------

_NOTE = f"""Share of runs that reject at level {LEVEL}, with 95% bands (Wilson); {N} observations of each sample or variable, {3 * N // 2} of
each series. Inside: a level of 400 runs is to be at most 0.083, three standard errors above {LEVEL}. Tests of a problem see the same
observations; the last of each table, where there are several, is a kernel test for comparison. MMD and HSIC have RBF kernels at the
median distance. Permutations: 199."""


def markdown(store: Store) -> str:
    """Tables of levels and of power for each family of tests."""
    command = "python -m benchmarks.reproductions.information_tests"
    lines = [*heading("Level and power of tests by information and distances", command), "", _NOTE]
    for family in FAMILIES:
        for kind in ("level", "power"):
            lines += ["", f"## {family.capitalize()}: {kind}", ""]
            lines += table(_rows(store["cells"], family, kind))
    return "\n".join(lines) + "\n"


def _rows(cells: Mapping[str, Any], family: str, kind: str) -> Iterator[dict[str, str]]:
    tests, nulls, others = FAMILIES[family]
    for problem in nulls if kind == "level" else others:
        entries = {t: cells.get(f"{family}; {kind}; {problem}; {t}", {"runs": 0}) for t in tests}
        if all(entry["runs"] for entry in entries.values()):
            runs = [entry["runs"] for entry in entries.values()]
            yield {
                "problem": problem,
                **{test: _rate(entry, kind) for test, entry in entries.items()},
                "runs": str(min(runs)),
            }


def _rate(entry: Mapping[str, Any], kind: str) -> str:
    low, high = band(entry["rejections"], entry["runs"])
    text = f"{rate(entry):.3f} ({low:.2f} to {high:.2f})"
    error = (LEVEL * (1 - LEVEL) / entry["runs"]) ** 0.5
    return text + " ABOVE" * (kind == "level" and rate(entry) > LEVEL + 3 * error)


RECORD = Record("information_tests", markdown)
PLAN = Plan(RECORD, once, lambda _: WANTED)

if __name__ == "__main__":
    raise SystemExit(PLAN.main(__doc__))
