"""Two-sample and independence tests on strings, series and graphs: levels and power; objects that are refused.

400 runs of each, with the default tests too, are in benchmarks/results/object_level.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from mercer.htest import HSIC, MMD, Permutation
from mercer.kernels import GlobalAlignment, Kernel, Spectrum, SubsetTree, WeisfeilerLehman
from tests.support.object_zoo import ObjectSampler, graphs, paths, words


@dataclass(frozen=True)
class Problem:
    kernel: Kernel
    sample: ObjectSampler
    other: ObjectSampler  # another distribution

    def draw(self, rng: np.random.Generator, *, differ: bool = False) -> Any:
        """14 objects, without the first of the sampler, which is always the same."""
        return (self.other if differ else self.sample)(rng, 15)[1:]


def complete(rng, n):
    return [(np.ones((size, size)), ["a"] * size) for size in rng.integers(3, 7, n)]


def long_words(rng, n):
    return [word + "cccc" for word in words("abc", 10)(rng, n)]


def rising(rng, n):
    return [path + np.arange(len(path))[:, None] for path in paths(5)(rng, n)]


PROBLEMS = {
    "strings": Problem(Spectrum(2), words("abc", 10), long_words),
    "series": Problem(GlobalAlignment(1.0).normalized(), paths(5), rising),
    "graphs": Problem(WeisfeilerLehman(1), graphs, complete),
}
RUNS, LEVEL = 40, 0.1
MOST = 11  # of 40 at level 0.1: a right test has more once in 2,600 tries
NULL = Permutation(49)


@pytest.mark.parametrize("kind", PROBLEMS)
def test_levels(kind):
    problem = PROBLEMS[kind]
    tests = MMD(problem.kernel, null=NULL), HSIC(problem.kernel, problem.kernel, null=NULL)
    rejections = np.zeros(2)
    for seed in range(RUNS):
        rng = np.random.default_rng([seed, 7])
        x, y = problem.draw(rng), problem.draw(rng)
        rejections += [test.test(x, y, rng=seed).pvalue <= LEVEL for test in tests]
    assert np.all(rejections <= MOST), rejections
    assert rejections.sum() > 0  # of 80: a right test has none once in 4,500 tries


@pytest.mark.parametrize("kind", PROBLEMS)
def test_power(kind):
    problem = PROBLEMS[kind]
    rng = np.random.default_rng(3)
    x, y = problem.draw(rng), problem.draw(rng, differ=True)
    assert MMD(problem.kernel, null=NULL).test(x, y, rng=0).pvalue <= LEVEL
    assert HSIC(problem.kernel, problem.kernel, null=NULL).test(x, x, rng=0).pvalue <= LEVEL


CYCLE: tuple[str, list] = ("a", [])
CYCLE[1].append(("b", [CYCLE]))  # a tree that contains itself
SERIES, GRAPH = [np.zeros((3, 1)), np.ones((2, 1))], np.ones((2, 2))
REFUSED = {
    "numbers among strings": (Spectrum(2), ["ab", "b"], ["ab", 3], "strings only"),
    "None among strings": (Spectrum(2), ["ab", "b"], ["ab", None], "strings only"),
    "NaN in a series": (GlobalAlignment(1.0), SERIES, [[1.0, np.nan], [1.0]], "NaN"),
    "infinity in a series": (GlobalAlignment(1.0), SERIES, [[1.0, np.inf], [1.0]], "infinite"),
    "text among series": (GlobalAlignment(1.0), SERIES, [SERIES[0], "ab"], "series"),
    "None among series": (GlobalAlignment(1.0), SERIES, [SERIES[0], None], "series"),
    "negative weights": (WeisfeilerLehman(1), [GRAPH, GRAPH], [GRAPH, -GRAPH], "negative"),
    "NaN as a weight": (WeisfeilerLehman(1), [GRAPH, GRAPH], [GRAPH, np.nan * GRAPH], "NaN"),
    "None among graphs": (WeisfeilerLehman(1), [GRAPH, GRAPH], [GRAPH, None], "graph"),
    "cyclic trees": (SubsetTree(0.5), ["a", "b"], ["a", CYCLE], "contains itself"),
    "None among trees": (SubsetTree(0.5), ["a", "b"], ["a", None], "tree"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_objects_that_are_refused(name):
    kernel, right, wrong, message = REFUSED[name]
    kernel(right)
    with pytest.raises((ValueError, TypeError), match=message):
        kernel(wrong)
    for x, y in ((right, wrong), (wrong, right)):
        with pytest.raises((ValueError, TypeError), match=message):
            MMD(kernel, null=NULL).test(x, y, rng=0)
        with pytest.raises((ValueError, TypeError), match=message):
            HSIC(kernel, kernel, null=NULL).test(x, y, rng=0)
