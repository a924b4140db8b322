"""Sizes that are not multiples of anything, against float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from benchmarks.gpu.tools import header, normal, row
from mercer.gram import Gram
from mercer.kernels import (
    RBF,
    Exponential,
    InverseMultiquadric,
    Laplace,
    Linear,
    Matern,
    Polynomial,
)
from mercer.kernels.stein import Stein

_KERNELS: tuple[Callable[[int], Any], ...] = (
    lambda d: RBF(d**0.5),
    lambda d: Matern(1.5, d**0.5),
    lambda d: Laplace(float(d)),
    lambda d: Exponential(d**0.5),
    lambda d: RBF(d**0.5) + Linear(),
    lambda d: Polynomial(2) * RBF(d**0.5),
    lambda d: Stein(InverseMultiquadric(d**0.5), lambda x: -x),
)


def right() -> None:
    """K @ v beside float64."""
    header(
        "Relative errors of K @ v against float64",
        *("n", "m", "d", "columns", "dtype", "largest error", "kernel", "limit"),
    )
    single, double, every = torch.float32, torch.float64, range(len(_KERNELS))
    cases = [
        (1, 1, 1, 1, single, every),
        (17, 17, 3, 1, single, every),
        (1003, 2049, 10, 5, single, every),
        (777, 500, 65, 1001, single, (0, 5)),
        (301, 300, 1000, 3, single, (0, 5)),
        (1003, 2049, 10, 1, double, (0, 1, 2, 6)),
    ]
    for n, m, d, k, dtype, kinds in cases:
        limit = 2e-5 if dtype == single else 1e-12
        x = normal(n, d, dtype=dtype)
        y = x if n == m else normal(m, d, dtype=dtype)
        v = normal(m, k, dtype=dtype)
        errors = {}
        for kind in kinds:
            kernel = _KERNELS[kind](d)
            exact = kernel.pairwise(x.double(), y.double()) @ v.double()
            got = Gram(kernel, x, None if y is x else y) @ v
            errors[type(kernel).__name__] = float((got.double() - exact).norm() / exact.norm())
        worst = max(errors, key=errors.__getitem__)
        row(n, m, d, k, str(dtype)[6:], f"{errors[worst]:.1e}", worst, limit)
        assert errors[worst] < limit, errors
    n = 1_000_003
    for k in (1, 16):
        x, v = normal(n, 3), normal(n, k).abs()
        rows = torch.randint(0, n, (50,), device="cuda")
        exact = RBF(1.7).pairwise(x[rows].double(), x.double()) @ v.double()
        got = (Gram(RBF(1.7), x) @ v)[rows]
        error = float((got.double() - exact).norm() / exact.norm())
        row(n, n, 3, k, "float32", f"{error:.1e}", "RBF, 50 rows, v > 0", 1e-5)
        assert error < 1e-5
    n, m = 100_000_003, 999  # places beyond 32 bits
    x, y, v = normal(n, 10), normal(m, 10), normal(m, 1)
    rows = torch.cat(
        [torch.randint(0, n, (50,), device="cuda"), torch.tensor([0, n - 1], device="cuda")]
    )
    exact = RBF(3.0).pairwise(x[rows].double(), y.double()) @ v.double()
    got = (Gram(RBF(3.0), x, y) @ v)[rows]
    error = float((got.double() - exact).norm() / exact.norm())
    row(n, m, 10, 1, "float32", f"{error:.1e}", "RBF, 52 rows", 1e-5)
    assert error < 1e-5
