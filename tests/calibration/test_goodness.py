"""Goodness-of-fit tests hold their level: 400 runs of every test on draws from its model, with -m slow."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from htest_levels import Cell, cell, judged
from htest_zoo import SIGNS, Problem, Samples, drawn, named, same

from mercer.htest import FSSD, KSD, WildBootstrap
from mercer.kernels import RBF
from mercer.rkhs import Gaussian, Mixture


def chains(rho: float, d: int) -> Problem:
    """Autoregressions whose distribution is standard normal."""

    def draw(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
        (n,) = sizes
        x = rng.standard_normal((n, d))
        for t in range(1, n):
            x[t] = rho * x[t - 1] + np.sqrt(1 - rho**2) * x[t]
        return (x,)

    return named(f"chain, {rho:g}, d = {d}", draw)


def cells() -> Iterator[Cell]:
    blocks = WildBootstrap(199, block=None)
    for d in (1, 5, 10):
        normal = Gaussian(np.zeros(d), 1.0)
        two = Mixture([normal, Gaussian(np.full(d, 2.0), np.linspace(0.3, 2.0, d))], [0.3, 0.7])
        for n in (100, 500):
            for test in (KSD(normal, null=SIGNS), KSD(normal, RBF(float(d) ** 0.5), null=SIGNS)):
                yield cell(test, same(d), (n,))
            yield cell(KSD(two, null=SIGNS), drawn(two), (n,))
            yield cell(FSSD(normal), same(d), (n,))
            yield cell(FSSD(two, RBF(2.0), locations=10), drawn(two), (n,))
        for rho in (0.5, 0.8):
            yield cell(KSD(normal, null=blocks), chains(rho, d), (500,))


CELLS = {found.name: found for found in cells()}


@pytest.mark.slow
@pytest.mark.parametrize("found", CELLS.values(), ids=CELLS)
def test_level(found: Cell):
    assert found.holds(share := judged(found)), share
