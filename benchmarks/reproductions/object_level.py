"""python -m benchmarks.reproductions.object_level: levels and power of tests on strings, series and graphs.

Two-sample tests compare 30 objects with 30 others, tests of independence take 30 pairs, at level 0.05: by a kernel that
is named, and with no kernel given. Where the null hypothesis is false, the second sample has another distribution, or
the second object of a pair is made of the first. ``--workers 16`` runs cells side by side; ``--only strings`` does a part.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import mercer
from benchmarks.reproductions.plan import Plan
from benchmarks.reproductions.records import (
    Record,
    Store,
    heading,
    rate,
    table,
    with_error,
)
from mercer.htest import HSIC, MMD, Permutation
from mercer.kernels import GlobalAlignment, Kernel, Spectrum, WeisfeilerLehman

Objects = list[Any]
NUMBER, LEVEL, RUNS = 30, 0.05, 400
FEWEST = 100  # runs of which a level is judged
NULL = Permutation(199)


@dataclass(frozen=True)
class Problem:
    """A kernel, one object of size `scale` at random, and a changed copy of it."""

    kernel: Kernel
    one: Callable[[np.random.Generator, float], Any]
    copy: Callable[[np.random.Generator, Any], Any]

    def sample(self, rng: np.random.Generator, scale: float = 0.0) -> Objects:
        return [self.one(rng, scale) for _ in range(NUMBER)]


def _word(rng: np.random.Generator, scale: float) -> str:
    """20 to 40 letters, the first of them more frequent as `scale` grows."""
    shares = np.array([1.0 + scale, 1.0, 1.0, 1.0])
    return "".join(rng.choice(list("acgt"), rng.integers(20, 41), p=shares / shares.sum()))


def _copied_word(rng: np.random.Generator, word: str) -> str:
    return "".join(rng.choice(list("acgt")) if rng.random() < 0.4 else c for c in word)


def _walk(rng: np.random.Generator, scale: float) -> np.ndarray:
    """A random walk in two channels of 8 to 12 points, with drift `scale`."""
    return np.cumsum(rng.normal(scale, 1.0, (rng.integers(8, 13), 2)), axis=0)


def _copied_walk(rng: np.random.Generator, walk: np.ndarray) -> np.ndarray:
    return walk + np.cumsum(rng.normal(0.0, 1.0, walk.shape), axis=0)


def _graph(rng: np.random.Generator, scale: float) -> tuple[np.ndarray, list[str]]:
    """8 to 15 nodes with two labels, which attract each other as `scale` grows."""
    nodes = int(rng.integers(8, 16))
    labels = rng.choice(list("ab"), nodes)
    likely = np.where(labels[:, None] == labels, 0.25 * (1 + scale), 0.25 * (1 - scale))
    upper = np.triu(rng.random((nodes, nodes)) < likely, 1).astype(float)
    return upper + upper.T, labels.tolist()


def _copied_graph(
    rng: np.random.Generator, graph: tuple[np.ndarray, list[str]]
) -> tuple[np.ndarray, list[str]]:
    adjacency, labels = graph
    shown = np.triu(rng.random(adjacency.shape) < 0.9, 1)
    kept = adjacency * (shown | shown.T)
    return kept, [str(rng.choice(list("ab"))) if rng.random() < 0.2 else c for c in labels]


PROBLEMS = {
    "strings": Problem(Spectrum(3, up_to=True), _word, _copied_word),
    "series": Problem(GlobalAlignment(2.0).normalized(), _walk, _copied_walk),
    "graphs": Problem(WeisfeilerLehman(2), _graph, _copied_graph),
}
SCALES = {"strings": 0.5, "series": 0.4, "graphs": 0.4}  # of the second sample
TwoSamples = Callable[[Problem, Objects, Objects, int], float]
TESTS: Mapping[str, TwoSamples] = {
    "MMD": lambda p, x, y, seed: MMD(p.kernel, null=NULL).test(x, y, rng=seed).pvalue,
    "two_sample, no kernel given": lambda _, x, y, seed: mercer.two_sample(x, y, rng=seed).pvalue,
    "HSIC": lambda p, x, y, seed: HSIC(p.kernel, p.kernel, null=NULL).test(x, y, rng=seed).pvalue,
    "independence, no kernel given": lambda _, x, y, seed: (
        mercer.independence(x, y, rng=seed).pvalue
    ),
}
PAIRED = ("HSIC", "independence, no kernel given")
KEYS = [f"{h}; {kind}; {test}" for h in ("level", "power") for kind in PROBLEMS for test in TESTS]


def once(key: str, seed: int) -> dict[str, Any]:
    """Run number `seed` of a cell: whether the test rejects."""
    hypothesis, kind, test = key.split("; ")
    problem = PROBLEMS[kind]
    rng = np.random.default_rng([seed, zlib.crc32(key.encode())])
    x = problem.sample(rng)
    if hypothesis == "level":
        y = problem.sample(rng)
    elif test in PAIRED:
        y = [problem.copy(rng, each) for each in x]
    else:
        y = problem.sample(rng, SCALES[kind])
    return {"rejections": int(TESTS[test](problem, x, y, seed) <= LEVEL)}


def markdown(store: Store) -> str:
    """One row for each kind of object and test."""
    command = "python -m benchmarks.reproductions.object_level --workers 16"
    lines = heading("Tests on strings, series and graphs: level and power", command)
    lines += ["", *table(_rows(store["cells"])), ""]
    lines += [
        f"Share of runs that reject at level {LEVEL}, {NUMBER} objects in a sample. Inside: the level is exceeded by at",
        "most three standard errors. Milliseconds of processor time.",
    ]
    return "\n".join(lines) + "\n"


def _rows(cells: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for kind in PROBLEMS:
        for test in TESTS:
            level, power = (cells.get(f"{h}; {kind}; {test}") for h in ("level", "power"))
            if level is None or power is None or not (level["runs"] and power["runs"]):
                continue
            error = (LEVEL * (1 - LEVEL) / level["runs"]) ** 0.5
            inside = "yes" if rate(level) <= LEVEL + 3 * error else "NO"
            yield {
                "objects": kind,
                "test": test,
                "level": with_error(rate(level), level["runs"], 3),
                "inside": inside if level["runs"] >= FEWEST else "too few runs",
                "power": with_error(rate(power), power["runs"]),
                "runs": f"{level['runs']} and {power['runs']}",
                "ms a run": f"{1000 * level['seconds'] / level['runs']:.0f}",
            }


RECORD = Record("object_level", markdown)
PLAN = Plan(RECORD, once, lambda _: dict.fromkeys(KEYS, RUNS))

if __name__ == "__main__":
    raise SystemExit(PLAN.main(__doc__))
