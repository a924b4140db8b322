"""Perturbed uniforms as the first program of Schrab et al. drew them: from one stream of numbers.

That program started the generator of both samples with one seed. The uniform sample is the first
m d numbers of the stream; the perturbed one was chosen among points that are numbers of the same
stream. Many points are then in both samples, so that the samples are more alike than independent
ones, and tests reject less often than they would: with three bumps in the plane in 0.2% of the
runs, at level 5%. The program that goes with the journal's edition seeds the two apart.
"""

from __future__ import annotations

import math

import numpy as np

from mercer.datasets import PerturbedUniform


def shared_stream(problem: PerturbedUniform, n: int, run: int) -> tuple[np.ndarray, np.ndarray]:
    """Both samples of a run of that program, number by number: five Gaussians, equal weights."""
    d, p = int(problem.dim), int(problem.bumps)
    seed = int(f"0{d - 1}10{p - 1}{run:04d}")
    signs = np.random.RandomState(seed).choice([-1, 1], p**d).reshape((p,) * d)
    stream = np.random.RandomState(seed).uniform(0, 1, 4 * n * (d + 1))
    proposed = stream.reshape(-1, d + 1)  # d coordinates and a height, in turn
    top = 1 + {1: 2.7, 2: 7.3}[d] / p * math.exp(-d)
    x, height = proposed[:, :-1], top * proposed[:, -1]
    return x[height <= problem.density(x, signs)][:n], stream[: n * d].reshape(n, d)
