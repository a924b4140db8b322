"""One line per hypothesis test: an instance, where its null hypothesis holds, and where it does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.htest import (
    MMD,
    BlockMMD,
    CrossMMD,
    Energy,
    HypothesisTest,
    KSample,
    LinearMMD,
    MaxMMD,
    MMDAgg,
    MMDFuse,
    Permutation,
)
from mercer.kernels import RBF

Samples = tuple[Any, ...]
Problem = Callable[[np.random.Generator, tuple[int, ...]], Samples]  # draws samples of these sizes


def same(d: int) -> Problem:
    """Gaussian, all samples alike."""
    return lambda rng, sizes: tuple(rng.standard_normal((n, d)) for n in sizes)


def ties(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
    """Counts, all samples alike."""
    return tuple(rng.poisson(1.0, (n, 2)).astype(float) for n in sizes)


def wider(d: int) -> Problem:
    """Gaussian; the last sample has a standard deviation of 1.7."""
    return lambda rng, sizes: tuple(
        (1.7 if i == len(sizes) - 1 else 1.0) * rng.standard_normal((n, d))
        for i, n in enumerate(sizes)
    )


def shifted(d: int) -> Problem:
    """Gaussian; the last sample is moved by 0.8 in every coordinate."""
    return lambda rng, sizes: tuple(
        rng.standard_normal((n, d)) + 0.8 * (i == len(sizes) - 1) for i, n in enumerate(sizes)
    )


@dataclass(frozen=True)
class Entry:
    test: HypothesisTest
    null: tuple[Problem, ...]
    alternative: Problem
    sizes: tuple[int, ...] = (60, 40)  # asymptotic tests: from which on they hold


def nulls(*dims: int) -> tuple[Problem, ...]:
    return (*(same(d) for d in dims), ties)


P = Permutation(199)
ZOO = [
    Entry(MMD(null=P), nulls(1, 5, 50), wider(5)),
    Entry(MMD(RBF(1.0), unbiased=False, null=P), nulls(1, 5), wider(5)),
    Entry(MaxMMD(null=P), nulls(1, 5, 50), wider(5)),
    Entry(MMDAgg(null=P), nulls(1, 5, 50), wider(5)),
    Entry(MMDAgg(null=P, landmarks=30), nulls(1, 5), wider(5)),
    Entry(MMDFuse(null=P), nulls(1, 5, 50), wider(5)),
    Entry(Energy(null=P), nulls(1, 5, 50), shifted(5)),
    Entry(KSample(null=P), nulls(1, 5, 50), shifted(5), (40, 25, 35)),
    Entry(LinearMMD(), nulls(1, 5), shifted(5), (700, 500)),
    Entry(BlockMMD(), nulls(1, 5), shifted(5), (700, 500)),
    Entry(CrossMMD(), nulls(1, 5), shifted(5), (700, 500)),
]
IDS = [
    repr(e.test)
    .replace("null=", "")
    .replace(", stop_early=False, enough=50, blocks=None, paired=False", "")
    for e in ZOO
]
CALIBRATED_ELSEWHERE = {  # with nulls of their own
    "Equivalence": "tests/htest/test_equivalence.py",
    "Hotelling": "tests/htest/test_hotelling.py",
    "ME": "tests/htest/test_me.py",
    "SCF": "tests/htest/test_scf.py",
    "UME": "tests/htest/test_ume.py",
}
