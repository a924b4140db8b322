"""Default kernels for strings and graphs, in a test and in a learner; the level on strings."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.htest import HSIC, MMD, Permutation
from mercer.kernels import Composed, Graphs, default_kernel
from mercer.learn import SVC
from tests.support.object_zoo import random_graph, words


def test_strings():
    rng = np.random.default_rng(0)
    x, y = words("ab", 20)(rng, 60), words("abb", 20)(rng, 60)
    k = default_kernel([*x, *y])
    assert isinstance(k, Composed)
    distances = -2 * np.log(k([*x, *y]))[np.triu_indices(120, 1)]
    assert np.median(distances) == pytest.approx(1.0, rel=1e-6)  # at the median distance
    assert MMD(k).test(x, y, rng=0).pvalue < 0.05
    assert HSIC(k, k).test(x, [s[::-1] for s in x], rng=0).pvalue < 0.05
    other = words("ac", 20)(rng, 60)  # only strings of the letter a are in both classes
    machine = SVC(k, C=10.0).fit([*x[:30], *other[:30]], [0] * 30 + [1] * 30)
    assert machine.score([*x[30:], *other[30:]], [0] * 30 + [1] * 30) > 0.8


def test_graphs_and_equal_objects():
    rng = np.random.default_rng(0)
    graphs = [random_graph(rng, 6) for _ in range(20)]
    assert default_kernel(graphs) == default_kernel(Graphs.of(graphs))
    with pytest.raises(ValueError, match="equal"):
        default_kernel(["a", "a"])
    with pytest.raises(ValueError, match="two points"):
        default_kernel(["a"])


def test_level_on_strings():
    """Of 200 tests at level 0.1 on samples of one distribution, 20 reject: within four deviations."""
    rng, sample = np.random.default_rng(1), words("abc", 8)
    rejections = 0
    for _ in range(200):
        x, y = sample(rng, 15)[1:], sample(rng, 15)[1:]
        rejections += (
            MMD(default_kernel([*x, *y]), null=Permutation(99)).test(x, y, rng=rng).rejects(0.1)
        )
    assert abs(rejections - 20) <= 4 * np.sqrt(200 * 0.1 * 0.9)
