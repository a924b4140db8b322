"""How often intervals of effect sizes hold the truth, where the truth has a closed form.

Driven by tests/htest/samples/test_effect.py and, with a table, by
`python -m benchmarks.reproductions.two_sample_level`.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import partial
from math import exp, sqrt

import numpy as np

from mercer.htest.samples.effect import measured
from mercer.htest.samples.pooled_sample import pool
from mercer.htest.separation_auc import Separation
from mercer.kernels import RBF

CONFIDENCE = 0.95
UNKNOWN = partial(Separation, float("nan"), (1.0, 1.0))  # these runs are about the kernel distance


def gaussian_mmd2(
    bandwidth: float, d: int, shift: float, scale: float = 1.0
) -> tuple[float, float]:
    """MMD^2 and mean RKHS variance of N(0, I) and N(shift e1, scale^2 I) under RBF(bandwidth)."""
    b, s = bandwidth**2, scale**2
    first, second = (b / (b + 2)) ** (d / 2), (b / (b + 2 * s)) ** (d / 2)
    across = (b / (b + 1 + s)) ** (d / 2) * exp(-(shift**2) / (2 * (b + 1 + s)))
    return first + second - 2 * across, 1 - (first + second) / 2


@dataclass(frozen=True)
class Span:
    """N(0, I) and N(shift e1, scale^2 I) in d dimensions, samples of two sizes."""

    d: int
    shift: float
    scale: float
    sizes: tuple[int, int]

    @property
    def difference(self) -> str:
        if self.scale != 1:
            return f"scale {self.scale:g}"
        return f"shift {self.shift:g}" if self.shift else "none"

    @property
    def name(self) -> str:
        return f"coverage; d = {self.d}; {self.difference}; {'/'.join(map(str, self.sizes))}"

    @property
    def bandwidth(self) -> float:
        """About the median distance."""
        return 1.0 if self.d == 1 else sqrt(2 * self.d)

    def run(self, number: int) -> np.ndarray:
        """Whether the truth is in the interval of MMD^2 and in that of the standardized distance.

        A truth that is not in the first is below it or above it: (in, in, below, above).
        """
        rng = np.random.default_rng([number, zlib.crc32(self.name.encode())])
        x, y = (rng.standard_normal((n, self.d)) for n in self.sizes)
        y *= self.scale
        y[:, 0] += self.shift
        kernel = RBF(self.bandwidth)
        truth, within = gaussian_mmd2(self.bandwidth, self.d, self.shift, self.scale)
        effect = measured(pool(kernel, x, y)).effect(CONFIDENCE, kernel, UNKNOWN)
        (low, high), (left, right) = effect.interval, effect.standardized_interval
        return np.array(
            [
                low <= truth <= high,
                left <= sqrt(truth / within) <= right,
                truth < low,
                truth > high,
            ]
        )


SPANS = {
    span.name: span
    for d in (1, 10, 50)
    for shift, scale in ((0.0, 1), (0.3, 1), (0.8, 1), (1.5, 1), (0.0, 1.5), (0.0, 3))
    for sizes in ((30, 30), (60, 40), (100, 100), (400, 400))
    for span in [Span(d, shift, scale, sizes)]
}


def coverage(span: Span, runs: int) -> np.ndarray:
    """The shares of runs: truth in both intervals, below the first, above the first."""
    return np.mean([span.run(number) for number in range(runs)], axis=0)
