"""Three variables for tests of joint independence, and plain formulas on their matrices."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.kernels import RBF, Energy, Laplace, Linear

KERNELS = {
    "low rank": (RBF(1.0), RBF(2.0), RBF(1.5)),
    "full rank": (RBF(0.5), Laplace(1.0), Energy()),
    "far from the origin": (Linear(), Energy(), RBF(1.0)),
}
every_kernels = pytest.mark.parametrize("kernels", KERNELS.values(), ids=KERNELS)


def drawn(n, widths=(1, 2, 1), seed=0):
    rng = np.random.default_rng(seed)
    samples = [rng.normal(size=(n, d)) + 3 for d in widths]
    samples[-1][:, 0] += 0.5 * samples[0][:, 0]
    return samples


def centred(k):
    return k - k.mean(axis=0) - k.mean(axis=1)[:, None] + k.mean()


def turned(k, order):
    return k[np.ix_(order, order)]


def parity(rng, n):
    x, y = rng.normal(size=(2, n))
    return x, y, np.abs(rng.normal(size=n)) * np.sign(x * y)
