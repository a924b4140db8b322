"""Facts of random sums and products of kernels on columns: none is contradicted by measures with equal embeddings."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.kernels import RBF, Constant, Cosine, Exponential, Kernel, Laplace, Linear, Polynomial
from mercer.kernels.columns_used import reads
from mercer.kernels.facts import facts

_NUMBER = 40  # of kernels for each seed
_PAIR = np.array([[0.0, -1.0], [0.0, 1.0]])
_CROSS = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
_CORNERS = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
_LEVEL = np.array([[-1.0, 0.3], [1.0, 0.3]])
PAIRS = [  # of samples that many kernels do not tell apart
    (_PAIR, 2 * _PAIR),  # equal means of the second column
    (_PAIR[:, ::-1], 2 * _PAIR[:, ::-1]),
    (_LEVEL, _LEVEL * [2.0, 1.0]),
    (np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])),  # equal marginals
    (_CORNERS, np.sqrt(2) * _CROSS),  # equal moments up to the second
    (np.zeros((1, 2)), np.array([[2 * np.pi, 0.0]])),  # equal angles
]
BASES = [
    RBF(1.0), RBF(0.5), Laplace(0.8), Exponential(1.0), Cosine(1.0), Linear(), Polynomial(2, 1.0), Polynomial(2, 0.0),
    Constant(0.7),
]  # fmt: skip


def combination(rng: np.random.Generator, depth: int) -> Kernel:
    """A random kernel on two columns."""
    if depth == 0:
        base = BASES[rng.integers(len(BASES))]
        whole = isinstance(base, Constant) or rng.random() < 0.4
        return base if whole else base.select([int(rng.integers(2))])
    kind = rng.integers(6)
    if kind == 0:
        return float(rng.uniform(0.2, 2.0)) * combination(rng, depth - 1)
    if kind == 1:
        return combination(rng, depth - 1) + Constant(0.5)
    left, right = (combination(rng, depth - 1) for _ in range(2))
    return left + right if kind < 4 else left * right


def differ(x: np.ndarray, y: np.ndarray, columns: list[int]) -> bool:
    """Whether the samples have different distributions on these columns."""
    points, weights = np.concatenate([x, y])[:, columns], signed(x, y)
    atoms = np.unique(np.round(points, 9), axis=0, return_inverse=True)[1].reshape(-1)
    return bool(np.abs(np.bincount(atoms, weights)).max() > 1e-9)


def signed(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.r_[np.full(len(x), 1 / len(x)), np.full(len(y), -1 / len(y))]


def blind(kernel: Kernel) -> bool:
    """Whether the kernel does not tell the samples of a pair apart that differ in what it reads."""
    used = reads(kernel)
    columns = [0, 1] if used is None else sorted(used)
    for x, y in PAIRS:
        k, w = kernel(np.concatenate([x, y])), signed(x, y)
        if columns and differ(x, y, columns) and w @ k @ w < 1e-12 * np.abs(k).max():
            return True
    return False


@pytest.mark.parametrize("seed", range(20))
def test_kernels_that_do_not_tell_samples_apart_are_not_called_characteristic(seed):
    rng = np.random.default_rng(seed)
    kernels = [combination(rng, int(rng.integers(1, 4))) for _ in range(_NUMBER)]
    unseeing = [blind(kernel) for kernel in kernels]
    assert 0 < sum(unseeing) < _NUMBER
    for kernel, is_blind in zip(kernels, unseeing, strict=True):
        known = facts(kernel)
        claims = known.characteristic, known.universal, known.integrally_strict
        assert not (is_blind and any(claims)), kernel
